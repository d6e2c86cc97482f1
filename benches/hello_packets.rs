//! Frames with one distinct ClientHello each; shared by several benches.
#![allow(dead_code, reason = "no bench uses everything")]

use std::ops::Range;

use huginn_net_tls::{ClientHello, Transport};

use crate::packets::{PACKETS_AT_1_GBPS, Packets};

/// The longest segment that a frame of 1,514 bytes carries without TCP options.
const MAX_SEGMENT: usize = 1460;

/// Makes frames of hellos over TCP that fit into one segment, each with its own client address and `random`, until the frames
/// have this many bytes.
///
/// The lists of cipher suites and extensions repeat, as they do on a network.
pub(crate) fn each_in_one_packet(hellos: &[ClientHello<'_>], at_least: usize) -> Packets {
    packets(hellos, at_least, |_, _| {})
}

/// The same hellos with shuffled extensions, as Chromium sends them; the packet number selects the order. Sorted lists
/// repeat.
pub(crate) fn each_with_shuffled_extensions(hellos: &[ClientHello<'_>], at_least: usize) -> Packets {
    packets(hellos, at_least, |record, n| {
        let places = extensions(record);
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
        let mut order = places.clone();
        // pre_shared_key stays the last one (RFC 8446, section 4.2.11), where there is one.
        let (mut state, movable) = (n, places.len() - 1);
        for from in (1..movable).rev() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            order.swap(from, (state >> 16) as usize % (from + 1));
        }
        let shuffled: Vec<u8> = order.into_iter().flat_map(|place| record[place].to_vec()).collect();
        record[first.start..last.end].copy_from_slice(&shuffled);
    })
}

/// The same hellos with lists that differ from those of the last 65,536 hellos: the packet number is the first cipher suite
/// and the type of the last extension. The fingerprint cache holds none of them.
pub(crate) fn each_with_lists_of_its_own(hellos: &[ClientHello<'_>], at_least: usize) -> Packets {
    packets(hellos, at_least, |record, n| {
        let [.., high, low] = n.to_be_bytes();
        let at = FIRST_SUITE + usize::from(record[SESSION_ID]);
        record[at..at + 2].copy_from_slice(&[high, low]);
        if let Some(last) = extensions(record).last() {
            record[last.start..last.start + 2].copy_from_slice(&[high, low]);
        }
    })
}

fn packets(hellos: &[ClientHello<'_>], at_least: usize, change: impl Fn(&mut [u8], u32)) -> Packets {
    let records: Vec<_> =
        hellos.iter().filter(|hello| hello.transport() == Transport::Tls).map(record).collect();
    let mut packets = Packets::default();
    let fitting = records.iter().filter(|record| record.len() <= MAX_SEGMENT);
    for (n, record) in fitting.cycle().enumerate() {
        if packets.byte_len() >= at_least {
            break;
        }
        let at = n as u64 * 1_000_000_000 / PACKETS_AT_1_GBPS;
        let number = (n as u32).to_be_bytes();
        let frame = packets.push(at, &[&HEADERS, &record[..]].concat());
        frame[16..18].copy_from_slice(&(40 + record.len() as u16).to_be_bytes());
        frame[27..30].copy_from_slice(&number[1..]);
        let record = &mut frame[HEADERS.len()..];
        record[RANDOM..][..4].copy_from_slice(&number);
        change(record, n as u32);
    }
    packets
}

/// Ethernet, IPv4 from 10.0.0.0 with its length to be filled in, TCP with a segment of data (RFC 791, RFC 9293).
const HEADERS: [u8; 54] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, // Ethernet
    0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 0, 192, 0, 2, 1, // IPv4
    0x9c, 0x40, 1, 0xbb, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0, // TCP
];

/// Offset of `random` in a record, after the record header, the message header and the version.
const RANDOM: usize = 5 + 4 + 2;
/// Offsets of the length of `session_id`, and of the first cipher suite if that length is zero.
const SESSION_ID: usize = RANDOM + 32;
const FIRST_SUITE: usize = SESSION_ID + 1 + 2;

/// Finds the extensions in a record with a ClientHello (RFC 8446, section 4.1.2).
fn extensions(record: &[u8]) -> Vec<Range<usize>> {
    let number =
        |at: usize| Some(usize::from(u16::from_be_bytes(record.get(at..at + 2)?.try_into().unwrap())));
    let suites = SESSION_ID + 1 + usize::from(record[SESSION_ID]);
    let compression = suites + 2 + number(suites).unwrap();
    let mut at = compression + 1 + usize::from(record[compression]) + 2;
    let mut places = Vec::new();
    while let Some(len) = number(at + 2) {
        places.push(at..at + 4 + len);
        at += 4 + len;
    }
    places
}

/// Wraps a hello in a TLS record.
fn record(hello: &ClientHello<'_>) -> Vec<u8> {
    let [high, low] = u16::try_from(hello.message().len()).unwrap().to_be_bytes();
    [&[22, 3, 1, high, low][..], hello.message()].concat()
}
