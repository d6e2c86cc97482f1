//! One TCP connection and its parsers.

use super::initial_seq::InitialSeqs;
use super::parser_slot::SlotState;
use super::{
    ParserSet, ParserSlot, ParserVisitor, StreamCounters, StreamData, StreamInput, StreamParser, StreamStart,
    TcpConnection,
};
use crate::limits::{MAX_FIRST_SEGMENT_LEN, MAX_OUT_OF_ORDER_BYTES, MAX_RESUMABLE_PARSERS};
use crate::{Interest, Side, TcpFlags, TcpHeader};

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
    /// Number of next bytes of client and server that no parser reads.
    skippable: [u64; 2],
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
    /// Processes the next segment of the connection: its header and its payload [without
    /// padding](super::without_padding).
    ///
    /// `new_parsers` creates the parsers at the first data, and again after a summarized segment. `feed` passes data
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
                self.initial.update(tcp, sender);
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
                let mut open = first.resume(self.initial, self.start, new_parsers());
                let status = open.on_segment(tcp, payload, sender, counters, feed);
                self.set_state(open, &status);
            }
            State::Open(open) => {
                let status = if open.accept_in_order(tcp, payload.len(), sender) {
                    if payload.is_empty() || open.skip(sender, payload.len()) {
                        return Interest::More;
                    }
                    open.on_payload(payload, sender, feed)
                } else {
                    open.on_segment(tcp, payload, sender, counters, feed)
                };
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

    /// Returns the heap memory of the connection, in bytes.
    #[inline]
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes as usize
    }

    /// Processes the first segment with payload.
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
        let mut open = Open { connection: TcpConnection::new(initial), start, skippable: [0; 2], parsers };
        let status = if first.is_some() {
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
            open.status()
        } else {
            open.on_segment(tcp, payload, sender, counters, feed)
        };
        self.set_state(open, &status);
    }

    fn set_state(&mut self, open: Open<S>, status: &ParserStatus) {
        if status.is_done() {
            (self.state, self.buffered_bytes) = (State::Done, 0);
        } else {
            self.buffered_bytes = buffered_bytes(&open, status);
            self.state = State::Open(Box::new(open));
        }
    }
}

