//! One TCP connection and its parsers.

use super::initial_seq::{InitialSeq, InitialSeqs};
use super::padded_ack::may_be_padding;
use super::parser_slot::SlotState;
use super::segment_traits::SegmentTraits;
use super::tcp_direction::without_urgent;
use super::{
    ParserSet, ParserSlot, ParserVisitor, StreamCounters, StreamData, StreamInput, StreamParser, StreamStart,
    TcpConnection, side_mut,
};
use crate::limits::{MAX_FIRST_SEGMENT_LEN, MAX_OUT_OF_ORDER_BYTES, MAX_RESUMABLE_PARSERS};
use crate::{FlowId, Interest, PacketRef, Segment, Side, TcpFlags, TcpHeader};

/// Reassembles one TCP connection for a set of parsers.
///
/// The flow allocates nothing before the first payload. If every parser [summarizes](StreamParser::summarize) that
/// payload, the flow stores only the numbers of its segment until more data arrives. A side that no parser reads is
/// not buffered, and the flow ends when no parser reads either side.
#[derive(Debug)]
pub struct StreamFlow<S> {
    initial: InitialSeqs,
    start: StreamStart,
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

#[derive(Debug)]
struct Open<S> {
    connection: TcpConnection,
    start: StreamStart,
    /// The flow, once something waits for the end of the connection: segments after a gap, or other contents.
    flow: Option<Box<FlowId>>,
    /// Whether all parsers are done, and only the receiver's acknowledgement is awaited.
    is_watching: bool,
    parsers: S,
}

impl<S> Default for StreamFlow<S> {
    fn default() -> Self {
        Self {
            initial: InitialSeqs::default(),
            start: StreamStart::Midstream,
            buffered_bytes: 0,
            state: State::NoData,
        }
    }
}

impl<S: ParserSet> StreamFlow<S> {
    /// Processes the next segment of the connection, with its payload [without padding](super::without_padding).
    ///
    /// `new_parsers` creates the parsers at the first data, and again after a summarized segment. `feed` passes data
    /// to each parser of the set with [`ParserSlot::on_data`].
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
                if tcp.flags.contains(TcpFlags::SYN) {
                    self.start = StreamStart::Handshake;
                }
                if !payload.is_empty() {
                    self.open(segment, tcp, payload, sender, counters, &new_parsers, feed);
                }
            }
            State::FirstSegment(first) => {
                if first.is_acknowledged_by(tcp, payload, sender) {
                    first.bytes = None;
                    self.buffered_bytes = 0;
                    return Interest::More;
                }
                let mut open = first.resume(self.initial, self.start, new_parsers());
                let status = open.on_segment(segment, tcp, payload, sender, counters, &new_parsers, feed);
                self.set_state(open, &status, counters);
            }
            State::Open(open) => {
                let status = if open.accept_in_order(tcp, payload.len(), sender) {
                    open.on_payload(segment, payload, sender, feed)
                } else {
                    open.on_segment(segment, tcp, payload, sender, counters, &new_parsers, feed)
                };
                if open.is_watching {
                    open.connection.count_expected(counters);
                }
                if status.is_done() {
                    (self.state, self.buffered_bytes) = (State::Done, 0);
                } else {
                    self.buffered_bytes = buffered_bytes(open, &status);
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
        let Self { initial, start, .. } = *self;
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
                    start,
                    packet: None,
                    conflict: None,
                    is_first_segment: true,
                },
            );
            if first.take_summaries(&mut parsers) {
                if sender == Side::Client {
                    first.bytes = Some(payload.into());
                    self.buffered_bytes = first.len.into();
                }
                self.state = State::FirstSegment(first);
                return;
            }
        }
        let mut open = Open::new(initial, start, parsers);
        let status = if is_first {
            open.connection.on_segment(
                segment,
                payload,
                sender,
                MAX_OUT_OF_ORDER_BYTES,
                &mut StreamCounters::default(),
                &mut |_, _, _| {},
            );
            let mut resume = Resume { start, sender, len: payload.len() };
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
            self.buffered_bytes = buffered_bytes(&open, status);
            self.state = State::Open(Box::new(open));
        }
    }
}

