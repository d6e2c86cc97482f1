//! Reassembly of IP fragments, in any order and in bounded memory.

use huginn_net_core::{DecodeConfig, DecodeCounters, Decoder, Frame, LinkType, Timestamp};
use proptest::prelude::*;

use super::wire::{OwnedSegment, decode, hex, ipv4, ipv6, push, tcp, udp};

/// Builds a fragment of an IPv4 datagram. `start` is its offset in bytes.
fn fragment4(id: u16, protocol: u8, start: usize, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut packet = ipv4(protocol, payload);
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    let flags = u16::from(more) << 13 | u16::try_from(start / 8).unwrap();
    packet[6..8].copy_from_slice(&flags.to_be_bytes());
    packet
}

/// Builds a fragment of an IPv6 datagram. `start` is its offset in bytes.
fn fragment6(id: u32, next: u8, start: usize, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![next, 0];
    header.extend((u16::try_from(start).unwrap() | u16::from(more)).to_be_bytes());
    header.extend(id.to_be_bytes());
    ipv6(44, &[header, payload.to_vec()].concat())
}

/// Splits a payload into fragments, given their lengths in units of 8 bytes. Returns offset, more-fragments flag and
/// bytes.
fn cut(payload: &[u8], units: &[usize]) -> Vec<(usize, bool, Vec<u8>)> {
    let mut parts = Vec::new();
    let mut start = 0;
    for units in units.iter().cycle() {
        let end = (start + units * 8).min(payload.len());
        parts.push((start, end < payload.len(), payload[start..end].to_vec()));
        start = end;
        if start == payload.len() {
            break;
        }
    }
    parts
}

/// Decodes packets with timestamps one millisecond apart.
struct Capture {
    decoder: Decoder,
    millis: u64,
}

impl Capture {
    fn new(config: DecodeConfig) -> Self {
        Self { decoder: Decoder::new(config), millis: 0 }
    }

    fn push(&mut self, packet: &[u8]) -> Vec<OwnedSegment> {
        self.millis += 1;
        let nanos = u32::try_from(self.millis % 1000 * 1_000_000).unwrap();
        let ts = Timestamp::new(self.millis / 1000, nanos, 6);
        let wire_len = u32::try_from(packet.len()).unwrap();
        push(&mut self.decoder, &Frame { ts, link: LinkType::RAW, data: packet, wire_len })
    }

    fn counters(&self) -> &DecodeCounters {
        self.decoder.counters()
    }
}

fn all(packets: impl IntoIterator<Item = Vec<u8>>) -> (Vec<OwnedSegment>, DecodeCounters) {
    let mut capture = Capture::new(DecodeConfig::default());
    let segments = packets.into_iter().flat_map(|packet| capture.push(&packet)).collect();
    (segments, capture.counters().clone())
}

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|byte| u8::try_from(byte % 251).unwrap()).collect()
}

#[test]
fn fragments_of_one_datagram_share_a_number() {
    let mut capture = Capture::new(DecodeConfig::default());
    let datagram = udp(1000, 53, &text(32));
    let parts = cut(&datagram, &[2]);
    assert_eq!(parts.len(), 3);
    let mut numbers: Vec<(bool, Option<u64>)> = Vec::new();
    let mut push = |packet: Vec<u8>| {
        let has_segment = !capture.push(&packet).is_empty();
        numbers.push((has_segment, capture.decoder.fragmented_datagram()));
    };
    push(ipv4(17, &datagram));
    for (start, more, bytes) in &parts {
        push(fragment4(7, 17, *start, *more, bytes));
        push(fragment4(8, 17, *start, *more, bytes));
        push(ipv4(17, &datagram));
    }
    // The same identification later is another datagram.
    push(fragment4(7, 17, 0, true, &parts[0].2));
    let (buffered, complete) = ((false, [Some(1), Some(2)]), (true, [Some(1), Some(2)]));
    let mut want = vec![(true, None)];
    for (has_segment, datagrams) in [buffered, buffered, complete] {
        want.extend(datagrams.map(|datagram| (has_segment, datagram)));
        want.push((true, None));
    }
    want.push((false, Some(3)));
    assert_eq!(numbers, want);
}

