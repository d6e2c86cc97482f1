//! Blocks of frames.

use prefetch_index::prefetch_index;

use crate::limits::{LENT_FRAME_BYTES, MAX_BLOCK_FRAMES};
use crate::{Chunk, Frame, LinkType, Timestamp};

/// A block of frames, filled by a [`Source`](crate::Source) and read by several workers.
///
/// The block has the bytes of its frames, or refers to frames whose memory outlives the analysis: `'f` is their lifetime.
#[derive(Debug)]
pub struct Block<'f> {
    /// Bytes of the frames that are not lent.
    buffer: Vec<u8>,
    /// Length of the used part of the buffer; the rest is spare.
    used: usize,
    /// Bytes of all frames, and of the records between them.
    len: usize,
    frames: Vec<StoredFrame<'f>>,
    taken_at: Option<Timestamp>,
    /// What was read for the block that is to be filled.
    chunk: Option<Chunk>,
    limit: usize,
    /// Maximum number of frames that are wanted.
    max_frames: usize,
    /// Number of frames that a filter expression removed, and their captured bytes.
    pub(crate) filtered: (u64, u64),
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

/// A frame of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredFrame<'f> {
    pub(crate) ts: Timestamp,
    bytes: Bytes<'f>,
    wire_len: u32,
    link: LinkType,
}

/// The bytes of a frame.
#[derive(Clone, Copy, Debug)]
enum Bytes<'f> {
    /// In the buffer of the block.
    InBuffer { start: u32, len: u32 },
    /// In memory that outlives the block.
    Lent(&'f [u8]),
}

impl<'f> Block<'f> {
    /// Creates an empty block that is full at `limit` bytes, at least one.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            used: 0,
            len: 0,
            // As many lent frames as fit.
            frames: Vec::with_capacity((limit / LENT_FRAME_BYTES).min(MAX_BLOCK_FRAMES)),
            taken_at: None,
            chunk: None,
            // A limit of zero would make the block full at once.
            limit: limit.max(1),
            max_frames: usize::MAX,
            filtered: (0, 0),
        }
    }

    /// Removes all frames and keeps the memory.
    pub fn clear(&mut self) {
        self.frames.clear();
        (self.used, self.len, self.taken_at, self.filtered) = (0, 0, None, (0, 0));
        self.chunk = None;
        self.max_frames = usize::MAX;
    }

    /// Limits the number of frames until the block is cleared.
    pub(crate) fn limit_frames(&mut self, count: u64) {
        self.max_frames = usize::try_from(count).unwrap_or(usize::MAX);
    }

    /// Returns the number of bytes at which the block is full. The last frame may exceed it.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether the block has reached its limit of bytes or of frames: 16,384, or fewer in the last block of
    /// [`FirstFrames`](crate::FirstFrames).
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= self.limit || self.frames.len() >= self.max_frames.min(MAX_BLOCK_FRAMES)
    }

    /// Whether no further frame is wanted, though the block may have more room: [`FirstFrames`](crate::FirstFrames) has all.
    #[inline]
    pub fn has_last_frame(&self) -> bool {
        self.frames.len() >= self.max_frames
    }

    /// Copies a frame to the end of the block.
    #[inline]
    pub fn push(&mut self, frame: &Frame<'_>) {
        self.buffer.truncate(self.used);
        let Frame { ts, link, data, wire_len } = *frame;
        let [start, len] = [self.used, data.len()].map(|offset| u32::try_from(offset).unwrap_or(u32::MAX));
        self.buffer.extend_from_slice(data);
        self.used = self.buffer.len();
        self.add(StoredFrame { ts, bytes: Bytes::InBuffer { start, len }, wire_len, link }, data.len());
    }

    /// Adds a frame whose memory outlives the block, without a copy. It counts as 128 bytes, whatever its length.
    #[inline]
    pub fn lend(&mut self, frame: Frame<'f>) {
        let Frame { ts, link, data, wire_len } = frame;
        self.add(StoredFrame { ts, bytes: Bytes::Lent(data), wire_len, link }, LENT_FRAME_BYTES);
    }

    #[inline]
    fn add(&mut self, frame: StoredFrame<'f>, len: usize) {
        self.len = self.len.saturating_add(len);
        self.frames.push(frame);
    }

    /// Adds the record of a frame in a buffer that [`swap_buffer`](Self::swap_buffer) hands over afterwards.
    #[inline]
    pub fn push_record(&mut self, record: FrameRecord) {
        let FrameRecord { ts, start, len, wire_len, link } = record;
        self.frames.push(StoredFrame { ts, bytes: Bytes::InBuffer { start, len }, wire_len, link });
    }

    /// Replaces the buffer by the one that contains the [recorded](Self::push_record) frames. Returns the old buffer,
    /// whose content is arbitrary.
    pub fn swap_buffer(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        (self.used, self.len) = (buffer.len(), buffer.len());
        std::mem::replace(&mut self.buffer, buffer)
    }

    /// Sets what was read for the block that is to be filled.
    #[doc(hidden)]
    pub fn set_chunk(&mut self, chunk: Chunk) {
        self.chunk = Some(chunk);
    }

    /// Returns what was read for the block, if the source has [chunks](crate::Source::chunks).
    #[doc(hidden)]
    pub fn take_chunk(&mut self) -> Option<Chunk> {
        self.chunk.take()
    }

    /// Moves all frames of another block to this one, without a copy of their bytes, and nothing else: blocks of a channel
    /// have nothing else. False, and nothing changes, if that would exceed the number of frames of this block, or if it has
    /// frames.
    pub(super) fn take_frames(&mut self, other: &mut Block<'static>) -> bool {
        let fits = self.is_empty() && other.frames.len() <= self.max_frames.min(MAX_BLOCK_FRAMES);
        if fits {
            self.frames.extend(other.frames.iter().copied());
            (self.used, self.len) = (other.used, other.len);
            std::mem::swap(&mut self.buffer, &mut other.buffer);
            other.clear();
        }
        fits
    }

    /// Returns the frame with this index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<Frame<'_>> {
        self.frames.get(index).map(|frame| frame.read(&self.buffer))
    }

    /// Returns the frames in order, and the buffer that they refer to.
    pub(crate) fn stored(&self) -> (&[StoredFrame<'f>], &[u8]) {
        (&self.frames, &self.buffer)
    }

    /// Keeps the first `count` frames.
    pub fn truncate(&mut self, count: usize) {
        self.frames.truncate(count);
    }

    /// Removes and counts the frames that `passes` rejects.
    #[cfg(feature = "bpf")]
    pub(crate) fn filter(&mut self, mut passes: impl FnMut(&Frame<'_>) -> bool) {
        let Self { buffer, frames, filtered, .. } = self;
        frames.retain(|stored| {
            let frame = stored.read(buffer);
            let passes = passes(&frame);
            if !passes {
                let (frames, bytes) = *filtered;
                *filtered = (frames.saturating_add(1), bytes.saturating_add(frame.data.len() as u64));
            }
            passes
        });
    }

    /// Whether no frame was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.filtered.0 == 0
    }

    /// Returns the number of frames.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Returns when the source received the first frame from the capture mechanism, by the clock that stamps frames.
    pub fn taken_at(&self) -> Option<Timestamp> {
        self.taken_at
    }

    /// Sets when the source received the first frame.
    pub fn set_taken_at(&mut self, taken_at: Option<Timestamp>) {
        self.taken_at = taken_at;
    }

    /// Iterates over the frames in order.
    pub fn iter(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames.iter().map(|frame| frame.read(&self.buffer))
    }
}

