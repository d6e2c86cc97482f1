//! Two protocols over one flow table.

use super::{Event, Interest, NextSeq, Origin, Protocol, Route, SharedState};
use crate::{Segment, Side, Tally, Timestamp};

/// An event, a report or an update of one of two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Either<A, B> {
    /// Of the first protocol.
    First(A),
    /// Of the second protocol.
    Second(B),
}

/// The state of one flow in two protocols.
#[derive(Debug, Default)]
pub struct PairFlow<A, B> {
    first: ProtocolFlow<A>,
    second: ProtocolFlow<B>,
}

/// The state of a flow in one of the protocols.
#[derive(Debug, Default)]
enum ProtocolFlow<F> {
    /// No segment has [started](Protocol::starts_flow) the flow for this protocol.
    #[default]
    Waiting,
    Open(F),
    /// The protocol needs no further segment. Its state may still have [last events](Protocol::has_end).
    Done(F),
}

impl<F: Default> ProtocolFlow<F> {
    /// Passes a segment to the protocol, if it analyses the flow; creates the state with the segment that starts it.
    #[inline]
    fn on_segment<P: Protocol<Flow = F>>(
        &mut self,
        protocol: &mut P,
        segment: &Segment<'_>,
        sender: Side,
        emit: &mut impl FnMut(Origin, P::Event),
    ) {
        if matches!(self, Self::Waiting) && protocol.starts_flow(segment) == Some(sender) {
            *self = Self::Open(F::default());
        }
        if let Self::Open(flow) = self
            && protocol.on_segment(segment, sender, flow, emit) == Interest::Done
        {
            *self = Self::Done(std::mem::take(flow));
        }
    }
}

impl<F> ProtocolFlow<F> {
    fn get(&self) -> Option<&F> {
        match self {
            Self::Open(flow) | Self::Done(flow) => Some(flow),
            Self::Waiting => None,
        }
    }

    fn get_mut(&mut self) -> Option<&mut F> {
        match self {
            Self::Open(flow) | Self::Done(flow) => Some(flow),
            Self::Waiting => None,
        }
    }

    fn take(self) -> Option<F> {
        match self {
            Self::Open(flow) | Self::Done(flow) => Some(flow),
            Self::Waiting => None,
        }
    }
}

/// Runs two protocols over one decode and one flow table; pairs nest for more. Each gets the segments of a flow from the one
/// that starts the flow for it, until it is [done](Interest::Done). The sides of a flow are those of the protocol that starts it
/// first; the other one does not analyse the flow if it takes them for exchanged.
///
/// ```
/// use huginn_net_core::{Analyzer, Either, Event, Protocol};
///
/// fn count<A: Protocol, B: Protocol>(first: A, second: B) -> (u64, u64) {
///     let (mut firsts, mut seconds) = (0, 0);
///     let mut analyzer = Analyzer::builder_with((first, second)).build();
///     analyzer.finish(&mut |event: Event<_>| match event.kind {
///         Either::First(_) => firsts += 1,
///         Either::Second(_) => seconds += 1,
///     });
///     (firsts, seconds)
/// }
/// ```
impl<A: Protocol, B: Protocol> Protocol for (A, B) {
    type Flow = PairFlow<A::Flow, B::Flow>;
    type Event = Either<A::Event, B::Event>;
    type SharedState = (A::SharedState, B::SharedState);
    type Counters = (A::Counters, B::Counters);

    fn shared_state(&self) -> Self::SharedState {
        (self.0.shared_state(), self.1.shared_state())
    }

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn join(&mut self, worker: Self) {
        self.0.join(worker.0);
        self.1.join(worker.1);
    }

    fn update_settings(&mut self) {
        self.0.update_settings();
        self.1.update_settings();
    }

    fn counters(&self) -> Self::Counters {
        (self.0.counters(), self.1.counters())
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        self.0.starts_flow(segment).or_else(|| self.1.starts_flow(segment))
    }

    #[inline]
    fn on_stray_segment(&mut self, segment: &Segment<'_>, emit: &mut impl FnMut(Side, Self::Event)) {
        let (first, second) = self;
        first.on_stray_segment(segment, &mut |side, event| emit(side, Either::First(event)));
        second.on_stray_segment(segment, &mut |side, event| emit(side, Either::Second(event)));
    }

