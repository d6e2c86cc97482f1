//! The engine: from the frames of a source to the events of a sink.

mod analysis_error;
mod analyzer;
mod cancel_token;
mod counter_snapshot;
mod counters;
mod delivery;
mod division;
mod event_queue;
mod hash_seed;
mod index;
mod ingest;
mod merge;
mod merge_queues;
mod output_channel;
mod parallel;
mod queues;
mod render;
mod ring;
mod router;
mod run;
mod sequential;
mod snapshot;
mod text_sink;
mod worker;

pub use analysis_error::AnalysisError;
pub use analyzer::{Analyzer, Builder};
pub use cancel_token::CancelToken;
pub use counters::Counters;
pub use hash_seed::HashSeed;
pub use ring::Overflow;
pub use run::{Run, RunEnd, RunOutcome, RunStopper};
pub use snapshot::{RunCounters, Snapshot, SnapshotHandle};
pub use text_sink::TextSink;
