//! The uncompressed bytes of a capture, seen through one buffer.

use std::io::{self, Read};

use super::Compression;
use super::ahead::{Ahead, Block, HEADROOM};
use super::input::Input;

/// Length of the buffer to begin with; measured, see `docs/decisions/002-capture-file-reader.md`.
const BUFFER_LEN: usize = 256 * 1024;

/// The longest buffer that is read into at once.
const MAX_BUFFER_LEN: usize = 1 << 20;

/// Bytes in order of the capture. Those between `start` and `end` of the buffer were read and not yet taken.
pub(super) struct Stream {
    feed: Feed,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the capture of the buffer's first byte, modulo 2^64.
    base: u64,
    /// Offset in the capture of the record or block that is being read.
    mark: u64,
    at_end: bool,
}

/// Where bytes come from.
enum Feed {
    /// Read when they are wanted.
    Input(Input),
    Ahead(Ahead),
}

impl Stream {
    pub(super) fn new(input: Input) -> Self {
        let feed = Feed::Input(input);
        Self { feed, buffer: vec![0; BUFFER_LEN], start: 0, end: 0, base: 0, mark: 0, at_end: false }
    }

    /// Reads ahead in a thread from now on, unless the system gives none.
    pub(super) fn read_ahead(self) -> Self {
        let feed = match self.feed {
            Feed::Input(input) => Ahead::start(input).map_or_else(Feed::Input, Feed::Ahead),
            ahead => ahead,
        };
        Self { feed, ..self }
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        match &self.feed {
            Feed::Input(input) => input.compression(),
            Feed::Ahead(ahead) => ahead.compression(),
        }
    }

    /// Bytes of the input that were read so far, before decompression; of those that were read ahead, the ones that have
    /// been taken.
    pub(super) fn consumed(&self) -> u64 {
        match &self.feed {
            Feed::Input(input) => input.consumed(),
            Feed::Ahead(ahead) => ahead.consumed(),
        }
    }

    /// Whether it was reading that failed, rather than decompressing what was read.
    pub(super) fn failed(&self) -> bool {
        match &self.feed {
            Feed::Input(input) => input.failed(),
            Feed::Ahead(ahead) => ahead.failed(),
        }
    }

    /// What was read and not yet taken.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// At least `len` unread bytes, or as many as the capture still has.
    #[inline]
    pub(super) fn ensure(&mut self, len: usize) -> io::Result<&[u8]> {
        if self.end.saturating_sub(self.start) < len {
            self.fill(len)?;
        }
        Ok(self.unread())
    }

    /// Takes the first `len` unread bytes, or all if there are fewer.
    #[inline]
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let start = self.start;
        self.start = start.saturating_add(len).min(self.end);
        self.buffer.get(start..self.start).unwrap_or_default()
    }

    /// Passes over `len` bytes without holding them; tells how many there were.
    pub(super) fn skip(&mut self, len: u64) -> io::Result<u64> {
        let mut left = len;
        while left > 0 && !self.ensure(1)?.is_empty() {
            let step = usize::try_from(left).unwrap_or(usize::MAX);
            left = left.saturating_sub(self.take(step).len() as u64);
        }
        Ok(len.saturating_sub(left))
    }

    /// Notes that a record or block begins here.
    #[inline]
    pub(super) fn set_mark(&mut self) {
        self.mark = self.base.wrapping_add(self.start as u64);
    }

    /// Where the record or block that is being read began.
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }

    /// How far the capture could be read.
    pub(super) fn reached(&self) -> u64 {
        self.base.wrapping_add(self.end as u64)
    }

    /// Offset in the buffer of the first unread byte.
    #[inline]
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Gives the buffer away, and goes on with what is unread in another one, which is made at least so long.
    pub(super) fn swap_buffer(&mut self, mut fresh: Vec<u8>, len: usize) -> Vec<u8> {
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
        if let Feed::Input(_) = self.feed {
            self.make_room(len);
        }
        while self.end.saturating_sub(self.start) < len && !self.at_end {
            match &mut self.feed {
                Feed::Input(input) => {
                    let space = self.buffer.get_mut(self.end..).unwrap_or_default();
                    let read = input.read(space)?;
                    self.at_end = read == 0;
                    self.end = self.end.saturating_add(read).min(self.buffer.len());
                }
                Feed::Ahead(ahead) => match ahead.next()? {
                    Some(block) => {
                        let spent = self.go_on_in(block);
                        self.give_back(spent);
                    }
                    None => self.at_end = true,
                },
            }
        }
        Ok(())
    }

    /// Moves what is unread to the buffer's beginning, and makes it long enough for `len` bytes.
    fn make_room(&mut self, len: usize) {
        // What is unread is the beginning of one record: to move it is cheap beside the read that follows.
        self.buffer.copy_within(self.start..self.end, 0);
        self.base = self.base.wrapping_add(self.start as u64);
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
    }

    /// Sets what is unread before the bytes of a block, or these behind it where that has no room; gives the buffer that
    /// is not used any more.
    fn go_on_in(&mut self, mut block: Block) -> Vec<u8> {
        let unread = self.unread();
        let len = unread.len();
        let start = HEADROOM.saturating_sub(len);
        let before = block.buffer.get_mut(start..HEADROOM);
        if let Some(place) = before.filter(|place| place.len() == len) {
            place.copy_from_slice(unread);
            self.base = self.base.wrapping_add(self.start as u64).wrapping_sub(start as u64);
            (self.start, self.end) = (start, block.end);
            return std::mem::replace(&mut self.buffer, block.buffer);
        }
        let bytes = block.buffer.get(HEADROOM..block.end).unwrap_or_default();
        self.make_room(len);
        self.buffer.truncate(len);
        self.buffer.extend_from_slice(bytes);
        self.end = self.buffer.len();
        block.buffer
    }

    fn give_back(&self, buffer: Vec<u8>) {
        if let Feed::Ahead(ahead) = &self.feed {
            ahead.give_back(buffer);
        }
    }
}
