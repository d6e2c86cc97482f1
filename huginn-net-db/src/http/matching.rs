//! Matches of HTTP signatures.

use std::fmt;
use std::sync::Arc;

use huginn_net_http::HttpSignature;
use memchr::memmem;

use super::pattern::HttpPattern;
use crate::{Entry, Label};

/// The result of a database lookup for a request or response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpMatch {
    /// The label of the sender.
    pub label: Arc<Label>,
    /// Whether the User-Agent or Server header contradicts the matched software. False without such a header.
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

/// Whether a value contains a text; most values start with it.
pub(crate) fn occurs_in(part: &[u8], value: &[u8]) -> bool {
    value.starts_with(part) || memmem::find(value, part).is_some()
}

/// The `params` that p0f prints of a request or response.
///
/// [`Display`](fmt::Display) writes p0f's text: words separated by blanks, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpParams {
    /// `dishonest`: the software claims to be different software; see [`HttpMatch::dishonest`].
    pub dishonest: bool,
    /// `anonymous`: no User-Agent or Server header.
    pub anonymous: bool,
    /// `generic`: the label is generic (type `g`).
    pub generic: bool,
}

impl HttpParams {
    /// Computes the parameters from a signature and its match.
    pub fn from_signature(signature: &HttpSignature, found: Option<&HttpMatch>) -> Self {
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
