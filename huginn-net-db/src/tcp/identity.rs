//! The fields that carry a TCP signature: without them a fuzzy match names no system.
//!
//! A fuzzy match ignores the TTL, and the quirks that the network may change. What remains must still be that of one
//! system:
//!
//! - A signature without options other than the MSS is carried by all of its fields. It never matches fuzzily: many small
//!   stacks send the same.
//! - A signature is carried by its TTL if, without it, a signature of another system has the same packets. It matches
//!   fuzzily only within the reach of its TTL.

use huginn_net_tcp::kind::{EOL, MSS, NOP};
use huginn_net_tcp::{IpVersion, OptionLayout};

use super::matching::fit_of_quirks;
use super::pattern::TcpPattern;
use crate::Entry;

/// Whether a segment with these options is one that many stacks send.
pub(super) fn has_few_options(layout: &OptionLayout) -> bool {
    layout.kinds().iter().all(|kind| matches!(*kind, EOL | NOP | MSS))
}

/// Whether the TTL distinguishes a signature from the `other` one, of another system. One of them covers the other in all
/// fields but TTL and quirks.
pub(super) fn is_told_apart_by_ttl(entry: &Entry<TcpPattern>, other: &Entry<TcpPattern>) -> bool {
    let quirks_fit = |version| {
        let [quirks, wanted] = [entry, other].map(|entry| entry.pattern.quirks_for(version));
        fit_of_quirks(wanted, quirks).is_some()
    };
    entry.label.name != other.label.name
        && entry.pattern.ttl.initial != other.pattern.ttl.initial
        && [IpVersion::V4, IpVersion::V6].into_iter().any(quirks_fit)
}
