//! Header fields, in the order and spelling of a head.

use std::fmt;
use std::ops::Range;

use crate::HeaderName;

/// Fields that there is room for at first where a head is read: more than most have.
pub(crate) const USUAL_FIELDS: usize = 16;

/// A header field (RFC 9110, section 5): bytes of no certain encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name, in the case that it was sent in.
    pub name: &'a [u8],
    raw: &'a [u8],
    known: Option<KnownName>,
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

    /// Its name, if that is one of these and spelled as they are.
    pub fn known_name(self) -> Option<HeaderName> {
        self.known.filter(|known| known.is_spelled_so).map(|known| known.name)
    }

    /// Its name, if that is one of these in any case.
    pub(crate) fn known_name_of_any_case(self) -> Option<HeaderName> {
        self.known.map(|known| known.name)
    }
}

/// A name that is one of those known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownName {
    name: HeaderName,
    /// Whether its case is the usual one.
    is_spelled_so: bool,
}

impl KnownName {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (name, is_spelled_so) = HeaderName::of(bytes)?;
        Some(Self { name, is_spelled_so })
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
    name: Span,
    /// What stands between the colon and the end of the line, blanks and all.
    value: Span,
    known: Option<KnownName>,
}

impl Field {
    /// The field whose name and value stand there in a head.
    pub(crate) fn new(head: &[u8], name: Range<usize>, value: Range<usize>) -> Self {
        let name = Span::from(name);
        Self { name, value: value.into(), known: KnownName::of(name.of(head)) }
    }
}

/// A part of a head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl From<Range<usize>> for Span {
    /// No head is so long that its places do not fit.
    fn from(range: Range<usize>) -> Self {
        let place = |place| u32::try_from(place).unwrap_or(u32::MAX);
        Self { start: place(range.start), end: place(range.end) }
    }
}

impl Span {
    /// Nothing, if it is not within the bytes.
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl Headers {
    /// Header fields by their places in a head.
    pub(crate) fn within(head: Vec<u8>, fields: Vec<Field>) -> Self {
        Self { bytes: head, fields }
    }

    /// Adds a field at the end. Blanks around the value are not counted to it.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let field = Field { name: self.append(name), value: self.append(value), known: KnownName::of(name) };
        self.fields.push(field);
    }

    /// Adds bytes that are no field.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        (start..self.bytes.len()).into()
    }

    /// The fields, and what stands between them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What stands there among the fields.
    pub(crate) fn part(&self, span: Span) -> &[u8] {
        span.of(&self.bytes)
    }

    /// The fields, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Header<'_>> + ExactSizeIterator {
        self.fields.iter().map(|field| self.header(field))
    }

    fn header(&self, field: &Field) -> Header<'_> {
        Header { name: self.part(field.name), raw: self.part(field.value), known: field.known }
    }

    /// The fields of this name, whatever its case.
    pub(crate) fn named(&self, name: HeaderName) -> impl DoubleEndedIterator<Item = Header<'_>> {
        let is_named = move |field: &&Field| field.known.is_some_and(|known| known.name == name);
        self.fields.iter().filter(is_named).map(|field| self.header(field))
    }

    /// The value of the first field of this name, whatever its case.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|header| header.is(name)).map(Header::value)
    }

    /// The values of all fields of this name, whatever its case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |header| header.is(name)).map(Header::value)
    }

    /// The value of the first field of this name, whatever its case.
    pub(crate) fn first(&self, name: HeaderName) -> Option<&[u8]> {
        self.named(name).next().map(Header::value)
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
pub(crate) fn trim_blanks(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = bytes {
        bytes = rest;
    }
    bytes
}
