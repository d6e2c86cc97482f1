//! The header fields in the lines of a head.
//!
//! A line need have nothing but a name and a colon; others are skipped.

use std::ops::Range;

use memchr::memchr;

use super::head::{MAX_HEAD, MAX_HEADERS};
use crate::HttpError;
use crate::headers::{FieldList, trim_blanks};

/// The fields of a head that is all there, and how long its lines are up to the empty one. `None` if its end is not there,
/// and if that or its fields are less easily found.
///
/// As for p0f, a line that begins with a CR is the empty one, whatever follows.
pub(super) fn of_whole_head(bytes: &[u8]) -> Option<(FieldList, usize)> {
    let mut start = memchr(b'\n', bytes)?.saturating_add(1);
    let mut fields = FieldList::default();
    loop {
        let rest = bytes.get(start..)?;
        match rest.first()? {
            b'\r' | b'\n' => return (start <= MAX_HEAD).then_some((fields, start)),
            // It may go on with the line before.
            b' ' | b'\t' => return None,
            _ => {}
        }
        let length = memchr(b'\n', rest)?;
        if let Some((name, value)) = field(bytes, start, length) {
            if fields.len() == MAX_HEADERS {
                return None;
            }
            fields.push(bytes, name, value);
        }
        start = start.saturating_add(length).saturating_add(1);
    }
}

/// The fields of lines; what is behind the first one is unfolded.
pub(super) fn of_lines(lines: &mut [u8]) -> Result<FieldList, HttpError> {
    let mut start = memchr(b'\n', lines).map_or(lines.len(), |end| end.saturating_add(1));
    unfold(lines, start);
    let mut fields = FieldList::default();
    while let Some(rest) = lines.get(start..).filter(|rest| !rest.is_empty()) {
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        if let Some((name, value)) = field(lines, start, length) {
            if fields.len() == MAX_HEADERS {
                return Err(HttpError::TooManyHeaders { max: MAX_HEADERS });
            }
            fields.push(lines, name, value);
        }
        start = start.saturating_add(length).saturating_add(1);
    }
    Ok(fields)
}

/// Makes one line of those that a line break and a blank divide (RFC 9112, section 5.2).
fn unfold(lines: &mut [u8], start: usize) {
    let mut line = start;
    while let Some(length) = lines.get(line..).and_then(|rest| memchr(b'\n', rest)) {
        let end = line.saturating_add(length);
        let next = end.saturating_add(1);
        if matches!(lines.get(next), Some(b' ' | b'\t')) {
            let has_cr = lines.get(line..end).is_some_and(|line| line.ends_with(b"\r"));
            let line_break = lines.get_mut(end.saturating_sub(usize::from(has_cr))..next);
            line_break.unwrap_or_default().fill(b' ');
        }
        line = next;
    }
}

/// Where the name and the value stand of the field in the line that begins there in a head and has this length without
/// its LF.
#[inline(always)]
fn field(head: &[u8], start: usize, length: usize) -> Option<(Range<usize>, Range<usize>)> {
    let line = head.get(start..)?.get(..length)?;
    let colon = line.iter().position(|&byte| byte == b':')?;
    let behind_colon = start.saturating_add(colon).saturating_add(1);
    let end = start.saturating_add(length).saturating_sub(usize::from(line.last() == Some(&b'\r')));
    let name = place_within(head, trim_blanks(line.get(..colon)?));
    (!name.is_empty()).then_some((name, behind_colon..end))
}

/// Where a part of some bytes stands in them.
pub(super) fn place_within(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    start..start.wrapping_add(part.len())
}
