//! Ten minutes of short connections, in packet time: what the flow table holds, and what a packet costs.
//!
//! `cargo run --release -p huginn-net-benches --features tools --example short_connections`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool of the benches may panic"
)]

#[path = "packets.rs"]
mod packets;
#[path = "resident.rs"]
mod resident;

use std::hint::black_box;
use std::time::Instant;

use huginn_net::{Configure, Event, HuginnNet, Observers};
use huginn_net_core::{Frame, Timestamp};

use packets::{Packets, Repeat};
use resident::resident;

/// New connections in a second.
const RATES: [u64; 2] = [5_000, 15_000];
const SECONDS: u64 = 600;
const CLIENTS: u64 = 1_000;
const SERVERS: u64 = 100;
/// Packets of the connection: handshake, request, response, and the FIN of both sides.
const PACKETS: usize = 10;
/// Offsets of the addresses and the client's port in a frame of the client.
const SOURCE: usize = 26;
const DESTINATION: usize = 30;
const PORT: usize = 34;

fn main() {
    let template = Packets::from_captures(&["curl-nginx"], Repeat::SameFlows, 1, |_| true);
    let connection: Vec<Frame<'_>> = template.frames().take(PACKETS).collect();
    println!("connections/s  connections  most flows  evicted  memory     ns per packet");
    for rate in RATES {
        measure(rate, &connection);
    }
}

/// Analyses connections that begin at equal intervals. Prints a row.
fn measure(rate: u64, connection: &[Frame<'_>]) {
    let interval = 1_000_000_000 / rate;
    let start = connection[0].ts.as_nanos();
    // The packets of a connection come after this many further ones have begun.
    let lags: Vec<u64> =
        connection.iter().map(|frame| (frame.ts.as_nanos() - start).div_ceil(interval)).collect();
    let mut packets: Vec<Vec<u8>> = connection.iter().map(|frame| frame.data.to_vec()).collect();
    let before = resident().unwrap_or(0);
    let mut analyzer = HuginnNet::builder_with(Observers::default().connections(true)).build();
    let (mut events, mut most, mut count) = (0_u64, 0, 0_u64);
    let mut sink = |event: Event| {
        black_box(&event);
        events += 1;
    };
    let begun = Instant::now();
    let connections = rate * SECONDS;
    for tick in 0..connections {
        for ((packet, frame), lag) in packets.iter_mut().zip(connection).zip(&lags) {
            let Some(number) = tick.checked_sub(*lag) else { continue };
            set_addresses(packet, frame, number, connection[0].data);
            let ts = Timestamp::from_nanos(start + tick * interval, 9);
            let _ = analyzer.push(&Frame { ts, data: packet, ..*frame }, &mut sink);
            count += 1;
        }
        if tick % 1_000 == 0 {
            most = most.max(analyzer.counters().flows.active);
        }
    }
    let nanos = begun.elapsed().as_nanos() / u128::from(count);
    let memory = (resident().unwrap_or(0) - before) >> 20;
    let flows = analyzer.counters().flows;
    let evicted = flows.evicted + flows.evicted_for_memory;
    assert_eq!((flows.opened, flows.midstream), (connections, 0));
    println!("{rate:13}  {connections:11}  {most:10}  {evicted:7}  {memory:5} MiB  {nanos:13}");
    assert!(events > 4 * connections, "{events} events");
}

/// Gives a packet the addresses and the port of a connection: `first` is a frame of the client.
fn set_addresses(packet: &mut [u8], frame: &Frame<'_>, number: u64, first: &[u8]) {
    let is_client = frame.data[SOURCE..DESTINATION] == first[SOURCE..DESTINATION];
    let (client, server, port) =
        if is_client { (SOURCE, DESTINATION, PORT) } else { (DESTINATION, SOURCE, PORT + 2) };
    let of = |network: u32, host: u64| (network << 24 | host as u32).to_be_bytes();
    packet[client..client + 4].copy_from_slice(&of(10, number % CLIENTS));
    packet[server..server + 4].copy_from_slice(&of(11, number / CLIENTS % SERVERS));
    let port_number = 10_000 + (number / (CLIENTS * SERVERS)) as u16;
    packet[port..port + 2].copy_from_slice(&port_number.to_be_bytes());
}
