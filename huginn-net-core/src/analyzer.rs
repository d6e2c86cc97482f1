//! The engine: from frames to events, one packet after the other.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::flow_table::{FlowTable, Slot};
use crate::{
    DecodeConfig, DecodeCounters, Decoder, Event, Filter, FlowCounters, FlowKey, FlowLimits, Frame, Interest,
    Protocol, Segment, Side, Sink, Source,
};

/// Runs a [`Protocol`] over frames: decode, filter, flow table, protocol, sink.
///
/// It starts no thread, does no I/O and reads no clock: time is that of the packets.
pub struct Analyzer<P: Protocol> {
    decoder: Decoder,
    watch: Watch<P>,
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
        sink: &mut (impl Sink<Event<P::Event>> + ?Sized),
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
        let watch = &mut self.watch;
        let mut flow = ControlFlow::Continue(());
        self.decoder.decode(frame, &mut |segment: &Segment<'_>| {
            if flow.is_continue() {
                flow = watch.segment(segment, sink);
            }
        });
        flow
    }

    /// Tells that no further frame comes. No protocol so far has anything left to say then.
    ///
    /// Flows and fragments are forgotten, counters are kept: the analyzer is ready for another capture.
    pub fn finish(&mut self, _sink: &mut (impl Sink<Event<P::Event>> + ?Sized)) -> ControlFlow<()> {
        self.decoder.finish();
        self.watch.flows.clear();
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
        sink: &mut (impl Sink<Event<P::Event>> + ?Sized),
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
            segments_filtered: self.watch.segments_filtered,
            segments_without_flow: self.watch.segments_without_flow,
            flows: self.watch.flows.counters(),
            events: self.watch.events,
        }
    }

    /// The protocol.
    pub fn protocol(&self) -> &P {
        &self.watch.protocol
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
            watch: Watch {
                protocol: self.protocol,
                filter: self.filter,
                flows: FlowTable::new(&self.flows),
                syn_lifetime: u64::try_from(self.flows.syn_lifetime.as_nanos()).unwrap_or(u64::MAX),
                segments_filtered: 0,
                segments_without_flow: 0,
                events: 0,
            },
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

/// The part of the engine behind decode.
struct Watch<P: Protocol> {
    protocol: P,
    filter: Filter,
    flows: FlowTable<Flow<P::Flow>>,
    syn_lifetime: u64,
    segments_filtered: u64,
    segments_without_flow: u64,
    events: u64,
}

impl<P: Protocol> Watch<P> {
    fn segment(
        &mut self,
        segment: &Segment<'_>,
        sink: &mut (impl Sink<Event<P::Event>> + ?Sized),
    ) -> ControlFlow<()> {
        if !self.filter.passes(segment) {
            self.segments_filtered = self.segments_filtered.saturating_add(1);
            return ControlFlow::Continue(());
        }
        self.flows.expire(segment.ts);
        let (key, sender_is_low) = FlowKey::of(segment);
        let known = self.flows.touch(&key, segment.ts);
        let slot = match known {
            Some(slot) if !self.starts_anew(slot, segment, sender_is_low) => Some(slot),
            _ => self.open(known, key, segment, sender_is_low),
        };
        let Some((slot, flow)) = slot.and_then(|slot| Some((slot, self.flows.get_mut(slot)?))) else {
            return ControlFlow::Continue(());
        };
        flow.closed |= segment.tcp().is_some_and(|tcp| tcp.flags.closes());
        if flow.interest == Interest::Done {
            return ControlFlow::Continue(());
        }
        let sender = flow.sender(sender_is_low);
        let mut outcome = ControlFlow::Continue(());
        let events = &mut self.events;
        flow.interest = self.protocol.on_segment(segment, sender, &mut flow.state, &mut |subject, kind| {
            if outcome.is_continue() {
                *events = events.saturating_add(1);
                outcome = sink.event(Event::of(segment, sender, subject, kind));
            }
        });
        let held = P::held(&flow.state);
        self.flows.note_held(slot, held);
        outcome
    }

    /// Whether a segment on a known 4-tuple is the first of another connection: a SYN that retransmits nothing.
    ///
    /// A retransmission renews the time that the next one has.
    fn starts_anew(&mut self, slot: Slot, segment: &Segment<'_>, sender_is_low: bool) -> bool {
        let Some(seq) = opening_seq(segment) else { return false };
        let Some(flow) = self.flows.get_mut(slot) else { return false };
        let Some((first_seq, last_seen)) = &mut flow.syn else { return true };
        let age = segment.ts.as_nanos().saturating_sub(*last_seen);
        *last_seen = segment.ts.as_nanos();
        flow.closed || seq != *first_seq || flow.client_is_low != sender_is_low || age > self.syn_lifetime
    }

    /// Opens a flow if the protocol wants it, in the place of the `known` one of the same key.
    #[inline(never)]
    fn open(
        &mut self,
        known: Option<Slot>,
        key: FlowKey,
        segment: &Segment<'_>,
        sender_is_low: bool,
    ) -> Option<Slot> {
        let Some(sender) = self.protocol.opens(segment) else {
            self.segments_without_flow = self.segments_without_flow.saturating_add(1);
            return None;
        };
        let flow = Flow {
            state: P::Flow::default(),
            syn: opening_seq(segment).map(|seq| (seq, segment.ts.as_nanos())),
            client_is_low: sender_is_low == (sender == Side::Client),
            closed: false,
            interest: Interest::More,
        };
        match known {
            Some(slot) => {
                self.flows.restart(slot, flow);
                known
            }
            None => self.flows.insert(key, segment.ts, flow),
        }
    }
}

/// What the engine itself remembers of a flow.
#[derive(Debug)]
struct Flow<S> {
    state: S,
    /// Sequence number of the SYN that opened it, and when (ns) it was last seen.
    syn: Option<(u32, u64)>,
    /// Whether the client is the low end of the key.
    client_is_low: bool,
    /// Whether a FIN or RST was seen.
    closed: bool,
    interest: Interest,
}

impl<S> Flow<S> {
    fn sender(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.client_is_low { Side::Client } else { Side::Server }
    }
}

/// The sequence number of a segment that asks for a connection.
fn opening_seq(segment: &Segment<'_>) -> Option<u32> {
    segment.tcp().filter(|tcp| tcp.flags.opens()).map(|tcp| tcp.seq)
}
