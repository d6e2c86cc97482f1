//! Header fields, in their original order and spelling.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::HeaderName;
use crate::limits::{MAX_HEADERS, MAX_LATE_KNOWN_HEADERS, TYPICAL_HEAD_LEN};

/// A header field (RFC 9110, section 5). Its bytes need not be UTF-8.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// Name, in its original case.
    pub name: &'a [u8],
    raw: &'a [u8],
    known: Option<KnownName>,
}

impl<'a> Header<'a> {
    /// Value, without leading and trailing blanks (RFC 9110, section 5.5).
    pub fn value(self) -> &'a [u8] {
        trim_blanks(self.raw)
    }

    /// Value as p0f reads it: p0f skips only one blank after the colon and stops at a zero byte.
    ///
    /// `None` if the value is empty. p0f distinguishes that from a value that starts with a zero byte.
    pub fn p0f_value(self) -> Option<&'a [u8]> {
        let value = match self.raw {
            [b' ' | b'\t', rest @ ..] => rest,
            raw => raw,
        };
        let end = memchr::memchr(0, value).unwrap_or(value.len());
        (!value.is_empty()).then(|| value.get(..end).unwrap_or_default())
    }

    /// Whether the field has this name, ignoring case (RFC 9110, section 5.1).
    pub fn is(self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The known name, if the field has its usual spelling.
    pub fn known_name(self) -> Option<HeaderName> {
        self.known.filter(|known| known.is_spelled_so).map(|known| known.name)
    }

    /// The known name, ignoring case.
    pub(crate) fn known_name_ignoring_case(self) -> Option<HeaderName> {
        self.known.map(|known| known.name)
    }
}

/// A known name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownName {
    name: HeaderName,
    /// Whether the name has its usual case.
    is_spelled_so: bool,
}

impl KnownName {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (name, is_spelled_so) = HeaderName::from_bytes(bytes)?;
        Some(Self { name, is_spelled_so })
    }
}

impl fmt::Debug for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name.escape_ascii(), self.raw.escape_ascii())
    }
}

/// The header fields of a head in order, including repeated ones. Cheap to clone.
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
    /// The encoded [`FieldList`], then the text that contains names and values; other bytes of the head may lie between
    /// them. One allocation, because freeing memory of another thread costs time for each allocation.
    store: Arc<[u8]>,
    /// Offset of the text.
    text: usize,
    is_cut: bool,
    repeats_pseudo_headers: bool,
}

/// A head under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft<'a> {
    fields: FieldList,
    /// The text, including appended bytes.
    pub(crate) text: Cow<'a, [u8]>,
}

/// The fields of a head, encoded as bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldList {
    bytes: Vec<u8>,
    /// Whether fields are missing because of a limit.
    is_cut: bool,
    /// Whether a pseudo-header field occurred twice.
    repeats_pseudo_headers: bool,
}

/// A field, as offsets into the text of a head.
#[derive(Clone, Copy, Debug)]
struct Field {
    name: Span,
    /// Everything between the colon and the end of the line, including blanks.
    value: Span,
    known: Option<KnownName>,
}

/// Encoded length of a field, in bytes.
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
        Header { name: self.name.slice(text), raw: self.value.slice(text), known: self.known }
    }
}

/// The code of an unknown name.
const UNKNOWN: u8 = u8::MAX;

impl FieldList {
    /// Gives fields other values: what `map` makes of name and value, if anything. The text of a value that is replaced stays in the head.
    fn replace_values(&mut self, text: &mut Vec<u8>, map: &mut dyn FnMut(Header<'_>) -> Option<Vec<u8>>) {
        for bytes in self.bytes.as_chunks_mut::<FIELD_LEN>().0 {
            let field = Field::from_bytes(bytes);
            if let Some(value) = map(field.header(text)) {
                let start = text.len();
                text.extend_from_slice(&value);
                *bytes = Field { value: (start..text.len()).into(), ..field }.to_bytes();
            }
        }
    }

    /// Adds the field with this name and value range, unless the list is full.
    pub(crate) fn push(&mut self, head: &[u8], name: Range<usize>, value: Range<usize>) {
        let name = Span::from(name);
        self.add(Field { name, value: value.into(), known: KnownName::from_bytes(name.slice(head)) });
    }

    fn add(&mut self, field: Field) {
        if !self.has_room(field.known.is_some()) {
            self.is_cut = true;
            return;
        }
        if self.bytes.capacity() == 0 {
            // Reserves room for the text of a typical head, which is appended later.
            self.bytes.reserve(TYPICAL_HEAD_LEN);
        }
        self.bytes.extend_from_slice(&field.to_bytes());
    }

    #[inline]
    fn has_room(&self, is_known: bool) -> bool {
        let late = if is_known { MAX_LATE_KNOWN_HEADERS } else { 0 };
        self.bytes.len() < MAX_HEADERS.saturating_add(late).saturating_mul(FIELD_LEN)
    }
}

impl<'a> Draft<'a> {
    /// Creates a head from its text and its fields.
    pub(crate) fn new(text: Cow<'a, [u8]>, fields: FieldList) -> Self {
        Self { fields, text }
    }

    /// Appends a field and trims blanks around its value.
    pub(crate) fn push(&mut self, name: &[u8], value: &[u8]) {
        let known = KnownName::from_bytes(name);
        if !self.fields.has_room(known.is_some()) {
            return self.cut();
        }
        let field = Field { name: self.append(name), value: self.append(value), known };
        self.fields.add(field);
    }

