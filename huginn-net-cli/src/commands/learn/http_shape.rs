//! The p0f signature of a group of HTTP/1 heads: what they have in common.

use std::fmt::Write;

use huginn_net::http::{Header, HttpSignature, HttpVersion, Role};

/// Maximum number of headers in a signature, as in the syntax of p0f.
const MAX_SHAPE_HEADERS: usize = 32;

/// Maximum length of a header value in a signature, in bytes. p0f prints as many.
const MAX_SHAPE_VALUE_BYTES: usize = 200;

/// Headers that depend on the request or on the content, not on the software.
const OMITTED: &[&str] = &[
    "Authorization",
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Length",
    "Content-Range",
    "Cookie",
    "ETag",
    "Expires",
    "If-Modified-Since",
    "If-None-Match",
    "Last-Modified",
    "Location",
    "Origin",
    "Pragma",
    "Proxy-Authorization",
    "Range",
    "Referer",
    "Refresh",
    "Set-Cookie",
    "Vary",
    "Via",
    "X-Forwarded-For",
];

/// Headers whose value is a setting of the software. Other values may be secrets, and change.
const VALUED: &[&str] = &[
    "Accept",
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Ranges",
    "Connection",
    "Keep-Alive",
    "TE",
    "Upgrade-Insecure-Requests",
];

/// The headers of a head, in order, and what else its signature states.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpShape {
    version: HttpVersion,
    headers: Vec<ShapeHeader>,
    absent: Vec<&'static str>,
    software: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct ShapeHeader {
    name: String,
    /// The value, if all heads have the same.
    value: Option<String>,
}

impl HttpShape {
    pub(super) fn new(signature: &HttpSignature) -> Self {
        let headers = signature.headers().iter().filter_map(|header| {
            let name = std::str::from_utf8(header.name).ok().filter(|name| is_header_name(name))?;
            let is_in = |list: &[&str]| list.iter().any(|other| header.is(other));
            // Type and encoding of a body belong to the request; the type of an answer tells servers apart.
            let is_omitted = is_in(OMITTED) || signature.role() == Role::Request && header.is("Content-Type");
            (!is_omitted).then(|| ShapeHeader {
                name: name.to_owned(),
                value: if is_in(VALUED) { value_of(header) } else { None },
            })
        });
        let headers = headers.take(MAX_SHAPE_HEADERS).collect();
        let software = signature.software().and_then(product);
        Self { version: signature.version(), headers, absent: signature.absent().collect(), software }
    }

    /// The text that all heads of a group share.
    pub(super) fn key(&self) -> String {
        let mut key = format!("{:?}", self.version);
        for header in &self.headers {
            let _ = write!(key, ",{}", header.name);
        }
        for name in &self.absent {
            let _ = write!(key, ",!{name}");
        }
        key
    }

    /// Keeps only what another head with the same key also has.
    pub(super) fn merge(&mut self, other: &Self) {
        for (header, other) in self.headers.iter_mut().zip(&other.headers) {
            if header.value != other.value {
                header.value = None;
            }
        }
        if self.software != other.software {
            self.software = None;
        }
    }

    /// Whether so few headers are required that many programs send them.
    pub(super) fn is_weak(&self) -> bool {
        self.headers.len() < 4
    }

    /// The signature in p0f's syntax.
    pub(super) fn signature(&self) -> String {
        let mut text = String::from(if self.version == HttpVersion::Http10 { "0:" } else { "1:" });
        let mut separator = "";
        for ShapeHeader { name, value } in &self.headers {
            let _ = match value {
                Some(value) => write!(text, "{separator}{name}=[{value}]"),
                None => write!(text, "{separator}{name}"),
            };
            separator = ",";
        }
        let _ = write!(text, ":{}:{}", self.absent.join(","), self.software.as_deref().unwrap_or(""));
        text
    }
}

/// Whether p0f's syntax can express a name.
fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The first part of a value that p0f's syntax can express.
fn value_of(header: Header<'_>) -> Option<String> {
    let value = header.value();
    let value = value.get(..MAX_SHAPE_VALUE_BYTES).unwrap_or(value);
    let value = value.split(|byte| !matches!(byte, 0x20..=0x7e) || *byte == b']').next()?;
    let value = std::str::from_utf8(value).ok()?.trim_end();
    (!value.is_empty()).then(|| value.to_owned())
}

/// The product of a User-Agent or Server header up to its version, such as `curl/`. `None` for a browser, which claims to
/// be several.
fn product(software: &[u8]) -> Option<String> {
    let (name, _) = std::str::from_utf8(software).ok()?.split_once('/')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = !name.is_empty() && name.len() <= MAX_SHAPE_VALUE_BYTES && name.bytes().all(is_plain);
    (is_name && name != "Mozilla").then(|| format!("{name}/"))
}

#[cfg(test)]
mod tests {
    use huginn_net::db::HttpPattern;

    use super::*;

    fn shape(fields: &[(&str, &str)]) -> HttpShape {
        let headers = fields.iter().copied().collect();
        HttpShape::new(&HttpSignature::new(Role::Request, HttpVersion::Http11, headers))
    }

    #[test]
    fn values_that_differ_are_dropped() {
        let mut one =
            shape(&[("Host", "a"), ("User-Agent", "x/1"), ("Accept", "*/*"), ("Connection", "close")]);
        let other =
            shape(&[("Host", "b"), ("User-Agent", "x/2"), ("Accept", "text/html"), ("Connection", "close")]);
        assert_eq!(one.key(), other.key());
        one.merge(&other);
        assert_eq!(
            one.signature(),
            "1:Host,User-Agent,Accept,Connection=[close]:Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:x/"
        );
    }

    #[test]
    fn secrets_and_strange_bytes_are_left_out() {
        let shape = shape(&[
            ("Host", "a"),
            ("X-Key", "secret"),
            ("Cookie", "b"),
            ("Accept", "a]\x01b"),
            ("A b", "c"),
        ]);
        assert!(shape.signature().starts_with("1:Host,X-Key,Accept=[a]:"), "{}", shape.signature());
        assert!(shape.signature().parse::<HttpPattern>().is_ok());
    }

    #[test]
    fn long_heads_stay_within_limits_of_database() {
        let fields: Vec<(String, &str)> = (0..200).map(|number| (format!("X-{number}"), "a")).collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert!(shape(&fields).signature().parse::<HttpPattern>().is_ok());
    }
}