fn buffered_bytes<S>(open: &Open<S>, status: &ParserStatus) -> u32 {
    let bytes = size_of::<Open<S>>()
        .saturating_add(open.connection.buffered_bytes())
        .saturating_add(status.buffered)
        .saturating_add(open.flow.as_ref().map_or(0, |_| size_of::<FlowId>()));
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl<S: ParserSet> Open<S> {
    fn new(initial: InitialSeqs, start: StreamStart, parsers: S) -> Self {
        let connection = TcpConnection::new(initial);
        Self { connection, start, flow: None, is_watching: false, parsers }
    }

    /// Whether the segment is the next in order and changes nothing else, as most are. Reassembly then counts its
    /// payload as delivered.
    #[inline(always)]
    fn accept_in_order(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        !tcp.flags.is_fin_or_rst() && self.connection.accept_in_order(tcp, payload_len, sender)
    }

    /// Skips the segment if every parser permits it.
    #[inline(always)]
    fn skip_segment(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        if !self.connection.may_skip(payload_len, sender) || !self.accept_in_order(tcp, payload_len, sender) {
            return false;
        }
        if payload_len > 0 {
            self.connection.pass_skippable(payload_len, sender);
            self.parsers.visit(&mut Skip { side: sender, len: payload_len as u64 });
        }
        true
    }

    /// Feeds the next payload to the parsers.
    #[inline]
    fn on_payload(
        &mut self,
        segment: &Segment<'_>,
        payload: &[u8],
        sender: Side,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> ParserStatus {
        // Parsers that began again after a conflict do not get the bytes of a side that none of them read before.
        if self.connection.direction_mut(sender).is_none() {
            return self.status();
        }
        feed(&mut self.parsers, StreamInput::new(sender, StreamData::Bytes(payload), self.start));
        self.connection.keep_unsettled(segment, payload, sender);
        self.status()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of StreamFlow::on_segment, and its parsed header"
    )]
    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        new_parsers: &impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> ParserStatus {
        let is_end = tcp.flags.is_fin_or_rst();
        if is_end {
            self.parsers.visit(&mut Close);
        }
        let Self { connection, start, parsers, .. } = self;
        let now = segment.packet_number;
        let mut deliver = |side, data: StreamData<'_>, packet: PacketRef| {
            let packet = Some(packet).filter(|packet| packet.number != now);
            feed(parsers, StreamInput { packet, ..StreamInput::new(side, data, *start) });
        };
        connection.on_segment(segment, payload, sender, MAX_OUT_OF_ORDER_BYTES, counters, &mut deliver);
        // Without segments of the receiver, nothing acknowledges a gap before the end.
        if !*side_mut(&mut connection.has_seen, sender.peer())
            && let Some(direction) = connection.direction_mut(sender)
            && direction.has_buffered()
            && is_end
        {
            direction.skip_gaps(counters, &mut |data, packet| deliver(sender, data, packet));
        }
        if self.connection.has_alternatives() {
            let is_answer = sender == Side::Server && !payload.is_empty();
            let at_end = is_end || self.connection.has_full_alternatives();
            if is_answer || at_end {
                self.feed_alternatives(at_end, new_parsers, feed);
            }
        }
        let status = self.status();
        if self.flow.is_none() && self.connection.has_pending() {
            self.flow = Some(Box::new(FlowId::from_segment(segment, sender)));
        }
        status
    }

    /// Feeds each content that competes with the delivered one to new parsers.
    fn feed_alternatives(
        &mut self,
        at_end: bool,
        new_parsers: &impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) {
        let Some((found, is_behind)) = self.connection.take_alternatives(at_end) else { return };
        let urgent = self.connection.direction_mut(Side::Client).and_then(|direction| direction.urgent());
        let urgent = urgent.filter(|_| !found.keeps_urgent);
        let start = if found.start() == 0 { self.start } else { StreamStart::Midstream };
        let side = Side::Client;
        for (bytes, packet) in found.contents() {
            let mut parsers = new_parsers();
            let (before, after) = without_urgent(bytes, found.start(), urgent);
            for part in [before, after] {
                if !part.is_empty() {
                    let input = StreamInput::new(side, StreamData::Bytes(part), start);
                    feed(&mut parsers, StreamInput { packet, conflict: found.reason, ..input });
                }
            }
        }
        if is_behind {
            feed(&mut self.parsers, StreamInput::new(side, StreamData::Gap(u64::MAX), self.start));
        }
        if found.differs {
            let mut enabled = Enabled { bits: 0, index: 0 };
            new_parsers().visit(&mut enabled);
            self.parsers.visit(&mut EndConflict { enabled: enabled.bits, index: 0 });
            self.connection.read_again(side);
        }
    }

    /// Delivers what waits for the end of the connection.
    fn on_end(
        &mut self,
        counters: &mut StreamCounters,
        new_parsers: &impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) {
        let Self { connection, start, parsers, .. } = self;
        for side in [Side::Client, Side::Server] {
            if let Some(direction) = connection.direction_mut(side) {
                direction.skip_gaps(counters, &mut |data, packet| {
                    let input = StreamInput::new(side, data, *start);
                    feed(parsers, StreamInput { packet: Some(packet), ..input });
                });
            }
        }
        self.feed_alternatives(true, new_parsers, feed);
    }

    /// Drops the parsers that are done, and the directions that no parser reads.
    fn status(&mut self) -> ParserStatus {
        let mut status = ParserStatus {
            reads: [false; 2],
            skippable: [u64::MAX; 2],
            buffered: 0,
            is_mid_message: false,
            is_settled: true,
            has_copy: self.connection.has_copy(),
        };
        self.parsers.visit(&mut status);
        self.connection.set_skippable(status.skippable);
        let [reads_client, reads_server] = status.reads;
        self.is_watching = !reads_client && !reads_server;
        if !reads_client {
            let is_free = self.connection.stop_reading(Side::Client);
            status.is_settled &= is_free;
        } else if let Some(direction) = self.connection.direction_mut(Side::Client) {
            direction.is_mid_message = status.is_mid_message;
        }
        if !reads_server {
            self.connection.stop_reading(Side::Server);
        }
        status
    }
}

