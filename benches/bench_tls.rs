//! Time of the TLS fingerprints: a ClientHello at a time, and the packets of TLS and QUIC connections, on the captures
//! of this project held in memory.
//!
//! `cargo bench -p huginn-net-tls`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may panic"
)]

#[path = "hellos.rs"]
mod hellos;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use huginn_net_core::{CaptureReader, Event, Frame, LinkType, Timestamp};
use huginn_net_tls::{ClientHello, HuginnNetTls, TlsEvent};

/// Packets a second that fill a link of 1 Gbps: frames of 1,518 bytes, with preamble and gap 1,538.
const PACKETS_AT_1_GBPS: f64 = 81_274.0;

/// Captures of connections that carry little but their handshake.
const TLS: [&str; 7] =
    ["tls-chromium", "tls-curl", "tls-firefox", "tls-go", "tls-hello-retry", "tls-openssl", "tls-resumption"];
const QUIC: [&str; 5] = ["quic-aioquic", "quic-chromium", "quic-firefox", "quic-go", "quic-version2"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures")
}

/// Appends a fingerprint to a text.
type Fingerprint = fn(&ClientHello<'_>, &mut String);

/// Each hello from its bytes to its fingerprints as text, which is written over that of the one before.
fn single_hellos(c: &mut Criterion) {
    let hellos = hellos::of_captures(&folder());
    let bytes: usize = hellos.iter().map(|hello| hello.message().len()).sum();
    let ja4s: BTreeSet<_> = hellos.iter().map(ClientHello::ja4).collect();
    println!("{} hellos of {} bytes, {} different JA4", hellos.len(), bytes, ja4s.len());

    let ways: [(&str, Fingerprint); 5] = [
        ("parse", |_, _| {}),
        ("parse, ja4", |hello, text| write!(text, "{}", hello.ja4()).unwrap()),
        ("parse, ja4, ja4_r", |hello, text| {
            let raw = hello.ja4_r();
            write!(text, "{}{raw}", raw.ja4()).unwrap();
        }),
        ("parse, six forms of ja4", |hello, text| {
            for raw in [hello.ja4_r(), hello.ja4_ro(), hello.ja4_s1r()] {
                write!(text, "{}{raw}", raw.ja4()).unwrap();
            }
        }),
        ("parse, ja3_hash", |hello, text| write!(text, "{}", hello.ja3_hash()).unwrap()),
    ];
    let mut group = c.benchmark_group("hellos");
    group.throughput(Throughput::Elements(hellos.len() as u64));
    for (name, fingerprint) in ways {
        group.bench_function(name, |b| {
            let mut text = String::with_capacity(8 << 10);
            b.iter(|| {
                for hello in &hellos {
                    let message = black_box(hello.message());
                    let hello = ClientHello::from_message(message, hello.transport()).unwrap();
                    text.clear();
                    fingerprint(black_box(&hello), &mut text);
                    black_box(&text);
                }
            });
        });
    }
    group.finish();
}

/// A frame of its own.
struct Packet {
    ts: Timestamp,
    link: LinkType,
    data: Vec<u8>,
}

impl Packet {
    fn frame(&self) -> Frame<'_> {
        Frame { ts: self.ts, link: self.link, data: &self.data, wire_len: self.data.len() as u32 }
    }

    /// The IPv4 header and what is behind it.
    fn ip(&self) -> (&[u8], &[u8]) {
        let packet = &self.data[14..];
        packet[..usize::from(u16::from_be_bytes([packet[2], packet[3]]))]
            .split_at(usize::from(packet[0] & 15) * 4)
    }

    /// The flags and the payload of a TCP segment.
    fn tcp(&self) -> Option<(u8, &[u8])> {
        let (ip, segment) = self.ip();
        (ip[9] == 6).then(|| (segment[13], &segment[usize::from(segment[12] >> 4) * 4..]))
    }

    /// Whether it is a QUIC datagram with a long header that is as long as one with an Initial packet must be.
    fn is_initial(&self) -> bool {
        let (ip, datagram) = self.ip();
        ip[9] == 17 && datagram.len() >= 1208 && datagram[8] & 0xc0 == 0xc0
    }
}

/// The IPv4 packets of these captures, each so often, every time between other addresses: each repetition is made of
/// new flows.
fn packets(captures: &[&str], repetitions: u8) -> Vec<Packet> {
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

/// Pushes packets, makes the JA4 of each ClientHello, and tells how many events there were.
fn push(analyzer: &mut HuginnNetTls, packets: &[Packet]) -> u64 {
    let mut sink = |event: Event<TlsEvent>| match event.kind {
        TlsEvent::Client(client) => _ = black_box(client.hello.ja4()),
        other => _ = black_box(other),
    };
    for packet in packets {
        let _ = analyzer.push(black_box(&packet.frame()), &mut sink);
    }
    analyzer.counters().events
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;

/// All packets of short connections, and the datagrams of QUIC's first flight: the most that a packet can cost.
fn handshakes(c: &mut Criterion) {
    let tls = packets(&TLS, 32);
    let mut quic = packets(&QUIC, 32);
    quic.retain(Packet::is_initial);
    for (name, packets) in [("TLS handshakes", tls), ("QUIC first flights", quic)] {
        let mut analyzer = HuginnNetTls::builder().build();
        let events = push(&mut analyzer, &packets);
        let flows = analyzer.counters().flows.opened;
        println!("{name}: {} packets, {flows} flows, {events} hellos", packets.len());
        let nanos = measure(c, name, packets.len(), || push(&mut HuginnNetTls::builder().build(), &packets));
        println!("{name}: {:.0} ns a flow", nanos * packets.len() as f64 / flows as f64);
    }
}

/// Segments of connections whose hellos have been seen: what nearly all packets are.
fn later_packets(c: &mut Criterion) {
    let mut packets = packets(&TLS, 32);
    packets.retain(|packet| packet.tcp().is_some_and(|(flags, _)| flags & (FIN | RST) == 0));
    for packet in &mut packets {
        packet.ts = Timestamp::new(1_700_000_000, 0, 6);
    }
    let mut analyzer = HuginnNetTls::builder().build();
    push(&mut analyzer, &packets);
    packets.retain(|packet| packet.tcp().is_some_and(|(flags, data)| flags & SYN == 0 && !data.is_empty()));
    measure(c, "TLS after the hellos", packets.len(), || push(&mut analyzer, &packets));
}

/// Measures passes over so many packets, says how much of a core a link full of the like takes, and returns the least
/// time of a packet in nanoseconds.
fn measure(c: &mut Criterion, name: &str, packets: usize, mut pass: impl FnMut() -> u64) -> f64 {
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

criterion_group!(benches, single_hellos, handshakes, later_packets);
criterion_main!(benches);
