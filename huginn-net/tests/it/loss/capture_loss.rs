//! The capture loss: exact for packets removed at a known rate, and nothing for complete captures.

use huginn_net::core::StreamCounters;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, LinkType, Timestamp};

use crate::captures;
use crate::loss::frames;
use crate::packet::Packet;

const BODY_SEGMENTS: u32 = 1000;
const SEGMENT_LEN: u32 = 1000;

/// An IPv4 packet with a TCP segment.
fn segment(from_client: bool, flags: u8, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let total = (40 + payload.len()) as u16;
    let (client, server) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let (source, target) = if from_client { (client, server) } else { (server, client) };
    let (from, to) = if from_client { (40_000_u16, 80_u16) } else { (80, 40_000) };
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    packet.extend(source.iter().chain(&target));
    packet.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    packet.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
    packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

/// A download, of whose segments every `lost`th is missing; the client has acknowledged all of them.
fn download(lost: Option<u32>) -> Vec<Packet> {
    let request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BODY_SEGMENTS * SEGMENT_LEN);
    let (mut client, mut server) = (1000, 5000);
    let mut packets = vec![
        segment(true, 2, client - 1, 0, b""),
        segment(false, 0x12, server - 1, client, b""),
        segment(true, 0x18, client, server, request),
    ];
    client += request.len() as u32;
    packets.push(segment(false, 0x18, server, client, head.as_bytes()));
    server += head.len() as u32;
    for n in 1..=BODY_SEGMENTS {
        if lost.is_none_or(|lost| n % lost != 1) {
            packets.push(segment(false, 0x10, server, client, &[b'x'; SEGMENT_LEN as usize]));
        }
        server += SEGMENT_LEN;
        packets.push(segment(true, 0x10, client, server, b""));
    }
    // Each FIN counts as a byte.
    packets.push(segment(false, 0x11, server, client, b""));
    packets.push(segment(true, 0x11, client, server + 1, b""));
    packets.push(segment(false, 0x10, server + 1, client + 1, b""));
    let packet = |(number, data): (usize, Vec<u8>)| Packet {
        number,
        ts: Timestamp::new(1, number as u32 * 1000, 6),
        link: LinkType::RAW,
        wire_len: data.len() as u32,
        data,
    };
    packets.into_iter().enumerate().map(packet).collect()
}

fn counters(packets: &[Packet]) -> StreamCounters {
    let mut analyzer = HuginnNet::builder().build();
    analyzer.analyze(frames(packets), &mut |_: Event| {}).unwrap();
    analyzer.protocol().counters().streams
}

#[test]
fn capture_loss_is_the_rate_of_removed_packets() {
    for (lost, percent) in [(None, 0.0), (Some(1000), 0.1), (Some(50), 2.0), (Some(10), 10.0)] {
        let found = counters(&download(lost));
        let removed = lost.map_or(0, |lost| BODY_SEGMENTS / lost * SEGMENT_LEN);
        assert_eq!(found.missing_bytes, u64::from(removed), "{lost:?}: {found:?}");
        let body = u64::from(BODY_SEGMENTS * SEGMENT_LEN);
        let heads = found.expected_bytes - body;
        assert!((50..150).contains(&heads), "{found:?}");
        assert!((found.capture_loss().unwrap() - percent).abs() < 0.01, "{lost:?}: {found:?}");
    }
    // What was lost of one direction alone is unknown.
    let client: Vec<Packet> = download(None).into_iter().filter(|packet| packet.data[15] == 1).collect();
    assert_eq!(counters(&client).capture_loss(), None);
}

/// Captures that lack bytes, and why.
const INCOMPLETE: [(&str, &str); 2] = [
    ("hosts-plain", "a snap length of 600 bytes"),
    ("decoy-ack-ahead-rest-http6", "a forged acknowledgement"),
];

#[test]
fn complete_captures_have_no_loss() {
    let (mut found, mut expected) = (Vec::new(), 0);
    for path in captures::with_extension(&["pcap", "pcapng"]) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let Ok(capture) = CaptureReader::open(&path) else { continue };
        let mut analyzer = HuginnNet::builder().handshakes(true).build();
        let _ = analyzer.analyze(capture, &mut |_: Event| {});
        let streams = analyzer.protocol().counters().streams;
        expected += streams.expected_bytes;
        if streams.missing_bytes > 0 && INCOMPLETE.iter().all(|(known, _)| *known != name) {
            found.push(format!("{name}: {} of {}", streams.missing_bytes, streams.expected_bytes));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(expected > 1_000_000, "{expected}");
}
