//! Handshake streams in datagrams, for whose bytes different contents may have been sent.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::TlsError;
use crate::hello::handshake;
use crate::limits::MAX_STREAM_COPIES;

/// A part of a stream: its offset and its bytes.
pub(crate) type Chunk<'a> = (u64, &'a [u8]);

/// A stream, and the other streams that result if a later content of the same bytes counts.
///
/// A receiver may have discarded any packet, so no rule decides which of two contents it has read. In the first copy, the
/// first content of each byte counts. A packet that contradicts a copy adds another one, in which all bytes of this packet
/// count. A full set replaces a copy whose message was read.
#[derive(Debug, Default)]
pub(crate) struct StreamCopies {
    first: StreamCopy,
    others: Vec<StreamCopy>,
    /// Messages with at least one content that was read.
    reported: u8,
    /// Whether another content was sent before.
    conflict: bool,
    /// Whether a copy has bytes that are not a message: with another copy, a content that was not reported.
    has_unreadable: bool,
}

/// A message of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiedMessage<'a> {
    /// The handshake message, including its header.
    pub(crate) bytes: &'a [u8],
    /// Its number in its stream, from 1.
    pub(crate) nth: u8,
    /// Whether another content of this message was read before.
    pub(crate) conflict: bool,
}

/// The limits of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLimits {
    /// Bytes after a gap that may be buffered.
    pub(crate) window: usize,
    /// Messages that are read.
    pub(crate) messages: u8,
}

