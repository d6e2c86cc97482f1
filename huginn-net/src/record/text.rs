//! Texts of records.

use std::fmt::{self, Display};
use std::str;
use std::sync::Arc;

use huginn_net_core::{Escaped, HexDigits, byte_digits, md5_digits, number_digits};
use huginn_net_tcp::TcpSignature;
use huginn_net_tls::{Extension, Grease, Ja3, Ja4Raw, Version, is_grease, names};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::describe::{Value as RecordValue, ValueType, ValueVisitor};
use super::tls::{ExtensionRecord, length};
use crate::json;
use crate::limits::{MAX_EXTENSION_LEN, MAX_GREASE_LEN, MAX_LENGTH_LEN, MAX_NUMBER_NAME_LEN};
use crate::observation::{HttpVerdict, TextLimit};

/// A text of a record: a value that is formatted when it is written, or text that was read. [`Display`] is the text.
#[derive(Clone)]
pub struct Text<'a>(Value<'a>);

#[derive(Clone)]
enum Value<'a> {
    Text(&'a str),
    /// ASCII text that needs no escape in JSON.
    Plain(&'static str),
    Read(Arc<str>),
    /// Bytes from the wire.
    Wire(&'a [u8]),
    Display(&'a (dyn Display + Sync), TextLimit),
    Shared(Arc<dyn Display + Send + Sync + 'a>, TextLimit),
    HttpSignature(&'a HttpVerdict, TextLimit),
    TcpSignature(&'a TcpSignature),
    // Values of most events of TLS, without a memory allocation.
    Ja4Raw(Ja4Raw),
    Ja3(Ja3),
    /// The hexadecimal digits of an MD5.
    Md5([u8; 32]),
    /// The hexadecimal digits of a number.
    Hex([u8; 4]),
    /// Bytes as hexadecimal digits.
    Digits(&'a [u8]),
    Grease(Grease),
}

impl RecordValue for Text<'_> {
    const TYPE: ValueType = ValueType::Text;

    #[inline]
    fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
        match self.as_str() {
            Some(text) => visitor.text(text),
            None => visitor.display(self),
        }
    }

    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Value::Plain(text) => json::write_plain(out, text.as_bytes()),
            Value::Md5(digits) => json::write_plain(out, digits),
            Value::Hex(digits) => json::write_plain(out, digits),
            Value::Ja4Raw(raw) => json::write_plain(out, raw.as_str().as_bytes()),
            Value::Ja3(ja3) => json::write_plain(out, ja3.as_str().as_bytes()),
            Value::Digits(bytes) => {
                out.push(b'"');
                bytes.iter().for_each(|byte| out.extend_from_slice(&byte_digits(*byte)));
                out.push(b'"');
            }
            Value::TcpSignature(signature) => {
                out.push(b'"');
                // Writing to memory does not fail.
                let _ = signature.write_to(&mut json::Buffer(out));
                out.push(b'"');
            }
            Value::HttpSignature(verdict, TextLimit::NONE) => {
                json::write_with(out, |out| verdict.write_raw_sig(out));
            }
            Value::Text(text) => json::write_text(out, text),
            Value::Read(text) => json::write_text(out, text),
            Value::Wire(bytes) if json::write_if_plain(out, bytes) => {}
            Value::Wire(bytes) => match str::from_utf8(bytes) {
                Ok(text) if !bytes.contains(&b'\\') => json::write_text(out, text),
                _ => json::write_display(out, &Escaped(bytes)),
            },
            Value::Display(value, TextLimit::NONE) => json::write_display(out, value),
            Value::Display(..) | Value::Shared(..) | Value::HttpSignature(..) | Value::Grease(_) => {
                json::write_display(out, self);
            }
        }
    }
}

impl<'a> Text<'a> {
    /// The text of a value.
    #[inline]
    pub(crate) fn of(value: &'a (impl Display + Sync)) -> Self {
        Self(Value::Display(value, TextLimit::NONE))
    }

    /// The text of a value that nothing else keeps.
    pub(crate) fn owned(value: impl Display + Send + Sync + 'a) -> Self {
        Self(Value::Shared(Arc::new(value), TextLimit::NONE))
    }

    /// The text of a value that others keep, too.
    pub(crate) fn shared(value: Arc<impl Display + Send + Sync + 'a>) -> Self {
        Self(Value::Shared(value, TextLimit::NONE))
    }

    /// Bytes as lower-case hexadecimal digits.
    #[inline]
    pub(super) fn digits(bytes: &'a [u8]) -> Self {
        Self(Value::Digits(bytes))
    }

    /// A TLS version.
    #[inline]
    pub(super) fn version(version: Version) -> Self {
        Self::plain(version.ja4())
    }

    /// A name of a registry: ASCII text that needs no escape in JSON.
    #[inline]
    pub(super) fn plain(name: &'static str) -> Self {
        Self(Value::Plain(name))
    }

    /// A TCP signature.
    #[inline]
    pub(super) fn tcp_signature(signature: &'a TcpSignature) -> Self {
        Self(Value::TcpSignature(signature))
    }

    /// A number with four hexadecimal digits.
    #[inline]
    pub(super) fn hex(number: u16) -> Self {
        Self(Value::Hex(number_digits(number)))
    }

    /// A number of a registry: its name, or four hexadecimal digits.
    #[inline]
    pub(super) fn number(number: u16, name: fn(u16) -> Option<&'static str>) -> Self {
        name(number).map_or_else(|| Self::hex(number), Self::plain)
    }

    /// A group for key exchange.
    #[inline]
    pub(super) fn group(number: u16) -> Self {
        Self::number(number, names::group)
    }

    /// The hexadecimal digits of an MD5.
    #[inline]
    pub(super) fn md5(hash: [u8; 16]) -> Self {
        Self(Value::Md5(md5_digits(hash)))
    }

    /// Bytes from the wire.
    #[inline]
    pub(crate) fn wire(bytes: &'a [u8]) -> Self {
        Self(Value::Wire(bytes))
    }
}

impl Text<'_> {
    /// The text, unless it must be formatted.
    #[inline]
    fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Value::Text(text) => Some(text),
            Value::Plain(text) => Some(text),
            Value::Read(text) => Some(text),
            Value::Ja4Raw(raw) => Some(raw.as_str()),
            Value::Ja3(ja3) => Some(ja3.as_str()),
            Value::Md5(digits) => str::from_utf8(digits).ok(),
            Value::Hex(digits) => str::from_utf8(digits).ok(),
            _ => None,
        }
    }

    /// Length of the text, in bytes.
    fn len(&self) -> usize {
        self.as_str().map_or_else(|| self.to_string().len(), str::len)
    }
}

