//! Frames that each hold a ClientHello like no other; a part of several benches.

use huginn_net_tls::{ClientHello, Transport};

use crate::packets::{PACKETS_AT_1_GBPS, Packets};

/// The longest segment that a frame of 1,514 bytes carries without TCP options.
const MAX_SEGMENT: usize = 1460;

/// Hellos over TCP that fit into a segment, each in a frame of its own and from another client, with another `random`;
/// repeated until the frames have so many bytes.
pub(crate) fn each_in_one_packet(hellos: &[ClientHello<'_>], at_least: usize) -> Packets {
    let records: Vec<_> =
        hellos.iter().filter(|hello| hello.transport() == Transport::Tcp).map(record).collect();
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
        frame[HEADERS.len() + RANDOM..][..4].copy_from_slice(&number);
    }
    packets
}

/// Ethernet, IPv4 from 10.0.0.0 with its length to be filled in, TCP with a segment of data (RFC 791, RFC 9293).
const HEADERS: [u8; 54] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, // Ethernet
    0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 0, 192, 0, 2, 1, // IPv4
    0x9c, 0x40, 1, 0xbb, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0, // TCP
];

/// Where `random` is in a record: behind the header of the record, that of the message, and the version.
const RANDOM: usize = 5 + 4 + 2;

/// The record that a client would send a hello in.
fn record(hello: &ClientHello<'_>) -> Vec<u8> {
    let [high, low] = u16::try_from(hello.message().len()).unwrap().to_be_bytes();
    [&[22, 3, 1, high, low][..], hello.message()].concat()
}