impl StreamCopies {
    /// Adds the chunks of a packet. Returns the offset of the first one that was not kept completely.
    ///
    /// Each further copy takes one from `copies`. `None` keeps only the first copy.
    pub(crate) fn push(
        &mut self,
        chunks: &[Chunk<'_>],
        limits: StreamLimits,
        mut copies: Option<&mut u8>,
    ) -> Option<u64> {
        let mut refused = None;
        let mut added = SmallVec::<[StreamCopy; 1]>::new();
        for copy in std::iter::once(&mut self.first).chain(&mut self.others) {
            let mut contradicted = None;
            for &(offset, bytes) in chunks {
                let written = copy.write(offset, bytes, limits.window, false);
                if !written.complete {
                    refused.get_or_insert(offset);
                }
                if written.differs {
                    contradicted.get_or_insert(offset);
                }
            }
            if let (Some(offset), Some(copies)) = (contradicted, copies.as_deref_mut()) {
                let Some(left) = copies.checked_sub(1) else {
                    refused.get_or_insert(offset);
                    continue;
                };
                *copies = left;
                let mut other = copy.clone();
                for &(offset, bytes) in chunks {
                    other.write(offset, bytes, limits.window, true);
                }
                added.push(other);
            }
        }
        for copy in added {
            if !self.add(copy) {
                refused = refused.or_else(|| chunks.first().map(|(offset, _)| *offset));
            }
        }
        refused
    }

    /// Reads the complete messages of every copy, each content once.
    ///
    /// # Errors
    /// A message of the first copy is not of this type, or longer than any hello. No later message of that copy is read.
    pub(crate) fn read(
        &mut self,
        kind: u8,
        limits: StreamLimits,
        each: &mut impl FnMut(CopiedMessage<'_>),
    ) -> Result<(), TlsError> {
        let mut outcome = Ok(());
        for index in 0..=self.others.len() {
            while let Some(next) = self.copy_mut(index).and_then(|copy| copy.next_message(kind, limits)) {
                match next {
                    Ok((start, end, nth)) => self.report(index, start, end, nth, each),
                    Err(error) => {
                        self.has_unreadable = true;
                        if index == 0 {
                            outcome = Err(error);
                        }
                    }
                }
            }
        }
        outcome
    }

    /// Reads a stream of a single message of this length, without a header, from every copy in which it is complete, each
    /// content once.
    #[cfg(feature = "packets")]
    pub(crate) fn read_whole(&mut self, len: usize, each: &mut impl FnMut(CopiedMessage<'_>)) {
        for index in 0..=self.others.len() {
            let Some(copy) = self.copy_mut(index).filter(|copy| copy.read < len && copy.head.len() == len)
            else {
                continue;
            };
            copy.read = len;
            self.report(index, 0, len, 1, each);
        }
    }

    /// Marks the stream as one for which another content was sent before.
    #[cfg(feature = "packets")]
    pub(crate) const fn set_conflict(&mut self) {
        self.conflict = true;
    }

    /// The first message of the first copy in which it is complete.
    #[cfg(feature = "packets")]
    pub(crate) fn first_message(&self) -> Option<&[u8]> {
        (0..=self.others.len()).filter_map(|index| self.copy(index)).find_map(|copy| {
            let len = handshake::message_len(&copy.head).ok()??;
            copy.head.get(..len).filter(|_| copy.read >= len)
        })
    }

    /// Bytes of the first copy up to the first missing one.
    pub(crate) fn position(&self) -> u64 {
        self.first.head.len() as u64
    }

    /// Heap memory, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let others = self.others.capacity().saturating_mul(size_of::<StreamCopy>());
        self.others
            .iter()
            .fold(others, |sum, copy| sum.saturating_add(copy.buffered_bytes()))
            .saturating_add(self.first.buffered_bytes())
    }

    /// Adds a copy. Returns false if there is no room for it.
    fn add(&mut self, copy: StreamCopy) -> bool {
        if copy.has_same_bytes(&self.first) || self.others.iter().any(|other| copy.has_same_bytes(other)) {
            return true;
        }
        if self.others.len() >= MAX_STREAM_COPIES {
            let Some(index) = self.others.iter().position(|other| other.read > 0) else { return false };
            self.others.remove(index);
        }
        self.others.push(copy);
        true
    }

    fn report(
        &mut self,
        index: usize,
        start: usize,
        end: usize,
        nth: u8,
        each: &mut impl FnMut(CopiedMessage<'_>),
    ) {
        let Some(bytes) = self.copy(index).and_then(|copy| copy.head.get(start..end)) else { return };
        if !self.was_read(index, start, bytes) {
            let is_other = nth <= self.reported || self.has_unreadable && !self.others.is_empty();
            each(CopiedMessage { bytes, nth, conflict: self.conflict || is_other });
            self.reported = self.reported.max(nth);
        }
    }

    /// Whether another copy has these bytes at this offset, and they were read there.
    fn was_read(&self, index: usize, start: usize, bytes: &[u8]) -> bool {
        let end = start.saturating_add(bytes.len());
        (0..=self.others.len())
            .filter(|other| *other != index)
            .filter_map(|other| self.copy(other))
            .any(|other| other.read >= end && other.head.get(start..end).is_some_and(|other| other == bytes))
    }

    fn copy(&self, index: usize) -> Option<&StreamCopy> {
        match index.checked_sub(1) {
            None => Some(&self.first),
            Some(index) => self.others.get(index),
        }
    }

    fn copy_mut(&mut self, index: usize) -> Option<&mut StreamCopy> {
        match index.checked_sub(1) {
            None => Some(&mut self.first),
            Some(index) => self.others.get_mut(index),
        }
    }
}

/// A stream in which one content counts for each byte.
#[derive(Clone, Debug, Default)]
struct StreamCopy {
    /// The bytes up to the first missing one.
    head: Vec<u8>,
    /// The pages with bytes after it, by their number.
    ahead: BTreeMap<usize, Box<Page>>,
    /// Bytes of the head that were read, and their messages.
    read: usize,
    messages: u8,
    /// Whether no further message is read.
    ended: bool,
}

/// The result of writing a chunk.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// Whether bytes of the chunk differ from those that were present.
    differs: bool,
    /// Whether all bytes fit.
    complete: bool,
}

impl StreamCopy {
    /// Writes a chunk. `replace` decides whether its bytes replace those that are present, and continue a copy that has ended.
    fn write(&mut self, offset: u64, bytes: &[u8], window: usize, replace: bool) -> Written {
        let known = self.head.len();
        let limit = if self.ended && !replace { known } else { known.saturating_add(window) };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let room = limit.saturating_sub(offset).min(bytes.len());
        let complete = self.ended || room == bytes.len();
        let bytes = bytes.get(..room).unwrap_or_default();
        let (again, new) = bytes.split_at_checked(known.saturating_sub(offset)).unwrap_or((bytes, &[]));
        let mut differs = false;
        if let Some(present) = self.head.get_mut(offset..offset.saturating_add(again.len()))
            && present != again
        {
            differs = true;
            if replace {
                present.copy_from_slice(again);
                (self.read, self.messages, self.ended) = (0, 0, false);
            }
        }
        if new.is_empty() {
            return Written { differs, complete };
        }
        if offset <= known && self.ahead.is_empty() {
            self.head.extend_from_slice(new);
        } else {
            differs |= self.write_ahead(offset.max(known), new, replace);
            self.advance();
        }
        Written { differs, complete }
    }

    fn write_ahead(&mut self, mut offset: usize, mut bytes: &[u8], replace: bool) -> bool {
        let mut differs = false;
        while !bytes.is_empty() {
            let (number, start) = (offset >> PAGE_BITS, offset & PAGE_MASK);
            let len = PAGE_LEN.saturating_sub(start);
            let (part, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            differs |= self.ahead.entry(number).or_default().write(start, part, replace);
            offset = offset.saturating_add(part.len());
            bytes = rest;
        }
        differs
    }

    /// Moves bytes to the head once the gap before them is filled.
    fn advance(&mut self) {
        while let Some(page) = self.ahead.first_entry() {
            let start = self.head.len() & PAGE_MASK;
            if *page.key() != self.head.len() >> PAGE_BITS {
                return;
            }
            let run = page.get().run(start);
            let end = start.saturating_add(run.len());
            self.head.extend_from_slice(run);
            if !page.get().has_bytes_after(end) {
                page.remove();
            } else {
                return;
            }
        }
    }

    /// Returns the range and the number of the next message, if it is complete.
    fn next_message(
        &mut self,
        kind: u8,
        limits: StreamLimits,
    ) -> Option<Result<(usize, usize, u8), TlsError>> {
        let rest = self.head.get(self.read..).filter(|rest| !rest.is_empty() && !self.ended)?;
        let found = rest.first().copied().unwrap_or_default();
        let len = match handshake::message_len(rest) {
            Ok(len) => len.filter(|len| *len <= rest.len())?,
            Err(error) => {
                self.ended = true;
                return Some(Err(error));
            }
        };
        if found != kind {
            self.ended = true;
            return Some(Err(TlsError::NotHello(found)));
        }
        let start = self.read;
        self.read = self.read.saturating_add(len);
        self.messages = self.messages.saturating_add(1);
        self.ended = self.messages >= limits.messages;
        Some(Ok((start, self.read, self.messages)))
    }

    fn has_same_bytes(&self, other: &Self) -> bool {
        self.head == other.head && self.ahead == other.ahead
    }

    fn buffered_bytes(&self) -> usize {
        let pages = self.ahead.len().saturating_mul(PAGE_COST);
        self.head.capacity().saturating_add(pages)
    }
}

const PAGE_BITS: u32 = 10;
const PAGE_LEN: usize = 1 << PAGE_BITS;
const PAGE_MASK: usize = PAGE_LEN - 1;
const WORD_BITS: usize = 64;
/// Memory of a page with its share of a tree node, in bytes.
const PAGE_COST: usize = size_of::<Page>() + 32;

/// A part of a stream with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    bytes: [u8; PAGE_LEN],
    /// A bit for each byte that is present.
    present: [u64; PAGE_LEN / WORD_BITS],
}

impl Default for Page {
    fn default() -> Self {
        Self { bytes: [0; PAGE_LEN], present: [0; PAGE_LEN / WORD_BITS] }
    }
}

impl Page {
    /// Writes bytes within the page. Returns whether they differ from those that were present.
    fn write(&mut self, mut start: usize, mut bytes: &[u8], replace: bool) -> bool {
        let mut differs = false;
        while !bytes.is_empty() {
            let bit = start & (WORD_BITS - 1);
            let (part, rest) = bytes.split_at_checked(WORD_BITS.saturating_sub(bit)).unwrap_or((bytes, &[]));
            let end = start.saturating_add(part.len());
            let (Some(present), Some(target)) =
                (self.present.get_mut(start / WORD_BITS), self.bytes.get_mut(start..end))
            else {
                break;
            };
            let first = u32::try_from(bit).unwrap_or_default();
            let unused = u32::try_from(WORD_BITS.saturating_sub(part.len())).unwrap_or_default();
            let mask = u64::MAX.wrapping_shr(unused).wrapping_shl(first);
            if *present & mask == 0 {
                target.copy_from_slice(part);
            } else {
                let mut bits = present.wrapping_shr(first);
                for (target, byte) in target.iter_mut().zip(part) {
                    let is_present = bits & 1 != 0;
                    differs |= is_present && target != byte;
                    if replace || !is_present {
                        *target = *byte;
                    }
                    bits >>= 1;
                }
            }
            *present |= mask;
            (start, bytes) = (end, rest);
        }
        differs
    }

    /// The present bytes from here to the next gap.
    fn run(&self, start: usize) -> &[u8] {
        let mut end = start;
        while let Some(word) = self.present.get(end / WORD_BITS) {
            let bit = u32::try_from(end & (WORD_BITS - 1)).unwrap_or_default();
            let ones = word.wrapping_shr(bit).trailing_ones();
            end = end.saturating_add(usize::try_from(ones).unwrap_or_default());
            if ones == 0 || end & (WORD_BITS - 1) != 0 {
                break;
            }
        }
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Whether a byte at or after this position is present.
    fn has_bytes_after(&self, position: usize) -> bool {
        let bit = u32::try_from(position & (WORD_BITS - 1)).unwrap_or_default();
        let mut words = self.present.iter().skip(position / WORD_BITS);
        words.next().is_some_and(|word| word.wrapping_shr(bit) != 0) || words.any(|word| *word != 0)
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hello::handshake::CLIENT_HELLO;

    const LIMITS: StreamLimits = StreamLimits { window: 1 << 16, messages: 2 };

    fn message(content: u8, len: usize) -> Vec<u8> {
        [&[CLIENT_HELLO, 0][..], &u16::try_from(len).unwrap().to_be_bytes(), &vec![content; len]].concat()
    }

    /// Pushes packets of chunks and returns the messages, each with whether it conflicts.
    fn read(packets: &[&[Chunk<'_>]]) -> (Vec<(Vec<u8>, bool)>, bool) {
        let (mut copies, mut found, mut kept) = (StreamCopies::default(), Vec::new(), true);
        for chunks in packets {
            kept &= copies.push(chunks, LIMITS, Some(&mut 8)).is_none();
            let _ = copies.read(CLIENT_HELLO, LIMITS, &mut |message| {
                found.push((message.bytes.to_vec(), message.conflict));
            });
        }
        (found, kept)
    }

    #[test]
    fn reads_every_content_of_same_bytes() {
        let contents: Vec<_> = (0..20).map(|content| message(content, 300)).collect();
        let chunks: Vec<[Chunk<'_>; 1]> = contents.iter().map(|message| [(0, &message[..])]).collect();
        let packets: Vec<&[Chunk<'_>]> = chunks.iter().map(|chunk| &chunk[..]).collect();
        let (found, kept) = read(&packets);
        assert!(kept);
        let expected: Vec<_> =
            contents.iter().enumerate().map(|(nth, message)| (message.clone(), nth > 0)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn reads_all_combinations_of_two_halves() {
        let (a, b) = (message(1, 300), message(2, 300));
        let (a1, a2, b1, b2) = ([(0, &a[..150])], [(150, &a[150..])], [(0, &b[..150])], [(150, &b[150..])]);
        for order in [[&a1, &b1, &a2, &b2], [&a1, &b1, &b2, &a2], [&a2, &b2, &b1, &a1], [&b2, &a1, &a2, &b1]]
        {
            let (found, kept) = read(&order.map(|packet| &packet[..]));
            for message in [&a, &b] {
                assert!(kept && found.iter().any(|(bytes, _)| bytes == message), "{order:?}");
            }
            assert!(found.iter().skip(1).all(|(_, conflict)| *conflict));
        }
    }

    #[test]
    fn reads_both_contents_of_one_packet() {
        let (a, b) = (message(1, 40), message(2, 40));
        let (found, _) = read(&[&[(0, &a), (0, &b)]]);
        assert_eq!(found, [(a, false), (b, true)]);
    }

    #[test]
    fn content_that_is_not_a_message_conflicts() {
        let (a, noise) = (message(1, 40), [0xee; 44]);
        assert_eq!(read(&[&[(0, &noise)], &[(0, &a)]]).0, [(a.clone(), true)]);
        let (found, _) = read(&[&[(0, &a[..20])], &[(0, &noise)], &[(20, &a[20..])]]);
        assert_eq!(found.last(), Some(&(a.clone(), true)));
        assert_eq!(read(&[&[(0, &noise[..4])], &[(0, &a)]]).0, [(a, true)]);
    }

    #[test]
    fn repetition_does_not_conflict() {
        let a = message(1, 3000);
        let chunks: Vec<Chunk<'_>> =
            a.chunks(100).enumerate().map(|(nth, chunk)| (nth as u64 * 100, chunk)).collect();
        let reversed: Vec<Chunk<'_>> = chunks.iter().rev().copied().collect();
        assert_eq!(read(&[&reversed, &chunks, &[(0, &a)]]), (vec![(a.clone(), false)], true));
    }

    #[test]
    fn single_bytes_in_any_order_fit() {
        let a = message(1, 60_000);
        let chunks: Vec<Chunk<'_>> = a.chunks(1).enumerate().map(|(nth, byte)| (nth as u64, byte)).collect();
        let mut copies = StreamCopies::default();
        for chunk in chunks.iter().rev() {
            assert_eq!(copies.push(&[*chunk], LIMITS, None), None);
            assert!(copies.buffered_bytes() < 140_000, "{}", copies.buffered_bytes());
        }
        let mut found = 0;
        copies.read(CLIENT_HELLO, LIMITS, &mut |_| found += 1).unwrap();
        assert_eq!((found, copies.first.ahead.len()), (1, 0));
    }

    #[test]
    fn far_chunks_are_refused() {
        for offset in [1 << 16, 1 << 40, u64::MAX] {
            assert_eq!(StreamCopies::default().push(&[(offset, b"x")], LIMITS, None), Some(offset));
        }
        let mut copies = StreamCopies::default();
        assert_eq!(copies.push(&[((1 << 16) - 1, b"x")], LIMITS, None), None);
        assert!(copies.buffered_bytes() < 2000);
    }

    proptest! {
        /// Compares with a byte array that keeps the first, or the last copy of each byte.
        #[test]
        fn any_order_gives_chosen_copy_of_bytes(
            chunks in prop::collection::vec((0_usize..2500, prop::collection::vec(any::<u8>(), 1..300)), 0..40),
            replace in any::<bool>(),
        ) {
            let mut model: Vec<Option<u8>> = vec![None; 3000];
            let mut copy = StreamCopy::default();
            for (offset, chunk) in &chunks {
                let mut differs = false;
                for (place, byte) in model.iter_mut().skip(*offset).zip(chunk) {
                    differs |= place.is_some_and(|present| present != *byte);
                    if replace || place.is_none() {
                        *place = Some(*byte);
                    }
                }
                let written = copy.write(*offset as u64, chunk, 1 << 16, replace);
                prop_assert_eq!((written.differs, written.complete), (differs, true));
            }
            let expected: Vec<u8> = model.into_iter().map_while(|byte| byte).collect();
            prop_assert_eq!(copy.head, expected);
        }
    }
}
