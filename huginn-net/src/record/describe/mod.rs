//! The macro that declares records.

mod object;
mod own;

use std::convert::Infallible;
use std::fmt::Display;

use huginn_net_core::{Side, Timestamp, TransportKind};
use huginn_net_tls::{CertificateTime, Ja4};
use serde::ser::{Serialize, SerializeStruct};

pub(crate) use self::object::{JsonFields, append, append_present, write_object, write_record};
pub(crate) use self::own::{OWN_NAME, OwnFields};
use crate::json;

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// The name in JSON.
    pub name: &'static str,
    /// The name of its column in tables. The columns of an object have the name of its column, and `_`, before theirs; one without a name
    /// has that of the object.
    pub column: &'static str,
    /// What the value means, in Markdown.
    pub meaning: &'static str,
    /// The type of the value, unless it is null.
    pub value_type: ValueType,
    /// Whether the value may be null.
    pub is_nullable: bool,
    /// Whether the field is left out without a value.
    pub is_optional: bool,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// Text.
    Text,
    /// A truth value.
    Bool,
    /// A number without sign.
    Integer {
        /// Bits of the largest number.
        bits: u32,
    },
    /// A number with a fraction.
    Float,
    /// A time.
    Time,
    /// An object with these fields.
    Object(&'static [FieldInfo]),
    /// A list of values of a type.
    List(&'static ValueType),
}

impl ValueType {
    /// The fields of the object, or of each object of the list; empty for other values.
    pub const fn fields(self) -> &'static [FieldInfo] {
        match self {
            Self::Object(fields) => fields,
            Self::List(element) => element.fields(),
            _ => &[],
        }
    }

    /// The number of columns: fields that are not objects.
    pub(crate) const fn columns(self) -> usize {
        let mut fields = self.fields();
        if fields.is_empty() {
            return 1;
        }
        let mut columns = 0_usize;
        while let Some((first, others)) = fields.split_first() {
            columns = columns.saturating_add(first.value_type.columns());
            fields = others;
        }
        columns
    }
}

/// Takes the values of a record in the order of its fields, those of an object in place of it.
pub trait ValueVisitor {
    /// Takes text.
    fn text(&mut self, _text: &str) {}

    /// Takes the [`Display`] text of a value. The default passes it to [`text`](Self::text).
    fn display(&mut self, value: impl Display) {
        self.text(&value.to_string());
    }

    /// Takes a truth value.
    fn bool(&mut self, _value: bool) {}

    /// Takes a number.
    fn integer(&mut self, _value: u64) {}

    /// Takes a number with a fraction.
    fn float(&mut self, _value: f64) {}

    /// Takes a time.
    fn time(&mut self, _time: Timestamp) {}

    /// Takes a time in seconds since the Unix epoch, negative before it.
    fn seconds(&mut self, _seconds: i64) {}

    /// Takes the absence of a value. `columns`: the number of values that its type has, which is above one for objects.
    fn absent(&mut self, _columns: usize) {}

    /// Begins a list. `columns`: the number of values of each element.
    fn begin_list(&mut self, _columns: usize) {}

    /// Begins an element of a list.
    fn begin_element(&mut self) {}

    /// Ends a list.
    fn end_list(&mut self) {}
}

/// A value of a field, or of a list in one.
pub(crate) trait Value: Serialize {
    /// The type.
    const TYPE: ValueType;

    /// Whether the value may be null.
    const IS_NULLABLE: bool = false;

    /// Whether the value may be null where a field without a value is left out.
    const IS_NULLABLE_IF_PRESENT: bool = false;

    /// Passes the value to a visitor.
    fn visit<V: ValueVisitor>(&self, visitor: &mut V);

    /// Appends the value as JSON (RFC 8259). `SPARSE` leaves out the fields of objects that are null or empty lists.
    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>);
}

impl<T: Value> Value for Option<T> {
    const TYPE: ValueType = T::TYPE;
    const IS_NULLABLE: bool = true;
    const IS_NULLABLE_IF_PRESENT: bool = T::IS_NULLABLE;

