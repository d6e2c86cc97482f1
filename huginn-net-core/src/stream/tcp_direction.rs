//! One direction of a TCP connection.

use std::ops::Range;

use huginn_net_wire::{Reassembler, ReassemblyLimits};

use super::alternative::Alternatives;
use super::initial_seq::InitialSeq;
use super::segment_traits::SegmentTraits;
use super::unsettled::{Competing, Unsettled, differs};
use super::{StreamCounters, StreamData};
use crate::limits::{MAX_ACKNOWLEDGED_AHEAD, MAX_TCP_WINDOW, MAX_WATCHED_BYTES};
use crate::{PacketRef, Segment, TcpFlags, TcpHeader};

/// Reassembles one direction of a TCP connection: its bytes in order, from the SYN or else from the first segment
/// captured.
///
/// Sequence numbers wrap (RFC 9293, section 3.4): a segment lies within 1 GiB after the byte delivered last, the largest
/// window. A gap is given up once the receiver has acknowledged it, once the out-of-order buffer behind it is full, or
/// when the connection ends.
///
/// The urgent byte is not part of the stream (RFC 6093, section 3.1).
#[derive(Debug)]
pub(crate) struct TcpDirection {
    bytes: Reassembler<PacketRef>,
    initial: Option<InitialSeq>,
    /// Whether any segment may be the next in order: no urgent byte lies ahead, and no contents compete.
    is_plain: bool,
    /// Whether a parser has a part of a message.
    pub(super) is_mid_message: bool,
    /// Whether a parser reads the direction.
    pub(super) is_read: bool,
    /// Whether delivered bytes are kept until the receiver acknowledges them.
    pub(super) is_compared: bool,
    /// The offset up to which the receiver has acknowledged bytes.
    acknowledged: u64,
    /// The least offset whose acknowledgement settles something: the end of `skipped` or of `unsettled`.
    settles_at: u64,
    /// Number of next bytes that no parser reads, as in a body. A segment of such bytes is not copied, since others in
    /// their place would change nothing.
    pub(super) skippable: u64,
    /// The segment that the last kept bytes came in, if it is known.
    traits: Option<SegmentTraits>,
    /// The kept bytes; none while all are settled.
    unsettled: Option<Box<Unsettled>>,
    /// None until there is one: few connections have any.
    exceptions: Option<Box<Exceptions>>,
}

/// What few directions have.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// The offset of the last urgent byte.
    urgent: Option<u64>,
    /// The last gap that was given up although the receiver had not acknowledged it.
    skipped: Range<u64>,
    /// Number of bytes of gaps that the receiver has acknowledged.
    missing: u64,
}

/// Bytes that the capture should have, and those of them that it lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expected {
    pub(super) bytes: u64,
    pub(super) missing: u64,
}

impl Expected {
    pub(super) fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.missing = self.missing.saturating_add(other.missing);
    }
}

/// A payload, and what the direction needs to know of its segment.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    pub(crate) segment: &'a Segment<'a>,
    pub(crate) tcp: &'a TcpHeader<'a>,
    pub(crate) bytes: &'a [u8],
}

impl TcpDirection {
    /// Creates a direction that begins at `initial`, or with the first segment pushed.
    pub(crate) const fn new(initial: Option<InitialSeq>) -> Self {
        Self {
            bytes: Reassembler::new(),
            initial,
            is_plain: true,
            is_mid_message: false,
            is_read: true,
            is_compared: true,
            acknowledged: 0,
            settles_at: u64::MAX,
            skippable: 0,
            traits: None,
            unsettled: None,
            exceptions: None,
        }
    }

    /// Takes the sequence number of the first byte from a SYN.
    ///
    /// The last SYN before the first byte counts: a server that keeps no state answers a retransmitted SYN with another
    /// sequence number (RFC 4987, section 3.6).
    pub(crate) fn set_initial_seq(&mut self, seq: u32) {
        if self.is_empty() {
            (self.initial, self.acknowledged) = (Some(InitialSeq { seq, from_syn: true }), 0);
        }
    }

    /// Processes the receiver's acknowledgement number. The direction starts there if its start is unknown, or if no
    /// byte was captured and the known start is more than `window` bytes away.
    pub(crate) fn start_at_ack(&mut self, ack: u32, window: usize) {
        let is_far = usize::try_from(self.ahead(ack)).map_or(true, |ahead| ahead > window);
        if self.initial.is_none() || is_far && self.is_empty() {
            (self.initial, self.acknowledged) = (Some(InitialSeq { seq: ack, from_syn: false }), 0);
        }
    }

