//! The first line of a head: request line or status line.

use super::Probe;
use crate::headers::trim_blanks;
use crate::limits::MAX_METHOD_LEN;
use crate::message::status_code;
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
    probe_more(role, &[], bytes)
}

/// Judges whether a head starts with these bytes, of which those `before` a piece gave [`Probe::Unsure`].
pub(crate) fn probe_more(role: Role, before: &[u8], piece: &[u8]) -> Probe {
    let unsure_if = |condition| if condition { Probe::Unsure } else { Probe::No };
    match role {
        Role::Request => {
            let len = before.len();
            match piece.iter().take(MAX_METHOD_LEN.saturating_sub(len)).position(|&byte| !is_token(byte)) {
                Some(end) if piece.get(end) == Some(&b' ') && (end, len) != (0, 0) => Probe::Yes,
                Some(_) => Probe::No,
                None => unsure_if(len.saturating_add(piece.len()) < MAX_METHOD_LEN),
            }
        }
        Role::Response => {
            let start = || before.iter().chain(piece).take(VERSION.len());
            match start().zip(VERSION).all(|(byte, wanted)| byte == wanted) {
                true if start().count() == VERSION.len() => Probe::Yes,
                is_prefix => unsure_if(is_prefix),
            }
        }
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
    /// The version that p0f prints.
    pub(crate) p0f_version: HttpVersion,
}

impl<'a> RequestLine<'a> {
    /// Parses `method SP target SP HTTP/1.x` with any target, or the `GET SP path` of HTTP/0.9. The line end is
    /// optional.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.trim_ascii_end();
        let Some((rest, minor)) = split_version(line) else { return Self::parse_http09(line) };
        let (method, target) = split_method(rest)?;
        let (version, p0f_version) = versions(minor);
        (!trim_blanks(target).is_empty()).then(|| Self {
            method,
            target: trim_blanks(target),
            version,
            p0f_version,
        })
    }

    /// Parses the request line of HTTP/0.9, which has no version. Its target must be a path or a URI, so that lines of
    /// other protocols are not taken for it.
    fn parse_http09(line: &'a [u8]) -> Option<Self> {
        let (method, target) = split_method(line).filter(|(method, _)| *method == b"GET")?;
        let target = trim_blanks(target);
        let is_target = target.starts_with(b"/") || target.starts_with(b"http://");
        (is_target && target.iter().all(|byte| *byte > b' ')).then_some(Self {
            method,
            target,
            version: HttpVersion::Http09,
            p0f_version: HttpVersion::Http09,
        })
    }

    /// Whether a line names HTTP as its protocol, but cannot be parsed: another version, or malformed.
    pub(crate) fn is_unreadable_http(line: &'a [u8]) -> bool {
        let named = || memchr::memmem::find(line, b" HTTP/").is_some();
        probe(Role::Request, line) == Probe::Yes && named() && Self::parse(line).is_none()
    }
}

/// Splits off the version of a request line, and returns its minor number: up to three digits, as nginx accepts it, or
/// any byte, as p0f does.
fn split_version(line: &[u8]) -> Option<(&[u8], &[u8])> {
    (1..=3).find_map(|digits| {
        let (rest, version) =
            line.split_at_checked(line.len().checked_sub(VERSION.len().checked_add(digits)?)?)?;
        let minor = version.strip_prefix(VERSION)?;
        (digits == 1 || minor.iter().all(u8::is_ascii_digit)).then_some((rest, minor))
    })
}

fn split_method(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|&byte| byte == b' ')?;
    let (method, target) = line.split_at_checked(end)?;
    let is_method = (1..=MAX_METHOD_LEN).contains(&end) && method.iter().all(|&byte| is_token(byte));
    is_method.then_some((method, target))
}

/// The parts of a status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatusLine<'a> {
    pub(crate) version: HttpVersion,
    /// The version that p0f prints.
    pub(crate) p0f_version: HttpVersion,
    pub(crate) status: Option<u16>,
    pub(crate) reason: &'a [u8],
}

impl<'a> StatusLine<'a> {
    /// Parses `HTTP/1.x SP status SP reason`. Only the version is required.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let rest = line.strip_prefix(VERSION)?;
        rest.first()?;
        let digits = rest.iter().take(3).take_while(|digit| digit.is_ascii_digit()).count();
        let (version, p0f_version) = versions(rest.get(..digits.max(1)).unwrap_or_default());
        let blank = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        let rest = trim_blanks(rest.get(blank..).unwrap_or_default());
        let (status, reason) = rest.split_at_checked(3).unwrap_or((rest, &[]));
        let status = status_code(status).filter(|_| !reason.first().is_some_and(u8::is_ascii_digit));
        let reason = if status.is_none() { rest } else { trim_blanks(reason) };
        Some(Self { version, p0f_version, status, reason })
    }
}

/// Whether this is a valid first line.
pub(crate) fn is_first_line(role: Role, line: &[u8]) -> bool {
    match role {
        Role::Request => RequestLine::parse(line).is_some(),
        Role::Response => StatusLine::parse(line).is_some(),
    }
}

/// The version with this minor number, and the one that p0f prints. A higher minor version is HTTP/1.1 (RFC 9110,
/// section 2.5); p0f looks at one digit, and prints HTTP/1.0 unless it is 1.
fn versions(minor: &[u8]) -> (HttpVersion, HttpVersion) {
    let version = |is_11| if is_11 { HttpVersion::Http11 } else { HttpVersion::Http10 };
    (version(minor.iter().any(|digit| matches!(digit, b'1'..=b'9'))), version(minor.first() == Some(&b'1')))
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
