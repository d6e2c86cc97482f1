//! The first line of a head: request line or status line.

use super::Probe;
use crate::headers::trim_blanks;
use crate::limits::MAX_METHOD_LEN;
use crate::{HttpVersion, Role};

const VERSION: &[u8] = b"HTTP/1.";

/// The methods that identify a request in midstream (RFC 9110, section 9; RFC 5789; RFC 4918; SOAP; UPnP events).
const METHODS: &[&[u8]] = &[
    b"GET ",
    b"POST ",
    b"HEAD ",
    b"PUT ",
    b"DELETE ",
    b"OPTIONS ",
    b"CONNECT ",
    b"PATCH ",
    b"TRACE ",
    b"PROPFIND ",
    b"PROPPATCH ",
    b"REPORT ",
    b"MKCOL ",
    b"MOVE ",
    b"COPY ",
    b"LOCK ",
    b"UNLOCK ",
    b"SEARCH ",
    b"SUBSCRIBE ",
    b"UNSUBSCRIBE ",
    b"NOTIFY ",
    b"M-POST ",
];

/// Judges whether a head starts with these bytes; the end of the first line need not be present.
pub(crate) fn probe(role: Role, bytes: &[u8]) -> Probe {
    let unsure_if = |condition| if condition { Probe::Unsure } else { Probe::No };
    match role {
        Role::Request => match bytes.iter().take(MAX_METHOD_LEN).position(|&byte| !is_token(byte)) {
            Some(end @ 1..) if bytes.get(end) == Some(&b' ') => Probe::Yes,
            Some(_) => Probe::No,
            None => unsure_if(bytes.len() < MAX_METHOD_LEN),
        },
        Role::Response if bytes.starts_with(VERSION) => Probe::Yes,
        Role::Response => unsure_if(VERSION.starts_with(bytes)),
    }
}

/// Whether a head certainly starts with these bytes, in midstream.
pub(crate) fn begins_head(role: Role, bytes: &[u8]) -> bool {
    match role {
        Role::Request => METHODS.iter().any(|method| bytes.starts_with(method)),
        Role::Response => bytes.starts_with(VERSION),
    }
}

/// The parts of a request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestLine<'a> {
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    pub(crate) version: HttpVersion,
}

impl<'a> RequestLine<'a> {
    /// Parses `method SP target SP HTTP/1.x` with any target. The line end is optional.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let (rest, &[ref version @ .., minor]) = line.trim_ascii_end().split_last_chunk::<8>()?;
        let end = rest.iter().position(|&byte| byte == b' ')?;
        let (method, target) = rest.split_at_checked(end)?;
        let is_method = (1..=MAX_METHOD_LEN).contains(&end) && method.iter().all(|&byte| is_token(byte));
        (version == VERSION && is_method && !trim_blanks(target).is_empty()).then(|| Self {
            method,
            target: trim_blanks(target),
            version: version_from_minor(minor),
        })
    }
}

/// The parts of a status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatusLine<'a> {
    pub(crate) version: HttpVersion,
    /// 0 without three digits.
    pub(crate) status: u16,
    pub(crate) reason: &'a [u8],
}

impl<'a> StatusLine<'a> {
    /// Parses `HTTP/1.x SP status SP reason`. Only the version is required.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let (&minor, rest) = line.strip_prefix(VERSION)?.split_first()?;
        let blank = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        let rest = trim_blanks(rest.get(blank..).unwrap_or_default());
        let (status, reason) = rest.split_at_checked(3).unwrap_or((rest, &[]));
        let status = match status {
            [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => [a, b, c]
                .into_iter()
                .fold(0, |value: u16, digit| value.saturating_mul(10).saturating_add(u16::from(digit & 0xf))),
            _ => 0,
        };
        let reason = if status == 0 { rest } else { trim_blanks(reason) };
        Some(Self { version: version_from_minor(minor), status, reason })
    }
}

/// Whether this is a valid first line.
pub(crate) fn is_first_line(role: Role, line: &[u8]) -> bool {
    match role {
        Role::Request => RequestLine::parse(line).is_some(),
        Role::Response => StatusLine::parse(line).is_some(),
    }
}

/// Returns HTTP/1.1 for minor version 1, and HTTP/1.0 otherwise, as p0f does.
fn version_from_minor(minor: u8) -> HttpVersion {
    if minor == b'1' { HttpVersion::Http11 } else { HttpVersion::Http10 }
}

/// Whether a byte is a token character (RFC 9110, section 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    let is_sign = matches!(
        byte,
        b'!' | b'#'
            | b'$'
            | b'%'
            | b'&'
            | b'\''
            | b'*'
            | b'+'
            | b'-'
            | b'.'
            | b'^'
            | b'_'
            | b'`'
            | b'|'
            | b'~'
    );
    byte.is_ascii_alphanumeric() || is_sign
}