proptest! {
    #[test]
    fn reassembles_any_fragmentation_in_any_order(
        len in 1_usize..600,
        units in prop::collection::vec(1_usize..9, 1..5),
        is_ipv6: bool,
        is_tcp: bool,
        (order, again) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        seed: u64,
    ) {
        let payload = text(len);
        let (protocol, datagram) = if is_tcp { (6, tcp(&payload)) } else { (17, udp(5, 6, &payload)) };
        let mut packets: Vec<Vec<u8>> = cut(&datagram, &units)
            .into_iter()
            .map(|(start, more, part)| match is_ipv6 {
                true => fragment6(9, protocol, start, more, &part),
                false => fragment4(9, protocol, start, more, &part),
            })
            .collect();
        prop_assume!(packets.len() > 1);
        // A duplicate before the last fragment has no effect.
        let count = packets.len();
        packets.rotate_left(order.index(count));
        packets.sort_by_key(|packet| packet.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(31)));
        packets.insert(count - 1, packets[again.index(count - 1)].clone());
        let (segments, counters) = all(packets);
        prop_assert_eq!(segments.len(), 1);
        prop_assert_eq!(&segments[0].payload, &payload);
        prop_assert_eq!((segments[0].is_tcp, segments[0].ip.reassembled, segments[0].payload_missing), (is_tcp, true, 0));
        prop_assert_eq!((counters.reassembled, counters.fragments_buffered), (1, count as u64));
    }
}

#[test]
fn datagram_has_header_of_first_fragment() {
    let datagram = udp(5, 6, &text(40));
    let mut first = fragment4(0x0102, 17, 0, true, &datagram[..16]);
    (first[1], first[8]) = (0x10, 33);
    let mut last = fragment4(0x0102, 17, 16, false, &datagram[16..]);
    (last[1], last[8]) = (0x20, 44);
    let (segments, _) = all([last, first]);
    let ip = segments[0].ip;
    assert_eq!((ip.ttl, ip.traffic_class, ip.id), (33, 0x10, 0x0102));
}

#[test]
fn reassembles_fragmented_extension_headers() {
    // Hop-by-hop options in every fragment; destination options in the fragmentable part (RFC 8200, section 4.5).
    let datagram = [hex("0600000000000000"), tcp(&text(20))].concat();
    let packets = cut(&datagram, &[2]).into_iter().map(|(start, more, part)| {
        let fragment = fragment6(3, 60, start, more, &part);
        let options = [hex("2c00000000000000"), fragment[40..].to_vec()].concat();
        ipv6(0, &options)
    });
    let (segments, counters) = all(packets);
    assert_eq!((&segments[0].payload, segments[0].ip.options_len), (&text(20), 16), "{counters:?}");
}

#[test]
fn overlap_yields_both_versions() {
    let datagram = udp(5, 6, &[b'a'; 24]);
    let mut forged = datagram.clone();
    forged[8..].fill(b'b');
    for is_ipv6 in [false, true] {
        let fragment = |start, more, bytes: &[u8]| match is_ipv6 {
            true => fragment6(1, 17, start, more, bytes),
            false => fragment4(1, 17, start, more, bytes),
        };
        let (segments, counters) = all([
            fragment(8, true, &datagram[8..16]),
            fragment(0, true, &forged[..24]),
            fragment(16, true, &datagram[16..24]),
            fragment(24, false, &datagram[24..]),
        ]);
        let payloads: Vec<&[u8]> = segments.iter().map(|segment| &*segment.payload).collect();
        // The forged fragment delivered bytes 8 to 16 of the payload first, and bytes 0 to 8 last.
        assert_eq!(payloads, [b"aaaaaaaabbbbbbbbaaaaaaaa", b"bbbbbbbbaaaaaaaaaaaaaaaa"]);
        assert_eq!((counters.reassembled, counters.fragment_conflicts), (1, 1));
        assert_eq!((counters.udp, counters.aggregated, counters.fragments_buffered), (2, 1, 3));
    }
}

#[test]
fn version_without_segment_is_counted() {
    // The last copies make the data offset of TCP invalid.
    let segment = tcp(b"data");
    let mut broken = segment.clone();
    broken[12] = 0;
    let (segments, counters) = all([
        fragment4(1, 6, 8, true, &segment[8..16]),
        fragment4(1, 6, 8, true, &broken[8..16]),
        fragment4(1, 6, 0, true, &segment[..8]),
        fragment4(1, 6, 16, false, &segment[16..]),
    ]);
    assert_eq!((segments.len(), counters.tcp, counters.bad_header, counters.aggregated), (1, 1, 1, 1));
}

