//! Protocols of the caller's own beside the built-in ones.

use std::mem;

use huginn_net_core::{
    Event, FlowId, Interest, NextSeq, Origin, PacketRef, Protocol, Route, Segment, Side, Timestamp,
};

use super::open_connection::OpenConnection;
use super::progress::Answered;
use super::{FlowState, Observers, ProtocolCounters};
use crate::Observation;
use crate::event_limits::EventFrame;
use crate::hosts::{FlowOutput, HostUpdate, Hosts};
use crate::observation::{IntoOwn, OwnObservation};
use crate::scope::Scope;

/// The built-in protocols and others, over one decode and one flow table: what [`Configure::with`](crate::Configure::with) makes.
///
/// The events of all are [`Observation`]s. Those of the others are within the same limits, and a connection with one of them is
/// [reported](crate::Configure::connections), too.
///
/// The sides of a flow are those of the protocol that starts it first, the built-in ones before the others. If the others take them for
/// exchanged, their events get the sides of the flow. The built-in protocols do not analyse a flow whose sides they take for exchanged, and
/// of several other protocols, the later ones do not analyse one whose sides differ from those of the earlier ones.
#[derive(Clone, Debug, Default)]
pub struct WithOwn<O> {
    pub(super) observers: Observers,
    pub(super) own: O,
}

impl<O> WithOwn<O> {
    /// The built-in protocols.
    pub fn observers(&self) -> &Observers {
        &self.observers
    }

    /// The other protocols: [`Own`], or pairs of them.
    pub fn own(&self) -> &O {
        &self.own
    }
}

impl<O> AsRef<Observers> for WithOwn<O> {
    fn as_ref(&self) -> &Observers {
        &self.observers
    }
}

impl AsRef<Self> for Observers {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A protocol whose events are described as [`OwnObservation`]s.
#[derive(Clone, Debug, Default)]
pub struct Own<P>(pub P);

impl<P: Protocol<SharedState = (), Event: Into<OwnObservation>>> Protocol for Own<P> {
    type Flow = P::Flow;
    type Event = OwnObservation;
    type SharedState = ();
    type Counters = P::Counters;

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self(self.0.fork())
    }

    fn join(&mut self, worker: Self) {
        self.0.join(worker.0);
    }

    fn update_settings(&mut self) {
        self.0.update_settings();
    }

    fn counters(&self) -> P::Counters {
        self.0.counters()
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        self.0.starts_flow(segment)
    }

    fn on_stray_segment(&mut self, segment: &Segment<'_>, emit: &mut impl FnMut(Side, OwnObservation)) {
        self.0.on_stray_segment(segment, &mut |side, event| emit(side, event.into()));
    }

    fn can_skip(&self, ts: Timestamp, sender: Side, flow: &P::Flow) -> bool {
        self.0.can_skip(ts, sender, flow)
    }

    fn skip_segment(&mut self, segment: &Segment<'_>, sender: Side, flow: &mut P::Flow) -> bool {
        self.0.skip_segment(segment, sender, flow)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut P::Flow,
        emit: &mut impl FnMut(Origin, OwnObservation),
    ) -> Interest {
        self.0.on_segment(segment, sender, flow, &mut |origin, event| emit(origin, event.into()))
    }

    fn next_seq(flow: &P::Flow, sender: Side) -> NextSeq {
        P::next_seq(flow, sender)
    }

    fn outlasts_connection(flow: &mut P::Flow, is_agreed: bool) -> bool {
        P::outlasts_connection(flow, is_agreed)
    }

    fn has_end(flow: &P::Flow) -> bool {
        P::has_end(flow)
    }

    fn on_end(&mut self, flow: P::Flow, emit: &mut impl FnMut(Event<OwnObservation>)) {
        self.0.on_end(flow, &mut |event| emit(event.map(Into::into)));
    }

    fn buffered_bytes(flow: &P::Flow) -> usize {
        P::buffered_bytes(flow)
    }
}

/// The state of one flow.
#[derive(Debug, Default)]
pub struct OwnFlow<F> {
    built_in: FlowState,
    built_in_stage: Stage,
    own: F,
    own_stage: Stage,
    /// Whether the client of the flow is the server for the other protocols.
    is_exchanged: bool,
}

