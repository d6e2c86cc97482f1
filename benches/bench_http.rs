//! Benches of HTTP fingerprints, on captures of this project in memory: typical pages, and as the worst case short
//! exchanges, where a third of the packets or nearly every packet begins with a head.
//!
//! `cargo bench -p huginn-net-benches --bench http`
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

use std::fs;
use std::hint::black_box;

use criterion::Throughput;
use huginn_net_core::{DecodeConfig, Decoder};
use huginn_net_db::Database;
use huginn_net_http::http2::Akamai;
use huginn_net_http::{HttpEvent, HttpSignature, HuginnNetHttp, Request, Response};

use packets::{AT_LEAST, IN_CACHE, PAGES, Packets, Repeat, tcp};
use table::{Bench, LazyPackets, each_set, lazy};

/// Exchanges with short bodies: every third packet begins with a head.
const MANY_HEADS: [&str; 9] = [
    "curl-nginx",
    "curl-nginx-ipv6",
    "h2c",
    "http-bodies",
    "http-chromium",
    "http-clients",
    "http-firefox",
    "http-go",
    "http-java",
];
/// The same in few connections: nearly every packet begins with a head.
const KEEP_ALIVE: [&str; 2] = ["http-keep-alive", "http-keep-alive-h2load"];
/// Captures of other protocols.
const OTHER: [&str; 2] = ["tls-curl", "tls-openssl"];

fn main() {
    let mut bench = Bench::new("http");
    live_flows::measure(&mut bench, HuginnNetHttp::builder);
    let sets = [
        ("pages", &PAGES[..], AT_LEAST),
        ("pages in cache", &PAGES, IN_CACHE),
        ("many heads", &MANY_HEADS, AT_LEAST),
        ("kept alive", &KEEP_ALIVE, AT_LEAST),
    ];
    each_set(&sets, |name, packets, sweep| {
        parse(&mut bench, name, packets);
        analyse(&mut bench, name, packets, sweep);
    });
    let packets = lazy(|| Packets::from_captures(&OTHER, Repeat::NewFlows, AT_LEAST, |_| true));
    bench.analysis("new flows of TLS: let go", &packets, HuginnNetHttp::builder, |event| event);
    single_heads(&mut bench);
    akamai(&mut bench);
    bench.finish();
}

/// Decode, and the heads that segments begin with; no flows.
fn parse(bench: &mut Bench, name: &str, packets: &LazyPackets) {
    bench.row(&format!("{name}: decode, heads of HTTP/1"), "sequential", || {
        let packets: &Packets = packets;
        (packets.len(), || heads(packets))
    });
}

/// Counts the segments that begin with a complete HTTP/1 head.
fn heads(packets: &Packets) -> u64 {
    let (mut decoder, mut count) = (Decoder::new(DecodeConfig::default()), 0);
    for frame in packets.frames() {
        decoder.decode(black_box(&frame), &mut |segment| {
            if segment.payload.is_empty() {
                return;
            }
            if let Ok(Some(request)) = Request::parse(segment.payload) {
                black_box(request);
                count += 1;
            } else if let Ok(Some(response)) = Response::parse(segment.payload) {
                black_box(response);
                count += 1;
            }
        });
    }
    count
}

/// Flows, requests and responses, without and with database matches.
fn analyse(bench: &mut Bench, name: &str, packets: &LazyPackets, sweep: bool) {
    let database = Database::builtin();
    let browser = |event: &HttpEvent| {
        if let HttpEvent::Request(found) = event {
            black_box(database.match_request(&HttpSignature::from_request(&found.request)));
        }
    };
    let server = |event: &HttpEvent| {
        if let HttpEvent::Response(found) = event {
            black_box(database.match_response(&HttpSignature::from_response(&found.response)));
        }
    };
    bench.analyses(name, packets, HuginnNetHttp::builder, ("browser", browser), ("server", server), sweep);
}

/// Requests without packets; no rows.
fn single_heads(bench: &mut Bench) {
    let packets = Packets::from_captures(&MANY_HEADS, Repeat::SameFlows, 1, |_| true);
    let is_head = |data: &&[u8]| matches!(Request::parse(data), Ok(Some(_)));
    let payloads = packets.frames().filter_map(|frame| tcp(frame.data)).map(|(_, data)| data);
    let heads: Vec<_> = payloads.filter(is_head).collect();
    let database = Database::builtin();
    println!("{} heads of {} bytes", heads.len(), heads.iter().map(|head| head.len()).sum::<usize>());
    let request = |head: &[u8]| Request::parse(black_box(head)).unwrap().unwrap().value;
    let mut group = bench.criterion.benchmark_group("heads");
    group.throughput(Throughput::Elements(heads.len() as u64));
    group.bench_function("parse", |b| {
        b.iter(|| heads.iter().map(|head| request(head).headers().len()).sum::<usize>())
    });
    group.bench_function("parse, match", |b| {
        b.iter(|| {
            let matched =
                |head| database.match_request(&HttpSignature::from_request(&request(head))).is_some();
            heads.iter().filter(|head| matched(head)).count()
        });
    });
    group.bench_function("parse, raw_sig as text", |b| {
        let known = |name: &[u8]| database.contains_header_name(name);
        b.iter(|| {
            let text = |head| HttpSignature::from_request(&request(head)).raw_sig(known).to_string().len();
            heads.iter().map(|head| text(head)).sum::<usize>()
        });
    });
    group.finish();
}

/// Chromium's bytes from the preface to its first request; no row.
fn akamai(bench: &mut Bench) {
    let bytes = fs::read(packets::captures::folder().join("../huginn-net-http/http2/chromium.bin")).unwrap();
    let mut group = bench.criterion.benchmark_group("http2");
    group.throughput(Throughput::Elements(1));
    group.bench_function("akamai_hash of Chromium", |b| {
        b.iter(|| Akamai::from_client_bytes(black_box(&bytes)).unwrap().unwrap().value.hash());
    });
    group.finish();
}
