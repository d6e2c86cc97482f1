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
#[path = "packets.rs"]
mod packets;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use huginn_net_core::{Event, Timestamp};
use huginn_net_tls::{ClientHello, HuginnNetTls, TlsEvent};

use packets::{Packet, folder, measure, packets};

/// Captures of connections that carry little but their handshake.
const TLS: [&str; 7] =
    ["tls-chromium", "tls-curl", "tls-firefox", "tls-go", "tls-hello-retry", "tls-openssl", "tls-resumption"];
const QUIC: [&str; 5] = ["quic-aioquic", "quic-chromium", "quic-firefox", "quic-go", "quic-version2"];

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

criterion_group!(benches, single_hellos, handshakes, later_packets);
criterion_main!(benches);
