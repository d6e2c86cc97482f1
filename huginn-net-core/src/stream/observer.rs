//! A stream parser as a protocol of its own.

use super::{ParserSlot, StreamCounters, StreamFlow, StreamParser, first_sender, without_padding};
use crate::{Event, Interest, NextSeq, Origin, Protocol, Segment, Side, Tally};

/// Runs one stream parser on every TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamObserver<P: StreamParser> {
    settings: P::Settings,
    counters: StreamObserverCounters<P::Counters>,
}

/// Counters of a parser and of the stream layer below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamObserverCounters<C> {
    /// Counters of the parser.
    pub parser: C,
    /// Losses of TCP reassembly.
    pub streams: StreamCounters,
}

impl<C: Tally> Tally for StreamObserverCounters<C> {
    fn add(&mut self, other: &Self) {
        self.parser.add(&other.parser);
        self.streams.add(&other.streams);
    }
}

impl<P: StreamParser> Default for StreamObserver<P> {
    fn default() -> Self {
        Self::with_settings(P::Settings::default())
    }
}

impl<P: StreamParser> StreamObserver<P> {
    /// Creates an observer whose parsers have these settings, in all workers.
    pub fn with_settings(settings: P::Settings) -> Self {
        let counters =
            StreamObserverCounters { parser: P::Counters::default(), streams: StreamCounters::default() };
        Self { settings, counters }
    }

    /// Returns the counters since the observer was created.
    pub fn counters(&self) -> StreamObserverCounters<P::Counters> {
        self.counters
    }
}

impl<P: StreamParser> Protocol for StreamObserver<P> {
    type Flow = StreamFlow<ParserSlot<P>>;
    type Event = P::Event;
    type SharedState = ();
    type Counters = StreamObserverCounters<P::Counters>;

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self::with_settings(self.settings.clone())
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
    }

    fn counters(&self) -> Self::Counters {
        self.counters
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        first_sender::<P>(segment)
    }

    #[inline(always)]
    fn skip_segment(&mut self, segment: &Segment<'_>, sender: Side, flow: &mut Self::Flow) -> bool {
        flow.skip_unread(segment, sender)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Self::Flow,
        emit: &mut impl FnMut(Origin, P::Event),
    ) -> Interest {
        let Self { settings, counters: StreamObserverCounters { parser: counters, streams } } = self;
        let new_parser = || ParserSlot::with_settings(true, settings.clone());
        flow.on_segment(
            segment,
            without_padding(segment),
            sender,
            streams,
            new_parser,
            &mut |parser, input| {
                parser.on_data(input, counters, &mut |side, event| emit(input.origin(side), event));
            },
        )
    }

    fn next_seq(flow: &Self::Flow, sender: Side) -> NextSeq {
        flow.next_seq(sender)
    }

    fn outlasts_connection(flow: &mut Self::Flow, is_agreed: bool) -> bool {
        !is_agreed && flow.awaits_message()
    }

    fn has_end(flow: &Self::Flow) -> bool {
        flow.has_end()
    }

    fn on_end(&mut self, flow: Self::Flow, emit: &mut impl FnMut(Event<P::Event>)) {
        let Self { settings, counters: StreamObserverCounters { parser: counters, streams } } = self;
        flow.on_end(
            streams,
            || ParserSlot::with_settings(true, settings.clone()),
            |flow, parser: &mut ParserSlot<P>, input| {
                parser.on_data(input, counters, &mut |side, event| emit(input.event(flow, side, event)));
            },
        );
    }

    fn buffered_bytes(flow: &Self::Flow) -> usize {
        flow.buffered_bytes()
    }
}
