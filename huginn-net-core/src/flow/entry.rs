//! The flow table's entry for one flow.

use std::hash::BuildHasher;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;

use super::ending::Ending;
use super::flow_limits::SynLifetime;
use super::idle_map::Phase;
use super::lazy_segment::SegmentMeta;
use super::{FlowEvents, FlowKey, FlowOrder, Occasion};
use crate::limits::{MAX_CANDIDATE_BYTES, MAX_CONNECTION_BYTES};
use crate::{Event, Interest, NextSeq, Protocol, Segment, Side, TcpFlags};

/// The engine's state of one flow, around the protocol's own.
#[derive(Debug)]
pub(super) struct FlowEntry<S> {
    pub(super) state: S,
    /// The connection of a SYN that came in the middle of this one, until the server answers it.
    candidate: Option<Box<Self>>,
    /// Capture time of the last SYN of this connection, in nanoseconds, if a SYN started the flow.
    pub(super) last_syn_nanos: u64,
    /// Number of the first packet.
    first_packet: u64,
    /// Sequence number of that SYN; of a flow that started in the middle, the one before the first seen of the client.
    syn_seq: u32,
    ending: Ending,
    /// Whether a SYN, or its SYN+ACK, started the flow.
    started_by_syn: bool,
    /// Whether the client is the low endpoint of the key.
    pub(super) client_is_low: bool,
    /// Whether the low endpoint of the key sent the first segment.
    first_is_low: bool,
    /// Whether both sides sent a segment.
    pub(super) is_bidirectional: bool,
    pub(super) phase: Phase,
    /// Whether a segment without SYN, FIN and RST cannot change the phase.
    pub(super) is_steady: bool,
    pub(super) interest: Interest,
}

/// A connection that has ended.
pub(super) struct EndedFlow<S> {
    pub(super) state: S,
    pub(super) first_packet: u64,
}

/// The connection on a 4-tuple to which a segment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// That of the flow.
    Current,
    /// Another one, which replaces it.
    Other,
    /// That of the candidate, or a SYN that makes one: the flow has seen more than its own SYN.
    Candidate,
    /// That of the candidate, which the server confirms.
    Confirmed,
}

