//! JSON text (RFC 8259), written straight into a buffer.

use std::fmt::{self, Display, Write};
use std::net::{IpAddr, SocketAddr};

/// An object being written. Keys are literals that need no escape.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_begun: bool,
}

impl<'a> Object<'a> {
    /// Begins an object at the end of a buffer.
    pub(super) fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_begun: false }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    /// Text that may hold anything.
    pub(super) fn text(&mut self, key: &str, value: impl Display) {
        self.key(key);
        write_text(self.out, value);
    }

    /// Text, or null.
    pub(super) fn text_or_null(&mut self, key: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.text(key, value),
            None => self.null(key),
        }
    }

    /// Text that is known to need no escape.
    pub(super) fn plain(&mut self, key: &str, value: &str) {
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'"');
    }

    pub(super) fn number(&mut self, key: &str, value: impl itoa::Integer) {
        self.key(key);
        write_number(self.out, value);
    }

    /// A finite number with its shortest exact digits.
    pub(super) fn float(&mut self, key: &str, value: f64) {
        self.key(key);
        let _ = write!(Text(self.out), "{value}");
    }

    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.key(key);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(super) fn bool_or_null(&mut self, key: &str, value: Option<bool>) {
        match value {
            Some(value) => self.bool(key, value),
            None => self.null(key),
        }
    }

    pub(super) fn null(&mut self, key: &str) {
        self.key(key);
        self.out.extend_from_slice(b"null");
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &str, values: impl IntoIterator<Item = impl Display>) {
        self.list(key, values, |out, value| write_text(out, value));
    }

    /// A list of numbers.
    pub(super) fn numbers(&mut self, key: &str, values: impl IntoIterator<Item = impl itoa::Integer>) {
        self.list(key, values, |out, value| write_number(out, value));
    }

    /// An object within this one.
    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        let mut object = Object::begin(self.out);
        write(&mut object);
        object.end();
    }

    /// `{"ip": "...", "port": n}`.
    pub(super) fn endpoint(&mut self, key: &str, endpoint: SocketAddr) {
        self.object(key, |object| {
            object.key("ip");
            write_address(object.out, endpoint.ip());
            object.number("port", endpoint.port());
        });
    }

    fn list<T>(&mut self, key: &str, values: impl IntoIterator<Item = T>, write: impl Fn(&mut Vec<u8>, T)) {
        self.key(key);
        self.out.push(b'[');
        for (n, value) in values.into_iter().enumerate() {
            if n > 0 {
                self.out.push(b',');
            }
            write(self.out, value);
        }
        self.out.push(b']');
    }

    fn key(&mut self, key: &str) {
        if self.is_begun {
            self.out.push(b',');
        }
        self.is_begun = true;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// A buffer that text is formatted into.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

fn write_number(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    out.push(b'"');
    match address {
        IpAddr::V4(v4) => {
            for (n, octet) in v4.octets().into_iter().enumerate() {
                if n > 0 {
                    out.push(b'.');
                }
                write_number(out, octet);
            }
        }
        IpAddr::V6(v6) => {
            let _ = write!(Text(out), "{v6}");
        }
    }
    out.push(b'"');
}

/// Writes a text as it is, and escapes what must be afterwards: hardly any holds such a character.
fn write_text(out: &mut Vec<u8>, value: impl Display) {
    out.push(b'"');
    let start = out.len();
    // Only a value that fails to display itself could fail here, and none of ours does.
    let _ = write!(Text(out), "{value}");
    let written = out.get(start..).unwrap_or_default();
    // No early end: this is one pass over whole vectors.
    if written.iter().fold(false, |found, byte| found | must_be_escaped(*byte)) {
        let text = out.split_off(start);
        escape(out, &text);
    }
    out.push(b'"');
}

const fn must_be_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

fn escape(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            0..0x20 => {
                let _ = write!(Text(out), "\\u{byte:04x}");
            }
            _ => out.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    #[test]
    fn values_stand_as_json_has_them() {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        object.text("a", "b");
        object.text_or_null("c", None::<&str>);
        object.number("d", -5_i32);
        object.float("e", 100.25);
        object.bool_or_null("f", Some(true));
        object.texts("g", ["x", "\"y\""]);
        object.numbers("h", [1_u8, 2]);
        object.endpoint("i", "192.0.2.255:65535".parse().unwrap());
        object.endpoint("j", "[2001:db8::1]:0".parse().unwrap());
        object.texts("k", [""; 0]);
        object.end();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"a":"b","c":null,"d":-5,"e":100.25,"f":true,"g":["x","\"y\""],"h":[1,2],"#,
                r#""i":{"ip":"192.0.2.255","port":65535},"j":{"ip":"2001:db8::1","port":0},"k":[]}"#
            )
        );
    }

    proptest! {
        /// Against a JSON parser.
        #[test]
        fn any_text_is_read_back(text in ".*", control in "[\\x00-\\x1f\"\\\\]*") {
            let text = text + &control;
            let mut out = Vec::new();
            write_text(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn any_address_is_read_back(address: IpAddr) {
            let mut out = Vec::new();
            write_address(&mut out, address);
            prop_assert_eq!(serde_json::from_slice::<IpAddr>(&out).unwrap(), address);
        }
    }
}
