//! Matches of TCP signatures.

use std::fmt;
use std::sync::Arc;

use huginn_net_tcp::{MAX_DISTANCE, Quirks, TcpSignature};
use huginn_net_wire::table_enum;

use super::pattern::{TcpPattern, TtlPattern};
use crate::{Entry, Label};

/// The result of a database lookup for a TCP signature. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpMatch {
    /// The label of the sender; without its flavor if window and scale alone tell the version, and a program may have set
    /// them, or if the packet has another initial TTL.
    pub label: Arc<Label>,
    /// Why the match is fuzzy; `None` for an exact one.
    pub fuzzy: Option<FuzzyReason>,
    /// The distance of the sender.
    pub distance: Distance,
    /// The line of the signature in its file.
    pub line: u32,
}

table_enum! {
    /// How a packet differs from the signature of a fuzzy match.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum FuzzyReason {
        /// No distance explains its TTL.
        InitialTtl: "initial_ttl", "another initial TTL";
        /// A middlebox or congestion notification may have removed or added its quirks.
        Quirks: "quirks", "quirks that the network changes";
        /// A middlebox overwrote timestamps or "SACK permitted" with NOPs.
        ClearedOptions: "cleared_options", "options overwritten with NOPs";
    }
    /// The name in events.
    pub fn name -> &'static str = 0;
    /// The reason in words.
    pub fn words -> &'static str = 1;
}

impl TcpMatch {
    /// Whether the match is fuzzy: the packet [differs](FuzzyReason) from the signature.
    pub fn is_fuzzy(&self) -> bool {
        self.fuzzy.is_some()
    }

    /// The name and flavor of the system, with a remark if the match is fuzzy or the label generic.
    pub fn name(&self) -> SystemName<&Label> {
        self.named(&self.label)
    }

    /// A name of the system with the remarks of this match.
    pub fn named<T>(&self, name: T) -> SystemName<T> {
        SystemName { name, fuzzy: self.is_fuzzy(), generic: self.label.generic }
    }
}

/// The name of a system, and how it was found.
///
/// [`Display`](fmt::Display) writes the name as every view shows it: `Linux 2.4-2.6`, `Linux 2.4-2.6 (fuzzy)`, `Linux (generic)`, or
/// `Linux (generic, fuzzy)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemName<T> {
    /// The name.
    pub name: T,
    /// Whether it comes from a fuzzy match, or other evidence that is not exact.
    pub fuzzy: bool,
    /// Whether it comes from a signature of last resort.
    pub generic: bool,
}

impl<T: fmt::Display> fmt::Display for SystemName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        f.write_str(match (self.generic, self.fuzzy) {
            (false, false) => "",
            (false, true) => " (fuzzy)",
            (true, false) => " (generic)",
            (true, true) => " (generic, fuzzy)",
        })
    }
}

/// Distance between a sender and the capture point, in hops.
///
/// [`Display`](fmt::Display) writes p0f's text: `4`, or `<= 4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Distance {
    /// Number of hops.
    pub hops: u8,
    /// Whether the number is an upper bound, because the system randomises its initial TTL.
    pub at_most: bool,
}

impl Distance {
    /// A distance of this number of hops, or of [at most](Self::at_most) this number.
    pub const fn new(hops: u8, at_most: bool) -> Self {
        Self { hops, at_most }
    }

    /// The distance of a sender without a match.
    pub fn guess(signature: &TcpSignature) -> Self {
        Self { hops: signature.distance(), at_most: false }
    }

    /// Whether packets can come from so far: at most [`MAX_DISTANCE`] hops. Otherwise the sender changed its initial TTL.
    pub fn is_plausible(self) -> bool {
        self.hops <= MAX_DISTANCE
    }

    /// The distance as a sentence has it: `1 hop`, or `at most 4 hops`. `None` unless it is plausible.
    pub fn in_words(self) -> Option<impl fmt::Display> {
        self.is_plausible().then_some(DistanceInWords(self))
    }
}

/// [`Display`](fmt::Display) writes [`Distance::in_words`].
struct DistanceInWords(Distance);

impl fmt::Display for DistanceInWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Distance { hops, at_most }) = *self;
        let bound = if at_most { "at most " } else { "" };
        write!(f, "{bound}{hops} hop{}", if hops == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.at_most { "<= " } else { "" }, self.hops)
    }
}

/// The `params` that p0f prints of a TCP signature.
///
/// [`Display`](fmt::Display) writes p0f's text: words separated by blanks, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TcpParams {
    /// `generic`: the label is generic (type `g`).
    pub generic: bool,
    /// `fuzzy`: the match is fuzzy.
    pub fuzzy: bool,
    /// `random_ttl`: the system randomises its initial TTL.
    pub random_ttl: bool,
    /// `excess_dist`: the distance exceeds [`MAX_DISTANCE`], which is implausible.
    pub excess_distance: bool,
    /// `tos:0xNN`: the differentiated services code point, unless it is 0.
    pub dscp: u8,
}

impl TcpParams {
    /// Computes the parameters from a signature and its match.
    pub fn from_signature(signature: &TcpSignature, found: Option<&TcpMatch>) -> Self {
        let distance = found.map_or_else(|| Distance::guess(signature), |found| found.distance);
        Self {
            generic: found.is_some_and(|found| found.label.generic),
            fuzzy: found.is_some_and(TcpMatch::is_fuzzy),
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

/// The fuzzy matches that count, and the versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchRule {
    /// Those of p0f: every signature may match fuzzily, and tells the version.
    P0f,
    /// Fuzzy matches in which the packet has the fields that [identify](super::identity) the system, and versions that a
    /// [receive buffer](super::receive_buffer) cannot imitate.
    Identified,
}

/// How well a packet matches a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Exact,
    Fuzzy,
}

/// Quirks that a middlebox may remove: some clear "don't fragment" and rewrite the IP identification.
const REMOVABLE_QUIRKS: Quirks = Quirks::DF.union(Quirks::ID_NONZERO);
/// Quirks that the network may add.
const ADDABLE_QUIRKS: Quirks = Quirks::ID_ZERO.union(Quirks::ECN);
/// Quirks that must match exactly in both IP versions, because no fuzzy rule covers them.
pub(crate) const EXACT_QUIRKS: Quirks =
    Quirks::all().difference(REMOVABLE_QUIRKS.union(ADDABLE_QUIRKS).union(Quirks::FLOW_LABEL));

/// Compares the quirks of a packet with those of a pattern.
#[inline]
pub(crate) fn fit_of_quirks(wanted: Quirks, quirks: Quirks) -> Option<Fit> {
    if wanted == quirks {
        return Some(Fit::Exact);
    }
    let gone = wanted.difference(quirks);
    let added = quirks.difference(wanted);
    (REMOVABLE_QUIRKS.contains(gone) && ADDABLE_QUIRKS.contains(added)).then_some(Fit::Fuzzy)
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
    pub(crate) fn new(
        entry: &Entry<TcpPattern>,
        label: &Arc<Label>,
        fuzzy: Option<FuzzyReason>,
        signature: &TcpSignature,
    ) -> Self {
        let ttl = entry.pattern.ttl;
        let distance = match (ttl.fit(signature.ttl), ttl.initial.checked_sub(signature.ttl)) {
            (Some(Fit::Exact), Some(hops)) => Distance { hops, at_most: ttl.random },
            _ => Distance::guess(signature),
        };
        Self { label: Arc::clone(label), fuzzy, distance, line: entry.line }
    }
}
