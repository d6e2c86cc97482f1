//! Checks the summaries of connections against the other events of each capture.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use huginn_net::consistency::Outcome;
use huginn_net::observation::{Connection, ConnectionEnd};
use huginn_net::observers::EventLimits;
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation, Observers};

use crate::captures;

fn analyze(path: &str, connections: bool) -> Vec<Event> {
    // With a limit of the output, a connection takes the place of other events.
    let observers = Observers::default().connections(connections).event_limits(EventLimits::NONE);
    let mut analyzer = HuginnNet::builder_with(observers).build();
    let mut events: Vec<Event> = Vec::new();
    analyzer.analyze(CaptureReader::open(path).unwrap(), |event| events.push(event)).unwrap();
    events
}

/// The connections of a capture with their clients, in the order of their starts.
fn connections(name: &str) -> Vec<(SocketAddr, Connection)> {
    let events = analyze(captures::path(name).to_str().unwrap(), true);
    let mut connections: Vec<_> = events
        .into_iter()
        .filter_map(|event| match event.kind {
            Observation::Connection(connection) => Some((event.flow.client, *connection)),
            _ => None,
        })
        .collect();
    connections.sort_by_key(|(_, connection): &(_, Connection)| connection.start.as_nanos());
    connections
}

/// Both directions of a tunnel may have an identifier of their own.
fn ends(event: &Event) -> (SocketAddr, SocketAddr) {
    (event.flow.client, event.flow.server)
}

/// Each connection has an identifier of its own, which all of its events have.
#[test]
fn events_join_by_connection() {
    for path in captures::with_extension(&["pcap", "pcapng"]) {
        let events = analyze(path.to_str().unwrap(), true);
        let mut connections = BTreeMap::new();
        for event in &events {
            let connection = event.connection();
            if let Observation::Connection(_) = event.kind {
                let known = connections.insert(connection.unwrap(), ends(event));
                assert_eq!(known, None, "{event:?}");
            } else if let Some(connection) = connection {
                assert!(connection.first_packet() <= event.packet_number, "{event:?}");
            } else {
                panic!("no connection: {event:?}");
            }
        }
        for event in &events {
            if let Some(flow) = connections.get(&event.connection().unwrap()) {
                assert_eq!(*flow, ends(event), "{event:?}");
            }
        }
    }
}

fn is_end(event: &Event) -> bool {
    matches!(&event.kind, Observation::Own(own) if own.get::<ConnectionEnd>().is_some())
}

/// Also without room for any other event, which leaves them out.
#[test]
fn connection_ends_once_after_its_last_event() {
    for path in captures::with_extension(&["pcap", "pcapng"]) {
        let is_limited = path.to_str().unwrap().contains("tls-c");
        let ratios = [EventLimits::default().max_output_ratio, Some(1)];
        for max_output_ratio in ratios.into_iter().take(if is_limited { 2 } else { 1 }) {
            let limits = EventLimits::default().max_output_ratio(max_output_ratio);
            let analyze = |ends| {
                let observers = Observers::default().connection_ends(ends).event_limits(limits);
                let mut events: Vec<Event> = Vec::new();
                let mut analyzer = HuginnNet::builder_with(observers).build();
                analyzer.analyze(CaptureReader::open(&path).unwrap(), |event| events.push(event)).unwrap();
                events
            };
            let (events, without) = (analyze(true), analyze(false));
            assert!(events.iter().filter(|event| !is_end(event)).eq(&without), "{path:?}");
            let mut open = BTreeMap::new();
            for event in events.iter().filter(|event| !is_conclusion(event)) {
                if is_end(event) {
                    assert_eq!(open.insert(event.connection(), false), Some(true), "{path:?} {event:?}");
                } else {
                    assert_ne!(open.insert(event.connection(), true), Some(false), "{path:?} {event:?}");
                }
            }
            assert!(open.values().all(|is_open| !is_open), "{path:?}");
        }
    }
}

/// Whether an event is about a host, not a flow.
fn is_conclusion(event: &Event) -> bool {
    matches!(
        event.kind,
        Observation::Uptime(_)
            | Observation::HostChange(_)
            | Observation::IpSharing(_)
            | Observation::Tool(_)
            | Observation::Finding(_)
    )
}

#[test]
fn other_events_stay_and_each_flow_has_a_connection() {
    for path in captures::with_extension(&["pcap", "pcapng"]) {
        let path = path.to_str().unwrap();
        let expected = analyze(path, false);
        let (rows, others): (Vec<_>, Vec<_>) = analyze(path, true)
            .into_iter()
            .partition(|event| matches!(event.kind, Observation::Connection(_)));
        assert!(others == expected, "{path}");
        let mut flows: BTreeMap<_, usize> = BTreeMap::new();
        // Updates of hosts are about addresses that several flows share.
        for event in others.iter().filter(|event| !is_conclusion(event)) {
            flows.insert((event.flow.client, event.flow.server), 0);
        }
        for event in &rows {
            let flow = (event.flow.client, event.flow.server);
            match (flows.get_mut(&flow), &event.kind) {
                (Some(rows), _) => *rows += 1,
                // A message of it may have been missed.
                (None, Observation::Connection(found)) if !found.blind_spots.is_empty() => {}
                (None, _) => panic!("{path}: {flow:?} has no other event"),
            }
        }
        assert!(flows.values().all(|rows| *rows > 0), "{path}: {flows:?}");
    }
}

