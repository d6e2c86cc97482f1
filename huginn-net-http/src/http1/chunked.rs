//! The chunked transfer coding (RFC 9112, section 7.1).

use memchr::memchr;

/// A decoder of chunk boundaries; the data is not read.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    state: ChunkState,
}

#[derive(Debug)]
enum ChunkState {
    /// In the digits of a chunk size, with the value so far.
    Size(Option<u64>),
    /// In the rest of the size line, with the size.
    Extension(u64),
    /// In data, with the remaining bytes.
    Data(u64),
    /// In the line break after data.
    DataEnd,
    /// At the start of a trailer line.
    TrailerStart,
    /// In a trailer line.
    Trailer,
}

impl Default for ChunkState {
    fn default() -> Self {
        Self::Size(None)
    }
}

/// A violation of the chunked coding.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The end of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BodyEnd {
    /// Bytes of this piece that belong to the body.
    pub(super) taken: usize,
    /// Whether a CR ended the body, so that a following LF belongs to it.
    pub(super) after_cr: bool,
}

impl Chunked {
    /// Parses the next bytes and returns the end of the body, if reached.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<BodyEnd>, Malformed> {
        let mut taken: usize = 0;
        while let Some((&byte, rest)) = bytes.get(taken..).and_then(<[u8]>::split_first) {
            let line = || memchr(b'\n', rest).map_or(rest.len(), |end| end.saturating_add(1));
            let (next, more) = match self.state {
                ChunkState::Size(size) => match (size, char::from(byte).to_digit(16)) {
                    (_, Some(digit)) => {
                        let size = size.unwrap_or(0).checked_mul(16).ok_or(Malformed)?;
                        (ChunkState::Size(Some(size.saturating_add(u64::from(digit)))), 0)
                    }
                    (Some(size), None) if matches!(byte, b'\r' | b';' | b' ' | b'\t') => {
                        (ChunkState::Extension(size), 0)
                    }
                    (Some(size), None) if byte == b'\n' => (ChunkState::after_size(size), 0),
                    _ => return Err(Malformed),
                },
                ChunkState::Extension(size) if byte == b'\n' => (ChunkState::after_size(size), 0),
                ChunkState::Extension(size) => {
                    let more = line();
                    let ended = more.checked_sub(1).and_then(|last| rest.get(last)) == Some(&b'\n');
                    (if ended { ChunkState::after_size(size) } else { ChunkState::Extension(size) }, more)
                }
                ChunkState::Data(remaining) => {
                    let here =
                        usize::try_from(remaining).unwrap_or(usize::MAX).min(rest.len().saturating_add(1));
                    let remaining = remaining.saturating_sub(here as u64);
                    (
                        if remaining == 0 { ChunkState::DataEnd } else { ChunkState::Data(remaining) },
                        here.saturating_sub(1),
                    )
                }
                ChunkState::DataEnd if byte == b'\r' => (ChunkState::DataEnd, 0),
                ChunkState::DataEnd if byte == b'\n' => (ChunkState::Size(None), 0),
                ChunkState::DataEnd => return Err(Malformed),
                ChunkState::TrailerStart if matches!(byte, b'\r' | b'\n') => {
                    return Ok(Some(BodyEnd { taken: taken.saturating_add(1), after_cr: byte == b'\r' }));
                }
                ChunkState::Trailer if byte == b'\n' => (ChunkState::TrailerStart, 0),
                ChunkState::TrailerStart | ChunkState::Trailer => {
                    let more = line();
                    let ended = more.checked_sub(1).and_then(|last| rest.get(last)) == Some(&b'\n');
                    (if ended { ChunkState::TrailerStart } else { ChunkState::Trailer }, more)
                }
            };
            self.state = next;
            taken = taken.saturating_add(1).saturating_add(more);
        }
        Ok(None)
    }

    /// Remaining bytes of the current chunk's data; 0 outside of data.
    #[inline]
    #[cfg(feature = "packets")]
    pub(super) fn remaining(&self) -> u64 {
        match self.state {
            ChunkState::Data(remaining) => remaining,
            _ => 0,
        }
    }

    /// Skips missing bytes. Fails if more than data is missing.
    pub(super) fn skip(&mut self, missing: u64) -> Result<(), Malformed> {
        match self.state {
            ChunkState::Data(remaining) => {
                let remaining = remaining.checked_sub(missing).ok_or(Malformed)?;
                self.state = if remaining == 0 { ChunkState::DataEnd } else { ChunkState::Data(remaining) };
                Ok(())
            }
            _ => Err(Malformed),
        }
    }
}

impl ChunkState {
    fn after_size(size: u64) -> Self {
        if size == 0 { Self::TrailerStart } else { Self::Data(size) }
    }
}
