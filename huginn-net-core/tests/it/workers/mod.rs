//! Parallel analysis: equal events in equal order for any number of workers, termination, and errors.

mod ends;
mod order;
mod overflow;
mod queues;
mod runs;
mod snapshots;
mod sources;
mod traffic;

use std::fmt::Debug;

use huginn_net_core::{Analyzer, Builder, Counters, Event, Source};

use traffic::Everything;

/// Counters with examples.
const EXAMPLES: [&str; 10] = [
    "bad_ip_checksum",
    "truncated_payload",
    "bad_header",
    "other_transport",
    "unknown_ethertype",
    "evicted",
    "midstream",
    "segments_without_flow",
    "time_steps_back",
    "time_steps_ahead",
];

fn builder(workers: usize, block_bytes: usize) -> Builder<Everything> {
    // As on a machine with a processor for each worker.
    Analyzer::builder().workers(workers).processors(workers).block_bytes(block_bytes)
}

/// Events, counters, their examples and the time of the frames, and segments that the protocol counted.
type Outcome = (Vec<Event<String>>, Counters, String, u64);

fn analyze<'f>(builder: Builder<Everything>, source: impl Source<'f, Error: Debug + Send> + Send) -> Outcome {
    let mut analyzer = builder.build();
    let mut events = Vec::new();
    let counters = analyzer.analyze(source, |event| events.push(event)).unwrap();
    assert_eq!(counters, analyzer.counters());
    let examples = analyzer.examples();
    let examples = EXAMPLES.map(|counter| examples.get(counter));
    (events, counters, format!("{examples:?} {:?}", analyzer.span()), analyzer.protocol().segments)
}
