//! `Serialize` for the building blocks, and for types that display as text.

use crate::{Escaped, Side};

/// Implements `Serialize` for types that serialise as the text that they display as.
#[doc(hidden)]
#[macro_export]
macro_rules! serialize_as_text {
    ($($type:ty),+ $(,)?) => {$(
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

/// Implements `Deserialize` for types that are parsed from the text that they display as.
#[doc(hidden)]
#[macro_export]
macro_rules! deserialize_from_text {
    ($($type:ty),+ $(,)?) => {$(
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(<D::Error as ::serde::de::Error>::custom)
            }
        }
    )+};
}

serialize_as_text!(Side, Escaped<'_>);
deserialize_from_text!(Side);
