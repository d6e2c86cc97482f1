//! Texts and numbers as JSON without serde.

mod escape;
mod text;

pub(crate) use self::text::{
    Buffer, is_absent, write_display, write_float, write_if_plain, write_number, write_plain, write_text,
    write_with,
};