/// The empty text.
impl Default for Text<'_> {
    fn default() -> Self {
        Self::plain("")
    }
}

impl<'a> From<&'a str> for Text<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self(Value::Text(text))
    }
}

impl<'a> From<&'a Arc<str>> for Text<'a> {
    #[inline]
    fn from(text: &'a Arc<str>) -> Self {
        Self(Value::Text(text))
    }
}

impl From<Arc<str>> for Text<'_> {
    #[inline]
    fn from(text: Arc<str>) -> Self {
        Self(Value::Read(text))
    }
}

/// Makes texts up to a limit, and records the fields that it cuts.
pub(super) struct LimitedTexts<'a, 'c> {
    pub(super) limit: TextLimit,
    pub(super) cut: &'c mut Vec<Text<'a>>,
}

impl<'a> LimitedTexts<'a, '_> {
    /// Notes that a field is cut.
    #[cold]
    fn note(&mut self, field: &'static str) {
        // A list of records has several texts.
        if self.cut.last().is_none_or(|last| *last != *field) {
            self.cut.push(field.into());
        }
    }

    /// Bytes from the wire.
    #[inline]
    pub(crate) fn wire(&mut self, field: &'static str, bytes: &'a [u8]) -> Text<'a> {
        Text::wire(self.start(field, bytes))
    }

    /// Bytes from the wire that nothing else keeps.
    pub(super) fn owned_wire(&mut self, field: &'static str, bytes: &[u8]) -> Text<'a> {
        Text::from(Arc::from(Escaped(self.start(field, bytes)).to_string()))
    }

    /// The start of bytes of which at most `len` are shown.
    pub(super) fn start_within<'t>(&mut self, field: &'static str, len: usize, bytes: &'t [u8]) -> &'t [u8] {
        let len = self.limit.bytes().map_or(len, |max| max.min(len));
        bytes.get(..len).filter(|start| start.len() < bytes.len()).map_or(bytes, |start| {
            if self.cut.last().is_none_or(|last| *last != *field) {
                self.note(field);
            }
            start
        })
    }

    /// The start of a text, up to the limit.
    #[inline]
    fn start<'t>(&mut self, field: &'static str, bytes: &'t [u8]) -> &'t [u8] {
        let (start, is_cut) = self.limit.cut(bytes);
        if is_cut {
            self.note(field);
        }
        start
    }

    /// A list of bytes from the wire: as many as fit in the limit together.
    pub(super) fn wires(
        &mut self,
        field: &'static str,
        values: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Vec<Text<'a>> {
        let fitting = self.limit.fitting(values.clone().map(<[u8]>::len));
        if values.clone().nth(fitting).is_some() {
            self.note(field);
        }
        values.take(fitting).map(Text::wire).collect()
    }

    /// A list of texts: as many as fit in the limit together.
    pub(super) fn list(
        &mut self,
        field: &'static str,
        texts: impl Iterator<Item = Text<'a>>,
    ) -> Vec<Text<'a>> {
        let mut texts: Vec<_> = texts.collect();
        let fitting = self.limit.fitting(texts.iter().map(Text::len));
        if fitting < texts.len() {
            self.note(field);
            texts.truncate(fitting);
        }
        texts
    }

    /// The groups of a hello without GREASE.
    pub(super) fn groups(
        &mut self,
        field: &'static str,
        numbers: impl Iterator<Item = u16>,
    ) -> Vec<Text<'a>> {
        self.numbers(field, numbers, names::group)
    }

    /// Numbers of a registry without GREASE: as many as fit in the limit together, however long their names are.
    pub(super) fn numbers(
        &mut self,
        field: &'static str,
        numbers: impl Iterator<Item = u16>,
        name: fn(u16) -> Option<&'static str>,
    ) -> Vec<Text<'a>> {
        let numbers = numbers.filter(|number| !is_grease(*number));
        self.values(field, MAX_NUMBER_NAME_LEN, numbers, |number| Text::number(number, name))
    }

    /// Lengths, in bytes: as many as fit in the limit together.
    pub(super) fn lengths(&mut self, field: &'static str, lengths: impl Iterator<Item = usize>) -> Vec<u16> {
        self.values(field, MAX_LENGTH_LEN, lengths, length)
    }

    /// Types and lengths of extensions: as many as fit in the limit together.
    pub(super) fn extensions<'e>(
        &mut self,
        field: &'static str,
        extensions: impl Iterator<Item = Extension<'e>>,
    ) -> Vec<ExtensionRecord<'a>> {
        let record =
            |Extension { kind, data }| ExtensionRecord { kind: Text::hex(kind), length: length(data.len()) };
        self.values(field, MAX_EXTENSION_LEN, extensions, record)
    }

    /// Places of GREASE: as many as fit in the limit together.
    pub(super) fn grease(
        &mut self,
        field: &'static str,
        places: impl Iterator<Item = Grease>,
    ) -> Vec<Text<'a>> {
        self.values(field, MAX_GREASE_LEN, places, |place| Text(Value::Grease(place)))
    }

    /// The records of a list of values, each with at most `len` bytes of text: as many as fit in the limit together.
    fn values<T, U>(
        &mut self,
        field: &'static str,
        len: usize,
        mut values: impl Iterator<Item = T>,
        record: impl FnMut(T) -> U,
    ) -> Vec<U> {
        let records = values.by_ref().take(self.limit.fitting_of_len(len)).map(record).collect();
        if values.next().is_some() {
            self.note(field);
        }
        records
    }

    /// Notes a field whose text is longer than the limit; it has at most `len` bytes.
    fn note_if_longer(&mut self, field: &'static str, len: usize, value: impl Display) {
        if self.limit.bytes().is_some_and(|max| len > max) && self.limit.is_exceeded_by(value) {
            self.note(field);
        }
    }

    /// The text of a value that is at most `len` bytes long.
    pub(crate) fn of(
        &mut self,
        field: &'static str,
        len: usize,
        value: &'a (impl Display + Sync),
    ) -> Text<'a> {
        self.note_if_longer(field, len, value);
        Text(Value::Display(value, self.limit))
    }

    /// The text of a value that nothing else keeps, at most `len` bytes long.
    pub(crate) fn owned(
        &mut self,
        field: &'static str,
        len: usize,
        value: impl Display + Send + Sync + 'a,
    ) -> Text<'a> {
        self.note_if_longer(field, len, &value);
        Text(Value::Shared(Arc::new(value), self.limit))
    }

    /// The text of a JA4 with its values.
    #[inline]
    pub(super) fn ja4_raw(&mut self, field: &'static str, raw: Ja4Raw) -> Text<'a> {
        if self.fits(raw.as_str()) { Text(Value::Ja4Raw(raw)) } else { self.owned(field, usize::MAX, raw) }
    }

    /// The text of a JA3.
    #[inline]
    pub(super) fn ja3(&mut self, field: &'static str, ja3: Ja3) -> Text<'a> {
        if self.fits(ja3.as_str()) { Text(Value::Ja3(ja3)) } else { self.owned(field, usize::MAX, ja3) }
    }

    #[inline]
    fn fits(&self, text: &str) -> bool {
        self.limit.bytes().is_none_or(|max| text.len() <= max)
    }

    /// The text of an HTTP signature.
    #[inline]
    pub(super) fn http_signature(&mut self, field: &'static str, verdict: &'a HttpVerdict) -> Text<'a> {
        let limit = match self.limit.bytes() {
            Some(max) if verdict.may_exceed(max) => {
                self.note_if_longer(field, usize::MAX, verdict.raw_sig());
                self.limit
            }
            _ => TextLimit::NONE,
        };
        Text(Value::HttpSignature(verdict, limit))
    }
}

