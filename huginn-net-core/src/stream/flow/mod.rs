//! One TCP connection and its parsers.

mod first_segment;
mod open;
#[cfg(all(test, target_pointer_width = "64"))]
mod sizes;
mod visitors;

use self::first_segment::FirstSegment;
use self::open::Open;
use self::visitors::{ParserStatus, PartialMessage, Resume};
use super::initial_seq::{InitialSeq, InitialSeqs};
use super::padded_ack::may_be_padding;
use super::{ParserSet, StreamCounters, StreamData, StreamInput};
use crate::limits::MAX_OUT_OF_ORDER_BYTES;
use crate::{FlowId, Interest, NextSeq, Segment, Side, TcpFlags, TcpHeader};

/// Reassembles one TCP connection for a set of parsers.
///
/// The flow allocates nothing before the first payload. If every parser [summarizes](crate::StreamParser::summarize) that
/// payload, the flow stores only the numbers of its segment until more data arrives. A side that no parser reads is
/// not buffered, and the flow ends when no parser reads either side.
#[derive(Debug)]
pub struct StreamFlow<S> {
    initial: InitialSeqs,
    /// Heap memory of an open connection, in bytes.
    buffered_bytes: u32,
    state: State<S>,
}

#[derive(Debug)]
enum State<S> {
    NoData,
    /// Only one segment with payload was captured, and every parser summarized it.
    FirstSegment(FirstSegment),
    Open(Box<Open<S>>),
    Done,
}

impl<S> Default for StreamFlow<S> {
    fn default() -> Self {
        Self { initial: InitialSeqs::default(), buffered_bytes: 0, state: State::NoData }
    }
}

impl<S: ParserSet> StreamFlow<S> {
    /// Processes the next segment of the connection, with its payload [without padding](super::without_padding).
    ///
    /// `new_parsers` creates the parsers at the first data, and again after a summarized segment. `feed` passes data
    /// to each parser of the set with [`ParserSlot::on_data`](crate::ParserSlot::on_data).
    #[inline]
    pub fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        new_parsers: impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> Interest {
        let skipped = segment.tcp().and_then(|tcp| self.skip_segment(tcp, payload.len(), sender));
        skipped.unwrap_or_else(|| self.read_segment(segment, payload, sender, counters, new_parsers, feed))
    }

    /// Processes a segment as [`on_segment`](Self::on_segment) does, after [`skip_segment`](Self::skip_segment) returned
    /// `None` for it.
    ///
    /// Payload that could be skipped is read, to the same effect.
    pub fn read_segment(
        &mut self,
        segment: &Segment<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        new_parsers: impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else { return Interest::Done };
        if let Some(seq) = self.follows_another_syn(tcp, sender) {
            self.initial.first_bytes = [Some(InitialSeq { seq, from_syn: false }), None];
            (self.state, self.buffered_bytes) = (State::NoData, 0);
        }
        match &mut self.state {
            State::NoData => {
                self.initial.update(tcp, sender);
                if !payload.is_empty() {
                    self.open(segment, tcp, payload, sender, counters, &new_parsers, feed);
                }
            }
            State::FirstSegment(first) => {
                if first.is_acknowledged_by(tcp, payload, sender) {
                    first.forget();
                    self.buffered_bytes = 0;
                    return Interest::More;
                }
                let mut open = first.resume(self.initial, new_parsers());
                let status = open.read_segment(segment, tcp, payload, sender, counters, &new_parsers, feed);
                self.set_state(open, &status, counters);
            }
            State::Open(open) => {
                let status = open.read_segment(segment, tcp, payload, sender, counters, &new_parsers, feed);
                if open.is_watching {
                    open.connection.count_expected(counters);
                }
                if status.is_done() {
                    (self.state, self.buffered_bytes) = (State::Done, 0);
                } else {
                    self.buffered_bytes = open.heap_bytes(&status);
                }
            }
            State::Done => {}
        }
        match self.state {
            State::Done => Interest::Done,
            State::NoData | State::FirstSegment(_) | State::Open(_) => Interest::More,
        }
    }

