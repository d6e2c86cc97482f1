//! Message framing: the end of a body (RFC 9112, section 6.3).

use super::chunked::{BodyEnd, Chunked, Malformed};
use super::pending_requests::RequestKind;
use crate::headers::trim_blanks;
use crate::{Header, HeaderName, Headers, HttpVersion, Request, Response};

/// The state of a body; its bytes are not read.
#[derive(Debug)]
pub(super) enum Body {
    /// Remaining bytes.
    Length(u64),
    Chunked(Chunked),
    /// All bytes until the connection closes.
    UntilClose,
}

/// The framing of the bytes after a head.
#[derive(Debug)]
pub(super) enum Framing {
    Body(Body),
    /// Another protocol after an Upgrade (RFC 9110, section 7.8).
    Upgrade,
    /// A CONNECT tunnel (RFC 9110, section 9.3.6).
    Tunnel,
    /// Unknown, because the head contradicts itself.
    Unknown,
}

const NO_BODY: Framing = Framing::Body(Body::Length(0));

impl Framing {
    pub(super) fn from_request(request: &Request) -> Self {
        if request.version() == HttpVersion::Http09 {
            return Self::Body(Body::UntilClose);
        }
        match TransferCoding::last(request.headers()) {
            Some(TransferCoding::Chunked) => Self::Body(Body::Chunked(Chunked::default())),
            // RFC 9112 requires rejection, because the end of the body is unknown.
            Some(TransferCoding::Other) => Self::Unknown,
            None => match content_length(request.headers()) {
                Ok(length) => Self::Body(Body::Length(length.unwrap_or(0))),
                Err(Malformed) => Self::Unknown,
            },
        }
    }

    pub(super) fn from_response(response: &Response, request_kind: RequestKind) -> Self {
        match (response.status(), request_kind) {
            (Some(101), _) => return Self::Upgrade,
            (Some(200..=299), RequestKind::Connect) => return Self::Tunnel,
            (Some(100..=199 | 204 | 304), _) | (_, RequestKind::Head) => return NO_BODY,
            _ => {}
        }
        match TransferCoding::last(response.headers()) {
            Some(TransferCoding::Chunked) => Self::Body(Body::Chunked(Chunked::default())),
            Some(TransferCoding::Other) => Self::Body(Body::UntilClose),
            None => match content_length(response.headers()) {
                Ok(Some(length)) => Self::Body(Body::Length(length)),
                Ok(None) => Self::Body(Body::UntilClose),
                Err(Malformed) => Self::Unknown,
            },
        }
    }
}

impl Body {
    /// Skips the next bytes and returns the end of the body, if reached.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<BodyEnd>, Malformed> {
        match self {
            Self::Length(remaining) => {
                let here = usize::try_from(*remaining).unwrap_or(usize::MAX).min(bytes.len());
                *remaining = remaining.saturating_sub(here as u64);
                Ok((*remaining == 0).then_some(BodyEnd { taken: here, after_cr: false }))
            }
            Self::Chunked(chunked) => chunked.push(bytes),
            Self::UntilClose => Ok(None),
        }
    }

    /// Remaining bytes of the body or chunk; 0 outside of its data.
    #[inline]
    #[cfg(feature = "packets")]
    pub(super) fn remaining(&self) -> u64 {
        match self {
            Self::Length(remaining) => *remaining,
            Self::Chunked(chunked) => chunked.remaining(),
            Self::UntilClose => u64::MAX,
        }
    }

    /// Skips missing bytes. Fails if more than the body is missing.
    pub(super) fn skip(&mut self, missing: u64) -> Result<(), Malformed> {
        match self {
            Self::Length(remaining) => {
                *remaining = remaining.checked_sub(missing).ok_or(Malformed)?;
                Ok(())
            }
            Self::Chunked(chunked) => chunked.skip(missing),
            Self::UntilClose => Ok(()),
        }
    }
}

/// The final transfer coding of a message.
#[derive(Clone, Copy)]
enum TransferCoding {
    Chunked,
    Other,
}

impl TransferCoding {
    /// The final coding of a message, if any. Empty list elements and `identity` (RFC 2616, section 3.6) are ignored.
    fn last(headers: &Headers) -> Option<Self> {
        let values = headers.named(HeaderName::TransferEncoding).map(Header::value);
        let codings = values.flat_map(|value| value.split(|&byte| byte == b','));
        let last = codings
            .map(trim_blanks)
            .rfind(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))?;
        Some(if last.eq_ignore_ascii_case(b"chunked") { Self::Chunked } else { Self::Other })
    }
}

/// The Content-Length; repeated values must be equal (RFC 9110, section 8.6).
fn content_length(headers: &Headers) -> Result<Option<u64>, Malformed> {
    let mut length = None;
    let values = headers.named(HeaderName::ContentLength).map(Header::value);
    for value in values.flat_map(|value| value.split(|&byte| byte == b',')) {
        let number = decimal(trim_blanks(value)).ok_or(Malformed)?;
        if length.is_some_and(|length| length != number) {
            return Err(Malformed);
        }
        length = Some(number);
    }
    Ok(length)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let add = |value: u64, &digit: &u8| {
        let digit = digit.is_ascii_digit().then_some(digit & 0xf)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}
