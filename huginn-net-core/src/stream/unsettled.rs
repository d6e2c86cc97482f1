//! Delivered bytes that the receiver may still replace, and the other contents seen for them.

use super::alternative::{Alternatives, Relation};
use super::padded_ack::is_padding;
use super::segment_traits::SegmentTraits;
use crate::limits::{MAX_TIMES_FULL, MAX_UNSETTLED_BYTES, MAX_UNSETTLED_PIECES};
use crate::{Conflict, PacketRef};

/// The bytes of a direction that parsers have read and the receiver has not acknowledged, and those of a message that is
/// not complete.
///
/// Another segment may carry other bytes for the same place in the stream, and only the receiver knows which segment it
/// took. Until it has acknowledged the bytes, their copy shows whether a segment that repeats them differs.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    /// Offset of the first byte.
    start: u64,
    /// Offset after the last byte.
    pub(super) end: u64,
    bytes: Vec<u8>,
    /// Offset of the bytes that were added last, and the number of the packet that completed them; 0 if it is not known.
    last: (u64, u64),
    /// The later pieces of the copy, after skipped bytes: offset, and place in `bytes`.
    later: Vec<(u64, usize)>,
    /// Number of times that a limit ended a comparison.
    lost: u8,
    /// Number of times that more contents were seen than can be kept.
    times_full: u8,
    alternatives: Option<Box<Alternatives>>,
}

/// A segment with other bytes than those delivered.
pub(super) struct Competing<'a> {
    /// Offset of the payload.
    pub(super) offset: u64,
    pub(super) payload: &'a [u8],
    pub(super) packet: PacketRef,
    pub(super) traits: SegmentTraits,
}

impl Unsettled {
    /// Keeps bytes that were delivered at `offset`, and the number of their packet.
    pub(super) fn new(offset: u64, bytes: Vec<u8>, packet: u64) -> Self {
        let end = offset.saturating_add(bytes.len() as u64);
        Self { start: offset, end, bytes, last: (offset, packet), ..Self::default() }
    }

    /// Whether the contents seen for some bytes are more than can be kept.
    pub(super) fn has_full_alternatives(&self) -> bool {
        self.alternatives.as_ref().is_some_and(|found| found.is_full())
    }

