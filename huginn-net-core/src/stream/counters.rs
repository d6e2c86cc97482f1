//! Counters of the stream layer.

use crate::tally;

/// Losses and findings of TCP reassembly. Each gap, segment, byte and place counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments that the out-of-order buffer refused: too far ahead of a gap, or the buffer was full.
    pub segments_refused: u64,
    /// Gaps given up: the receiver had acknowledged the missing bytes, the buffer after them was full, or the flow
    /// ended.
    pub gaps: u64,
    /// Urgent bytes, which are not part of the stream (RFC 6093, section 3.1).
    pub urgent_bytes: u64,
    /// Places where the client sent different contents for the same bytes.
    pub conflicts: u64,
    /// Times that bytes of the client could no longer be compared with retransmissions: more of them than are kept waited for
    /// their acknowledgement, or there were too many contents.
    pub not_compared: u64,
}

tally!(StreamCounters { segments_refused, gaps, urgent_bytes, conflicts, not_compared });
