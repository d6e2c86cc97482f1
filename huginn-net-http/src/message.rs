//! Heads of requests and responses, of all HTTP versions.

use std::fmt;
use std::net::IpAddr;
use std::str::{self, FromStr};

use huginn_net_wire::Side;

use crate::headers::{Draft, Headers, Span};
use crate::{HeaderName, language};

/// The role of a message: request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Role {
    /// A request, sent by the client.
    Request,
    /// A response, sent by the server.
    Response,
}

impl Role {
    /// The side that sends such messages.
    pub(crate) const fn side(self) -> Side {
        match self {
            Self::Request => Side::Client,
            Self::Response => Side::Server,
        }
    }
}

huginn_net_wire::named! {
    /// An HTTP version.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum HttpVersion {
        /// HTTP/0.9 (RFC 1945, section 4.1): a GET without a version and without headers.
        Http09 = "0.9",
        /// HTTP/1.0 (RFC 1945).
        Http10 = "1.0",
        /// HTTP/1.1 (RFC 9112), and higher minor versions (RFC 9110, section 2.5).
        Http11 = "1.1",
        /// HTTP/2 (RFC 9113).
        Http2 = "2",
        /// HTTP/3 (RFC 9114).
        Http3 = "3",
    }
}

/// A text that is not an HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an HTTP version: expected 0.9, 1.0, 1.1, 2 or 3")]
#[non_exhaustive]
pub struct HttpVersionParseError;

impl FromStr for HttpVersion {
    type Err = HttpVersionParseError;

    fn from_str(text: &str) -> Result<Self, HttpVersionParseError> {
        Self::from_name(text).ok_or(HttpVersionParseError)
    }
}

/// The head of a request. Cheap to clone.
#[derive(Clone)]
pub struct Request {
    /// The headers, with the bytes that the ranges below refer to.
    headers: Headers,
    method: Span,
    target: Span,
    /// The path, if it is not part of the target: an empty path before a query.
    path: Option<Span>,
    authority: Option<Span>,
    version: HttpVersion,
    /// The version that p0f 3.09b prints, if it reads this head: it is the first of its direction, captured from its
    /// first byte, within p0f's limits, and complete before the server sends data.
    pub(crate) p0f_version: Option<HttpVersion>,
}

/// The byte ranges of method, target and authority in the text of the headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestParts {
    pub(crate) version: HttpVersion,
    pub(crate) method: Span,
    pub(crate) target: Span,
    pub(crate) authority: Option<Span>,
}

/// A [host](Request::host) or a server name without port. An IPv6 address stays as it is, with or without brackets.
///
/// ```
/// use huginn_net_http::without_port;
///
/// assert_eq!(without_port(b"www.example.org:8080"), b"www.example.org");
/// assert_eq!(without_port(b"2001:db8::1"), b"2001:db8::1");
/// ```
pub fn without_port(host: &[u8]) -> &[u8] {
    let port = host.iter().rposition(|byte| *byte == b':').map(|colon| host.split_at(colon));
    let is_address = || str::from_utf8(host).is_ok_and(|text| text.parse::<IpAddr>().is_ok());
    match port {
        // An IPv6 address without brackets ends like a name with a port.
        Some((name, port)) if port.iter().skip(1).all(u8::is_ascii_digit) && !is_address() => name,
        _ => host,
    }
}

impl Request {
    /// Creates a request. The target of HTTP/1 is that of the request line (RFC 9112, section 3.2), of HTTP/2 the
    /// `:path`.
    pub fn new(version: HttpVersion, method: &[u8], target: &[u8], headers: Headers) -> Self {
        let mut head = headers.to_draft();
        let (method, target) = (head.append(method), head.append(target));
        Self::from_parts(RequestParts { version, method, target, authority: None }, head, None)
    }

    pub(crate) fn from_parts(
        parts: RequestParts,
        mut head: Draft<'_>,
        p0f_version: Option<HttpVersion>,
    ) -> Self {
        let RequestParts { version, method, target, authority } = parts;
        let path = match absolute(target.slice(&head.text)) {
            Some((_, query @ [b'?', ..])) => Some([b"/", query].concat()),
            _ => None,
        };
        let path = path.map(|path| head.append(&path));
        Self { headers: head.finish(), method, target, path, authority, version, p0f_version }
    }