impl StoredFrame<'_> {
    /// Prefetches the bytes 0 and `last`, which are in one cache line or two.
    #[inline(always)]
    pub(crate) fn prefetch(&self, buffer: &[u8], last: usize) {
        let (bytes, start) = match self.bytes {
            Bytes::InBuffer { start, .. } => (buffer, start as usize),
            Bytes::Lent(bytes) => (bytes, 0),
        };
        prefetch_index(bytes, start);
        prefetch_index(bytes, start.wrapping_add(last));
    }

    /// Returns the frame; an empty one if its range exceeds the buffer of the block.
    #[inline(always)]
    pub(crate) fn read<'a>(&'a self, buffer: &'a [u8]) -> Frame<'a> {
        let Self { ts, bytes, wire_len, link } = *self;
        let data = match bytes {
            Bytes::InBuffer { start, len } => {
                buffer.get(start as usize..).and_then(|bytes| bytes.get(..len as usize)).unwrap_or_default()
            }
            Bytes::Lent(bytes) => bytes,
        };
        Frame { ts, link, data, wire_len }
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
    fn lent_frames_are_not_copied() {
        let bytes = b"abcdefghij".to_vec();
        let mut block = Block::new(2 * LENT_FRAME_BYTES);
        block.lend(frame(&bytes[..4]));
        block.push(&frame(b"xyz"));
        assert!(!block.is_full());
        block.lend(frame(&bytes[4..]));
        assert!(block.is_full());
        assert!(block.iter().map(|frame| frame.data).eq([&b"abcd"[..], b"xyz", b"efghij"]));
        assert_eq!(block.get(2).map(|frame| frame.data.as_ptr()), Some(bytes[4..].as_ptr()));
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
