//! A buffered stream of the uncompressed bytes of a capture.

use std::io::{self, Read};
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use huginn_net_core::Chunk;

use super::Compression;
use super::file_chunks::FileChunks;
use super::input::Input;
use super::limits::{BUFFER_LEN, MAX_BUFFER_LEN, PREFIX_ROOM};
use super::read_ahead::{Block, ReadAhead};

/// The capture's bytes in order. Those from `start` to `end` of the buffer were read and not yet consumed.
pub(super) struct Stream {
    source: ByteSource,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the capture of the buffer's first byte, modulo 2^64.
    base: u64,
    /// Offset in the capture of the current record or block.
    mark: u64,
    at_end: bool,
    chunks: Chunks,
}

/// How several threads read a plain file.
#[derive(Default)]
struct Chunks {
    /// Reads them; `None` if the file is read without chunks.
    reader: Option<Arc<FileChunks>>,
    /// Whether chunks arrive that were claimed before the file was found to go on elsewhere.
    are_stale: bool,
    /// A buffer for later use.
    spare: Vec<u8>,
}

/// The source of uncompressed bytes.
enum ByteSource {
    /// Reads on demand.
    Input(Input),
    ReadAhead(ReadAhead),
}

impl Stream {
    pub(super) fn new(input: Input) -> Self {
        let source = ByteSource::Input(input);
        let chunks = Chunks::default();
        Self {
            source,
            buffer: vec![0; BUFFER_LEN],
            start: 0,
            end: 0,
            base: 0,
            mark: 0,
            at_end: false,
            chunks,
        }
    }

    /// Lets several threads read chunks of the file, if it is a plain one.
    pub(super) fn file_chunks(&mut self, block_bytes: usize) -> Option<Arc<FileChunks>> {
        let ByteSource::Input(input) = &self.source else { return None };
        let file = Arc::clone(input.plain_file()?);
        let len = block_bytes.clamp(BUFFER_LEN, MAX_BUFFER_LEN);
        let reader = Arc::new(FileChunks::new(file, len, input.consumed()));
        self.chunks.reader = Some(Arc::clone(&reader));
        Some(reader)
    }

    /// Whether threads read chunks of the file.
    #[inline]
    pub(super) fn has_chunks(&self) -> bool {
        self.chunks.reader.is_some()
    }

    /// Adds a chunk to the bytes read. Returns its buffer, without a use of it, if the file goes on elsewhere, because it has changed, or
    /// because bytes after the last chunk were read without one. Later chunks then follow those bytes.
    pub(super) fn add_chunk(&mut self, chunk: Chunk) -> Option<Vec<u8>> {
        let Chunk { buffer, end, offset } = chunk;
        let ByteSource::Input(input) = &mut self.source else { return None };
        let reached = input.consumed();
        if offset > reached && end <= PREFIX_ROOM {
            // Beyond the end of the file, which a read without a chunk shows.
            self.chunks.spare = buffer;
            return None;
        }
        if offset != reached {
            let were_stale = std::mem::replace(&mut self.chunks.are_stale, true);
            // Chunks that were claimed before the first one was dropped arrive first.
            if let Some(reader) = self.chunks.reader.as_ref().filter(|_| !were_stale) {
                reader.continue_at(reached, offset);
            }
            return Some(buffer);
        }
        input.advance(end.saturating_sub(PREFIX_ROOM));
        self.chunks.are_stale = false;
        self.chunks.spare = if end > PREFIX_ROOM { self.switch_to(buffer, end) } else { buffer };
        None
    }

    /// Sets the maximum ratio of decompressed to compressed bytes; without effect once a thread reads ahead.
    pub(super) fn set_max_ratio(&mut self, max: Option<NonZeroU32>) {
        if let ByteSource::Input(input) = &mut self.source {
            input.set_max_ratio(max);
        }
    }

    /// Starts to read ahead in a thread, unless the system cannot start one.
    pub(super) fn start_read_ahead(self) -> Self {
        let source = match self.source {
            ByteSource::Input(input) => {
                ReadAhead::start(input).map_or_else(ByteSource::Input, ByteSource::ReadAhead)
            }
            read_ahead => read_ahead,
        };
        Self { source, ..self }
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        match &self.source {
            ByteSource::Input(input) => input.compression(),
            ByteSource::ReadAhead(read_ahead) => read_ahead.compression(),
        }
    }

    /// Returns the input bytes read so far, before decompression. With read-ahead, only blocks already received
    /// count.
    pub(super) fn consumed(&self) -> u64 {
        match &self.source {
            ByteSource::Input(input) => input.consumed(),
            ByteSource::ReadAhead(read_ahead) => read_ahead.consumed(),
        }
    }

    /// Whether reading failed, rather than decompression.
    pub(super) fn failed(&self) -> bool {
        match &self.source {
            ByteSource::Input(input) => input.failed(),
            ByteSource::ReadAhead(read_ahead) => read_ahead.failed(),
        }
    }

    /// Returns the bytes read and not yet consumed.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns at least `len` unread bytes, or all remaining bytes of the capture.
    #[inline]
    pub(super) fn ensure(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.end.saturating_sub(self.start) < len {
            self.fill(len)?;
        }
        Ok(self.unread())
    }