/// The numbers of the first segment with payload, from which the connection can be rebuilt.
#[derive(Debug)]
struct FirstSegment {
    seq: u32,
    ack: u32,
    flags: TcpFlags,
    len: u16,
    sender: Side,
    /// A bit for each parser that summarized the payload.
    summarized: u8,
    summaries: [u8; MAX_RESUMABLE_PARSERS],
    traits: SegmentTraits,
    /// The payload, until the receiver acknowledges it.
    bytes: Option<Box<[u8]>>,
}

impl FirstSegment {
    /// Describes the first segment of a connection whose directions begin at `initial`. Returns `None` if the segment is
    /// long, or a [`TcpConnection`] would not deliver its complete payload at once.
    fn new(
        initial: InitialSeqs,
        segment: &Segment<'_>,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
    ) -> Option<Self> {
        let len =
            u16::try_from(payload.len()).ok().filter(|len| usize::from(*len) <= MAX_FIRST_SEGMENT_LEN)?;
        let is_plain = !tcp.flags.contains(TcpFlags::URG);
        (is_plain && initial.are_in_order(tcp, sender, MAX_OUT_OF_ORDER_BYTES)).then(|| Self {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            len,
            sender,
            summarized: 0,
            summaries: [0; MAX_RESUMABLE_PARSERS],
            traits: SegmentTraits::from_segment(segment),
            bytes: None,
        })
    }

    /// Stores the summaries of all parsers. Returns false if a parser has none and must remain.
    fn take_summaries(&mut self, parsers: &mut impl ParserSet) -> bool {
        let mut take = SaveSummaries { first: self, index: 0, is_complete: true };
        parsers.visit(&mut take);
        take.is_complete && self.summarized != 0
    }

    /// Whether another segment only acknowledges this one.
    fn is_acknowledged_by(&self, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> bool {
        const CONTROL: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);
        let syn = u32::from(self.flags.contains(TcpFlags::SYN));
        let end = self.seq.wrapping_add(syn).wrapping_add(u32::from(self.len));
        sender != self.sender && payload.is_empty() && tcp.ack == end && !tcp.flags.intersects(CONTROL)
    }

    /// Rebuilds the connection after this segment.
    fn resume<S: ParserSet>(&mut self, initial: InitialSeqs, start: StreamStart, parsers: S) -> Open<S> {
        /// Placeholder payload: the parsers have read the bytes, so reassembly needs only their number.
        static UNREAD: [u8; MAX_FIRST_SEGMENT_LEN] = [0; MAX_FIRST_SEGMENT_LEN];
        let Self { seq, ack, flags, len, sender, traits, .. } = *self;
        let tcp = TcpHeader { src_port: 0, dst_port: 0, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let payload = UNREAD.get(..usize::from(len)).unwrap_or_default();
        let mut open = Open::new(initial, start, parsers);
        let (segment, counters) = (Segment::from_tcp(tcp, payload), &mut StreamCounters::default());
        if let Some(direction) = open.connection.direction_mut(sender) {
            // No copy is made of the placeholder.
            direction.skippable = len.into();
        }
        open.connection.on_segment(
            &segment,
            payload,
            sender,
            MAX_OUT_OF_ORDER_BYTES,
            counters,
            &mut |_, _, _| {},
        );
        if let Some(direction) = open.connection.direction_mut(sender) {
            direction.restore_unsettled(self.bytes.take(), traits);
        }
        open.parsers.visit(&mut RestoreSummaries { first: self, index: 0 });
        open.parsers.visit(&mut Resume { start, sender, len: payload.len() });
        open
    }
}

/// Moves the summaries of parsers to a [`FirstSegment`].
struct SaveSummaries<'a> {
    first: &'a mut FirstSegment,
    index: usize,
    is_complete: bool,
}

impl ParserVisitor for SaveSummaries<'_> {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        let FirstSegment { summarized, summaries, .. } = self.first;
        match (&slot.state, summaries.get_mut(self.index)) {
            (SlotState::Summarized(summary), Some(kept)) => {
                *kept = *summary;
                *summarized |= bit(self.index);
            }
            (SlotState::Dropped, _) => {}
            _ => self.is_complete = false,
        }
        self.index = self.index.saturating_add(1);
    }
}

