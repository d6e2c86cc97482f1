//! The uncompressed bytes of a capture, seen through one buffer.

use std::io::{self, Read};

use super::input::Input;

/// Length of the buffer to begin with; measured, see `docs/decisions/002-capture-file-reader.md`.
const BUFFER_LEN: usize = 256 * 1024;

/// Bytes in order of the capture. Those between `start` and `end` of the buffer were read and not yet taken.
pub(super) struct Stream {
    input: Input,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the capture of the buffer's first byte.
    base: u64,
    /// Offset in the capture of the record or block that is being read.
    mark: u64,
    at_end: bool,
}

impl Stream {
    pub(super) fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; BUFFER_LEN], start: 0, end: 0, base: 0, mark: 0, at_end: false }
    }

    pub(super) fn input(&self) -> &Input {
        &self.input
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
        self.mark = self.base.saturating_add(self.start as u64);
    }

    /// Where the record or block that is being read began.
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }

    /// How far the capture could be read.
    pub(super) fn reached(&self) -> u64 {
        self.base.saturating_add(self.end as u64)
    }

    /// Gives the buffer away, and goes on in this one with what is unread.
    pub(super) fn take_buffer(&mut self, mut fresh: Vec<u8>) -> Vec<u8> {
        let unread = self.unread();
        let len = unread.len();
        if fresh.len() < len.max(BUFFER_LEN) {
            fresh.resize(len.max(BUFFER_LEN), 0);
        }
        if let Some(place) = fresh.get_mut(..len) {
            place.copy_from_slice(unread);
        }
        self.base = self.base.saturating_add(self.start as u64);
        (self.start, self.end) = (0, len);
        std::mem::replace(&mut self.buffer, fresh)
    }

    #[cold]
    fn fill(&mut self, len: usize) -> io::Result<()> {
        // What is unread is the beginning of one record: to move it is cheap beside the read that follows.
        self.buffer.copy_within(self.start..self.end, 0);
        self.base = self.base.saturating_add(self.start as u64);
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
        while self.end < len && !self.at_end {
            let space = self.buffer.get_mut(self.end..).unwrap_or_default();
            let read = self.input.read(space)?;
            self.at_end = read == 0;
            self.end = self.end.saturating_add(read).min(self.buffer.len());
        }
        Ok(())
    }
}
