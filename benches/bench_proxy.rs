//! What one connection costs in the library: recording its first bytes, and the fingerprint of each layer.
//!
//! `cargo bench -p huginn-net-benches --features proxy --bench proxy`
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark may panic")]

use std::hint::black_box;
use std::net::{TcpListener, TcpStream};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use huginn_net::consistency::ClientBytes;
use huginn_net_proxy::{Fingerprinter, Recording, SavedSyn};

/// Of curl 7.88.1 with OpenSSL 3.0.
const HELLO: &[u8] = include_bytes!("../huginn-net-tls/hellos/curl-openssl.bin");
const HTTP2: &[u8] = include_bytes!("../huginn-net-http/http2/curl.bin");
const HTTP1: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";

/// A recording in pieces of `step` bytes.
fn record(mut recording: Recording, bytes: &[u8], step: usize) -> Recording {
    for piece in bytes.chunks(step) {
        recording.push(piece);
    }
    assert!(recording.complete().is_some());
    recording
}

fn recording(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("record");
    for (name, new, bytes) in [
        ("ClientHello", Recording::tls as fn() -> Recording, HELLO),
        ("HTTP/2 frames", Recording::http, HTTP2),
        ("HTTP/1 head", Recording::http, HTTP1),
    ] {
        for (pieces, step) in [("in one piece", usize::MAX), ("in single bytes", 1)] {
            group.bench_function(format!("{name}, {pieces}"), |bencher| {
                bencher.iter(|| record(new(), black_box(bytes), step));
            });
        }
    }
    group.finish();
}

fn fingerprints(criterion: &mut Criterion) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    SavedSyn::enable(&listener).unwrap();
    let connect = || {
        let client = TcpStream::connect(address).unwrap();
        (listener.accept().unwrap().0, client)
    };
    let syn = SavedSyn::take(&connect().0).unwrap().unwrap();
    let syn = syn.as_bytes();

    let mut group = criterion.benchmark_group("fingerprint");
    group.bench_function("take the SYN of a connection", |bencher| {
        bencher.iter_batched(
            connect,
            |streams| (SavedSyn::take(&streams.0).unwrap(), streams),
            BatchSize::PerIteration,
        );
    });
    let fingerprinter = Fingerprinter::default();
    let none = ClientBytes::default();
    for (name, client) in [
        ("SYN", none.syn(syn)),
        ("ClientHello", none.tls(HELLO)),
        ("HTTP/2, and the verdict", none.http(HTTP2)),
        ("HTTP/1, and the verdict", none.http(HTTP1)),
        ("all layers", none.syn(syn).tls(HELLO).http(HTTP2)),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| fingerprinter.fingerprint(black_box(&client))));
    }
    group.finish();
}

criterion_group!(benches, recording, fingerprints);
criterion_main!(benches);
