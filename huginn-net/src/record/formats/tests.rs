//! Checks formatted events of captures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::str;

use huginn_net_core::{TunnelLayer, TunnelPath};
use huginn_net_tls::Version;
use serde_json::Value;

use super::plan::{FormatPlan, Target};
use super::table::{Form, Place, ROWS};
use super::zeek::{ZeekForm, ZeekLog, ZeekLogs};
use super::{EventFormat, FormattedEvent, formats_page};
use crate::record::{EVENT_NAMES, FieldInfo, JsonEvent, fields_of_event};
use crate::{CaptureReader, Configure, Event, HuginnNet, Observation};

/// The events of a capture in our JSON and in a format.
fn events(capture: &str, format: EventFormat) -> Vec<(Value, Value)> {
    let path = match capture.contains('/') {
        true => Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(capture),
        false => crate::captures::path(capture),
    };
    let mut events = Vec::new();
    let mut write = |event: Event| {
        let formatted = FormattedEvent::new(format, &event).with_names(Some("a"), Some("eth0")).to_string();
        let json = JsonEvent { event: &event, file: None }.to_string();
        events.push((serde_json::from_str(&json).unwrap(), serde_json::from_str(&formatted).unwrap()));
    };
    let builder = HuginnNet::builder().handshakes(true).connections(true);
    builder.build().analyze(CaptureReader::open(path).unwrap(), &mut write).unwrap();
    events
}

/// The event of a kind from this port of a client.
fn from_port(port: u16, format: EventFormat, kind: &str) -> Value {
    let is_wanted = |json: &Value| json["event"] == kind && json["client"]["port"] == port;
    events("tls-curl.pcap", format).into_iter().find(|(json, _)| is_wanted(json)).unwrap().1
}