    #[inline]
    fn can_skip(&self, ts: Timestamp, sender: Side, flow: &Self::Flow) -> bool {
        fn skips<P: Protocol>(
            protocol: &P,
            ts: Timestamp,
            sender: Side,
            flow: &ProtocolFlow<P::Flow>,
        ) -> bool {
            match flow {
                // The next segment may start the flow.
                ProtocolFlow::Waiting => false,
                ProtocolFlow::Open(flow) => protocol.can_skip(ts, sender, flow),
                ProtocolFlow::Done(_) => true,
            }
        }
        skips(&self.0, ts, sender, &flow.first) && skips(&self.1, ts, sender, &flow.second)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Self::Flow,
        emit: &mut impl FnMut(Origin, Self::Event),
    ) -> Interest {
        let (first, second) = self;
        flow.first
            .on_segment(first, segment, sender, &mut |origin, event| emit(origin, Either::First(event)));
        flow.second
            .on_segment(second, segment, sender, &mut |origin, event| emit(origin, Either::Second(event)));
        match flow {
            PairFlow { first: ProtocolFlow::Done(_), second: ProtocolFlow::Done(_) } => Interest::Done,
            _ => Interest::More,
        }
    }

    fn next_seq(flow: &Self::Flow, sender: Side) -> NextSeq {
        let first = flow.first.get().map_or(NextSeq::Unread, |flow| A::next_seq(flow, sender));
        let second = || flow.second.get().map_or(NextSeq::Unread, |flow| B::next_seq(flow, sender));
        if matches!(first, NextSeq::Known(_)) { first } else { second().or(first) }
    }

    fn outlasts_connection(flow: &mut Self::Flow, is_agreed: bool) -> bool {
        flow.first.get_mut().is_some_and(|flow| A::outlasts_connection(flow, is_agreed))
            || flow.second.get_mut().is_some_and(|flow| B::outlasts_connection(flow, is_agreed))
    }

    #[inline]
    fn has_end(flow: &Self::Flow) -> bool {
        flow.first.get().is_some_and(A::has_end) || flow.second.get().is_some_and(B::has_end)
    }

    fn on_end(&mut self, flow: Self::Flow, emit: &mut impl FnMut(Event<Self::Event>)) {
        if let Some(flow) = flow.first.take().filter(A::has_end) {
            self.0.on_end(flow, &mut |event| emit(event.map(Either::First)));
        }
        if let Some(flow) = flow.second.take().filter(B::has_end) {
            self.1.on_end(flow, &mut |event| emit(event.map(Either::Second)));
        }
    }

    fn buffered_bytes(flow: &Self::Flow) -> usize {
        let first = flow.first.get().map_or(0, A::buffered_bytes);
        first.saturating_add(flow.second.get().map_or(0, B::buffered_bytes))
    }
}

impl<EA, EB, A: SharedState<EA>, B: SharedState<EB>> SharedState<Either<EA, EB>> for (A, B) {
    type Report = Either<A::Report, B::Report>;
    type Update = Either<A::Update, B::Update>;
    type Ticket = Either<A::Ticket, B::Ticket>;

    fn route(event: Either<EA, EB>) -> Route<Self::Report, Self::Update> {
        match event {
            Either::First(event) => match A::route(event) {
                Route::Report(report) => Route::Report(Either::First(report)),
                Route::Update(update) => Route::Update(Either::First(update)),
            },
            Either::Second(event) => match B::route(event) {
                Route::Report(report) => Route::Report(Either::Second(report)),
                Route::Update(update) => Route::Update(Either::Second(update)),
            },
        }
    }

    fn ticket<K>(event: &Event<K>, report: &Self::Report) -> Self::Ticket {
        match report {
            Either::First(report) => Either::First(A::ticket(event, report)),
            Either::Second(report) => Either::Second(B::ticket(event, report)),
        }
    }

    fn admits(&mut self, ticket: Self::Ticket) -> bool {
        match ticket {
            Either::First(ticket) => self.0.admits(ticket),
            Either::Second(ticket) => self.1.admits(ticket),
        }
    }

    fn on_update(&mut self, update: Event<Self::Update>, report: &mut impl FnMut(Event<Self::Report>)) {
        match update.split() {
            Either::First(update) => self.0.on_update(update, &mut |event| report(event.map(Either::First))),
            Either::Second(update) => {
                self.1.on_update(update, &mut |event| report(event.map(Either::Second)))
            }
        }
    }

    fn on_end(&mut self, report: &mut impl FnMut(Event<Self::Report>)) {
        self.0.on_end(&mut |event| report(event.map(Either::First)));
        self.1.on_end(&mut |event| report(event.map(Either::Second)));
    }
}

impl<A: Tally, B: Tally> Tally for (A, B) {
    fn add(&mut self, other: &Self) {
        self.0.add(&other.0);
        self.1.add(&other.1);
    }
}

impl<A, B> Event<Either<A, B>> {
    /// Returns the event of the first or of the second protocol.
    pub fn split(self) -> Either<Event<A>, Event<B>> {
        let (rest, kind) = self.into_parts();
        match kind {
            Either::First(kind) => Either::First(rest.with_kind(kind)),
            Either::Second(kind) => Either::Second(rest.with_kind(kind)),
        }
    }
}