#[test]
fn connection_joins_all_layers() {
    let found = connections("tls-curl.pcap");
    let (_, first) = found.iter().find(|(_, connection)| connection.duration() == 0.001_906).unwrap();
    // tshark -q -z conv,tcp: 4 packets of the client, 3 of the server.
    assert_eq!((first.client.packets, first.client.bytes), (4, 517));
    assert_eq!((first.server.packets, first.server.bytes), (3, 790));
    assert_eq!(first.duration(), 0.001_906);
    assert_eq!(first.host.as_deref(), Some(&b"www.example.test"[..]));
    assert_eq!(&*first.client_system.as_ref().unwrap().name.name, "Linux");
    assert_eq!(&*first.server_system.as_ref().unwrap().name.name, "Linux");
    assert_eq!(first.tls_client.as_ref().unwrap().software.application.as_deref(), Some("libcurl"));
    assert_eq!(first.ja4.unwrap().to_string(), "t13d3112h1_e8f1e7e78f70_b26ce05bbdd6");
    assert_eq!(first.tls_version.unwrap().to_string(), "13");

    let http = connections("http-imitation.pcap");
    let (_, first) = http.iter().find(|(_, connection)| connection.host.is_some()).unwrap();
    assert_eq!(first.host.as_deref(), Some(&b"www.example.test"[..]));
    assert_eq!(first.client_software.as_deref(), Some("Python urllib (dishonest)"));
    assert_eq!(&*first.server_software.as_ref().unwrap().name.name, "nginx");
    assert_eq!(first.mismatch, Some(Outcome::Imitation));
}

#[test]
fn connection_names_its_own_blind_spots() {
    let found = connections("hosts-plain.pcap");
    let (with, without): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, connection)| !connection.blind_spots.is_empty());
    // Seven gaps, the first of them in the connection that is the example of the analysis.
    assert_eq!(with.len(), 7);
    assert!(with.iter().all(|(_, connection)| connection.blind_spots == ["gaps"]), "{with:?}");
    assert!(with.iter().any(|(client, _)| client.port() == 45512) && without.len() > 100);
}

#[test]
fn reused_ports_are_another_connection() {
    let path = captures::path("tls-curl.pcap");
    let mut analyzer = HuginnNet::builder_with(Observers::default().connections(true)).build();
    let mut events: Vec<Event> = Vec::new();
    // Within the idle timeout of the flow table, and after it.
    for shift in [0, 200, 1000] {
        let mut reader = CaptureReader::open(&path).unwrap();
        while let Some(mut frame) = reader.read_frame().unwrap() {
            frame.ts = huginn_net::Timestamp::new(frame.ts.as_secs() + shift, frame.ts.subsec_nanos(), 9);
            assert!(analyzer.push(&frame, |event| events.push(event)).is_continue());
        }
    }
    let count = |events: &[Event]| {
        let rows = events.iter().filter(|event| matches!(event.kind, Observation::Connection(_)));
        rows.map(|event| event.flow.client).fold(BTreeMap::<_, usize>::new(), |mut counts, client| {
            *counts.entry(client).or_default() += 1;
            counts
        })
    };
    let before = count(&events);
    assert!(!before.is_empty() && before.values().all(|rows| *rows == 2), "{before:?}");
    analyzer.finish(|event| events.push(event));
    let after = count(&events);
    assert_eq!(after.len(), before.len());
    assert!(after.values().all(|rows| *rows == 3), "{after:?}");
}

#[test]
fn cancelled_analysis_reports_no_open_connection() {
    for workers in [1, 3] {
        let builder = HuginnNet::builder_with(Observers::default().connections(true));
        let mut analyzer = builder.workers(workers).build();
        let token = analyzer.cancel_token();
        let mut rows = 0;
        let mut sink = |event: Event| {
            token.cancel();
            rows += usize::from(matches!(event.kind, Observation::Connection(_)));
        };
        let reader = CaptureReader::open(captures::path("tls-curl.pcap")).unwrap();
        analyzer.analyze(reader, &mut sink).unwrap();
        assert_eq!(rows, 0, "{workers} workers");
    }
}

#[test]
fn json_has_every_field() {
    let events = analyze(captures::path("tls-curl.pcap").to_str().unwrap(), true);
    let is_first = |event: &&Event| matches!(&event.kind, Observation::Connection(found) if found.client.bytes == 517 && found.server.bytes == 790);
    let event = events.iter().find(is_first).unwrap();
    let text = JsonEvent::new(event).to_string();
    assert!(text.contains(r#""start":"2026-11-21T07:43:47.943789000Z","duration":0.001906,"client_packets":4,"server_packets":3,"client_bytes":517,"server_bytes":790,"host":"www.example.test","client_system":"Linux 4.20 or newer","server_system":"Linux 4.20 or newer","client_software":null,"server_software":null,"tls_client":"libcurl 7.88 and older","tls_version":"13","ja4":"t13d3112h1_e8f1e7e78f70_b26ce05bbdd6","hassh":null,"hassh_server":null,"mismatch":null}"#), "{text}");
}
