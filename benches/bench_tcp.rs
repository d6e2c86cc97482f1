//! Benches of TCP fingerprints, on captures of this project in memory: typical pages, and short connections, where every
//! seventh packet belongs to a handshake.
//!
//! `cargo bench -p huginn-net-benches --bench tcp`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
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

use std::hint::black_box;

use criterion::Throughput;
use huginn_net_core::{DecodeConfig, Decoder};
use huginn_net_db::Database;
use huginn_net_tcp::{HuginnNetTcp, TcpEvent, TcpSignature};

use packets::{AT_LEAST, IN_CACHE, PAGES, Packets, Repeat, SHORT};
use table::{Bench, LazyPackets, each_set};

fn main() {
    let mut bench = Bench::new("tcp");
    live_flows::measure(&mut bench, HuginnNetTcp::builder);
    let sets = [
        ("pages", &PAGES[..], AT_LEAST),
        ("pages in cache", &PAGES, IN_CACHE),
        ("short connections", &SHORT, AT_LEAST),
    ];
    each_set(&sets, |name, packets, sweep| {
        parse(&mut bench, name, packets);
        analyse(&mut bench, name, packets, sweep);
    });
    single_signatures(&mut bench);
    bench.finish();
}

/// Decode, and the signatures of SYN and SYN+ACK segments; no flows.
fn parse(bench: &mut Bench, name: &str, packets: &LazyPackets) {
    bench.row(&format!("{name}: decode"), "sequential", || {
        let packets: &Packets = packets;
        (packets.len(), || {
            let (mut decoder, mut segments) = (Decoder::new(DecodeConfig::default()), 0);
            for frame in packets.frames() {
                decoder.decode(black_box(&frame), &mut |segment| {
                    black_box(segment);
                    segments += 1;
                });
            }
            segments
        })
    });
    bench.row(&format!("{name}: decode, signatures"), "sequential", || {
        let packets: &Packets = packets;
        (packets.len(), || signatures(packets, &mut |signature| _ = black_box(signature)))
    });
}

/// Computes the signature of each SYN and SYN+ACK segment. Returns their number.
fn signatures(packets: &Packets, each: &mut impl FnMut(TcpSignature)) -> u64 {
    let (mut decoder, mut count) = (Decoder::new(DecodeConfig::default()), 0);
    for frame in packets.frames() {
        decoder.decode(black_box(&frame), &mut |segment| {
            if let Some(signature) = TcpSignature::from_segment(segment, None) {
                count += 1;
                each(signature);
            }
        });
    }
    count
}

/// Flows and signatures, without and with database matches.
fn analyse(bench: &mut Bench, name: &str, packets: &LazyPackets, sweep: bool) {
    let database = Database::builtin();
    let system = |event: &TcpEvent| match event {
        TcpEvent::Syn(signature) => _ = black_box(database.match_syn(signature)),
        TcpEvent::SynAck(signature) => _ = black_box(database.match_syn_ack(signature)),
        _ => {}
    };
    let link = |event: &TcpEvent| {
        if let TcpEvent::Mtu(mtu) = event {
            black_box(database.match_mtu(*mtu));
        }
    };
    bench.analyses(name, packets, HuginnNetTcp::builder, ("OS", system), ("link", link), sweep);
}

/// Signatures without packets; no rows.
fn single_signatures(bench: &mut Bench) {
    let packets = Packets::from_captures(&SHORT, Repeat::SameFlows, 1, |_| true);
    let mut found = Vec::new();
    signatures(&packets, &mut |signature| found.push(signature));
    let database = Database::builtin();
    let mut group = bench.criterion.benchmark_group("signatures");
    group.throughput(Throughput::Elements(found.len() as u64));
    group.bench_function("match", |b| {
        b.iter(|| found.iter().filter(|signature| database.match_syn(signature).is_some()).count());
    });
    group.bench_function("display", |b| {
        b.iter(|| found.iter().map(|signature| signature.to_string().len()).sum::<usize>());
    });
    group.finish();
}
