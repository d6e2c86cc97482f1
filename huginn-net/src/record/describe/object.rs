//! Writes records as JSON objects without serde: the names of fields are literals with their punctuation.

use std::convert::Infallible;

use super::{FieldName, Fields, Object, Omit, OwnFields, Value};
use crate::json::is_absent;

/// The fields of an object at the end of a buffer. Each begins with a comma; [`write_object`] replaces the first one. `SPARSE` leaves
/// absent fields out.
pub(crate) struct JsonFields<'a, const SPARSE: bool = false> {
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

impl<const SPARSE: bool> Object for JsonFields<'_, SPARSE> {
    type Error = Infallible;

    // Inlined, so that the name is a copy of known length.
    #[inline(always)]
    fn add<T: Value>(&mut self, name: FieldName, value: &T) -> Result<(), Infallible> {
        let before = self.out.len();
        self.out.extend_from_slice(name.in_json().as_bytes());
        let start = self.out.len();
        value.write_json::<SPARSE>(self.out);
        if SPARSE && is_absent(self.out.get(start..)) {
            self.out.truncate(before);
        }
        Ok(())
    }

    #[inline(always)]
    fn add_unless_omitted<T: Value + Omit>(&mut self, name: FieldName, value: &T) -> Result<(), Infallible> {
        if value.is_omitted() { Ok(()) } else { self.add(name, value) }
    }

    fn add_own(&mut self, fields: &OwnFields<'_>) -> Result<(), Infallible> {
        fields.write_fields::<SPARSE>(self.out);
        Ok(())
    }
}

/// Appends an object whose fields a function adds.
#[inline(always)]
pub(crate) fn write_object<const SPARSE: bool>(
    out: &mut Vec<u8>,
    add_fields: impl FnOnce(&mut JsonFields<'_, SPARSE>) -> Result<(), Infallible>,
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
pub(crate) fn write_record<const SPARSE: bool>(out: &mut Vec<u8>, record: &impl Fields) {
    write_object::<SPARSE>(out, |fields| record.add_to(fields));
}

/// Appends a value.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, value: &impl Value) {
    value.write_json::<false>(out);
}

/// Appends a value without the fields of its objects that are [absent](is_absent).
#[inline]
pub(crate) fn append_present(out: &mut Vec<u8>, value: &impl Value) {
    value.write_json::<true>(out);
}

/// Appends a list.
#[inline]
pub(crate) fn write_list<T: Value, const SPARSE: bool>(out: &mut Vec<u8>, values: &[T]) {
    out.push(b'[');
    if let Some((first, others)) = values.split_first() {
        first.write_json::<SPARSE>(out);
        for value in others {
            out.push(b',');
            value.write_json::<SPARSE>(out);
        }
    }
    out.push(b']');
}