    #[inline]
    fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
        match self {
            Some(value) => value.visit(visitor),
            None => visitor.absent(const { T::TYPE.columns() }),
        }
    }

    #[inline]
    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write_json::<SPARSE>(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl<T: Value> Value for Vec<T> {
    const TYPE: ValueType = ValueType::List(&T::TYPE);

    fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
        visit_list(self, visitor);
    }

    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
        object::write_list::<_, SPARSE>(out, self);
    }
}

/// Implements [`Value`] for arrays of a length, which are lists.
macro_rules! impl_array {
    ($($length:literal)+) => {$(
        impl<T: Value> Value for [T; $length] {
            const TYPE: ValueType = ValueType::List(&T::TYPE);

            fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
                visit_list(self, visitor);
            }

            fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
                object::write_list::<_, SPARSE>(out, self);
            }
        }
    )+};
}

impl_array! { 1 4 }

fn visit_list<T: Value, V: ValueVisitor>(values: &[T], visitor: &mut V) {
    visitor.begin_list(const { T::TYPE.columns() });
    for value in values {
        visitor.begin_element();
        value.visit(visitor);
    }
    visitor.end_list();
}

/// Implements [`Value`] by a method of the visitor and a function that writes JSON.
macro_rules! impl_value {
    ($($value:ty: $value_type:expr, |$visitor:ident, $this:ident| $visit:expr, |$out:ident| $write:expr;)+) => {$(
        impl Value for $value {
            const TYPE: ValueType = $value_type;

            #[inline]
            fn visit<V: ValueVisitor>(&self, $visitor: &mut V) {
                let $this = self;
                $visit
            }

            #[inline]
            fn write_json<const SPARSE: bool>(&self, $out: &mut Vec<u8>) {
                let $this = self;
                $write
            }
        }
    )+};
}

impl_value! {
    bool: ValueType::Bool, |visitor, value| visitor.bool(*value),
        |out| out.extend_from_slice(if *value { b"true" } else { b"false" });
    u8: ValueType::Integer { bits: Self::BITS }, |visitor, value| visitor.integer((*value).into()),
        |out| json::write_number(out, *value);
    u16: ValueType::Integer { bits: Self::BITS }, |visitor, value| visitor.integer((*value).into()),
        |out| json::write_number(out, *value);
    u32: ValueType::Integer { bits: Self::BITS }, |visitor, value| visitor.integer((*value).into()),
        |out| json::write_number(out, *value);
    u64: ValueType::Integer { bits: Self::BITS }, |visitor, value| visitor.integer(*value),
        |out| json::write_number(out, *value);
    f64: ValueType::Float, |visitor, value| visitor.float(*value), |out| json::write_float(out, *value);
    &str: ValueType::Text, |visitor, text| visitor.text(text), |out| json::write_text(out, text);
    String: ValueType::Text, |visitor, text| visitor.text(text), |out| json::write_text(out, text);
    Timestamp: ValueType::Time, |visitor, time| visitor.time(*time),
        |out| json::write_plain(out, time.text().as_ref());
    Side: ValueType::Text, |visitor, side| visitor.text(side.name()),
        |out| json::write_plain(out, side.name().as_bytes());
    CertificateTime: ValueType::Time, |visitor, time| visitor.seconds(time.seconds()),
        |out| json::write_plain(out, &time.text());
    TransportKind: ValueType::Text, |visitor, transport| visitor.text(transport.name()),
        |out| json::write_plain(out, transport.name().as_bytes());
    Ja4: ValueType::Text, |visitor, ja4| visitor.display(ja4), |out| json::write_plain(out, &ja4.text());
}

/// A value that a record may leave out.
pub(crate) trait Omit {
    /// Whether the field is left out.
    fn is_omitted(&self) -> bool;
}

impl<T> Omit for Option<T> {
    #[inline]
    fn is_omitted(&self) -> bool {
        self.is_none()
    }
}

impl<T> Omit for Vec<T> {
    #[inline]
    fn is_omitted(&self) -> bool {
        self.is_empty()
    }
}

