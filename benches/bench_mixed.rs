//! Benches of the facade: all protocols over one decode and one flow table, with the shared state of hosts, on captures of
//! this project in memory.
//!
//! `cargo bench -p huginn-net-benches --bench mixed`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
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

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;

use huginn_net::core::Builder;
use huginn_net::hosts::Hosts;
use huginn_net::record::JsonEvent;
use huginn_net::{Configure, Database, Event, HuginnNet, Observers};

use packets::{ALL_PROTOCOLS, AT_LEAST, PAGES, Packets, Repeat};
use table::{Bench, Forget, LazyPackets, lazy};

fn main() {
    let mut bench = Bench::new("mixed");
    live_flows::measure(&mut bench, HuginnNet::builder);
    for repeat in Repeat::BOTH {
        let packets = lazy(move || Packets::from_captures(&ALL_PROTOCOLS, repeat, AT_LEAST, |_| true));
        analyse(&mut bench, repeat, &packets);
    }
    pages(&mut bench);
    bench.finish();
}

fn analyse(bench: &mut Bench, repeat: Repeat, packets: &LazyPackets) {
    let none = || Observers::default().tcp(false).http(false).tls(false);
    let all = HuginnNet::builder;
    let of = |what| format!("{repeat}: {what}");
    let event = |event: Event| event;
    bench.analysis(&of("only TCP, matched"), packets, || with(none().tcp(true)), event);
    bench.analysis(&of("only HTTP, matched"), packets, || with(none().http(true)), event);
    bench.analysis(&of("only TLS"), packets, || with(none().tls(true)), event);
    let empty = Arc::new(Database::default());
    let unmatched = || with(Observers::new(Arc::clone(&empty)));
    bench.analysis(&of("all, nothing matched"), packets, unmatched, event);
    bench.analysis(&of("full analysis"), packets, all, event);
    bench.complete_analysis(&of("full analysis, events dropped, start to end"), packets, all, drop);
    bench.complete_analysis(&of("full analysis, start to end"), packets, all, event);
    let profiled = || with(Observers::default().profiles(true));
    bench.analysis(&of("full analysis, profiles of hosts"), packets, profiled, event);
    bench.analysis(&of("full analysis, as JSON"), packets, all, json);
    bench.complete_analysis(&of("full analysis, as JSON, start to end"), packets, all, json);
    if repeat == Repeat::NewFlows {
        bench.block_sweep(&of("full analysis, as JSON, start to end"), packets, all, json);
    }
}

/// Typical pages, where most packets carry part of a body.
fn pages(bench: &mut Bench) {
    let packets = lazy(|| Packets::from_captures(&PAGES, Repeat::NewFlows, AT_LEAST, |_| true));
    let all = HuginnNet::builder;
    let of = |what| format!("pages, new flows: {what}");
    bench.analysis(&of("full analysis"), &packets, all, |event| event);
    bench.complete_analysis(&of("full analysis, events dropped, start to end"), &packets, all, drop);
    bench.complete_analysis(&of("full analysis, start to end"), &packets, all, |event| event);
    bench.analysis(&of("full analysis, as JSON"), &packets, all, json);
    bench.complete_analysis(&of("full analysis, as JSON, start to end"), &packets, all, json);
}

impl Forget for Hosts {
    fn forget(&mut self) {
        self.clear();
    }
}

fn with(observers: Observers) -> Builder<Observers> {
    HuginnNet::builder_with(observers)
}

thread_local! {
    /// Output buffer, which each line overwrites.
    static LINE: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(8 << 10));
}

/// Renders an event with its fingerprints as a line of JSON. Returns the length of the line.
fn json(event: Event) -> usize {
    LINE.with_borrow_mut(|line| {
        line.clear();
        JsonEvent::new(&event).write_to(line);
        black_box(&line).len()
    })
}