impl<S> FlowEntry<S> {
    pub(super) fn new(segment: &Segment<'_>, sender_is_low: bool, sender: Side) -> Self
    where
        S: Default,
    {
        let opening = initial_seq(segment).or_else(|| answered_seq(segment));
        let first_seq = || match (segment.tcp(), sender) {
            (Some(tcp), Side::Client) => tcp.seq.wrapping_sub(1),
            (Some(tcp), Side::Server) => tcp.ack.wrapping_sub(1),
            (None, _) => 0,
        };
        Self {
            state: S::default(),
            candidate: None,
            syn_seq: opening.unwrap_or_else(first_seq),
            ending: Ending::default(),
            last_syn_nanos: segment.ts.as_nanos(),
            first_packet: segment.packet_number,
            started_by_syn: opening.is_some(),
            client_is_low: sender_is_low == (sender == Side::Client),
            first_is_low: sender_is_low,
            is_bidirectional: false,
            phase: first_phase(segment),
            is_steady: segment.tcp().is_none(),
            interest: Interest::More,
        }
    }

    /// Returns the connection to which a segment on the 4-tuple of the flow belongs.
    ///
    /// A retransmission of the flow's SYN restarts the SYN lifetime, except that of p0f.
    pub(super) fn connection_of<P: Protocol<Flow = S>>(
        &mut self,
        segment: &Segment<'_>,
        sender_is_low: bool,
        syn_lifetime: SynLifetime,
    ) -> Connection {
        if initial_seq(segment).is_none() {
            return self.candidate.as_ref().map_or(Connection::Current, |candidate| {
                self.current_or_candidate(candidate, segment, sender_is_low)
            });
        }
        let has_ended = self.ending.is_agreed();
        if !has_ended && self.repeats_syn(segment, sender_is_low, syn_lifetime) {
            return Connection::Current;
        }
        let is_open = self.is_bidirectional || self.candidate.is_some() || P::buffered_bytes(&self.state) > 0;
        if is_open && !has_ended && self.interest == Interest::More {
            Connection::Candidate
        } else {
            Connection::Other
        }
    }

    /// Whether a segment is a retransmission of the SYN that started the flow.
    pub(super) fn repeats_syn(
        &mut self,
        segment: &Segment<'_>,
        sender_is_low: bool,
        syn_lifetime: SynLifetime,
    ) -> bool {
        let is_same = self.started_by_syn
            && initial_seq(segment) == Some(self.syn_seq)
            && self.client_is_low == sender_is_low;
        if !is_same {
            return false;
        }
        syn_lifetime.has_retransmission(self.first_packet, &mut self.last_syn_nanos, segment)
    }

    /// Returns the connection of a segment that is not a SYN. The server confirms the candidate if it answers its SYN.
    ///
    /// Without the SYN+ACK, the segments decide, if their numbers cannot be those of this connection.
    fn current_or_candidate(
        &self,
        candidate: &Self,
        segment: &Segment<'_>,
        sender_is_low: bool,
    ) -> Connection {
        let Some(tcp) = segment.tcp() else { return Connection::Current };
        let first = candidate.syn_seq.wrapping_add(1);
        let (seq, connection) = match candidate.sender(sender_is_low) {
            Side::Server => (tcp.ack, Connection::Confirmed),
            Side::Client => (tcp.seq, Connection::Candidate),
        };
        let is_apart = self.client_is_low == candidate.client_is_low
            && candidate.syn_seq.wrapping_sub(self.syn_seq) > MAX_CONNECTION_BYTES
            && self.syn_seq.wrapping_sub(candidate.syn_seq) > MAX_CANDIDATE_BYTES;
        let is_other = if tcp.flags.is_syn_ack() {
            seq == first && connection == Connection::Confirmed
        } else {
            let is_ack = tcp.flags.contains(TcpFlags::ACK)
                && !tcp.flags.intersects(TcpFlags::SYN.union(TcpFlags::RST));
            is_ack && is_apart && seq.wrapping_sub(first) <= MAX_CANDIDATE_BYTES
        };
        if is_other { connection } else { Connection::Current }
    }

    /// Takes what a segment says of the phase of the connection, before the protocol takes the segment.
    pub(super) fn update_phase<P: Protocol<Flow = S>>(&mut self, segment: &Segment<'_>, sender_is_low: bool) {
        let Some(tcp) = segment.tcp() else { return };
        let (sender, is_opening) = (self.sender(sender_is_low), self.phase == Phase::Opening);
        let is_reset = tcp.flags.contains(TcpFlags::RST);
        let is_alone = !self.is_bidirectional && self.has_seen(sender_is_low);
        if tcp.flags.is_fin_or_rst() || self.ending.has_begun() {
            let next = if self.interest == Interest::Done {
                NextSeq::Unread
            } else {
                P::next_seq(&self.state, sender)
            };
            let refuses = is_opening
                && is_reset
                && sender == Side::Server
                && tcp.flags.contains(TcpFlags::ACK)
                && tcp.ack == self.syn_seq.wrapping_add(1);
            let captured = u32::try_from(segment.payload.len()).unwrap_or(u32::MAX);
            let len = captured.saturating_add(segment.payload_missing);
            self.ending.on_segment(tcp, len, sender, next, is_alone, refuses);
        }
        let stays = is_opening && (is_reset || is_alone && tcp.flags.contains(TcpFlags::SYN));
        self.phase = match self.ending.phase() {
            Phase::Open if stays => Phase::Opening,
            Phase::Closing | Phase::Ended if self.outlasts_connection::<P>() => Phase::Open,
            phase => phase,
        };
        self.is_steady = self.phase == Phase::Open && !self.ending.has_begun() && self.candidate.is_none();
    }

    /// Whether the flow stays after this end for as long as an open one.
    fn outlasts_connection<P: Protocol<Flow = S>>(&mut self) -> bool {
        let is_read = self.interest == Interest::More;
        self.candidate.is_some()
            || is_read && P::outlasts_connection(&mut self.state, self.ending.is_agreed())
    }

    /// Takes what is reported at the end of the connection, and of its [candidate](Self::take_candidate).
    pub(super) fn take_ends(&mut self) -> [Option<EndedFlow<S>>; 2]
    where
        S: Default,
    {
        let candidate = self.take_candidate().map(|candidate| candidate.into_ended());
        let Self { state, first_packet, .. } = self;
        [Some(EndedFlow { state: std::mem::take(state), first_packet: *first_packet }), candidate]
    }

    /// What is reported at the end of the connection.
    pub(super) fn into_ended(self) -> EndedFlow<S> {
        EndedFlow { state: self.state, first_packet: self.first_packet }
    }

    /// Takes the connection of a SYN that came in the middle of this one.
    pub(super) fn take_candidate(&mut self) -> Option<Box<Self>> {
        self.candidate.take()
    }

    pub(super) fn set_candidate(&mut self, candidate: Option<Box<Self>>) {
        if candidate.is_some() {
            // It lives no longer than this flow.
            (self.phase, self.is_steady) = (Phase::Open, false);
        }
        self.candidate = candidate;
    }

    /// Returns the heap memory of the flow, in bytes.
    #[inline]
    pub(super) fn buffered_bytes<P: Protocol<Flow = S>>(&self) -> usize {
        let own = P::buffered_bytes(&self.state);
        self.candidate.as_ref().map_or(own, |candidate| {
            own.saturating_add(size_of::<Self>()).saturating_add(candidate.buffered_bytes::<P>())
        })
    }

    pub(super) fn has_end<P: Protocol<Flow = S>>(&self) -> bool {
        P::has_end(&self.state)
            || self.candidate.as_ref().is_some_and(|candidate| P::has_end(&candidate.state))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a part of the hash")]
    pub(super) fn order(&self, key: &FlowKey) -> FlowOrder {
        // The same on every machine, other than the hash of the partitions.
        FlowOrder { first_packet: self.first_packet, hash: FixedState::default().hash_one(key) as u32 }
    }

    #[inline]
    pub(super) fn sender(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.client_is_low { Side::Client } else { Side::Server }
    }

    /// Whether this side sent a segment before.
    #[inline(always)]
    pub(super) fn has_seen(&self, sender_is_low: bool) -> bool {
        self.is_bidirectional || sender_is_low == self.first_is_low
    }

    /// Whether the protocol skips a segment that neither starts nor ends a connection, whatever its sequence number and payload.
    #[inline(always)]
    pub(super) fn skips_unread<P: Protocol<Flow = S>>(&self, protocol: &P, meta: &SegmentMeta) -> bool {
        let sender = self.sender(meta.sender_is_low);
        self.interest == Interest::Done || protocol.can_skip(meta.ts, sender, &self.state)
    }

    /// Passes a segment to the protocol. Breaks when `events` does.
    #[inline]
    pub(super) fn on_segment<P: Protocol<Flow = S>>(
        &mut self,
        protocol: &mut P,
        segment: &Segment<'_>,
        sender_is_low: bool,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        let (sender, first_packet) = (self.sender(sender_is_low), self.first_packet);
        let mut outcome = ControlFlow::Continue(());
        self.interest = protocol.on_segment(segment, sender, &mut self.state, &mut |origin, kind| {
            if outcome.is_continue() {
                let event = Event::from_segment(segment, sender, origin, kind);
                outcome = events.on_event(Occasion::Segment, Event { first_packet, ..event });
            }
        });
        outcome
    }
}

/// The phase of a flow before its first segment.
fn first_phase(segment: &Segment<'_>) -> Phase {
    match segment.tcp() {
        None => Phase::Datagrams,
        Some(tcp) if tcp.flags.contains(TcpFlags::SYN) => Phase::Opening,
        Some(_) => Phase::Open,
    }
}

/// Returns the sequence number of an initial SYN.
pub(super) fn initial_seq(segment: &Segment<'_>) -> Option<u32> {
    segment.tcp().filter(|tcp| tcp.flags.is_initial_syn()).map(|tcp| tcp.seq)
}

/// The sequence number of the SYN that a SYN+ACK answers.
fn answered_seq(segment: &Segment<'_>) -> Option<u32> {
    segment.tcp().filter(|tcp| tcp.flags.is_syn_ack()).map(|tcp| tcp.ack.wrapping_sub(1))
}