    /// Adds an `:authority` (RFC 9113, section 8.3.1).
    pub fn with_authority(mut self, authority: &[u8]) -> Self {
        let mut head = self.headers.to_draft();
        self.authority = Some(head.append(authority));
        self.headers = head.finish();
        self
    }

    /// Gives header fields and the target other texts: what `map` makes of a text, if anything. It gets the name of a field, `None` for
    /// target and authority. The bytes that are replaced stay part of [`Headers::text`].
    pub fn replace_texts(&mut self, map: impl Fn(Option<&[u8]>, &[u8]) -> Option<Vec<u8>>) {
        let mut head = self.headers.to_draft();
        head.replace_values(&mut |field| map(Some(field.name), field.value()));
        for span in
            [Some(&mut self.target), self.path.as_mut(), self.authority.as_mut()].into_iter().flatten()
        {
            if let Some(text) = map(None, span.slice(&head.text)) {
                *span = head.append(&text);
            }
        }
        self.headers = head.finish();
    }

    /// HTTP version.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Method, case-sensitive.
    pub fn method(&self) -> &[u8] {
        self.headers.part(self.method)
    }

    /// Request target as sent: a path and query, an absolute URI, an authority or `*`.
    pub fn target(&self) -> &[u8] {
        self.headers.part(self.target)
    }

    /// Path and query of the target; `None` if the target is an authority, as for CONNECT. A CONNECT of HTTP/2 may have
    /// a path (RFC 8441, section 4).
    pub fn path(&self) -> Option<&[u8]> {
        match self.target() {
            [] => None,
            _ if self.is_connect() => None,
            target => match absolute(target) {
                Some((_, [])) => Some(b"/"),
                Some((_, path)) => Some(self.path.map_or(path, |path| self.headers.part(path))),
                None => Some(target),
            },
        }
    }

    fn authority(&self) -> Option<&[u8]> {
        Some(self.headers.part(self.authority?))
    }

    /// Whether the request asks for a tunnel through the rest of its connection: CONNECT up to HTTP/1.1 (RFC 9110, section
    /// 9.3.6). That of later versions takes one stream.
    pub fn is_connect(&self) -> bool {
        self.method() == b"CONNECT" && self.version < HttpVersion::Http2
    }

    /// Host, with the port if given: the authority of the target, else the Host header (RFC 9112, section 3.2.2).
    pub fn host(&self) -> Option<&[u8]> {
        if let Some(authority) = self.authority() {
            return Some(authority);
        }
        let target = self.target();
        if self.is_connect() && !target.is_empty() {
            return Some(target);
        }
        match absolute(target) {
            Some((authority, _)) => Some(authority),
            None => self.headers.first(HeaderName::Host),
        }
    }

    /// Header fields.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Value of the first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.value(name)
    }

    /// The User-Agent header: the software of the client, as it claims.
    pub fn user_agent(&self) -> Option<&[u8]> {
        self.headers.first(HeaderName::UserAgent)
    }

    /// The preferred language of Accept-Language, as a tag.
    pub fn language(&self) -> Option<&str> {
        self.headers.first(HeaderName::AcceptLanguage).and_then(language::preferred)
    }
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        (self.version, self.method(), self.target()) == (other.version, other.method(), other.target())
            && (self.authority(), self.p0f_version) == (other.authority(), other.p0f_version)
            && self.headers == other.headers
    }
}

impl Eq for Request {}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.authority().map(|authority| authority.escape_ascii().to_string());
        f.debug_struct("Request")
            .field("version", &self.version)
            .field("method", &self.method().escape_ascii().to_string())
            .field("target", &self.target().escape_ascii().to_string())
            .field("authority", &authority)
            .field("headers", &self.headers)
            .field("p0f_version", &self.p0f_version)
            .finish()
    }
}

/// Splits a URI `scheme://[user@]authority/path?query#fragment` (RFC 3986, section 3) into authority, and path with
/// query.
fn absolute(target: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = target.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte))?;
    let rest = target.get(colon..)?.strip_prefix(b"://")?;
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let path = path.split(|&byte| byte == b'#').next()?;
    let host = authority.iter().rposition(|&byte| byte == b'@').map_or(0, |at| at.saturating_add(1));
    Some((authority.get(host..)?, path))
}

