//! Finds the end of a head that arrives in pieces.

use std::borrow::Cow;

use memchr::{memchr, memrchr};

use super::first_line::{self, RequestLine};
use super::head::Lines;
use super::{Probe, fields};
use crate::headers::FieldList;
use crate::limits::{MAX_HEAD, MAX_MIDSTREAM_METHOD_LEN, P0F_MAX_BYTES};
use crate::{HttpError, HttpVersion, Role};

/// The buffered bytes of an incomplete head. Each byte is scanned once, except those of the first piece: that is
/// usually a complete head, so it is first parsed as one.
#[derive(Debug, Default)]
pub(super) struct HeadBuffer {
    bytes: Vec<u8>,
    line_state: LineState,
    /// Whether the first bytes begin a head.
    probe: Option<Probe>,
    /// The lengths after each piece, up to the bytes that p0f reads.
    cuts: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineState {
    /// In the first line.
    #[default]
    FirstLine,
    /// At the start of a later line.
    LineStart,
    /// In a later line.
    Line,
}

/// The result of a scan for the end of a head.
#[derive(Debug)]
pub(super) enum Scan<'a> {
    /// The head is incomplete.
    More,
    /// The head is complete.
    Complete {
        head: Lines<'a>,
        /// Bytes of this piece that belong to the head. If the empty line starts with a CR, a following LF belongs to
        /// it too. If the head is too long, its rest follows.
        taken: usize,
    },
}

impl<'a> Scan<'a> {
    /// Creates a complete head whose empty line starts at `blank` in this piece.
    fn complete(
        lines: Cow<'a, [u8]>,
        fields: Option<FieldList>,
        cuts: Vec<u16>,
        bytes: &[u8],
        blank: usize,
    ) -> Self {
        let blank_has_cr = bytes.get(blank) == Some(&b'\r');
        let head = Lines { lines, fields, cuts, blank_has_cr, is_too_long: false };
        Self::Complete { head, taken: blank.saturating_add(1) }
    }
}

impl HeadBuffer {
    /// Appends the next bytes, if they can continue a head.
    ///
    /// The caller checks the first line of a head that is complete in one piece.
    pub(super) fn push<'a>(&mut self, role: Role, bytes: &'a [u8]) -> Result<Scan<'a>, HttpError> {
        if self.line_state == LineState::FirstLine && self.probe != Some(Probe::Yes) {
            let probe = first_line::probe_more(role, &self.bytes, bytes);
            if probe == Probe::No {
                return Err(HttpError::NotHttp1);
            }
            self.probe = Some(probe);
        }
        if self.is_empty()
            && let Some((fields, length)) = fields::parse_complete_head(bytes)
        {
            let lines = Cow::Borrowed(bytes.get(..length).unwrap_or_default());
            return Ok(Scan::complete(lines, Some(fields), Vec::new(), bytes, length));
        }
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            let Some(&byte) = rest.first() else { break };
            if self.line_state == LineState::LineStart {
                if matches!(byte, b'\r' | b'\n') {
                    if !self.has_room(taken) {
                        break;
                    }
                    self.bytes.extend_from_slice(bytes.get(..taken).unwrap_or_default());
                    let Self { bytes: lines, cuts, .. } = std::mem::take(self);
                    return Ok(Scan::complete(Cow::Owned(lines), None, cuts, bytes, taken));
                }
                self.line_state = LineState::Line;
            }
            let line = memchr(b'\n', rest).map_or(rest.len(), |end| end.saturating_add(1));
            let line = rest.get(..line).unwrap_or_default();
            taken = taken.saturating_add(line.len());
            if self.line_state == LineState::FirstLine {
                self.check_first_line(role, line)?;
                if role == Role::Request && self.is_http09(line) && self.has_room(taken) {
                    self.bytes.extend_from_slice(line);
                    let Self { bytes: lines, cuts, .. } = std::mem::take(self);
                    let lines = Cow::Owned(lines);
                    let head = Lines { lines, fields: None, cuts, blank_has_cr: false, is_too_long: false };
                    return Ok(Scan::Complete { head, taken });
                }
            }
            if line.ends_with(b"\n") {
                self.line_state = LineState::LineStart;
            }
        }
        if !self.has_room(bytes.len()) {
            return self.too_long(bytes);
        }
        self.bytes.extend_from_slice(bytes);
        let cut = Some(self.bytes.len()).filter(|&cut| cut < P0F_MAX_BYTES);
        self.cuts.extend(cut.and_then(|cut| u16::try_from(cut).ok()));
        Ok(Scan::More)
    }

    /// Returns the complete lines of a head that exceeds the limit with this piece.
    fn too_long<'a>(&mut self, bytes: &[u8]) -> Result<Scan<'a>, HttpError> {
        let taken = MAX_HEAD.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        let end = memrchr(b'\n', &self.bytes).ok_or(HttpError::HeadTooLong { max: MAX_HEAD })?;
        let Self { bytes: mut lines, cuts, .. } = std::mem::take(self);
        lines.truncate(end.saturating_add(1));
        let lines = Cow::Owned(lines);
        let head = Lines { lines, fields: None, cuts, blank_has_cr: false, is_too_long: true };
        Ok(Scan::Complete { head, taken })
    }

    fn has_room(&self, len: usize) -> bool {
        self.bytes.len().saturating_add(len) <= MAX_HEAD
    }

    /// Whether the first line, which ends with this piece, is a request of HTTP/0.9: nothing follows it.
    fn is_http09(&self, piece: &[u8]) -> bool {
        let version = |line: &[u8]| RequestLine::parse(line).map(|line| line.version);
        piece.ends_with(b"\n")
            && match &*self.bytes {
                [] => version(piece),
                start => version(&[start, piece].concat()),
            } == Some(HttpVersion::Http09)
    }

    /// Checks the available part of the first line.
    fn check_first_line(&self, role: Role, piece: &[u8]) -> Result<(), HttpError> {
        let binary = |&byte: &u8| byte < 0x20 && !matches!(byte, b'\t' | b'\r' | b'\n');
        let begins_head = || {
            let start: Vec<u8> =
                self.bytes.iter().chain(piece).take(MAX_MIDSTREAM_METHOD_LEN).copied().collect();
            first_line::begins_head(role, &start)
        };
        let is_http = match piece {
            [.., b'\n'] if self.bytes.is_empty() => first_line::is_first_line(role, piece),
            [.., b'\n'] => first_line::is_first_line(role, &[&self.bytes, piece].concat()),
            // Rejects binary data before the line ends, but a target may contain any byte.
            _ => !piece.iter().any(binary) || begins_head(),
        };
        if is_http { Ok(()) } else { Err(HttpError::NotHttp1) }
    }

    /// Takes the buffered bytes and resets the buffer.
    pub(super) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(self).bytes
    }

    /// Whether nothing is buffered.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.bytes.capacity().saturating_add(self.cuts.capacity().saturating_mul(2))
    }
}
