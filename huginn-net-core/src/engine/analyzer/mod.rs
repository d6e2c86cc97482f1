//! The analyzer.

mod builder;

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::thread;

pub use self::builder::Builder;
use super::counter_snapshot::Dropped;
use super::division::Division;
use super::hash_seed::Seeds;
use super::ingest::Ingest;
use super::parallel::{self, Parts};
use super::queues;
use super::render::{ByValue, Keep, Map, Output, Render, Text, ToFunction, ToReference, ToTextSink};
use super::ring::{Overflow, RingConfig};
use super::router::EventRouter;
use super::sequential::{self, Outcome, Reporter, SequentialPath};
use super::snapshot::Requests;
use super::{AnalysisError, CancelToken, Counters, RunCounters, SnapshotHandle, TextSink};
use crate::flow::FlowTable;
use crate::limits::{BLOCK_BYTES_PER_WORKER, MAX_BLOCK_BYTES, MIN_READING_WORKERS};
use crate::{Event, Examples, Frame, Protocol, Report, SinkResult, Source, Timestamp};

/// Runs a [`Protocol`] over frames: decoder, filter, flow table, protocol, shared state, sink.
///
/// The analyzer does no I/O and reads no clock: time is packet time. It starts threads only for several
/// [workers](Builder::workers), which have ended when [`analyze`](Self::analyze) returns.
pub struct Analyzer<P: Protocol> {
    ingest: Ingest,
    flows: FlowTable<P>,
    router: EventRouter<P::SharedState>,
    workers: NonZeroUsize,
    processors: Option<NonZeroUsize>,
    block_bytes: Option<usize>,
    overflow: Option<Overflow>,
    seeds: Seeds,
    dropped: Dropped,
    cancel: CancelToken,
    snapshots: SnapshotHandle<P>,
    /// Whether frames were pushed since the last end of a capture.
    has_pushed: bool,
}

impl<P: Protocol + Default> Analyzer<P> {
    /// Returns a builder with the protocol's default settings.
    pub fn builder() -> Builder<P> {
        Self::builder_with(P::default())
    }
}

impl<P: Protocol> Analyzer<P> {
    /// Returns a builder with this protocol.
    pub fn builder_with(protocol: P) -> Builder<P> {
        Builder::new(protocol)
    }

    /// Analyses one frame in the caller's thread and passes its events to `each`.
    ///
    /// Breaks when `each` does, by what it [returns](SinkResult); the frame is then only partly analysed. The seed that divides the flows is random, unless
    /// [`Builder::hash_seed`] sets one.
    pub fn push<R: SinkResult>(
        &mut self,
        frame: &Frame<'_>,
        each: impl FnMut(Event<Report<P>>) -> R,
    ) -> ControlFlow<()> {
        let Self { ingest, flows, router, seeds, has_pushed, .. } = self;
        *has_pushed = true;
        if flows.hash_seed() != seeds.live {
            // An analysis of a source, which is over, used the other one.
            flows.set_hash_seed(seeds.live);
        }
        let reporter = Reporter { router, render: &ByValue, arena: &mut (), output: &mut ToFunction(each) };
        ingest.on_frame(frame, 1, &mut SequentialPath { flows, reporter })
    }

    /// Ends the capture: removes flows and fragments, so that the analyzer is ready for another capture. `each` gets the
    /// last events of the flows. Keeps counters and [shared state](Self::shared_state).
    pub fn finish<R: SinkResult>(&mut self, each: impl FnMut(Event<Report<P>>) -> R) {
        let Self { ingest, flows, router, .. } = self;
        ingest.decoding.decoder.finish();
        let reporter = Reporter { router, render: &ByValue, arena: &mut (), output: &mut ToFunction(each) };
        SequentialPath { flows, reporter }.end(ingest.clock.now());
        ingest.start_capture();
        self.has_pushed = false;
    }

