//! Writes records as JSON objects without serde: the names of fields are literals with their punctuation, and values know
//! which of their texts need no escape.

use std::convert::Infallible;
use std::fmt::{self, Display, Write};

use super::escape::{escape, is_plain, is_plain_ascii};
use crate::record::{FieldName, Fields, Object, Omit, Value};

/// The fields of an object at the end of a buffer. Each begins with a comma; [`write_object`] replaces the first one.
pub(super) struct JsonFields<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> JsonFields<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Adds fields that were written before.
    #[inline(always)]
    pub(super) fn add_written(&mut self, fields: &[u8]) {
        self.out.extend_from_slice(fields);
    }
}

impl Object for JsonFields<'_> {
    type Error = Infallible;

    // Inlined, so that the name is a copy of known length.
    #[inline(always)]
    fn add<T: Value>(&mut self, name: FieldName, value: &T) -> Result<(), Infallible> {
        self.out.extend_from_slice(name.in_json().as_bytes());
        value.write_json(self.out);
        Ok(())
    }

    #[inline(always)]
    fn add_unless_omitted<T: Value + Omit>(&mut self, name: FieldName, value: &T) -> Result<(), Infallible> {
        if value.is_omitted() { Ok(()) } else { self.add(name, value) }
    }
}

/// Appends an object whose fields a function adds.
#[inline(always)]
pub(super) fn write_object(
    out: &mut Vec<u8>,
    add_fields: impl FnOnce(&mut JsonFields<'_>) -> Result<(), Infallible>,
) {
    let start = out.len();
    let Ok(()) = add_fields(&mut JsonFields { out });
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

/// Appends a record.
#[inline]
pub(crate) fn write_record(out: &mut Vec<u8>, record: &impl Fields) {
    write_object(out, |fields| record.add_to(fields));
}

/// Appends a list.
#[inline]
pub(crate) fn write_list<T: Value>(out: &mut Vec<u8>, values: &[T]) {
    out.push(b'[');
    if let Some((first, others)) = values.split_first() {
        first.write_json(out);
        for value in others {
            out.push(b',');
            value.write_json(out);
        }
    }
    out.push(b']');
}

/// Appends a number.
#[inline]
pub(crate) fn write_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
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
