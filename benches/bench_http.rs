//! Time of the HTTP fingerprints: a head at a time, and the packets of connections, on the captures of this project held
//! in memory.
//!
//! `cargo bench -p huginn-net-http`
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

#[path = "packets.rs"]
mod packets;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use huginn_net_core::Event;
use huginn_net_db::Database;
use huginn_net_http::http2::Akamai;
use huginn_net_http::{HttpEvent, HttpSignature, HuginnNetHttp, Request};

use packets::{Packet, folder, measure, packets};

/// Captures of HTTP in the clear.
const HTTP: [&str; 3] = ["curl-nginx", "http-clients", "h2c"];
/// Captures of something else.
const OTHER: [&str; 2] = ["tls-curl", "tls-openssl"];

fn push(packets: &[Packet], each: &mut impl FnMut(&HttpEvent)) -> u64 {
    let mut analyzer = HuginnNetHttp::builder().build();
    let mut sink = |event: Event<HttpEvent>| each(&event.kind);
    for packet in packets {
        let _ = analyzer.push(black_box(&packet.frame()), &mut sink);
    }
    analyzer.counters().events
}

fn whole_packets(c: &mut Criterion) {
    let database = Database::builtin();
    for (name, captures) in [("HTTP", &HTTP[..]), ("TLS, which is let go", &OTHER[..])] {
        let packets = packets(captures, 64);
        println!("{name}: {} packets, {} events", packets.len(), push(&packets, &mut |_| {}));
        measure(c, name, packets.len(), || push(&packets, &mut |event| _ = black_box(event)));
        measure(c, &format!("{name}, and match"), packets.len(), || {
            push(&packets, &mut |event| match event {
                HttpEvent::Request(found) => {
                    _ = black_box(database.match_request(&HttpSignature::of_request(&found.request)));
                }
                HttpEvent::Response(found) => {
                    _ = black_box(database.match_response(&HttpSignature::of_response(&found.response)));
                }
                _ => {}
            })
        });
    }
}

/// The requests of the captures, as bytes.
fn heads() -> Vec<Vec<u8>> {
    let is_head = |data: &&[u8]| matches!(Request::parse(data), Ok(Some(_)));
    let packets = packets(&HTTP, 1);
    packets
        .iter()
        .filter_map(|packet| packet.tcp())
        .map(|(_, data)| data)
        .filter(is_head)
        .map(<[u8]>::to_vec)
        .collect()
}

fn single_heads(c: &mut Criterion) {
    let (heads, database) = (heads(), Database::builtin());
    println!("{} heads of {} bytes", heads.len(), heads.iter().map(Vec::len).sum::<usize>());
    let request = |head: &Vec<u8>| Request::parse(black_box(head)).unwrap().unwrap();
    let mut group = c.benchmark_group("heads");
    group.throughput(Throughput::Elements(heads.len() as u64));
    group.bench_function("parse", |b| {
        b.iter(|| heads.iter().map(|head| request(head).headers().len()).sum::<usize>())
    });
    group.bench_function("parse, match", |b| {
        b.iter(|| {
            let matched = |head| database.match_request(&HttpSignature::of_request(&request(head))).is_some();
            heads.iter().filter(|head| matched(head)).count()
        });
    });
    group.bench_function("parse, raw_sig as text", |b| {
        let known = |name: &[u8]| database.knows_header(name);
        b.iter(|| {
            let text = |head| HttpSignature::of_request(&request(head)).raw_sig(known).to_string().len();
            heads.iter().map(text).sum::<usize>()
        });
    });
    group.finish();
}

/// What Chromium sends, from the preface to its first request.
fn akamai(c: &mut Criterion) {
    let bytes = std::fs::read(folder().join("../huginn-net-http/http2/chromium.bin")).unwrap();
    let mut group = c.benchmark_group("http2");
    group.throughput(Throughput::Elements(1));
    group.bench_function("akamai_hash of Chromium", |b| {
        b.iter(|| Akamai::of_client(black_box(&bytes)).unwrap().unwrap().hash());
    });
    group.finish();
}

criterion_group!(benches, whole_packets, single_heads, akamai);
criterion_main!(benches);