/// The name of a field, with a comma before it and the other signs that it has in JSON: `,"name":`.
#[derive(Clone, Copy)]
pub(crate) struct FieldName(pub(crate) &'static str);

impl FieldName {
    /// The name as a field that is not the first one has it in JSON.
    #[inline(always)]
    pub(crate) const fn in_json(self) -> &'static str {
        self.0
    }

    /// The name alone.
    pub(crate) const fn as_str(self) -> &'static str {
        match self.0.split_at(2).1.split_at_checked(self.0.len().saturating_sub(4)) {
            Some((name, _)) => name,
            None => "",
        }
    }
}

/// The fields of a record, as part of an object.
pub(crate) trait Fields {
    /// Adds the fields to an object.
    fn add_to<O: Object>(&self, object: &mut O) -> Result<(), O::Error>;
}

/// Takes fields.
pub(crate) trait Object {
    type Error;

    /// Takes a field.
    fn add<T: Value>(&mut self, name: FieldName, value: &T) -> Result<(), Self::Error>;

    /// Takes a field that may be left out.
    fn add_unless_omitted<T: Value + Omit>(&mut self, name: FieldName, value: &T) -> Result<(), Self::Error>;

    /// Takes fields that are known at run time: as one object, unless the output can have any field.
    fn add_own(&mut self, fields: &OwnFields<'_>) -> Result<(), Self::Error> {
        self.add(OWN_NAME, fields)
    }
}

impl<S: SerializeStruct> Object for S {
    type Error = S::Error;

    #[inline(always)]
    fn add<T: Value>(&mut self, name: FieldName, value: &T) -> Result<(), S::Error> {
        self.serialize_field(name.as_str(), value)
    }

    #[inline(always)]
    fn add_unless_omitted<T: Value + Omit>(&mut self, name: FieldName, value: &T) -> Result<(), S::Error> {
        let name = name.as_str();
        if value.is_omitted() { self.skip_field(name) } else { self.serialize_field(name, value) }
    }
}

/// Passes the values of fields to a visitor.
pub(crate) fn visit_fields<V: ValueVisitor>(fields: &impl Fields, visitor: &mut V) {
    let Ok(()) = fields.add_to(&mut Visit(visitor));
}

/// An object whose values go to a visitor.
pub(super) struct Visit<'v, V>(pub(super) &'v mut V);

impl<V: ValueVisitor> Object for Visit<'_, V> {
    type Error = Infallible;

    #[inline(always)]
    fn add<T: Value>(&mut self, _: FieldName, value: &T) -> Result<(), Infallible> {
        value.visit(self.0);
        Ok(())
    }

    #[inline(always)]
    fn add_unless_omitted<T: Value + Omit>(&mut self, _: FieldName, value: &T) -> Result<(), Infallible> {
        if value.is_omitted() {
            self.0.absent(const { T::TYPE.columns() });
        } else {
            value.visit(self.0);
        }
        Ok(())
    }
}

/// The name of a field: that in JSON, if it is not an identifier of Rust.
macro_rules! field_name {
    ($field:ident) => {
        $crate::record::describe::FieldName(concat!(",\"", stringify!($field), "\":"))
    };
    ($field:ident $name:literal) => {
        $crate::record::describe::FieldName(concat!(",\"", $name, "\":"))
    };
}

/// The name of the column of a field: its own, or the prefix of the record and the name of the field.
macro_rules! column_name {
    ($prefix:literal $field:ident $(as $name:literal)? in $column:literal) => {
        $column
    };
    ($prefix:literal $field:ident as $name:literal) => {
        concat!($prefix, $name)
    };
    ($prefix:literal $field:ident) => {
        concat!($prefix, stringify!($field))
    };
}

/// Adds a field, or leaves it out.
macro_rules! add_field {
    ($object:ident, $name:expr, $value:expr) => {
        $object.add($name, $value)?
    };
    ($object:ident, $name:expr, $value:expr, omitted) => {
        $object.add_unless_omitted($name, $value)?
    };
    ($object:ident, $name:expr, $value:expr, shortened) => {
        $object.add($name, $value)?
    };
}

