//! The macro that declares records.

use serde::ser::{Serialize, SerializeStruct};

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// The name in JSON.
    pub name: &'static str,
    /// What the value means, in Markdown.
    pub meaning: &'static str,
    /// The fields of the object, or of each object of the list; empty for other values.
    pub fields: &'static [FieldInfo],
}

/// A value of a field, or of a list in one.
pub(super) trait Described {
    /// The fields of an object.
    const FIELDS: &'static [FieldInfo] = &[];
}

impl<T: Described> Described for Option<T> {
    const FIELDS: &'static [FieldInfo] = T::FIELDS;
}

impl<T: Described> Described for Vec<T> {
    const FIELDS: &'static [FieldInfo] = T::FIELDS;
}

impl<const N: usize, T: Described> Described for [T; N] {
    const FIELDS: &'static [FieldInfo] = T::FIELDS;
}

/// Implements [`Described`] for values without fields.
macro_rules! impl_described {
    ($($value:ty),+ $(,)?) => {$(
        impl $crate::record::describe::Described for $value {}
    )+};
}

impl_described!(
    bool,
    u8,
    u16,
    u32,
    u64,
    f64,
    huginn_net_core::Timestamp,
    huginn_net_core::Side,
    huginn_net_tls::Ja4
);

/// A value that a record may leave out.
pub(super) trait Omit {
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

/// The fields of a record, as part of an object.
pub(crate) trait Fields {
    /// Adds the fields to an object.
    fn add_to<S: SerializeStruct>(&self, object: &mut S) -> Result<(), S::Error>;
}

/// Adds a field that may be left out.
#[inline(always)]
pub(super) fn add_unless_omitted<S: SerializeStruct, T: Serialize + Omit>(
    object: &mut S,
    name: &'static str,
    value: &T,
) -> Result<(), S::Error> {
    if value.is_omitted() { object.skip_field(name) } else { object.serialize_field(name, value) }
}

/// The name of a field: that in JSON, if it is not an identifier of Rust.
macro_rules! field_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Adds a field, or leaves it out.
macro_rules! add_field {
    ($object:ident, $name:expr, $value:expr) => {
        $object.serialize_field($name, $value)?
    };
    ($object:ident, $name:expr, $value:expr, omitted) => {
        $crate::record::describe::add_unless_omitted($object, $name, $value)?
    };
}

/// Declares records: structs that are written in the order of their fields and can be read again. `[omitted]` marks fields
/// that are left out without a value; others are null. `as` gives the name in JSON.
macro_rules! records {
    ($(
        $(#[doc = $about:literal])+
        pub struct $record:ident $(<$life:lifetime>)? {$(
            $(#[doc = $meaning:literal])+
            $(#[serde($($option:tt)+)])?
            $field:ident $([$omitted:ident])? $(as $name:literal)?: $value:ty,
        )+}
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[non_exhaustive]
        pub struct $record $(<$life>)? {$(
            $(#[doc = $meaning])+
            $(#[serde($($option)+)])?
            $(#[serde(rename = $name)])?
            pub $field: $value,
        )+}

        impl $(<$life>)? $crate::record::describe::Described for $record $(<$life>)? {
            const FIELDS: &'static [$crate::record::FieldInfo] = &[$($crate::record::FieldInfo {
                name: $crate::record::describe::field_name!($field $($name)?),
                meaning: concat!($($meaning),+),
                fields: <$value as $crate::record::describe::Described>::FIELDS,
            }),+];
        }

        impl $(<$life>)? $crate::record::describe::Fields for $record $(<$life>)? {
            #[inline(always)]
            fn add_to<S: serde::ser::SerializeStruct>(&self, object: &mut S) -> Result<(), S::Error> {
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

                let count = <Self as $crate::record::describe::Described>::FIELDS.len();
                let mut object = serializer.serialize_struct(stringify!($record), count)?;
                $crate::record::describe::Fields::add_to(self, &mut object)?;
                object.end()
            }
        }
    )+};
}

pub(super) use {add_field, field_name, impl_described, records};
