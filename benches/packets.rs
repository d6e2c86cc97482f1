//! The packets of this project's captures in memory, and how their analysis is measured; a part of several benches.
#![allow(dead_code, reason = "no bench uses everything")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use criterion::{Criterion, Throughput};
use huginn_net_core::{CaptureReader, Frame, LinkType, Timestamp};

/// Packets a second that fill a link of 1 Gbps: frames of 1,518 bytes, with preamble and gap 1,538.
const PACKETS_AT_1_GBPS: f64 = 81_274.0;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures")
}

/// A frame of its own.
pub(crate) struct Packet {
    pub(crate) ts: Timestamp,
    pub(crate) link: LinkType,
    pub(crate) data: Vec<u8>,
}

impl Packet {
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame { ts: self.ts, link: self.link, data: &self.data, wire_len: self.data.len() as u32 }
    }

    /// The IPv4 header and what is behind it.
    pub(crate) fn ip(&self) -> (&[u8], &[u8]) {
        let packet = &self.data[14..];
        packet[..usize::from(u16::from_be_bytes([packet[2], packet[3]]))]
            .split_at(usize::from(packet[0] & 15) * 4)
    }

    /// The flags and the payload of a TCP segment.
    pub(crate) fn tcp(&self) -> Option<(u8, &[u8])> {
        let (ip, segment) = self.ip();
        (ip[9] == 6).then(|| (segment[13], &segment[usize::from(segment[12] >> 4) * 4..]))
    }

    /// Whether it is a QUIC datagram with a long header that is as long as one with an Initial packet must be.
    pub(crate) fn is_initial(&self) -> bool {
        let (ip, datagram) = self.ip();
        ip[9] == 17 && datagram.len() >= 1208 && datagram[8] & 0xc0 == 0xc0
    }
}

/// The IPv4 packets of these captures, each so often, every time between other addresses: each repetition is made of
/// new flows.
pub(crate) fn packets(captures: &[&str], repetitions: u8) -> Vec<Packet> {
    let mut packets = Vec::new();
    for (name, repetition) in captures.iter().flat_map(|name| (0..repetitions).map(move |n| (name, n))) {
        let mut reader = CaptureReader::open(folder().join(name).with_extension("pcap")).unwrap();
        while let Some(frame) = reader.next_frame().unwrap() {
            let mut data = frame.data.to_vec();
            if frame.link == LinkType::ETHERNET && data[12..14] == [8, 0] {
                data[27] ^= repetition;
                data[31] ^= repetition;
                packets.push(Packet { ts: frame.ts, link: frame.link, data });
            }
        }
    }
    packets
}

/// Measures passes over so many packets, says how much of a core a link full of the like takes, and returns the least
/// time of a packet in nanoseconds.
pub(crate) fn measure(c: &mut Criterion, name: &str, packets: usize, mut pass: impl FnMut() -> u64) -> f64 {
    let mut least = f64::INFINITY;
    let mut group = c.benchmark_group("packets");
    group.throughput(Throughput::Elements(packets as u64)).sample_size(20);
    group.bench_function(name, |b| {
        b.iter_custom(|passes| {
            let start = Instant::now();
            for _ in 0..passes {
                black_box(pass());
            }
            let time = start.elapsed();
            least = least.min(time.as_nanos() as f64 / (passes as f64 * packets as f64));
            time
        });
    });
    group.finish();
    let share = least * PACKETS_AT_1_GBPS / 1e9 * 100.0;
    println!(
        "{name}: {least:.1} ns a packet, {share:.2} % of a core at 1 Gbps, {:.1} % at 10 Gbps",
        share * 10.0
    );
    least
}
