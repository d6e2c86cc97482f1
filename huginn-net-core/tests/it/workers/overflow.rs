//! Workers that are slower than the source.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use huginn_net_core::{Event, Overflow};

use super::builder;
use super::sources::{Overwriting, Waiting};
use super::traffic::syns;

#[test]
fn slow_worker_drops_blocks_and_counts_them() {
    let packets = syns(120);
    let slow_worker = OnceLock::new();
    let slow = |event: Event<String>| {
        let thread = thread::current().id();
        if event.kind.contains("Segment") && *slow_worker.get_or_init(|| thread) == thread {
            thread::sleep(Duration::from_millis(50));
        }
        event
    };
    let mut analyzer = builder(2, 1).overflow(Overflow::Drop).build();
    let mut events: Vec<Event<String>> = Vec::new();
    let counters = analyzer.analyze_map(Overwriting::new(&packets), slow, &mut events).unwrap();
    assert!(counters.segments_dropped > 0, "{counters:?}");
    assert_eq!((counters.frames, counters.decode.tcp), (120, 120));
    assert_eq!(counters.events, 2 * (120 - counters.segments_dropped));
    assert_eq!(analyzer.protocol().segments, 120 - counters.segments_dropped);
    assert!(events.is_sorted_by_key(|event| event.ts.as_nanos()));

    // A second analysis adds to the counters.
    let snapshots = analyzer.snapshot_handle();
    let mut seen = None;
    let source =
        Waiting::new(syns(1), |_| seen = snapshots.query(|snapshot| snapshot.counters().segments_dropped));
    analyzer.analyze(source, &mut |_: Event<String>| {}).unwrap();
    assert_eq!(seen, Some(counters.segments_dropped));
}

#[test]
fn waiting_source_loses_nothing() {
    let packets = syns(200);
    let mut events = 0;
    let counters = builder(2, 1).build().analyze(Overwriting::new(&packets), &mut |_: Event<String>| {
        thread::sleep(Duration::from_micros(100));
        events += 1;
    });
    assert_eq!((events, counters.unwrap().segments_dropped), (400, 0));
}
