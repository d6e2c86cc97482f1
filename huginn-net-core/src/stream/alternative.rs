//! Contents that the receiver of a stream may have read instead of the delivered one.

use crate::limits::{MAX_ALTERNATIVE_BYTES, MAX_ALTERNATIVE_RANGES, MAX_ALTERNATIVES};
use crate::{Conflict, PacketRef};

/// The contents that a sender gave the same bytes of its stream, beside the one that was delivered.
///
/// A segment that agrees with a content extends it; one that differs makes another content of it. So the contents are
/// the combinations of the segments seen, up to a limit.
#[derive(Debug)]
pub(super) struct Alternatives {
    /// Offset of the first byte of each content.
    pub(super) start: u64,
    /// Offset of the first byte that differs.
    pub(super) first_difference: u64,
    /// Why the contents compete; none if the delivered one was a padded ACK or a gap.
    pub(super) reason: Option<Conflict>,
    delivered: Content,
    /// The number of the packet with the delivered bytes that differ, if it is known.
    pub(super) delivered_packet: Option<u64>,
    contents: Vec<Content>,
    /// Whether a content was given up at a limit.
    pub(super) is_incomplete: bool,
    /// Whether a segment had other bytes than those delivered.
    pub(super) differs: bool,
    /// Whether segments disagree about the urgent byte, so that it may be part of the stream.
    pub(super) keeps_urgent: bool,
}

/// How a segment relates to the delivered content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It has the same bytes, or bytes after them.
    Agrees,
    /// It has other bytes.
    Differs,
    /// It has bytes of a gap that was given up.
    Late,
}

/// One content: the known bytes after the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    bytes: Vec<u8>,
    /// The ranges that are known, in order and apart from each other.
    known: Vec<(usize, usize)>,
    /// The packet of the segment that made this content, or completed it.
    packet: Option<PacketRef>,
}

impl Alternatives {
    pub(super) fn new(start: u64, reason: Option<Conflict>) -> Self {
        Self {
            start,
            first_difference: u64::MAX,
            reason,
            delivered: Content::default(),
            delivered_packet: None,
            contents: Vec::new(),
            is_incomplete: false,
            differs: false,
            keeps_urgent: false,
        }
    }

    /// Sets bytes of the delivered content.
    pub(super) fn delivered(&mut self, offset: u64, bytes: &[u8]) {
        if let Some((at, bytes)) = self.place(offset, bytes) {
            self.is_incomplete |= !self.delivered.overwrite(at, bytes);
        }
    }

    /// Returns the heap memory, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let contents = self.contents.iter().fold(0, |sum: usize, content| sum.saturating_add(content.cost()));
        size_of::<Self>().saturating_add(self.delivered.cost()).saturating_add(contents)
    }

    /// Adds a segment to each content that it agrees with, and makes another content of each other one. `relation`: how
    /// the segment relates to the delivered content.
    pub(super) fn add(&mut self, offset: u64, payload: &[u8], packet: PacketRef, relation: Relation) {
        let Some((at, bytes)) = self.place(offset, payload) else { return };
        self.differs |= relation == Relation::Differs;
        let mut made = Vec::new();
        if relation != Relation::Agrees {
            let first = self.delivered.first_difference(at, bytes).unwrap_or(at);
            self.first_difference = self.first_difference.min(self.start.saturating_add(first as u64));
            made.extend(self.delivered.with(at, bytes, packet));
        }
        if relation != Relation::Late {
            // Of the bytes delivered, the first copy counts.
            self.is_incomplete |= !self.delivered.fill(at, bytes);
        }
        for content in &mut self.contents {
            if content.first_difference(at, bytes).is_none() {
                self.is_incomplete |= !content.overwrite(at, bytes);
                content.packet = Some(packet);
            } else {
                made.extend(content.with(at, bytes, packet));
            }
        }
        for content in made {
            let is_known = self.contents.iter().any(|known| known.bytes == content.bytes)
                || content.bytes == self.delivered.bytes;
            if is_known {
                continue;
            }
            // Beyond the limit, the contents are taken at once: those of the latest segment are among them.
            if self.contents.len() > MAX_ALTERNATIVES.saturating_mul(2)
                || self.buffered_bytes() > MAX_ALTERNATIVE_BYTES
            {
                self.is_incomplete = true;
            } else {
                self.contents.push(content);
            }
        }
    }

    /// Whether a content reached the limit of its length.
    pub(super) fn is_full(&self) -> bool {
        self.is_incomplete
            || self.contents.len() > MAX_ALTERNATIVES
            || self.buffered_bytes() > MAX_ALTERNATIVE_BYTES
    }

    /// Returns the bytes of each content up to the first one that is not known, and the packet that completed them. Leaves
    /// out contents that differ from the delivered one only after a byte that is not known.
    pub(super) fn contents(&self) -> impl Iterator<Item = (&[u8], Option<PacketRef>)> {
        let delivered = self.delivered.prefix();
        let with_urgent = self.keeps_urgent.then_some((delivered, self.delivered.packet));
        let contents = self.contents.iter().map(|content| (content.prefix(), content.packet));
        with_urgent.into_iter().chain(contents.filter(|(bytes, _)| !delivered.starts_with(bytes)))
    }

    /// Returns the place of a segment in the contents, without what comes before them.
    fn place<'a>(&self, offset: u64, bytes: &'a [u8]) -> Option<(usize, &'a [u8])> {
        let old = usize::try_from(self.start.saturating_sub(offset)).ok()?;
        let bytes = bytes.get(old..).filter(|bytes| !bytes.is_empty())?;
        Some((usize::try_from(offset.saturating_sub(self.start)).ok()?, bytes))
    }
}