#[test]
fn equal_copies_do_not_conflict() {
    let datagram = udp(5, 6, &text(21));
    let (segments, counters) = all([
        fragment4(1, 17, 24, false, &datagram[24..]),
        fragment4(1, 17, 24, false, &datagram[24..]),
        fragment4(1, 17, 0, true, &datagram[..16]),
        fragment4(1, 17, 8, true, &datagram[8..24]),
    ]);
    assert_eq!((segments.len(), counters.fragment_conflicts), (1, 0), "{counters:?}");
}

#[test]
fn different_copies_count_as_memory() {
    let config = DecodeConfig::default().max_fragment_bytes(100_000);
    let mut capture = Capture::new(config);
    for id in 0..20 {
        for byte in 0..5 {
            capture.push(&fragment4(id, 17, 8, true, &[byte; 8_000]));
        }
    }
    assert!(capture.counters().fragment_evictions >= 16, "{:?}", capture.counters());
}

#[test]
fn reassembles_tiny_fragments_with_options() {
    // The first fragment ends within the TCP header and has IPv4 options (RFC 1858); the others have none.
    let segment = tcp(&text(20));
    let packets = cut(&segment, &[1]).into_iter().map(|(start, more, part)| {
        let mut packet = fragment4(9, 6, start, more, &part);
        if start == 0 {
            packet.splice(20..20, hex("94040000"));
            (packet[0], packet[3]) = (0x46, packet[3] + 4);
        }
        packet
    });
    let (segments, counters) = all(packets.rev());
    assert_eq!((&segments[0].payload, segments[0].ip.options_len), (&text(20), 4), "{counters:?}");
}

#[test]
fn datagrams_do_not_mix_fragments() {
    let datagram = udp(5, 6, &text(24));
    let (head, tail) = datagram.split_at(16);
    let mut other_source = fragment4(1, 17, 16, false, tail);
    other_source[15] = 9;
    let (segments, counters) = all([
        fragment4(1, 17, 0, true, head),
        fragment4(2, 17, 16, false, tail),
        fragment4(1, 6, 16, false, tail),
        other_source,
        ipv4(4, &fragment4(1, 17, 16, false, tail)),
        fragment6(1, 17, 16, false, tail),
    ]);
    assert_eq!((segments.len(), counters.fragments_buffered), (0, 6));
    // The protocol of a fragment is not part of the key of an IPv6 datagram (RFC 8200, section 4.5).
    let (segments, _) = all([fragment6(1, 17, 0, true, head), fragment6(1, 99, 16, false, tail)]);
    assert_eq!(segments.len(), 1);
}

#[test]
fn reassembles_fragments_inside_fragmented_tunnel() {
    let datagram = udp(5, 6, &text(100));
    let inner: Vec<Vec<u8>> = cut(&datagram, &[6])
        .into_iter()
        .map(|(start, more, part)| fragment6(7, 17, start, more, &part))
        .collect();
    let mut id = 0;
    let outer = inner.iter().flat_map(|packet| {
        id += 1;
        let cut = cut(packet, &[4]).into_iter();
        cut.map(move |(start, more, part)| fragment4(id, 41, start, more, &part)).rev().collect::<Vec<_>>()
    });
    let (segments, counters) = all(outer);
    assert_eq!(
        (segments[0].payload.as_slice(), &segments[0].path),
        (&text(100)[..], &vec!["6in4".to_owned()])
    );
    assert_eq!((counters.reassembled, counters.udp), (1 + inner.len() as u64, 1));
}

/// Builds a datagram inside fragments nested `depth` deep: reassembling one datagram completes the next inner fragment.
/// The last fragments of all levels precede the others.
fn nested(depth: u32) -> Vec<Vec<u8>> {
    let mut payload = tcp(b"data");
    let mut next = 6;
    let mut packets = Vec::new();
    for id in (0..depth).rev() {
        // The reassembly of each of the `id` enclosing datagrams appends the 8 bytes of its last fragment.
        let end = payload.len() + 8 * usize::try_from(id).unwrap();
        packets.push(fragment6(id, next, end, false, &[0; 8]));
        payload = [vec![next, 0, 0, 1], id.to_be_bytes().to_vec(), payload].concat();
        next = 44;
    }
    packets.push(ipv6(44, &payload));
    packets
}

