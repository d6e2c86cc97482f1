//! Checks values of other tools' formats that come from the wire.

use huginn_net::core::Frames;
use huginn_net::finding::EventLimits;
use huginn_net::record::formats::zeek::{ZeekForm, ZeekLog, ZeekLogs};
use huginn_net::record::formats::{EventFormat, FormattedEvent};
use huginn_net::{Configure, Event, Finding, HuginnNet};
use serde_json::{Value, json};

use crate::event_limits::{CLIENT, Capture};

/// The events of connections with one request each.
fn events(requests: &[&[u8]], max_text_bytes: usize) -> Vec<Event> {
    let mut capture = Capture::default();
    for (port, request) in (40_000..).zip(requests) {
        capture.connect(port, true, b"").send(CLIENT, request);
    }
    let mut events: Vec<Event> = Vec::new();
    let limits = EventLimits { max_text_bytes: Some(max_text_bytes), ..EventLimits::NONE };
    let mut analyzer = HuginnNet::builder().event_limits(limits).build();
    analyzer.analyze(Frames::new(capture.frames()), &mut events).unwrap();
    events
}

#[test]
fn zeek_software_has_the_text_of_http() {
    let agents = [&b"Tool/1.2 caf\xe9"[..], b"Tool/1.2 abcdefghijk", b"Tool/1.2 abcdefghijl"];
    let requests = agents.map(|agent| [b"GET / HTTP/1.1\r\nUser-Agent: ", agent, b"\r\n\r\n"].concat());
    let requests: Vec<&[u8]> = requests.iter().map(Vec::as_slice).collect();
    let mut texts: [Vec<Value>; 2] = Default::default();
    let mut logs = ZeekLogs::new(ZeekForm::Json);
    let mut take = |log, row: &[u8]| {
        let row: Value = serde_json::from_slice(row).unwrap();
        match log {
            ZeekLog::Http => texts[0].push(row["user_agent"].clone()),
            ZeekLog::Software if row["software_type"] == "HTTP::BROWSER" => {
                texts[1].push(row["unparsed_version"].clone());
            }
            _ => {}
        }
    };
    events(&requests, 15).iter().for_each(|event| logs.add(event, None, &mut take));
    logs.finish(&mut take);
    let [mut http, software] = texts;
    assert_eq!(http, [r"Tool/1.2 caf\xe9", "Tool/1.2 abcdef", "Tool/1.2 abcdef"]);
    http.dedup();
    assert_eq!(software, http);
}

#[test]
fn host_header_is_split_before_a_port_only() {
    let split = |host: &str, format: EventFormat, name: &str, port: &str| {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let events = events(&[request.as_bytes()], 4096);
        let event = events.iter().find(|event| matches!(event.kind, Finding::HttpRequest(_))).unwrap();
        let event: Value = serde_json::from_str(&FormattedEvent::new(format, event).to_string()).unwrap();
        [name, port].map(|path| event.pointer(path).cloned())
    };
    for (host, name, port) in [
        ("h.test:8080", "h.test", Some(8080)),
        ("h.test:70000", "h.test:70000", None),
        ("2001:db8::1", "2001:db8::1", None),
        ("[2001:db8::1]:80", "[2001:db8::1]", Some(80)),
    ] {
        let expected = [Some(json!(name)), port.map(|port| json!(port))];
        for (format, name, port) in [
            (EventFormat::Eve, "/http/hostname", "/http/http_port"),
            (EventFormat::Ecs, "/url/domain", "/url/port"),
            (EventFormat::Ocsf, "/http_request/url/hostname", "/http_request/url/port"),
        ] {
            assert_eq!(split(host, format, name, port), expected, "{host} in {format:?}");
        }
    }
}

#[test]
fn port_is_that_of_the_whole_host() {
    let events = events(&[b"GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n"], 13);
    let event = events.iter().find(|event| matches!(event.kind, Finding::HttpRequest(_))).unwrap();
    let event: Value =
        serde_json::from_str(&FormattedEvent::new(EventFormat::Eve, event).to_string()).unwrap();
    assert_eq!(
        (&event["http"]["hostname"], &event["http"]["http_port"]),
        (&json!("example.com"), &json!(8080))
    );
}
