//! JSON without serde, and a serializer for what has none.

mod escape;
mod serializer;
mod text;

pub(crate) use self::serializer::{append, append_present, is_absent};
pub(crate) use self::text::{
    Buffer, write_display, write_if_plain, write_number, write_plain, write_text, write_with,
};
