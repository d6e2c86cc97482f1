//! Header fields, in the order and spelling of a head.

use std::fmt;

/// A header field (RFC 9110, section 5): bytes of no certain encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name, in the case that it was sent in.
    pub name: &'a [u8],
    raw: &'a [u8],
}

impl<'a> Header<'a> {
    /// Its value, without the blanks around it (RFC 9110, section 5.5).
    pub fn value(self) -> &'a [u8] {
        trim_blanks(self.raw)
    }

    /// Its value as p0f takes it: only one blank after the colon is skipped, and a zero byte ends it.
    ///
    /// `None` if there is nothing, which p0f tells from a value that begins with a zero byte.
    pub fn p0f_value(self) -> Option<&'a [u8]> {
        let value = match self.raw {
            [b' ' | b'\t', rest @ ..] => rest,
            raw => raw,
        };
        let end = memchr::memchr(0, value).unwrap_or(value.len());
        (!value.is_empty()).then(|| value.get(..end).unwrap_or_default())
    }

    /// Whether this is its name; case does not count (RFC 9110, section 5.1).
    pub fn is(self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

impl fmt::Debug for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name.escape_ascii(), self.raw.escape_ascii())
    }
}

/// The header fields of a head, in order; of one name as often as they came.
///
/// ```
/// use huginn_net_http::Headers;
///
/// let mut headers = Headers::default();
/// headers.push(b"Host", b"example.org");
/// headers.push(b"accept", b"*/*");
/// assert_eq!(headers.value("Accept"), Some(&b"*/*"[..]));
/// assert_eq!(headers.iter().next().unwrap().name, b"Host");
/// ```
#[derive(Clone, Default)]
pub struct Headers {
    /// Where names and values stand; other bytes of the head may stand between them.
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

/// A field, by its places in a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: Span,
    /// What stands between the colon and the end of the line, blanks and all.
    pub(crate) value: Span,
}

/// A part of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    /// Nothing, if it is not within the bytes.
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

impl Headers {
    /// Header fields by their places in a head.
    pub(crate) fn within(head: Vec<u8>, fields: Vec<Field>) -> Self {
        Self { bytes: head, fields }
    }

    /// Adds a field at the end. Blanks around the value are not counted to it.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let field = Field { name: self.append(name), value: self.append(value) };
        self.fields.push(field);
    }

    fn append(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span { start, end: self.bytes.len() }
    }

    /// The fields, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Header<'_>> + ExactSizeIterator {
        let header =
            |field: &Field| Header { name: field.name.of(&self.bytes), raw: field.value.of(&self.bytes) };
        self.fields.iter().map(header)
    }

    /// The value of the first field of this name, whatever its case.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|header| header.is(name)).map(Header::value)
    }

    /// The values of all fields of this name, whatever its case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |header| header.is(name)).map(Header::value)
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(fields: T) -> Self {
        let mut headers = Self::default();
        for (name, value) in fields {
            headers.push(name.as_ref(), value.as_ref());
        }
        headers
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Headers {}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The bytes without blanks and line ends around them.
pub(crate) fn trim_blanks(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = bytes.iter().position(|byte| !is_blank(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last.saturating_add(1));
    bytes.get(start..end).unwrap_or_default()
}
