//! The engine: from frames to events, one packet after the other.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::direct::{self, ToFlows, ToOutlet};
use crate::flows::Flows;
use crate::form::{Delivery, Form, Mapped, ToSink, ToWriter, Written};
use crate::intake::Intake;
use crate::outlet::Outlet;
use crate::packet_clock::PacketClock;
use crate::parallel::{self, Overflow, Parts, Spread};
use crate::watch::{Timed, ToWatcher};
use crate::{
    AnalysisError, DecodeConfig, DecodeCounters, Decoder, Event, Filter, FlowCounters, FlowLimits, Frame,
    Inspector, Protocol, Report, Sink, Source, Watcher,
};

/// Runs a [`Protocol`] over frames: decode, filter, flow table, protocol, memory, sink.
///
/// It does no I/O and reads no clock: time is that of the packets. It starts threads only where
/// [told to](Builder::workers), and they have ended when [`analyze`](Self::analyze) returns.
pub struct Analyzer<P: Protocol> {
    intake: Intake,
    flows: Flows<P>,
    outlet: Outlet<P::Memory>,
    limits: FlowLimits,
    spread: Spread,
    cancel: CancelToken,
    inspector: Inspector<P>,
}

/// What an analyzer is built from; see [`Analyzer::builder`].
#[derive(Debug)]
#[must_use]
pub struct Builder<P> {
    protocol: P,
    decode: DecodeConfig,
    flows: FlowLimits,
    filter: Filter,
    #[cfg(feature = "libpcap")]
    bpf: Option<crate::Bpf>,
    spread: Spread,
}

/// How large a batch is, unless told otherwise, in bytes.
const BATCH_BYTES: usize = 256 << 10;

/// What a frame may take before workers begin, unless told otherwise.
const SPREAD_ABOVE: Duration = Duration::from_nanos(150);

impl<P: Protocol + Default> Analyzer<P> {
    /// Begins an analyzer with the protocol's default settings.
    pub fn builder() -> Builder<P> {
        Self::builder_with(P::default())
    }
}

impl<P: Protocol> Analyzer<P> {
    /// Begins an analyzer of this protocol.
    pub fn builder_with(protocol: P) -> Builder<P> {
        Builder {
            protocol,
            decode: DecodeConfig::default(),
            flows: FlowLimits::default(),
            filter: Filter::default(),
            #[cfg(feature = "libpcap")]
            bpf: None,
            spread: Spread {
                workers: NonZeroUsize::MIN,
                batch_bytes: BATCH_BYTES,
                overflow: Overflow::default(),
                spread_above: SPREAD_ABOVE,
            },
        }
    }

    /// Analyses one frame in the thread of the caller. What it tells goes to the sink at once.
    ///
    /// Breaks when the sink does; the frame is then only partly analysed.
    pub fn push(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut (impl Sink<Event<Report<P>>> + ?Sized),
    ) -> ControlFlow<()> {
        let Self { intake, flows, outlet, .. } = self;
        let form = &Mapped(std::convert::identity);
        let told = ToOutlet { outlet, form, shelf: &mut (), delivery: &mut ToSink(sink) };
        intake.take(frame, &mut ToFlows { flows, told })
    }

    /// Tells that no further frame comes. No protocol so far has anything left to say then.
    ///
    /// Flows and fragments are forgotten: the analyzer is ready for another capture. Counters and
    /// [memory](Self::memory) are kept.
    pub fn finish(&mut self, _sink: &mut (impl Sink<Event<Report<P>>> + ?Sized)) -> ControlFlow<()> {
        self.end();
        ControlFlow::Continue(())
    }

    /// Analyses a source to its end, to a sink that breaks or to [`CancelToken::cancel`]; then
    /// [finishes](Self::finish). With several [workers](Builder::workers) the sink gets the same events in the same
    /// order.
    ///
    /// # Errors
    /// The error of the source, or with several workers a panic of the analysis. What came before it has been reported and
    /// [counted](Self::counters).
    pub fn analyze<S: Source<Error: Send> + Send>(
        &mut self,
        source: S,
        sink: &mut (impl Sink<Event<Report<P>>> + ?Sized),
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.analyze_map(source, std::convert::identity, sink)
    }

