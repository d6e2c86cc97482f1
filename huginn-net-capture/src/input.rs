//! The input of a capture, with decompression.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::num::NonZeroU32;
use std::sync::Arc;

use super::Compression;
use super::gzip::GzipDecoder;
use super::limits::{COMPRESSED_READ_LEN, MAX_COMPRESSION_RATIO, RATIO_CHECK_LEN, UNCHECKED_LEN};
use super::raw::{Raw, Reader};
use super::zstd::ZstdDecoder;

/// A reader of uncompressed bytes.
pub(super) struct Input {
    decoder: Decoder,
    ratio: RatioLimit,
}

enum Decoder {
    Plain(Raw),
    Gzip(Box<GzipDecoder>),
    Zstd(Box<ZstdDecoder<BufReader<Raw>>>),
}

impl Input {
    /// Detects the compression by the first bytes.
    pub(super) fn new(reader: Reader) -> io::Result<Self> {
        let mut raw = Raw { head: Cursor::default(), reader, consumed: 0, failed: false };
        let mut head = Vec::new();
        Read::by_ref(&mut raw).take(Compression::PROBE_LEN).read_to_end(&mut head)?;
        let compression = Compression::probe(&head);
        raw.head = Cursor::new(head);
        let buffered = |raw| BufReader::with_capacity(COMPRESSED_READ_LEN, raw);
        let decoder = match compression {
            None => Decoder::Plain(raw),
            Some(Compression::Gzip) => Decoder::Gzip(Box::new(GzipDecoder::new(buffered(raw)))),
            Some(Compression::Zstd) => Decoder::Zstd(Box::new(ZstdDecoder::new(buffered(raw)))),
        };
        Ok(Self { decoder, ratio: RatioLimit::default() })
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        match self.decoder {
            Decoder::Plain(_) => None,
            Decoder::Gzip(_) => Some(Compression::Gzip),
            Decoder::Zstd(_) => Some(Compression::Zstd),
        }
    }

    /// Sets the maximum ratio of decompressed to compressed bytes.
    pub(super) fn set_max_ratio(&mut self, max: Option<NonZeroU32>) {
        self.ratio.max = max;
    }

    /// Returns the bytes read so far, before decompression.
    pub(super) fn consumed(&self) -> u64 {
        self.decoder.raw().consumed
    }

    /// Whether reading failed, rather than decompression.
    pub(super) fn failed(&self) -> bool {
        self.decoder.raw().failed
    }

    /// Returns the file if it is not compressed; [`consumed`](Self::consumed) is then the offset of the next byte.
    pub(super) fn plain_file(&self) -> Option<&Arc<File>> {
        match &self.decoder {
            Decoder::Plain(Raw { reader: Reader::File(file), head, .. }) => {
                (head.position() >= head.get_ref().len() as u64).then_some(file)
            }
            _ => None,
        }
    }

    /// Continues after bytes of a [plain file](Self::plain_file) that were read in a chunk.
    pub(super) fn advance(&mut self, len: usize) {
        if let Decoder::Plain(raw) = &mut self.decoder {
            raw.consumed = raw.consumed.saturating_add(len as u64);
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Self { decoder, ratio } = self;
        if let Decoder::Plain(raw) = decoder {
            return raw.read(out);
        }
        let room = ratio.room(|| decoder.decoded())?.min(out.len());
        let len = decoder.read(out.get_mut(..room).unwrap_or_default())?;
        ratio.decompressed = ratio.decompressed.saturating_add(len as u64);
        Ok(len)
    }
}

impl Decoder {
    fn raw(&self) -> &Raw {
        match self {
            Self::Plain(raw) => raw,
            Self::Gzip(decoder) => decoder.source().get_ref(),
            Self::Zstd(decoder) => decoder.source().get_ref(),
        }
    }

    /// Compressed bytes that were decoded.
    fn decoded(&self) -> u64 {
        let waiting = match self {
            Self::Plain(_) => 0,
            Self::Gzip(decoder) => decoder.source().buffer().len(),
            Self::Zstd(decoder) => decoder.source().buffer().len(),
        };
        self.raw().consumed.saturating_sub(waiting as u64)
    }
}

impl Read for Decoder {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(raw) => raw.read(out),
            Self::Gzip(decoder) => decoder.read(out),
            Self::Zstd(decoder) => decoder.read(out),
        }
    }
}

/// The limit of the ratio of decompressed to compressed bytes.
///
/// It is checked where the decompressed length is a multiple of an interval, so that a capture ends at the same packet
/// however long the pieces are in which it is read.
struct RatioLimit {
    max: Option<NonZeroU32>,
    decompressed: u64,
    /// Decompressed length at which the ratio is checked.
    next_check: u64,
}

impl Default for RatioLimit {
    fn default() -> Self {
        Self { max: NonZeroU32::new(MAX_COMPRESSION_RATIO), decompressed: 0, next_check: UNCHECKED_LEN }
    }
}

impl RatioLimit {
    /// Returns the number of bytes that may be decompressed before the next check.
    fn room(&mut self, compressed: impl FnOnce() -> u64) -> io::Result<usize> {
        if self.decompressed == self.next_check {
            if let Some(max) = self.max
                && self.decompressed > compressed().saturating_mul(max.get().into())
            {
                return Err(io::Error::new(ErrorKind::InvalidData, RatioExceeded { max }));
            }
            self.next_check = self.next_check.saturating_add(RATIO_CHECK_LEN);
        }
        Ok(usize::try_from(self.next_check.saturating_sub(self.decompressed)).unwrap_or(usize::MAX))
    }
}

/// Decompressed data is longer than its compressed form allows.
#[derive(Debug, thiserror::Error)]
#[error("more than {max} times the compressed length")]
pub(super) struct RatioExceeded {
    pub(super) max: NonZeroU32,
}

impl RatioExceeded {
    /// The reason of an error, if it is this one.
    pub(super) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}