impl Content {
    /// Returns a copy with other bytes at a place; none at a limit.
    fn with(&self, at: usize, bytes: &[u8], packet: PacketRef) -> Option<Self> {
        let mut content = Self { packet: Some(packet), ..self.clone() };
        content.overwrite(at, bytes).then_some(content)
    }

    /// Sets bytes. Returns false at a limit.
    fn overwrite(&mut self, at: usize, bytes: &[u8]) -> bool {
        let end = at.saturating_add(bytes.len());
        if end > MAX_ALTERNATIVE_BYTES {
            return false;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
        if self.known.last().is_none_or(|(_, end)| *end < at) {
            // Chunks in order need no search.
            self.known.push((at, end));
            return self.known.len() <= MAX_ALTERNATIVE_RANGES;
        }
        let (mut from, mut to) = (at, end);
        self.known.retain(|&(start, end)| {
            let is_apart = end < from || start > to;
            if !is_apart {
                (from, to) = (from.min(start), to.max(end));
            }
            is_apart
        });
        let index = self.known.partition_point(|(start, _)| *start < from);
        self.known.insert(index, (from, to));
        self.known.len() <= MAX_ALTERNATIVE_RANGES
    }

    /// Sets the bytes that are not known. Returns false at a limit.
    fn fill(&mut self, at: usize, bytes: &[u8]) -> bool {
        let (mut from, end) = (at, at.saturating_add(bytes.len()));
        for (start, known_end) in self.known.clone() {
            if known_end > from && start < end {
                if !self.overwrite_part(from, start, at, bytes) {
                    return false;
                }
                from = known_end;
            }
        }
        self.overwrite_part(from, end, at, bytes)
    }

    /// Sets those of the bytes at a place that lie in a range.
    fn overwrite_part(&mut self, from: usize, to: usize, at: usize, bytes: &[u8]) -> bool {
        let part = bytes.get(from.saturating_sub(at)..to.saturating_sub(at)).unwrap_or_default();
        part.is_empty() || self.overwrite(from, part)
    }

    /// Returns the place of the first known byte that differs.
    fn first_difference(&self, at: usize, bytes: &[u8]) -> Option<usize> {
        self.known.iter().find_map(|&(start, end)| {
            let from = start.max(at);
            let ours = self.bytes.get(from..end)?;
            let theirs = bytes.get(from.saturating_sub(at)..)?;
            let equal = ours.iter().zip(theirs).take_while(|(one, other)| one == other).count();
            (equal < ours.len().min(theirs.len())).then(|| from.saturating_add(equal))
        })
    }

    fn prefix(&self) -> &[u8] {
        match self.known.first() {
            Some(&(0, end)) => self.bytes.get(..end).unwrap_or_default(),
            _ => &[],
        }
    }

    fn cost(&self) -> usize {
        self.bytes
            .capacity()
            .saturating_add(self.known.capacity().saturating_mul(size_of::<(usize, usize)>()))
    }
}