/// The head of a response. Cheap to clone.
#[derive(Clone)]
pub struct Response {
    /// The headers, with the bytes of the reason phrase.
    headers: Headers,
    reason: Span,
    status: Option<u16>,
    version: HttpVersion,
    /// The version and the headers that p0f reads.
    p0f: Option<(HttpVersion, Headers)>,
}

/// The status line of a response, with the byte range of its reason phrase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseParts {
    pub(crate) version: HttpVersion,
    /// The version that p0f prints.
    pub(crate) p0f_version: HttpVersion,
    pub(crate) status: Option<u16>,
    pub(crate) reason: Span,
}

/// The status code with these three digits; `None` for other texts.
pub(crate) fn status_code(text: &[u8]) -> Option<u16> {
    let [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = text else { return None };
    let add = |value: u16, digit: &u8| value.saturating_mul(10).saturating_add(u16::from(digit & 0xf));
    Some([a, b, c].into_iter().fold(0, add))
}

/// The headers of a response that p0f reads.
pub(crate) enum SeenByP0f {
    None,
    /// All headers.
    All,
    These(Headers),
}

impl Response {
    /// Creates a response. HTTP/2 has no reason phrase.
    pub fn new(version: HttpVersion, status: Option<u16>, reason: &[u8], headers: Headers) -> Self {
        let mut head = headers.to_draft();
        let reason = head.append(reason);
        Self::from_parts(
            ResponseParts { version, p0f_version: version, status, reason },
            head,
            SeenByP0f::None,
        )
    }

    pub(crate) fn from_parts(line: ResponseParts, head: Draft<'_>, seen_by_p0f: SeenByP0f) -> Self {
        let ResponseParts { version, p0f_version, status, reason } = line;
        let headers = head.finish();
        let p0f = match seen_by_p0f {
            SeenByP0f::None => None,
            SeenByP0f::All => Some((p0f_version, headers.clone())),
            SeenByP0f::These(headers) => Some((p0f_version, headers)),
        };
        Self { headers, reason, status, version, p0f }
    }

    /// Gives header fields other values; see [`Request::replace_texts`].
    pub fn replace_texts(&mut self, map: impl Fn(Option<&[u8]>, &[u8]) -> Option<Vec<u8>>) {
        let of_p0f = self.p0f.as_mut().map(|(_, headers)| headers);
        for headers in [Some(&mut self.headers), of_p0f].into_iter().flatten() {
            let mut head = headers.to_draft();
            head.replace_values(&mut |field| map(Some(field.name), field.value()));
            *headers = head.finish();
        }
    }

    /// HTTP version.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Status code (RFC 9110, section 15); `None` unless the status is three digits.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Reason phrase.
    pub fn reason(&self) -> &[u8] {
        self.headers.part(self.reason)
    }

    /// Header fields.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Value of the first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.value(name)
    }

    /// The Server header: the software of the server, as it claims.
    pub fn server(&self) -> Option<&[u8]> {
        self.headers.first(HeaderName::Server)
    }

    /// The version and the headers that p0f 3.09b reads. `None` unless this head is the first of its direction, captured from its first
    /// byte, within p0f's limits, and follows a request that p0f read.
    pub(crate) fn seen_by_p0f(&self) -> Option<(HttpVersion, Headers)> {
        self.p0f.clone()
    }
}

impl PartialEq for Response {
    fn eq(&self, other: &Self) -> bool {
        (self.version, self.status, self.reason()) == (other.version, other.status, other.reason())
            && (&self.headers, &self.p0f) == (&other.headers, &other.p0f)
    }
}

impl Eq for Response {}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("version", &self.version)
            .field("status", &self.status)
            .field("reason", &self.reason().escape_ascii().to_string())
            .field("headers", &self.headers)
            .field("p0f", &self.p0f)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_no_part_of_a_name_or_an_address() {
        let rows: [(&[u8], &[u8]); 7] = [
            (b"example.org:8080", b"example.org"),
            (b"example.org:x", b"example.org:x"),
            (b"example.org", b"example.org"),
            (b"192.0.2.1:80", b"192.0.2.1"),
            (b"[2001:db8::1]:80", b"[2001:db8::1]"),
            (b"2001:db8::1", b"2001:db8::1"),
            (b":80", b""),
        ];
        for (text, name) in rows {
            assert_eq!(without_port(text), name, "{}", text.escape_ascii());
        }
    }
}