    /// Gives fields other values; see [`FieldList::replace_values`].
    pub(crate) fn replace_values(&mut self, map: &mut dyn FnMut(Header<'_>) -> Option<Vec<u8>>) {
        self.fields.replace_values(self.text.to_mut(), map);
    }

    /// Marks the head as cut: it exceeded a limit, so that fields are missing.
    pub(crate) fn cut(&mut self) {
        self.fields.is_cut = true;
    }

    /// Marks the head as one with a repeated pseudo-header field.
    pub(crate) fn repeat_pseudo_header(&mut self) {
        self.fields.repeats_pseudo_headers = true;
    }

    /// Memory of an owned head, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let text = match &self.text {
            Cow::Owned(text) => text.capacity(),
            Cow::Borrowed(_) => 0,
        };
        self.fields.bytes.capacity().saturating_add(text)
    }

    /// Whether fields are missing.
    pub(crate) fn is_cut(&self) -> bool {
        self.fields.is_cut
    }

    /// Removes all fields.
    pub(crate) fn clear_fields(&mut self) {
        self.fields = FieldList::default();
    }

    /// Appends bytes that are not a field.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Span {
        let text = self.text.to_mut();
        let start = text.len();
        text.extend_from_slice(bytes);
        (start..text.len()).into()
    }

    /// Finishes the head.
    pub(crate) fn finish(self) -> Headers {
        let Self { fields: FieldList { bytes: mut store, is_cut, repeats_pseudo_headers }, text } = self;
        let text_at = store.len();
        store.extend_from_slice(&text);
        Headers { store: store.into(), text: text_at, is_cut, repeats_pseudo_headers }
    }
}

/// A byte range of a head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl From<Range<usize>> for Span {
    /// Offsets fit, because the length of a head is limited.
    fn from(range: Range<usize>) -> Self {
        let place = |place| u32::try_from(place).unwrap_or(u32::MAX);
        Self { start: place(range.start), end: place(range.end) }
    }
}

impl Span {
    /// The bytes of the range; empty if it is out of bounds.
    pub(crate) fn slice(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl Headers {
    /// A modifiable copy of the head.
    pub(crate) fn to_draft(&self) -> Draft<'static> {
        let Self { is_cut, repeats_pseudo_headers, .. } = *self;
        let fields = FieldList { bytes: self.list().to_vec(), is_cut, repeats_pseudo_headers };
        Draft { fields, text: Cow::Owned(self.text().to_vec()) }
    }

    fn list(&self) -> &[u8] {
        self.store.get(..self.text).unwrap_or_default()
    }

    /// The bytes that hold all names and values. Other bytes of the head may lie between them.
    pub fn text(&self) -> &[u8] {
        self.store.get(self.text..).unwrap_or_default()
    }

    /// The bytes of a range.
    pub(crate) fn part(&self, span: Span) -> &[u8] {
        span.slice(self.text())
    }

    fn fields(&self) -> impl DoubleEndedIterator<Item = &[u8; FIELD_LEN]> + ExactSizeIterator {
        let all = self.list().chunks_exact(FIELD_LEN);
        all.map(|field| field.first_chunk().unwrap_or(&[UNKNOWN; FIELD_LEN]))
    }

    /// Iterates over the fields in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Header<'_>> + ExactSizeIterator {
        let text = self.text();
        self.fields().map(|field| Field::from_bytes(field).header(text))
    }

    /// Iterates over the fields with this name, ignoring case.
    pub(crate) fn named(&self, name: HeaderName) -> impl DoubleEndedIterator<Item = Header<'_>> {
        let (text, number) = (self.text(), name as u8);
        let named = self.fields().filter(move |[.., its_number, _]| *its_number == number);
        named.map(|field| Field::from_bytes(field).header(text))
    }

    /// The value of the first field with this name, ignoring case.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|header| header.is(name)).map(Header::value)
    }

    /// The values of all fields with this name, ignoring case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |header| header.is(name)).map(Header::value)
    }

    /// The value of the first field with this name, ignoring case.
    pub(crate) fn first(&self, name: HeaderName) -> Option<&[u8]> {
        self.named(name).next().map(Header::value)
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.list().len() / FIELD_LEN
    }

    /// Whether fields are missing because the head exceeded a limit: that of its length, of the number of its fields
    /// ([`MAX_HEADERS`](crate::http1::MAX_HEADERS)), or of the decoded size of an HTTP/2 field list, each 64 KiB.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether a pseudo-header field of HTTP/2 or HTTP/3 occurs twice, which makes the message malformed (RFC 9113, section 8.3). The first
    /// one counts.
    pub fn repeats_pseudo_headers(&self) -> bool {
        self.repeats_pseudo_headers
    }

    /// Whether there are no fields.
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
        self.is_cut == other.is_cut && self.iter().eq(other.iter())
    }
}

impl Eq for Headers {}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Removes blanks and line ends around bytes.
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
        fn fields_round_trip(
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
                    let known = HeaderName::from_bytes(name.as_bytes());
                    prop_assert_eq!((header.name, header.raw), (name.as_bytes(), &value[..]));
                    prop_assert_eq!(header.known_name_ignoring_case(), known.map(|(name, _)| name));
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
