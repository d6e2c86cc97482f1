//! Benches of TLS fingerprints, on captures of this project in memory.
//!
//! `cargo bench -p huginn-net-benches --bench tls`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may panic"
)]

#[path = "hello_packets.rs"]
mod hello_packets;
#[path = "hellos.rs"]
mod hellos;
#[path = "live_flows.rs"]
mod live_flows;
#[path = "memory_frames.rs"]
mod memory_frames;
#[path = "packets.rs"]
mod packets;
#[path = "table.rs"]
mod table;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::hint::black_box;

use criterion::Throughput;
use huginn_net_core::{DecodeConfig, Decoder, Event, Timestamp};
use huginn_net_db::ClientDatabase;
use huginn_net_tls::{ClientHello, HuginnNetTls, TlsEvent};

use packets::{AT_LEAST, HANDSHAKES, Packets, Repeat, all_captures, is_initial, tcp};
use table::{Bench, lazy};

const QUIC: [&str; 5] = ["quic-aioquic", "quic-chromium", "quic-firefox", "quic-go", "quic-version2"];

/// Appends fingerprints to a text.
type Fingerprint = fn(&ClientHello<'_>, &mut String);

/// Fingerprints to compute for a hello.
const FINGERPRINTS: [(&str, Fingerprint); 5] = [
    ("no fingerprint", |_, _| {}),
    ("JA4", |hello, text| write!(text, "{}", hello.ja4()).unwrap()),
    ("JA4, JA4_r", |hello, text| {
        let raw = hello.ja4_r();
        write!(text, "{} {raw}", raw.ja4()).unwrap();
    }),
    ("JA4, JA4_r, JA4_o, JA4_ro", |hello, text| {
        for raw in [hello.ja4_r(), hello.ja4_ro()] {
            write!(text, "{} {raw} ", raw.ja4()).unwrap();
        }
    }),
    ("full analysis", FULL),
];

/// JA4, JA4_r, JA3 and its hash.
const FULL: Fingerprint = |hello, text| {
    let (raw, ja3) = (hello.ja4_r(), hello.ja3());
    write!(text, "{} {raw} {ja3} {}", raw.ja4(), ja3.hash()).unwrap();
};

fn main() {
    let mut bench = Bench::new("tls");
    live_flows::measure(&mut bench, HuginnNetTls::builder);
    distinct_hellos(&mut bench);
    handshakes(&mut bench);
    later_packets(&mut bench);
    single_hellos(&mut bench);
    bench.finish();
}

thread_local! {
    /// Output buffer, which each fingerprint overwrites.
    static TEXT: RefCell<String> = RefCell::new(String::with_capacity(8 << 10));
}

/// Renders the fingerprints of a hello. Returns the length of the text.
fn write_fingerprints(hello: &ClientHello<'_>, fingerprint: Fingerprint) -> usize {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        fingerprint(hello, text);
        black_box(&text).len()
    })
}

fn on_event(event: Event<TlsEvent>, fingerprint: Fingerprint) -> usize {
    match black_box(event.kind) {
        TlsEvent::Client(client) => write_fingerprints(&client.hello, fingerprint),
        _ => 0,
    }
}

/// Every packet is a distinct ClientHello that starts a flow. The worst case is a hello whose cipher suites and extensions
/// are new, too.
fn distinct_hellos(bench: &mut Bench) {
    let packets =
        lazy(|| hello_packets::each_in_one_packet(&hellos::from_captures(&all_captures()), AT_LEAST));
    bench.row("distinct hellos: decode, parse", "sequential", || {
        let packets: &Packets = &packets;
        (packets.len(), || {
            let (mut decoder, mut count) = (Decoder::new(DecodeConfig::default()), 0);
            for frame in packets.frames() {
                decoder.decode(black_box(&frame), &mut |segment| {
                    if let Ok(Some(hello)) = ClientHello::from_records(segment.payload) {
                        black_box(hello);
                        count += 1;
                    }
                });
            }
            count
        })
    });
    for (name, fingerprint) in FINGERPRINTS {
        let operation = format!("distinct hellos: {name}");
        bench.analysis(&operation, &packets, HuginnNetTls::builder, |event| on_event(event, fingerprint));
    }
    let shuffled = lazy(|| {
        hello_packets::each_with_shuffled_extensions(&hellos::from_captures(&all_captures()), AT_LEAST)
    });
    let unseen =
        lazy(|| hello_packets::each_with_lists_of_its_own(&hellos::from_captures(&all_captures()), AT_LEAST));
    for (what, packets) in [("extensions shuffled", &shuffled), ("lists never seen before", &unseen)] {
        for (name, fingerprint) in FINGERPRINTS.into_iter().skip(1) {
            let operation = format!("distinct hellos, {what}: {name}");
            bench.analysis(&operation, packets, HuginnNetTls::builder, |event| on_event(event, fingerprint));
        }
    }
    let full = |event| on_event(event, FULL);
    let operation = "distinct hellos: full analysis, start to end";
    bench.complete_analysis(operation, &packets, HuginnNetTls::builder, full);
    bench.block_sweep(operation, &packets, HuginnNetTls::builder, full);
}