impl<F> OwnFlow<F> {
    /// A side of the flow as the other protocols have it, and the reverse.
    fn own_side(&self, side: Side) -> Side {
        if self.is_exchanged { side.peer() } else { side }
    }
}

/// Whether protocols analyse a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No segment has [started](Protocol::starts_flow) the flow for them.
    #[default]
    Waiting,
    Open,
    /// They need no further segment.
    Done,
}

impl Stage {
    /// Opens the flow with the segment that starts it.
    fn open<P: Protocol>(&mut self, protocol: &P, segment: &Segment<'_>, sender: Side) {
        if *self == Self::Waiting && protocol.starts_flow(segment) == Some(sender) {
            *self = Self::Open;
        }
    }
}

impl<O: Protocol<Event: IntoOwn>> Protocol for WithOwn<O> {
    type Flow = OwnFlow<O::Flow>;
    type Event = Route<Observation, HostUpdate>;
    type SharedState = Hosts;
    type Counters = (ProtocolCounters, O::Counters);

    fn shared_state(&self) -> Hosts {
        self.observers.host_table()
    }

    fn fork(&self) -> Self {
        Self { observers: self.observers.fork(), own: self.own.fork() }
    }

    fn join(&mut self, worker: Self) {
        self.observers.join(worker.observers);
        self.own.join(worker.own);
    }

    fn update_settings(&mut self) {
        self.observers.update_settings();
        self.own.update_settings();
    }

    fn counters(&self) -> Self::Counters {
        (self.observers.counters(), self.own.counters())
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        self.observers.starts_flow(segment).or_else(|| self.own.starts_flow(segment))
    }

    fn on_stray_segment(&mut self, segment: &Segment<'_>, emit: &mut impl FnMut(Side, Self::Event)) {
        self.observers.on_stray_segment(segment, emit);
        self.own.on_stray_segment(segment, &mut |side, event| {
            emit(side, Route::Report(self.observers.own_observation(event)));
        });
    }

    // `can_skip` stays false: the limits of events and the summary of the connection count each segment, as those of `Observers` do, which
    // does not have it either.

    #[inline(always)]
    fn skip_segment(&mut self, segment: &Segment<'_>, sender: Side, flow: &mut Self::Flow) -> bool {
        flow.own_stage == Stage::Done
            && flow.built_in_stage == Stage::Open
            && self.observers.skip_segment(segment, sender, &mut flow.built_in)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Self::Flow,
        emit: &mut impl FnMut(Origin, Self::Event),
    ) -> Interest {
        let Self { observers, own } = self;
        let OwnFlow { built_in, built_in_stage, own: own_flow, own_stage, is_exchanged } = flow;
        built_in_stage.open(observers, segment, sender);
        if *built_in_stage == Stage::Open {
            if observers.on_segment(segment, sender, built_in, emit) == Interest::Done {
                *built_in_stage = Stage::Done;
            }
        } else {
            observers.on_other_segment(segment, sender, built_in);
        }
        if *own_stage == Stage::Waiting
            && let Some(own_sender) = own.starts_flow(segment)
        {
            (*own_stage, *is_exchanged) = (Stage::Open, own_sender != sender);
        }
        if *own_stage == Stage::Open {
            let own_side = |side: Side| if *is_exchanged { side.peer() } else { side };
            let mut has_reports = false;
            let interest = own.on_segment(segment, own_side(sender), own_flow, &mut |origin, event| {
                let frame = EventFrame::from_segment(segment);
                let answered = Answered::new(built_in.handshake, segment.tcp().is_some());
                if let Some((text_bytes, output)) = observers.own_output(event, frame, built_in) {
                    has_reports = true;
                    let subject = own_side(origin.subject);
                    let is_answered = answered.for_subject(subject);
                    emit(Origin { subject, text_bytes, is_answered, ..origin }, output);
                }
            });
            if has_reports && observers.has_connection_ends() {
                let flow = || FlowId::from_segment(segment, sender);
                built_in.protocols.note_report(PacketRef::from_segment(segment), flow);
            }
            if interest == Interest::Done {
                *own_stage = Stage::Done;
            }
        }
        let is_done = *built_in_stage == Stage::Done && *own_stage == Stage::Done;
        if is_done && !observers.connections { Interest::Done } else { Interest::More }
    }

