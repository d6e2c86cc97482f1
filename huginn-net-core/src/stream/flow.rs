//! One TCP connection and its parsers.

use super::initial_seq::InitialSeqs;
use super::parser_slot::SlotState;
use super::{
    ParserSet, ParserSlot, ParserVisitor, StreamCounters, StreamData, StreamInput, StreamParser, StreamStart,
    TcpConnection, pick,
};
use crate::limits::{MAX_FIRST_SEGMENT_LEN, MAX_OUT_OF_ORDER_BYTES, MAX_RESUMABLE_PARSERS};
use crate::{Interest, Side, TcpFlags, TcpHeader};

/// Reassembles one TCP connection for a set of parsers.
///
/// Nothing is allocated before the first payload. A connection whose first payload every parser
/// [summarizes](StreamParser::summarize) is remembered by the numbers of that segment until its next data. A side that no
/// parser reads is not buffered, and the connection ends when no parser reads either side.
#[derive(Debug)]
pub struct StreamFlow<S> {
    initial: InitialSeqs,
    start: StreamStart,
    /// The memory of an open connection, in bytes.
    buffered_bytes: u32,
    state: State<S>,
}

#[derive(Debug)]
enum State<S> {
    NoData,
    /// All that came is a segment that every parser summarized.
    FirstSegment(FirstSegment),
    Open(Box<Open<S>>),
    Done,
}

#[derive(Debug)]
struct Open<S> {
    connection: TcpConnection,
    start: StreamStart,
    /// Whether every parser that read client and server after the last segment had bytes to skip there.
    may_skip: [bool; 2],
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
    /// Takes the next segment of the connection: its header and its payload [without padding](super::without_padding).
    ///
    /// `new_parsers` makes the parsers when the first data come, and again after a summarized segment. `feed` passes data
    /// to each parser of the set with [`ParserSlot::on_data`].
    #[inline]
    pub fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        new_parsers: impl FnOnce() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> Interest {
        match &mut self.state {
            State::NoData => {
                self.initial.learn(tcp, sender);
                if tcp.flags.contains(TcpFlags::SYN) {
                    self.start = StreamStart::Handshake;
                }
                if !payload.is_empty() {
                    self.open(tcp, payload, sender, counters, new_parsers(), feed);
                }
            }
            State::FirstSegment(first) => {
                if first.is_acknowledged_by(tcp, payload, sender) {
                    return Interest::More;
                }
                let mut open = first.reopen(self.initial, self.start, new_parsers());
                let survey = open.on_segment(tcp, payload, sender, counters, feed);
                self.settle(open, &survey);
            }
            State::Open(open) => {
                if open.skip_payload(tcp, payload.len(), sender) {
                    return Interest::More;
                }
                let survey = open.on_segment(tcp, payload, sender, counters, feed);
                if survey.is_done() {
                    (self.state, self.buffered_bytes) = (State::Done, 0);
                } else {
                    self.buffered_bytes = buffered_bytes(open, &survey);
                }
            }
            State::Done => {}
        }
        match self.state {
            State::Done => Interest::Done,
            State::NoData | State::FirstSegment(_) | State::Open(_) => Interest::More,
        }
    }

    /// The memory of the connection beside this value, in bytes.
    #[inline]
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes as usize
    }

    /// Takes the first segment with payload.
    fn open(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        mut parsers: S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) {
        let Self { initial, start, .. } = *self;
        let first = FirstSegment::new(initial, tcp, payload, sender);
        if let Some(mut first) = first {
            let data = StreamData::Bytes(payload);
            feed(&mut parsers, StreamInput { side: sender, data, start, is_first_segment: true });
            if first.take_summaries(&mut parsers) {
                self.state = State::FirstSegment(first);
                return;
            }
        }
        let mut open = Open { connection: TcpConnection::new(initial), start, may_skip: [false; 2], parsers };
        let survey = if first.is_some() {
            let counters = &mut StreamCounters::default();
            open.connection.on_segment(
                tcp,
                payload,
                sender,
                MAX_OUT_OF_ORDER_BYTES,
                counters,
                &mut |_, _| {},
            );
            let mut resume = Resume { start, sender, len: payload.len() };
            open.parsers.visit(&mut resume);
            open.survey()
        } else {
            open.on_segment(tcp, payload, sender, counters, feed)
        };
        self.settle(open, &survey);
    }

    fn settle(&mut self, open: Open<S>, survey: &Survey) {
        if survey.is_done() {
            (self.state, self.buffered_bytes) = (State::Done, 0);
        } else {
            self.buffered_bytes = buffered_bytes(&open, survey);
            self.state = State::Open(Box::new(open));
        }
    }
}

