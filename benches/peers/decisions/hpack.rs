//! Compares HPACK decoders: loona-hpack, httlib-hpack, and that of huginn-net-http, which is compiled into this bench.

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};

#[allow(dead_code, unreachable_pub, unused_imports)]
#[path = "../../../huginn-net-http/src/http2/hpack/mod.rs"]
mod hpack;
#[allow(dead_code, unexpected_cfgs, unreachable_pub)]
#[path = "../../../huginn-net-http/src/limits.rs"]
mod limits;

/// Chromium's bytes from the field block of its first request.
const CHROMIUM: &[u8] = include_bytes!("../../../huginn-net-http/http2/chromium.bin");
const CHROMIUM_BLOCK: std::ops::Range<usize> = 84..515;

/// A field block of maximum length, whose names and values are one Huffman-coded letter each.
fn short_strings() -> Vec<u8> {
    [0x00, 0x81, 0x1f, 0x81, 0x1f].repeat(64 * 1024 / 5)
}

/// A field of 4,000 bytes, and 60,000 references to it.
fn bomb() -> Vec<u8> {
    [&[0x40, 1, b'a', 0x7f, 0xa1, 0x1e], &[b'x'; 4000][..], &[0xbe; 60_000]].concat()
}

fn loona(block: &[u8]) -> usize {
    let mut size = 0;
    let mut decoder = loona_hpack::Decoder::new();
    let _ = decoder.decode_with_cb(block, |name, value| size += name.len() + value.len());
    size
}

fn httlib(block: &[u8]) -> usize {
    let mut fields = Vec::new();
    let _ = httlib_hpack::Decoder::default().decode(&mut block.to_vec(), &mut fields);
    fields.iter().map(|(name, value, _)| name.len() + value.len()).sum()
}

fn own(block: &[u8]) -> usize {
    let mut size = 0;
    let _ = hpack::Decoder::new().decode(block, true, &mut |name, value| size += name.len() + value.len());
    size
}

fn bench(criterion: &mut Criterion) {
    let request = CHROMIUM.get(CHROMIUM_BLOCK).expect("a field block");
    assert_eq!([loona(request), httlib(request)], [own(request); 2]);
    for (name, block) in [("request", request), ("short strings", &short_strings()), ("bomb", &bomb())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(block.len() as u64)).sample_size(10);
        compare(&mut group, block);
        group.finish();
    }
}

fn compare(group: &mut BenchmarkGroup<'_, WallTime>, block: &[u8]) {
    group.bench_function("loona-hpack", |bencher| bencher.iter(|| loona(block)));
    group.bench_function("httlib-hpack", |bencher| bencher.iter(|| httlib(block)));
    group.bench_function("own", |bencher| bencher.iter(|| own(block)));
}

criterion_group!(benches, bench);
criterion_main!(benches);
