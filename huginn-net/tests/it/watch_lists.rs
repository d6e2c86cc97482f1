//! Parsing of watch lists, their matches, and settings that are replaced.

use std::sync::Arc;

use huginn_net::clients::NamingDatabases;
use huginn_net::core::{Filter, Replaceable};
use huginn_net::record::{EventRecord, JsonEvent};
use huginn_net::tls::ClientHello;
use huginn_net::watch::{WatchListFault, WatchListHandle, WatchListSummary, WatchLists};
use huginn_net::{CaptureReader, Configure, Database, Event, HuginnNet, Observation, Observers};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::captures;

const HELLO: &[u8] = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin");
const OTHER: &str = "t13d1516h2_8daaf6152771_02713d6af862";

fn hello() -> ClientHello<'static> {
    ClientHello::from_records(HELLO).unwrap().unwrap().value
}

fn lists(text: &str) -> WatchLists {
    let mut lists = WatchLists::default();
    lists.add("list", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    lists
}

fn summary(text: &str) -> WatchListSummary {
    lists(text).summaries()[0].clone()
}

/// The labels of the hello, with `!` after those that are watched.
fn labels(text: &str) -> Vec<String> {
    let entries = lists(text).lookup_hello(&hello());
    let mark = |watch| if watch { "!" } else { "" };
    entries.iter().map(|entry| format!("{}{}", entry.label(), mark(entry.is_watched()))).collect()
}

/// The line and the message of the error.
fn error(text: impl AsRef<[u8]>) -> (usize, String) {
    let mut lists = WatchLists::default();
    let Err(error) = lists.add("list", text.as_ref()) else {
        panic!("{:?}", String::from_utf8_lossy(text.as_ref()))
    };
    assert!(lists.is_empty() && lists.summaries().is_empty());
    (error.line, error.fault.to_string())
}

#[test]
fn every_form_of_a_fingerprint_matches() {
    let hello = hello();
    let (ja4, ja4_stable, ja3) = (hello.ja4(), hello.ja4_stable(), hello.ja3_hash());
    assert_ne!(ja4, ja4_stable);
    let upper = ja3.to_string().to_ascii_uppercase();
    let raw = hello.ja4_r().to_string();
    for fingerprint in [ja4.to_string(), ja4_stable.to_string(), ja3.to_string(), upper] {
        assert_eq!(labels(&format!("{fingerprint},curl\n")), ["curl!"]);
    }
    for fingerprint in [raw, hello.ja4_stable_r().to_string(), hello.ja3().to_string()] {
        assert_eq!(labels(&format!("{fingerprint}\n")), ["!"], "{fingerprint}");
    }
    assert_eq!(labels(&format!("ja4_stable,{ja4_stable},x\nja4_stable,{ja4},y\n")), ["x!"]);
    assert_eq!(labels(&format!("ja3s,{ja3},x\nja3,{ja3},y\n")), ["y!"]);
    assert_eq!(labels(&format!("{OTHER},other\n{},other\n", "0".repeat(32))), [""; 0]);
}

#[test]
fn lookup_keeps_order_of_lists() {
    let (ja4, ja4_stable, ja3) = (hello().ja4(), hello().ja4_stable(), hello().ja3_hash());
    let mut all = lists(&format!("{ja3},a\n{OTHER},no\n{ja4},b\n{ja4_stable},c\n{ja4},d\n{ja4},b\n"));
    let more =
        format!("{{\"ja4_stable\":\"{ja4_stable}\",\"label\":\"e\"}}\n{{\"ja3\":\"{ja3}\",\"label\":\"f\"}}");
    all.add("more", more.as_bytes()).unwrap();
    let found = all.lookup_hello(&hello());
    let labels: Vec<&str> = found.iter().map(|entry| entry.label()).collect();
    assert_eq!(labels, ["a", "b", "c", "d", "b", "e", "f"]);
    assert_eq!(all.len(), 8);
}

#[test]
fn entries_of_an_event_are_bounded() {
    let row = format!("{},x\n", hello().ja4());
    assert_eq!(labels(&row.repeat(1000)).len(), 16);
    let (others, watched) = (format!("{},x,no\n", hello().ja4()), format!("{},y,yes\n", hello().ja4()));
    let text = format!("ja4,label,watch\n{}{}", others.repeat(100), watched.repeat(3));
    let found = labels(&text);
    assert_eq!(found.iter().filter(|label| *label == "x").count(), 16);
    assert_eq!(found[16..], ["y!", "y!", "y!"], "the others leave room for them");
}

#[test]
fn watched_entries_beyond_the_limit_are_counted() {
    let suppressed = |rows: usize| {
        let text = format!("ja3,watch\n{}", "767cd7645936b7916bcb8d106c29f99e,no\n".repeat(30));
        let watched = "767cd7645936b7916bcb8d106c29f99e,yes\n".repeat(rows);
        let (mut found, mut analyzer) =
            (Vec::<Event>::new(), HuginnNet::builder_with(observers(&(text + &watched))).build());
        let capture = CaptureReader::open(captures::path("tls-rustls.pcap")).unwrap();
        analyzer.analyze(capture, |event| found.push(event)).unwrap();
        let matches = found.iter().filter(|event| matches!(event.kind, Observation::Match(_))).count();
        (matches, analyzer.protocol().counters().events_suppressed.connection)
    };
    assert_eq!(suppressed(16), (16, 0));
    assert_eq!(suppressed(20), (16, 4));
}

#[test]
fn csv_columns_are_found_by_name() {
    let (ja4, ja3) = (hello().ja4(), hello().ja3_hash());
    for text in [
        format!("Application,Library,JA4,ja4s,Notes\nx,y,{ja4},t13,z\n"),
        format!("\u{feff}\"ja4_fingerprint\", Name \r\n{ja4},x\r\n"),
        format!("label,ja4_stable\nx,{}", hello().ja4_stable()),
        format!("ja3,ja3_hash,description,label\n\"771,4865,0\",{ja3},no,x\n"),
        format!("type,value,label\nja4,{ja4},x\n"),
        format!("value,label\n{ja4},x\n"),
        format!("ja4,{ja4},x\nip,192.0.2.1,y\n"),
        // Labels may be column names.
        format!("{ja4},x,hash\n"),
        // The first label with a value counts.
        format!("hash,label,reason\n{ja3},,x\n"),
    ] {
        assert_eq!(labels(&text), ["x!"], "{text}");
    }
    assert_eq!(labels(&format!("{ja4},hash\n")), ["hash!"]);
}

#[test]
fn comments_are_labels_and_other_separators_are_read() {
    for text in [
        "indicator,comment\nSNI,x\n",
        "ioc,comment\nSNI,x\n",
        "value,comment\nSNI,x\n",
        "value,remark,label\nSNI,y,x\n",
        "type;value;label\nsni;SNI;x\n",
        "SNI;x\n",
        "sni\tSNI\tx\n",
        "\"value\"\t\"label\"\n\"SNI\"\t\"x\"\n",
    ] {
        for name in ["evil.example", "evil[.]example", "*.evil[.]example", "192.0.2[.]7"] {
            let text = text.replace("SNI", name);
            if name.starts_with('1') && text.contains("sni") {
                continue;
            }
            let found = lists(&text);
            assert_eq!((found.len(), summary(&text).foreign), (1, 0), "{text}");
        }
    }
    let sni = matches(
        "tls-rustls.pcap",
        "type;value;label\ndomain;.EXAMPLE;x\n".replace("EXAMPLE", "test").as_str(),
    );
    let same = matches("tls-rustls.pcap", "type,value,label\ndomain,.test,x\n");
    assert_eq!(sni, same);
}

#[test]
fn every_value_of_a_row_is_watched() {
    let ja4 = hello().ja4().to_string();
    let row = format!("{},192.0.2.1,evil.example,443,loader", ja4.to_ascii_uppercase());
    let list = format!("ja4,ip,domain,port,label\n{row}\n{ja4},,localhost,,other\n,,,,none\n");
    let WatchListSummary { entries, without_value, .. } = summary(&list);
    assert_eq!((entries, without_value), (5, 1));
    assert_eq!(labels(&list), ["loader!", "other!"]);
    let object = json!({"ja4": ja4, "ip": "192.0.2.1", "url": "http://evil.example/", "label": "one"});
    assert_eq!(summary(&format!("{object}\n{object}\n")).entries, 4, "a link describes the row");
}

#[test]
fn csv_quoting_follows_rfc_4180() {
    let ja4 = hello().ja4();
    let text = format!(
        "label,ja4,watch\r\n\"a \"\"b\"\", c\nd\",\"{ja4}\",yes\r\n5\" disk,{ja4},no\r\nlast \" one,{ja4}"
    );
    assert_eq!(labels(&text), ["a \"b\", c\nd!", "5\" disk", "last \" one!"]);
}

#[test]
fn json_lines_take_names_and_types() {
    let ja4 = hello().ja4();
    let text = format!(
        "\n# comment\n {{\"JA4\":\"{ja4}\",\"Application\":\"a\\u001b\",\"watch\":true}}\n\n\
         {{\"ja4_fingerprint\":\"{ja4}\",\"name\":7,\"watch\":0,\"more\":{{\"x\":[1]}}}}\r\n\
         {{\"ja4_fingerprint\":null,\"application\":\"none\"}}\n\
         {{\"type\":\"ja4\",\"value\":\" {ja4} \",\"label\":null,\"reason\":\"c\",\"watch\":\"No\"}}"
    );
    assert_eq!(labels(&text), ["a\u{1b}!", "7", "c"]);
    assert_eq!(summary(&text).without_value, 1);
}

#[test]
fn watch_mark_takes_three_words() {
    let ja4 = hello().ja4();
    let row = |mark: &str| labels(&format!("ja4,label,watch\n{ja4},x,{mark}\n")).concat();
    for mark in ["true", "1", "yes", "YES", " True ", ""] {
        assert_eq!(row(mark), "x!", "{mark}");
    }
    for mark in ["false", "0", "no"] {
        assert_eq!(row(mark), "x", "{mark}");
    }
    let (line, message) = error(format!("ja4,label,watch\n\n{ja4},x,maybe\x1b\n"));
    assert_eq!(
        (line, message.as_str()),
        (3, r"watch: 'maybe\x1b' is not one of true, 1, yes, false, 0 and no")
    );
    let (_, message) = error("ip,label,watch\n192.0.2.1,x,no\n");
    assert_eq!(message, "watch: an entry of the type ip that is not watched has no effect");
}

#[test]
fn errors_name_line_and_value() {
    for (text, line, start) in [
        (format!("{OTHER},a\n# c\n\n  \nx\x1b[2J,b\n"), 5, r"'x\x1b[2J' is not a value of a known type"),
        (
            "host,label\nhttps://evil.example/x,y\n".into(),
            2,
            "'https://evil.example/x' is not a value of the type host",
        ),
        (
            "indicator_type,indicator\nevil.example,domain\n".into(),
            2,
            "'evil.example' is a value in the column of types",
        ),
        ("type,value\nsha1,00\n".into(), 2, "unknown type 'sha1': expected one of ja4, ja4_stable"),
        ("{\"type\":\"bundle\",\"objects\":[\n".into(), 1, "not a JSON object (column 28)"),
        (format!("type,value\nja4,{OTHER}\nja5,x\n"), 3, "unknown type 'ja5'"),
        ("type,value\nja4,x\n".into(), 2, "'x' is not a value of the type ja4"),
        ("ip,192.0.2.300,x\n".into(), 1, "'192.0.2.300' is not a value of the type ip"),
        ("sha1,label\n00,x\n".into(), 2, "'00' is not a value of the type certificate_sha1"),
        (format!("{{\"ja4\":\"{OTHER}\",\"label\":\"\"}}\n{{\"ja4\":"), 2, "not a JSON object (column 7)"),
        ("{\"ja4\":3,\"label\":\"\"}".to_owned(), 1, "'3' is not a value of the type ja4"),
        ("{\"label\":\"x\"}".into(), 1, "no value: expected the field value"),
        ("\n[{}]".to_owned(), 1, &WatchListFault::NoIndicators.to_string()),
        ("[".repeat(100_000), 1, "not a JSON object (column "),
        (format!("{OTHER},a\n\n{OTHER},\"b\n{OTHER},c\n"), 3, "the quoted field has no end"),
        (format!("{OTHER},\"b"), 1, "the quoted field has no end"),
        (format!("{OTHER},a\n{OTHER},{}\n", "x".repeat(4097)), 2, "a label of 4097 bytes"),
        ("user_agent,a*b,x\n".repeat(1001), 1001, "more than 1000 User-Agents with '*'"),
    ] {
        let (found, message) = error(&text);
        assert!(found == line && message.starts_with(start), "{found}: {message}");
    }
    let gzip = error(b"\x1f\x8b\x08\0\0");
    assert_eq!(gzip, (1, "a compressed file: decompress it first, with gunzip".to_owned()));
    assert_eq!(error(b"a,b\nc,\xff\n"), (2, "not UTF-8".to_owned()));
}

#[test]
fn empty_lists_are_accepted() {
    for text in ["", "\n \n", "# comment\n", "# a,\"b\n", "ja4,label\n"] {
        assert!(lists(text).is_empty(), "{text:?}");
    }
}

/// Lists in the form of public exports, with documentation values: their text, entries, foreign and excluded rows.
#[test]
fn exports_are_read_as_they_are() {
    let md5 = "0".repeat(32);
    let sha1 = "a".repeat(40);
    let sha256 = "b".repeat(64);
    let head = "################\r\n# abuse.ch export #\r\n################\r\n#\r\n";
    let misp = json!({"response": [{"Event": {"info": "incident", "Attribute": [
        {"type": "ja3-fingerprint-md5", "value": md5, "to_ids": true, "comment": ""},
        {"type": "ip-dst|port", "value": "192.0.2.7|443", "to_ids": true},
        {"type": "ip-src", "value": "192.0.2.0/25", "to_ids": "1"},
        {"type": "jarm", "value": "x", "to_ids": true},
        {"type": "domain", "value": "evil.example", "to_ids": false}],
        "Object": [{"name": "x509", "Attribute": [
            {"type": "x509-fingerprint-sha256", "value": sha256, "to_ids": true},
            {"type": "hassh-md5", "value": "not one", "to_ids": true}]},
            {"name": "ja4-plus", "Attribute": [
            {"type": "text", "object_relation": "ja4-fingerprint", "value": OTHER, "to_ids": true},
            {"type": "text", "object_relation": "comment", "value": OTHER, "to_ids": true}]}]}}]});
    let stix = json!({"type": "bundle", "objects": [
        {"type": "indicator", "name": "a", "pattern_type": "stix",
         "pattern": "[ipv4-addr:value = '192.0.2.1' OR domain-name:value = 'evil.example']"},
        {"type": "indicator", "name": "b", "pattern": "[file:name = 'x']"},
        {"type": "indicator", "pattern": "[ipv4-addr:value ISSUBSET '198.51.100.0/24']"},
        {"type": "indicator",
         "pattern": "[network-traffic:dst_ref.value = '2001:db8::7' AND network-traffic:dst_port = 443]"},
        {"type": "indicator", "revoked": true, "pattern": "[ipv4-addr:value = '192.0.2.9']"},
        {"type": "malware", "name": "x"}]});
    let threat_fox = json!({"1": [{"ioc_value": "192.0.2.7:443", "ioc_type": "ip:port", "malware_printable": "x"}],
        "2": [{"ioc_value": md5, "ioc_type": "md5_hash", "malware_printable": "y"}]});
    for (text, entries, foreign, excluded) in [
        (
            format!(
                "{head}# ja3_md5,Firstseen,Lastseen,Listingreason\r\n{md5},2017-07-14 18:08:15,2019-07-27 20:42:54,Dridex\r\n# END (1) entries, \"x\r\n"
            ),
            1,
            0,
            0,
        ),
        (
            format!("{head}# Listingdate,SHA1,Listingreason\r\n2024-01-01 10:00:00,{sha1},AsyncRAT C&C\r\n"),
            1,
            0,
            0,
        ),
        (format!("{head}# Firstseen,DstIP,DstPort\r\n2024-01-01 10:00:00,192.0.2.7,443\r\n"), 1, 0, 0),
        (
            format!(
                "{head}\"first_seen_utc\",\"dst_ip\",\"dst_port\",\"c2_status\",\"last_online\",\"malware\"\r\n\"2024-01-01 10:00:00\",\"192.0.2.7\",\"443\",\"online\",\"2024-01-02\",\"QakBot\"\r\n"
            ),
            1,
            0,
            0,
        ),
        (
            format!(
                "{head}# \"first_seen_utc\",\"ioc_id\",\"ioc_value\",\"ioc_type\",\"threat_type\",\"fk_malware\",\"malware_alias\",\"malware_printable\",\"last_seen_utc\",\"confidence_level\",\"reference\",\"tags\"\r\n\"2024-01-01 10:00:00\", \"1\", \"192.0.2.7:443\", \"ip:port\", \"botnet_cc\", \"win.x\", \"None\", \"X\", \"\", \"75\", \"None\", \"a,b\"\r\n\"2024-01-01 10:00:00\", \"2\", \"evil.example\", \"domain\", \"botnet_cc\", \"win.x\", \"None\", \"X\", \"\", \"75\", \"None\", \"a\"\r\n\"2024-01-01 10:00:00\", \"3\", \"{md5}\", \"md5_hash\", \"payload\", \"win.x\", \"None\", \"X\", \"\", \"75\", \"None\", \"a\"\r\n"
            ),
            2,
            1,
            0,
        ),
        (format!("{head}127.0.0.1\tevil.example\r\n127.0.0.1\tc2.evil.example\r\n"), 2, 0, 0),
        ("127.0.0.1 localhost\n0.0.0.0 0.0.0.0\n0.0.0.0 evil.example www.evil.example\n".into(), 2, 0, 2),
        (format!("{head}192.0.2.7\r\n2001:db8::7\r\n"), 2, 0, 0),
        ("192.0.2.0/24 ; SBL1\n198.51.100.0/24 ; SBL2\n".into(), 2, 0, 0),
        (
            format!(
                "{head}# id,dateadded,url,url_status,last_online,threat,tags,urlhaus_link,reporter\r\n\"1\",\"2024-01-01 10:00:00\",\"http://evil.example/x\",\"online\",\"\",\"malware_download\",\"a,b\",\"https://urlhaus.abuse.ch/url/1/\",\"x\"\r\n"
            ),
            0,
            1,
            0,
        ),
        ("evil.example\nhttps://evil.example/x\nhxxp://evil[.]example/\n192.0.2.7\n".into(), 2, 2, 0),
        ("https://evil.example/x\nevil.example\n".into(), 1, 1, 0),
        (threat_fox.to_string(), 1, 1, 0),
        (
            json!([{"ip_address": "192.0.2.7", "port": 443, "malware": "QakBot", "hostname": null}])
                .to_string(),
            1,
            0,
            0,
        ),
        (misp.to_string(), 5, 3, 1),
        (serde_json::to_string_pretty(&misp).unwrap(), 5, 3, 1),
        (stix.to_string(), 4, 1, 1),
    ] {
        let found = summary(&text);
        assert_eq!((found.entries, found.foreign, found.excluded), (entries, foreign, excluded), "{text}");
    }
}

fn observers(text: &str) -> Observers {
    Observers::default().handshakes(true).watch_lists(WatchListHandle::new(lists(text)))
}

/// The events of a capture as JSON.
fn events(capture: &str, observers: Observers) -> Vec<Value> {
    let mut events: Vec<Event> = Vec::new();
    let capture = CaptureReader::open(captures::path(capture)).unwrap();
    HuginnNet::builder_with(observers).build().analyze(capture, |event| events.push(event)).unwrap();
    events.iter().map(|event| serde_json::to_value(EventRecord::from_event(event)).unwrap()).collect()
}

fn matches(capture: &str, text: &str) -> Vec<Value> {
    events(capture, observers(text)).into_iter().filter(|event| event["event"] == "match").collect()
}

#[test]
fn every_type_matches_its_events() {
    for (capture, event, field, kind) in [
        ("tls-rustls.pcap", "tls_client", "/ja4", "ja4"),
        ("tls-rustls.pcap", "tls_client", "/ja4_stable", "ja4_stable"),
        ("tls-rustls.pcap", "tls_client", "/ja4_r", "ja4_r"),
        ("tls-rustls.pcap", "tls_client", "/ja3_hash", "ja3_hash"),
        ("tls-rustls.pcap", "tls_client", "/ja3", "ja3_hash"),
        ("tls-rustls.pcap", "tls_server", "/ja3s_hash", "ja3s_hash"),
        ("tls-rustls.pcap", "tls_client", "/sni", "host"),
        ("tls-rustls.pcap", "tcp_syn", "/sig", "sig"),
        ("tls-rustls.pcap", "tcp_syn", "/server/ip", "ip"),
        ("ssh-dropbear.pcap", "ssh_client", "/hassh", "hassh"),
        ("ssh-dropbear.pcap", "ssh_server", "/hassh", "hassh_server"),
        ("http-h2c.pcap", "http_request", "/akamai", "akamai_hash"),
        ("http-h2c.pcap", "http_request", "/akamai_hash", "akamai_hash"),
        ("http-h2c.pcap", "http_request", "/user_agent", "user_agent"),
    ] {
        let found = events(capture, Observers::default());
        let wanted = found.iter().find(|found| {
            found["event"] == event
                && found.pointer(field).is_some_and(|value| {
                    value.as_str().is_some_and(|text| kind != "host" || text.contains('.'))
                })
        });
        let Some(wanted) = wanted else {
            assert!(kind == "host", "{event} {field}");
            continue;
        };
        let value = wanted.pointer(field).unwrap().as_str().unwrap();
        let found = matches(capture, &format!("type,value,label\n{kind},\"{value}\",x\n"));
        let first = found.first().unwrap_or_else(|| panic!("{event} {field} {value}"));
        assert_eq!(
            (&first["type"], &first["matched_event"], &first["match_label"], &first["list"], &first["line"]),
            (&json!(kind), &json!(event), &json!("x"), &json!("list"), &json!(2)),
            "{field}"
        );
        assert_eq!((&first["client"], &first["packet"]), (&wanted["client"], &wanted["packet"]));
        let other = match kind {
            "ip" => "203.0.113.99".to_owned(),
            "host" => "other.example".to_owned(),
            "user_agent" => "other".to_owned(),
            "sig" => "4:255:0:536:1,0:mss::0".to_owned(),
            "ja4" | "ja4_stable" => OTHER.to_owned(),
            "ja4_r" => "t13d0306h3_1301,1302,1303_000a,000d,002b,0033_0403,0804".to_owned(),
            _ => "0".repeat(32),
        };
        assert_eq!(matches(capture, &format!("type,value,label\n{kind},\"{other}\",x\n")), [Value::Null; 0]);
    }
}

#[test]
fn certificates_match_by_both_hashes() {
    let capture = captures::with_extension(&["pcap", "pcapng"]).into_iter().find_map(|path| {
        let reader = CaptureReader::open(&path).ok()?;
        let mut found = None;
        let observers = Observers::default().handshakes(true);
        let _ = HuginnNet::builder_with(observers).build().analyze(reader, &mut |event: Event| {
            if let Observation::TlsCertificates(certificates) = &event.kind {
                found = certificates
                    .certificates
                    .certificates
                    .first()
                    .map(|first| (*first.sha256(), *first.sha1()));
            }
        });
        Some((path.file_name()?.to_str()?.to_owned(), found?))
    });
    let (name, (sha256, sha1)) = capture.unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>();
    for (value, kind) in
        [(hex(&sha256).concat(), "certificate_sha256"), (hex(&sha1).join(":"), "certificate_sha1")]
    {
        let found = matches(&name, &format!("{kind},{value},x\n"));
        assert!(found.iter().any(|found| found["type"] == kind), "{found:?}");
    }
    assert!(matches(&name, &format!("{}\n{}\n", "0".repeat(40), "0".repeat(64))).is_empty());
}

#[test]
fn addresses_match_once_for_each_flow_and_side() {
    let found = events("tls-rustls.pcap", Observers::default());
    let (client, server) = (&found[0]["client"], &found[0]["server"]);
    let (client, port) = (client["ip"].as_str().unwrap(), server["port"].as_u64().unwrap());
    let server = server["ip"].as_str().unwrap();
    let flows = found.iter().filter(|event| event["event"] == "tcp_syn").count();
    assert!(flows > 1 && client != server);
    let sides = |text: &str| {
        let found = matches("tls-rustls.pcap", text);
        let of = |side: &str| found.iter().filter(|found| found["subject"] == side).count();
        (of("client"), of("server"), found.first().map(|found| found["value"].clone()))
    };
    assert_eq!(sides(&format!("{server}\n")), (0, flows, Some(json!(server))));
    assert_eq!(sides(&format!("{client}\n")), (flows, 0, Some(json!(client))));
    assert_eq!(sides(&format!("{server}:{port}\n")), (0, flows, Some(json!(format!("{server}:{port}")))));
    assert_eq!(sides(&format!("{server}:1\n")), (0, 0, None));
    assert_eq!(sides("0.0.0.0/0\n"), (flows, flows, Some(json!("0.0.0.0/0"))));
    assert_eq!(sides("::/0\n203.0.113.0/31\n"), (0, 0, None));
    // IPv4-mapped addresses are those of IPv4.
    assert_eq!(sides(&format!("::ffff:{server}\n")), (0, flows, Some(json!(server))));
    assert_eq!(sides(&format!("type,value\nip:port,[::ffff:{server}]:{port}\n")).1, flows);
    assert_eq!(sides(&format!("ip,dst_port,label\n::ffff:{server},{port},x\n")).1, flows);
    assert_eq!(sides("::ffff:0.0.0.0/96\n"), (flows, flows, Some(json!("0.0.0.0/0"))));
    assert_eq!(sides("::/95\n"), (0, 0, None));
}

/// A request to `host` in one packet, as a capture.
fn request(host: &str, user_agent: &str) -> Vec<u8> {
    let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {user_agent}\r\nAccept: */*\r\n\r\n");
    let len = 40 + head.len() as u16;
    let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2];
    ip[2..4].copy_from_slice(&len.to_be_bytes());
    let tcp = [0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0];
    let packet = [ip, tcp.to_vec(), head.into_bytes()].concat();
    let packet_len = packet.len() as u32;
    // Classic pcap, little-endian, link type 101 (RAW).
    let numbers = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101, 1_700_000_000, 0, packet_len, packet_len];
    numbers.iter().flat_map(|number: &u32| number.to_le_bytes()).chain(packet).collect()
}

fn request_matches(host: &str, user_agent: &str, text: &str) -> Vec<String> {
    let capture = std::io::Cursor::new(request(host, user_agent));
    let reader = CaptureReader::from_reader("request.pcap", capture).unwrap();
    let mut values = Vec::new();
    HuginnNet::builder_with(observers(text))
        .build()
        .analyze(reader, &mut |event: Event| {
            if let Observation::Match(found) = &event.kind {
                values.push(found.value.to_string());
            }
        })
        .unwrap();
    values
}

#[test]
fn names_match_exactly_or_with_those_below() {
    let list = "evil.example\n.wide.example\n*.below.example\n";
    for (host, want) in [
        ("evil.example", &["evil.example"][..]),
        ("EVIL.example.:8080", &["evil.example"]),
        ("www.evil.example", &[]),
        ("notevil.example", &[]),
        ("wide.example", &[".wide.example"]),
        ("a.b.wide.example", &[".wide.example"]),
        ("awide.example", &[]),
        ("below.example", &[]),
        ("a.below.example", &["*.below.example"]),
        ("a.b.below.example", &["*.below.example"]),
        ("example", &[]),
    ] {
        assert_eq!(request_matches(host, "x", list), want, "{host}");
    }
    let deep = format!("{}wide.example", "a.".repeat(120));
    assert_eq!(request_matches(&deep, "x", list), [".wide.example"]);
}

#[test]
fn user_agents_match_exactly_or_by_pattern() {
    let list = "type,value,label\nuser_agent,evil/1.0,a\nuser_agent,*loader*bot,b\n";
    for (user_agent, want) in [
        ("evil/1.0", &["evil/1.0"][..]),
        ("Evil/1.0", &[]),
        ("evil/1.0 x", &[]),
        ("a Loader of a bot", &["*loader*bot"]),
        ("a Loader of a bot.", &[]),
    ] {
        assert_eq!(request_matches("x.example", user_agent, list), want, "{user_agent}");
    }
}

#[test]
fn matches_are_the_same_for_any_number_of_workers() {
    let ja4 = events("tls-rustls.pcap", Observers::default());
    let ja4 = ja4.iter().find(|event| event["event"] == "tls_client").unwrap()["ja4"].clone();
    let text = format!("0.0.0.0/0\n{}\n", ja4.as_str().unwrap());
    let found = [1, 3].map(|workers| {
        let mut lines = Vec::new();
        let reader = CaptureReader::open(captures::path("tls-rustls.pcap")).unwrap();
        HuginnNet::builder_with(observers(&text))
            .workers(workers)
            .build()
            .analyze(reader, &mut |event: Event| lines.push(JsonEvent::new(&event).to_string()))
            .unwrap();
        lines
    });
    assert!(found[0].iter().any(|line| line.contains(r#""event":"match""#)));
    assert_eq!(found[0], found[1]);
}

#[test]
fn replaced_lists_are_used_from_the_next_event_on() {
    let handle = WatchListHandle::new(lists("203.0.113.9\n"));
    let observers = Observers::default().watch_lists(handle.clone());
    let reader = CaptureReader::open(captures::path("tls-rustls.pcap")).unwrap();
    let mut events: Vec<Event> = Vec::new();
    HuginnNet::builder_with(observers)
        .build()
        .analyze(reader, &mut |event: Event| {
            if events.is_empty() {
                handle.replace(lists("0.0.0.0/0\n"));
            }
            events.push(event);
        })
        .unwrap();
    let first = events.iter().position(|event| matches!(event.kind, Observation::Match(_))).unwrap();
    assert!(first > 0);
    assert_eq!(handle.get().summaries()[0].entries, 1);
}

#[test]
fn replaced_settings_apply_to_next_frames() {
    let named = |name: &str| {
        let text = format!(
            "classes = unix\n[tcp:request]\nlabel = s:unix:{name}:any\nsig = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0\n"
        );
        NamingDatabases::new(Arc::new(Database::from_bytes(text.as_bytes()).unwrap()), None)
    };
    let (databases, filter) =
        (Replaceable::new(named("First")), Replaceable::new(Filter::new().exclude_port(443)));
    let mut analyzer = HuginnNet::builder()
        .replaceable_databases(databases.clone())
        .replaceable_filter(filter.clone())
        .build();
    let mut names = || {
        let mut names = Vec::new();
        let reader = CaptureReader::open(captures::path("tls-rustls.pcap")).unwrap();
        let analyzed = analyzer.analyze(reader, &mut |event: Event| {
            if let Observation::Tcp(found) = event.kind {
                names.extend(found.label().map(|label| label.name.to_string()));
            }
        });
        analyzed.unwrap();
        names
    };
    assert!(names().is_empty());
    filter.replace(Filter::new());
    let first = names();
    assert!(!first.is_empty() && first.iter().all(|name| name == "First"), "{first:?}");
    databases.replace(named("Second"));
    let second = names();
    assert!(second.len() == first.len() && second.iter().all(|name| name == "Second"), "{second:?}");
}

#[test]
fn events_have_listed_only_with_lists() {
    let has_listed = |event: &Value| event.as_object().unwrap().contains_key("listed");
    assert!(!events("tls-rustls.pcap", Observers::default()).iter().any(has_listed));
    let found = events("tls-rustls.pcap", observers(&format!("{OTHER},x\n")));
    let clients: Vec<&Value> = found.iter().filter(|event| event["event"] == "tls_client").collect();
    assert!(clients.iter().all(|event| has_listed(event) && event["listed"].is_null()));
    let ja4 = clients[0]["ja4"].as_str().unwrap();
    let found = events("tls-rustls.pcap", observers(&format!("ja4,label,watch\n{ja4},\"a \"\"\x1b\",no\n")));
    let client = found.iter().find(|event| event["event"] == "tls_client").unwrap();
    assert_eq!(client["listed"], json!([{"label": "a \"\x1b", "watch": false}]));
    assert!(!found.iter().any(|event| event["event"] == "match"));
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_rejected(bytes: Vec<u8>, text in "[{\\[\"#,\\n\\r :}ajt4_0-9.*]{0,200}") {
        for input in [bytes.as_slice(), text.as_bytes()] {
            let mut lists = WatchLists::default();
            if let Err(error) = lists.add("list", input) {
                let lines = input.split(|byte| *byte == b'\n').count();
                prop_assert!(error.line >= 1 && error.line <= lines, "{error}");
            }
        }
    }

    /// A list of valid rows is found again, whatever its labels.
    #[test]
    fn any_label_survives_quoting(labels in proptest::collection::vec("[^\\s](.|\n){0,20}[^\\s]", 1..10)) {
        let ja4 = hello().ja4();
        let rows = labels.iter().map(|label| format!("{ja4},\"{}\"\n", label.replace('"', "\"\"")));
        let csv = lists(&rows.collect::<String>());
        let rows = labels.iter().map(|label| json!({"ja4": ja4.to_string(), "label": label}).to_string() + "\n");
        let json = lists(&rows.collect::<String>());
        for lists in [csv, json] {
            let found = lists.lookup_hello(&hello());
            let found: Vec<&str> = found.iter().map(|entry| entry.label()).collect();
            prop_assert_eq!(found, labels.iter().map(|label| label.trim()).collect::<Vec<_>>());
        }
    }
}
