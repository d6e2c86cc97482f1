//! Writes values as JSON (RFC 8259): a serializer that appends to a byte buffer. The names of fields are literals without escapes.

use std::fmt::{self, Display, Write};
use std::mem;

use serde::Serialize;
use serde::ser::{Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer};

use super::text::{Buffer, write_display, write_number, write_text};

/// Appends a value to a buffer. Records serialize without errors.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writes to memory cannot fail, and formatting fails only if a `Display` implementation fails.
    let _ = value.serialize(ValueWriter::<false> { out });
}

/// Appends a value without the fields of its objects that are absent: `null` and empty lists.
#[inline]
pub(crate) fn append_present(out: &mut Vec<u8>, value: &impl Serialize) {
    let _ = value.serialize(ValueWriter::<true> { out });
}

/// Whether a value of JSON is absent.
#[inline(always)]
pub(crate) fn is_absent(json: Option<&[u8]>) -> bool {
    matches!(json, Some(b"null" | b"[]"))
}

/// Appends one value. `SPARSE` leaves absent fields of objects out.
struct ValueWriter<'a, const SPARSE: bool> {
    out: &'a mut Vec<u8>,
}

impl<'a, const SPARSE: bool> ValueWriter<'a, SPARSE> {
    #[inline(always)]
    fn number(self, value: impl itoa::Integer) -> Result<(), fmt::Error> {
        write_number(self.out, value);
        Ok(())
    }

    #[inline(always)]
    fn literal(self, text: &str) -> Result<(), fmt::Error> {
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    #[inline(always)]
    fn begin(self, mark: u8) -> Elements<'a, SPARSE> {
        self.out.push(mark);
        Elements { out: self.out, has_elements: false }
    }
}

/// Returns the methods of a serializer for numbers.
macro_rules! numbers {
    ($($method:ident: $number:ty),+) => {$(
        #[inline(always)]
        fn $method(self, value: $number) -> Result<(), fmt::Error> {
            self.number(value)
        }
    )+};
}

impl<'a, const SPARSE: bool> Serializer for ValueWriter<'a, SPARSE> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Elements<'a, SPARSE>;
    type SerializeTuple = Elements<'a, SPARSE>;
    type SerializeTupleStruct = Impossible<(), fmt::Error>;
    type SerializeTupleVariant = Impossible<(), fmt::Error>;
    type SerializeMap = Elements<'a, SPARSE>;
    type SerializeStruct = Elements<'a, SPARSE>;
    type SerializeStructVariant = Impossible<(), fmt::Error>;

    numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    }

    #[inline(always)]
    fn serialize_bool(self, value: bool) -> Result<(), fmt::Error> {
        self.literal(if value { "true" } else { "false" })
    }

    fn serialize_f32(self, value: f32) -> Result<(), fmt::Error> {
        self.serialize_f64(value.into())
    }

    /// The shortest digits that round-trip.
    fn serialize_f64(self, value: f64) -> Result<(), fmt::Error> {
        if value.is_finite() { write!(Buffer(self.out), "{value}") } else { self.serialize_none() }
    }

    fn serialize_char(self, value: char) -> Result<(), fmt::Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline(always)]
    fn serialize_str(self, value: &str) -> Result<(), fmt::Error> {
        write_text(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), fmt::Error> {
        self.collect_seq(value)
    }

    /// Formats a value into the buffer, then escapes the characters that need it.
    #[inline(always)]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), fmt::Error> {
        write_display(self.out, value);
        Ok(())
    }

    #[inline(always)]
    fn serialize_none(self) -> Result<(), fmt::Error> {
        self.literal("null")
    }

    #[inline(always)]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), fmt::Error> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), fmt::Error> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), fmt::Error> {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        let mut object = self.begin(b'{');
        object.field(name, value)?;
        object.close(b'}')
    }

    #[inline(always)]
    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'a, SPARSE>, fmt::Error> {
        Ok(self.begin(b'['))
    }

    #[inline(always)]
    fn serialize_tuple(self, _: usize) -> Result<Elements<'a, SPARSE>, fmt::Error> {
        Ok(self.begin(b'['))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Elements<'a, SPARSE>, fmt::Error> {
        Ok(self.begin(b'{'))
    }

    #[inline(always)]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Elements<'a, SPARSE>, fmt::Error> {
        Ok(self.begin(b'{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, fmt::Error> {
        Err(fmt::Error)
    }
}

/// The elements of a list, or the fields of an object. `SPARSE` leaves absent fields out.
pub(super) struct Elements<'a, const SPARSE: bool = false> {
    out: &'a mut Vec<u8>,
    has_elements: bool,
}

impl<const SPARSE: bool> Elements<'_, SPARSE> {
    #[inline(always)]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        if mem::replace(&mut self.has_elements, true) {
            self.out.push(b',');
        }
        value.serialize(ValueWriter::<SPARSE> { out: self.out })
    }

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), fmt::Error> {
        let (before, had_elements) = (self.out.len(), self.has_elements);
        self.name(name);
        let start = self.out.len();
        value.serialize(ValueWriter::<SPARSE> { out: self.out })?;
        if SPARSE && is_absent(self.out.get(start..)) {
            self.out.truncate(before);
            self.has_elements = had_elements;
        }
        Ok(())
    }

    fn name(&mut self, name: &str) {
        if mem::replace(&mut self.has_elements, true) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    #[inline(always)]
    fn close(self, mark: u8) -> Result<(), fmt::Error> {
        self.out.push(mark);
        Ok(())
    }
}

impl<const SPARSE: bool> SerializeSeq for Elements<'_, SPARSE> {
    type Ok = ();
    type Error = fmt::Error;

    #[inline(always)]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.element(value)
    }

    #[inline(always)]
    fn end(self) -> Result<(), fmt::Error> {
        self.close(b']')
    }
}

impl<const SPARSE: bool> SerializeTuple for Elements<'_, SPARSE> {
    type Ok = ();
    type Error = fmt::Error;

    #[inline(always)]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.element(value)
    }

    #[inline(always)]
    fn end(self) -> Result<(), fmt::Error> {
        self.close(b']')
    }
}

impl<const SPARSE: bool> SerializeStruct for Elements<'_, SPARSE> {
    type Ok = ();
    type Error = fmt::Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        self.field(name, value)
    }

    #[inline(always)]
    fn end(self) -> Result<(), fmt::Error> {
        self.close(b'}')
    }
}

impl<const SPARSE: bool> SerializeMap for Elements<'_, SPARSE> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        self.element(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.out.push(b':');
        value.serialize(ValueWriter::<SPARSE> { out: self.out })
    }

    fn end(self) -> Result<(), fmt::Error> {
        self.close(b'}')
    }
}
