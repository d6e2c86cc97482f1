//! Checks that `serde` gives events and hosts the same fields as the JSON output of the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::captures;
use huginn_net::core::{self, Analyzer, Protocol};
use huginn_net::http::HttpObserver;
use huginn_net::json::{JsonEvent, JsonHost};
use huginn_net::tcp::TcpObserver;
use huginn_net::tls::TlsObserver;
use huginn_net::{CaptureReader, Event, HuginnNet, Observers};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Returns captures with events of every kind.
fn captures() -> Vec<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let made = made.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let made = made.filter(|path| path.extension().is_some_and(|kind| kind == "pcap"));
    captures::with_extension(&["pcap"]).into_iter().chain(made).collect()
}

/// Converts every number to `f64`, so that `1` equals `1.0`.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(values) => values.into_iter().map(normal).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, normal(value))).collect(),
        other => other,
    }
}

fn fields(text: &str) -> Map<String, Value> {
    match normal(serde_json::from_str(text).unwrap()) {
        Value::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

#[test]
fn events_serialise_as_json_lines() {
    let mut kinds = BTreeSet::new();
    for path in captures() {
        let mut events: Vec<Event> = Vec::new();
        // Damaged captures end with an error.
        let Ok(capture) = CaptureReader::open(&path) else { continue };
        let _ = HuginnNet::builder().build().analyze(capture, &mut events);
        for event in &events {
            let mut line = fields(&JsonEvent { event, file: None }.to_string());
            let mut serialised = fields(&serde_json::to_string(event).unwrap());
            assert!(line.remove("community_id").is_some());
            assert!(
                matches!(serialised.remove("proto"), Some(Value::String(name)) if name == "tcp" || name == "udp")
            );
            assert_eq!(serialised, line, "{}", path.display());
            kinds.insert(serialised["event"].to_string());
        }
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

#[test]
fn hosts_serialise_as_json_lines() {
    for path in captures() {
        let observers = Observers::default().profiles(true);
        let mut analyzer = HuginnNet::builder_with(observers).build();
        let Ok(capture) = CaptureReader::open(&path) else { continue };
        let _ = analyzer.analyze(capture, &mut |_: Event| ());
        for host in analyzer.shared_state().profiles() {
            let mut line = fields(&JsonHost { host, file: None }.to_string());
            let mut serialised = fields(&serde_json::to_string(host).unwrap());
            assert!(line.remove("ts").is_some() && line.remove("event").is_some());
            if let Some(uptime) = serialised["uptime"].as_object_mut() {
                assert!(uptime.remove("raw_frequency_hz").is_some());
            }
            assert_eq!(serialised, line, "{}", path.display());
        }
    }
}

/// Returns the events of one protocol in a capture.
fn protocol_events<P>(name: &str) -> Vec<Map<String, Value>>
where
    P: Protocol<Event: Serialize, SharedState = ()> + Default,
{
    let path = captures::path(name);
    let mut events: Vec<core::Event<P::Event>> = Vec::new();
    Analyzer::<P>::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut events).unwrap();
    events.iter().map(|event| fields(&serde_json::to_string(event).unwrap())).collect()
}

#[test]
fn protocol_events_serialise_flat() {
    let tcp = protocol_events::<TcpObserver>("tls-curl.pcap");
    assert_eq!(tcp[0]["event"], "tcp_syn");
    assert_eq!(tcp[0]["client"], json!({ "ip": "192.0.2.1", "port": 41658.0 }));
    assert_eq!(tcp[0]["sig"], "4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:0");
    assert_eq!((&tcp[1]["event"], &tcp[1]["mtu"]), (&json!("mtu"), &json!(1500.0)));

    let tls = protocol_events::<TlsObserver>("tls-curl.pcap");
    assert_eq!(tls[0]["event"], "tls_client");
    assert_eq!(tls[0]["ja4"], "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
    assert_eq!((&tls[0]["subject"], &tls[0]["retry"]), (&json!("client"), &json!(false)));

    let http = protocol_events::<HttpObserver>("curl-nginx.pcap");
    assert_eq!((&http[0]["event"], &http[0]["method"]), (&json!("http_request"), &json!("GET")));
    assert_eq!(http[0]["headers"][0]["name"], "Host");
    assert_eq!((&http[1]["event"], &http[1]["status"]), (&json!("http_response"), &json!(200.0)));
}
