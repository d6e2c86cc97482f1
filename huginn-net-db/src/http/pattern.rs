//! HTTP signatures of a database.

use huginn_net_wire::{Joined, quoted};
use std::fmt;
use std::str::FromStr;

use huginn_net_http::HttpVersion;

use crate::DatabaseError;
use crate::Fault;
use crate::limits::MAX_PATTERN_HEADERS;
use crate::syntax::{Part, SyntaxError};

/// An HTTP signature of a database, which may contain wildcards.
///
/// [`Display`](fmt::Display) and [`FromStr`] use the syntax of p0f's README, section 5: `ver:horder:habsent:expsw`.
///
/// ```
/// use huginn_net_db::HttpPattern;
/// use huginn_net_http::HttpVersion;
///
/// let text = "1:Host,Connection=[keep-alive],?Referer:Keep-Alive:Chrom";
/// let pattern: HttpPattern = text.parse()?;
/// assert_eq!(pattern.version, Some(HttpVersion::Http11));
/// assert!(pattern.headers[2].optional);
/// assert_eq!(pattern.to_string(), text);
/// # Ok::<(), huginn_net_db::DatabaseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpPattern {
    /// HTTP/1.0 (written `0`) or HTTP/1.1 (`1`); `None` for both (`*`). HTTP/2 has no signatures.
    pub version: Option<HttpVersion>,
    /// Required headers in this order; others may be between them.
    pub headers: Vec<HeaderPattern>,
    /// Forbidden headers.
    pub absent: Vec<Box<str>>,
    /// A text that the User-Agent or Server header should contain; `None` without expectation.
    pub software: Option<Box<str>>,
}

/// One header of an [`HttpPattern`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeaderPattern {
    /// Name, case-sensitive.
    pub name: Box<str>,
    /// Text that the value must contain; `None` for any value.
    pub value: Option<Box<str>>,
    /// Whether the header may be missing (written `?Name`); it must not occur at another position.
    pub optional: bool,
}

impl FromStr for HttpPattern {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Self, DatabaseError> {
        Self::parse(Part::line(text)).map_err(|error| error.in_line(1, text))
    }
}

impl HttpPattern {
    pub(crate) fn parse(text: Part<'_>) -> Result<Self, SyntaxError> {
        let too_few = |found| text.error(Fault::HttpFieldCount { found });
        let (version, rest) = text.split_once(':').ok_or_else(|| too_few(1))?;
        let version = match version.text {
            "0" => Some(HttpVersion::Http10),
            "1" => Some(HttpVersion::Http11),
            "*" => None,
            other => return Err(version.error(Fault::HttpVersion { value: quoted(other) })),
        };
        let (headers, rest) = parse_headers(rest)?;
        let rest = rest.ok_or_else(|| too_few(2))?;
        let (absent, software) = rest.split_once(':').ok_or_else(|| too_few(3))?;
        let absent = parse_absent(absent)?;
        let more = software.split(':').count();
        if more > 1 {
            return Err(too_few(more.saturating_add(3)));
        }
        let software = Some(software.text).filter(|software| !software.is_empty()).map(Into::into);
        Ok(Self { version, headers, absent, software })
    }
}

/// Parses headers up to the next colon and returns the rest; a value in brackets may contain commas and colons.
fn parse_headers(mut rest: Part<'_>) -> Result<(Vec<HeaderPattern>, Option<Part<'_>>), SyntaxError> {
    let mut headers = Vec::new();
    if let Some(after) = rest.strip_prefix(":") {
        return Ok((headers, Some(after)));
    }
    loop {
        let (header, after) = parse_header(rest)?;
        if headers.len() == MAX_PATTERN_HEADERS {
            return Err(rest.error(Fault::TooManyHeaders { max: MAX_PATTERN_HEADERS }));
        }
        headers.push(header);
        match after.strip_prefix(",") {
            Some(next) => rest = next,
            None if after.text.is_empty() => return Ok((headers, None)),
            None => return Ok((headers, Some(after.strip_prefix(":").ok_or_else(|| bad_name(rest))?))),
        }
    }
}

/// Parses `Name`, `?Name`, `Name=[value]` or `?Name=[value]` and returns the rest.
fn parse_header(text: Part<'_>) -> Result<(HeaderPattern, Part<'_>), SyntaxError> {
    let optional = text.strip_prefix("?");
    let (name, rest) = optional.unwrap_or(text).take_while(is_header_character);
    if name.text.is_empty() {
        return Err(bad_name(text));
    }
    let (value, rest) = match rest.strip_prefix("=") {
        Some(value) => value.bracketed().map(|(value, rest)| (Some(value.text.into()), rest))?,
        None => (None, rest),
    };
    Ok((HeaderPattern { name: name.text.into(), value, optional: optional.is_some() }, rest))
}

fn parse_absent(text: Part<'_>) -> Result<Vec<Box<str>>, SyntaxError> {
    if text.text.is_empty() {
        return Ok(Vec::new());
    }
    let names = text.split(',').enumerate().map(|(index, name)| {
        if index == MAX_PATTERN_HEADERS {
            return Err(name.error(Fault::TooManyHeaders { max: MAX_PATTERN_HEADERS }));
        }
        if name.text.is_empty() || !name.text.chars().all(is_header_character) {
            return Err(bad_name(name));
        }
        Ok(name.text.into())
    });
    names.collect()
}

fn is_header_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn bad_name(text: Part<'_>) -> SyntaxError {
    let (name, _) = text.take_while(|c| c != ',' && c != ':');
    text.error(Fault::HeaderName { name: quoted(name.text) })
}

impl fmt::Display for HttpPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.version {
            Some(HttpVersion::Http10) => "0:",
            Some(_) => "1:",
            None => "*:",
        })?;
        let software = self.software.as_deref().unwrap_or("");
        write!(f, "{}:{}:{software}", Joined(&self.headers, ","), self.absent.join(","))
    }
}

impl fmt::Display for HeaderPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.optional { "?" } else { "" }, self.name)?;
        match &self.value {
            Some(value) => write!(f, "=[{value}]"),
            None => Ok(()),
        }
    }
}
