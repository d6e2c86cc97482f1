//! Benches of SSH fingerprints, on captures of this project in memory.
//!
//! `cargo bench -p huginn-net-benches --bench ssh`
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

#[path = "live_flows.rs"]
mod live_flows;
#[path = "memory_frames.rs"]
mod memory_frames;
#[path = "packets.rs"]
mod packets;
#[path = "table.rs"]
mod table;

use std::cell::RefCell;
use std::fmt::Write;
use std::hint::black_box;

use criterion::Throughput;
use huginn_net_capture::CaptureReader;
use huginn_net_core::Event;
use huginn_net_ssh::{HasshAlgorithms, HuginnNetSsh, KexInit, SshEvent, SshPeer};

use packets::{AT_LEAST, Packets, Repeat};
use table::{Bench, lazy};

/// Captures of short connections with a key exchange.
const SSH: [&str; 8] = [
    "ssh-dropbear",
    "ssh-go",
    "ssh-libssh",
    "ssh-libssh2",
    "ssh-openssh",
    "ssh-putty",
    "ssh-python",
    "ssh-tinyssh",
];
/// Captures of connections that are not SSH.
const OTHERS: [&str; 4] = ["curl-nginx", "http-clients", "tls-curl", "tls-go"];

/// Appends fingerprints to a text.
type Fingerprint = fn(&SshPeer, &mut String);

/// Fingerprints to compute for a peer.
const FINGERPRINTS: [(&str, Fingerprint); 3] = [
    ("no fingerprint", |_, _| {}),
    ("HASSH", |peer, text| write!(text, "{}", peer.hassh().unwrap()).unwrap()),
    ("full analysis", FULL),
];

/// HASSH and its algorithm text.
const FULL: Fingerprint = |peer, text| {
    let algorithms = peer.hassh_algorithms().unwrap();
    write!(text, "{algorithms} {}", algorithms.hash()).unwrap();
};

fn main() {
    let mut bench = Bench::new("ssh");
    live_flows::measure(&mut bench, HuginnNetSsh::builder);
    handshakes(&mut bench);
    other_protocols(&mut bench);
    single_messages(&mut bench);
    bench.finish();
}

thread_local! {
    /// Output buffer, which each fingerprint overwrites.
    static TEXT: RefCell<String> = RefCell::new(String::with_capacity(8 << 10));
}

/// Renders the fingerprints of a peer. Returns the length of the text.
fn on_event(event: Event<SshEvent>, fingerprint: Fingerprint) -> usize {
    let (SshEvent::Client(peer) | SshEvent::Server(peer)) = black_box(event.kind) else { return 0 };
    TEXT.with_borrow_mut(|text| {
        text.clear();
        fingerprint(&peer, text);
        black_box(&text).len()
    })
}

/// All packets of short connections.
fn handshakes(bench: &mut Bench) {
    for repeat in Repeat::BOTH {
        let packets = lazy(move || Packets::from_captures(&SSH, repeat, AT_LEAST, |_| true));
        for (name, fingerprint) in FINGERPRINTS {
            let operation = format!("{repeat}: handshakes, {name}");
            bench.analysis(&operation, &packets, HuginnNetSsh::builder, |event| on_event(event, fingerprint));
        }
        let operation = format!("{repeat}: handshakes, full analysis, start to end");
        bench.complete_analysis(&operation, &packets, HuginnNetSsh::builder, |event| on_event(event, FULL));
    }
}

/// All packets of connections of other protocols.
fn other_protocols(bench: &mut Bench) {
    let packets = lazy(|| Packets::from_captures(&OTHERS, Repeat::NewFlows, AT_LEAST, |_| true));
    bench.analysis("new flows: other protocols", &packets, HuginnNetSsh::builder, |event| {
        on_event(event, FULL)
    });
}

/// Messages without packets; no rows.
fn single_messages(bench: &mut Bench) {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for name in SSH {
        let reader = CaptureReader::open(packets::captures::path(&format!("{name}.pcap"))).unwrap();
        let mut sink = |event: Event<SshEvent>| {
            let (SshEvent::Client(peer) | SshEvent::Server(peer)) = event.kind else { return };
            messages.extend(peer.kex_init.map(|kex_init| kex_init.as_bytes().to_vec()));
        };
        HuginnNetSsh::builder().build().analyze(reader, &mut sink).unwrap();
    }
    let bytes: usize = messages.iter().map(Vec::len).sum();
    println!("{} messages of {bytes} bytes", messages.len());
    let mut group = bench.criterion.benchmark_group("messages");
    group.throughput(Throughput::Elements(messages.len() as u64));
    group.bench_function("parse", |b| {
        b.iter(|| messages.iter().for_each(|bytes| _ = black_box(KexInit::from_payload(black_box(bytes)))));
    });
    group.bench_function("parse, HASSH", |b| {
        b.iter(|| {
            for bytes in &messages {
                let kex_init = KexInit::from_payload(black_box(bytes)).unwrap();
                black_box(HasshAlgorithms::from_client(&kex_init).hash());
            }
        });
    });
    group.finish();
}