    /// [Analyses](Self::analyze) a source, and hands to the sink what `map` makes of each event.
    ///
    /// With several workers, they call it for what they learn: what takes time, such as to write an event as text,
    /// takes it side by side. For what the memory concludes it is called in the thread of the caller, and until
    /// [workers begin](Builder::spread_above) for all.
    ///
    /// # Errors
    /// Those of [`analyze`](Self::analyze). With several workers, a panic of `map` is one of them.
    pub fn analyze_map<S: Source<Error: Send> + Send, T: Send>(
        &mut self,
        source: S,
        map: impl Fn(Event<Report<P>>) -> T + Sync,
        sink: &mut (impl Sink<T> + ?Sized),
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &Mapped(map), &mut ToSink(sink))
    }

    /// [Analyses](Self::analyze) a source, and hands to `take` the text that `write` appends for each event.
    ///
    /// With several workers they write, where they would [map](Self::analyze_map), each into one buffer for many events:
    /// this costs less than to map each event to a text of its own.
    ///
    /// # Errors
    /// Those of [`analyze_map`](Self::analyze_map).
    pub fn analyze_text<S: Source<Error: Send> + Send>(
        &mut self,
        source: S,
        write: impl Fn(&Event<Report<P>>, &mut Vec<u8>) + Sync,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        self.run(source, &Written(write), &mut ToWriter(&mut take))
    }

    /// [Analyses](Self::analyze) a source that is watched while it lasts, such as an interface: `write` appends the text
    /// of each event, `watcher` gets it.
    ///
    /// However few the [workers](Builder::workers), threads of their own read the source and watch the flows, so that
    /// the source is not kept waiting, unless it is one of frames that [are](Source::twins)
    /// [all there](Source::lends_from_buffer); an [`inspector`](Self::inspector) gets its answers while it waits. To be
    /// stopped while it waits is for the source to offer.
    ///
    /// # Errors
    /// Those of [`analyze_map`](Self::analyze_map).
    pub fn watch<S: Source<Error: Send> + Send>(
        &mut self,
        source: S,
        write: impl Fn(&Event<Report<P>>, &mut Vec<u8>) + Sync,
        watcher: &mut (impl Watcher + ?Sized),
    ) -> Result<Counters, AnalysisError<S::Error>> {
        let outcome = self.in_workers(source, false, &Timed(write), &mut ToWatcher(watcher));
        self.end();
        outcome.map(|()| self.counters())
    }

    fn run<S: Source<Error: Send> + Send, F: Form<Event<Report<P>>>>(
        &mut self,
        source: S,
        form: &F,
        delivery: &mut impl Delivery<F::Piece, F::Shelf>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        let outcome = if self.spread.workers == NonZeroUsize::MIN {
            self.in_this_thread(source, form, delivery)
        } else {
            let may_wait = self.spread.overflow == Overflow::Wait;
            self.in_workers(source, may_wait, form, delivery)
        };
        self.end();
        outcome.map(|()| self.counters())
    }

    fn in_this_thread<S: Source, F: Form<Event<Report<P>>>>(
        &mut self,
        mut source: S,
        form: &F,
        delivery: &mut impl Delivery<F::Piece, F::Shelf>,
    ) -> Result<(), AnalysisError<S::Error>> {
        let mut shelf = F::Shelf::default();
        let Self { intake, flows, outlet, cancel, .. } = self;
        let mut flows = ToFlows { flows, told: ToOutlet { outlet, form, shelf: &mut shelf, delivery } };
        direct::read(&mut source, intake, &mut flows, cancel, u64::MAX)?;
        Ok(())
    }

    fn in_workers<S: Source<Error: Send> + Send, F: Form<Event<Report<P>>>>(
        &mut self,
        source: S,
        may_wait: bool,
        form: &F,
        delivery: &mut impl Delivery<F::Piece, F::Shelf>,
    ) -> Result<(), AnalysisError<S::Error>> {
        // The workers begin without flows: those of frames pushed before end here.
        self.flows.clear();
        let Self { intake, flows, outlet, limits, spread, cancel, inspector } = self;
        let desk = inspector.open();
        let parts = Parts { intake, flows, limits: *limits, outlet, cancel, requests: &desk.requests };
        parallel::run(*spread, parts, source, may_wait, form, delivery)
    }

    fn end(&mut self) {
        self.intake.decoder.finish();
        self.flows.expire(self.intake.clock.now());
        self.flows.clear();
    }

    /// A handle that asks a running analysis how it stands, from another thread.
    pub fn inspector(&self) -> Inspector<P> {
        self.inspector.clone()
    }

    /// A handle that stops a running [`analyze`](Self::analyze) from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// What was counted since the analyzer was built.
    pub fn counters(&self) -> Counters {
        Counters {
            segments_without_flow: self.flows.segments_without_flow(),
            flows: self.flows.counters(),
            events: self.outlet.events,
            ..self.intake.counters()
        }
    }

    /// The protocol.
    pub fn protocol(&self) -> &P {
        self.flows.protocol()
    }

    /// What is remembered beyond flows.
    pub fn memory(&self) -> &P::Memory {
        &self.outlet.memory
    }

    /// What is remembered beyond flows, to be changed: a memory may be emptied before another capture.
    pub fn memory_mut(&mut self) -> &mut P::Memory {
        &mut self.outlet.memory
    }
}

impl<P: Protocol> fmt::Debug for Analyzer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzer").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