/// Moves the summaries of a [`FirstSegment`] to the parsers of a new set.
struct RestoreSummaries<'a> {
    first: &'a FirstSegment,
    index: usize,
}

impl ParserVisitor for RestoreSummaries<'_> {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        let FirstSegment { summarized, summaries, .. } = self.first;
        let summary = summaries.get(self.index).filter(|_| summarized & bit(self.index) != 0);
        let is_enabled = matches!(slot.state, SlotState::Waiting);
        slot.state = summary
            .filter(|_| is_enabled)
            .map_or(SlotState::Dropped, |summary| SlotState::Summarized(*summary));
        self.index = self.index.saturating_add(1);
    }
}

/// Returns the bit of a parser in [`FirstSegment::summarized`].
fn bit(index: usize) -> u8 {
    u32::try_from(index).ok().and_then(|index| 1_u8.checked_shl(index)).unwrap_or(0)
}

/// Restores parsers from their summaries.
struct Resume {
    start: StreamStart,
    sender: Side,
    len: usize,
}

impl ParserVisitor for Resume {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Summarized(summary) = slot.state {
            let parser = P::resume(self.start, slot.settings.clone(), self.sender, self.len, summary);
            slot.state = SlotState::Reading(parser, [true; 2]);
        }
    }
}

/// Skips payload in every parser.
struct Skip {
    side: Side,
    len: u64,
}

impl ParserVisitor for Skip {
    #[inline]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, [client, server]) = &mut slot.state
            && self.side.choose(*client, *server)
        {
            parser.skip(self.side, self.len);
        }
    }
}

/// Collects which parsers of a new set are enabled.
struct Enabled {
    bits: u8,
    index: usize,
}

impl ParserVisitor for Enabled {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if !matches!(slot.state, SlotState::Dropped) {
            self.bits |= bit(self.index);
        }
        self.index = self.index.saturating_add(1);
    }
}

/// Reports the end of a conflict of the client to every parser. One that was dropped may have read the wrong content, and
/// starts again.
struct EndConflict {
    enabled: u8,
    index: usize,
}

impl ParserVisitor for EndConflict {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.state {
            SlotState::Reading(parser, _) => parser.on_conflict(Side::Client),
            SlotState::Dropped if self.enabled & bit(self.index) != 0 => {
                slot.state =
                    SlotState::Reading(P::new(StreamStart::Midstream, slot.settings.clone()), [true; 2]);
            }
            SlotState::Dropped | SlotState::Waiting | SlotState::Summarized(_) => {}
        }
        self.index = self.index.saturating_add(1);
    }
}

/// Reports a FIN or RST to every parser.
struct Close;

impl ParserVisitor for Close {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, _) = &mut slot.state {
            parser.on_close();
        }
    }
}

/// Collects the state of all parsers after a segment, and drops the parsers that are done.
struct ParserStatus {
    /// Whether a parser reads client and server.
    reads: [bool; 2],
    /// Number of next bytes of client and server that no parser reads.
    skippable: [u64; 2],
    /// Heap memory of the parsers, in bytes.
    buffered: usize,
    /// Whether a parser has a part of a message of the client.
    is_mid_message: bool,
    /// Whether no delivered bytes wait for their acknowledgement.
    is_settled: bool,
    /// Whether there is a copy of delivered bytes of the client.
    has_copy: bool,
}

impl ParserStatus {
    fn is_done(&self) -> bool {
        self.reads == [false; 2] && self.is_settled
    }
}

impl ParserVisitor for ParserStatus {
    // Inlined, so that the state is kept in registers.
    #[inline(always)]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.state {
            SlotState::Reading(parser, reads) => {
                let (client, server) = (parser.reads(Side::Client), parser.reads(Side::Server));
                if !client && !server {
                    slot.state = SlotState::Dropped;
                    return;
                }
                *reads = [client, server];
                let ([any_client, any_server], [skip_client, skip_server]) =
                    (&mut self.reads, &mut self.skippable);
                if client {
                    self.is_mid_message |= self.has_copy && parser.is_mid_message(Side::Client);
                    *any_client = true;
                    *skip_client = parser.skippable(Side::Client).min(*skip_client);
                }
                if server {
                    *any_server = true;
                    *skip_server = parser.skippable(Side::Server).min(*skip_server);
                }
                self.buffered = self.buffered.saturating_add(parser.buffered_bytes());
            }
            SlotState::Waiting | SlotState::Summarized(_) => {
                (self.reads, self.skippable) = ([true; 2], [0; 2]);
            }
            SlotState::Dropped => {}
        }
    }
}
