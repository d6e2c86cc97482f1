//! Workers that are slower than the source.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use huginn_net_core::{Analyzer, Event, FirstFrames, HashSeed, NextFrame, Overflow, Source};

use super::builder;
use super::sources::{Overwriting, Waiting};
use super::traffic::{Everything, syns};

/// Delays the events of one worker, so that the ring is full for longer than 200 ms.
fn slow_worker() -> impl Fn(Event<String>) -> Event<String> + Sync {
    let slow_worker = OnceLock::new();
    move |event: Event<String>| {
        let thread = thread::current().id();
        if event.kind.contains("Segment") && *slow_worker.get_or_init(|| thread) == thread {
            thread::sleep(Duration::from_millis(50));
        }
        event
    }
}

#[test]
fn slow_worker_drops_blocks_and_counts_them() {
    let packets = syns(120);
    let slow = slow_worker();
    let mut analyzer = builder(2, 1).overflow(Overflow::Drop).build();
    let mut events: Vec<Event<String>> = Vec::new();
    let counters =
        analyzer.analyze_map(Overwriting::new(&packets), slow, |value| events.push(value)).unwrap();
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

/// A source that says that it is live.
pub(crate) struct Live<S>(pub(crate) S);

impl<'f, S: Source<'f>> Source<'f> for Live<S> {
    type Error = S::Error;

    fn is_live(&self) -> bool {
        true
    }

    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        self.0.next_frame()
    }
}

#[test]
fn live_source_drops_by_default_and_file_does_not() {
    let packets = syns(60);
    let segments_dropped = |mut analyzer: Analyzer<Everything>, live: bool| {
        let slow = slow_worker();
        let source = Overwriting::new(&packets);
        let mut sink = |_: Event<String>| {};
        let counters = if live {
            analyzer.analyze_map(FirstFrames::new(Live(source), 60), slow, &mut sink)
        } else {
            analyzer.analyze_map(FirstFrames::new(source, 60), slow, &mut sink)
        };
        counters.unwrap().segments_dropped
    };
    assert_eq!(segments_dropped(builder(2, 1).build(), false), 0);
    assert!(segments_dropped(builder(2, 1).build(), true) > 0);
    assert_eq!(segments_dropped(builder(2, 1).overflow(Overflow::Wait).build(), true), 0);
}

#[test]
fn seed_is_fixed_for_files_only() {
    let packets = syns(3);
    for workers in [1, 2] {
        let mut seeds = Vec::new();
        for _ in 0..2 {
            let mut analyzer = builder(workers, 1).build();
            let sink = |_: Event<String>| {};
            analyzer.analyze(Overwriting::new(&packets), sink).unwrap();
            let file = analyzer.hash_seed();
            analyzer.analyze(Live(Overwriting::new(&packets)), sink).unwrap();
            let live = analyzer.hash_seed();
            analyzer.analyze(Overwriting::new(&packets), sink).unwrap();
            assert_eq!(analyzer.hash_seed(), file);
            assert!(analyzer.push(&packets[0].frame(), sink).is_continue());
            assert_eq!(analyzer.hash_seed(), live);
            seeds.push((file, live));
        }
        assert_eq!(seeds[0].0, seeds[1].0);
        assert_ne!(seeds[0].1, seeds[1].1);
    }
    let mut analyzer = builder(1, 1).hash_seed(HashSeed::Fixed(7)).build();
    assert!(analyzer.push(&packets[0].frame(), &mut |_: Event<String>| {}).is_continue());
    assert_eq!(analyzer.hash_seed(), 7);
}
