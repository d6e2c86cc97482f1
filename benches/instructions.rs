//! Analyses packets in memory once for each row of `budget.txt`, for `budget.sh`, which counts instructions in callgrind.
//! Prints the number of packets and the name of each row.
//!
//! `cargo run --release -p huginn-net-benches --features tools --example instructions`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool of the benches may panic"
)]

#[path = "hello_packets.rs"]
mod hello_packets;
#[path = "hellos.rs"]
mod hellos;
#[path = "memory_frames.rs"]
mod memory_frames;
#[path = "packets.rs"]
mod packets;

use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;

use huginn_net::hosts::Hosts;
use huginn_net::{Database, HuginnNet, Observation};
use huginn_net_core::{Builder, Event, Protocol, Report};
use huginn_net_http::{HttpEvent, HttpSignature, HuginnNetHttp};
use huginn_net_tcp::{HuginnNetTcp, TcpEvent};
use huginn_net_tls::{HuginnNetTls, TlsEvent};

use memory_frames::MemoryFrames;
use packets::{ALL_PROTOCOLS, HANDSHAKES, PAGES, Packets, Repeat, SHORT, capture_path};

/// Minimum length of a pass, in bytes. Instructions do not depend on caches, so that more would only take time.
const AT_LEAST: usize = 8 << 20;

fn main() {
    let database = Database::builtin();
    let tcp = |event: Event<TcpEvent>| match event.kind {
        TcpEvent::Syn(signature) => _ = black_box(database.match_syn(&signature)),
        TcpEvent::SynAck(signature) => _ = black_box(database.match_syn_ack(&signature)),
        TcpEvent::Mtu(mtu) => _ = black_box(database.match_mtu(mtu)),
        _ => {}
    };
    let http = |event: Event<HttpEvent>| match event.kind {
        HttpEvent::Request(found) => {
            black_box(database.match_request(&HttpSignature::from_request(&found.request)));
        }
        HttpEvent::Response(found) => {
            black_box(database.match_response(&HttpSignature::from_response(&found.response)));
        }
        _ => {}
    };
    let mut text = String::with_capacity(8 << 10);
    let mut tls = |event: Event<TlsEvent>| {
        if let TlsEvent::Client(client) = event.kind {
            text.clear();
            let (raw, ja3) = (client.hello.ja4_r(), client.hello.ja3());
            write!(text, "{} {raw} {ja3} {}", raw.ja4(), ja3.hash()).unwrap();
            black_box(&text);
        }
    };
    row("TCP, pages", &of(&PAGES), HuginnNetTcp::builder(), |()| {}, tcp);
    row("TCP, short connections", &of(&SHORT), HuginnNetTcp::builder(), |()| {}, tcp);
    row("HTTP, pages", &of(&PAGES), HuginnNetHttp::builder(), |()| {}, http);
    row("TLS, whole handshakes", &of(&HANDSHAKES), HuginnNetTls::builder(), |()| {}, &mut tls);
    let hellos = hello_packets::each_in_one_packet(
        &hellos::from_captures(&HANDSHAKES.map(|name| capture_path(Path::new(name)))),
        AT_LEAST,
    );
    row("TLS, a ClientHello in every packet", &hellos, HuginnNetTls::builder(), |()| {}, &mut tls);
    let all = |event| _ = black_box::<Event<Observation>>(event);
    row("all protocols, pages", &of(&PAGES), HuginnNet::builder(), Hosts::clear, all);
    row("all protocols, short connections", &of(&ALL_PROTOCOLS), HuginnNet::builder(), Hosts::clear, all);
}

/// Returns the packets of captures.
fn of(captures: &[&str]) -> Packets {
    Packets::from_captures(captures, Repeat::NewFlows, AT_LEAST, |_| true)
}

/// Analyses packets twice with one analyzer. The first pass allocates memory and fills caches; only the
/// second one is counted. `forget` clears the shared state between them.
fn row<P: Protocol>(
    name: &str,
    packets: &Packets,
    builder: Builder<P>,
    forget: impl FnOnce(&mut P::SharedState),
    mut on_event: impl FnMut(Event<Report<P>>),
) {
    let frames: Vec<_> = packets.frames().collect();
    let mut analyzer = builder.build();
    analyzer.analyze(MemoryFrames::new(&frames), &mut on_event).unwrap();
    forget(analyzer.shared_state_mut());
    counted(|| _ = analyzer.analyze(MemoryFrames::new(&frames), &mut on_event));
    println!("{} {name}", frames.len());
}

/// The function whose instructions callgrind counts.
#[inline(never)]
fn counted(pass: impl FnOnce()) {
    pass();
}