    /// Consumes the first `len` unread bytes, or all if there are fewer.
    #[inline]
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let start = self.start;
        self.start = start.saturating_add(len).min(self.end);
        self.buffer.get(start..self.start).unwrap_or_default()
    }

    /// Consumes the first `len` unread bytes, which there must be, and returns a part of them.
    #[inline]
    pub(super) fn take_part(&mut self, len: usize, part: Range<usize>) -> &[u8] {
        let start = self.start;
        self.start = start.saturating_add(len).min(self.end);
        self.buffer.get(start.wrapping_add(part.start)..start.wrapping_add(part.end)).unwrap_or_default()
    }

    /// Skips `len` bytes without buffering them. Returns the number of bytes skipped.
    pub(super) fn skip(&mut self, len: u64) -> io::Result<u64> {
        let mut left = len;
        while left > 0 && !self.ensure(1)?.is_empty() {
            let step = usize::try_from(left).unwrap_or(usize::MAX);
            left = left.saturating_sub(self.take(step).len() as u64);
        }
        Ok(len.saturating_sub(left))
    }

    /// Marks the start of a record or block.
    #[inline]
    pub(super) fn set_mark(&mut self) {
        self.mark = self.base.wrapping_add(self.start as u64);
    }

    /// Returns the offset of the current record or block.
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }

    /// Returns the offset of the end of the bytes read.
    pub(super) fn reached(&self) -> u64 {
        self.base.wrapping_add(self.end as u64)
    }

    /// Returns the memory of the buffer, in bytes.
    #[cfg(test)]
    pub(super) fn buffer_len(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the offset in the buffer of the first unread byte.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Returns the buffer, and moves the unread bytes to `fresh`, which grows to at least `len` bytes.
    pub(super) fn swap_buffer(&mut self, mut fresh: Vec<u8>, len: usize) -> Vec<u8> {
        if fresh.is_empty() {
            fresh = std::mem::take(&mut self.chunks.spare);
        }
        let unread = self.unread();
        let len = len.clamp(unread.len(), MAX_BUFFER_LEN.max(unread.len()));
        if fresh.len() < len.max(BUFFER_LEN) {
            fresh.resize(len.max(BUFFER_LEN), 0);
        }
        let unread_len = unread.len();
        if let Some(room) = fresh.get_mut(..unread_len) {
            room.copy_from_slice(unread);
        }
        self.base = self.base.wrapping_add(self.start as u64);
        (self.start, self.end) = (0, unread_len);
        std::mem::replace(&mut self.buffer, fresh)
    }

    #[cold]
    fn fill(&mut self, len: usize) -> io::Result<()> {
        if let ByteSource::Input(_) = self.source {
            self.make_room(len);
            // A buffer that a chunk was appended to stays longer, but what is read into it does not grow with each.
            if self.has_chunks() {
                self.buffer.truncate(MAX_BUFFER_LEN.max(len));
            }
        }
        while self.end.saturating_sub(self.start) < len && !self.at_end {
            match &mut self.source {
                ByteSource::Input(input) => {
                    let space = self.buffer.get_mut(self.end..).unwrap_or_default();
                    let read = input.read(space)?;
                    self.at_end = read == 0;
                    self.end = self.end.saturating_add(read).min(self.buffer.len());
                }
                ByteSource::ReadAhead(read_ahead) => match read_ahead.next()? {
                    Some(Block { buffer, end, .. }) => {
                        let spent = self.switch_to(buffer, end);
                        self.recycle(spent);
                    }
                    None => self.at_end = true,
                },
            }
        }
        Ok(())
    }

    /// Moves the unread bytes to the start of the buffer, and grows it to `len` bytes.
    fn make_room(&mut self, len: usize) {
        // The unread bytes are part of one record: the move is cheap compared with the read that follows.
        self.buffer.copy_within(self.start..self.end, 0);
        self.base = self.base.wrapping_add(self.start as u64);
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
    }

    /// Copies the unread bytes before the bytes of a buffer, which are those from [`PREFIX_ROOM`] to `end`, or appends these if there is too
    /// little room. Returns the unused buffer.
    fn switch_to(&mut self, mut buffer: Vec<u8>, end: usize) -> Vec<u8> {
        let unread = self.unread();
        let len = unread.len();
        let start = PREFIX_ROOM.saturating_sub(len);
        let before = buffer.get_mut(start..PREFIX_ROOM);
        if let Some(place) = before.filter(|place| place.len() == len) {
            place.copy_from_slice(unread);
            self.base = self.base.wrapping_add(self.start as u64).wrapping_sub(start as u64);
            (self.start, self.end) = (start, end);
            return std::mem::replace(&mut self.buffer, buffer);
        }
        let bytes = buffer.get(PREFIX_ROOM..end).unwrap_or_default();
        self.make_room(len);
        self.buffer.truncate(len);
        self.buffer.reserve_exact(bytes.len());
        self.buffer.extend_from_slice(bytes);
        self.end = self.buffer.len();
        buffer
    }

    fn recycle(&self, buffer: Vec<u8>) {
        if let ByteSource::ReadAhead(read_ahead) = &self.source {
            read_ahead.recycle(buffer);
        }
    }
}