#[test]
fn nested_fragments_terminate() {
    let (segments, counters) = all(nested(5));
    assert_eq!((segments.len(), counters.reassembled), (1, 5));
    let (segments, counters) = all(nested(100));
    assert_eq!((segments.len(), counters.too_deep), (0, 1), "{counters:?}");
}

#[test]
fn rejects_fragments_that_fit_no_datagram() {
    let part = text(16);
    for (what, packets) in [
        ("not a multiple of eight", vec![fragment4(1, 17, 0, true, &part[..15])]),
        ("empty, and not the last", vec![fragment4(1, 17, 8, true, &[])]),
        ("beyond 65,535 bytes", vec![fragment4(1, 17, 65_504, true, &part)]),
        ("beyond 65,535 bytes", vec![fragment6(1, 17, 65_528, false, &part[..8])]),
        ("two ends", vec![fragment4(1, 17, 16, false, &part), fragment4(1, 17, 16, false, &part[..9])]),
        ("bytes after the end", vec![fragment4(1, 17, 16, false, &part), fragment4(1, 17, 24, true, &part)]),
        (
            "the datagram ends before the fragment",
            vec![fragment4(1, 17, 24, true, &part), fragment4(1, 17, 16, false, &part)],
        ),
    ] {
        let (segments, counters) = all(packets);
        assert_eq!((segments.len(), counters.bad_fragment), (0, 1), "{what}: {counters:?}");
    }
    // The largest datagram: 65,535 bytes with the header.
    let datagram = udp(5, 6, &text(65_535 - 28));
    let packets =
        cut(&datagram, &[1024]).into_iter().map(|(start, more, part)| fragment4(1, 17, start, more, &part));
    let (segments, _) = all(packets);
    assert_eq!(segments[0].payload.len(), 65_507);
}

#[test]
fn contradicting_fragment_does_not_damage_datagram() {
    let datagram = udp(5, 6, &text(40));
    let (segments, counters) = all([
        fragment4(1, 17, 0, true, &datagram[..16]),
        fragment4(1, 17, 32, false, &datagram[32..]),
        fragment4(1, 17, 64, false, &datagram[32..]),
        fragment4(1, 17, 16, true, &datagram[16..32]),
    ]);
    assert_eq!((segments[0].payload.as_slice(), counters.bad_fragment), (&text(40)[..], 1));
}

#[test]
fn reassembles_eight_thousand_fragments() {
    let datagram = udp(5, 6, &text(65_000));
    let mut packets: Vec<Vec<u8>> = cut(&datagram, &[1])
        .into_iter()
        .map(|(start, more, part)| fragment4(1, 17, start, more, &part))
        .collect();
    packets.reverse();
    let (segments, counters) = all(packets);
    assert_eq!((segments.len(), counters.fragments_buffered), (1, 8_125));
    assert_eq!(segments[0].payload, text(65_000));
}

#[test]
fn rejects_fragment_cut_by_snap_length() {
    let packet = fragment4(1, 17, 0, true, &text(64));
    let mut decoder = Decoder::new(DecodeConfig::default());
    let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &packet[..60], wire_len: 84 };
    assert_eq!(push(&mut decoder, &frame), []);
    assert_eq!((decoder.counters().truncated_snaplen, decoder.counters().fragments_buffered), (1, 0));
    assert_eq!(decode(LinkType::RAW, &packet[..60]).1.bad_header, 1);
}

