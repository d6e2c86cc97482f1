//! Checks the memory cap of the host table. The test needs its own process, because it measures the peak of the
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

use huginn_net::hosts::{HostCounters, HostProfile};
use huginn_net::{Configure, Event, Frame, HuginnNet, LinkType, Observation, Observers, Timestamp};

use peak::peak;

/// An IPv4 packet with the SYN of a Linux system (RFC 791, RFC 9293, RFC 7323); the test sets the source address.
const SYN: [u8; 60] = [
    0x45, 0, 0, 60, 0x1c, 0x46, 0x40, 0, 61, 6, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2, // IPv4
    0xdc, 0xe2, 0, 80, 0x52, 0x4d, 0x98, 0x43, 0, 0, 0, 0, 0xa0, 2, 0xfa, 0xf0, 0, 0, 0, 0, // TCP
    2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0x2e, 0x6b, 0xc4, 0, 0, 0, 0, 1, 3, 3, 7, // options
];
/// Number of hosts; debug builds are slow and use fewer.
const HOSTS: u32 = if cfg!(debug_assertions) { 400_000 } else { 2_000_000 };

/// Sends one SYN from each of [`HOSTS`] hosts and returns the host counters.
fn send_syns(profiles: bool) -> HostCounters {
    let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(profiles)).build();
    let mut events = 0_u64;
    let mut sink = |_: Event| events += 1;
    let mut packet = SYN;
    for n in 0..HOSTS {
        packet[12..16].copy_from_slice(&n.to_be_bytes());
        let ts = Timestamp::new(1_700_000_000, n / 1000, 9);
        let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: &packet, wire_len: 60 }, &mut sink);
    }
    let counters = analyzer.shared_state().counters();
    let made = analyzer.shared_state().profiles().count() as u64;
    assert_eq!(made, if profiles { counters.active } else { 0 });
    counters
}

/// Builds a packet with eight requests, each with another User-Agent; the test sets the source address.
fn requests() -> Vec<u8> {
    let mut packet = SYN[..40].to_vec();
    packet[32..34].copy_from_slice(&[0x50, 0x18]);
    for n in 0..8 {
        let head = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.{n}; {:80}\r\n\r\n",
            n
        );
        packet.extend_from_slice(head.as_bytes());
    }
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet
}

/// Returns the counted memory of hosts with a SYN and eight User-Agents each, in bytes, and the peak of the process, in KiB.
fn send_requests(profiles: bool) -> (u64, u64) {
    const HOSTS: u32 = 10_000;
    let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(profiles)).build();
    let mut requests_seen = 0;
    let mut sink =
        |event: Event| requests_seen += u32::from(matches!(event.kind, Observation::HttpRequest(_)));
    let (mut syn, mut packet) = (SYN.to_vec(), requests());
    // The requests belong to a connection of their own.
    packet[20] = 0xdd;
    for n in 0..HOSTS {
        for packet in [&mut syn, &mut packet] {
            packet[12..16].copy_from_slice(&(n + (10 << 24)).to_be_bytes());
            let ts = Timestamp::new(1_700_000_000, n / 1000, 9);
            let frame = Frame { ts, link: LinkType::RAW, data: packet, wire_len: packet.len() as u32 };
            let _ = analyzer.push(&frame, &mut sink);
        }
    }
    assert_eq!(requests_seen, 8 * HOSTS);
    let full = |host: &HostProfile| host.user_agents.iter().count() == 8;
    assert!(analyzer.shared_state().profiles().all(full));
    (analyzer.shared_state().counters().buffered_bytes, peak())
}

/// Counted memory equals used memory with a tolerance of a fifth.
fn profiles_are_counted_in_full() {
    let (without, peak_without) = send_requests(false);
    let (with, peak_with) = send_requests(true);
    let (counted, used) = (with - without, (peak_with - peak_without) << 10);
    assert!(counted.abs_diff(used) < used / 5, "{counted} bytes counted, {used} used");
}

#[test]
fn millions_of_hosts_stay_capped_and_counted() {
    // This measurement precedes the others, because the peak never decreases.
    profiles_are_counted_in_full();
    // The allocator may keep up to 40 MiB of the analysis before.
    for (profiles, most_mib) in [(false, 256), (true, 368)] {
        let counters = send_syns(profiles);
        assert_eq!(counters.seen, u64::from(HOSTS));
        assert_eq!(counters.evicted + counters.evicted_for_memory, counters.seen - counters.active);
        assert!(counters.buffered_bytes <= 256 << 20, "{counters:?}");
        assert!(peak() < most_mib << 10, "{} KiB with profiles: {profiles}", peak());
    }
}
