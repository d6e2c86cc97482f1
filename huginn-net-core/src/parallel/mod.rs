//! The engine on several threads: one reads, some watch flows, and that of the caller hears of it all.
//!
//! The reader decodes and filters, as the sequential engine does, and puts each segment into the batch of the worker
//! to which the hash of its flow's key leads. Whenever one batch is full, all are handed on: that is a round. What the
//! workers tell of a round, each with the place of the segment that told it, is merged in order of those places: memory
//! and sink see the very sequence that the sequential engine gives them.
//!
//! Of what is all there, nothing is handed over: each worker decodes every frame, and takes the segments of its own flows.
//! Files they read in turn, into blocks that they share; frames in memory each reads for itself. A round is so many frames
//! then, or a block. The rest is the same.
//!
//! Before all that, the thread of the caller begins alone, and goes on so if several do not pay; not with what waits, or must
//! not be kept waiting.
//!
//! Every queue is bounded. Buffers go back to where they came from, so that nothing is allocated once all have grown to
//! their working size.

mod alone;
mod batch;
mod blocks;
mod merge;
mod reader;
mod reading_worker;
mod standing;
mod worker;

use std::hash::BuildHasher;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use foldhash::fast::RandomState;

use crate::analysis_error::ThreadFailure;
use crate::flows::{Flows, FlowsShare};
use crate::form::{Delivery, Form};
use crate::intake::Intake;
use crate::outlet::Outlet;
use crate::watch::Request;
use crate::{
    AnalysisError, CancelToken, Counters, Event, FlowKey, FlowLimits, Protocol, Report, Source, Timestamp,
};
use blocks::Blocks;
use merge::{Inbox, Merger};
use reader::Reader;
use reading_worker::{Course, ReadingWorker};
use standing::{Standing, Standings};
use worker::{Outbox, Worker};

/// Workers at most: so many bits has a [`Round`]'s set of them.
const MAX_WORKERS: usize = 128;

/// Batches that wait for a worker at most, and tidings of it that wait to be merged.
const QUEUE_LEN: usize = 8;

/// For how long batches wait for room where the source does not wait, until a worker has nothing to do again. Meanwhile
/// whoever captures keeps what comes in its buffer.
const PATIENCE: Duration = Duration::from_millis(200);

/// The longest buffer that a source is given to fill, in bytes.
const MAX_BUFFER_LEN: usize = 1 << 20;

/// For so many bytes of a batch a round has one frame where each worker decodes all: it need not be short, as what is told is
/// handed on in parts.
const BYTES_FOR_A_FRAME: usize = 16;

/// Frames of a round at most where each worker decodes all: an analysis is stopped between two rounds.
const MAX_ROUND_LEN: usize = 1 << 16;

/// What becomes of segments for which a worker has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The source waits until there is room: nothing is lost. For captures that have been made.
    #[default]
    Wait,
    /// They are dropped and [counted](crate::Counters::segments_dropped), a batch at a time, after some time that whoever
    /// captures may bridge with its buffer (0.2 s). For captures that do not wait. Of frames in memory and of files,
    /// which the workers read themselves, none is dropped.
    Drop,
}

/// How an analysis is spread over threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) workers: NonZeroUsize,
    pub(crate) batch_bytes: usize,
    pub(crate) overflow: Overflow,
    /// What a frame may take before there are workers.
    pub(crate) spread_above: Duration,
}

impl Spread {
    fn workers(&self) -> usize {
        self.workers.get().min(MAX_WORKERS)
    }

    /// How long a buffer should be of which each of so many workers watches a part, in bytes.
    fn buffer_len(&self, workers: usize) -> usize {
        self.batch_bytes.saturating_mul(workers).min(MAX_BUFFER_LEN)
    }

