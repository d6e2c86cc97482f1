//! Looks for the end of a head while its bytes come.

use memchr::memchr;

use super::first_line::MAX_METHOD;
use super::head::MAX_HEAD;
use super::{Probe, first_line};
use crate::{Error, Role, p0f};

/// Bytes of a head that is not whole yet. Every byte is looked at once, in however many pieces they come.
#[derive(Debug, Default)]
pub(super) struct HeadBuffer {
    bytes: Vec<u8>,
    at: Place,
    /// The lengths up to which pieces brought it, as far as p0f looks.
    cuts: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Within the first line.
    #[default]
    FirstLine,
    /// At the first byte of a line behind it.
    LineStart,
    /// Within such a line.
    Line,
}

/// What there is of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// Its end is still to come.
    More,
    /// All of it: its lines are held.
    Whole {
        /// How many of the bytes pushed belong to it.
        taken: usize,
        /// Whether a CR ended it: an LF that follows belongs to it too.
        after_cr: bool,
    },
}

impl HeadBuffer {
    /// Takes the next bytes, if they can be those of such a head.
    ///
    /// As for p0f, a line that begins with a CR is the empty one, whatever follows.
    pub(super) fn push(&mut self, role: Role, bytes: &[u8]) -> Result<Scan, Error> {
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(&byte) = rest.first() else {
                self.keep(bytes)?;
                let cut = Some(self.bytes.len()).filter(|&cut| cut < p0f::MAX_BYTES);
                self.cuts.extend(cut.and_then(|cut| u16::try_from(cut).ok()));
                return match self.at {
                    Place::FirstLine if first_line::probe(role, &self.bytes) == Probe::No => {
                        Err(Error::NotHttp1)
                    }
                    _ => Ok(Scan::More),
                };
            };
            if self.at == Place::LineStart {
                if matches!(byte, b'\r' | b'\n') {
                    self.keep(bytes.get(..taken).unwrap_or_default())?;
                    let after_cr = byte == b'\r';
                    return Ok(Scan::Whole { taken: taken.saturating_add(1), after_cr });
                }
                self.at = Place::Line;
            }
            let line = memchr(b'\n', rest).map_or(rest.len(), |end| end.saturating_add(1));
            let line = rest.get(..line).unwrap_or_default();
            taken = taken.saturating_add(line.len());
            if self.at == Place::FirstLine {
                self.check_first_line(role, line)?;
            }
            if line.ends_with(b"\n") {
                self.at = Place::LineStart;
            }
        }
    }

    /// Checks what has come of the first line.
    fn check_first_line(&self, role: Role, fresh: &[u8]) -> Result<(), Error> {
        let binary = |&byte: &u8| byte < 0x20 && !matches!(byte, b'\t' | b'\r' | b'\n');
        let begins_head = || {
            let start: Vec<u8> = self.bytes.iter().chain(fresh).take(MAX_METHOD).copied().collect();
            first_line::begins_head(role, &start)
        };
        let is_http = match fresh {
            [.., b'\n'] if self.bytes.is_empty() => first_line::is_first_line(role, fresh),
            [.., b'\n'] => first_line::is_first_line(role, &[&self.bytes, fresh].concat()),
            // What is binary is let go before its end, but a target may hold anything.
            _ => !fresh.iter().any(binary) || begins_head(),
        };
        if is_http { Ok(()) } else { Err(Error::NotHttp1) }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.bytes.len().saturating_add(bytes.len()) > MAX_HEAD {
            return Err(Error::HeadTooLong { max: MAX_HEAD });
        }
        // With room for the empty line.
        self.bytes.reserve(bytes.len().saturating_add(2));
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The lines of the head up to the empty one, or what there is of them, and the lengths up to which pieces before the
    /// last brought them.
    pub(super) fn take_lines(&mut self) -> (Vec<u8>, Vec<u16>) {
        let Self { bytes, cuts, .. } = std::mem::take(self);
        (bytes, cuts)
    }

    /// What has come of a head.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether nothing has come of a head.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn held(&self) -> usize {
        self.bytes.capacity().saturating_add(self.cuts.capacity().saturating_mul(2))
    }
}