/// All packets of short connections, and the datagrams of QUIC's first flight.
fn handshakes(bench: &mut Bench) {
    let full = |event| on_event(event, FULL);
    for repeat in Repeat::BOTH {
        let packets = lazy(move || Packets::from_captures(&HANDSHAKES, repeat, AT_LEAST, |_| true));
        let operation = format!("{repeat}: handshakes, full analysis");
        bench.analysis(&operation, &packets, HuginnNetTls::builder, full);
        let operation = format!("{operation}, start to end");
        bench.complete_analysis(&operation, &packets, HuginnNetTls::builder, full);
    }
    let packets = lazy(|| Packets::from_captures(&QUIC, Repeat::NewFlows, AT_LEAST, is_initial));
    let operation = "new flows: first flights of QUIC, full analysis";
    bench.analysis(operation, &packets, HuginnNetTls::builder, full);
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;

/// Segments after the hellos of their connection, as nearly all packets on a network.
fn later_packets(bench: &mut Bench) {
    bench.row("segments after the hellos", "sequential", || {
        let is_open = |frame: &[u8]| tcp(frame).is_some_and(|(flags, _)| flags & (FIN | RST) == 0);
        let packets = Packets::from_captures(&HANDSHAKES, Repeat::NewFlows, AT_LEAST, is_open);
        let mut analyzer = HuginnNetTls::builder().build();
        let mut sink = |event: Event<TlsEvent>| _ = black_box(event);
        // All packets have the same time, so that no flow expires.
        let ts = Timestamp::new(1_700_000_000, 0, 6);
        let mut later = Packets::default();
        for mut frame in packets.frames() {
            frame.ts = ts;
            let _ = analyzer.push(&frame, &mut sink);
            if tcp(frame.data).is_some_and(|(flags, data)| flags & SYN == 0 && !data.is_empty()) {
                later.push(0, frame.data);
            }
        }
        let packets = later.len();
        let pass = move || {
            let before = analyzer.counters().events;
            for frame in later.frames() {
                let _ = analyzer.push(black_box(&frame), &mut |event: Event<TlsEvent>| _ = black_box(event));
            }
            analyzer.counters().events - before
        };
        (packets, pass)
    });
}

/// Hellos without packets; no rows.
fn single_hellos(bench: &mut Bench) {
    let hellos = hellos::from_captures(&all_captures());
    let bytes: usize = hellos.iter().map(|hello| hello.message().len()).sum();
    let ja4s: BTreeSet<_> = hellos.iter().map(ClientHello::ja4).collect();
    println!("{} hellos of {} bytes, {} different JA4", hellos.len(), bytes, ja4s.len());

    let six_forms: (&str, Fingerprint) = ("six forms of JA4", |hello, text| {
        for raw in [hello.ja4_r(), hello.ja4_ro(), hello.ja4_stable_r()] {
            write!(text, "{}{raw}", raw.ja4()).unwrap();
        }
    });
    let stable: (&str, Fingerprint) =
        ("JA4, stable JA4", |hello, text| write!(text, "{}{}", hello.ja4(), hello.ja4_stable()).unwrap());
    let named: (&str, Fingerprint) = ("JA4, stable JA4, software named", |hello, text| {
        write!(text, "{}{}", hello.ja4(), hello.ja4_stable()).unwrap();
        if let Some(found) = ClientDatabase::builtin().match_hello(hello) {
            black_box(&found);
            text.push('+');
        }
    });
    let hash: (&str, Fingerprint) = ("JA3 hash", |hello, text| write!(text, "{}", hello.ja3_hash()).unwrap());
    let mut group = bench.criterion.benchmark_group("hellos");
    group.throughput(Throughput::Elements(hellos.len() as u64));
    for (name, fingerprint) in FINGERPRINTS.into_iter().chain([six_forms, stable, named, hash]) {
        group.bench_function(format!("parse, {name}"), |b| {
            b.iter(|| {
                for hello in &hellos {
                    let message = black_box(hello.message());
                    let hello = ClientHello::from_message(message, hello.transport()).unwrap().unwrap().value;
                    black_box(write_fingerprints(black_box(&hello), fingerprint));
                }
            });
        });
    }
    group.finish();
}
