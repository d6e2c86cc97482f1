//! Header fields, in the order and spelling of a head.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::HeaderName;

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

/// The header fields of a head, in order; of one name as often as they came. Cheap to clone.
///
/// ```
/// use huginn_net_http::Headers;
///
/// let headers: Headers = [("Host", "example.org"), ("accept", "*/*")].into_iter().collect();
/// assert_eq!(headers.value("Accept"), Some(&b"*/*"[..]));
/// assert_eq!(headers.iter().next().unwrap().name, b"Host");
/// ```
#[derive(Clone, Default)]
pub struct Headers {
    /// What [`FieldList`] has of each field, and then the text where names and values stand; other bytes of the head may
    /// stand between them. All in one, as a head that another thread lets go costs as much as the pieces it is in.
    store: Arc<[u8]>,
    /// Where the text begins.
    text: usize,
}

/// A head that is put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft<'a> {
    fields: FieldList,
    text: Cow<'a, [u8]>,
}

/// The fields of a head, as bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldList(Vec<u8>);

/// A field, by its places in a head.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: Span,
    /// What stands between the colon and the end of the line, blanks and all.
    value: Span,
    known: Option<KnownName>,
}

/// Bytes that a field takes up in a list.
const FIELD_LEN: usize = 18;

impl Field {
    #[inline]
    fn to_bytes(self) -> [u8; FIELD_LEN] {
        let Self { name, value, known } = self;
        let [a, b, c, d] = name.start.to_ne_bytes();
        let [e, f, g, h] = name.end.to_ne_bytes();
        let [i, j, k, l] = value.start.to_ne_bytes();
        let [m, n, o, p] = value.end.to_ne_bytes();
        let [number, is_spelled_so] =
            known.map_or([UNKNOWN, 0], |known| [known.name as u8, known.is_spelled_so.into()]);
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, number, is_spelled_so]
    }

    #[inline]
    fn from_bytes(bytes: &[u8; FIELD_LEN]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, number, is_spelled_so] = *bytes;
        let span = |start, end| Span { start: u32::from_ne_bytes(start), end: u32::from_ne_bytes(end) };
        let name = HeaderName::ALL.get(usize::from(number));
        Self {
            name: span([a, b, c, d], [e, f, g, h]),
            value: span([i, j, k, l], [m, n, o, p]),
            known: name.map(|&name| KnownName { name, is_spelled_so: is_spelled_so != 0 }),
        }
    }

    fn header(self, text: &[u8]) -> Header<'_> {
        Header { name: self.name.of(text), raw: self.value.of(text), known: self.known }
    }
}

/// The number of no name.
const UNKNOWN: u8 = u8::MAX;

impl FieldList {
    /// Adds the field whose name and value stand there in a head.
    pub(crate) fn push(&mut self, head: &[u8], name: Range<usize>, value: Range<usize>) {
        let name = Span::from(name);
        self.add(Field { name, value: value.into(), known: KnownName::of(name.of(head)) });
    }

    fn add(&mut self, field: Field) {
        if self.0.capacity() == 0 {
            // With room for the text of a usual head, with which it becomes one.
            self.0.reserve(USUAL_LEN);
        }
        self.0.extend_from_slice(&field.to_bytes());
    }

    /// How many fields there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len() / FIELD_LEN
    }
}

/// Bytes that fields and text of most heads take up.
const USUAL_LEN: usize = 1024;

impl<'a> Draft<'a> {
    /// A head with this text, whose fields are known.
    pub(crate) fn new(text: Cow<'a, [u8]>, fields: FieldList) -> Self {
        Self { fields, text }
    }

    /// Adds a field at the end. Blanks around the value are not counted to it.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        let known = KnownName::of(name);
        let field = Field { name: self.append(name), value: self.append(value), known };
        self.fields.add(field);
    }

    /// Adds bytes that are no field.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Span {
        let text = self.text.to_mut();
        let start = text.len();
        text.extend_from_slice(bytes);
        (start..text.len()).into()
    }

    /// Its text, and what was added.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The head.
    pub(crate) fn finish(self) -> Headers {
        let Self { fields: FieldList(mut store), text } = self;
        let text_at = store.len();
        store.extend_from_slice(&text);
        Headers { store: store.into(), text: text_at }
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
    /// The same head, to be changed.
    pub(crate) fn to_draft(&self) -> Draft<'static> {
        Draft { fields: FieldList(self.list().to_vec()), text: Cow::Owned(self.text().to_vec()) }
    }

    fn list(&self) -> &[u8] {
        self.store.get(..self.text).unwrap_or_default()
    }

    fn text(&self) -> &[u8] {
        self.store.get(self.text..).unwrap_or_default()
    }

    /// What stands there among the fields.
    pub(crate) fn part(&self, span: Span) -> &[u8] {
        span.of(self.text())
    }

    fn fields(&self) -> impl DoubleEndedIterator<Item = &[u8; FIELD_LEN]> + ExactSizeIterator {
        let all = self.list().chunks_exact(FIELD_LEN);
        all.map(|field| field.first_chunk().unwrap_or(&[UNKNOWN; FIELD_LEN]))
    }

    /// The fields, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Header<'_>> + ExactSizeIterator {
        let text = self.text();
        self.fields().map(|field| Field::from_bytes(field).header(text))
    }

    /// The fields of this name, whatever its case.
    pub(crate) fn named(&self, name: HeaderName) -> impl DoubleEndedIterator<Item = Header<'_>> {
        let (text, number) = (self.text(), name as u8);
        let named = self.fields().filter(move |[.., its_number, _]| *its_number == number);
        named.map(|field| Field::from_bytes(field).header(text))
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
        self.list().len() / FIELD_LEN
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(fields: T) -> Self {
        let mut draft = Draft::default();
        for (name, value) in fields {
            draft.push(name.as_ref(), value.as_ref());
        }
        draft.finish()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fields_come_back_as_they_were_added(
            fields in prop::collection::vec(("[a-zA-Z-]{0,8}|host|Via|ETAG", any::<Vec<u8>>()), 0..40),
            others in any::<[Vec<u8>; 2]>(),
        ) {
            let mut draft = Draft::default();
            let mut places = Vec::new();
            for (n, (name, value)) in fields.iter().enumerate() {
                draft.push(name.as_bytes(), value);
                if n < others.len() {
                    places.push(draft.append(&others[n]));
                }
            }
            let headers = draft.finish();
            let changed = headers.to_draft().finish();
            for headers in [&headers, &changed] {
                let parts: Vec<_> = places.iter().map(|place| headers.part(*place)).collect();
                prop_assert_eq!(parts, others.iter().take(fields.len()).collect::<Vec<_>>());
                prop_assert_eq!((headers.len(), headers.is_empty()), (fields.len(), fields.is_empty()));
                prop_assert_eq!(headers.iter().len(), fields.len());
                for (header, (name, value)) in headers.iter().zip(&fields) {
                    let known = HeaderName::of(name.as_bytes());
                    prop_assert_eq!((header.name, header.raw), (name.as_bytes(), &value[..]));
                    prop_assert_eq!(header.known_name_of_any_case(), known.map(|(name, _)| name));
                    prop_assert_eq!(header.known_name(), known.and_then(|(name, usual)| usual.then_some(name)));
                }
                for name in [HeaderName::Host, HeaderName::Via, HeaderName::ETag] {
                    let of_this_name = |header: &Header<'_>| header.is(name.text());
                    prop_assert!(headers.named(name).eq(headers.iter().filter(of_this_name)));
                }
            }
        }
    }
}