#[test]
fn fragment_timeout_follows_packet_time() {
    let datagram = udp(5, 6, &text(24));
    let (head, tail) = datagram.split_at(16);
    for (millis, whole) in [(29_000, 1), (31_000, 0)] {
        let mut capture = Capture::new(DecodeConfig::default());
        capture.push(&fragment4(1, 17, 0, true, head));
        let start = capture.millis;
        for time in (0..millis).step_by(500) {
            capture.millis = start + time;
            capture.push(&fragment4(2, 17, 0, true, head));
        }
        capture.millis = start + millis;
        assert_eq!(capture.push(&fragment4(1, 17, 16, false, tail)).len(), whole);
        assert_eq!(capture.counters().fragment_timeouts, 2 * (1 - whole as u64));
        capture.decoder.finish();
        assert_eq!(capture.counters().fragment_leftovers, 2 - whole as u64);
        let frame_of = |counter| {
            let example = capture.decoder.examples().get(counter)?;
            assert!(example.addresses.is_some() && example.flow.is_none(), "{example:?}");
            example.frame
        };
        // The examples are the first fragments of the datagrams that were given up, not the frames after the timeout.
        let expired = 1 - whole as u64;
        assert_eq!(frame_of("fragment_timeouts"), (expired == 1).then_some(1));
        assert_eq!(frame_of("fragment_leftovers"), Some(if expired == 1 { 63 } else { 2 }));
    }
}

#[test]
fn step_of_clock_expires_no_fragment() {
    let datagram = udp(5, 6, &text(24));
    let (head, tail) = datagram.split_at(16);
    for millis in [0, 31_000, 1_000_000_000] {
        let mut capture = Capture::new(DecodeConfig::default());
        capture.millis = 100_000;
        capture.push(&fragment4(1, 17, 0, true, head));
        capture.millis = millis;
        capture.push(&fragment4(2, 17, 0, true, head));
        capture.millis += 1;
        capture.push(&fragment4(3, 17, 0, true, head));
        capture.millis = 100_001;
        assert_eq!(capture.push(&fragment4(1, 17, 16, false, tail)).len(), 1, "{millis}");
    }
}

#[test]
fn evicts_oldest_datagram_at_limit() {
    let datagram = udp(5, 6, &text(24));
    let (head, tail) = datagram.split_at(16);
    let config = DecodeConfig::default().max_fragment_datagrams(2);
    let mut capture = Capture::new(config);
    for id in 1..=3 {
        capture.push(&fragment4(id, 17, 0, true, head));
    }
    assert_eq!(capture.counters().fragment_evictions, 1);
    assert_eq!(capture.push(&fragment4(3, 17, 16, false, tail)).len(), 1);
    assert_eq!(capture.push(&fragment4(2, 17, 16, false, tail)).len(), 1);
    assert_eq!(capture.push(&fragment4(1, 17, 16, false, tail)).len(), 0);

    // With a limit of zero, the decoder evicts each fragment.
    let config = DecodeConfig::default().max_fragment_datagrams(0);
    let mut capture = Capture::new(config);
    for packet in [fragment4(1, 17, 0, true, head), fragment4(1, 17, 16, false, tail)] {
        assert_eq!(capture.push(&packet).len(), 0);
    }
    assert_eq!(capture.counters().fragment_evictions, 2);
}

#[test]
fn fragment_memory_is_bounded_by_received_bytes() {
    let config = DecodeConfig::default().max_fragment_bytes(100_000);
    let mut capture = Capture::new(config);
    // A single fragment at the end of a datagram costs its own bytes, not those of the whole datagram.
    for id in 0..50 {
        capture.push(&fragment4(id, 17, 65_000, true, &text(8)));
    }
    assert_eq!(capture.counters().fragment_evictions, 0);
    for id in 100..200 {
        capture.push(&fragment4(id, 17, 0, true, &text(8_000)));
    }
    // The memory limit has room for at most ten large fragments.
    capture.decoder.finish();
    let counters = capture.counters();
    assert!(counters.fragment_leftovers <= 12 && counters.fragment_leftovers > 5, "{counters:?}");
    assert_eq!(counters.fragment_evictions + counters.fragment_leftovers, 150);
}

#[test]
fn every_datagram_has_one_outcome() {
    let datagram = udp(5, 6, &text(24));
    let (head, tail) = datagram.split_at(16);
    let mut capture = Capture::new(DecodeConfig::default());
    capture.push(&fragment4(1, 17, 0, true, head));
    capture.push(&fragment4(1, 17, 16, false, tail));
    capture.push(&fragment4(2, 17, 0, true, head));
    capture.decoder.finish();
    assert_eq!((capture.counters().reassembled, capture.counters().fragment_leftovers), (1, 1));
    // The cleared decoder has no state of the previous capture.
    assert_eq!(capture.push(&fragment4(2, 17, 16, false, tail)).len(), 0);
}