fn buffered_bytes<S>(open: &Open<S>, survey: &Survey) -> u32 {
    let bytes =
        size_of::<Open<S>>().saturating_add(open.connection.buffered_bytes()).saturating_add(survey.buffered);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl<S: ParserSet> Open<S> {
    /// Takes a segment whose payload no parser needs to read, if it comes next and changes nothing else.
    #[inline]
    fn skip_payload(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        if tcp.flags.closes() {
            return false;
        }
        if payload_len == 0 {
            return self.connection.skip_payload(tcp, 0, sender);
        }
        let [client, server] = self.may_skip;
        if !sender.choose(client, server) {
            return false;
        }
        let mut skippable = Skippable { side: sender, len: payload_len as u64, all_skip: true };
        self.parsers.visit(&mut skippable);
        if !skippable.all_skip || !self.connection.skip_payload(tcp, payload_len, sender) {
            return false;
        }
        self.parsers.visit(&mut Skip { side: sender, len: payload_len as u64 });
        true
    }

    fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> Survey {
        let Self { connection, start, parsers, .. } = self;
        if tcp.flags.closes() {
            parsers.visit(&mut Close);
        }
        connection.on_segment(tcp, payload, sender, MAX_OUT_OF_ORDER_BYTES, counters, &mut |side, data| {
            feed(parsers, StreamInput { side, data, start: *start, is_first_segment: false });
        });
        self.survey()
    }

    /// Drops the parsers that are done, and the directions that no parser reads.
    fn survey(&mut self) -> Survey {
        let mut survey = Survey { reads: [false; 2], may_skip: [true; 2], buffered: 0 };
        self.parsers.visit(&mut survey);
        self.may_skip = survey.may_skip;
        for (side, reads) in [Side::Client, Side::Server].into_iter().zip(survey.reads) {
            if !reads {
                self.connection.ignore(side);
            }
        }
        survey
    }
}

/// The first segment with payload: a connection can be rebuilt from its numbers.
#[derive(Clone, Copy, Debug)]
struct FirstSegment {
    seq: u32,
    ack: u32,
    flags: TcpFlags,
    len: u16,
    sender: Side,
    /// A bit for each parser that summarized the payload.
    summarized: u8,
    summaries: [u8; MAX_RESUMABLE_PARSERS],
}

impl FirstSegment {
    /// The first segment of a connection whose directions begin at `initial`, if it is short, and a [`TcpConnection`] would
    /// deliver it at once and whole.
    fn new(initial: InitialSeqs, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> Option<Self> {
        let len =
            u16::try_from(payload.len()).ok().filter(|len| usize::from(*len) <= MAX_FIRST_SEGMENT_LEN)?;
        initial.are_followed_by(tcp, sender, MAX_OUT_OF_ORDER_BYTES).then_some(Self {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            len,
            sender,
            summarized: 0,
            summaries: [0; MAX_RESUMABLE_PARSERS],
        })
    }

    /// Keeps the summaries of all parsers. False if a parser has none and reads on.
    fn take_summaries(&mut self, parsers: &mut impl ParserSet) -> bool {
        let mut take = TakeSummaries { first: self, index: 0, are_all: true };
        parsers.visit(&mut take);
        take.are_all && self.summarized != 0
    }

    /// Whether a segment is the receiver's acknowledgement of this one, and nothing else.
    fn is_acknowledged_by(&self, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> bool {
        const CONTROL: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);
        let syn = u32::from(self.flags.contains(TcpFlags::SYN));
        let end = self.seq.wrapping_add(syn).wrapping_add(u32::from(self.len));
        sender != self.sender && payload.is_empty() && tcp.ack == end && !tcp.flags.intersects(CONTROL)
    }

    /// The connection behind this segment.
    fn reopen<S: ParserSet>(&self, initial: InitialSeqs, start: StreamStart, mut parsers: S) -> Open<S> {
        /// The parsers have read the payload; reassembly needs its length alone.
        static UNREAD: [u8; MAX_FIRST_SEGMENT_LEN] = [0; MAX_FIRST_SEGMENT_LEN];
        let Self { seq, ack, flags, len, sender, .. } = *self;
        let tcp = TcpHeader { src_port: 0, dst_port: 0, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let payload = UNREAD.get(..usize::from(len)).unwrap_or_default();
        let mut connection = TcpConnection::new(initial);
        let counters = &mut StreamCounters::default();
        connection.on_segment(&tcp, payload, sender, MAX_OUT_OF_ORDER_BYTES, counters, &mut |_, _| {});
        parsers.visit(&mut PutSummaries { first: self, index: 0 });
        parsers.visit(&mut Resume { start, sender, len: payload.len() });
        Open { connection, start, may_skip: [false; 2], parsers }
    }
}

/// Moves the summaries of parsers to a [`FirstSegment`].
struct TakeSummaries<'a> {
    first: &'a mut FirstSegment,
    index: usize,
    are_all: bool,
}

impl ParserVisitor for TakeSummaries<'_> {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        let FirstSegment { summarized, summaries, .. } = self.first;
        match (&slot.0, summaries.get_mut(self.index)) {
            (SlotState::Summarized(summary), Some(kept)) => {
                *kept = *summary;
                *summarized |= bit(self.index);
            }
            (SlotState::Dropped, _) => {}
            _ => self.are_all = false,
        }
        self.index = self.index.saturating_add(1);
    }
}

