//! A complete head.

use std::borrow::Cow;

use huginn_net_wire::Parsed;

use super::HeadReader;
use super::fields::{self, range_within};
use super::first_line::{RequestLine, StatusLine};
use crate::headers::{Draft, FieldList};
use crate::message::{RequestParts, ResponseParts, SeenByP0f};
use crate::{HttpError, HttpVersion, Request, Response, p0f};

impl Request {
    /// Parses the head of an HTTP/1 request at the start of these bytes. `None` if the end of the head is missing.
    ///
    /// Each call reads from the first byte, so a loop that calls it after every read takes quadratic time. [`HeadReader`] takes bytes piece
    /// by piece, and reads each once.
    ///
    /// ```
    /// use huginn_net_http::Request;
    ///
    /// let bytes = b"GET /a?b HTTP/1.1\r\nHost: example.org\r\n\r\nGET /c HTTP/1.1\r\n";
    /// let parsed = Request::parse(bytes)?.expect("a complete head");
    /// assert_eq!(parsed.value.host(), Some(&b"example.org"[..]));
    /// assert_eq!(parsed.value.path(), Some(&b"/a?b"[..]));
    /// assert!(Request::parse(&bytes[parsed.consumed..])?.is_none());
    /// # Ok::<(), huginn_net_http::HttpError>(())
    /// ```
    ///
    /// # Errors
    /// [`HttpError`] if the bytes are not such a head, or if the head exceeds a limit.
    pub fn parse(bytes: &[u8]) -> Result<Option<Parsed<Self>>, HttpError> {
        Ok(HeadReader::request().push(bytes)?.done())
    }
}

impl Response {
    /// Parses the head of an HTTP/1 response; see [`Request::parse`].
    ///
    /// # Errors
    /// [`HttpError`] if the bytes are not such a head, or if the head exceeds a limit.
    pub fn parse(bytes: &[u8]) -> Result<Option<Parsed<Self>>, HttpError> {
        Ok(HeadReader::response().push(bytes)?.done())
    }
}

/// A complete head, as lines.
#[derive(Debug)]
pub struct Lines<'a> {
    /// The lines up to the empty line.
    pub(super) lines: Cow<'a, [u8]>,
    /// The fields, if already parsed.
    pub(super) fields: Option<FieldList>,
    /// The lengths after each piece except the last.
    pub(super) cuts: Vec<u16>,
    /// Whether the empty line starts with a CR.
    pub(super) blank_has_cr: bool,
    /// Whether these are only the first lines of a head that exceeds [`MAX_HEAD`].
    pub(super) is_too_long: bool,
}

impl Lines<'_> {
    /// Whether this is a request of HTTP/0.9: its first line ends it.
    pub(super) fn is_http09(&self) -> bool {
        RequestLine::parse(first_line(&self.lines)).is_some_and(|line| line.version == HttpVersion::Http09)
    }
}

/// Parses a request. `for_p0f`: whether p0f would read it.
pub(super) fn request(head: Lines<'_>, for_p0f: bool) -> Result<Request, HttpError> {
    let is_seen_by_p0f = for_p0f && !head.is_too_long && p0f::reads_request(&head.lines);
    let line = RequestLine::parse(first_line(&head.lines)).ok_or(HttpError::NotHttp1)?;
    let RequestLine { method, target, version, p0f_version } = line;
    let [method, target] = [method, target].map(|part| range_within(&head.lines, part).into());
    let mut head = draft(head);
    if version == HttpVersion::Http09 {
        head.clear_fields();
    }
    let parts = RequestParts { version, method, target, authority: None };
    Ok(Request::from_parts(parts, head, is_seen_by_p0f.then_some(p0f_version)))
}

/// Parses a response. `for_p0f`: whether p0f would read it.
pub(super) fn response(head: Lines<'_>, for_p0f: bool) -> Result<Response, HttpError> {
    let Lines { lines, cuts, blank_has_cr, is_too_long, .. } = &head;
    let places =
        (for_p0f && !is_too_long).then(|| p0f::response_fields(lines, cuts, *blank_has_cr)).flatten();
    let seen_by_p0f = match places {
        None => SeenByP0f::None,
        Some(_) if cuts.is_empty() => SeenByP0f::All,
        Some(places) => {
            let mut fields = FieldList::default();
            places.into_iter().for_each(|(name, value)| fields.push(lines, name, value));
            SeenByP0f::These(Draft::new(Cow::Borrowed(lines), fields).finish())
        }
    };
    let line = StatusLine::parse(first_line(lines)).ok_or(HttpError::NotHttp1)?;
    let StatusLine { version, p0f_version, status, reason } = line;
    let reason = range_within(lines, reason).into();
    let parts = ResponseParts { version, p0f_version, status, reason };
    Ok(Response::from_parts(parts, draft(head), seen_by_p0f))
}

fn draft(head: Lines<'_>) -> Draft<'_> {
    let Lines { mut lines, fields, is_too_long, .. } = head;
    let fields = fields.unwrap_or_else(|| fields::parse_lines(lines.to_mut()));
    let mut draft = Draft::new(lines, fields);
    if is_too_long {
        draft.cut();
    }
    draft
}

fn first_line(lines: &[u8]) -> &[u8] {
    memchr::memchr(b'\n', lines).and_then(|end| lines.get(..end)).unwrap_or(lines)
}
