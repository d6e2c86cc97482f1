//! The engine on several threads: one reads, some watch flows, and that of the caller hears of it all.
//!
//! The reader decodes and filters, as the sequential engine does, and puts each segment into the batch of the worker
//! to which the hash of its flow's key leads. Whenever one batch is full, all are handed on: that is a round. What the
//! workers tell of a round, each with the place of the segment that told it, is merged in order of those places: memory
//! and sink see the very sequence that the sequential engine gives them.
//!
//! Every queue is bounded. Buffers go back to where they came from, so that nothing is allocated once all have grown to
//! their working size.

mod batch;
mod merge;
mod reader;
mod standing;
mod worker;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};

use crate::analysis_error::ThreadFailure;
use crate::flows::Flows;
use crate::form::{Delivery, Form};
use crate::intake::Intake;
use crate::outlet::Outlet;
use crate::watch::Request;
use crate::{AnalysisError, CancelToken, Counters, Event, FlowLimits, Protocol, Report, Source, Timestamp};
use merge::Merger;
use reader::Reader;
use standing::Standings;
use worker::Worker;

/// Workers at most: so many bits has a [`Round`]'s set of them.
const MAX_WORKERS: usize = 128;

/// Batches that wait for a worker at most, and rounds whose tidings wait to be merged.
const QUEUE_LEN: usize = 8;

/// For how long batches wait for room where the source does not wait, until a worker has nothing to do again. Meanwhile
/// whoever captures keeps what comes in its buffer.
const PATIENCE: Duration = Duration::from_millis(200);

/// The longest buffer that a source is asked to fill at once, in bytes.
const MAX_BUFFER_LEN: usize = 1 << 20;

/// What becomes of segments for which a worker has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The source waits until there is room: nothing is lost. For captures that have been made.
    #[default]
    Wait,
    /// They are dropped and [counted](crate::Counters::segments_dropped), a batch at a time, after some time that whoever
    /// captures may bridge with its buffer (0.2 s). For captures that do not wait.
    Drop,
}

/// How an analysis is spread over threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) workers: NonZeroUsize,
    pub(crate) batch_bytes: usize,
    pub(crate) overflow: Overflow,
}

impl Spread {
    /// How long a buffer should be of which each worker gets a part, in bytes.
    fn buffer_len(&self) -> usize {
        self.batch_bytes.saturating_mul(self.workers.get()).min(MAX_BUFFER_LEN)
    }
}

/// The parts of an analyzer that a parallel analysis works with.
pub(crate) struct Parts<'a, P: Protocol> {
    pub(crate) intake: &'a mut Intake,
    pub(crate) flows: &'a mut Flows<P>,
    pub(crate) limits: FlowLimits,
    pub(crate) outlet: &'a mut Outlet<P::Memory>,
    pub(crate) cancel: &'a CancelToken,
    pub(crate) requests: &'a Receiver<Request<P>>,
}

/// What the reader tells of a round when it has handed it on.
#[derive(Debug, Default)]
struct Round {
    workers: Workers,
    /// When the source took its first frame.
    taken_at: Option<Timestamp>,
    /// What the reader has counted so far.
    counters: Counters,
}

/// The workers that have a batch of a round.
#[derive(Clone, Copy, Debug, Default)]
struct Workers(u128);

impl Workers {
    fn add(&mut self, worker: usize) {
        self.0 |= bit(worker);
    }

    fn has(self, worker: usize) -> bool {
        self.0 & bit(worker) != 0
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }
}

fn bit(worker: usize) -> u128 {
    u32::try_from(worker).ok().and_then(|worker| 1_u128.checked_shl(worker)).unwrap_or(0)
}

