//! An open connection: its segments, and what its parsers read.

use super::visitors::{
    BeginConflict, Close, Enabled, EndConflict, IsCompared, MissingEnd, ParserStatus, Skip, Uncompared,
};
use crate::limits::MAX_OUT_OF_ORDER_BYTES;
use crate::stream::initial_seq::InitialSeqs;
use crate::stream::tcp_direction::without_urgent;
use crate::stream::{TcpConnection, side_mut};
use crate::{
    FlowId, PacketRef, ParserSet, Segment, Side, StreamCounters, StreamData, StreamInput, StreamStart,
    TcpHeader,
};

/// A connection with payload, and its parsers.
#[derive(Debug)]
pub(super) struct Open<S> {
    pub(super) connection: TcpConnection,
    pub(super) start: StreamStart,
    /// The flow, once something waits for the end of the connection: segments after a gap, or other contents.
    pub(super) flow: Option<Box<FlowId>>,
    /// Whether all parsers are done, and only the receiver's acknowledgement is awaited.
    pub(super) is_watching: bool,
    pub(super) parsers: S,
}

impl<S: ParserSet> Open<S> {
    pub(super) fn new(initial: InitialSeqs, parsers: S) -> Self {
        let connection = TcpConnection::new(initial);
        Self { connection, start: initial.start, flow: None, is_watching: false, parsers }
    }

    /// Whether the segment is the next in order and changes nothing else, as most are. Reassembly then counts its
    /// payload as delivered.
    #[inline(always)]
    pub(super) fn accept_in_order(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        !tcp.flags.is_fin_or_rst() && self.connection.accept_in_order(tcp, payload_len, sender)
    }

    /// Skips the segment if every parser permits it.
    #[inline(always)]
    pub(super) fn skip_segment(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        if !self.connection.may_skip(payload_len, sender) || !self.accept_in_order(tcp, payload_len, sender) {
            return false;
        }
        if payload_len > 0 {
            self.connection.pass_skippable(payload_len, sender);
            self.parsers.visit(&mut Skip { side: sender, len: payload_len as u64 });
        }
        true
    }

    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of StreamFlow::on_segment, and its parsed header"
    )]
    pub(super) fn read_segment(
        &mut self,
        segment: &Segment<'_>,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        new_parsers: &impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) -> ParserStatus {
        if self.accept_in_order(tcp, payload.len(), sender) {
            self.on_payload(segment, payload, sender, feed)
        } else {
            self.on_segment(segment, tcp, payload, sender, counters, new_parsers, feed)
        }
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
        let mut uncompared = Uncompared { side: sender, len: usize::MAX };
        self.parsers.visit(&mut uncompared);
        if uncompared.len < payload.len() {
            self.connection.keep_unsettled(segment, payload, uncompared.len, sender);
        }
        self.status()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of StreamFlow::on_segment, and its parsed header"
    )]
    pub(super) fn on_segment(
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
        if self.connection.lacks_end(tcp, sender) {
            self.parsers.visit(&mut MissingEnd(sender));
        }
        for side in [Side::Client, Side::Server] {
            if let Some(direction) = self.connection.direction_mut(side) {
                let mut is_compared = IsCompared { side, found: false };
                self.parsers.visit(&mut is_compared);
                direction.is_compared = is_compared.found;
            }
        }
        let Self { connection, start, parsers, .. } = self;
        let had_alternatives = connection.has_alternatives(sender);
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
        if !had_alternatives && self.connection.has_alternatives(sender) {
            self.parsers.visit(&mut BeginConflict { side: sender });
        }
        for side in [Side::Client, Side::Server] {
            if self.connection.has_alternatives(side) {
                let is_answer = sender != side && !payload.is_empty();
                let at_end = is_end || self.connection.has_full_alternatives(side);
                if is_answer || at_end {
                    self.feed_alternatives(side, at_end, new_parsers, feed);
                }
            }
        }
        let status = self.status();
        if self.flow.is_none() && self.connection.has_pending() {
            self.flow = Some(Box::new(FlowId::from_segment(segment, sender)));
        }
        status
    }

    /// Feeds each content of a side that competes with the delivered one to new parsers.
    fn feed_alternatives(
        &mut self,
        side: Side,
        at_end: bool,
        new_parsers: &impl Fn() -> S,
        feed: &mut impl FnMut(&mut S, StreamInput<'_>),
    ) {
        let Some((found, is_behind)) = self.connection.take_alternatives(side, at_end) else { return };
        let urgent = self.connection.direction(side).and_then(|direction| direction.urgent());
        let urgent = urgent.filter(|_| !found.keeps_urgent);
        let start = if found.start == 0 { self.start } else { StreamStart::Midstream };
        for (bytes, packet) in found.contents() {
            let mut parsers = new_parsers();
            let (before, after) = without_urgent(bytes, found.start, urgent);
            for part in [before, after] {
                if !part.is_empty() {
                    let input = StreamInput::new(side, StreamData::Bytes(part), start);
                    let conflicting_packet = found.delivered_packet.filter(|_| found.reason.is_some());
                    feed(
                        &mut parsers,
                        StreamInput { packet, conflict: found.reason, conflicting_packet, ..input },
                    );
                }
            }
        }
        if is_behind {
            feed(&mut self.parsers, StreamInput::new(side, StreamData::Gap(u64::MAX), self.start));
        }
        if found.differs {
            let mut enabled = Enabled { bits: 0, index: 0 };
            new_parsers().visit(&mut enabled);
            self.parsers.visit(&mut EndConflict { side, enabled: enabled.bits, index: 0 });
            self.connection.read_again(side);
        }
    }

    /// Delivers what waits for the end of the connection.
    pub(super) fn on_end(
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
        for side in [Side::Client, Side::Server] {
            self.feed_alternatives(side, true, new_parsers, feed);
        }
    }

    /// Drops the parsers that are done, and the directions that no parser reads.
    pub(super) fn status(&mut self) -> ParserStatus {
        let mut status = ParserStatus::new(self.connection.has_copies());
        self.parsers.visit(&mut status);
        self.is_watching = true;
        for of_side in &status.sides {
            if of_side.is_read {
                self.is_watching = false;
                if let Some(direction) = self.connection.direction_mut(of_side.side) {
                    direction.skippable = of_side.skippable;
                    direction.is_mid_message = of_side.is_mid_message;
                }
            } else {
                status.is_settled &= self.connection.stop_reading(of_side.side);
            }
        }
        status
    }

    /// Heap memory of the connection, in bytes.
    pub(super) fn heap_bytes(&self, status: &ParserStatus) -> u32 {
        let bytes = size_of::<Self>()
            .saturating_add(self.connection.buffered_bytes())
            .saturating_add(status.buffered)
            .saturating_add(self.flow.as_ref().map_or(0, |_| size_of::<FlowId>()));
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}
