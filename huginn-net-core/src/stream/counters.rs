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
    /// Places where a side sent different contents for the same bytes.
    pub conflicts: u64,
    /// Times that bytes of the client could no longer be compared with retransmissions: more of them than are kept waited for
    /// their acknowledgement, or there were too many contents.
    pub not_compared: u64,
    /// Bytes that the capture should have: those of directions that a parser read, until it read them no longer or the flow ended. A
    /// direction without a captured byte does not count, nor one whose receiver was not captured.
    pub expected_bytes: u64,
    /// Those of them that the capture lacks although the receiver acknowledged them: lost before or during the capture, or cut by its
    /// snap length.
    pub missing_bytes: u64,
}

impl StreamCounters {
    /// The capture loss: the share of expected bytes that the capture lacks, in per cent. `None` without such bytes.
    pub fn capture_loss(&self) -> Option<f64> {
        let Self { expected_bytes, missing_bytes, .. } = *self;
        (expected_bytes > 0).then(|| missing_bytes as f64 * 100.0 / expected_bytes as f64)
    }
}

tally!(StreamCounters {
    segments_refused,
    gaps,
    urgent_bytes,
    conflicts,
    not_compared,
    expected_bytes,
    missing_bytes,
});
