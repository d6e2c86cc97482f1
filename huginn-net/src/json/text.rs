//! Writes texts and numbers as JSON without serde: values know which of their texts need no escape.

use std::fmt::{self, Display, Write};

use super::escape::{escape, is_plain, is_plain_ascii};

/// Appends a number.
#[inline]
pub(crate) fn write_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a number with the shortest digits that round-trip; null if it is not finite.
pub(crate) fn write_float(out: &mut Vec<u8>, number: f64) {
    // Writing to memory does not fail.
    let _ = if number.is_finite() { write!(Buffer(out), "{number}") } else { write!(Buffer(out), "null") };
}

/// Appends a text that may need escapes.
#[inline]
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        escape(out, text.as_bytes());
    }
    out.push(b'"');
}

/// Appends ASCII text that needs no escape.
#[inline(always)]
pub(crate) fn write_plain(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// Appends bytes as text if all are ASCII that needs no escape, and returns whether they are.
#[inline]
pub(crate) fn write_if_plain(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let is_plain = is_plain_ascii(bytes);
    if is_plain {
        write_plain(out, bytes);
    }
    is_plain
}

/// Appends the text that a function writes; it may need escapes.
#[inline]
pub(crate) fn write_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    let start = out.len();
    write(out);
    if !is_plain(out.get(start..).unwrap_or_default()) {
        let text = out.split_off(start);
        escape(out, &text);
    }
    out.push(b'"');
}

/// Appends the [`Display`] text of a value.
#[inline]
pub(crate) fn write_display(out: &mut Vec<u8>, value: &(impl Display + ?Sized)) {
    // Formatting fails only if a `Display` implementation fails.
    write_with(out, |out| _ = write!(Buffer(out), "{value}"));
}

/// A buffer that accepts formatted text.
pub(crate) struct Buffer<'a>(pub(crate) &'a mut Vec<u8>);

impl Write for Buffer<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Whether a value of JSON is absent: null, or an empty list.
#[inline(always)]
pub(crate) fn is_absent(json: Option<&[u8]>) -> bool {
    matches!(json, Some(b"null" | b"[]"))
}