    /// Whether there is neither a copy of bytes nor another content.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.alternatives.is_none()
    }

    pub(super) fn has_alternatives(&self) -> bool {
        self.alternatives.is_some()
    }

    /// Whether it can be dropped: it [is empty](Self::is_empty), and no limit ended a comparison.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() && (self.lost, self.times_full) == (0, 0)
    }

    /// Returns its heap memory, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let alternatives = self.alternatives.as_ref().map_or(0, |found| found.buffered_bytes());
        let later = self.later.capacity().saturating_mul(size_of::<(u64, usize)>());
        self.bytes.capacity().saturating_add(later).saturating_add(alternatives)
    }

    /// Adds bytes that were delivered at `offset`, and the number of the packet that completed them.
    pub(super) fn add(&mut self, offset: u64, bytes: &[u8], packet: u64) {
        self.last = (offset, packet);
        let is_full = self.bytes.len().saturating_add(bytes.len()) > MAX_UNSETTLED_BYTES;
        if is_full || !self.bytes.is_empty() && offset != self.end && !self.may_add_piece(offset) {
            // The newest bytes are those that may be replaced.
            self.lost = self.lost.saturating_add(1);
            self.forget();
        }
        if self.bytes.is_empty() {
            self.start = offset;
        } else if offset != self.end {
            self.later.push((offset, self.bytes.len()));
        }
        let kept = bytes.get(bytes.len().saturating_sub(MAX_UNSETTLED_BYTES)..).unwrap_or_default();
        if kept.len() < bytes.len() {
            self.start = offset.saturating_add(bytes.len().saturating_sub(kept.len()) as u64);
        }
        self.bytes.extend_from_slice(kept);
        self.end = offset.saturating_add(bytes.len() as u64);
    }

    /// Whether another piece may begin at `offset`.
    fn may_add_piece(&self, offset: u64) -> bool {
        offset > self.end && self.later.len() < MAX_UNSETTLED_PIECES
    }

    /// Returns the pieces of the copy, with their offsets.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once((self.start, 0)).chain(self.later.iter().copied());
        let ends = self.later.iter().map(|(_, at)| *at).chain(std::iter::once(self.bytes.len()));
        starts.zip(ends).map(|((offset, at), end)| (offset, self.bytes.get(at..end).unwrap_or_default()))
    }

    /// Whether the copy stays although contents were taken before the receiver acknowledged one of them: there may be more
    /// of them.
    pub(super) fn keep_for_more(&mut self) -> bool {
        self.times_full = self.times_full.saturating_add(1);
        let keeps = self.times_full < MAX_TIMES_FULL;
        self.lost = self.lost.saturating_add(u8::from(!keeps));
        keeps
    }

    /// Takes the number of times that a limit ended a comparison.
    pub(super) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost).into()
    }

    /// Whether there is a copy of bytes.
    pub(super) fn has_bytes(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Drops the copy of the bytes.
    pub(super) fn forget(&mut self) {
        if !self.bytes.is_empty() {
            (self.bytes, self.later) = (Vec::new(), Vec::new());
        }
    }

    /// Adds a segment with [other bytes](differs) to the contents that the receiver may have read. `position` is the
    /// offset of the next byte to be delivered, `ours` the segment that the last kept bytes came in.
    pub(super) fn add_conflict<'a>(
        &mut self,
        segment: &Competing<'_>,
        position: u64,
        buffered: impl Iterator<Item = (u64, &'a [u8])>,
        (ours, ack_is_wrong): (Option<&SegmentTraits>, bool),
    ) {
        // The caller delivers the payload of a padded ACK where p0f reads it: it is not another content.
        let is_after_padded_ack = ours.is_some_and(|ours| ours.is_padded_ack);
        let (is_padding, from) = {
            let first = self.pieces().next().filter(|(_, bytes)| !bytes.is_empty());
            let last = self.pieces().take_while(|(offset, _)| *offset <= segment.offset).last();
            let piece = last.or(first).filter(|(_, bytes)| !bytes.is_empty());
            let is_padding = |(offset, bytes)| is_padding(tail(offset, bytes, segment.offset));
            (
                is_after_padded_ack && piece.is_some_and(is_padding),
                piece.map_or(position, |(offset, _)| offset),
            )
        };
        let reason = (!is_padding).then(|| reason(ours, &segment.traits, ack_is_wrong));
        let (last, packet) = self.last;
        let delivered = Some(packet).filter(|packet| *packet != 0 && segment.offset >= last);
        let mut alternatives = self.alternatives.take().unwrap_or_else(|| {
            let mut first = Box::new(Alternatives::new(from.min(segment.offset), reason));
            self.pieces().for_each(|(offset, bytes)| first.delivered(offset, bytes));
            buffered.for_each(|(offset, bytes)| first.delivered(offset, bytes));
            first
        });
        alternatives.reason = alternatives.reason.or(reason);
        alternatives.delivered_packet = alternatives.delivered_packet.or(delivered);
        alternatives.add(segment.offset, segment.payload, segment.packet, Relation::Differs);
        self.alternatives = Some(alternatives);
    }

    /// Notes that segments disagree about the urgent byte.
    pub(super) fn keep_urgent(&mut self) {
        if let Some(alternatives) = &mut self.alternatives {
            alternatives.keeps_urgent = true;
        }
    }

    /// Adds a segment of a gap that was given up at `gap`: it is another content of the stream there.
    pub(super) fn add_late(&mut self, segment: &Competing<'_>, gap: u64) {
        let alternatives = self.alternatives.get_or_insert_with(|| Box::new(Alternatives::new(gap, None)));
        alternatives.add(segment.offset, segment.payload, segment.packet, Relation::Late);
    }

    /// Adds a segment without other bytes to the contents that the receiver may have read.
    pub(super) fn add_agreeing(&mut self, segment: &Competing<'_>) {
        if let Some(alternatives) = &mut self.alternatives {
            alternatives.add(segment.offset, segment.payload, segment.packet, Relation::Agrees);
        }
    }

    /// Takes the other contents, if the receiver can have read one of them: it acknowledged bytes after the first
    /// difference. Without an acknowledgement, takes them in any case.
    pub(super) fn take_alternatives(&mut self, acknowledged: Option<u64>) -> Option<Box<Alternatives>> {
        let alternatives = self.alternatives.as_ref()?;
        if acknowledged.is_some_and(|acknowledged| acknowledged <= alternatives.first_difference) {
            return None;
        }
        self.alternatives.take()
    }
}

/// Returns whether a segment has other bytes than those of `pieces` that are not `acknowledged`.
pub(super) fn differs<'a>(
    mut pieces: impl Iterator<Item = (u64, &'a [u8])>,
    offset: u64,
    payload: &[u8],
    acknowledged: u64,
) -> bool {
    pieces.any(|(start, bytes)| {
        let from = offset.max(start).max(acknowledged);
        let (ours, theirs) = (tail(start, bytes, from), tail(offset, payload, from));
        ours.iter().zip(theirs).any(|(one, other)| one != other)
    })
}

/// What distinguishes two segments with different contents, the strongest sign first.
fn reason(ours: Option<&SegmentTraits>, other: &SegmentTraits, ack_is_wrong: bool) -> Conflict {
    let Some(ours) = ours else { return Conflict::Content };
    if ours.has_syn != other.has_syn {
        Conflict::SynData
    } else if ours.has_ack != other.has_ack {
        Conflict::NoAck
    } else if ack_is_wrong {
        Conflict::AckNumber
    } else if ours.has_md5 != other.has_md5 {
        Conflict::Md5
    } else if ours.is_much_older_or_newer(other) {
        Conflict::Timestamp
    } else if ours.ttl != other.ttl {
        Conflict::Ttl
    } else {
        Conflict::Content
    }
}

/// Returns the bytes of a chunk at `from` and later.
fn tail(start: u64, bytes: &[u8], from: u64) -> &[u8] {
    let skipped = usize::try_from(from.saturating_sub(start)).unwrap_or(usize::MAX);
    bytes.get(skipped..).unwrap_or_default()
}