    /// Whether no byte was received.
    fn is_empty(&self) -> bool {
        self.bytes.position() == 0 && self.bytes.buffered_bytes() == 0
    }

    /// Whether less than a window was delivered and acknowledged.
    pub(crate) fn is_near_start(&self) -> bool {
        self.bytes.position().max(self.acknowledged) < MAX_TCP_WINDOW
    }

    /// Returns the memory used by out-of-order segments and by copies of delivered bytes, in bytes.
    #[inline]
    pub(crate) fn buffered_bytes(&self) -> usize {
        let unsettled = self
            .unsettled
            .as_ref()
            .map_or(0, |unsettled| size_of::<Unsettled>().saturating_add(unsettled.buffered_bytes()));
        let exceptions = self.exceptions.as_ref().map_or(0, |_| size_of::<Exceptions>());
        self.bytes.buffered_bytes().saturating_add(unsettled).saturating_add(exceptions)
    }

    /// Whether out-of-order segments are buffered.
    pub(crate) fn has_buffered(&self) -> bool {
        self.bytes.buffered_bytes() > 0
    }

    /// Takes a segment's payload, and delivers the bytes that are now in order, each with the packet that completed
    /// them. The out-of-order buffer takes at most `window` bytes.
    ///
    /// `ack_is_wrong`: the segment acknowledges bytes that its receiver did not send.
    pub(crate) fn push(
        &mut self,
        payload: Payload<'_>,
        window: usize,
        ack_is_wrong: bool,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>, PacketRef),
    ) {
        let seq = payload.tcp.first_byte_seq();
        self.start_at_segment(seq, window);
        if u64::try_from(self.ahead(seq)).is_ok_and(|ahead| ahead >= MAX_TCP_WINDOW) {
            counters.segments_refused = counters.segments_refused.saturating_add(1);
            return;
        }
        if payload.tcp.flags.contains(TcpFlags::URG) {
            self.mark_urgent(payload.tcp, counters);
        }
        self.compare(&payload, ack_is_wrong, counters);
        if self.is_read {
            if !self.insert(&payload, window, deliver) {
                counters.segments_refused = counters.segments_refused.saturating_add(1);
                while self.skip_gap(counters, deliver) && !self.insert(&payload, window, deliver) {}
            }
            self.skip_acknowledged_gaps(counters, deliver);
        }
        self.count_lost(counters);
        self.note_changes();
    }

    /// Counts the times that a limit ended a comparison.
    fn count_lost(&mut self, counters: &mut StreamCounters) {
        if let Some(unsettled) = &mut self.unsettled {
            counters.not_compared = counters.not_compared.saturating_add(unsettled.take_lost());
        }
    }

    /// Processes an acknowledgement: the receiver has all bytes before `ack`.
    pub(crate) fn acknowledge(
        &mut self,
        ack: u32,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>, PacketRef),
    ) {
        if self.initial.is_some() {
            self.record_ack(ack);
            self.skip_acknowledged_gaps(counters, deliver);
            self.count_lost(counters);
            self.note_changes();
        }
    }

    /// Whether the next byte to be delivered has this sequence number, and `len` bytes reach neither buffered data nor an
    /// urgent byte, nor compete with other contents.
    #[inline]
    pub(crate) fn is_next(&self, seq: u32, len: usize) -> bool {
        self.initial.is_some()
            && self.ahead(seq) == 0
            && self.is_plain
            && (self.bytes.buffered_bytes() == 0 || self.is_before_buffer(len))
    }

    fn is_before_buffer(&self, len: usize) -> bool {
        let end = self.bytes.position().saturating_add(len as u64);
        self.bytes.first_buffered().is_none_or(|first| end < first)
    }

    /// Whether no parser reads the next `len` bytes.
    #[inline]
    pub(crate) fn may_skip(&self, len: usize) -> bool {
        len as u64 <= self.skippable
    }

    /// Skips payload that [continues](Self::is_next) the direction.
    #[inline]
    pub(crate) fn skip(&mut self, len: usize) {
        self.bytes.skip(len);
    }

    /// Keeps a copy of the bytes delivered last, but for the last `uncompared` ones, until the receiver acknowledges them.
    #[inline]
    pub(crate) fn keep_unsettled(&mut self, bytes: &[u8], uncompared: usize, segment: &Segment<'_>) {
        let kept = bytes.get(..bytes.len().saturating_sub(uncompared)).unwrap_or_default();
        if self.is_read && !self.may_skip(bytes.len()) {
            let offset = self.bytes.position().saturating_sub(bytes.len() as u64);
            self.unsettled.get_or_insert_default().add(offset, kept, segment.packet_number);
            self.traits = Some(SegmentTraits::from_segment(segment));
            self.note_changes();
        }
    }

    /// Sets the copy of the bytes delivered so far, and their segment.
    pub(super) fn restore_unsettled(&mut self, kept: Option<(Vec<u8>, u64)>, traits: SegmentTraits) {
        if let Some((bytes, packet)) = kept {
            let offset = self.bytes.position().saturating_sub(bytes.len() as u64);
            self.unsettled = Some(Box::new(Unsettled::new(offset, bytes, packet)));
        }
        self.traits = Some(traits);
        self.note_changes();
    }

    /// Processes an acknowledgement as [`acknowledge`](Self::acknowledge) does, if it delivers nothing. Returns whether it
    /// did.
    #[inline]
    pub(crate) fn accept_pure_ack(&mut self, ack: u32) -> bool {
        if self.initial.is_none() || self.bytes.position() == 0 || !self.is_plain {
            return false;
        }
        if self.bytes.buffered_bytes() != 0 {
            let acknowledged = self.offset_of(ack).unwrap_or(0);
            if self.bytes.first_buffered().is_some_and(|first| first <= acknowledged) {
                return false;
            }
        }
        self.record_ack(ack);
        true
    }

    #[inline]
    fn record_ack(&mut self, ack: u32) {
        let Some(offset) = self.offset_of(ack).filter(|offset| *offset > self.acknowledged) else { return };
        self.acknowledged = offset;
        if offset >= self.settles_at {
            self.settle();
        }
    }

    /// Forgets a gap that the receiver has acknowledged, and drops the copy of delivered bytes once it has acknowledged all
    /// of them and no message is incomplete.
    fn settle(&mut self) {
        if let Some(exceptions) =
            self.exceptions.as_mut().filter(|found| self.acknowledged >= found.skipped.end)
        {
            let Range { start, end } = std::mem::take(&mut exceptions.skipped);
            exceptions.missing = exceptions.missing.saturating_add(end.saturating_sub(start));
        }
        let end = self.unsettled.as_ref().map_or(u64::MAX, |unsettled| unsettled.end);
        if self.acknowledged >= end && !self.is_mid_message {
            self.forget_unsettled();
        }
        self.note_changes();
    }

    /// Drops the kept bytes.
    fn forget_unsettled(&mut self) {
        if let Some(unsettled) = &mut self.unsettled {
            unsettled.forget();
            // Most directions that are read get more bytes.
            if unsettled.is_unused() && !self.is_read {
                self.unsettled = None;
            }
        }
    }

    /// Updates what the path of most segments reads instead of the state that it depends on.
    fn note_changes(&mut self) {
        let unsettled = self.unsettled.as_ref();
        self.is_plain = !unsettled.is_some_and(|unsettled| unsettled.has_alternatives());
        self.settles_at =
            unsettled.filter(|unsettled| unsettled.has_bytes()).map_or(u64::MAX, |unsettled| unsettled.end);
        if let Some(Exceptions { urgent, skipped, .. }) = self.exceptions.as_deref() {
            self.is_plain &= urgent.is_none_or(|urgent| urgent < self.bytes.position());
            if !skipped.is_empty() {
                self.settles_at = self.settles_at.min(skipped.end);
            }
        }
    }

    /// Whether neither delivered bytes nor a gap wait for their acknowledgement.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled.as_ref().is_none_or(|unsettled| unsettled.is_empty())
            && self.exceptions.as_ref().is_none_or(|exceptions| exceptions.skipped.is_empty())
    }

    /// Whether bytes before this number are missing, of which one may be a FIN.
    pub(crate) fn lacks_bytes_before(&self, seq: u32) -> bool {
        !self.is_empty()
            && !self.has_buffered()
            && u64::try_from(self.ahead(seq)).is_ok_and(|ahead| (2..=MAX_ACKNOWLEDGED_AHEAD).contains(&ahead))
    }

    /// Whether the receiver can acknowledge this number: it lies neither after what was sent nor a window before it.
    pub(crate) fn may_acknowledge(&self, ack: u32) -> bool {
        let ahead = i64::from(self.ahead(ack));
        let range = -(1 << 30)..=MAX_ACKNOWLEDGED_AHEAD.cast_signed();
        self.initial.is_none() || self.bytes.position() == 0 || range.contains(&ahead)
    }

    /// Gives up every gap, and delivers what lies behind it.
    pub(crate) fn skip_gaps(
        &mut self,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>, PacketRef),
    ) {
        while self.skip_gap(counters, deliver) {}
        self.note_changes();
    }

    /// Takes the contents that the receiver may have read instead of the delivered one, once it has acknowledged one of
    /// them, or at the end of the direction. Returns them, and whether the direction continues at an earlier byte: the
    /// receiver acknowledged less than was delivered.
    pub(crate) fn take_alternatives(&mut self, at_end: bool) -> Option<(Box<Alternatives>, bool)> {
        let acknowledged = (!at_end).then_some(self.acknowledged);
        let unsettled = self.unsettled.as_mut()?;
        let found = unsettled.take_alternatives(acknowledged)?;
        if !at_end || !unsettled.keep_for_more() {
            self.forget_unsettled();
        }
        let is_behind = acknowledged.is_some_and(|acknowledged| acknowledged < self.bytes.position());
        if is_behind {
            self.bytes.rewind(self.acknowledged);
        }
        self.note_changes();
        Some((found, is_behind))
    }

    /// Returns the bytes that the capture should have of a direction that a parser reads, and those that it lacks although they were
    /// acknowledged. Call it once, before the direction is read no longer or ends.
    pub(super) fn expected(&self) -> Expected {
        if !self.is_read || self.is_empty() {
            return Expected::default();
        }
        let position = self.bytes.position();
        // A FIN counts as a byte, and no receiver acknowledges far ahead of what was sent.
        let tail = self.acknowledged.saturating_sub(position);
        let tail = if (2..=MAX_ACKNOWLEDGED_AHEAD).contains(&tail) { tail } else { 0 };
        let (in_gaps, unknown) = self.exceptions.as_ref().map_or((0, 0), |exceptions| {
            let Range { start, end } = exceptions.skipped.clone();
            let acknowledged = self.acknowledged.clamp(start, end);
            let missing = exceptions.missing.saturating_add(acknowledged.saturating_sub(start));
            (missing, end.saturating_sub(acknowledged))
        });
        Expected {
            bytes: position.saturating_sub(unknown).saturating_add(tail),
            missing: in_gaps.saturating_add(tail),
        }
    }

    /// Stops reading the direction. Returns whether it can be dropped: neither delivered bytes nor a gap wait for their
    /// acknowledgement.
    pub(crate) fn stop_reading(&mut self) -> bool {
        self.is_read = false;
        self.is_mid_message = false;
        self.settle();
        let is_long = |unsettled: &Unsettled| {
            unsettled.buffered_bytes() > MAX_WATCHED_BYTES && !unsettled.has_alternatives()
        };
        if self.unsettled.as_deref().is_some_and(is_long) {
            self.forget_unsettled();
            self.note_changes();
        }
        self.is_settled()
    }

    /// Whether there is a copy of delivered bytes.
    #[inline]
    pub(super) fn has_copy(&self) -> bool {
        self.unsettled.as_ref().is_some_and(|unsettled| unsettled.has_bytes())
    }

    /// Whether contents compete with the delivered one.
    pub(super) fn has_alternatives(&self) -> bool {
        self.unsettled.as_ref().is_some_and(|unsettled| unsettled.has_alternatives())
    }

    /// Whether these contents are more than can be kept.
    pub(super) fn has_full_alternatives(&self) -> bool {
        self.unsettled.as_ref().is_some_and(|unsettled| unsettled.has_full_alternatives())
    }

    /// The offset of the last urgent byte.
    pub(super) fn urgent(&self) -> Option<u64> {
        self.exceptions.as_ref()?.urgent
    }

    /// Notes the urgent byte: the one before the urgent pointer (RFC 6093, section 2.1).
    fn mark_urgent(&mut self, tcp: &TcpHeader<'_>, counters: &mut StreamCounters) {
        let at = tcp.first_byte_seq().wrapping_add(u32::from(tcp.urgent.saturating_sub(1)));
        let Some(offset) = self.offset_of(at) else { return };
        let urgent = &mut self.exceptions.get_or_insert_default().urgent;
        if urgent.is_none_or(|urgent| urgent < offset) {
            *urgent = Some(offset);
            counters.urgent_bytes = counters.urgent_bytes.saturating_add(1);
        }
    }

    /// Compares a payload with the bytes delivered or buffered before. Keeps its content if they differ.
    fn compare(&mut self, payload: &Payload<'_>, ack_is_wrong: bool, counters: &mut StreamCounters) {
        let (offset, bytes) = self.place(payload);
        let is_after_all = offset >= self.bytes.position() && !self.has_buffered();
        if bytes.is_empty() || is_after_all && self.is_plain {
            return;
        }
        let Self { bytes: buffer, unsettled, acknowledged, traits, .. } = self;
        let (urgent, skipped) = self
            .exceptions
            .as_ref()
            .map_or((None, 0..0), |exceptions| (exceptions.urgent, exceptions.skipped.clone()));
        let end = offset.saturating_add(bytes.len() as u64);
        // Another segment said that one of these bytes is urgent; this one does not.
        let disagrees = !payload.tcp.flags.contains(TcpFlags::URG)
            && urgent.is_some_and(|urgent| urgent >= offset.max(*acknowledged) && urgent < end);
        let is_late = offset < skipped.end && end > skipped.start.max(*acknowledged);
        let kept = unsettled.iter().flat_map(|unsettled| unsettled.pieces());
        let differs = differs(kept.chain(buffer.overlapping(offset, end)), offset, bytes, *acknowledged);
        let has_alternatives = unsettled.as_ref().is_some_and(|unsettled| unsettled.has_alternatives());
        if !differs && !disagrees && !is_late && !has_alternatives {
            return;
        }
        let unsettled = unsettled.get_or_insert_default();
        let competing = Competing {
            offset,
            payload: bytes,
            packet: PacketRef::from_segment(payload.segment),
            traits: SegmentTraits::from_segment(payload.segment),
        };
        if differs || disagrees {
            if !has_alternatives {
                counters.conflicts = counters.conflicts.saturating_add(1);
            }
            unsettled.add_conflict(
                &competing,
                buffer.position(),
                buffer.overlapping(0, u64::MAX),
                (traits.as_ref(), ack_is_wrong),
            );
            if disagrees {
                unsettled.keep_urgent();
            }
        } else if is_late {
            unsettled.add_late(&competing, skipped.start);
        } else {
            unsettled.add_agreeing(&competing);
        }
    }

    /// Returns the offset of a payload, and its bytes from the start of the direction on.
    fn place<'a>(&self, payload: &Payload<'a>) -> (u64, &'a [u8]) {
        let seq = payload.tcp.first_byte_seq();
        match self.offset_of(seq) {
            Some(offset) => (offset, payload.bytes),
            None => {
                let before = u64::from(self.ahead(seq).unsigned_abs()).saturating_sub(self.bytes.position());
                let skipped = usize::try_from(before).unwrap_or(usize::MAX);
                (0, payload.bytes.get(skipped..).unwrap_or_default())
            }
        }
    }

    /// Returns the offset of a sequence number; none before the start.
    fn offset_of(&self, seq: u32) -> Option<u64> {
        self.bytes.position().checked_add_signed(self.ahead(seq).into())
    }

    /// Buffers or delivers a payload. Returns false if the out-of-order buffer is full.
    fn insert(
        &mut self,
        payload: &Payload<'_>,
        window: usize,
        deliver: &mut impl FnMut(StreamData<'_>, PacketRef),
    ) -> bool {
        let (offset, bytes) = self.place(payload);
        let limits = ReassemblyLimits { distance: u64::MAX, buffered_bytes: window };
        let packet = PacketRef::from_segment(payload.segment);
        let (buffer, mut delivery) = self.delivery(Some(payload.segment), deliver);
        buffer.push_tagged(offset, bytes, packet, limits, &mut |bytes, packet| delivery.take(bytes, packet))
    }

    /// Starts at this segment if the start is unknown or known only from an acknowledgement: an earlier segment may
    /// be captured after its acknowledgement.
    fn start_at_segment(&mut self, seq: u32, window: usize) {
        match self.initial {
            None => self.initial = Some(InitialSeq { seq, from_syn: false }),
            Some(initial) if self.is_empty() && initial.may_start_at(seq, window) => {
                self.acknowledged =
                    self.acknowledged.saturating_add(u64::from(self.ahead(seq).unsigned_abs()));
                self.initial = Some(InitialSeq { seq, from_syn: false });
            }
            Some(_) => {}
        }
    }

    /// Skips gaps that the receiver has acknowledged: their bytes will not be retransmitted.
    fn skip_acknowledged_gaps(
        &mut self,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>, PacketRef),
    ) {
        while self.bytes.first_buffered().is_some_and(|first| first <= self.acknowledged) {
            self.skip_gap(counters, deliver);
        }
    }

    /// Gives up the bytes missing before the first buffered segment. Returns false if none is buffered.
    fn skip_gap(
        &mut self,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>, PacketRef),
    ) -> bool {
        let (Some(first), Some(packet)) = (self.bytes.first_buffered(), self.bytes.first_tag()) else {
            return false;
        };
        counters.gaps = counters.gaps.saturating_add(1);
        let gap = first.saturating_sub(self.bytes.position());
        let exceptions = self.exceptions.get_or_insert_default();
        if first > self.acknowledged {
            exceptions.skipped = self.bytes.position()..first;
        } else {
            exceptions.missing = exceptions.missing.saturating_add(gap);
        }
        self.skippable = self.skippable.saturating_sub(gap);
        deliver(StreamData::Gap(gap), packet);
        let (buffer, mut delivery) = self.delivery(None, deliver);
        delivery.at = first;
        buffer.skip_gap(&mut |bytes, packet| delivery.take(bytes, packet));
        true
    }

    fn delivery<'d, D>(
        &'d mut self,
        segment: Option<&'d Segment<'d>>,
        deliver: &'d mut D,
    ) -> (&'d mut Reassembler<PacketRef>, Delivery<'d, D>) {
        let (at, urgent) = (self.bytes.position(), self.urgent());
        let Self { bytes, unsettled, traits, skippable, is_read, is_compared, .. } = self;
        let kept = (*is_read && *is_compared).then_some((unsettled, traits));
        let delivery = Delivery { at, urgent, kept, skippable, segment, latest: None, deliver };
        (bytes, delivery)
    }

    /// Returns the distance of a sequence number from the next byte to be delivered.
    #[inline]
    fn ahead(&self, seq: u32) -> i32 {
        seq.wrapping_sub(self.next_after(self.initial.map_or(0, |initial| initial.seq))).cast_signed()
    }

    /// Returns the sequence number of the next byte to be delivered, if the start is known.
    pub(super) fn next_seq(&self) -> Option<u32> {
        Some(self.next_after(self.initial?.seq))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a sequence number is the low 32 bits of an offset")]
    fn next_after(&self, initial: u32) -> u32 {
        initial.wrapping_add(self.bytes.position() as u32)
    }
}

