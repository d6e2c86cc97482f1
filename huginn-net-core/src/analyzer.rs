//! The engine: from frames to events, one packet after the other.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::flows::Flows;
use crate::{
    DecodeConfig, DecodeCounters, Decoder, Event, Filter, FlowCounters, FlowLimits, Frame, Memory, Protocol,
    Report, Route, Segment, Sink, Source,
};

/// Runs a [`Protocol`] over frames: decode, filter, flow table, protocol, memory, sink.
///
/// It starts no thread, does no I/O and reads no clock: time is that of the packets.
pub struct Analyzer<P: Protocol> {
    decoder: Decoder,
    flows: Flows<P>,
    outlet: Outlet<P::Memory>,
    #[cfg(feature = "libpcap")]
    bpf: Option<crate::Bpf>,
    frames: u64,
    bytes: u64,
    frames_filtered: u64,
    cancel: CancelToken,
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
}

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
        }
    }

    /// Analyses one frame. What it tells goes to the sink at once.
    ///
    /// Breaks when the sink does; the frame is then only partly analysed.
    pub fn push(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut (impl Sink<Event<Report<P>>> + ?Sized),
    ) -> ControlFlow<()> {
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(frame.data.len() as u64);
        #[cfg(feature = "libpcap")]
        if let Some(bpf) = &mut self.bpf {
            if !bpf.passes(frame) {
                self.frames_filtered = self.frames_filtered.saturating_add(1);
                return ControlFlow::Continue(());
            }
        }
        let (flows, outlet) = (&mut self.flows, &mut self.outlet);
        let mut outcome = ControlFlow::Continue(());
        self.decoder.decode(frame, &mut |segment: &Segment<'_>| {
            if outcome.is_continue() {
                outcome = flows.segment(segment, &mut |event| outlet.pass(event, sink));
            }
        });
        outcome
    }

    /// Tells that no further frame comes. No protocol so far has anything left to say then.
    ///
    /// Flows and fragments are forgotten: the analyzer is ready for another capture. Counters and
    /// [memory](Self::memory) are kept.
    pub fn finish(&mut self, _sink: &mut (impl Sink<Event<Report<P>>> + ?Sized)) -> ControlFlow<()> {
        self.decoder.finish();
        self.flows.clear();
        ControlFlow::Continue(())
    }

    /// Analyses a source to its end, to a sink that breaks or to [`CancelToken::cancel`]; then
    /// [finishes](Self::finish).
    ///
    /// # Errors
    /// The error of the source. What came before it has been analysed and [counted](Self::counters).
    pub fn analyze<S: Source>(
        &mut self,
        mut source: S,
        sink: &mut (impl Sink<Event<Report<P>>> + ?Sized),
    ) -> Result<Counters, S::Error> {
        let outcome = loop {
            if self.cancel.is_cancelled() {
                break Ok(());
            }
            match source.next_frame() {
                Ok(Some(frame)) => {
                    if self.push(&frame, sink).is_break() {
                        break Ok(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let _ = self.finish(sink);
        outcome.map(|()| self.counters())
    }

    /// A handle that stops a running [`analyze`](Self::analyze) from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// What was counted since the analyzer was built.
    pub fn counters(&self) -> Counters {
        Counters {
            frames: self.frames,
            bytes: self.bytes,
            frames_filtered: self.frames_filtered,
            decode: self.decoder.counters().clone(),
            segments_filtered: self.flows.segments_filtered(),
            segments_without_flow: self.flows.segments_without_flow(),
            flows: self.flows.counters(),
            events: self.outlet.events,
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

    /// The analyzer.
    pub fn build(self) -> Analyzer<P> {
        Analyzer {
            decoder: Decoder::new(self.decode),
            outlet: Outlet { memory: self.protocol.memory(), events: 0 },
            flows: Flows::new(self.protocol, self.filter, &self.flows),
            #[cfg(feature = "libpcap")]
            bpf: self.bpf,
            frames: 0,
            bytes: 0,
            frames_filtered: 0,
            cancel: CancelToken::default(),
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

    fn is_cancelled(&self) -> bool {
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
    /// Segments of flows whose beginning was not seen, and which open none.
    pub segments_without_flow: u64,
    /// What became of the flows.
    pub flows: FlowCounters,
    /// Events handed to the sink.
    pub events: u64,
}

/// The part of the engine behind the flows.
struct Outlet<M> {
    memory: M,
    events: u64,
}

impl<M> Outlet<M> {
    /// Leads an event to the sink, or to the memory and what that concludes to the sink. Breaks when the sink does.
    fn pass<E>(
        &mut self,
        event: Event<E>,
        sink: &mut (impl Sink<Event<M::Report>> + ?Sized),
    ) -> ControlFlow<()>
    where
        M: Memory<E>,
    {
        let Event { ts, flow, subject, kind } = event;
        match M::route(kind) {
            Route::Report(kind) => {
                self.events = self.events.saturating_add(1);
                sink.event(Event { ts, flow, subject, kind })
            }
            Route::Note(kind) => {
                let mut outcome = ControlFlow::Continue(());
                let events = &mut self.events;
                self.memory.on_note(Event { ts, flow, subject, kind }, &mut |event| {
                    if outcome.is_continue() {
                        *events = events.saturating_add(1);
                        outcome = sink.event(event);
                    }
                });
                outcome
            }
        }
    }
}
