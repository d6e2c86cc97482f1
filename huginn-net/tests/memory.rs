//! Checks the memory cap of the flow table. The test needs its own process, because it measures the peak of the
//! process.
#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod peak;

use huginn_net::observers::EventLimits;
use huginn_net::{Configure, Event, Frame, HuginnNet, LinkType, Observers, Timestamp};

use peak::peak;

/// An IPv4 packet with a SYN (RFC 791, RFC 9293); the test sets the source address.
const SYN: [u8; 44] = [
    0x45, 0, 0, 44, 0, 1, 0x40, 0, 64, 6, 0, 0, 0, 0, 0, 0, 192, 0, 2, 1, // IPv4
    0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 2, 0x04, 0, 0, 0, 0, 0, // TCP
    2, 4, 5, 0xb4, // MSS 1460
];

/// Memory of the process, in KiB. It was about 246 MiB in nine of ten runs, and 16 MiB more in one.
const MAX_PEAK: u64 = 272 << 10;

#[test]
fn four_million_flows_fit_in_272_mib() {
    let observers = Observers::default().event_limits(EventLimits::NONE);
    let mut analyzer = HuginnNet::builder_with(observers).build();
    let mut events = 0_u64;
    let mut sink = |_: Event| events += 1;
    let mut packet = SYN;
    for n in 0..4_000_000_u32 {
        packet[12..16].copy_from_slice(&n.to_be_bytes());
        let ts = Timestamp::new(1_700_000_000, n / 1000, 9);
        let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: &packet, wire_len: 44 }, &mut sink);
    }
    let flows = analyzer.counters().flows;
    assert_eq!((flows.opened, flows.evicted + flows.active), (4_000_000, 4_000_000));
    assert_eq!(events, 4_000_000, "an event for each SYN");
    assert!(peak() < MAX_PEAK, "{} KiB", peak());
}
