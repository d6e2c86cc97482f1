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

serialize_as_text!(Side, Escaped<'_>);
