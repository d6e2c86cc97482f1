//! A whole head.

use super::fields::{self, place_within};
use super::first_line::{RequestLine, StatusLine};
use super::head_buffer::{HeadBuffer, Scan};
use crate::headers::Field;
use crate::message::{RequestParts, ResponseParts, SeenByP0f};
use crate::{Error, Headers, Request, Response, Role, p0f};

/// The longest head that is read, in bytes.
pub const MAX_HEAD: usize = 64 << 10;
/// The most header fields of a head.
pub const MAX_HEADERS: usize = 256;

impl Request {
    /// Reads the head of an HTTP/1 request, as a connection begins with it. `None` if its end is not there yet; what
    /// follows it is not looked at.
    ///
    /// ```
    /// use huginn_net_http::Request;
    ///
    /// let request = Request::parse(b"GET /a?b HTTP/1.1\r\nHost: example.org\r\n\r\n")?.expect("a whole head");
    /// assert_eq!(request.host(), Some(&b"example.org"[..]));
    /// assert_eq!(request.path(), Some(&b"/a?b"[..]));
    /// # Ok::<(), huginn_net_http::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bytes that are no such head, or one beyond the limits.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Error> {
        whole_head(Role::Request, bytes)?.map(|head| request(head, true)).transpose()
    }
}

impl Response {
    /// Reads the head of an HTTP/1 response; see [`Request::parse`].
    ///
    /// # Errors
    /// Bytes that are no such head, or one beyond the limits.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Error> {
        whole_head(Role::Response, bytes)?.map(|head| response(head, true)).transpose()
    }
}

fn whole_head(role: Role, bytes: &[u8]) -> Result<Option<Lines>, Error> {
    match HeadBuffer::default().push(role, bytes)? {
        Scan::Whole { head, .. } => Ok(Some(head)),
        Scan::More => Ok(None),
    }
}

/// A head that has come.
#[derive(Debug)]
pub(super) struct Lines {
    /// Its lines up to the empty one.
    pub(super) lines: Vec<u8>,
    /// Its fields, if they are known already.
    pub(super) fields: Option<Vec<Field>>,
    /// The lengths up to which pieces before the last brought them.
    pub(super) cuts: Vec<u16>,
    /// Whether a CR begins the empty line.
    pub(super) blank_has_cr: bool,
}

/// Reads a request. `for_p0f`: whether p0f would look at it.
pub(super) fn request(head: Lines, for_p0f: bool) -> Result<Request, Error> {
    let is_seen_by_p0f = for_p0f && p0f::takes_request(&head.lines);
    let headers = headers(head.lines, head.fields)?;
    let bytes = headers.bytes();
    let RequestLine { method, target, version } =
        RequestLine::parse(first_line(bytes)).ok_or(Error::NotHttp1)?;
    let [method, target] = [method, target].map(|part| place_within(bytes, part).into());
    Ok(Request::from_parts(RequestParts { version, method, target }, headers, is_seen_by_p0f))
}

/// Reads a response. `for_p0f`: whether p0f would look at it.
pub(super) fn response(head: Lines, for_p0f: bool) -> Result<Response, Error> {
    let Lines { lines, fields, cuts, blank_has_cr } = head;
    let places = for_p0f.then(|| p0f::response_fields(&lines, &cuts, blank_has_cr)).flatten();
    let seen_by_p0f = match places {
        None => SeenByP0f::None,
        Some(_) if cuts.is_empty() => SeenByP0f::All,
        Some(places) => {
            let fields = places.into_iter().map(|(name, value)| Field::new(&lines, name, value));
            SeenByP0f::These(Headers::within(lines.clone(), fields.collect()))
        }
    };
    let headers = headers(lines, fields)?;
    let bytes = headers.bytes();
    let StatusLine { version, status, reason } =
        StatusLine::parse(first_line(bytes)).ok_or(Error::NotHttp1)?;
    let reason = place_within(bytes, reason).into();
    Ok(Response::from_parts(ResponseParts { version, status, reason }, headers, seen_by_p0f))
}

fn headers(mut lines: Vec<u8>, fields: Option<Vec<Field>>) -> Result<Headers, Error> {
    let fields = match fields {
        Some(fields) => fields,
        None => fields::of_lines(&mut lines)?,
    };
    Ok(Headers::within(lines, fields))
}

fn first_line(lines: &[u8]) -> &[u8] {
    memchr::memchr(b'\n', lines).and_then(|end| lines.get(..end)).unwrap_or(lines)
}
