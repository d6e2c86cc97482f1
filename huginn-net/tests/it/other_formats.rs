//! Checks values of other tools' formats that come from the wire.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use huginn_net::alert::{Alert, AlertKind, Severity};
use huginn_net::core::Frames;
use huginn_net::hosts::{Baseline, FindingSettings};
use huginn_net::observers::EventLimits;
use huginn_net::record::formats::zeek::{ZeekForm, ZeekLog, ZeekLogs};
use huginn_net::record::formats::{EventFormat, FormattedEvent};
use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation};
use serde_json::{Value, json};

use crate::captures;
use crate::event_limits::{CLIENT, Capture};

/// The events of connections with one request each.
fn events(requests: &[&[u8]], max_text_bytes: usize) -> Vec<Event> {
    let mut capture = Capture::default();
    for (port, request) in (40_000..).zip(requests) {
        capture.connect(port, true, b"").send(CLIENT, request);
    }
    let mut events: Vec<Event> = Vec::new();
    let limits = EventLimits::NONE.max_text_bytes(Some(max_text_bytes));
    let mut analyzer = HuginnNet::builder().event_limits(limits).build();
    analyzer.analyze(Frames::new(capture.frames()), |event| events.push(event)).unwrap();
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
        let event = events.iter().find(|event| matches!(event.kind, Observation::HttpRequest(_))).unwrap();
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
    let event = events.iter().find(|event| matches!(event.kind, Observation::HttpRequest(_))).unwrap();
    let event: Value =
        serde_json::from_str(&FormattedEvent::new(EventFormat::Eve, event).to_string()).unwrap();
    assert_eq!(
        (&event["http"]["hostname"], &event["http"]["http_port"]),
        (&json!("example.com"), &json!(8080))
    );
}

/// The alerts of captures that have many kinds of them, the first report of each.
fn alerts() -> Vec<Event> {
    let mut lists = WatchLists::default();
    lists.add("list", b"www.example.test,name\n").unwrap();
    let baseline = b"{\"huginn_net_baseline\":2,\"first\":null,\"last\":null}\n";
    let few = NonZeroU32::new(10).unwrap();
    let settings = FindingSettings::default().scan_ports(few).scan_hosts(few).beacon_contacts(few);
    let mut analyzer = HuginnNet::builder()
        .findings(Some(settings))
        .watch_lists(WatchListHandle::new(lists))
        .baseline(Some(Baseline::parse("empty.jsonl", baseline).unwrap()))
        .build();
    let (mut found, mut kinds) = (Vec::new(), BTreeSet::new());
    let mut keep = |event: Event| {
        if Alert::of(&event).is_some_and(|alert| kinds.insert((alert.kind(), alert.is_update()))) {
            found.push(event);
        }
    };
    let captures = ["nmap-scan.pcap", "tls-curl.pcap", "hosts-plain.pcap", "http-imitation.pcap"];
    let conflict = captures::folder().join("evasion/decoy-rst-low-ttl-each-tls4.pcap");
    for path in captures.map(captures::path).into_iter().chain([conflict]) {
        analyzer.analyze(CaptureReader::open(path).unwrap(), &mut keep).unwrap();
    }
    let needed = [AlertKind::Match, AlertKind::Conflict, AlertKind::Imitation, AlertKind::NewFingerprint];
    assert!(needed.into_iter().all(|kind| kinds.contains(&(kind, false))), "{kinds:?}");
    found
}

#[test]
fn kinds_of_alerts_have_numbers_of_their_own() {
    let numbers: BTreeSet<u32> = AlertKind::ALL.iter().copied().map(AlertKind::number).collect();
    assert_eq!(numbers.len(), AlertKind::ALL.len());
}

