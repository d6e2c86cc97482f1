//! Tests of the packets that a live capture writes, fed from capture files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use huginn_net::core::{DecodeConfig, Filter, Frame, LinkType};
use huginn_net::{CaptureReader, HuginnNet, Observation, Timestamp};
use huginn_net_live::InterfaceNames;

use super::super::health::Progress;
use super::*;

/// A packet of a file: time, bytes, length on the wire.
type Packet = (u64, Vec<u8>, u32);

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name)
}

fn plan(folder: &Path) -> LiveExtractPlan {
    LiveExtractPlan {
        path: folder.join("packets.pcapng"),
        packets: 100,
        max_bytes: 1 << 20,
        keep: 10,
        buffer_bytes: 1 << 20,
        snap_len: 1 << 18,
        selected: Some(Selected { events: vec!["tls_client"], ..Selected::default() }),
        decode: DecodeConfig::default(),
        filter: Filter::new(),
        expression: None,
    }
}

/// Analyses a capture as if it were live, and returns the counters of the packets.
fn run(plan: LiveExtractPlan, capture: &Path) -> ExtractCounters {
    let (messages, _queue) = Messages::start().unwrap();
    let extract =
        Extract::start(plan, 1, vec!["eth0".to_owned()].into(), InterfaceNames::default(), messages).unwrap();
    let source = CaptureReader::open(capture).unwrap();
    let source = Progress::new(Instant::now()).monitor(source).with_ring(extract.ring(0));
    let mut on_event = |event: Event| extract.on_event(&event);
    HuginnNet::builder().build().analyze(source, &mut on_event).unwrap();
    extract.finish()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The packets of a file that are of flows with a `tls_client`; all if `flows` is empty.
fn packets(file: &Path, flows: &[FlowKey]) -> Vec<Packet> {
    let mut reader = CaptureReader::open(file).unwrap();
    let mut decoder = Decoder::new(DecodeConfig::default());
    let mut packets = Vec::new();
    while let Some(frame) = reader.read_frame().unwrap() {
        let mut is_wanted = flows.is_empty();
        decoder.decode(&frame, &mut |segment| {
            is_wanted |= flows.contains(&FlowKey::from_segment(segment).0);
        });
        if is_wanted {
            packets.push((frame.ts.as_nanos(), frame.data.to_vec(), frame.wire_len));
        }
    }
    packets
}

/// The flows and JA4 of the ClientHellos of a capture.
fn clients(file: &Path) -> (Vec<FlowKey>, Vec<String>) {
    let (mut flows, mut ja4) = (Vec::new(), Vec::new());
    let mut on_event = |event: Event| {
        if let Observation::TlsClient(client) = &event.kind {
            flows.extend(FlowKey::from_flow(&event.flow));
            ja4.push(client.client.hello.ja4().to_string());
        }
    };
    HuginnNet::builder().build().analyze(CaptureReader::open(file).unwrap(), &mut on_event).unwrap();
    (flows, ja4)
}

#[test]
fn selected_connections_are_written_as_captured() {
    let capture = capture("tls/tls-clients/tls-clients.pcap");
    let folder = tempfile::tempdir().unwrap();
    let counters = run(plan(folder.path()), &capture);
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let (flows, ja4) = clients(&capture);
    let expected = packets(&capture, &flows);
    let mut written = packets(file, &[]);
    written.sort();
    let mut sorted = expected.clone();
    sorted.sort();
    assert!(!expected.is_empty() && written == sorted, "{} of {}", written.len(), expected.len());
    assert_eq!(clients(file).1, ja4);
    let bytes = fs::read(file).unwrap();
    let comments = bytes.windows(17).filter(|text| text == b"huginn-net: TLS: ").count();
    assert_eq!(comments, ja4.len());
    assert!(bytes.windows(4).any(|text| text == b"eth0"));
    assert_eq!((counters.events, counters.packets_written), (ja4.len() as u64, expected.len() as u64));
    assert_eq!((counters.packets_dropped, counters.events_without_packets, counters.files), (0, 0, 1));
}

#[test]
fn alerts_select_their_connections_if_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let plan = LiveExtractPlan { selected: None, ..plan(folder.path()) };
    // The SYNs of a tool.
    let counters = run(plan, &capture("tcp/nmap-scan/nmap-scan.pcap"));
    assert!(counters.events > 0 && counters.packets_written > 0, "{counters:?}");
}

