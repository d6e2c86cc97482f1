//! Counters of the stream layer.

use crate::tally;

/// Losses of TCP reassembly, counted once per connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments that the out-of-order buffer refused: too far ahead of a gap, or the buffer was full.
    pub segments_refused: u64,
    /// Gaps given up: the receiver had acknowledged the missing bytes, or the buffer behind them was full.
    pub gaps: u64,
}

tally!(StreamCounters { segments_refused, gaps });