/// The first event of a kind.
fn first(capture: &str, format: EventFormat, kind: &str) -> Value {
    let found = events(capture, format).into_iter().find(|(json, _)| json["event"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {capture}")).1
}

/// Values of Suricata 8.0.7 for the same capture, with community-id, ja3, ja4 and hassh on.
#[test]
fn eve_has_values_of_suricata() {
    let tls = from_port(41_684, EventFormat::Eve, "tls_client");
    assert_eq!(tls["event_type"], "tls");
    assert_eq!(
        (&tls["src_ip"], &tls["dest_port"], &tls["proto"]),
        (&"192.0.2.1".into(), &443.into(), &"TCP".into())
    );
    assert_eq!(tls["community_id"], "1:VKl+7/CSN/TYDHTL7QFOJXfm3Zg=");
    assert_eq!(tls["tls"]["sni"], "www.example.test");
    assert_eq!(tls["tls"]["ja4"], "t12d2807h2_d943125447b4_a44c6288192a");
    assert_eq!(tls["tls"]["ja3"]["hash"], "87b9bfc7da97115ed2276737b09f8d74");
    assert_eq!(tls["tls"]["client_alpns"], serde_json::json!(["h2", "http/1.1"]));
    assert_eq!((&tls["in_iface"], &tls["pcap_filename"]), (&"eth0".into(), &"a".into()));
    let server = from_port(41_684, EventFormat::Eve, "tls_server");
    assert_eq!(server["tls"]["version"], "TLS 1.2");
    assert_eq!(server["tls"]["ja3s"]["hash"], "fe0146829eef1917ba6c2dd4f5c08905");
    assert_eq!(server["flow_id"], tls["flow_id"]);
    assert_eq!(server["tls"]["server_alpns"], serde_json::json!(["h2"]));
}

/// The networks of two GRE tunnels may have the same addresses.
#[test]
fn connections_of_two_tunnels_or_times_have_different_numbers() {
    let path = crate::captures::path("tls-curl.pcap");
    let mut found = Vec::new();
    let mut keep = |event: Event| found.push(event);
    HuginnNet::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut keep).unwrap();
    let mut event = found.into_iter().find(|event| matches!(event.kind, Observation::TlsClient(_))).unwrap();
    let mut in_tunnel = |key| {
        event.flow.tunnel = TunnelPath::with_key_word(&[TunnelLayer::Gre], key).map(Box::new);
        event.clone()
    };
    let mut events = [in_tunnel(1), in_tunnel(2), in_tunnel(1), in_tunnel(1)];
    // Another connection on the same addresses and ports.
    events[3].first_packet += 1;
    for (format, field) in [
        (EventFormat::Eve, "/flow_id"),
        (EventFormat::Zeek, "/uid"),
        (EventFormat::Ocsf, "/connection_info/uid"),
    ] {
        let [one, two, again, later] = events.each_ref().map(|event| {
            let text = FormattedEvent::new(format, event).to_string();
            serde_json::from_str::<Value>(&text).unwrap().pointer(field).unwrap().to_string()
        });
        assert_ne!(one, two, "{format:?}");
        assert_eq!(one, again, "{format:?}");
        assert_ne!(one, later, "{format:?}");
    }
    let (mut logs, mut uids) = (ZeekLogs::new(ZeekForm::Json), BTreeSet::new());
    let mut keep = |log, row: &[u8]| {
        if log == ZeekLog::Ssl {
            uids.insert(serde_json::from_slice::<Value>(row).unwrap()["uid"].to_string());
        }
    };
    events.iter().for_each(|event| logs.add(event, None, &mut keep));
    logs.finish(&mut keep);
    assert_eq!(uids.len(), 3);
}

/// EVE: values of Suricata 8.0.7 for the same capture. Suricata writes the bytes of IP addresses in `subjectaltname`.
#[test]
fn certificates_have_fields_of_other_tools() {
    let sent_by = |side: &str, format| {
        let found = events("tls-certificates.pcap", format).into_iter();
        let mut found = found.filter(|(json, _)| json["event"] == "tls_certificates");
        found
            .find(|(json, _)| json["subject"] == side && json["certificates"] != serde_json::json!([]))
            .unwrap()
    };
    let (json, eve) = sent_by("server", EventFormat::Eve);
    let tls = &eve["tls"];
    assert_eq!(tls["subject"], "O=Example, Inc., CN=www.example.test");
    assert_eq!(tls["issuerdn"], "C=DE, O=Example Trust, CN=Example Authority");
    assert_eq!(tls["serial"], "1A:2A:D2:3A:68:15:68:2D:CE:41:46:0B:4F:A2:A5:1A:6B:2D:4B:E9");
    assert_eq!(tls["fingerprint"], "a2:db:39:d9:b6:e7:c5:c0:f5:26:98:dc:6a:c2:1c:ba:ad:60:28:af");
    assert_eq!(
        (&tls["notbefore"], &tls["notafter"]),
        (&"2026-11-26T18:15:17".into(), &"2036-11-23T18:15:17".into())
    );
    assert_eq!(tls["subjectaltname"], json["certificates"][0]["names"]);
    assert!(tls["client"].is_null());
    let (json, zeek) = sent_by("server", EventFormat::Zeek);
    assert_eq!(zeek["subject"], "CN=www.example.test,O=Example\\, Inc.");
    let sha256: Vec<&Value> =
        json["certificates"].as_array().unwrap().iter().map(|found| &found["sha256"]).collect();
    assert_eq!(zeek["cert_chain_fps"], serde_json::json!(sha256));
    let (_, ecs) = sent_by("server", EventFormat::Ecs);
    let server = &ecs["tls"]["server"];
    assert_eq!(server["hash"]["sha256"], sha256[0].as_str().unwrap().to_uppercase());
    assert_eq!(server["x509"]["serial_number"], "1A2AD23A6815682DCE41460B4FA2A51A6B2D4BE9");
    assert_eq!(server["x509"]["subject"]["common_name"], serde_json::json!(["www.example.test"]));
    assert_eq!(server["x509"]["not_before"], json["certificates"][0]["not_before"]);
    let (json, eve) = sent_by("client", EventFormat::Eve);
    assert_eq!(eve["tls"]["client"]["subject"], "CN=Client, emailAddress=client@example.test");
    assert!(eve["tls"]["subject"].is_null(), "{json}");
}

#[test]
fn connections_have_the_certificate_of_their_server() {
    let found: Vec<Value> =
        events("tls-certificates.pcap", EventFormat::Eve).into_iter().map(|(json, _)| json).collect();
    let sent = found.iter().filter(|json| json["event"] == "tls_certificates" && json["subject"] == "server");
    let mut count = 0;
    for sent in sent {
        let end = found
            .iter()
            .find(|json| json["event"] == "connection" && json["client"] == sent["client"])
            .unwrap();
        assert_eq!(end["certificate_sha256"], sent["certificates"][0]["sha256"]);
        assert_eq!(end["certificate_subject"], sent["certificates"][0]["subject"]);
        count += 1;
    }
    assert!(count > 3);
}

/// Each event has the fields of our JSON, in the format's own names or in ours, and no absent value.
#[test]
fn events_keep_kind_flow_and_fingerprints() {
    let captures = [
        "tls-curl.pcap",
        "tls-certificates.pcap",
        "quic-chromium.pcap",
        "ssh-openssh.pcap",
        "curl-nginx.pcap",
        "made-qinq.pcap",
    ];
    for (capture, format) in
        captures.iter().flat_map(|name| EventFormat::ALL.iter().map(move |&format| (name, format)))
    {
        let mut texts = 0;
        for (json, formatted) in events(capture, format) {
            assert_eq!(own(format, &formatted, "event"), &json["event"], "{formatted}");
            let text = formatted.to_string();
            assert!(is_present(&formatted), "{text}");
            for field in ["sni", "ja4", "ja3_hash", "ja3s_hash", "hassh", "user_agent", "sig", "community_id"]
            {
                if let Some(value) = json[field].as_str() {
                    texts += 1;
                    assert!(text.contains(&Value::from(value).to_string()), "{field} {text}");
                }
            }
        }
        assert!(texts > 3, "{capture}");
    }
}

/// Whether a value, and each one in it, is neither null nor an empty list.
fn is_present(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty() && values.iter().all(is_present),
        Value::Object(fields) => fields.values().all(is_present),
        _ => true,
    }
}