    /// Frames of a round where each worker decodes all.
    fn round_len(&self) -> usize {
        (self.batch_bytes / BYTES_FOR_A_FRAME).clamp(1, MAX_ROUND_LEN)
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

/// What whoever reads tells of a round when it has been read.
#[derive(Debug, Default)]
struct Round {
    workers: Workers,
    /// When the source took its first frame.
    taken_at: Option<Timestamp>,
    /// What was counted up to the flows so far.
    counters: Counters,
}

/// The workers that have a part in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Workers(u128);

impl Workers {
    fn add(&mut self, worker: usize) {
        self.0 |= bit(worker);
    }

    fn has(self, worker: usize) -> bool {
        self.0 & bit(worker) != 0
    }

    /// So many of them.
    fn first(count: usize) -> Self {
        let mut workers = Self::default();
        (0..count).for_each(|worker| workers.add(worker));
        workers
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }
}

fn bit(worker: usize) -> u128 {
    u32::try_from(worker).ok().and_then(|worker| 1_u128.checked_shl(worker)).unwrap_or(0)
}

/// Analyses a source to its end, to a sink that breaks or to cancellation. If it `may_wait`, or is all there, the thread of the
/// caller begins, and goes on where several do not pay.
pub(crate) fn run<P: Protocol, S: Source<Error: Send> + Send, F: Form<Event<Report<P>>>>(
    spread: Spread,
    mut parts: Parts<'_, P>,
    mut source: S,
    may_wait: bool,
    form: &F,
    delivery: &mut impl Delivery<F::Piece, F::Shelf>,
) -> Result<(), AnalysisError<S::Error>> {
    let mut watched = Flows::new(parts.flows.protocol().fork(), &parts.limits);
    let readers = Readers::of(&source, &parts);
    let shares = if may_wait || readers != Readers::One {
        alone::read(spread, readers, &mut parts, &mut watched, &mut source, form, delivery)
    } else {
        Ok(Some(Shares::new(spread.workers())))
    };
    match shares {
        Ok(Some(shares)) => {
            let count = shares.count();
            let watched = parts.flows.split(watched, &parts.limits.share(count), count, |key| shares.of(key));
            match readers {
                Readers::One => one_reads(spread, parts, source, watched, shares, form, delivery),
                Readers::InTurn => {
                    let blocks = Blocks::new(source, count, spread.buffer_len(count));
                    let sources = (0..count).map(|worker| blocks.frames(worker));
                    each_reads(spread, parts, sources.zip(watched).collect(), &shares, form, delivery)
                }
                Readers::Each => {
                    let sources = source.twins(count).into_iter();
                    each_reads(spread, parts, sources.zip(watched).collect(), &shares, form, delivery)
                }
            }
        }
        ended => {
            delivery.ended();
            watched.expire(parts.intake.clock.now());
            watched.clear();
            parts.flows.join(watched);
            ended.map(|_| ())
        }
    }
}

/// Who reads for several workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// A thread that hands segments to them.
    One,
    /// They do, each in turn, and decode all that was read.
    InTurn,
    /// They do, each for itself.
    Each,
}

impl Readers {
    fn of<P: Protocol, S: Source>(source: &S, parts: &Parts<'_, P>) -> Self {
        // Where each of them filtered, an expression could be another one for each: libpcap looks up the names in it.
        if parts.intake.has_expression() {
            Self::One
        } else if source.lends_from_buffer() {
            Self::InTurn
        } else if source.twins(1).is_empty() {
            Self::One
        } else {
            Self::Each
        }
    }
}

/// Has one thread read a source and hand segments to workers, which watch flows by these shares.
fn one_reads<P: Protocol, S: Source<Error: Send> + Send, F: Form<Event<Report<P>>>>(
    spread: Spread,
    parts: Parts<'_, P>,
    mut source: S,
    watched: Vec<FlowsShare<P>>,
    shares: Shares,
    form: &F,
    delivery: &mut impl Delivery<F::Piece, F::Shelf>,
) -> Result<(), AnalysisError<S::Error>> {
    let Parts { intake, flows, outlet, cancel, requests, .. } = parts;
    let Ways { outboxes, rounds, inbox } = ways(watched.len());
    let (reader, workers) = handing(spread, shares, outboxes, rounds);
    let standings = Standings::new(flows, intake.counters(), none_told(workers.len()));
    let (halt, ended_at) = (&Halt::new(cancel), &AtomicU64::new(0));
    // Whoever ends early drops its ends of the channels: then nobody waits for it, and all others end as well.
    std::thread::scope(|scope| {
        let workers: Vec<_> = workers
            .into_iter()
            .zip(watched)
            .map(|(worker, flows)| start(scope, "worker", move || worker.run(flows.begin(), form, ended_at)))
            .collect();
        let reader = start(scope, "reader", move || reader.run(&mut source, intake, halt, ended_at));
        let merged = Merger { outlet, form, delivery, halt, standings, requests }.run(inbox);
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

/// Has each worker decode all frames of a source, and watch flows by these shares.
fn each_reads<P: Protocol, S: Source<Error: Send> + Send, F: Form<Event<Report<P>>>>(
    spread: Spread,
    parts: Parts<'_, P>,
    workers: Vec<(S, FlowsShare<P>)>,
    shares: &Shares,
    form: &F,
    delivery: &mut impl Delivery<F::Piece, F::Shelf>,
) -> Result<(), AnalysisError<S::Error>> {
    let Parts { intake, flows, outlet, cancel, requests, .. } = parts;
    let Ways { outboxes, rounds, inbox } = ways(workers.len());
    let standings = Standings::new(flows, intake.counters(), none_told(workers.len()));
    let halt = &Halt::new(cancel);
    let course = &Course::new(halt);
    // What is counted before the flows, all count alike: what the first one does is kept.
    let mut others: Vec<_> = (1..workers.len()).map(|_| intake.fork()).collect();
    let intakes = std::iter::once(intake).chain(&mut others);
    std::thread::scope(|scope| {
        let mut rounds = Some(rounds);
        let workers: Vec<_> = workers
            .into_iter()
            .zip(intakes)
            .zip(outboxes)
            .enumerate()
            .map(|(place, (((source, flows), intake), outbox))| {
                let (shares, round_len) = (shares.clone(), spread.round_len());
                let worker = ReadingWorker { place, shares, round_len, outbox, rounds: rounds.take() };
                start(scope, "worker", move || worker.run(source, intake, flows.begin(), form, course))
            })
            .collect();
        let merged = Merger { outlet, form, delivery, halt, standings, requests }.run(inbox);
        let (mut watched, mut read) = (Ok(()), Ok(()));
        for worker in workers {
            watched = watched.and(join("worker", worker).map(|(worker, outcome)| {
                flows.join(worker);
                read = std::mem::replace(&mut read, Ok(())).and(outcome);
            }));
        }
        watched.and(merged).map_err(ThreadFailure::into_error).and(read.map_err(AnalysisError::Source))
    })
}

/// How so many workers stand that have told nothing.
fn none_told<C: Default>(workers: usize) -> Vec<Standing<C>> {
    std::iter::repeat_with(Standing::default).take(workers).collect()
}

/// Whether threads are to stop before the source ends.
struct Halt<'a> {
    cancel: &'a CancelToken,
    stop: AtomicBool,
}

impl<'a> Halt<'a> {
    fn new(cancel: &'a CancelToken) -> Self {
        Self { cancel, stop: AtomicBool::new(false) }
    }

    /// Has them stop.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn is_due(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.is_cancelled()
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
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

/// Which worker watches a flow, by the hash of its key.
#[derive(Clone, Debug)]
struct Shares {
    hasher: RandomState,
    count: usize,
}

impl Shares {
    fn new(count: usize) -> Self {
        Self { hasher: RandomState::default(), count }
    }

    fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the result is less than the count")]
    fn of(&self, key: &FlowKey) -> usize {
        if self.count == 1 {
            return 0;
        }
        ((u128::from(self.hasher.hash_one(key))).wrapping_mul(self.count as u128) >> 64) as usize
    }
}

/// The ways from workers to the thread of the caller.
struct Ways<P: Protocol, F: Form<Event<Report<P>>>> {
    outboxes: Vec<Outbox<P, F>>,
    rounds: Sender<Round>,
    inbox: Inbox<P, F>,
}

/// What of one kind can be under way, so that nobody waits to give it back.
const UNDER_WAY: usize = QUEUE_LEN * 2 + 2;

fn ways<P: Protocol, F: Form<Event<Report<P>>>>(workers: usize) -> Ways<P, F> {
    // One more, with what was counted.
    let (rounds, told_rounds) = bounded(workers.saturating_mul(UNDER_WAY).saturating_add(1));
    let (outboxes, lanes) = (0..workers)
        .map(|_| {
            let (tidings, told_tidings) = bounded(QUEUE_LEN);
            let (spent_tidings, spare_tidings) = bounded(UNDER_WAY);
            let outbox = Outbox { tidings, spent_tidings: spare_tidings };
            (outbox, merge::Lane { tidings: told_tidings, spent_tidings })
        })
        .unzip();
    Ways { outboxes, rounds, inbox: Inbox { rounds: told_rounds, lanes } }
}

/// A reader and the workers that it hands segments to, before they start.
fn handing<P: Protocol, F: Form<Event<Report<P>>>>(
    spread: Spread,
    shares: Shares,
    outboxes: Vec<Outbox<P, F>>,
    rounds: Sender<Round>,
) -> (Reader, Vec<Worker<P, F>>) {
    let count = outboxes.len();
    let (spent_batches, spare_batches) = bounded(count.saturating_mul(UNDER_WAY));
    let mut reader = Reader::new(spread, shares, spare_batches, rounds);
    let workers = outboxes
        .into_iter()
        .map(|outbox| {
            let (queue, batches) = bounded(QUEUE_LEN);
            reader.add_lane(queue);
            Worker { batches, spent_batches: spent_batches.clone(), outbox }
        })
        .collect();
    (reader, workers)
}
