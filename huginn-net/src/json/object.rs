//! JSON writer (RFC 8259) that appends to a byte buffer.

use std::fmt::{self, Display, Write};
use std::net::{IpAddr, SocketAddr};

use huginn_net_core::Escaped;

/// Length of the longest key, in bytes.
const MAX_KEY: usize = 20;
/// Number of punctuation bytes around a key: `,"":`.
const KEY_MARKS: usize = 4;

/// Writer of one JSON object. Keys are literals without escapes; keys of up to [`MAX_KEY`] bytes take a fast path.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_begun: bool,
}

impl<'a> Object<'a> {
    /// Starts an object at the end of a buffer.
    pub(super) fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_begun: false }
    }

    /// Resumes an object at the end of a buffer; the object must have a field already.
    pub(super) fn resume(out: &'a mut Vec<u8>) -> Self {
        Self { out, is_begun: true }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    /// Appends fields that another [resumed](Self::resume) object wrote; this object must have a field already.
    pub(super) fn fields(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Writes text and escapes it.
    #[inline(always)]
    pub(super) fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        write_string(self.out, value.as_bytes());
    }

    /// Writes an optional value by another method, or null: `object.or_null("a", value, Object::string)`.
    #[inline(always)]
    pub(super) fn or_null<T>(&mut self, key: &str, value: Option<T>, write: impl FnOnce(&mut Self, &str, T)) {
        match value {
            Some(value) => write(self, key, value),
            None => self.null(key),
        }
    }

    /// Writes bytes from the wire.
    #[inline(always)]
    pub(super) fn wire(&mut self, key: &str, value: &[u8]) {
        if value.is_ascii() && is_plain(value) {
            return self.plain(key, value);
        }
        self.key(key);
        write_text(self.out, Escaped(value));
    }

    /// Writes the [`Display`] text of a value and escapes it.
    #[inline(always)]
    pub(super) fn text(&mut self, key: &str, value: impl Display) {
        self.key(key);
        write_text(self.out, value);
    }

    /// Writes a [`Display`] text that needs no escape.
    #[inline(always)]
    pub(super) fn token(&mut self, key: &str, value: impl Display) {
        self.written(key, |text| write!(text, "{value}"));
    }

    /// Writes text that needs no escape, by a function faster than [`Display`].
    #[inline(always)]
    pub(super) fn written(&mut self, key: &str, write: impl FnOnce(&mut Text<'_>) -> fmt::Result) {
        self.key(key);
        self.out.push(b'"');
        // Writes to memory cannot fail.
        let _ = write(&mut Text(self.out));
        self.out.push(b'"');
    }

    /// Writes UTF-8 text that needs no escape.
    #[inline(always)]
    pub(super) fn plain(&mut self, key: &str, value: impl AsRef<[u8]>) {
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_ref());
        self.out.push(b'"');
    }

    #[inline(always)]
    pub(super) fn number(&mut self, key: &str, value: impl itoa::Integer) {
        self.key(key);
        write_number(self.out, value);
    }

    /// Writes a finite number with the shortest digits that round-trip.
    pub(super) fn float(&mut self, key: &str, value: f64) {
        self.key(key);
        let _ = write!(Text(self.out), "{value}");
    }

    #[inline(always)]
    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.key(key);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    #[inline(always)]
    pub(super) fn null(&mut self, key: &str) {
        self.key(key);
        self.out.extend_from_slice(b"null");
    }

    /// Writes a list of texts.
    pub(super) fn texts(&mut self, key: &str, values: impl IntoIterator<Item = impl Display>) {
        self.list(key, values, |out, value| write_text(out, value));
    }

    /// Writes a list of numbers.
    pub(super) fn numbers(&mut self, key: &str, values: impl IntoIterator<Item = impl itoa::Integer>) {
        self.list(key, values, |out, value| write_number(out, value));
    }

    /// Writes a list of objects.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        values: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Object<'_>, T),
    ) {
        self.list(key, values, |out, value| {
            let mut object = Object::begin(out);
            write(&mut object, value);
            object.end();
        });
    }

    /// Writes a nested object.
    #[inline(always)]
    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        let mut object = Object::begin(self.out);
        write(&mut object);
        object.end();
    }

    /// Writes `{"ip": "...", "port": n}`.
    #[inline(always)]
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

    // Inlined, so that the compiler joins the literal and its punctuation: one capacity check and a copy of a few
    // words.
    #[inline(always)]
    fn key(&mut self, key: &str) {
        if key.len() > MAX_KEY {
            return self.long_key(key);
        }
        let mut text = [b'"'; MAX_KEY + KEY_MARKS];
        text[0] = b',';
        let end = key.len().saturating_add(KEY_MARKS);
        if let Some(place) = text.get_mut(2..end.saturating_sub(2)) {
            place.copy_from_slice(key.as_bytes());
        }
        if let Some(place) = text.get_mut(end.saturating_sub(1)) {
            *place = b':';
        }
        if self.is_begun {
            self.out.extend_from_slice(text.get(..end).unwrap_or_default());
        } else {
            self.out.extend_from_slice(text.get(1..end).unwrap_or_default());
        }
        self.is_begun = true;
    }

    #[cold]
    fn long_key(&mut self, key: &str) {
        if std::mem::replace(&mut self.is_begun, true) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// A buffer that accepts formatted text.
pub(super) struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

fn write_number(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            let mut text = [0; MAX_V4];
            let mut len = 0;
            let mut push = |byte| {
                if let Some(place) = text.get_mut(len) {
                    *place = byte;
                }
                len = len.saturating_add(1);
            };
            for octet in v4.octets() {
                push(b'.');
                if octet >= 100 {
                    push(b'0'.wrapping_add(octet / 100));
                }
                if octet >= 10 {
                    push(b'0'.wrapping_add(octet / 10 % 10));
                }
                push(b'0'.wrapping_add(octet % 10));
            }
            out.push(b'"');
            out.extend_from_slice(text.get(1..len).unwrap_or_default());
            out.push(b'"');
        }
        IpAddr::V6(v6) => write_text(out, v6),
    }
}