/// Moves the summaries of a [`FirstSegment`] to the parsers of a new set.
struct PutSummaries<'a> {
    first: &'a FirstSegment,
    index: usize,
}

impl ParserVisitor for PutSummaries<'_> {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        let FirstSegment { summarized, summaries, .. } = self.first;
        let summary = summaries.get(self.index).filter(|_| summarized & bit(self.index) != 0);
        let is_enabled = matches!(slot.0, SlotState::Waiting);
        slot.0 = summary
            .filter(|_| is_enabled)
            .map_or(SlotState::Dropped, |summary| SlotState::Summarized(*summary));
        self.index = self.index.saturating_add(1);
    }
}

/// The bit of a parser in [`FirstSegment::summarized`].
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
        if let SlotState::Summarized(summary) = slot.0 {
            let parser = P::resume(self.start, self.sender, self.len, summary);
            slot.0 = SlotState::Reading(parser, [true; 2]);
        }
    }
}

/// Whether every parser lets payload of this length be skipped.
struct Skippable {
    side: Side,
    len: u64,
    all_skip: bool,
}

impl ParserVisitor for Skippable {
    #[inline]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        self.all_skip &= match &slot.0 {
            SlotState::Reading(parser, [client, server]) => {
                !self.side.choose(*client, *server) || parser.skippable(self.side) >= self.len
            }
            SlotState::Dropped => true,
            SlotState::Waiting | SlotState::Summarized(_) => false,
        };
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
        if let SlotState::Reading(parser, [client, server]) = &mut slot.0 {
            if self.side.choose(*client, *server) {
                parser.skip(self.side, self.len);
            }
        }
    }
}

/// Reports a FIN or RST to every parser.
struct Close;

impl ParserVisitor for Close {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, _) = &mut slot.0 {
            parser.on_close();
        }
    }
}

/// The state of all parsers after a segment; drops those that are done.
struct Survey {
    /// Whether a parser reads client and server.
    reads: [bool; 2],
    /// Whether every parser that reads client and server has bytes to skip there.
    may_skip: [bool; 2],
    /// The heap memory of the parsers, in bytes.
    buffered: usize,
}

impl Survey {
    fn is_done(&self) -> bool {
        self.reads == [false; 2]
    }
}

impl ParserVisitor for Survey {
    #[inline]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.0 {
            SlotState::Reading(parser, reads) => {
                *reads = [parser.reads(Side::Client), parser.reads(Side::Server)];
                if *reads == [false; 2] {
                    slot.0 = SlotState::Dropped;
                    return;
                }
                for (side, reads) in [Side::Client, Side::Server].into_iter().zip(*reads) {
                    *pick(&mut self.reads, side) |= reads;
                    *pick(&mut self.may_skip, side) &= !reads || parser.skippable(side) > 0;
                }
                self.buffered = self.buffered.saturating_add(parser.buffered_bytes());
            }
            SlotState::Waiting | SlotState::Summarized(_) => {
                (self.reads, self.may_skip) = ([true; 2], [false; 2]);
            }
            SlotState::Dropped => {}
        }
    }
}
