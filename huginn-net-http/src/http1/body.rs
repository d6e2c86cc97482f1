//! How a message goes on behind its head (RFC 9112, section 6.3).

use super::awaited::Asked;
use super::chunked::{Chunked, End, Malformed};
use crate::headers::trim_blanks;
use crate::{Header, HeaderName, Headers, Request, Response};

/// The body of a message; its bytes are not kept and not looked at.
#[derive(Debug)]
pub(super) enum Body {
    /// As many bytes as these.
    Length(u64),
    Chunked(Chunked),
    /// All that comes until the connection ends.
    UntilClose,
}

/// What follows a head.
#[derive(Debug)]
pub(super) enum After {
    Body(Body),
    /// What another protocol says (RFC 9110, section 7.8): that of the Upgrade.
    Upgrade,
    /// What goes through a tunnel (RFC 9110, section 9.3.6).
    Tunnel,
    /// What its head contradicts itself about.
    Unknown,
}

const NOTHING: After = After::Body(Body::Length(0));

impl After {
    pub(super) fn request(request: &Request) -> Self {
        match Coding::last(request.headers()) {
            Some(Coding::Chunked) => Self::Body(Body::Chunked(Chunked::default())),
            // RFC 9112 has it refused: where the body would end is not known.
            Some(Coding::Other) => Self::Unknown,
            None => match content_length(request.headers()) {
                Ok(length) => Self::Body(Body::Length(length.unwrap_or(0))),
                Err(Malformed) => Self::Unknown,
            },
        }
    }

    pub(super) fn response(response: &Response, asked: Asked) -> Self {
        match (response.status(), asked) {
            (101, _) => return Self::Upgrade,
            (200..=299, Asked::Connect) => return Self::Tunnel,
            (100..=199 | 204 | 304, _) | (_, Asked::Head) => return NOTHING,
            _ => {}
        }
        match Coding::last(response.headers()) {
            Some(Coding::Chunked) => Self::Body(Body::Chunked(Chunked::default())),
            Some(Coding::Other) => Self::Body(Body::UntilClose),
            None => match content_length(response.headers()) {
                Ok(Some(length)) => Self::Body(Body::Length(length)),
                Ok(None) => Self::Body(Body::UntilClose),
                Err(Malformed) => Self::Unknown,
            },
        }
    }
}

impl Body {
    /// Takes the next bytes and tells where the body ends, if it does.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<End>, Malformed> {
        match self {
            Self::Length(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left = left.saturating_sub(here as u64);
                Ok((*left == 0).then_some(End { taken: here, after_cr: false }))
            }
            Self::Chunked(chunked) => chunked.push(bytes),
            Self::UntilClose => Ok(None),
        }
    }

    /// The bytes left of it or of its chunk; 0 if the next byte is none of those.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunked(chunked) => chunked.left(),
            Self::UntilClose => u64::MAX,
        }
    }

    /// Passes over bytes that are missing, if nothing but body is missing with them.
    pub(super) fn skip(&mut self, missing: u64) -> Result<(), Malformed> {
        match self {
            Self::Length(left) => {
                *left = left.checked_sub(missing).ok_or(Malformed)?;
                Ok(())
            }
            Self::Chunked(chunked) => chunked.skip(missing),
            Self::UntilClose => Ok(()),
        }
    }
}

/// What a transfer coding tells about the end of a body.
#[derive(Clone, Copy)]
enum Coding {
    Chunked,
    Other,
}

impl Coding {
    /// The last one of a message, if there is one. Elements of the list that are empty or `identity` (RFC 2616,
    /// section 3.6) are none.
    fn last(headers: &Headers) -> Option<Self> {
        let values = headers.named(HeaderName::TransferEncoding).map(Header::value);
        let codings = values.flat_map(|value| value.split(|&byte| byte == b','));
        let last = codings
            .map(trim_blanks)
            .rfind(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))?;
        Some(if last.eq_ignore_ascii_case(b"chunked") { Self::Chunked } else { Self::Other })
    }
}

/// The length of the body: one number, however often it is given (RFC 9110, section 8.6).
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
