//! What an HTTP signature is found to be.

use std::fmt;
use std::sync::Arc;

use huginn_net_http::HttpSignature;
use memchr::memmem;

use crate::{Entry, HttpPattern, Label};

/// What a database says of a request or response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpMatch {
    /// What sent it.
    pub label: Arc<Label>,
    /// Whether its User-Agent or Server is not what such software says that it is. Where there is none, nothing is
    /// claimed.
    pub dishonest: bool,
    /// The line of the signature, counted from 1.
    pub line: u32,
}

impl HttpMatch {
    pub(crate) fn new(entry: &Entry<HttpPattern>, signature: &HttpSignature) -> Self {
        let expected = entry.pattern.software.as_deref();
        let dishonest = expected
            .zip(signature.software())
            .is_some_and(|(expected, software)| !occurs_in(expected.as_bytes(), software));
        Self { label: entry.label.clone(), dishonest, line: entry.line }
    }
}

/// Whether a part occurs in a value; most begin with it.
pub(crate) fn occurs_in(part: &[u8], value: &[u8]) -> bool {
    value.starts_with(part) || memmem::find(value, part).is_some()
}

/// What p0f prints as `params` of a request or response.
///
/// [`Display`](fmt::Display) is p0f's text: words separated by blanks, `none` without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpParams {
    /// `dishonest`: the software claims to be other than it is; see [`HttpMatch::dishonest`].
    pub dishonest: bool,
    /// `anonymous`: there is no User-Agent, or no Server.
    pub anonymous: bool,
    /// `generic`: the label is a last resort.
    pub generic: bool,
}

impl HttpParams {
    /// The parameters of a signature and of what the database says of it.
    pub fn of(signature: &HttpSignature, found: Option<&HttpMatch>) -> Self {
        Self {
            dishonest: found.is_some_and(|found| found.dishonest),
            anonymous: signature.software().is_none(),
            generic: found.is_some_and(|found| found.label.generic),
        }
    }
}

impl fmt::Display for HttpParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.dishonest, "dishonest"), (self.anonymous, "anonymous"), (self.generic, "generic")];
        let mut separator = "";
        for (_, word) in words.iter().filter(|(holds, _)| *holds) {
            write!(f, "{separator}{word}")?;
            separator = " ";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}
