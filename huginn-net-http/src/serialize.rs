//! `Serialize` for fingerprints, heads and events. Bytes that are not UTF-8 are escaped as [`Escaped`] does.

#[cfg(feature = "packets")]
mod events;

use huginn_net_wire::{Escaped, serialize_as_text};
use serde::{Serialize, Serializer};

use crate::http2::{Akamai, AkamaiHash, PseudoHeaders, Setting, StreamPriority};
use crate::{Header, Headers, HttpSignature, HttpVersion, Request, Response, Role, language};

serialize_as_text!(HttpVersion, Akamai, AkamaiHash, PseudoHeaders, Setting, StreamPriority);

/// Serializes as p0f's text, for a database without header names.
impl Serialize for HttpSignature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.raw_sig(|_| false))
    }
}

/// Serializes as `request` or `response`.
impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Request => "request",
            Self::Response => "response",
        })
    }
}

/// Serializes `name` and `value`.
impl Serialize for Header<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            name: Escaped<'a>,
            value: Escaped<'a>,
        }
        Shape { name: Escaped(self.name), value: Escaped(self.value()) }.serialize(serializer)
    }
}

/// Serializes as a list of [headers](Header).
impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Serializes `version`, `method`, `target`, `host`, `path`, `user_agent`, `language` (the preferred one) and
/// `headers`.
impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            version: HttpVersion,
            method: Escaped<'a>,
            target: Escaped<'a>,
            host: Option<Escaped<'a>>,
            path: Option<Escaped<'a>>,
            user_agent: Option<Escaped<'a>>,
            language: Option<&'a str>,
            headers: &'a Headers,
        }
        Shape {
            version: self.version(),
            method: Escaped(self.method()),
            target: Escaped(self.target()),
            host: self.host().map(Escaped),
            path: self.path().map(Escaped),
            user_agent: self.user_agent().map(Escaped),
            language: self.language().map(|tag| language::name(tag).unwrap_or(tag)),
            headers: self.headers(),
        }
        .serialize(serializer)
    }
}

/// Serializes `version`, `status`, `reason`, `server_header` and `headers`.
impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            version: HttpVersion,
            status: u16,
            reason: Escaped<'a>,
            server_header: Option<Escaped<'a>>,
            headers: &'a Headers,
        }
        Shape {
            version: self.version(),
            status: self.status(),
            reason: Escaped(self.reason()),
            server_header: self.server().map(Escaped),
            headers: self.headers(),
        }
        .serialize(serializer)
    }
}
