//! Complete heads as p0f reads them.

use std::ops::Range;

use super::{begins_request, begins_version, is_name, is_printable};
use crate::limits::{
    P0F_MAX_BYTES, P0F_MAX_FIRST_LINE_LEN, P0F_MAX_HEADERS, P0F_MAX_NAME_LEN, P0F_MAX_VALUE_LEN,
    P0F_MIN_REQUEST_LINE_LEN, P0F_MIN_STATUS_LINE_LEN, TYPICAL_FIELDS,
};

/// Whether p0f reads a request head at the start of a connection. `lines` are its lines up to the empty one.
pub(crate) fn reads_request(lines: &[u8]) -> bool {
    let Some((line, headers)) = split_line(lines) else { return false };
    let before_cr = line.strip_suffix(b"\r").unwrap_or(line);
    begins_request(line)
        && (P0F_MIN_REQUEST_LINE_LEN..P0F_MAX_FIRST_LINE_LEN).contains(&line.len())
        && are_printable(line)
        && before_cr.last_chunk::<8>().is_some_and(|version| begins_version(version))
        && lines.len() < P0F_MAX_BYTES
        && reads_headers(headers)
}

/// The ranges of the name of a field and of the bytes after its colon.
pub(crate) type FieldRanges = (Range<usize>, Range<usize>);

/// The header fields that p0f reads of a response head at the start of the server's direction. `None` if p0f rejects
/// it.
///
/// `lines` are its lines up to the empty one; `blank_has_cr` tells whether that starts with a CR. `cuts` are the
/// lengths after each segment: with every segment, p0f takes its current line for the status line.
pub(crate) fn response_fields(lines: &[u8], cuts: &[u16], blank_has_cr: bool) -> Option<Vec<FieldRanges>> {
    if !begins_version(lines) || lines.len() >= P0F_MAX_BYTES {
        return None;
    }
    let mut response =
        Response { lines, blank_has_cr, position: 0, fields: Vec::with_capacity(TYPICAL_FIELDS) };
    for &cut in cuts {
        response.segment(lines.get(..cut.into())?, false)?;
    }
    response.segment(lines, true)?;
    (response.position == lines.len()).then_some(response.fields)
}

/// p0f's progress in a response.
struct Response<'a> {
    lines: &'a [u8],
    blank_has_cr: bool,
    /// p0f's position.
    position: usize,
    fields: Vec<FieldRanges>,
}

impl Response<'_> {
    /// Continues with the bytes so far. `None` if p0f stops.
    fn segment(&mut self, seen: &[u8], is_last: bool) -> Option<()> {
        if seen.len().saturating_add(usize::from(is_last)) < P0F_MIN_STATUS_LINE_LEN {
            return Some(());
        }
        if self.position > P0F_MAX_FIRST_LINE_LEN {
            self.pass_byte()?;
        } else if !self.pass_line(seen)? {
            return if is_last { None } else { Some(()) };
        }
        while let Some(rest) = seen.get(self.position..).filter(|rest| !rest.is_empty()) {
            if self.fields.len() == P0F_MAX_HEADERS {
                return None;
            }
            let Some((line, _)) = split_line(rest) else {
                return is_header_so_far(rest).then_some(());
            };
            self.fields.push(self.field(line)?);
            self.position = self.position.saturating_add(line.len()).saturating_add(1);
        }
        Some(())
    }

    /// Skips a line if it is complete.
    fn pass_line(&mut self, seen: &[u8]) -> Option<bool> {
        let rest = seen.get(self.position..seen.len().min(P0F_MAX_FIRST_LINE_LEN)).unwrap_or_default();
        let line = memchr::memchr(b'\n', rest).and_then(|end| rest.get(..end));
        let stop = self.position.saturating_add(line.unwrap_or(rest).len());
        if !(P0F_MIN_STATUS_LINE_LEN..P0F_MAX_FIRST_LINE_LEN).contains(&stop)
            || !are_printable(line.unwrap_or(rest))
        {
            return None;
        }
        self.position = stop.saturating_add(usize::from(line.is_some()));
        Some(line.is_some())
    }

    /// Skips a byte, as p0f does if it considers the line too long. This leaves one byte of the empty line.
    fn pass_byte(&mut self) -> Option<()> {
        if self.position < self.lines.len() {
            self.position = self.position.saturating_add(1);
            Some(())
        } else {
            self.blank_has_cr.then_some(())
        }
    }

    fn field(&self, line: &[u8]) -> Option<FieldRanges> {
        let colon = name_length(line)?;
        let (start, end) = (self.position, self.position.saturating_add(line.len()));
        let name_end = start.saturating_add(colon);
        let has_cr = usize::from(line.ends_with(b"\r"));
        let value = name_end.saturating_add(1)..end.saturating_sub(has_cr);
        Some((start..name_end, value))
    }
}

fn reads_headers(mut rest: &[u8]) -> bool {
    for _ in 0..P0F_MAX_HEADERS {
        match split_line(rest) {
            Some((line, more)) if name_length(line).is_some() => rest = more,
            Some(_) => return false,
            None => break,
        }
    }
    rest.is_empty()
}

/// The length of the name in a line that p0f reads as a header.
fn name_length(line: &[u8]) -> Option<usize> {
    let colon = line.iter().take(P0F_MAX_NAME_LEN.saturating_add(1)).position(|byte| !is_name(*byte))?;
    let value = line.get(colon..)?.strip_prefix(b":")?;
    let blank = usize::from(matches!(value.first(), Some(b' ' | b'\t')));
    (colon > 0 && value.len().saturating_sub(blank) <= P0F_MAX_VALUE_LEN).then_some(colon)
}

/// Whether p0f waits for the rest of such a line.
fn is_header_so_far(line: &[u8]) -> bool {
    line.len() <= P0F_MAX_NAME_LEN.saturating_add(1) && line.iter().all(|byte| is_name(*byte))
        || name_length(line).is_some()
}

fn are_printable(bytes: &[u8]) -> bool {
    // No early exit, so that the compiler vectorises the loop.
    bytes.iter().fold(true, |are, byte| are & is_printable(*byte))
}

/// Splits off a line without its LF.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', bytes)?;
    let (line, rest) = bytes.split_at_checked(end)?;
    Some((line, rest.get(1..)?))
}
