//! What a TCP signature turned out to be.

use std::fmt;
use std::sync::Arc;

use huginn_net_tcp::{MAX_DISTANCE, Quirks, TcpSignature};

use crate::{Entry, Label, TcpPattern, TtlPattern};

/// What the database says of a TCP signature. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpMatch {
    /// What it is.
    pub label: Arc<Label>,
    /// Whether the packet differs from the signature in ways that the network may cause: its TTL, and quirks that
    /// a middlebox or congestion notification takes away or adds.
    pub fuzzy: bool,
    /// How far away the sender is.
    pub distance: Distance,
    /// The line of the signature in its file.
    pub line: u32,
}

/// Hops between a sender and here.
///
/// [`Display`](fmt::Display) is p0f's: `4`, or `<= 4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Distance {
    /// How many.
    pub hops: u8,
    /// Whether that is only the most that it can be, because the system draws its initial TTL by lot.
    pub at_most: bool,
}

impl Distance {
    /// The distance of a sender that nothing is known of.
    pub fn guess(signature: &TcpSignature) -> Self {
        Self { hops: signature.distance(), at_most: false }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.at_most { "<= " } else { "" }, self.hops)
    }
}

/// What p0f prints as `params` of a TCP signature.
///
/// [`Display`](fmt::Display) is p0f's: words joined by blanks, `none` without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TcpParams {
    /// `generic`: the label is a last resort.
    pub generic: bool,
    /// `fuzzy`: the match is.
    pub fuzzy: bool,
    /// `random_ttl`: the system draws its initial TTL by lot.
    pub random_ttl: bool,
    /// `excess_dist`: farther than [`MAX_DISTANCE`], which is hardly true.
    pub excess_distance: bool,
    /// `tos:0xNN`: the differentiated services code point, where it is not 0.
    pub dscp: u8,
}

impl TcpParams {
    /// The parameters of a signature and of what the database says of it.
    pub fn of(signature: &TcpSignature, found: Option<&TcpMatch>) -> Self {
        let distance = found.map_or_else(|| Distance::guess(signature), |found| found.distance);
        Self {
            generic: found.is_some_and(|found| found.label.generic),
            fuzzy: found.is_some_and(|found| found.fuzzy),
            random_ttl: distance.at_most,
            excess_distance: distance.hops > MAX_DISTANCE,
            dscp: signature.dscp(),
        }
    }
}

impl fmt::Display for TcpParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            (self.generic, "generic"),
            (self.fuzzy, "fuzzy"),
            (self.random_ttl, "random_ttl"),
            (self.excess_distance, "excess_dist"),
        ];
        let mut separator = "";
        for (_, word) in words.iter().filter(|(holds, _)| *holds) {
            write!(f, "{separator}{word}")?;
            separator = " ";
        }
        match (self.dscp, separator) {
            (0, "") => f.write_str("none"),
            (0, _) => Ok(()),
            (dscp, _) => write!(f, "{separator}tos:{dscp:#04x}"),
        }
    }
}

/// How well a packet fits a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Exact,
    Fuzzy,
}

/// Quirks that may be gone on the way: middleboxes clear "don't fragment" and renumber.
const MAY_BE_GONE: Quirks = Quirks::DF.union(Quirks::ID_NONZERO);
/// Quirks that may come on the way.
const MAY_BE_ADDED: Quirks = Quirks::ID_ZERO.union(Quirks::ECN);
/// Quirks that must be the same whatever the IP versions, since no rule lets them differ.
pub(crate) const RIGID: Quirks =
    Quirks::all().difference(MAY_BE_GONE.union(MAY_BE_ADDED).union(Quirks::FLOW_LABEL));

/// How well the quirks of a packet fit those that are wanted.
#[inline]
pub(crate) fn fit_of_quirks(wanted: Quirks, quirks: Quirks) -> Option<Fit> {
    if wanted == quirks {
        return Some(Fit::Exact);
    }
    let gone = wanted.difference(quirks);
    let added = quirks.difference(wanted);
    (MAY_BE_GONE.contains(gone) && MAY_BE_ADDED.contains(added)).then_some(Fit::Fuzzy)
}

impl TtlPattern {
    pub(crate) fn fit(self, ttl: u8) -> Option<Fit> {
        match (self.initial.checked_sub(ttl), self.random) {
            (Some(_), true) => Some(Fit::Exact),
            (None, true) => None,
            (Some(hops), false) if hops <= MAX_DISTANCE => Some(Fit::Exact),
            (_, false) => Some(Fit::Fuzzy),
        }
    }
}

impl TcpMatch {
    pub(crate) fn new(entry: &Entry<TcpPattern>, fit: Fit, signature: &TcpSignature) -> Self {
        let ttl = entry.pattern.ttl;
        let distance = match (ttl.fit(signature.ttl), ttl.initial.checked_sub(signature.ttl)) {
            (Some(Fit::Exact), Some(hops)) => Distance { hops, at_most: ttl.random },
            _ => Distance::guess(signature),
        };
        Self { label: entry.label.clone(), fuzzy: fit == Fit::Fuzzy, distance, line: entry.line }
    }
}