/// Passes bytes in order on, without the urgent byte.
struct Delivery<'d, D> {
    /// Offset of the next bytes.
    at: u64,
    urgent: Option<u64>,
    /// The kept bytes and their segment, if the direction keeps any.
    kept: Option<(&'d mut Option<Box<Unsettled>>, &'d mut Option<SegmentTraits>)>,
    /// Number of next bytes that no parser reads.
    skippable: &'d mut u64,
    /// The segment that is being analysed, if it may be one of those delivered.
    segment: Option<&'d Segment<'d>>,
    /// The latest packet of the bytes since the last gap.
    latest: Option<PacketRef>,
    deliver: &'d mut D,
}

impl<D: FnMut(StreamData<'_>, PacketRef)> Delivery<'_, D> {
    fn take(&mut self, bytes: &[u8], packet: PacketRef) {
        let packet = self.latest.filter(|latest| latest.number > packet.number).unwrap_or(packet);
        self.latest = Some(packet);
        let is_skippable = bytes.len() as u64 <= *self.skippable;
        *self.skippable = self.skippable.saturating_sub(bytes.len() as u64);
        if let Some((unsettled, traits)) = self.kept.as_mut().filter(|_| !is_skippable) {
            unsettled.get_or_insert_default().add(self.at, bytes, packet.number);
            **traits = self.segment.map(SegmentTraits::from_segment);
        }
        let (before, after) = without_urgent(bytes, self.at, self.urgent);
        for part in [before, after] {
            if !part.is_empty() {
                (self.deliver)(StreamData::Bytes(part), packet);
            }
        }
        self.at = self.at.saturating_add(bytes.len() as u64);
    }
}

/// Splits bytes at `offset` into those before and those after the urgent byte.
pub(super) fn without_urgent(bytes: &[u8], offset: u64, urgent: Option<u64>) -> (&[u8], &[u8]) {
    let at = urgent.and_then(|urgent| usize::try_from(urgent.checked_sub(offset)?).ok());
    match at.and_then(|at| bytes.split_at_checked(at)) {
        Some((before, [_, after @ ..])) => (before, after),
        _ => (bytes, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpFlags;

    /// A stream and its delivered bytes, with `|` for a gap.
    struct Harness {
        stream: TcpDirection,
        text: String,
        counters: StreamCounters,
    }

    impl Default for Harness {
        fn default() -> Self {
            let (stream, counters) = (TcpDirection::new(None), StreamCounters::default());
            Self { stream, text: String::new(), counters }
        }
    }

    impl Harness {
        fn segment(&mut self, seq: u32, flags: TcpFlags, payload: &[u8]) {
            let tcp = TcpHeader {
                src_port: 1,
                dst_port: 2,
                seq,
                ack: 0,
                flags,
                window: 0,
                urgent: 0,
                options: &[],
            };
            let Self { stream, text, counters } = self;
            let segment = Segment::from_tcp(tcp, payload);
            let payload = Payload { segment: &segment, tcp: &tcp, bytes: payload };
            stream.push(payload, 1000, false, counters, &mut |data, _| show(text, data));
        }

        fn acknowledge(&mut self, ack: u32) {
            let Self { stream, text, counters } = self;
            stream.acknowledge(ack, counters, &mut |data, _| show(text, data));
        }
    }

    fn show(text: &mut String, data: StreamData<'_>) {
        match data {
            StreamData::Bytes(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
            StreamData::Gap(missing) => text.push_str(&format!("|{missing}|")),
        }
    }

    #[test]
    fn accepts_wrapped_sequence_numbers_and_data_on_syn() {
        let mut shown = Harness::default();
        shown.segment(u32::MAX - 4, TcpFlags::SYN, b"abc");
        shown.segment(1, TcpFlags::ACK, b"fg");
        shown.segment(u32::MAX - 2, TcpFlags::ACK, b"?cde");
        shown.segment(u32::MAX - 3, TcpFlags::ACK, b"?");
        assert_eq!(shown.text, "abcdefg");
    }

    #[test]
    fn gives_up_acknowledged_gaps() {
        let mut shown = Harness::default();
        shown.stream.set_initial_seq(u32::MAX);
        shown.acknowledge(9);
        shown.segment(10, TcpFlags::ACK, b"abc");
        assert_eq!(shown.text, "", "the byte at 9 may still arrive");
        shown.acknowledge(5);
        shown.segment(20, TcpFlags::ACK, b"xyz");
        shown.acknowledge(10);
        assert_eq!(shown.text, "|11|abc");
        shown.acknowledge(30);
        assert_eq!((shown.text.as_str(), shown.counters.gaps), ("|11|abc|7|xyz", 2));
        shown.segment(13, TcpFlags::ACK, b"late");
        assert_eq!(shown.text, "|11|abc|7|xyz");
    }

    #[test]
    fn gives_up_gap_when_buffer_is_full() {
        let mut shown = Harness::default();
        shown.stream.set_initial_seq(0);
        for n in 0..40_u32 {
            shown.segment(10 + n * 20, TcpFlags::ACK, b"0123456789");
        }
        assert!(shown.text.starts_with("|10|0123456789"), "{}", shown.text);
        assert!(shown.counters.segments_refused > 0 && shown.stream.buffered_bytes() <= 2000);
        shown.segment(3_000_000, TcpFlags::ACK, b"far");
        shown.segment(3_000_000, TcpFlags::ACK, b"far");
        assert!(!shown.text.contains("far"), "beyond the window");
    }
}
