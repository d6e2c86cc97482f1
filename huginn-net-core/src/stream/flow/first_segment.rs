//! A connection with one captured segment that has payload.

use super::open::Open;
use super::visitors::Resume;
use crate::limits::{MAX_FIRST_SEGMENT_LEN, MAX_OUT_OF_ORDER_BYTES, MAX_RESUMABLE_PARSERS};
use crate::stream::initial_seq::InitialSeqs;
use crate::stream::parser_slot::SlotState;
use crate::stream::segment_traits::SegmentTraits;
use crate::{
    ParserSet, ParserSlot, ParserVisitor, Segment, Side, StreamCounters, StreamParser, TcpFlags, TcpHeader,
};

/// Length of a packet number, in bytes.
const NUMBER_LEN: usize = size_of::<u64>();

/// The numbers of the first segment with payload, from which the connection can be rebuilt.
#[derive(Debug)]
pub(super) struct FirstSegment {
    seq: u32,
    ack: u32,
    flags: TcpFlags,
    pub(super) len: u16,
    sender: Side,
    /// A bit for each parser that summarized the payload.
    summarized: u8,
    summaries: [u8; MAX_RESUMABLE_PARSERS],
    traits: SegmentTraits,
    /// The payload after the number of its packet, until the receiver acknowledges it.
    bytes: Option<Box<[u8]>>,
}

impl FirstSegment {
    /// Describes the first segment of a connection whose directions begin at `initial`. Returns `None` if the segment is
    /// long, or a [`TcpConnection`] would not deliver its complete payload at once.
    pub(super) fn new(
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
    pub(super) fn take_summaries(&mut self, parsers: &mut impl ParserSet) -> bool {
        let mut take = SaveSummaries { first: self, index: 0, is_complete: true };
        parsers.visit(&mut take);
        take.is_complete && self.summarized != 0
    }

    /// Keeps the payload.
    pub(super) fn keep(&mut self, payload: &[u8], packet_number: u64) {
        let mut bytes = Vec::with_capacity(payload.len().saturating_add(NUMBER_LEN));
        bytes.extend_from_slice(&packet_number.to_ne_bytes());
        bytes.extend_from_slice(payload);
        self.bytes = Some(bytes.into());
    }

    /// Drops the payload.
    pub(super) fn forget(&mut self) {
        self.bytes = None;
    }

    /// Takes the payload, and the number of its packet.
    fn take_kept(&mut self) -> Option<(Vec<u8>, u64)> {
        let bytes = self.bytes.take()?;
        let (number, payload) = bytes.split_first_chunk::<NUMBER_LEN>()?;
        Some((payload.to_vec(), u64::from_ne_bytes(*number)))
    }

    /// Whether another segment only acknowledges this one.
    pub(super) fn is_acknowledged_by(&self, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> bool {
        const CONTROL: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);
        sender != self.sender && payload.is_empty() && tcp.ack == self.end() && !tcp.flags.intersects(CONTROL)
    }

    /// The sequence number with which a side goes on.
    pub(super) fn next_seq(&self, sender: Side) -> Option<u32> {
        if sender == self.sender {
            return Some(self.end());
        }
        self.flags.contains(TcpFlags::ACK).then_some(self.ack)
    }

    /// The sequence number after the segment.
    fn end(&self) -> u32 {
        let syn = u32::from(self.flags.contains(TcpFlags::SYN));
        self.seq.wrapping_add(syn).wrapping_add(u32::from(self.len))
    }

    /// Rebuilds the connection after this segment.
    pub(super) fn resume<S: ParserSet>(&mut self, initial: InitialSeqs, parsers: S) -> Open<S> {
        /// Placeholder payload: the parsers have read the bytes, so reassembly needs only their number.
        static UNREAD: [u8; MAX_FIRST_SEGMENT_LEN] = [0; MAX_FIRST_SEGMENT_LEN];
        let Self { seq, ack, flags, len, sender, traits, .. } = *self;
        let tcp = TcpHeader { src_port: 0, dst_port: 0, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let payload = UNREAD.get(..usize::from(len)).unwrap_or_default();
        let mut open = Open::new(initial, parsers);
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
            direction.restore_unsettled(self.take_kept(), traits);
        }
        open.parsers.visit(&mut RestoreSummaries { first: self, index: 0 });
        open.parsers.visit(&mut Resume { start: initial.start, sender, len: payload.len() });
        open.status();
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
pub(super) fn bit(index: usize) -> u8 {
    u32::try_from(index).ok().and_then(|index| 1_u8.checked_shl(index)).unwrap_or(0)
}