impl<P: Protocol> Builder<P> {
    /// Sets the caps of decode.
    pub fn decode(mut self, config: DecodeConfig) -> Self {
        self.decode = config;
        self
    }

    /// Sets the caps of the flow table.
    pub fn flow_limits(mut self, limits: FlowLimits) -> Self {
        self.flows = limits;
        self
    }

    /// Analyses only the segments that pass.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Analyses only the frames that this expression selects.
    #[cfg(feature = "libpcap")]
    pub fn bpf(mut self, bpf: crate::Bpf) -> Self {
        self.bpf = Some(bpf);
        self
    }

    /// Spreads [`Analyzer::analyze`] over so many workers (default 1: all is done in the thread of the caller,
    /// but for what the source does on its own).
    ///
    /// With two or more, that of the caller begins alone, and goes on so where frames do not take
    /// [long enough](Self::spread_above); not where they must be waited for, or [may be dropped](Overflow::Drop). Then each
    /// worker watches its part of the flows, with its part of the [limits](FlowLimits), and the thread of the caller gets the
    /// events. More than 128 are taken for 128.
    ///
    /// Workers read files in turn, and [frames in memory](crate::MemoryFrames) each for itself, and
    /// each decodes all of them; there are no more of them than processors then. For all else, as pipes, and where an
    /// expression filters, one more thread reads, decodes and hands over: that pays where a packet takes more than some 150 ns,
    /// as with ClientHellos, heads of HTTP, and events that become text.
    ///
    /// Events that workers make are let go by the caller;
    /// where many come, threads wait for each other in the C library's allocator. It is better then to make something
    /// small of them in the workers ([`analyze_map`](Analyzer::analyze_map), [`analyze_text`](Analyzer::analyze_text)),
    /// or to use another allocator.
    pub fn workers(mut self, workers: NonZeroUsize) -> Self {
        self.spread.workers = workers;
        self
    }

    /// Sets how much is handed to a worker at once, in bytes (default 256 KiB): a batch is full when it is that large.
    /// Workers that read themselves go on together after one frame for each 16 of these bytes, 65,536 frames at most, and of
    /// a file after a buffer, which has so many bytes for each of them, 1 MiB at most.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.spread.batch_bytes = bytes;
        self
    }

    /// Sets what a frame may take, on average, before workers begin (default 150 ns), which then go on to the end. Up to then
    /// all is done in the thread of the caller: where less is taken, most of it is to read and decode, and to hand over takes
    /// as long, so that several are slower than one. Of a file, which they read in turn, they begin anyhow when there are more
    /// than some frames. With zero they begin at once.
    ///
    /// It is what each of four rounds in a row takes, of 256 frames ([or less](Self::batch_bytes)), map, memory and sink
    /// included; the first four rounds do not count. By four more is seen how flows can be divided: where one worker
    /// would get more than three quarters of the segments that are not passed over, as of a single long connection, the thread
    /// of the caller goes on alone and measures anew, later and later, unless workers read in turn. What is told does not
    /// depend on it, unless flows go for want of room: each worker has its part of that.
    pub fn spread_above(mut self, frame: Duration) -> Self {
        self.spread.spread_above = frame;
        self
    }

    /// Sets what becomes of segments for which a worker has no room.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.spread.overflow = overflow;
        self
    }

    /// The analyzer.
    pub fn build(self) -> Analyzer<P> {
        Analyzer {
            outlet: Outlet { memory: self.protocol.memory(), events: 0 },
            intake: Intake {
                decoder: Decoder::new(self.decode),
                filter: self.filter,
                #[cfg(feature = "libpcap")]
                bpf: self.bpf,
                clock: PacketClock::new(self.flows.idle_timeout),
                frames: 0,
                bytes: 0,
                frames_filtered: 0,
                segments_filtered: 0,
                segments_dropped: 0,
                batches_dropped: 0,
            },
            flows: Flows::new(self.protocol, &self.flows),
            limits: self.flows,
            spread: self.spread,
            cancel: CancelToken::default(),
            inspector: Inspector::default(),
        }
    }
}

/// Stops an analysis from outside; clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Ends the analysis before its next frame, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What an analyzer counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Counters {
    /// Frames taken.
    pub frames: u64,
    /// Captured bytes in them.
    pub bytes: u64,
    /// Frames that the filter expression left out.
    pub frames_filtered: u64,
    /// What decode made of them.
    pub decode: DecodeCounters,
    /// Segments that the filter by port and network left out.
    pub segments_filtered: u64,
    /// Segments that no worker had room for; only with [`Overflow::Drop`].
    pub segments_dropped: u64,
    /// Batches that they were in.
    pub batches_dropped: u64,
    /// Segments of flows whose beginning was not seen, and which open none.
    pub segments_without_flow: u64,
    /// What became of the flows.
    pub flows: FlowCounters,
    /// Events handed to the sink.
    pub events: u64,
}
