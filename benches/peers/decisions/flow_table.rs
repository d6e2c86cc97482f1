//! Compares this project's flow table with `ttl_cache`: one lookup per packet, with the same keys and the same hash.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foldhash::fast::RandomState;
use huginn_net_core::{
    Addresses, FlowKey, IdleLimits, IdleMap, IpHeader, Segment, Timestamp, TransportHeader, TunnelPath,
    UdpHeader,
};
use ttl_cache::TtlCache;

const PACKETS: u32 = 1_000_000;
const IDLE: Duration = Duration::from_secs(300);
const LIMITS: IdleLimits =
    IdleLimits { max_entries: 1 << 19, idle_timeout: IDLE, max_buffered_bytes: 256 << 20 };

/// The value of a flow.
type Flow = [u64; 5];

fn key(n: u32) -> FlowKey {
    let ip = IpHeader {
        addresses: Addresses::V4 {
            src: Ipv4Addr::from_bits(0x0a00_0000 | (n & 0x00ff_ffff)),
            dst: Ipv4Addr::new(192, 0, 2, 1),
        },
        ttl: 64,
        traffic_class: 0,
        header_len: 20,
        options_len: 0,
        id: 0,
        dont_fragment: true,
        reserved_flag: false,
        flow_label: 0,
        reassembled: false,
    };
    FlowKey::from_segment(&Segment {
        ts: Timestamp::default(),
        packet_number: 0,
        ip,
        transport: TransportHeader::Udp(UdpHeader { src_port: 40_000, dst_port: 443 }),
        payload: &[],
        payload_missing: 0,
        tunnel: &TunnelPath::EMPTY,
    })
    .0
}

/// Returns the flow of each packet; a few flows have most of the packets.
fn traffic(flows: u32) -> Vec<FlowKey> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    (0..PACKETS)
        .map(|_| key(if random() % 4 == 0 { random() % flows } else { random() % (flows / 50) }))
        .collect()
}

fn lookups(c: &mut Criterion) {
    for flows in [1_000, 50_000, 500_000] {
        let keys = traffic(flows);
        let mut group = c.benchmark_group(format!("{flows} flows"));
        group.throughput(Throughput::Elements(u64::from(PACKETS))).sample_size(10);
        group.bench_function("flow table", |b| {
            let mut table: IdleMap<FlowKey, Flow> = IdleMap::new(&LIMITS);
            let mut nanos = 0_u32;
            b.iter(|| {
                for key in &keys {
                    nanos = nanos.wrapping_add(1);
                    let now = Timestamp::new(0, nanos, 9);
                    table.expire(now);
                    let slot = table.touch(key, now).or_else(|| table.insert(*key, now, [0; 5]));
                    if let Some(flow) = slot.and_then(|slot| table.get_mut(slot)) {
                        flow[0] += 1;
                    }
                }
            });
            black_box(table.counters());
        });
        group.bench_function("ttl_cache", |b| {
            let mut cache: TtlCache<FlowKey, Flow, RandomState> =
                TtlCache::with_hasher(1 << 19, RandomState::default());
            b.iter(|| {
                for key in &keys {
                    match cache.get_mut(key) {
                        Some(flow) => flow[0] += 1,
                        None => drop(cache.insert(*key, [0; 5], IDLE)),
                    }
                }
            });
            cache.clear();
        });
        group.finish();
    }
}

criterion_group!(benches, lookups);
criterion_main!(benches);
