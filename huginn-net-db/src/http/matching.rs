//! Matches of HTTP signatures.

use std::fmt;
use std::sync::Arc;

use huginn_net_http::{HttpSignature, Role};
use memchr::memmem;

use super::claim::{Products, SoftwareClaim, SoftwareName};
use super::pattern::HttpPattern;
use crate::{Entry, Label};

/// The result of a database lookup for a request or response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpMatch {
    /// The label of the sender.
    pub label: Arc<Label>,
    /// What the User-Agent or Server header says about the matched software.
    pub claim: SoftwareClaim,
    /// Whether the header lacks the text that the signature expects. p0f calls every such head dishonest.
    pub lacks_expected: bool,
    /// Whether a dishonest head has the headers of the signature and no others, except those that describe what is
    /// requested or sent: Content-Length, Content-Type, Cookie and Referer. False for other heads.
    pub is_exact: bool,
    /// The line of the signature, counted from 1.
    pub line: u32,
}

impl HttpMatch {
    /// The match of a signature. `None` if the header names software that the database cannot judge.
    pub(super) fn new(
        entry: &Entry<HttpPattern>,
        signature: &HttpSignature,
        products: &Products,
    ) -> Option<Self> {
        let found = Self::as_p0f(entry, signature);
        let Some(header) = signature.software().filter(|_| found.lacks_expected) else { return Some(found) };
        let claim = products.compare(entry, header, signature)?;
        let is_exact = claim == SoftwareClaim::Dishonest && has_no_others(&entry.pattern, signature);
        Some(Self { claim, is_exact, ..found })
    }

    /// The match of a signature as p0f has it, without a comparison of the header with other software.
    pub(super) fn as_p0f(entry: &Entry<HttpPattern>, signature: &HttpSignature) -> Self {
        let expected = entry.pattern.software.as_deref().zip(signature.software());
        Self {
            label: entry.label.clone(),
            claim: SoftwareClaim::Agrees,
            lacks_expected: expected
                .is_some_and(|(expected, header)| !occurs_in(expected.as_bytes(), header)),
            is_exact: false,
            line: entry.line,
        }
    }

    /// The name and version of the software, with a remark if the header of this kind of head disagrees, or the label is generic.
    pub fn name(&self, role: Role) -> SoftwareName<&Label> {
        self.named(&self.label, role)
    }

    /// A name of the software with the remarks of this match.
    pub fn named<T>(&self, name: T, role: Role) -> SoftwareName<T> {
        SoftwareName { name, claim: self.claim, role, generic: self.label.generic }
    }
}

/// Whether a head has only headers of a signature, and those that describe what is requested or sent.
fn has_no_others(pattern: &HttpPattern, signature: &HttpSignature) -> bool {
    const CONTENT: [&[u8]; 4] = [b"content-length", b"content-type", b"cookie", b"referer"];
    signature.headers().iter().all(|header| {
        pattern.headers.iter().any(|known| known.name.as_bytes() == header.name)
            || CONTENT.iter().any(|name| header.name.eq_ignore_ascii_case(name))
    })
}

/// Whether a value contains a text; most values start with it.
pub(crate) fn occurs_in(part: &[u8], value: &[u8]) -> bool {
    value.starts_with(part) || memmem::find(value, part).is_some()
}

/// The remarks on a request or response and its match.
///
/// [`Display`](fmt::Display) writes words separated by blanks, or `none`, as in the `params` of p0f.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HttpParams {
    /// `dishonest` or `custom`: the User-Agent or Server header is not that of the matched software.
    pub claim: SoftwareClaim,
    /// `anonymous`: no User-Agent or Server header.
    pub anonymous: bool,
    /// `generic`: the label is generic (type `g`).
    pub generic: bool,
    /// `repeated_pseudo_headers`: a pseudo-header field of HTTP/2 or HTTP/3 occurs twice, and the first one counts.
    pub repeats_pseudo_headers: bool,
}

impl HttpParams {
    /// Computes the parameters from a signature and its match.
    pub fn from_signature(signature: &HttpSignature, found: Option<&HttpMatch>) -> Self {
        Self {
            claim: found.map(|found| found.claim).unwrap_or_default(),
            anonymous: signature.software().is_none(),
            generic: found.is_some_and(|found| found.label.generic),
            repeats_pseudo_headers: false,
        }
    }

    /// Computes the parameters that p0f prints: without the expected text, every header is dishonest.
    pub fn as_p0f(signature: &HttpSignature, found: Option<&HttpMatch>) -> Self {
        let is_dishonest = found.is_some_and(|found| found.lacks_expected);
        let claim = if is_dishonest { SoftwareClaim::Dishonest } else { SoftwareClaim::Agrees };
        Self { claim, ..Self::from_signature(signature, found) }
    }
}

impl fmt::Display for HttpParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            (self.claim == SoftwareClaim::Dishonest, "dishonest"),
            (self.claim == SoftwareClaim::Custom, "custom"),
            (self.anonymous, "anonymous"),
            (self.generic, "generic"),
            (self.repeats_pseudo_headers, "repeated_pseudo_headers"),
        ];
        let mut separator = "";
        for (_, word) in words.iter().filter(|(holds, _)| *holds) {
            write!(f, "{separator}{word}")?;
            separator = " ";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}
