//! The heads of requests and responses, of all versions of HTTP.

use std::fmt;
use std::sync::Arc;

use crate::headers::Headers;
use crate::language;

/// Which half of an exchange a head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// What a client sends.
    Request,
    /// What a server sends.
    Response,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HttpVersion {
    /// HTTP/1.0 (RFC 1945), and what calls itself HTTP/1 of another minor version than 1.
    Http10,
    /// HTTP/1.1 (RFC 9112).
    Http11,
    /// HTTP/2 (RFC 9113).
    Http2,
}

impl fmt::Display for HttpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http10 => "1.0",
            Self::Http11 => "1.1",
            Self::Http2 => "2",
        })
    }
}

/// The head of a request. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    version: HttpVersion,
    method: Box<[u8]>,
    target: Box<[u8]>,
    /// Its path, where that does not stand in the target: an empty path before a query.
    path: Option<Box<[u8]>>,
    authority: Option<Box<[u8]>>,
    headers: Arc<Headers>,
    p0f: Option<Arc<Headers>>,
}

impl Request {
    /// A request for this target: of HTTP/1 as its request line has it (RFC 9112, section 3.2), of HTTP/2 its `:path`.
    pub fn new(version: HttpVersion, method: &[u8], target: &[u8], headers: Headers) -> Self {
        Self::from_parts(version, method.into(), target.into(), Arc::new(headers), None)
    }

    pub(crate) fn from_parts(
        version: HttpVersion,
        method: Box<[u8]>,
        target: Box<[u8]>,
        headers: Arc<Headers>,
        p0f: Option<Arc<Headers>>,
    ) -> Self {
        let path = match absolute(&target) {
            Some((_, query @ [b'?', ..])) => Some([b"/", query].concat().into()),
            _ => None,
        };
        Self { version, method, target, path, authority: None, headers, p0f }
    }

    /// The same request with an `:authority` (RFC 9113, section 8.3.1).
    pub fn with_authority(mut self, authority: &[u8]) -> Self {
        self.authority = Some(authority.into());
        self
    }

    /// Its version of HTTP.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Its method; case counts.
    pub fn method(&self) -> &[u8] {
        &self.method
    }

    /// What is asked for, as the request has it: a path and query, a whole URI, an authority or `*`.
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// Path and query of its target; `None` if that is an authority, as that of CONNECT is. In HTTP/2 a CONNECT may have
    /// a path too (RFC 8441, section 4).
    pub fn path(&self) -> Option<&[u8]> {
        match &*self.target {
            [] => None,
            _ if self.asks_authority() => None,
            target => match absolute(target) {
                Some((_, [])) => Some(b"/"),
                Some((_, path)) => Some(self.path.as_deref().unwrap_or(path)),
                None => Some(target),
            },
        }
    }

    /// Whether its target is an authority.
    fn asks_authority(&self) -> bool {
        *self.method == *b"CONNECT" && self.version != HttpVersion::Http2
    }

    /// Whom it is for, the port where it was given: the authority of its target, else its Host (RFC 9112, section 3.2.2).
    pub fn host(&self) -> Option<&[u8]> {
        if let Some(authority) = &self.authority {
            return Some(authority);
        }
        if self.asks_authority() && !self.target.is_empty() {
            return Some(&self.target);
        }
        match absolute(&self.target) {
            Some((authority, _)) => Some(authority),
            None => self.header("Host"),
        }
    }

    /// Its header fields.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    pub(crate) fn shared_headers(&self) -> Arc<Headers> {
        Arc::clone(&self.headers)
    }

    /// The value of its first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.value(name)
    }

    /// What software it says that it comes from.
    pub fn user_agent(&self) -> Option<&[u8]> {
        self.header("User-Agent")
    }

    /// The language that it likes best, as a tag; see [`language::preferred`].
    pub fn language(&self) -> Option<&str> {
        self.header("Accept-Language").and_then(language::preferred)
    }

    /// The headers that p0f 3.09b reads, if it reads this head: if it is the first of its direction, from its first byte,
    /// within p0f's limits, and whole before the server says anything.
    pub(crate) fn seen_by_p0f(&self) -> Option<Arc<Headers>> {
        self.p0f.clone()
    }
}

/// Authority, and path and query, of a URI `scheme://[user@]authority/path?query#fragment` (RFC 3986, section 3).
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    version: HttpVersion,
    status: u16,
    reason: Box<[u8]>,
    headers: Arc<Headers>,
    p0f: Option<Arc<Headers>>,
}

impl Response {
    /// A response; of HTTP/2 without a reason phrase.
    pub fn new(version: HttpVersion, status: u16, reason: &[u8], headers: Headers) -> Self {
        Self::from_parts(version, status, reason.into(), Arc::new(headers), None)
    }

    pub(crate) fn from_parts(
        version: HttpVersion,
        status: u16,
        reason: Box<[u8]>,
        headers: Arc<Headers>,
        p0f: Option<Arc<Headers>>,
    ) -> Self {
        Self { version, status, reason, headers, p0f }
    }

    /// Its version of HTTP.
    pub fn version(&self) -> HttpVersion {
        self.version
    }

    /// Its status code (RFC 9110, section 15); 0 if it has none of three digits.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its reason phrase.
    pub fn reason(&self) -> &[u8] {
        &self.reason
    }

    /// Its header fields.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    pub(crate) fn shared_headers(&self) -> Arc<Headers> {
        Arc::clone(&self.headers)
    }

    /// The value of its first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.value(name)
    }

    /// What software it says that it comes from.
    pub fn server(&self) -> Option<&[u8]> {
        self.header("Server")
    }

    /// The headers that p0f 3.09b reads, if it reads this head: if it is the first of its direction behind a request that
    /// p0f read, from its first byte, and within p0f's limits.
    pub(crate) fn seen_by_p0f(&self) -> Option<Arc<Headers>> {
        self.p0f.clone()
    }
}
