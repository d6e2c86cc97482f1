//! Checks the events of HTTP heads that are read in part, and of HTTP/0.9.

use huginn_net::core::Frames;
use huginn_net::record::EventRecord;
use huginn_net::record::JsonEvent;
use huginn_net::{Event, HuginnNet, Observation};
use serde_json::{Value, json};

use crate::event_limits::{CLIENT, Capture, SERVER, http2_client};

/// Returns the JSON of each event of HTTP in a connection, and compares the fields that `serde` gives.
fn http_events(data: &[(u8, &[u8])]) -> Vec<Value> {
    let mut capture = Capture::default();
    let mut connection = capture.connect(40_000, true, b"");
    data.iter().for_each(|(from, bytes)| connection.send(*from, bytes));
    let mut events: Vec<Event> = Vec::new();
    HuginnNet::builder().build().analyze(Frames::new(capture.frames()), |event| events.push(event)).unwrap();
    events.retain(|event| matches!(event.kind, Observation::HttpRequest(_) | Observation::HttpResponse(_)));
    let both = |event: &Event| {
        let line: Value = serde_json::from_str(&JsonEvent::new(event).to_string()).unwrap();
        let serialized = serde_json::to_value(EventRecord::from_event(event)).unwrap();
        for field in ["head_cut", "version", "sig"] {
            assert_eq!(serialized.get(field), line.get(field), "{field}");
        }
        line
    };
    events.iter().map(both).collect()
}

#[test]
fn head_with_too_many_headers_is_marked() {
    for (count, mark) in [(255, None), (300, Some(&json!(true)))] {
        let request =
            format!("GET / HTTP/1.1\r\nHost: a\r\n{}User-Agent: b\r\n\r\n", "A:\r\n".repeat(count - 1));
        let response = format!("HTTP/1.1 200 OK\r\n{}Server: c\r\n\r\n", "A:\r\n".repeat(count));
        let events = http_events(&[(CLIENT, request.as_bytes()), (SERVER, response.as_bytes())]);
        assert_eq!([events[0].get("head_cut"), events[1].get("head_cut")], [mark; 2]);
        assert_eq!((&events[0]["user_agent"], &events[1]["server_header"]), (&json!("b"), &json!("c")));
    }
}

#[test]
fn head_that_is_too_long_is_marked() {
    let request = format!("GET / HTTP/1.1\r\nUser-Agent: b\r\nA: {}\r\n\r\n", "a".repeat(1 << 16));
    let events = http_events(&[(CLIENT, request.as_bytes())]);
    assert_eq!((&events[0]["head_cut"], &events[0]["user_agent"]), (&json!(true), &json!("b")));
}

/// The second request names a header of 3,900 bytes 20 times, the third one once.
#[test]
fn http2_list_that_is_too_large_is_marked() {
    let header = [&[0x82, 0x84, 0x86, 0x7a, 0x7f, 0xbd, 0x1d][..], &[b'u'; 3900]].concat();
    let list = [&[0x82, 0x84, 0x86][..], &[0xbe; 20]].concat();
    let filler = [&[0x82, 0x84, 0x86, 0xbe, 0, 1, b'x', 20][..], &[b'y'; 20]].concat();
    let events = http_events(&[(CLIENT, &http2_client(&[&header, &list, &filler]))]);
    let marks: Vec<_> = events.iter().map(|event| event.get("head_cut")).collect();
    assert_eq!(marks, [None, Some(&json!(true)), None]);
    assert_eq!(events[2]["user_agent"], "u".repeat(3900));
}

#[test]
fn http09_has_version_and_path_only() {
    let events = http_events(&[(CLIENT, b"GET /old\r\n"), (SERVER, b"<html>a page</html>")]);
    let [request] = &events[..] else { panic!("{events:?}") };
    let shown =
        ["version", "method", "path", "host", "user_agent", "label", "params"].map(|field| &request[field]);
    let want = [
        json!("0.9"),
        json!("GET"),
        json!("/old"),
        json!(null),
        json!(null),
        json!(null),
        json!("anonymous"),
    ];
    assert_eq!(shown.map(Value::clone), want);
    assert_eq!(request.get("head_cut"), None);
}