    fn next_seq(flow: &Self::Flow, sender: Side) -> NextSeq {
        let built_in = Observers::next_seq(&flow.built_in, sender);
        let own = || match flow.own_stage {
            Stage::Waiting => NextSeq::Unread,
            Stage::Open | Stage::Done => O::next_seq(&flow.own, flow.own_side(sender)),
        };
        if matches!(built_in, NextSeq::Known(_)) { built_in } else { own().or(built_in) }
    }

    fn outlasts_connection(flow: &mut Self::Flow, is_agreed: bool) -> bool {
        Observers::outlasts_connection(&mut flow.built_in, is_agreed)
            || flow.own_stage != Stage::Waiting && O::outlasts_connection(&mut flow.own, is_agreed)
    }

    fn has_end(flow: &Self::Flow) -> bool {
        Observers::has_end(&flow.built_in) || flow.own_stage != Stage::Waiting && O::has_end(&flow.own)
    }

    fn on_end(&mut self, flow: Self::Flow, emit: &mut impl FnMut(Event<Self::Event>)) {
        let Self { observers, own } = self;
        let OwnFlow { mut built_in, own: own_flow, own_stage, is_exchanged, .. } = flow;
        if own_stage != Stage::Waiting && O::has_end(&own_flow) {
            // The summary of the connection comes last.
            own.on_end(own_flow, &mut |event| {
                let frame = EventFrame::from_event(&event);
                let mut admitted = None;
                let event = event.map(|own| admitted = observers.own_output(own, frame, &mut built_in));
                if let Some((text_bytes, output)) = admitted {
                    let mut event = event.map(|()| output);
                    event.text_bytes = text_bytes;
                    if is_exchanged {
                        event.subject = event.subject.peer();
                        mem::swap(&mut event.flow.client, &mut event.flow.server);
                    }
                    if observers.has_connection_ends() {
                        let packet = PacketRef { ts: event.ts, number: event.packet_number };
                        built_in.protocols.note_report(packet, || event.flow.clone());
                    }
                    emit(event);
                }
            });
        }
        if Observers::has_end(&built_in) {
            observers.on_end(built_in, emit);
        }
    }

    fn buffered_bytes(flow: &Self::Flow) -> usize {
        Observers::buffered_bytes(&flow.built_in).saturating_add(O::buffered_bytes(&flow.own))
    }
}

impl Observers {
    /// Counts a segment of a flow that only other protocols analyse: for the limits of events and the summary of the connection.
    fn on_other_segment(&self, segment: &Segment<'_>, sender: Side, flow: &mut FlowState) {
        if self.settings.scope != Scope::Full {
            return;
        }
        let FlowState { protocols, allowance, .. } = flow;
        let ratio = self.event_limits.max_output_ratio;
        allowance.add_segment(ratio, segment);
        if self.connections {
            let connection = protocols.connection.get_or_insert_with(|| {
                let is_reserved = allowance.reserve_summary(ratio, segment);
                Box::new(OpenConnection::new(segment, sender, is_reserved))
            });
            connection.on_segment(segment, sender);
        }
    }

    /// An event of another protocol, with limited texts.
    fn own_observation(&self, event: impl IntoOwn) -> Observation {
        let mut own = event.into_own();
        own.limit_texts(self.event_limits.text());
        Observation::Own(Box::new(own))
    }

    /// An event of another protocol, and its [bytes](Event::text_bytes), if the connection may report it.
    fn own_output(
        &mut self,
        event: impl IntoOwn,
        frame: EventFrame,
        flow: &mut FlowState,
    ) -> Option<(u32, FlowOutput)> {
        let output = Route::Report(self.own_observation(event));
        if self.settings.scope != Scope::Full {
            return Some((0, output));
        }
        if let Some(connection) = &mut flow.protocols.connection {
            connection.on_output(&output, Side::Client);
        }
        let text_bytes = flow.allowance.admits(&self.event_limits.of_connection(), frame, &output);
        if text_bytes.is_none() {
            self.count_suppressed(1);
        }
        Some((text_bytes?, output))
    }
}