fn own<'a>(format: EventFormat, event: &'a Value, field: &str) -> &'a Value {
    match format {
        EventFormat::Zeek => &event[format!("huginn.{field}")],
        _ => &event[format.own_object()][field],
    }
}

/// The paths of a format, with the kinds of events in which each is an object or not.
#[derive(Default)]
struct Paths(BTreeMap<(String, bool), Vec<String>>);

impl Paths {
    /// Adds a value, and what its dots make objects: also the columns of Zeek, as Elasticsearch reads them.
    fn add(&mut self, event: &str, path: &str, fields: &[FieldInfo]) {
        let mut around = path;
        while let Some((before, _)) = around.rsplit_once('.') {
            self.0.entry((before.to_owned(), true)).or_default().push(event.to_owned());
            around = before;
        }
        self.0.entry((path.to_owned(), !fields.is_empty())).or_default().push(event.to_owned());
        for field in fields {
            self.add(event, &format!("{path}.{}", field.name), field.value_type.fields());
        }
    }

    fn add_kind(&mut self, plan: &FormatPlan, number: usize, is_quic: bool) {
        let event = EVENT_NAMES[number];
        let kind = plan.kind(number, is_quic).unwrap();
        plan.flow.iter().for_each(|target| self.add(event, &path(plan, target), &[]));
        kind.extras.iter().for_each(|target| self.add(event, &path(plan, target), &[]));
        let infos = fields_of_event(event).unwrap();
        let infos = infos.iter().filter(|info| !FormatPlan::is_of_flow(info.name));
        for (target, info) in kind.fields.iter().zip(infos) {
            let Some(target) = target else { continue };
            let is_same = matches!(target.form, Form::Same);
            self.add(event, &path(plan, target), if is_same { info.value_type.fields() } else { &[] });
        }
    }
}

/// The path of a value, with the objects around it.
fn path<T>(plan: &FormatPlan, target: &Target<T>) -> String {
    let (mut path, mut at) = (target.name.clone(), target.object);
    while at > 0 {
        path = format!("{}.{path}", plan.objects[at].name);
        at = plan.objects[at].parent;
    }
    path
}