#[test]
fn alert_is_one_in_every_format() {
    for event in alerts() {
        let alert = Alert::of(&event).unwrap();
        let (kind, reason, id) =
            (alert.kind(), json!(alert.reason().to_string()), json!(alert.id().to_string()));
        let place = Severity::ALL.iter().position(|severity| *severity == alert.severity()).unwrap();
        let [eve, zeek, ecs, ocsf] =
            [EventFormat::Eve, EventFormat::Zeek, EventFormat::Ecs, EventFormat::Ocsf].map(|format| {
                let text = FormattedEvent::new(format, &event).to_string();
                serde_json::from_str::<Value>(&text).unwrap()
            });
        let (eve_severity, ecs_severity) = ([3, 2, 1][place], [21, 47, 73][place]);
        assert_eq!(eve["event_type"], "alert");
        let object = json!({
            "action": "allowed", "gid": 4817, "signature_id": kind.number(), "rev": 1, "signature": kind.title(),
            "category": "Passive traffic analysis", "severity": eve_severity,
        });
        assert_eq!((&eve["alert"], &eve["huginn"]["reason"]), (&object, &reason));
        assert_eq!(
            (&eve["huginn"]["id"], &eve["huginn"]["severity"]),
            (&id, &json!(alert.severity().name()))
        );

        let note = zeek["note"].as_str().unwrap();
        assert_eq!(note.to_ascii_lowercase(), format!("huginn::{}", kind.name()));
        assert!(
            note.split(['_', ':']).all(|word| !word.starts_with(|first: char| first.is_lowercase())),
            "{note}"
        );
        assert_eq!((&zeek["_path"], &zeek["msg"]), (&json!("notice"), &reason));
        assert_eq!((&zeek["src"], &zeek["p"]), (&json!(alert.host()), &zeek["id.resp_p"]));
        assert_ne!(zeek["src"], zeek["dst"]);
        let numbers =
            ["targets", "contacts", "attempts", "syns"].map(|field| &zeek[format!("huginn.{field}")]);
        assert_eq!(&zeek["n"], numbers.into_iter().find(|number| number.is_number()).unwrap_or(&Value::Null));

        assert_eq!((&ecs["event"]["kind"], &ecs["event"]["id"]), (&json!("alert"), &id));
        assert_eq!((&ecs["message"], &ecs["event"]["severity"]), (&reason, &json!(ecs_severity)));
        let rule = json!({
            "id": kind.name(), "name": kind.title(), "category": "Passive traffic analysis", "reference": kind.page(),
        });
        assert_eq!(ecs["rule"], rule);

        let activity = 1 + u32::from(alert.is_update());
        for (field, expected) in [
            ("class_uid", 2004),
            ("category_uid", 2),
            ("activity_id", activity),
            ("type_uid", 200_400 + activity),
            ("severity_id", [2, 3, 4][place]),
        ] {
            assert_eq!(ocsf[field], expected, "{field}");
        }
        let info = &ocsf["finding_info"];
        assert_eq!(
            (&info["uid"], &info["title"], &info["types"]),
            (&id, &json!(kind.title()), &json!([kind.name()]))
        );
        assert_eq!((&info["desc"], &ocsf["message"]), (&reason, &reason));
        let evidence = &ocsf["evidences"][0];
        assert_eq!(evidence["dst_endpoint"]["ip"], json!(event.flow.server.ip()));
        assert_eq!(evidence["connection_info"]["direction_id"], 0);
        assert!(ocsf["src_endpoint"].is_null() && ocsf["connection_info"].is_null());
    }
}

/// Events of one connection share their fields of the flow, unless one is an alert.
#[test]
fn alert_among_facts_has_its_own_places() {
    let alert = alerts().into_iter().find(|event| matches!(event.kind, Observation::Match(_))).unwrap();
    let mut fact = events(&[b"GET / HTTP/1.1\r\n\r\n"], 13).remove(0);
    fact.flow = alert.flow.clone();
    for (event, is_alert) in [(&fact, false), (&alert, true), (&fact, false)] {
        let ocsf: Value =
            serde_json::from_str(&FormattedEvent::new(EventFormat::Ocsf, event).to_string()).unwrap();
        assert_eq!((ocsf["src_endpoint"].is_null(), ocsf["evidences"].is_array()), (is_alert, is_alert));
    }
}
