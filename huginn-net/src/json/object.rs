//! JSON text (RFC 8259), written straight into a buffer.

use std::fmt::{self, Display, Write};
use std::net::{IpAddr, SocketAddr};

use huginn_net_core::Escaped;

/// Bytes of the longest key.
const MAX_KEY: usize = 20;
/// Bytes around a key: `,"":`.
const KEY_MARKS: usize = 4;

/// An object being written. Keys are literals that need no escape, and quicker to write up to [`MAX_KEY`] bytes.
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

    /// Goes on with an object at the end of a buffer; it has fields already.
    pub(super) fn resume(out: &'a mut Vec<u8>) -> Self {
        Self { out, is_begun: true }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }

    /// Fields that an object [resumed](Self::resume) elsewhere wrote; they are not the first of this one.
    pub(super) fn fields(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Text as it stands, which may hold anything.
    #[inline(always)]
    pub(super) fn string(&mut self, key: &str, value: &str) {
        self.key(key);
        write_string(self.out, value.as_bytes());
    }

    /// What is written by another of these functions, or null: `object.or_null("a", value, Object::string)`.
    #[inline(always)]
    pub(super) fn or_null<T>(&mut self, key: &str, value: Option<T>, write: impl FnOnce(&mut Self, &str, T)) {
        match value {
            Some(value) => write(self, key, value),
            None => self.null(key),
        }
    }

    /// Bytes from the wire.
    #[inline(always)]
    pub(super) fn wire(&mut self, key: &str, value: &[u8]) {
        if value.is_ascii() && is_plain(value) {
            return self.plain(key, value);
        }
        self.key(key);
        write_text(self.out, Escaped(value));
    }

    /// What displays as anything.
    #[inline(always)]
    pub(super) fn text(&mut self, key: &str, value: impl Display) {
        self.key(key);
        write_text(self.out, value);
    }

    /// What displays as text that needs no escape.
    #[inline(always)]
    pub(super) fn token(&mut self, key: &str, value: impl Display) {
        self.written(key, |text| write!(text, "{value}"));
    }

    /// What is written as text that needs no escape, by what does so faster than [`Display`].
    #[inline(always)]
    pub(super) fn written(&mut self, key: &str, write: impl FnOnce(&mut Text<'_>) -> fmt::Result) {
        self.key(key);
        self.out.push(b'"');
        // Nothing that is written to memory fails.
        let _ = write(&mut Text(self.out));
        self.out.push(b'"');
    }

    /// Text in UTF-8 that is known to need no escape.
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

    /// A finite number with its shortest exact digits.
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

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &str, values: impl IntoIterator<Item = impl Display>) {
        self.list(key, values, |out, value| write_text(out, value));
    }

    /// A list of numbers.
    pub(super) fn numbers(&mut self, key: &str, values: impl IntoIterator<Item = impl itoa::Integer>) {
        self.list(key, values, |out, value| write_number(out, value));
    }

    /// A list of objects.
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

    /// An object within this one.
    #[inline(always)]
    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        let mut object = Object::begin(self.out);
        write(&mut object);
        object.end();
    }

    /// `{"ip": "...", "port": n}`.
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

    // Inlined, so that the compiler puts the literal and its marks together: they are copied as the few words that they
    // are, with one look at the room in the buffer.
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

/// A buffer that text is formatted into.
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

/// `.255` four times.
const MAX_V4: usize = 16;

/// Writes a text that hardly ever holds a character to escape.
fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    if is_plain(text) {
        out.extend_from_slice(text);
    } else {
        escape(out, text);
    }
    out.push(b'"');
}

/// Displays a value as it is, and escapes what must be afterwards.
fn write_text(out: &mut Vec<u8>, value: impl Display) {
    out.push(b'"');
    let start = out.len();
    // Only a value that fails to display itself could fail here, and none of ours does.
    let _ = write!(Text(out), "{value}");
    if !is_plain(out.get(start..).unwrap_or_default()) {
        let text = out.split_off(start);
        escape(out, &text);
    }
    out.push(b'"');
}

/// Whether text needs no escape: eight bytes are looked at in one step, some of the last ones twice.
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<WORD>() else { return text.iter().all(|byte| is_plain_byte(*byte)) };
    let words = text.chunks_exact(WORD).filter_map(|word| word.try_into().ok());
    words.fold(marked(*last), |found, word| found | marked(word)) == 0
}

fn is_plain_byte(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Bytes that are looked at in one step.
const WORD: usize = 8;

/// Not 0 if a byte of the word is a control character, a quotation mark or a backslash.
const fn marked(word: [u8; WORD]) -> u64 {
    let word = u64::from_ne_bytes(word);
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    /// Marks the bytes below a limit, and none where there is no such byte.
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
        /// Against a JSON parser.
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