    /// Analyses a source and passes its events to `each`, the sink: to the end of the source, until the sink breaks by what it
    /// [returns](SinkResult), or until [`CancelToken::cancel`]; then [finishes](Self::finish).
    ///
    /// With one [worker](Builder::workers) frames are analysed in the thread of the caller where the source lends them, and so are the
    /// first frames with several, which give the sink the same events in the same order. Several workers drop blocks of a
    /// [live](Source::is_live) source if they cannot keep up. Flows of earlier [`push`](Self::push) calls end first.
    ///
    /// # Errors
    /// The error of the source, or a panic of a worker's thread. The events before it were reported and
    /// [counted](Self::counters).
    pub fn analyze<'f, S: Source<'f, Error: Send> + Send, R: SinkResult>(
        &mut self,
        source: S,
        each: impl FnMut(Event<Report<P>>) -> R,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &ByValue, &mut ToFunction(each))
    }

    /// [Analyses](Self::analyze) a source and passes a reference to each event to `each`.
    ///
    /// With several workers, the worker that found an event frees it, too. [`analyze`](Self::analyze) passes events by value, so that the
    /// caller's thread frees what workers allocated, which slows down both. [`analyze_map`](Self::analyze_map) is quicker than either where
    /// its values own no memory: the worker drops each event at once.
    ///
    /// # Errors
    /// Those of [`analyze`](Self::analyze).
    pub fn analyze_ref<'f, S: Source<'f, Error: Send> + Send, R: SinkResult>(
        &mut self,
        source: S,
        each: impl FnMut(&Event<Report<P>>) -> R,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &Keep, &mut ToReference(each))
    }

    /// [Analyses](Self::analyze) a source and passes `map`'s result for each event to `each`.
    ///
    /// With several workers `map` runs in the worker that found the event, so that slow work is shared, and in the
    /// caller's thread for conclusions of the shared state.
    ///
    /// # Errors
    /// Those of [`analyze`](Self::analyze). A panic of `map` is one of them in a worker's thread.
    pub fn analyze_map<'f, S: Source<'f, Error: Send> + Send, T: Send, R: SinkResult>(
        &mut self,
        source: S,
        map: impl Fn(Event<Report<P>>) -> T + Sync,
        each: impl FnMut(T) -> R,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &Map(map), &mut ToFunction(each))
    }

    /// [Analyses](Self::analyze) a source and passes the text that `write` appends for each event to the sink.
    ///
    /// `write` runs where [`analyze_map`](Self::analyze_map) runs `map`. Texts of many events share one buffer, which
    /// costs less than a `String` each.
    ///
    /// # Errors
    /// Those of [`analyze_map`](Self::analyze_map).
    pub fn analyze_text<'f, S: Source<'f, Error: Send> + Send>(
        &mut self,
        source: S,
        write: impl Fn(&Event<Report<P>>, &mut Vec<u8>) + Sync,
        sink: &mut (impl TextSink + ?Sized),
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &Text(write), &mut ToTextSink(sink))
    }

    /// [Analyses](Self::analyze) several sources at once, each in a worker of its own, until all have ended: queues of a network
    /// interface, for instance. All frames of a flow must be in one source.
    ///
    /// A single source is [analysed](Self::analyze) by the [workers](Builder::workers) of the analyzer.
    ///
    /// No frame crosses threads. Each worker has an equal part of the [flow limits](Builder::flow_limits), and its own packet time. Packet
    /// numbers are [unique](Event::packet_number) among all sources. The sink gets the events of all workers in the order of capture times: events wait until idle sources
    /// [state](Source::complete_until) that no earlier frame follows. A [live](Source::is_live) source that would drop frames does not wait,
    /// so that its events may be early, and no event waits for more than a second of capture time. The events of one flow always are in
    /// order. [`Builder::overflow`] and [`Builder::block_bytes`] do not apply. A sink that stops and an error end each source at its next
    /// frame or `Idle`.
    ///
    /// # Errors
    /// The error of a source, which ends the others too, or a panic of a worker. The events before it were reported and
    /// [counted](Self::counters).
    pub fn analyze_queues<'f, S: Source<'f, Error: Send> + Send, R: SinkResult>(
        &mut self,
        sources: Vec<S>,
        each: impl FnMut(Event<Report<P>>) -> R,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run_queues(sources, &ByValue, &mut ToFunction(each))
    }

    /// [Analyses several sources](Self::analyze_queues) and passes the text that `write` appends for each event to the sink, as
    /// [`analyze_text`](Self::analyze_text) does.
    ///
    /// # Errors
    /// Those of [`analyze_queues`](Self::analyze_queues). A panic of `write` is one of them.
    pub fn analyze_queues_text<'f, S: Source<'f, Error: Send> + Send>(
        &mut self,
        sources: Vec<S>,
        write: impl Fn(&Event<Report<P>>, &mut Vec<u8>) + Sync,
        sink: &mut (impl TextSink + ?Sized),
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run_queues(sources, &Text(write), &mut ToTextSink(sink))
    }

    fn run_queues<'f, S: Source<'f, Error: Send> + Send, R: Render<Event<Report<P>>>>(
        &mut self,
        sources: Vec<S>,
        render: &R,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        let sources = match <[S; 1]>::try_from(sources) {
            Ok([source]) => return self.run(source, render, output),
            Err(sources) => sources,
        };
        self.start_source(sources.iter().any(Source::is_live), render, output);
        let snapshots = self.snapshots.clone();
        let accepted = snapshots.accept();
        let Self { ingest, flows, router, dropped, cancel, .. } = self;
        let parts = Parts { ingest, flows, router, dropped, cancel, requests: &accepted };
        let outcome = queues::run(sources, parts, render, output);
        drop(accepted);
        self.end_source();
        outcome.map(|()| self.counters())
    }

    /// Ends the flows of pushed frames, and divides the flows of the source that follows by the seed for it.
    fn start_source<R: Render<Event<Report<P>>>>(
        &mut self,
        has_random_seed: bool,
        render: &R,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) {
        self.ingest.start_capture();
        let Self { ingest, flows, router, seeds, has_pushed, .. } = self;
        if std::mem::take(has_pushed) {
            let reporter = Reporter { router, render, arena: &mut R::Arena::default(), output };
            SequentialPath { flows, reporter }.end(ingest.clock.now());
        }
        flows.set_hash_seed(seeds.of_source(has_random_seed));
    }

    fn end_source(&mut self) {
        self.ingest.decoding.decoder.finish();
        self.flows.clear();
        self.ingest.start_capture();
        self.publish_counters();
    }

    /// Publishes the counters, if they are asked for.
    pub(super) fn publish_counters(&self) {
        self.snapshots.publish(|| RunCounters {
            engine: self.counters(),
            protocol: self.flows.protocol.counters(),
            packet_time: self.ingest.latest(),
        });
    }

    /// [Analyses](Self::analyze) a source for an output of events.
    pub(super) fn analyze_to<'f, S: Source<'f, Error: Send> + Send>(
        &mut self,
        source: S,
        output: &mut dyn Output<Event<Report<P>>, ()>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &ByValue, output)
    }

    /// [Analyses several sources](Self::analyze_queues) for an output of events.
    pub(super) fn analyze_queues_to<'f, S: Source<'f, Error: Send> + Send>(
        &mut self,
        sources: Vec<S>,
        output: &mut dyn Output<Event<Report<P>>, ()>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run_queues(sources, &ByValue, output)
    }

    fn run<'f, S: Source<'f, Error: Send> + Send, R: Render<Event<Report<P>>>>(
        &mut self,
        source: S,
        render: &R,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        let policy = if source.is_live() { Overflow::Drop } else { Overflow::Wait };
        let overflow = self.overflow.unwrap_or(policy);
        self.start_source(source.is_live() || overflow == Overflow::Drop, render, output);
        let snapshots = self.snapshots.clone();
        let accepted = snapshots.accept();
        let processors = match self.workers {
            NonZeroUsize::MIN => NonZeroUsize::MIN,
            _ => self.processors.unwrap_or_else(processors),
        };
        let division =
            Division::new(self.workers, processors, self.block_bytes, overflow, source.lends(), R::PER_EVENT);
        let requests = &accepted;
        let first = if division == Division::Never {
            self.run_sequential::<false, S, R>(source, division, requests, render, output)
        } else {
            self.run_sequential::<true, S, R>(source, division, requests, render, output)
        };
        let outcome = match first {
            Ok(Some(source)) => {
                let reads_at_once = self.workers.get() >= MIN_READING_WORKERS && self.workers <= processors;
                self.run_parallel(source, overflow, reads_at_once, requests, render, output)
            }
            Ok(None) => Ok(()),
            Err(error) => Err(AnalysisError::Source(error)),
        };
        drop(accepted);
        self.end_source();
        outcome.map(|()| self.counters())
    }

    /// Analyses a source in the caller's thread, to its end, or until [several workers](Division) continue: then returns it.
    // Compiled for a single worker on its own, which has less to do in the loop over frames. The source is passed by value, so that its
    // state stays in registers, and so does that of the loop: within its caller it cost twelve instructions a packet.
    #[inline(never)]
    fn run_sequential<'f, const DIVIDES: bool, S: Source<'f>, R: Render<Event<Report<P>>>>(
        &mut self,
        mut source: S,
        division: Division,
        requests: &Requests<'_, P>,
        render: &R,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) -> Result<Option<S>, S::Error> {
        let Self { ingest, flows, router, cancel, .. } = self;
        let reporter = Reporter { router, render, arena: &mut R::Arena::default(), output };
        let mut path = SequentialPath { flows, reporter };
        let division = if DIVIDES { division } else { Division::Never };
        let outcome = sequential::run(&mut source, ingest, &mut path, cancel, requests, division);
        match outcome {
            Ok(Outcome::Divided) => return Ok(Some(source)),
            Ok(Outcome::Stopped) => {}
            Ok(Outcome::Ended) | Err(_) => path.end(ingest.clock.now()),
        }
        path.reporter.output.end();
        outcome.map(|_| None)
    }

    fn run_parallel<'f, S: Source<'f, Error: Send> + Send, R: Render<Event<Report<P>>>>(
        &mut self,
        source: S,
        overflow: Overflow,
        reads_at_once: bool,
        requests: &Requests<'_, P>,
        render: &R,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) -> Result<(), AnalysisError<S::Error>> {
        let Self { ingest, flows, router, workers, block_bytes, dropped, cancel, .. } = self;
        let workers = workers.get();
        let default_bytes = || BLOCK_BYTES_PER_WORKER.saturating_mul(workers).min(MAX_BLOCK_BYTES);
        let block_bytes = block_bytes.unwrap_or_else(default_bytes);
        let ring = RingConfig { block_bytes, overflow, reads_at_once };
        let parts = Parts { ingest, flows, router, dropped, cancel, requests };
        parallel::run(workers, ring, parts, source, render, output)
    }

    /// Returns a handle that takes snapshots of a running analysis from another thread.
    pub fn snapshot_handle(&self) -> SnapshotHandle<P> {
        self.snapshots.clone()
    }

    /// Returns a handle that stops a running [`analyze`](Self::analyze) from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Returns the counters since the analyzer was built.
    pub fn counters(&self) -> Counters {
        Counters {
            segments_dropped: self.dropped.segments,
            blocks_dropped: self.dropped.blocks,
            segments_without_flow: self.flows.segments_without_flow,
            flows: self.flows.counters(),
            events: self.router.events,
            ..self.ingest.counters()
        }
    }

    /// Returns the times of the earliest and of the latest frame, since the analyzer was built.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.ingest.clock.steps().span
    }

    /// Returns the earliest example of each counter of packets that could not be read, since the analyzer was built.
    pub fn examples(&self) -> Examples {
        let mut examples = self.ingest.examples();
        examples.merge(&self.flows.examples);
        examples
    }

    /// Returns the seed that assigns flows to partitions: that of the latest analysis, or of pushed frames.
    /// [`HashSeed::Fixed`](crate::HashSeed::Fixed) repeats an analysis with it.
    pub fn hash_seed(&self) -> u64 {
        self.flows.hash_seed()
    }

    /// Returns the protocol.
    pub fn protocol(&self) -> &P {
        &self.flows.protocol
    }

    /// Returns the state that spans flows.
    pub fn shared_state(&self) -> &P::SharedState {
        &self.router.shared_state
    }

    /// Returns the state that spans flows, for instance to clear it before another capture.
    pub fn shared_state_mut(&mut self) -> &mut P::SharedState {
        &mut self.router.shared_state
    }
}

/// Returns how many threads run at once. Cached, because `available_parallelism` reads files of the system, which takes as long as a thousand
/// packets: later changes of affinity are not seen.
fn processors() -> NonZeroUsize {
    static PROCESSORS: OnceLock<NonZeroUsize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

impl<P: Protocol> fmt::Debug for Analyzer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzer").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
