//! The chunked transfer coding (RFC 9112, section 7.1).

use memchr::memchr;

/// Where a chunked body is; its bytes are not kept.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    at: Place,
}

#[derive(Debug)]
enum Place {
    /// In the digits of a chunk's size; with what they tell, if there was one.
    Size(Option<u64>),
    /// Behind them, in the line that they begin; with the size.
    Extension(u64),
    /// In data, with how much is left.
    Data(u64),
    /// In the line break after data.
    DataEnd,
    /// At the first byte of a line of the trailer section.
    TrailerStart,
    /// Within such a line.
    Trailer,
}

impl Default for Place {
    fn default() -> Self {
        Self::Size(None)
    }
}

/// A body that is not chunked as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The end of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    /// How many of the bytes pushed belong to it.
    pub(super) taken: usize,
    /// Whether a CR ended it: an LF that follows belongs to it too.
    pub(super) after_cr: bool,
}

impl Chunked {
    /// Takes the next bytes and tells where the body ends, if it does.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<End>, Malformed> {
        let mut taken: usize = 0;
        while let Some((&byte, rest)) = bytes.get(taken..).and_then(<[u8]>::split_first) {
            let line = || memchr(b'\n', rest).map_or(rest.len(), |end| end.saturating_add(1));
            let (next, more) = match self.at {
                Place::Size(size) => match (size, char::from(byte).to_digit(16)) {
                    (_, Some(digit)) => {
                        let size = size.unwrap_or(0).checked_mul(16).ok_or(Malformed)?;
                        (Place::Size(Some(size.saturating_add(u64::from(digit)))), 0)
                    }
                    (Some(size), None) if matches!(byte, b'\r' | b';' | b' ' | b'\t') => {
                        (Place::Extension(size), 0)
                    }
                    (Some(size), None) if byte == b'\n' => (Place::after_size(size), 0),
                    _ => return Err(Malformed),
                },
                Place::Extension(size) if byte == b'\n' => (Place::after_size(size), 0),
                Place::Extension(size) => {
                    let more = line();
                    let ended = more.checked_sub(1).and_then(|last| rest.get(last)) == Some(&b'\n');
                    (if ended { Place::after_size(size) } else { Place::Extension(size) }, more)
                }
                Place::Data(left) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len().saturating_add(1));
                    let left = left.saturating_sub(here as u64);
                    (if left == 0 { Place::DataEnd } else { Place::Data(left) }, here.saturating_sub(1))
                }
                Place::DataEnd if byte == b'\r' => (Place::DataEnd, 0),
                Place::DataEnd if byte == b'\n' => (Place::Size(None), 0),
                Place::DataEnd => return Err(Malformed),
                Place::TrailerStart if matches!(byte, b'\r' | b'\n') => {
                    return Ok(Some(End { taken: taken.saturating_add(1), after_cr: byte == b'\r' }));
                }
                Place::Trailer if byte == b'\n' => (Place::TrailerStart, 0),
                Place::TrailerStart | Place::Trailer => {
                    let more = line();
                    let ended = more.checked_sub(1).and_then(|last| rest.get(last)) == Some(&b'\n');
                    (if ended { Place::TrailerStart } else { Place::Trailer }, more)
                }
            };
            self.at = next;
            taken = taken.saturating_add(1).saturating_add(more);
        }
        Ok(None)
    }

    /// The bytes left of a chunk's data; 0 if the next byte is none of those.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        match self.at {
            Place::Data(left) => left,
            _ => 0,
        }
    }

    /// Passes over bytes that are missing, if they are all data.
    pub(super) fn skip(&mut self, missing: u64) -> Result<(), Malformed> {
        match self.at {
            Place::Data(left) => {
                let left = left.checked_sub(missing).ok_or(Malformed)?;
                self.at = if left == 0 { Place::DataEnd } else { Place::Data(left) };
                Ok(())
            }
            _ => Err(Malformed),
        }
    }
}

impl Place {
    fn after_size(size: u64) -> Self {
        if size == 0 { Self::TrailerStart } else { Self::Data(size) }
    }
}