/// Analyses a source to its end, to a sink that breaks or to cancellation.
pub(crate) fn run<'s, P: Protocol, S: Source<Error: Send> + Send + 's, F: Form<Event<Report<P>>>>(
    spread: Spread,
    parts: Parts<'_, P>,
    mut source: S,
    form: &F,
    delivery: &mut impl Delivery<F::Piece, F::Shelf>,
) -> Result<(), AnalysisError<S::Error>> {
    let Parts { intake, flows, limits, outlet, cancel, requests } = parts;
    let Threads { reader, workers, merger } = threads::<'s, P, F>(spread, flows.protocol().reads_payloads());
    let standings = Standings::new(flows, intake.counters(), workers.len());
    let limits = limits.share(workers.len());
    let (stop, ended_at) = (&AtomicBool::new(false), &AtomicU64::new(0));
    // Whoever ends early drops its ends of the channels: then nobody waits for it, and all others end as well.
    std::thread::scope(|scope| {
        let workers: Vec<_> = workers
            .into_iter()
            .map(|worker| {
                let flows = Flows::new(flows.protocol().fork(), &limits);
                start(scope, "worker", move || worker.run(flows, form, ended_at))
            })
            .collect();
        let reader = start(scope, "reader", move || reader.run(&mut source, intake, cancel, stop, ended_at));
        let merged = {
            let _stop = StopOnDrop(stop);
            let merged = merger.run(outlet, form, delivery, cancel, standings, requests);
            delivery.ended();
            merged
        };
        let read = match join("reader", reader) {
            Ok(read) => read.map_err(AnalysisError::Source),
            Err(failure) => Err(failure.into_error()),
        };
        let mut watched = Ok(());
        for worker in workers {
            watched = watched.and(join("worker", worker).map(|worker| flows.join(worker)));
        }
        watched.and(merged).map_err(ThreadFailure::into_error).and(read)
    })
}

/// Tells the reader to stop, even where the sink panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A thread, or why there is none.
type Thread<'scope, R> = Result<ScopedJoinHandle<'scope, R>, ThreadFailure>;

fn start<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    run: impl FnOnce() -> R + Send + 'scope,
) -> Thread<'scope, R> {
    let thread = Builder::new().name(format!("huginn-{name}")).spawn_scoped(scope, run);
    thread.map_err(|error| ThreadFailure { name, message: error.to_string() })
}

fn join<R>(name: &'static str, thread: Thread<'_, R>) -> Result<R, ThreadFailure> {
    thread?.join().map_err(|payload| ThreadFailure::panicked(name, &*payload))
}

/// The threads, joined by channels, before they start.
struct Threads<'s, P: Protocol, F: Form<Event<Report<P>>>> {
    reader: Reader<'s>,
    workers: Vec<Worker<'s, P, F>>,
    merger: Merger<P, F>,
}

fn threads<'s, P: Protocol, F: Form<Event<Report<P>>>>(
    spread: Spread,
    reads_payloads: bool,
) -> Threads<'s, P, F> {
    let count = spread.workers.get().min(MAX_WORKERS);
    // Room for all that can be under way, so that nobody waits to give a buffer back.
    let under_way = QUEUE_LEN.saturating_mul(2).saturating_add(2);
    let (spent_batches, spare_batches) = bounded(count.saturating_mul(under_way));
    let (spent_buffers, spare_buffers) = bounded(under_way);
    // One more, with what was counted.
    let (rounds, told_rounds) = bounded(count.saturating_mul(under_way).saturating_add(1));
    let mut threads = Threads {
        reader: Reader::new(spread, reads_payloads, spare_batches, spare_buffers, rounds),
        workers: Vec::with_capacity(count),
        merger: Merger { rounds: told_rounds, lanes: Vec::with_capacity(count) },
    };
    for _ in 0..count {
        let (queue, batches) = bounded(QUEUE_LEN);
        let (tidings, told_tidings) = bounded(QUEUE_LEN);
        let (spent_tidings, spare_tidings) = bounded(under_way);
        threads.reader.add_lane(queue);
        let (spent_batches, spent_buffers) = (spent_batches.clone(), spent_buffers.clone());
        threads.workers.push(Worker {
            batches,
            spent_batches,
            spent_buffers,
            tidings,
            spent_tidings: spare_tidings,
        });
        threads.merger.lanes.push(merge::Lane { tidings: told_tidings, spent_tidings });
    }
    threads
}