fn buffered_bytes<S>(open: &Open<S>, status: &ParserStatus) -> u32 {
    let bytes =
        size_of::<Open<S>>().saturating_add(open.connection.buffered_bytes()).saturating_add(status.buffered);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl<S: ParserSet> Open<S> {
    /// Whether the segment is the next in order and changes nothing else, as most are. Reassembly then counts its
    /// payload as delivered.
    #[inline]
    fn accept_in_order(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        !tcp.flags.is_fin_or_rst() && self.connection.accept_in_order(tcp, payload_len, sender)
    }

    /// Skips the next payload if every parser permits it.
    #[inline]
    fn skip(&mut self, sender: Side, payload_len: usize) -> bool {
        let [client, server] = &mut self.skippable;
        let (skippable, len) = (sender.choose(client, server), payload_len as u64);
        let Some(left) = skippable.checked_sub(len) else { return false };
        *skippable = left;
        self.parsers.visit(&mut Skip { side: sender, len });
        true
    }

    /// Feeds the next payload to the parsers.
    #[inline]
    fn on_payload(
        &mut self,
        payload: &[u8],
        sender: Side,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> ParserStatus {
        let (data, start) = (StreamData::Bytes(payload), self.start);
        feed(&mut self.parsers, StreamInput { side: sender, data, start, is_first_segment: false });
        self.status()
    }

    fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> ParserStatus {
        let Self { connection, start, parsers, .. } = self;
        if tcp.flags.is_fin_or_rst() {
            parsers.visit(&mut Close);
        }
        connection.on_segment(tcp, payload, sender, MAX_OUT_OF_ORDER_BYTES, counters, &mut |side, data| {
            feed(parsers, StreamInput { side, data, start: *start, is_first_segment: false });
        });
        self.status()
    }

    /// Drops the parsers that are done, and the directions that no parser reads.
    fn status(&mut self) -> ParserStatus {
        let mut status = ParserStatus { reads: [false; 2], skippable: [u64::MAX; 2], buffered: 0 };
        self.parsers.visit(&mut status);
        self.skippable = status.skippable;
        let [reads_client, reads_server] = status.reads;
        if !reads_client {
            self.connection.stop_reading(Side::Client);
        }
        if !reads_server {
            self.connection.stop_reading(Side::Server);
        }
        status
    }
}

/// The numbers of the first segment with payload, from which the connection can be rebuilt.
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
    /// Describes the first segment of a connection whose directions begin at `initial`. Returns `None` if the segment is
    /// long, or a [`TcpConnection`] would not deliver its complete payload at once.
    fn new(initial: InitialSeqs, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> Option<Self> {
        let len =
            u16::try_from(payload.len()).ok().filter(|len| usize::from(*len) <= MAX_FIRST_SEGMENT_LEN)?;
        initial.are_in_order(tcp, sender, MAX_OUT_OF_ORDER_BYTES).then_some(Self {
            seq: tcp.seq,
            ack: tcp.ack,
            flags: tcp.flags,
            len,
            sender,
            summarized: 0,
            summaries: [0; MAX_RESUMABLE_PARSERS],
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
    fn resume<S: ParserSet>(&self, initial: InitialSeqs, start: StreamStart, mut parsers: S) -> Open<S> {
        /// Placeholder payload: the parsers have read the bytes, so reassembly needs only their number.
        static UNREAD: [u8; MAX_FIRST_SEGMENT_LEN] = [0; MAX_FIRST_SEGMENT_LEN];
        let Self { seq, ack, flags, len, sender, .. } = *self;
        let tcp = TcpHeader { src_port: 0, dst_port: 0, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let payload = UNREAD.get(..usize::from(len)).unwrap_or_default();
        let mut connection = TcpConnection::new(initial);
        let counters = &mut StreamCounters::default();
        connection.on_segment(&tcp, payload, sender, MAX_OUT_OF_ORDER_BYTES, counters, &mut |_, _| {});
        parsers.visit(&mut RestoreSummaries { first: self, index: 0 });
        parsers.visit(&mut Resume { start, sender, len: payload.len() });
        Open { connection, start, skippable: [0; 2], parsers }
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
        match (&slot.0, summaries.get_mut(self.index)) {
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
        let is_enabled = matches!(slot.0, SlotState::Waiting);
        slot.0 = summary
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
        if let SlotState::Summarized(summary) = slot.0 {
            let parser = P::resume(self.start, self.sender, self.len, summary);
            slot.0 = SlotState::Reading(parser, [true; 2]);
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
        if let SlotState::Reading(parser, [client, server]) = &mut slot.0
            && self.side.choose(*client, *server)
        {
            parser.skip(self.side, self.len);
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

/// Collects the state of all parsers after a segment, and drops the parsers that are done.
struct ParserStatus {
    /// Whether a parser reads client and server.
    reads: [bool; 2],
    /// Number of next bytes of client and server that no parser reads.
    skippable: [u64; 2],
    /// Heap memory of the parsers, in bytes.
    buffered: usize,
}

impl ParserStatus {
    fn is_done(&self) -> bool {
        self.reads == [false; 2]
    }
}

impl ParserVisitor for ParserStatus {
    #[inline]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.0 {
            SlotState::Reading(parser, reads) => {
                let (client, server) = (parser.reads(Side::Client), parser.reads(Side::Server));
                if !client && !server {
                    slot.0 = SlotState::Dropped;
                    return;
                }
                *reads = [client, server];
                let ([any_client, any_server], [skip_client, skip_server]) =
                    (&mut self.reads, &mut self.skippable);
                if client {
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