/// Formats a value up to a limit.
fn write_limited(f: &mut fmt::Formatter<'_>, limit: TextLimit, value: impl Display) -> fmt::Result {
    if limit == TextLimit::NONE { write!(f, "{value}") } else { limit.write(f, value).map(drop) }
}

impl Display for Text<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Wire(bytes) => Display::fmt(&Escaped(bytes), f),
            Value::Display(value, limit) => write_limited(f, *limit, value),
            Value::Shared(value, limit) => write_limited(f, *limit, value),
            Value::HttpSignature(verdict, limit) => write_limited(f, *limit, verdict.raw_sig()),
            Value::TcpSignature(signature) => Display::fmt(signature, f),
            Value::Digits(bytes) => Display::fmt(&HexDigits(bytes), f),
            Value::Grease(place) => Display::fmt(place, f),
            Value::Text(_)
            | Value::Plain(_)
            | Value::Read(_)
            | Value::Ja4Raw(_)
            | Value::Ja3(_)
            | Value::Md5(_)
            | Value::Hex(_) => f.write_str(self.as_str().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// Compares the texts.
impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        let text = self.to_string();
        text == other
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Text<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Value::Read(String::deserialize(deserializer)?.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_names_is_the_longest() {
        let tables =
            [names::group, names::signature_scheme, names::certificate_compression, names::extension];
        let longest = tables.iter().flat_map(|name| (0..=u16::MAX).filter_map(name)).map(str::len).max();
        assert_eq!(longest, Some(MAX_NUMBER_NAME_LEN));
    }

    #[test]
    fn groups_up_to_the_limit_have_names_or_digits() {
        let mut cut = Vec::new();
        let mut texts = LimitedTexts { limit: TextLimit::NONE, cut: &mut cut };
        let grease = 0x2a2a;
        let groups = texts.groups("groups", [grease, 0x11ec, 0x001d, 0x1234].into_iter());
        assert_eq!(
            groups.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["X25519MLKEM768", "x25519", "1234"]
        );
        texts.limit = TextLimit::default();
        let many = texts.groups("groups", (0..0x7000).cycle().take(32_000));
        assert!(many.len() < 10_000 && texts.cut.len() == 1, "{} of {:?}", many.len(), texts.cut);
    }
}
