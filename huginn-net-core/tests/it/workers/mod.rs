//! Parallel analysis: equal events in equal order for any number of workers, termination, and errors.

mod ends;
mod order;
mod overflow;
mod snapshots;
mod sources;
mod traffic;

use std::fmt::Debug;
use std::num::NonZeroUsize;

use huginn_net_core::{Analyzer, Builder, Counters, Event, Source};

use traffic::Everything;

fn builder(workers: usize, block_bytes: usize) -> Builder<Everything> {
    Analyzer::builder().workers(NonZeroUsize::new(workers).unwrap()).block_bytes(block_bytes)
}

/// Events, counters, and segments that the protocol counted.
type Outcome = (Vec<Event<String>>, Counters, u64);

fn analyze(builder: Builder<Everything>, source: impl Source<Error: Debug + Send> + Send) -> Outcome {
    let mut analyzer = builder.build();
    let mut events = Vec::new();
    let counters = analyzer.analyze(source, &mut events).unwrap();
    assert_eq!(counters, analyzer.counters());
    (events, counters, analyzer.protocol().segments)
}