    /// Processes a segment as [`on_segment`](Self::on_segment) does, if no parser reads it, as with most: an
    /// acknowledgement, or the next part of a body. Otherwise changes nothing and returns `None`.
    #[inline(always)]
    pub fn skip_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload_len: usize,
        sender: Side,
    ) -> Option<Interest> {
        if !matches!(self.state, State::Open(_)) || self.follows_another_syn(tcp, sender).is_some() {
            return None;
        }
        let State::Open(open) = &mut self.state else { return None };
        if !open.skip_segment(tcp, payload_len, sender) {
            return None;
        }
        if open.is_watching && open.connection.is_settled() {
            (self.state, self.buffered_bytes) = (State::Done, 0);
            return Some(Interest::Done);
        }
        Some(Interest::More)
    }

    /// Processes a segment as [`on_segment`](Self::on_segment) does, if no parser reads it and the connection goes on
    /// unchanged; see [`Protocol::skip_segment`](crate::Protocol::skip_segment).
    #[inline(always)]
    pub fn skip_unread(&mut self, segment: &Segment<'_>, sender: Side) -> bool {
        let (State::Open(open), Some(tcp)) = (&self.state, segment.tcp()) else { return false };
        !open.is_watching
            && !may_be_padding(segment.payload)
            && self.skip_segment(tcp, segment.payload.len(), sender).is_some()
    }

    /// The sequence number with which a side goes on; see [`Protocol::next_seq`](crate::Protocol::next_seq).
    pub fn next_seq(&self, sender: Side) -> NextSeq {
        let next = match &self.state {
            State::NoData => {
                let [client, server] = self.initial.first_bytes;
                sender.choose(client, server).map(|initial| initial.seq)
            }
            State::FirstSegment(first) => first.next_seq(sender),
            State::Open(open) => match open.connection.direction(sender) {
                Some(direction) => direction.next_seq(),
                None => return NextSeq::Unread,
            },
            State::Done => return NextSeq::Unread,
        };
        next.map_or(NextSeq::Unknown, NextSeq::Known)
    }

    /// Whether a parser waits for its first message, for the rest of one, or for others that it can read only with its
    /// [state](crate::StreamParser::needs_state).
    pub fn awaits_message(&mut self) -> bool {
        match &mut self.state {
            State::NoData => self.initial.has_seen != [false; 2],
            // A summary stands for a message whose answer is not there yet.
            State::FirstSegment(_) => true,
            State::Done => false,
            State::Open(open) => {
                let mut partial = PartialMessage(false);
                open.parsers.visit(&mut partial);
                partial.0 || open.connection.has_pending()
            }
        }
    }

    /// Returns the heap memory of the connection, in bytes.
    #[inline]
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes as usize
    }

    /// Whether [`on_end`](Self::on_end) may deliver data or count bytes.
    pub fn has_end(&self) -> bool {
        matches!(&self.state, State::Open(open) if open.flow.is_some() || !open.is_watching)
    }

    /// Returns the parsers, while they read data.
    pub fn parsers_mut(&mut self) -> Option<&mut S> {
        match &mut self.state {
            State::Open(open) => Some(&mut open.parsers),
            _ => None,
        }
    }

    /// Returns the parsers, while they read data.
    pub fn parsers(&self) -> Option<&S> {
        match &self.state {
            State::Open(open) => Some(&open.parsers),
            _ => None,
        }
    }

    /// Delivers what waits for the end of the connection: data after gaps, and contents that compete with those
    /// delivered. `feed` also takes the flow. Each input has the packet of its data.
    pub fn on_end(
        self,
        counters: &mut StreamCounters,
        new_parsers: impl Fn() -> S,
        mut feed: impl FnMut(&FlowId, &mut S, StreamInput<'_>),
    ) {
        let State::Open(mut open) = self.state else { return };
        open.connection.count_expected(counters);
        if let Some(flow) = open.flow.take() {
            open.on_end(counters, &new_parsers, &mut |parsers, input| feed(&flow, parsers, input));
        }
    }

    /// Returns the sequence number at which the client continues, if a segment belongs to the connection of another SYN
    /// than the one that started the flow: the server answers the other SYN, or does not answer this one, and the numbers
    /// of both sides lie before it. This SYN, and data after it, are then not part of the connection.
    #[inline(always)]
    fn follows_another_syn(&self, tcp: &TcpHeader<'_>, sender: Side) -> Option<u32> {
        let [client, server] = self.initial.first_bytes;
        let client =
            client.filter(|client| client.from_syn && server.is_none_or(|server| !server.from_syn))?;
        self.seq_after_another_syn(client, tcp.flags, tcp.seq, tcp.ack, sender)
    }

    /// Returns the sequence number of [`follows_another_syn`](Self::follows_another_syn) while the server has not answered
    /// the SYN of the client. Takes numbers instead of the header, which is then not built for most segments.
    #[inline(never)]
    fn seq_after_another_syn(
        &self,
        client: InitialSeq,
        flags: TcpFlags,
        seq: u32,
        ack: u32,
        sender: Side,
    ) -> Option<u32> {
        const PART: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::RST);
        let flags = flags & PART;
        let seq = match sender {
            Side::Client if flags == TcpFlags::ACK => seq,
            Side::Server if flags.contains(TcpFlags::ACK) && !flags.contains(TcpFlags::RST) => ack,
            Side::Client | Side::Server => return None,
        };
        let ahead = seq.wrapping_sub(client.seq);
        let is_far = flags.contains(TcpFlags::SYN) && ahead > u32::from(u16::MAX);
        let is_other = ahead.cast_signed() < -1 || is_far;
        (is_other && self.is_near_start()).then_some(seq)
    }

    /// Whether the client has sent so little that its sequence numbers lie after that of its SYN.
    fn is_near_start(&self) -> bool {
        match &self.state {
            State::Open(open) => open.connection.is_near_start(),
            State::NoData | State::FirstSegment(_) | State::Done => true,
        }
    }

    /// Processes the first segment with payload.
    #[expect(clippy::too_many_arguments, reason = "the arguments of on_segment, and its parsed header")]
    fn open(
        &mut self,
        segment: &Segment<'_>,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        new_parsers: &impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) {
        let initial = self.initial;
        let mut parsers = new_parsers();
        let mut first = FirstSegment::new(initial, segment, tcp, payload, sender);
        let is_first = first.is_some();
        if let Some(mut first) = first.take() {
            let data = StreamData::Bytes(payload);
            feed(
                &mut parsers,
                StreamInput {
                    side: sender,
                    data,
                    start: initial.start,
                    packet: None,
                    conflict: None,
                    conflicting_packet: None,
                    is_first_segment: true,
                },
            );
            if first.take_summaries(&mut parsers) {
                first.keep(payload, segment.packet_number);
                self.buffered_bytes = first.len.into();
                self.state = State::FirstSegment(first);
                return;
            }
        }
        let mut open = Open::new(initial, parsers);
        let status = if is_first {
            open.connection.on_segment(
                segment,
                payload,
                sender,
                MAX_OUT_OF_ORDER_BYTES,
                &mut StreamCounters::default(),
                &mut |_, _, _| {},
            );
            let mut resume = Resume { start: initial.start, sender, len: payload.len() };
            open.parsers.visit(&mut resume);
            open.status()
        } else {
            open.on_segment(segment, tcp, payload, sender, counters, new_parsers, feed)
        };
        self.set_state(open, &status, counters);
    }

    fn set_state(&mut self, mut open: Open<S>, status: &ParserStatus, counters: &mut StreamCounters) {
        if open.is_watching {
            open.connection.count_expected(counters);
        }
        if status.is_done() {
            (self.state, self.buffered_bytes) = (State::Done, 0);
        } else {
            self.buffered_bytes = open.heap_bytes(status);
            self.state = State::Open(Box::new(open));
        }
    }
}
