//! The systems that a packet identifies although it matches no signature exactly.
//!
//! - A signature without options other than the MSS never matches fuzzily: many small stacks send the same.
//! - A packet with another initial TTL has the system of a signature, in whatever version, if all signatures with its options,
//!   MSS, scale and quirks are of this system, whatever their windows. Embedded stacks, of class `other`, share their options.
//! - A packet whose timestamps or "SACK permitted" are NOPs is compared with what may have stood there.

use huginn_net_tcp::OptionLayout;
use huginn_net_tcp::kind::{EOL, MSS, NOP, SACK_PERMITTED, TIMESTAMP};

use super::matching::FuzzyReason;
use crate::{Label, same_stack};

/// A match that is not exact, of a system that the packet identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identified {
    /// Index of the signature.
    pub(super) index: u32,
    pub(super) reason: FuzzyReason,
    /// Whether the packet shows no version.
    pub(super) is_any_version: bool,
}

/// Whether a segment with these options is one that many stacks send.
pub(super) fn has_few_options(layout: &OptionLayout) -> bool {
    layout.kinds().iter().all(|kind| matches!(*kind, EOL | NOP | MSS))
}

/// Whether a layout has options that middleboxes clear.
pub(super) fn can_be_cleared(layout: &OptionLayout) -> bool {
    layout.kinds().iter().any(|kind| matches!(*kind, SACK_PERMITTED | TIMESTAMP))
}

/// Whether these labels, but for those of tools, are of one system that is not an embedded stack.
pub(super) fn are_of_one_system<'a>(labels: impl IntoIterator<Item = &'a Label>) -> bool {
    let mut systems = labels.into_iter().filter(|label| !label.is_tool());
    let first = systems.next().filter(|label| label.class.as_deref() != Some("other"));
    first.is_some_and(|first| systems.all(|label| same_stack(&first.name, &label.name)))
}