/// Whether the value of a field may be null.
macro_rules! is_nullable {
    ($value:ty) => {
        <$value as $crate::record::describe::Value>::IS_NULLABLE
    };
    ($value:ty, omitted) => {
        <$value as $crate::record::describe::Value>::IS_NULLABLE_IF_PRESENT
    };
    ($value:ty, shortened) => {
        <$value as $crate::record::describe::Value>::IS_NULLABLE
    };
}

/// Whether a field may be left out.
macro_rules! is_optional {
    () => {
        false
    };
    (omitted) => {
        true
    };
    (shortened) => {
        true
    };
}

/// Declares records: structs that are written in the order of their fields and can be read again. `[omitted]` marks fields
/// that are left out without a value; others are null. `[shortened]` marks fields that are always written, and that an
/// output may remove where it repeats an object. `as` gives the name in JSON. `in` gives the name of the column in
/// tables; that of a record is the prefix of the columns whose fields have none.
macro_rules! records {
    ($(
        $(#[doc = $about:literal])+
        $(#[derive($extra:ident)])?
        pub struct $record:ident $(<$life:lifetime>)? $(in $prefix:literal)? { $($fields:tt)+ }
    )+) => {$(
        $crate::record::describe::records! {
            @one [$($prefix)? ""]
            $(#[doc = $about])+
            $(#[derive($extra)])?
            pub struct $record $(<$life>)? { $($fields)+ }
        }
    )+};
    (
        @one [$prefix:literal $($none:literal)?]
        $(#[doc = $about:literal])+
        $(#[derive($extra:ident)])?
        pub struct $record:ident $(<$life:lifetime>)? {$(
            $(#[doc = $meaning:literal])+
            $(#[serde($($option:tt)+)])?
            $field:ident $([$omitted:ident])? $(as $name:literal)? $(in $column:literal)?: $value:ty,
        )+}
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        $(#[derive($extra)])?
        #[non_exhaustive]
        pub struct $record $(<$life>)? {$(
            $(#[doc = $meaning])+
            $(#[doc = concat!("\n\nMay be ", stringify!($omitted), ".")] #[serde(default)])?
            $(#[serde($($option)+)])?
            $(#[serde(rename = $name)])?
            pub $field: $value,
        )+}

        impl $(<$life>)? $record $(<$life>)? {
            pub(super) const FIELDS: &'static [$crate::record::FieldInfo] = &[$($crate::record::FieldInfo {
                name: $crate::record::describe::field_name!($field $($name)?).as_str(),
                column: $crate::record::describe::column_name!($prefix $field $(as $name)? $(in $column)?),
                meaning: concat!($($meaning),+).trim_ascii_start(),
                value_type: <$value as $crate::record::describe::Value>::TYPE,
                is_nullable: $crate::record::describe::is_nullable!($value $(, $omitted)?),
                is_optional: $crate::record::describe::is_optional!($($omitted)?),
            }),+];
        }

        impl $(<$life>)? $crate::record::describe::Value for $record $(<$life>)? {
            const TYPE: $crate::record::ValueType = $crate::record::ValueType::Object(Self::FIELDS);

            #[inline]
            fn visit<V: $crate::record::ValueVisitor>(&self, visitor: &mut V) {
                $crate::record::describe::visit_fields(self, visitor);
            }

            #[inline]
            fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
                $crate::record::describe::write_record::<SPARSE>(out, self);
            }
        }

        impl $(<$life>)? $crate::record::describe::Fields for $record $(<$life>)? {
            #[inline(always)]
            fn add_to<O: $crate::record::describe::Object>(&self, object: &mut O) -> Result<(), O::Error> {
                $($crate::record::describe::add_field!(
                    object,
                    $crate::record::describe::field_name!($field $($name)?),
                    &self.$field
                    $(, $omitted)?
                );)+
                Ok(())
            }
        }

        impl $(<$life>)? serde::Serialize for $record $(<$life>)? {
            #[inline]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;

                let mut object = serializer.serialize_struct(stringify!($record), Self::FIELDS.len())?;
                $crate::record::describe::Fields::add_to(self, &mut object)?;
                object.end()
            }
        }
    };
}

pub(crate) use {add_field, column_name, field_name, is_nullable, is_optional, records};
