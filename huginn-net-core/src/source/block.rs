//! Blocks of frames in one buffer.

use super::prefetch;
use crate::limits::{MAX_BLOCK_FRAMES, PREFETCH_DISTANCE};
use crate::{Frame, LinkType, Timestamp};

/// A block of frames in one buffer, filled by a [`Source`](crate::Source) and read by several workers.
#[derive(Debug)]
pub struct Block {
    /// The first `len` bytes contain frames; the rest is spare.
    bytes: Vec<u8>,
    len: usize,
    frames: Vec<FrameRecord>,
    taken_at: Option<Timestamp>,
    limit: usize,
    max_frames: usize,
    /// Number of frames that a filter expression removed, and their captured bytes.
    filtered: (u64, u64),
}

/// Location and metadata of a frame in the buffer of its [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// Capture time.
    pub ts: Timestamp,
    /// Offset of its first byte in the buffer.
    pub start: u32,
    /// Captured bytes.
    pub len: u32,
    /// Length on the wire, in bytes.
    pub wire_len: u32,
    /// Link-layer type.
    pub link: LinkType,
}

impl Block {
    /// Creates an empty block that is full at `limit` bytes, at least one.
    pub fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            len: 0,
            frames: Vec::new(),
            taken_at: None,
            // A limit of zero would make the block full at once.
            limit: limit.max(1),
            max_frames: MAX_BLOCK_FRAMES,
            filtered: (0, 0),
        }
    }

    /// Removes all frames and keeps the memory.
    pub fn clear(&mut self) {
        self.frames.clear();
        (self.len, self.taken_at, self.filtered) = (0, None, (0, 0));
        self.max_frames = MAX_BLOCK_FRAMES;
    }

    /// Limits the number of frames until the block is cleared.
    pub(crate) fn limit_frames(&mut self, count: u64) {
        self.max_frames = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_BLOCK_FRAMES);
    }

    /// Returns the number of bytes at which the block is full. The last frame may exceed it.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether the block has reached its limit of bytes or of frames: 16,384, or fewer in the last block of
    /// [`FirstFrames`](crate::FirstFrames).
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= self.limit || self.frames.len() >= self.max_frames
    }

    /// Copies a frame to the end of the block.
    #[inline]
    pub fn push(&mut self, frame: &Frame<'_>) {
        self.bytes.truncate(self.len);
        self.bytes.extend_from_slice(frame.data);
        let Frame { ts, link, data, wire_len } = *frame;
        let [start, len] = [self.len, data.len()].map(|offset| u32::try_from(offset).unwrap_or(u32::MAX));
        self.len = self.bytes.len();
        self.frames.push(FrameRecord { ts, start, len, wire_len, link });
    }

    /// Adds the record of a frame in a buffer that [`swap_buffer`](Self::swap_buffer) hands over afterwards.
    #[inline]
    pub fn push_record(&mut self, record: FrameRecord) {
        self.frames.push(record);
    }

    /// Replaces the buffer by the one that contains the [recorded](Self::push_record) frames. Returns the old buffer,
    /// whose content is arbitrary.
    pub fn swap_buffer(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        self.len = buffer.len();
        std::mem::replace(&mut self.bytes, buffer)
    }

    /// Exchanges all frames with those of another block, without a copy. False, and nothing changes, if that would exceed the
    /// number of frames of this block, or if it has frames.
    pub(super) fn swap_frames(&mut self, other: &mut Self) -> bool {
        let fits = self.is_empty() && other.frames.len() <= self.max_frames;
        if fits {
            std::mem::swap(&mut self.bytes, &mut other.bytes);
            std::mem::swap(&mut self.frames, &mut other.frames);
            std::mem::swap(&mut self.len, &mut other.len);
        }
        fits
    }

    /// Returns the frame with this index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<Frame<'_>> {
        self.frames.get(index).map(|record| record.frame(&self.bytes))
    }

    /// Keeps the first `count` frames.
    pub fn truncate(&mut self, count: usize) {
        self.frames.truncate(count);
    }

    /// Removes and counts the frames that `passes` rejects.
    #[cfg(feature = "libpcap")]
    pub(crate) fn filter(&mut self, mut passes: impl FnMut(&Frame<'_>) -> bool) {
        let Self { bytes, frames, filtered, .. } = self;
        frames.retain(|record| {
            let frame = record.frame(bytes);
            let passes = passes(&frame);
            if !passes {
                let (frames, bytes) = *filtered;
                *filtered = (frames.saturating_add(1), bytes.saturating_add(frame.data.len() as u64));
            }
            passes
        });
    }

    /// Returns the number of frames that a filter expression removed, and their captured bytes.
    pub(crate) fn filtered(&self) -> (u64, u64) {
        self.filtered
    }

    /// Whether no frame was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.filtered.0 == 0
    }

    /// Returns the records of the frames in order.
    pub fn frames(&self) -> &[FrameRecord] {
        &self.frames
    }

    /// Returns when the source received the first frame from the capture mechanism, by the clock that stamps frames.
    pub fn taken_at(&self) -> Option<Timestamp> {
        self.taken_at
    }

    /// Sets when the source received the first frame.
    pub fn set_taken_at(&mut self, taken_at: Option<Timestamp>) {
        self.taken_at = taken_at;
    }

    /// Iterates over the frames in order. Each step prefetches the frame 16 positions ahead.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().enumerate().map(|(index, record)| {
            if let Some(ahead) = self.frames.get(index.saturating_add(PREFETCH_DISTANCE)) {
                prefetch(&self.bytes, ahead.start as usize);
            }
            record.frame(&self.bytes)
        })
    }
}

impl FrameRecord {
    /// Returns the frame; an empty one if its range exceeds the buffer.
    #[inline]
    fn frame<'a>(&self, bytes: &'a [u8]) -> Frame<'a> {
        let Self { ts, start, len, wire_len, link } = *self;
        let data = bytes.get(start as usize..).and_then(|bytes| bytes.get(..len as usize));
        Frame { ts, link, data: data.unwrap_or_default(), wire_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(data: &[u8]) -> Frame<'_> {
        Frame { ts: Timestamp::new(1, 2, 6), link: LinkType::ETHERNET, data, wire_len: 99 }
    }

    #[test]
    fn block_returns_pushed_frames() {
        let mut block = Block::new(10);
        for round in 0..3 {
            block.clear();
            assert!(!block.is_full());
            let frames: [&[u8]; 4] = [b"abc", b"", b"defg", &[round; 5]];
            for data in frames {
                assert!(!block.is_full());
                block.push(&frame(data));
            }
            assert!(block.is_full());
            assert!(block.iter().map(|frame| frame.data).eq(frames));
            assert!(block.iter().all(|frame| frame.wire_len == 99 && frame.link == LinkType::ETHERNET));
            block.truncate(3);
            assert_eq!(block.iter().last().map(|frame| frame.data), Some(&b"defg"[..]));
            block.limit_frames(0);
        }
    }

    #[test]
    fn records_outside_the_buffer_give_empty_frames() {
        let mut block = Block::new(10);
        let record = |start, len| FrameRecord {
            ts: Timestamp::default(),
            start,
            len,
            wire_len: 4,
            link: LinkType::RAW,
        };
        for record in [record(1, 2), record(2, 2), record(9, 1), record(u32::MAX, u32::MAX)] {
            block.push_record(record);
        }
        let own = block.swap_buffer(b"abc".to_vec());
        assert!(own.is_empty());
        assert!(block.iter().map(|frame| frame.data).eq([&b"bc"[..], b"", b"", b""]));
    }
}
