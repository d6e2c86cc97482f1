//! Writes records as JSON objects without serde: the names of fields are literals with their punctuation.

use std::convert::Infallible;

use super::{FieldName, Fields, Object, Omit, Value};

/// The fields of an object at the end of a buffer. Each begins with a comma; [`write_object`] replaces the first one.
pub(crate) struct JsonFields<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> JsonFields<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Adds fields that were written before.
    #[inline(always)]
    pub(crate) fn add_written(&mut self, fields: &[u8]) {
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
pub(crate) fn write_object(
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
