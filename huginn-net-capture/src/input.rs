//! The input of a capture, with decompression.

use std::io::{self, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::Compression;
use super::limits::COMPRESSED_READ_LEN;
use super::zstd::ZstdDecoder;

/// A reader of uncompressed bytes.
pub(super) enum Input {
    Plain(Raw),
    Gzip(Box<MultiGzDecoder<BufReader<Raw>>>),
    Zstd(Box<ZstdDecoder<BufReader<Raw>>>),
}

impl Input {
    /// Detects the compression by the first bytes.
    pub(super) fn new(reader: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut raw = Raw { head: Cursor::default(), reader, consumed: 0, failed: false };
        let mut head = Vec::new();
        Read::by_ref(&mut raw).take(Compression::PROBE_LEN).read_to_end(&mut head)?;
        let compression = Compression::probe(&head);
        raw.head = Cursor::new(head);
        Ok(match compression {
            None => Self::Plain(raw),
            Some(Compression::Gzip) => {
                Self::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(COMPRESSED_READ_LEN, raw))))
            }
            Some(Compression::Zstd) => {
                Self::Zstd(Box::new(ZstdDecoder::new(BufReader::with_capacity(COMPRESSED_READ_LEN, raw))))
            }
        })
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some(Compression::Gzip),
            Self::Zstd(_) => Some(Compression::Zstd),
        }
    }

    /// Returns the bytes read so far, before decompression.
    pub(super) fn consumed(&self) -> u64 {
        self.raw().consumed
    }

    /// Whether reading failed, rather than decompression.
    pub(super) fn failed(&self) -> bool {
        self.raw().failed
    }

    fn raw(&self) -> &Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(decoder) => decoder.get_ref().get_ref(),
            Self::Zstd(decoder) => decoder.source().get_ref(),
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(raw) => raw.read(out),
            Self::Gzip(decoder) => decoder.read(out),
            Self::Zstd(decoder) => decoder.read(out),
        }
    }
}

/// The raw input, with a byte counter.
pub(super) struct Raw {
    /// First bytes, already read to detect the compression.
    head: Cursor<Vec<u8>>,
    reader: Box<dyn Read + Send>,
    consumed: u64,
    failed: bool,
}

impl Read for Raw {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let again = self.head.read(out)?;
        if again > 0 {
            return Ok(again);
        }
        loop {
            match self.reader.read(out) {
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
