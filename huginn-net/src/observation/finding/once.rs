//! Contradictions and imitations as findings.

use std::fmt::{self, Display};

use crate::observation::verdict::Contradiction;

/// A client whose request and TCP handshake name different systems.
///
/// [`Display`] is a sentence: `TCP says Linux, User-Agent says Windows: unexplained (NAT, a proxy or a forgery)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContradictionFinding {
    /// The two statements.
    pub contradiction: Contradiction,
}

/// A client that is not the software that it claims to be.
///
/// [`Display`] is a sentence: `User-Agent says Chromium 131 on Windows; the headers lack Sec-Fetch`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ImitationFinding {
    /// The claim: `User-Agent says Chromium 131 on Windows`, or `TLS imitates Chromium`.
    pub claim: String,
    /// What contradicts it.
    pub contradicts: Vec<String>,
}

impl Display for ContradictionFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.contradiction.fmt(f)
    }
}

impl Display for ImitationFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.claim)?;
        self.contradicts.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}
