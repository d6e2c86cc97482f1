//! Parsing and lookup of fingerprint lists.

use std::sync::Arc;

use huginn_net::fingerprint_list::{FingerprintList, FingerprintListFault};
use huginn_net::record::EventRecord;
use huginn_net::record::JsonEvent;
use huginn_net::tls::ClientHello;
use huginn_net::{CaptureReader, Event, Finding, HuginnNet, Observers};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::captures;

const HELLO: &[u8] = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin");
const OTHER: &str = "t13d1516h2_8daaf6152771_02713d6af862";

fn hello() -> ClientHello<'static> {
    ClientHello::from_records(HELLO).unwrap().unwrap().value
}

fn list(text: &str) -> FingerprintList {
    let mut list = FingerprintList::default();
    list.add(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    list
}

/// The labels of the hello, with `!` after those that are watched.
fn labels(text: &str) -> Vec<String> {
    let list = list(text);
    let entries = list.lookup_hello(&hello());
    let mark = |watch| if watch { "!" } else { "" };
    entries.iter().map(|entry| format!("{}{}", entry.label(), mark(entry.is_watched()))).collect()
}

/// The line and the message of the error.
fn error(text: impl AsRef<[u8]>) -> (usize, String) {
    let mut list = FingerprintList::default();
    let Err(error) = list.add(text.as_ref()) else { panic!("{:?}", String::from_utf8_lossy(text.as_ref())) };
    assert!(list.is_empty());
    (error.line, error.fault.to_string())
}

#[test]
fn every_form_of_a_fingerprint_matches() {
    let hello = hello();
    let (ja4, ja4_stable, ja3) = (hello.ja4(), hello.ja4_stable(), hello.ja3_hash());
    assert_ne!(ja4, ja4_stable);
    for fingerprint in
        [ja4.to_string(), ja4_stable.to_string(), ja3.to_string(), ja3.to_string().to_ascii_uppercase()]
    {
        assert_eq!(labels(&format!("{fingerprint},curl\n")), ["curl"]);
    }
    assert_eq!(labels(&format!("{OTHER},other\n{},other\n", "0".repeat(32))), [""; 0]);
}

#[test]
fn lookup_keeps_order_of_lists() {
    let (ja4, ja4_stable, ja3) = (hello().ja4(), hello().ja4_stable(), hello().ja3_hash());
    let mut all = list(&format!("{ja3},a\n{OTHER},no\n{ja4},b\n{ja4_stable},c\n{ja4},d\n{ja4},b\n"));
    all.add(
        format!("{{\"ja4_stable\":\"{ja4_stable}\",\"label\":\"e\"}}\n{{\"ja3\":\"{ja3}\",\"label\":\"f\"}}")
            .as_bytes(),
    )
    .unwrap();
    let labels: Vec<&str> = all.lookup_hello(&hello()).iter().map(|entry| entry.label()).collect();
    assert_eq!(labels, ["a", "b", "c", "d", "b", "e", "f"]);
    assert_eq!(all.len(), 8);
}

#[test]
fn csv_columns_are_found_by_name() {
    let (ja4, ja3) = (hello().ja4(), hello().ja3_hash());
    for text in [
        format!("Application,Library,JA4,ja4s,Notes\nx,y,{ja4},t13,z\n"),
        format!("\u{feff}\"ja4_fingerprint\", Name \r\n{ja4},x\r\n"),
        format!("label,ja4_stable\nx,{}", hello().ja4_stable()),
        format!("ja3,ja3_hash,description,label\n\"771,4865,0\",{ja3},no,x\n"),
        // Labels may be column names.
        format!("{ja4},x,hash\n"),
        // The first label with a value counts.
        format!("hash,label,reason\n{ja3},,x\n"),
    ] {
        assert_eq!(labels(&text), ["x"], "{text}");
    }
    assert_eq!(labels(&format!("{ja4},hash\n")), ["hash"]);
}

#[test]
fn abuse_ch_header_is_a_comment() {
    let ja3 = hello().ja3_hash();
    let text = format!(
        "################\r\n# abuse.ch SSLBL JA3 Fingerprint Blacklist (CSV) #\r\n# Last updated: 2021-08-03 #\r\n\
         ################\r\n#\r\n# ja3_md5,Firstseen,Lastseen,Listingreason\r\n\
         {ja3},2017-07-14 18:08:15,2019-07-27 20:42:54,\"Dridex\"\r\n# END (1) entries, \"x\r\n"
    );
    assert_eq!(labels(&text), ["Dridex"]);
}

#[test]
fn csv_quoting_follows_rfc_4180() {
    let ja4 = hello().ja4();
    let text = format!(
        "label,ja4,watch\r\n\"a \"\"b\"\", c\nd\",\"{ja4}\",yes\r\n5\" disk,{ja4},\r\nlast \" one,{ja4}"
    );
    assert_eq!(labels(&text), ["a \"b\", c\nd!", "5\" disk", "last \" one"]);
}

#[test]
fn json_lines_take_names_and_types() {
    let ja4 = hello().ja4();
    let text = format!(
        "\n# comment\n {{\"JA4\":\"{ja4}\",\"Application\":\"a\\u001b\",\"watch\":true}}\n\n\
         {{\"ja4_fingerprint\":\"{ja4}\",\"name\":7,\"watch\":1,\"more\":{{\"x\":[1]}}}}\r\n\
         {{\"ja4_fingerprint\":null,\"application\":\"none\"}}\n{{\"hash\":\" {ja4} \",\"label\":null,\"reason\":\"c\",\"watch\":\"No\"}}"
    );
    assert_eq!(labels(&text), ["a\u{1b}!", "7!", "c"]);
    assert_eq!(list(&text).rows_without_fingerprint(), 1);
}

#[test]
fn watch_mark_takes_three_words() {
    let ja4 = hello().ja4();
    let row = |mark: &str| labels(&format!("ja4,label,watch\n{ja4},x,{mark}\n")).concat();
    for mark in ["true", "1", "yes", "YES", " True "] {
        assert_eq!(row(mark), "x!", "{mark}");
    }
    for mark in ["false", "0", "no", ""] {
        assert_eq!(row(mark), "x", "{mark}");
    }
    let (line, message) = error(format!("ja4,label,watch\n\n{ja4},x,maybe\x1b\n"));
    assert_eq!(
        (line, message.as_str()),
        (3, r"watch: 'maybe\x1b' is not one of true, 1, yes, false, 0 and no")
    );
}

#[test]
fn rows_without_fingerprint_are_counted() {
    let list = list(&format!("Application,ja4,ja4h\na,,ge11\nb,{OTHER},\n,,\n\nc,,\n"));
    assert_eq!((list.len(), list.rows_without_fingerprint()), (1, 2));
}

#[test]
fn errors_name_line_and_value() {
    let raw = "t13d1011h1_00ff,1301_0005,000a_0503";
    let not = |value: &str| {
        format!(
            "'{value}' is not a JA4, a stable JA4, an Akamai fingerprint or an MD5 of 32 hexadecimal digits \
             (JA3, JA3S, HASSH, Akamai)"
        )
    };
    let label = "no label: expected a second column, or one of the names label, application, name, description, \
                 listingreason, reason, malware";
    for (text, line, message) in [
        ("Application,Library\n".to_owned(), 1, not("Application")),
        (format!("{OTHER},a\n# c\n\n  \nx\x1b[2J,b\n"), 5, not(r"x\x1b[2J")),
        (format!("ja4,label\r\n{OTHER},\"a\nb\"\r\n\"{raw}\",b\r\n"), 4, not(raw)),
        (format!("{},a", "é".repeat(100)), 1, not(&format!("{}…", "é".repeat(40)))),
        (format!("{},a", "0".repeat(31)), 1, not(&"0".repeat(31))),
        (format!("+{},a", "0".repeat(31)), 1, not(&format!("+{}", "0".repeat(31)))),
        ("1:6;4:9|33488897|0|m,p,s,a,my bot\n".into(), 1, not("1:6;4:9|33488897|0|m")),
        (format!("{OTHER},a\n{OTHER}\n"), 2, label.to_owned()),
        (format!("# list\nja4,count\n{OTHER},3\n"), 2, label.to_owned()),
        (format!("{{\"ja4\":\"{OTHER}\"}}"), 1, label.to_owned()),
        (
            format!("{{\"ja4\":\"{OTHER}\",\"label\":\"\"}}\n{{\"ja4\":"),
            2,
            "not a JSON object (column 7)".into(),
        ),
        ("{\"ja4\":3,\"label\":\"\"}".to_owned(), 1, not("3")),
        ("\n[{}]".to_owned(), 2, FingerprintListFault::JsonArray.to_string()),
        (format!("{OTHER},a\n\n{OTHER},\"b\n{OTHER},c\n"), 3, "the quoted field has no end".to_owned()),
        (format!("{OTHER},\"b"), 1, "the quoted field has no end".to_owned()),
    ] {
        assert_eq!(error(&text), (line, message), "{text}");
    }
    let (line, message) = error("{\"label\":\"x\"}");
    assert!(
        line == 1 && message.starts_with("no fingerprint: expected one of the fields ja4, "),
        "{message}"
    );
    let (line, message) = error(format!("{OTHER},a\n{OTHER},{}\n", "x".repeat(4097)));
    assert!(line == 2 && message.starts_with("a label of 4097 bytes"), "{message}");
    assert_eq!(error(b"a,b\nc,\xff\n"), (2, "not UTF-8".to_owned()));
}

#[test]
fn empty_lists_are_accepted() {
    for text in ["", "\n \n", "# comment\n", "# a,\"b\n", "ja4,label\n"] {
        assert!(list(text).is_empty(), "{text:?}");
    }
}

/// The events of a capture as JSON.
fn events(capture: &str, text: &str) -> Vec<Value> {
    let observers = Observers::default().fingerprint_list(Arc::new(list(text)));
    let mut events: Vec<Event> = Vec::new();
    let capture = CaptureReader::open(captures::path(capture)).unwrap();
    HuginnNet::builder_with(observers).build().analyze(capture, &mut events).unwrap();
    events.iter().map(|event| serde_json::to_value(EventRecord::from_event(event)).unwrap()).collect()
}

#[test]
fn every_kind_of_fingerprint_matches_its_events() {
    for (capture, event, fields) in [
        ("tls-rustls.pcap", "tls_client", &["ja4", "ja4_stable", "ja3_hash"][..]),
        ("tls-rustls.pcap", "tls_server", &["ja3s_hash"]),
        ("ssh-dropbear.pcap", "ssh_client", &["hassh"]),
        ("ssh-dropbear.pcap", "ssh_server", &["hassh"]),
        ("http-h2c.pcap", "http_request", &["akamai", "akamai_hash"]),
    ] {
        for field in fields {
            let is_wanted = |found: &&Value| found["event"] == event && found[*field].is_string();
            let found = events(capture, "");
            let wanted = found.iter().find(is_wanted).unwrap()[*field].as_str().unwrap().to_owned();
            let found = events(capture, &format!("\"{wanted}\",x\n"));
            let labelled: Vec<&Value> = found.iter().filter(|found| found["listed"].is_array()).collect();
            assert!(!labelled.is_empty(), "{event} {field}");
            for found in labelled {
                assert_eq!((&found["event"], &found[*field]), (&json!(event), &json!(wanted)));
                assert_eq!(found["listed"], json!([{"label": "x", "watch": false}]));
            }
        }
    }
}

/// The first event of a TLS client as JSON, and as `serde` has it.
fn event(list: Option<&str>) -> Vec<Value> {
    let observers = Observers::default();
    let observers = match list {
        Some(text) => observers.fingerprint_list(Arc::new(self::list(text))),
        None => observers,
    };
    let mut events: Vec<Event> = Vec::new();
    let capture = CaptureReader::open(captures::path("tls-rustls.pcap")).unwrap();
    HuginnNet::builder_with(observers).build().analyze(capture, &mut events).unwrap();
    let event = events.iter().find(|event| matches!(event.kind, Finding::TlsClient(_))).unwrap();
    let line = serde_json::from_str(&JsonEvent { event, file: None }.to_string()).unwrap();
    vec![line, serde_json::to_value(EventRecord::from_event(event)).unwrap()]
}

#[test]
fn events_have_listed_only_with_list() {
    let without = event(None);
    assert!(without.iter().all(|event| event.get("listed").is_none()));
    let line = &without[0];
    let (ja4, ja4_stable) = (line["ja4"].as_str().unwrap(), line["ja4_stable"].as_str().unwrap());
    for found in event(Some(&format!("{OTHER},x\n"))) {
        assert_eq!(found["listed"], Value::Null);
        assert!(found.as_object().unwrap().contains_key("listed"));
    }
    let text = format!("ja4,label,watch\n{ja4_stable},\"a \"\"\x1b\",1\n{OTHER},x,1\n{ja4},b,\n");
    for found in event(Some(&text)) {
        let want = json!([{"label": "a \"\x1b", "watch": true}, {"label": "b", "watch": false}]);
        assert_eq!(found["listed"], want);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_rejected(bytes: Vec<u8>, text in "[{\\[\"#,\\n\\r :}ajt4_0-9]{0,200}") {
        for input in [bytes.as_slice(), text.as_bytes()] {
            let mut list = FingerprintList::default();
            if let Err(error) = list.add(input) {
                let lines = input.split(|byte| *byte == b'\n').count();
                prop_assert!(error.line >= 1 && error.line <= lines, "{error}");
            }
        }
    }

    /// A list of valid rows is found again, whatever its labels.
    #[test]
    fn any_label_survives_quoting(labels in proptest::collection::vec("[^\\s](.|\n){0,20}[^\\s]", 1..20)) {
        let ja4 = hello().ja4();
        let rows = labels.iter().map(|label| format!("{ja4},\"{}\"\n", label.replace('"', "\"\"")));
        let csv = list(&rows.collect::<String>());
        let rows = labels.iter().map(|label| json!({"ja4": ja4.to_string(), "label": label}).to_string() + "\n");
        let json = list(&rows.collect::<String>());
        for list in [csv, json] {
            let found: Vec<&str> = list.lookup_hello(&hello()).iter().map(|entry| entry.label()).collect();
            prop_assert_eq!(found, labels.iter().map(|label| label.trim()).collect::<Vec<_>>());
        }
    }
}