#[test]
fn file_is_named_by_its_first_packet() {
    let folder = tempfile::tempdir().unwrap();
    run(plan(folder.path()), &capture("tls/tls-clients/tls-clients.pcap"));
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let first = CaptureReader::open(file).unwrap().read_frame().unwrap().unwrap().ts;
    let (year, month, day, hour, minute, second) = first.civil();
    assert_eq!(
        file.file_name().unwrap().to_str().unwrap(),
        format!("packets.{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z.pcapng")
    );
}

#[test]
fn packets_of_a_connection_are_the_first_ones() {
    let capture = capture("tls/tls-clients/tls-clients.pcap");
    let folder = tempfile::tempdir().unwrap();
    let counters = run(LiveExtractPlan { packets: 5, ..plan(folder.path()) }, &capture);
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let (flows, ja4) = clients(&capture);
    for flow in &flows {
        assert_eq!(packets(file, &[*flow]), packets(&capture, &[*flow])[..5]);
    }
    assert_eq!(counters.packets_written, 5 * ja4.len() as u64);
    let without = run(LiveExtractPlan { packets: 1, ..plan(folder.path()) }, &capture);
    assert_eq!(without.comments_without_packet, ja4.len() as u64);
}

#[test]
fn memory_is_bounded_and_what_it_costs_is_counted() {
    let capture = capture("tls/tls-clients/tls-clients.pcap");
    let folder = tempfile::tempdir().unwrap();
    let counters = run(LiveExtractPlan { buffer_bytes: 100, ..plan(folder.path()) }, &capture);
    assert!(files(folder.path()).is_empty());
    assert_eq!((counters.packets_written, counters.events_without_packets), (0, counters.events));
    assert!(counters.events > 0 && counters.flows_forgotten > 0);
}

#[test]
fn files_are_bounded_in_size_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let selected = Some(Selected::default());
    let small = LiveExtractPlan { max_bytes: 1, keep: 2, selected, ..plan(folder.path()) };
    let counters = run(small, &capture("tls/tls-clients/tls-clients.pcap"));
    assert!(counters.files > 2, "{counters:?}");
    assert_eq!(files(folder.path()).len(), 2);
}

/// A TCP segment between two hosts.
fn segment(flags: u8, seq: u32, ack: u32, from_client: bool) -> Vec<u8> {
    let (ports, hosts) = if from_client { ([1, 2], [1, 2]) } else { ([2, 1], [2, 1]) };
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    for host in hosts {
        bytes.extend([192, 0, 2, host]);
    }
    for port in ports {
        bytes.extend([0, port]);
    }
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
    bytes
}

#[test]
fn answered_syn_begins_another_connection() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let (queue, flows) = FlowQueue::new();
    let decoding = RingDecoding {
        decoder: Decoder::new(DecodeConfig::default()),
        expression: plan(Path::new("x")).frame_filter().unwrap(),
        filter: Filter::new(),
    };
    let mut ring = PacketRing::new(RingLimits { packets: 100, bytes: 1 << 20 }, decoding, Arc::new(queue));
    let mut at = 0;
    let mut keys = Vec::new();
    let mut take = |ring: &mut PacketRing, bytes: &[u8]| {
        at += 1;
        let ts = Timestamp::new(at, 0, 9);
        let frame = Frame { ts, link: LinkType::RAW, data: bytes, wire_len: 40 };
        Decoder::new(DecodeConfig::default()).decode(&frame, &mut |segment| {
            keys.push(FlowKey::from_segment(segment).0);
        });
        ring.on_frame(&frame);
        (keys[0], ts)
    };
    let (key, ts) = take(&mut ring, &segment(ACK, 50, 1, true));
    assert!(!ring.select(&key, ts, "began before"));
    for bytes in [
        segment(SYN, 100, 0, true),
        segment(SYN | ACK, 9, 101, false),
        segment(SYN, 500, 0, true),
        segment(ACK, 101, 10, true),
        segment(SYN | ACK, 9, 500, false),
    ] {
        take(&mut ring, &bytes);
    }
    let (_, ts) = take(&mut ring, &segment(ACK, 101, 10, true));
    assert!(ring.select(&key, ts, "first"));
    for bytes in [segment(SYN, 700, 0, true), segment(SYN | ACK, 9, 701, false), segment(ACK, 701, 10, true)]
    {
        take(&mut ring, &bytes);
    }
    ring.finish();
    drop(ring);
    let times: Vec<Vec<u64>> =
        flows.iter().map(|packets| packets.iter().map(|packet| packet.ts.as_secs()).collect()).collect();
    assert_eq!(
        times,
        [[2, 3, 5, 6, 7]],
        "without the SYN that had no answer, and the connection that no event selects"
    );
}