/// An index of Elasticsearch refuses an event with a text where those of other kinds have an object.
#[test]
fn path_is_an_object_in_all_events_or_in_none() {
    for &format in EventFormat::ALL {
        let (plan, mut paths) = (FormatPlan::get(format), Paths::default());
        for (number, is_quic) in (0..EVENT_NAMES.len()).flat_map(|number| [(number, false), (number, true)]) {
            paths.add_kind(plan, number, is_quic);
        }
        for row in ROWS {
            if let Place::At(path, Form::Constant(_) | Form::Companion(_)) = row.places[format.number()] {
                paths.add(row.field, &path.replace("[]", ""), &[]);
            }
        }
        assert!(paths.0.len() > 100);
        for ((path, is_object), events) in &paths.0 {
            let others = paths.0.get(&(path.clone(), !is_object));
            assert!(others.is_none(), "{} of {}: {events:?}, {others:?}", path, format.title());
        }
    }
}

#[test]
fn zeek_has_names_of_its_logs() {
    let http = first("curl-nginx.pcap", EventFormat::Zeek, "http_request");
    assert_eq!(
        (&http["_path"], &http["method"], &http["version"]),
        (&"http".into(), &"GET".into(), &"1.1".into())
    );
    assert!(http["id.orig_h"].is_string() && http["ts"].is_number());
    let uid = http["uid"].as_str().unwrap();
    assert!(uid.len() == 18 && uid.starts_with('C'), "{uid}");
    let end = first("curl-nginx.pcap", EventFormat::Zeek, "connection");
    assert_eq!((&end["uid"], &end["_path"], &end["proto"]), (&uid.into(), &"conn".into(), &"tcp".into()));
    let ssl = from_port(41_684, EventFormat::Zeek, "tls_server");
    assert_eq!((&ssl["_path"], &ssl["version"]), (&"ssl".into(), &"TLSv12".into()));
}

#[test]
fn eve_keeps_comments_of_ssh_banners() {
    let ssh = first("ssh-openssh.pcap", EventFormat::Eve, "ssh_client");
    let software = ssh["ssh"]["client"]["software_version"].as_str().unwrap();
    let json = events("ssh-openssh.pcap", EventFormat::Eve);
    let (json, _) = json.iter().find(|(json, _)| json["event"] == "ssh_client").unwrap();
    let comments = ssh["huginn"]["comments"].as_str().unwrap();
    assert_eq!(json["banner"], format!("SSH-2.0-{software} {comments}"));
}

#[test]
fn ecs_and_ocsf_have_objects() {
    let syn = first("curl-nginx.pcap", EventFormat::Ecs, "tcp_syn");
    assert_eq!(syn["host"]["os"]["name"], "Linux");
    assert_eq!(syn["host"]["ip"][0], syn["source"]["ip"]);
    let syn = first("curl-nginx.pcap", EventFormat::Ocsf, "tcp_syn");
    assert_eq!(syn["src_endpoint"]["os"]["type_id"], 200);
    let tls = from_port(41_684, EventFormat::Ocsf, "tls_client");
    let fingerprint = serde_json::json!([{"value": "t12d2807h2_d943125447b4_a44c6288192a", "type_id": 1}]);
    assert_eq!(tls["ja4_fingerprint_list"], fingerprint);
    assert_eq!((&tls["class_uid"], &tls["type_uid"]), (&4001.into(), &400_106.into()));
    let http = first("curl-nginx.pcap", EventFormat::Ocsf, "http_request");
    assert_eq!(
        (&http["class_uid"], &http["activity_id"], &http["type_uid"]),
        (&4002.into(), &3.into(), &400_203.into())
    );
}

/// OCSF lists the methods that it knows.
#[test]
fn ocsf_has_other_methods_as_fields_of_ours() {
    let http = first("evasion/plain-method-33-http4.pcap", EventFormat::Ocsf, "http_request");
    assert_eq!((&http["activity_id"], &http["type_uid"]), (&99.into(), &400_299.into()));
    assert_eq!(http["unmapped"]["method"], "G".repeat(33));
    assert!(http["http_request"]["http_method"].is_null());
}

