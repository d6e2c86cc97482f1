//! Encodings of values and texts: lines of JSON, percent signs.

use std::io::{self, Write};

use serde::Serialize;

/// A text with percent signs for what is not a letter, a digit or one of these characters (RFC 3986, section 2.1), so that
/// different texts differ.
pub(super) fn percent_encoded(text: &str, plain: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// An object of JSON with these fields in their order, and with those of values that are `flatten`.
macro_rules! object {
    ($($(#[$attribute:meta])* $field:ident: $value:expr),+ $(,)?) => {{
        #[allow(non_camel_case_types, reason = "the type of a field has its name")]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($field),+> {
                $($(#[$attribute])* $field: $field,)+
            }
            Object { $($field: $value),+ }
        };
        object
    }};
}
pub(super) use object;

/// A line of JSON.
#[derive(Serialize)]
struct JsonLine<T> {
    /// What the line is about.
    event: &'static str,
    #[serde(flatten)]
    value: T,
}

/// Writes a value as a line of JSON.
pub(super) fn write_json_line(
    out: &mut impl Write,
    event: &'static str,
    value: impl Serialize,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &JsonLine { event, value })?;
    out.write_all(b"\n")
}
