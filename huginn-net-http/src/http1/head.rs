//! A whole head. Its fields are read with httparse; where that is stricter than what is in use, by lines alone.

use std::sync::Arc;

use super::first_line::{RequestLine, StatusLine};
use super::head_buffer::{HeadBuffer, Scan};
use crate::headers::{Field, Span, trim_blanks};
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
    let mut buffer = HeadBuffer::default();
    match buffer.push(role, bytes)? {
        Scan::Whole { after_cr, .. } => {
            let (lines, cuts) = buffer.take_lines();
            Ok(Some(Lines { lines, cuts, blank_has_cr: after_cr }))
        }
        Scan::More => Ok(None),
    }
}

/// A head that has come.
pub(super) struct Lines {
    /// Its lines up to the empty one.
    pub(super) lines: Vec<u8>,
    /// The lengths up to which pieces before the last brought them.
    pub(super) cuts: Vec<u16>,
    /// Whether a CR begins the empty line.
    pub(super) blank_has_cr: bool,
}

/// Reads a request. `for_p0f`: whether p0f would look at it.
pub(super) fn request(head: Lines, for_p0f: bool) -> Result<Request, Error> {
    let mut lines = head.lines;
    let seen_by_p0f = for_p0f && p0f::takes_request(&lines);
    let fields = find_fields(&mut lines)?;
    let line = RequestLine::parse(first_line(&lines)).ok_or(Error::NotHttp1)?;
    let (version, method, target) = (line.version, Box::from(line.method), Box::from(line.target));
    let headers = Arc::new(Headers::within(lines, fields));
    let seen_by_p0f = seen_by_p0f.then(|| Arc::clone(&headers));
    Ok(Request::from_parts(version, method, target, headers, seen_by_p0f))
}

/// Reads a response. `for_p0f`: whether p0f would look at it.
pub(super) fn response(head: Lines, for_p0f: bool) -> Result<Response, Error> {
    let mut lines = head.lines;
    let p0f_fields = for_p0f.then(|| p0f::response_fields(&lines, &head.cuts, head.blank_has_cr)).flatten();
    let cut = p0f_fields.as_ref().filter(|_| !head.cuts.is_empty()).map(|_| lines.clone());
    let fields = find_fields(&mut lines)?;
    let line = StatusLine::parse(first_line(&lines)).ok_or(Error::NotHttp1)?;
    let (version, status, reason) = (line.version, line.status, Box::from(line.reason));
    let headers = Arc::new(Headers::within(lines, fields));
    let seen_by_p0f = p0f_fields.map(|fields| match cut {
        Some(lines) => Arc::new(Headers::within(lines, fields)),
        None => Arc::clone(&headers),
    });
    Ok(Response::from_parts(version, status, reason, headers, seen_by_p0f))
}

fn first_line(lines: &[u8]) -> &[u8] {
    memchr::memchr(b'\n', lines).and_then(|end| lines.get(..end)).unwrap_or(lines)
}

/// Ends the head with an empty line, unfolds it, and finds its fields.
fn find_fields(lines: &mut Vec<u8>) -> Result<Vec<Field>, Error> {
    let start = first_line(lines).len().saturating_add(1);
    lines.extend_from_slice(b"\r\n");
    unfold(lines, start);
    let mut strict = [httparse::EMPTY_HEADER; MAX_HEADERS];
    match httparse::parse_headers(lines.get(start..).unwrap_or_default(), &mut strict) {
        Ok(httparse::Status::Complete((_, headers))) => Ok(headers
            .iter()
            .map(|header| field(lines, span_within(lines, header.name.as_bytes())))
            .collect()),
        Err(httparse::Error::TooManyHeaders) => Err(Error::TooManyHeaders { max: MAX_HEADERS }),
        _ => fields_by_line(lines, start),
    }
}

/// Makes one line of those that a line break and a blank divide (RFC 9112, section 5.2).
fn unfold(lines: &mut [u8], start: usize) {
    let mut line = start;
    while let Some(length) = lines.get(line..).and_then(|rest| memchr::memchr(b'\n', rest)) {
        let end = line.saturating_add(length);
        let next = end.saturating_add(1);
        if matches!(lines.get(next), Some(b' ' | b'\t')) {
            let has_cr = lines.get(line..end).is_some_and(|line| line.ends_with(b"\r"));
            let line_break = lines.get_mut(end.saturating_sub(usize::from(has_cr))..next);
            line_break.unwrap_or_default().fill(b' ');
        }
        line = next;
    }
}

/// The fields of lines that need have nothing but a name and a colon; others are skipped.
fn fields_by_line(lines: &[u8], start: usize) -> Result<Vec<Field>, Error> {
    let mut fields = Vec::new();
    for line in lines.get(start..).unwrap_or_default().split(|&byte| byte == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let name = trim_blanks(line.get(..colon).unwrap_or_default());
        if name.is_empty() {
            continue;
        }
        if fields.len() == MAX_HEADERS {
            return Err(Error::TooManyHeaders { max: MAX_HEADERS });
        }
        fields.push(field(lines, span_within(lines, name)));
    }
    Ok(fields)
}

/// The field of this name: its value is what stands between the colon behind it and the end of the line.
fn field(lines: &[u8], name: Span) -> Field {
    let rest = first_line(lines.get(name.end..).unwrap_or_default());
    let colon =
        rest.iter().position(|&byte| byte == b':').map_or(rest.len(), |colon| colon.saturating_add(1));
    let value = rest.get(colon..).unwrap_or_default();
    Field { name, value: span_within(lines, value.strip_suffix(b"\r").unwrap_or(value)) }
}

/// Where a part of some bytes stands in them.
fn span_within(whole: &[u8], part: &[u8]) -> Span {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    Span { start, end: start.wrapping_add(part.len()) }
}