#[test]
fn quic_is_an_event_of_its_own_in_eve() {
    let quic = first("quic-chromium.pcap", EventFormat::Eve, "tls_client");
    assert_eq!((&quic["event_type"], &quic["proto"]), (&"quic".into(), &"UDP".into()));
    assert!(quic["quic"]["ja4"].as_str().unwrap().starts_with('q'));
    assert!(quic["tls"].is_null() && quic["quic"]["version"].is_null());
}

#[test]
fn values_have_forms_of_other_tools() {
    use super::values::{
        host_name, http_protocol, resumed, ssh_software, ssh_version, version_ocsf, version_zeek,
    };

    type Change = fn(&str) -> Option<String>;
    let cases: [(Change, &str, Option<&str>); 20] = [
        (host_name, "\"example.com:8080\"", Some("\"example.com\"")),
        (host_name, "\"[2001:db8::1]:80\"", Some("\"[2001:db8::1]\"")),
        (host_name, "\"[2001:db8::1]\"", Some("\"[2001:db8::1]\"")),
        (host_name, "\"2001:db8::1\"", Some("\"2001:db8::1\"")),
        (host_name, "\"h.test:70000\"", Some("\"h.test:70000\"")),
        (host_name, "\"h.test:+80\"", Some("\"h.test:+80\"")),
        (host_name, "\"h.test:\"", Some("\"h.test\"")),
        (host_name, "\":80\"", Some("\":80\"")),
        (host_name, "\"[2001:db8::1]:80:90\"", Some("\"[2001:db8::1]:80:90\"")),
        (host_name, "\"\"", None),
        (host_name, "null", None),
        (ssh_software, "\"SSH-2.0-OpenSSH_9.2p1 Debian-2\"", Some("\"OpenSSH_9.2p1\"")),
        (ssh_software, "\"SSH-2.0-\"", None),
        (ssh_software, "\"nothing\"", None),
        (ssh_version, "\"1.99\"", None),
        (version_zeek, "\"d2\"", Some("\"DTLSv12\"")),
        (version_zeek, "null", None),
        (version_ocsf, "null", Some("\"Unknown\"")),
        (resumed, "\"no\"", Some("false")),
        (http_protocol, "\"2\"", None),
    ];
    for (form, value, want) in cases {
        assert_eq!(form(value).as_deref(), want, "{value}");
    }
}

/// Names that Suricata 8.0.8 printed for public captures; `draft-<16` and 0 by its source.
#[test]
fn versions_of_eve_are_those_of_suricata() {
    let cases = [
        (None, "UNDETERMINED"),
        (Some(0), "UNDETERMINED"),
        (Some(0x0002), "SSLv2"),
        (Some(0x0301), "TLSv1"),
        (Some(0x0303), "TLS 1.2"),
        (Some(0x0304), "TLS 1.3"),
        (Some(0x7f0f), "TLS 1.3 draft-<16"),
        (Some(0x7f10), "TLS 1.3 draft-16"),
        (Some(0x7f1c), "TLS 1.3 draft-28"),
        (Some(0xfb1a), "TLS 1.3 draft-26-fb"),
        (Some(0x7e01), "32257"),
        (Some(0xfefd), "DTLS 1.2"),
    ];
    for (number, want) in cases {
        assert_eq!(super::values::version_of_suricata(number.map(Version)), want);
    }
}

/// A mismatch, a changed host and a shared address are facts.
#[test]
fn other_events_than_alerts_are_facts() {
    let alerts = ["tool", "finding", "match"];
    for &format in EventFormat::ALL {
        for (number, name) in EVENT_NAMES.iter().enumerate() {
            let kind = FormatPlan::get(format).kind(number, false).unwrap();
            let text: String = kind.constants.iter().map(|(_, json)| str::from_utf8(json).unwrap()).collect();
            let mark = match format {
                EventFormat::Eve => r#""event_type":"alert""#,
                EventFormat::Zeek => r#""_path":"notice""#,
                EventFormat::Ecs => r#""kind":"alert""#,
                EventFormat::Ocsf => r#""class_uid":2004"#,
            };
            assert_eq!(text.contains(mark), alerts.contains(name), "{name} {text}");
        }
    }
}

#[test]
fn page_about_formats_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    let page = fs::read_to_string(path).unwrap();
    assert_eq!(page, formats_page(), "write it: cargo run -p huginn-net --example formats > docs/formats.md");
}
