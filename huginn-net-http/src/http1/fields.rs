//! Header fields in the lines of a head.
//!
//! A line needs only a name and a colon; other lines are skipped.

use std::ops::Range;

use memchr::memchr;

use crate::headers::{FieldList, trim_blanks};
use crate::limits::MAX_HEAD;

/// Parses the fields of a complete head and returns them with the length up to the empty line. `None` if the end is
/// missing, or if lines are folded.
///
/// As in p0f, a line that starts with a CR is the empty line.
pub(super) fn parse_complete_head(bytes: &[u8]) -> Option<(FieldList, usize)> {
    let mut start = memchr(b'\n', bytes)?.saturating_add(1);
    let mut fields = FieldList::default();
    loop {
        let rest = bytes.get(start..)?;
        match rest.first()? {
            b'\r' | b'\n' => return (start <= MAX_HEAD).then_some((fields, start)),
            // A folded line continues the previous one.
            b' ' | b'\t' => return None,
            _ => {}
        }
        let length = memchr(b'\n', rest)?;
        if let Some((name, value)) = field(bytes, start, length) {
            fields.push(bytes, name, value);
        }
        start = start.saturating_add(length).saturating_add(1);
    }
}

/// Parses the fields of these lines after unfolding all but the first.
pub(super) fn parse_lines(lines: &mut [u8]) -> FieldList {
    let mut start = memchr(b'\n', lines).map_or(lines.len(), |end| end.saturating_add(1));
    unfold(lines, start);
    let mut fields = FieldList::default();
    while let Some(rest) = lines.get(start..).filter(|rest| !rest.is_empty()) {
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        if let Some((name, value)) = field(lines, start, length) {
            fields.push(lines, name, value);
        }
        start = start.saturating_add(length).saturating_add(1);
    }
    fields
}

/// Unfolds lines: replaces a line break before a blank by blanks (RFC 9112, section 5.2).
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

/// The ranges of name and value of the field in the line at `start`, whose `length` excludes the LF.
#[inline(always)]
fn field(head: &[u8], start: usize, length: usize) -> Option<(Range<usize>, Range<usize>)> {
    let line = head.get(start..)?.get(..length)?;
    let colon = line.iter().position(|&byte| byte == b':')?;
    let behind_colon = start.saturating_add(colon).saturating_add(1);
    let end = start.saturating_add(length).saturating_sub(usize::from(line.last() == Some(&b'\r')));
    let name = range_within(head, trim_blanks(line.get(..colon)?));
    (!name.is_empty()).then_some((name, behind_colon..end))
}

/// The range of a part within a slice that contains it.
pub(super) fn range_within(bytes: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
    start..start.wrapping_add(part.len())
}
