//! Frames that a program already has, pushed one by one: no file, no thread, no clock.
//!
//! `cargo run -p huginn-net --example push_frames`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use huginn_net::p0f::P0fLine;
use huginn_net::{Event, Frame, HuginnNet, LinkType, Timestamp};

/// A SYN of Windows 11 and the SYN+ACK of a Linux server, as raw IP packets.
const PACKETS: [&[u8]; 2] = [
    &[
        0x45, 0, 0, 52, 0x1c, 0x46, 0x40, 0, 128, 6, 0, 0, 192, 0, 2, 10, 198, 51, 100, 1, // IPv4
        0xc3, 0x50, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x80, 0x02, 0xfa, 0xf0, 0, 0, 0, 0, // TCP
        2, 4, 0x05, 0xb4, 1, 3, 3, 8, 1, 1, 4, 2, // MSS 1460, scale 8, SACK permitted
    ],
    &[
        0x45, 0, 0, 52, 0, 0, 0x40, 0, 54, 6, 0, 0, 198, 51, 100, 1, 192, 0, 2, 10, // IPv4
        0, 80, 0xc3, 0x50, 0, 0, 0, 9, 0, 0, 0, 2, 0x80, 0x12, 0xfa, 0xf0, 0, 0, 0, 0, // TCP
        2, 4, 0x05, 0xb4, 1, 1, 4, 2, 1, 3, 3, 7, // MSS 1460, SACK permitted, scale 7
    ],
];

fn main() {
    let mut analyzer = HuginnNet::builder().build();
    let mut print = |event: Event| {
        for line in P0fLine::lines_from_event(&event) {
            println!("{line}");
        }
    };
    for (nanos, packet) in (0..).step_by(20_000_000).zip(PACKETS) {
        let ts = Timestamp::new(1_700_000_000, nanos, 3);
        let wire_len = packet.len().try_into().unwrap_or(u32::MAX);
        let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: packet, wire_len }, &mut print);
    }
    analyzer.finish(&mut print);
    println!("{:?}", analyzer.counters().flows);
}
