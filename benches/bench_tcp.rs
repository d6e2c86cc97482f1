//! Time a packet of the TCP fingerprints, on the captures of this project held in memory.
//!
//! `cargo bench -p huginn-net-tcp`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may panic"
)]

#[path = "packets.rs"]
mod packets;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use huginn_net_core::{DecodeConfig, Decoder, Event};
use huginn_net_db::Database;
use huginn_net_tcp::{HuginnNetTcp, TcpEvent, TcpSignature};

use packets::{Packet, packets};

/// Captures of every protocol of this project.
const CAPTURES: [&str; 5] = ["curl-nginx", "http-clients", "tls-clients", "h2c", "stack-default"];

/// The SYN and SYN+ACK signatures of some packets.
fn signatures(packets: &[Packet]) -> Vec<TcpSignature> {
    let mut found = Vec::new();
    let mut decoder = Decoder::new(DecodeConfig::default());
    for packet in packets {
        decoder
            .decode(&packet.frame(), &mut |segment| found.extend(TcpSignature::from_segment(segment, None)));
    }
    found
}

fn analyse(packets: &[Packet], each: &mut impl FnMut(&TcpEvent)) -> u64 {
    let mut analyzer = HuginnNetTcp::builder().build();
    let mut sink = |event: Event<TcpEvent>| each(&event.kind);
    for packet in packets {
        let _ = analyzer.push(&packet.frame(), &mut sink);
    }
    let _ = analyzer.finish(&mut sink);
    analyzer.counters().events
}

fn whole_packets(c: &mut Criterion) {
    let packets = packets(&CAPTURES, 200);
    let database = Database::builtin();
    println!("{} packets, {} events", packets.len(), analyse(&packets, &mut |_| {}));
    let mut group = c.benchmark_group("packets");
    group.throughput(Throughput::Elements(packets.len() as u64)).sample_size(20);
    group.bench_function("decode", |b| {
        b.iter(|| {
            let mut decoder = Decoder::new(DecodeConfig::default());
            let mut bytes = 0;
            for packet in &packets {
                decoder.decode(&packet.frame(), &mut |segment| bytes += segment.payload.len());
            }
            black_box(bytes)
        });
    });
    group.bench_function("analyse", |b| b.iter(|| analyse(&packets, &mut |event| _ = black_box(event))));
    group.bench_function("analyse and match", |b| {
        b.iter(|| {
            analyse(&packets, &mut |event| match event {
                TcpEvent::Syn(signature) => _ = black_box(database.match_syn(signature)),
                TcpEvent::SynAck(signature) => _ = black_box(database.match_syn_ack(signature)),
                TcpEvent::Mtu(mtu) => _ = black_box(database.match_mtu(*mtu)),
                _ => {}
            })
        });
    });
    group.finish();
}

fn single_signatures(c: &mut Criterion) {
    let packets = packets(&CAPTURES, 1);
    let signatures = signatures(&packets);
    let database = Database::builtin();
    println!("{} signatures", signatures.len());
    let mut group = c.benchmark_group("signatures");
    group.throughput(Throughput::Elements(signatures.len() as u64));
    group.bench_function("match", |b| {
        b.iter(|| signatures.iter().filter(|signature| database.match_syn(signature).is_some()).count());
    });
    group.bench_function("display", |b| {
        b.iter(|| signatures.iter().map(|signature| signature.to_string().len()).sum::<usize>());
    });
    group.finish();
}

criterion_group!(benches, whole_packets, single_signatures);
criterion_main!(benches);
