//! Looks for the end of a head while its bytes come.

use std::borrow::Cow;

use memchr::memchr;

use super::first_line::MAX_METHOD;
use super::head::{Lines, MAX_HEAD};
use super::{Probe, fields, first_line};
use crate::headers::FieldList;
use crate::{HttpError, Role, p0f};

/// Bytes of a head that is not whole yet. Every byte is looked at once, in however many pieces they come, but for the
/// first piece, which most often is all: that is first read as a whole head.
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
#[derive(Debug)]
pub(super) enum Scan<'a> {
    /// Its end is still to come.
    More,
    /// All of it.
    Whole {
        head: Lines<'a>,
        /// How many of the bytes pushed belong to it. If its empty line begins with a CR, an LF that follows does too.
        taken: usize,
    },
}

impl<'a> Scan<'a> {
    /// A head whose empty line begins there in the bytes pushed.
    fn whole(
        lines: Cow<'a, [u8]>,
        fields: Option<FieldList>,
        cuts: Vec<u16>,
        bytes: &[u8],
        blank: usize,
    ) -> Self {
        let blank_has_cr = bytes.get(blank) == Some(&b'\r');
        Self::Whole { head: Lines { lines, fields, cuts, blank_has_cr }, taken: blank.saturating_add(1) }
    }
}

impl HeadBuffer {
    /// Takes the next bytes, if they can be those of such a head.
    ///
    /// The first line of one that is whole at once is left to be checked.
    pub(super) fn push<'a>(&mut self, role: Role, bytes: &'a [u8]) -> Result<Scan<'a>, HttpError> {
        if self.is_empty() {
            if first_line::probe(role, bytes) == Probe::No {
                return Err(HttpError::NotHttp1);
            }
            if let Some((fields, length)) = fields::of_whole_head(bytes) {
                let lines = Cow::Borrowed(bytes.get(..length).unwrap_or_default());
                return Ok(Scan::whole(lines, Some(fields), Vec::new(), bytes, length));
            }
        }
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(&byte) = rest.first() else {
                self.keep(bytes)?;
                let cut = Some(self.bytes.len()).filter(|&cut| cut < p0f::MAX_BYTES);
                self.cuts.extend(cut.and_then(|cut| u16::try_from(cut).ok()));
                return match self.at {
                    Place::FirstLine if first_line::probe(role, &self.bytes) == Probe::No => {
                        Err(HttpError::NotHttp1)
                    }
                    _ => Ok(Scan::More),
                };
            };
            if self.at == Place::LineStart {
                if matches!(byte, b'\r' | b'\n') {
                    self.keep(bytes.get(..taken).unwrap_or_default())?;
                    let Self { bytes: lines, cuts, .. } = std::mem::take(self);
                    return Ok(Scan::whole(Cow::Owned(lines), None, cuts, bytes, taken));
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
    fn check_first_line(&self, role: Role, fresh: &[u8]) -> Result<(), HttpError> {
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
        if is_http { Ok(()) } else { Err(HttpError::NotHttp1) }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        if self.bytes.len().saturating_add(bytes.len()) > MAX_HEAD {
            return Err(HttpError::HeadTooLong { max: MAX_HEAD });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// What has come of a head, which is forgotten.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
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