/// Length of four times `.255`, in bytes.
const MAX_V4: usize = 16;

/// Writes text that rarely needs an escape.
fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if is_plain(text) {
        out.extend_from_slice(text);
    } else {
        escape(out, text);
    }
    out.push(b'"');
}

/// Formats a value into the buffer, then escapes the characters that need it.
fn write_text(out: &mut Vec<u8>, value: impl Display) {
    out.push(b'"');
    let start = out.len();
    // Formatting fails only if a `Display` implementation fails; the implementations of this workspace do not.
    let _ = write!(Text(out), "{value}");
    if !is_plain(out.get(start..).unwrap_or_default()) {
        let text = out.split_off(start);
        escape(out, &text);
    }
    out.push(b'"');
}

/// Whether text needs no escape. Tests eight bytes per step; the last step may overlap the one before it.
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<WORD>() else { return text.iter().all(|byte| is_plain_byte(*byte)) };
    let words = text.chunks_exact(WORD).filter_map(|word| word.try_into().ok());
    words.fold(marked(*last), |found, word| found | marked(word)) == 0
}

fn is_plain_byte(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Number of bytes tested per step.
const WORD: usize = 8;

/// Returns a nonzero value if a byte of the word is a control character, a quotation mark or a backslash.
const fn marked(word: [u8; WORD]) -> u64 {
    let word = u64::from_ne_bytes(word);
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    /// Marks the bytes below a limit; zero if no byte is below it.
    const fn below(word: u64, limit: u64) -> u64 {
        word.wrapping_sub(ONES.wrapping_mul(limit)) & !word & HIGH
    }
    let quotes = word ^ ONES.wrapping_mul(b'"' as u64);
    let backslashes = word ^ ONES.wrapping_mul(b'\\' as u64);
    below(word, 0x20) | below(quotes, 1) | below(backslashes, 1)
}

fn escape(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len());
    for word in text.chunks(WORD) {
        match word.try_into() {
            Ok(word) if marked(word) == 0 => out.extend_from_slice(&word),
            _ => word.iter().for_each(|byte| escape_byte(out, *byte)),
        }
    }
}

fn escape_byte(out: &mut Vec<u8>, byte: u8) {
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
        _ => out.push(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    #[test]
    fn writes_json_values() {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        object.text("a", "b");
        object.or_null("c", None, Object::string);
        object.number("d", -5_i32);
        object.float("e", 100.25);
        object.or_null("f", Some(true), Object::bool);
        object.texts("g", ["x", "\"y\""]);
        object.numbers("h", [1_u8, 2]);
        object.endpoint("i", "192.0.2.255:65535".parse().unwrap());
        object.endpoint("j", "[2001:db8::1]:0".parse().unwrap());
        object.texts("k", [""; 0]);
        object.objects("l", [1, 2], |object, value| object.number("m", value));
        object.number("a_key_of_more_than_20_bytes", 3);
        object.end();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"a":"b","c":null,"d":-5,"e":100.25,"f":true,"g":["x","\"y\""],"h":[1,2],"#,
                r#""i":{"ip":"192.0.2.255","port":65535},"j":{"ip":"2001:db8::1","port":0},"k":[],"l":[{"m":1},{"m":2}],"a_key_of_more_than_20_bytes":3}"#
            )
        );
    }

    proptest! {
        /// Compares the output with a JSON parser.
        #[test]
        fn any_text_round_trips(text in ".*", control in "[\\x00-\\x1f\"\\\\]*") {
            let text = text + &control;
            let mut out = Vec::new();
            write_text(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn any_address_round_trips(address: IpAddr) {
            let mut out = Vec::new();
            write_address(&mut out, address);
            prop_assert_eq!(serde_json::from_slice::<IpAddr>(&out).unwrap(), address);
        }
    }
}
