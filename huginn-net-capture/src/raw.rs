//! The bytes of a capture before decompression.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::Arc;

use super::file_chunks::read_at;

/// Where the bytes of a capture come from.
pub(super) enum Reader {
    /// A regular file, which is read from its start on.
    File(Arc<File>),
    Other(Box<dyn Read + Send>),
}

impl Reader {
    /// Reads on after `consumed` bytes.
    fn read(&mut self, consumed: u64, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => read_at(file, consumed, out),
            Self::Other(reader) => reader.read(out),
        }
    }
}

/// The raw input, with a byte counter.
pub(super) struct Raw {
    /// First bytes, already read to detect the compression.
    pub(super) head: Cursor<Vec<u8>>,
    pub(super) reader: Reader,
    pub(super) consumed: u64,
    pub(super) failed: bool,
}

impl Raw {
    /// An input without bytes.
    pub(super) fn nothing() -> Self {
        Self {
            head: Cursor::default(),
            reader: Reader::Other(Box::new(io::empty())),
            consumed: 0,
            failed: false,
        }
    }
}

impl Read for Raw {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let again = self.head.read(out)?;
        if again > 0 {
            return Ok(again);
        }
        loop {
            match self.reader.read(self.consumed, out) {
                Ok(len) => {
                    self.consumed = self.consumed.saturating_add(len as u64);
                    return Ok(len);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
            }
        }
    }
}
