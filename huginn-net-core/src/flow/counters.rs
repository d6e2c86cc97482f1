//! Counters of the flow table.

use crate::tally;

/// Counters of the flow table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FlowCounters {
    /// Flows started, including restarts on a 4-tuple that was still in the table.
    pub opened: u64,
    /// Flows started on a 4-tuple that was still in the table.
    pub restarted: u64,
    /// TCP flows started in the middle: by a segment that is not a SYN.
    pub midstream: u64,
    /// Flows with segments of both sides. The others were captured in one direction only, or had no answer.
    pub bidirectional: u64,
    /// Flows removed after their [idle timeout](crate::FlowLimits::idle_timeout).
    pub expired: u64,
    /// Flows evicted because the table was full.
    pub evicted: u64,
    /// Flows evicted because all flows together exceeded the memory limit.
    pub evicted_for_memory: u64,
    /// Flows in the table now.
    pub active: u64,
    /// Heap memory of these flows beside their table entries, in bytes.
    pub buffered_bytes: u64,
}

tally!(FlowCounters {
    opened,
    restarted,
    midstream,
    bidirectional,
    expired,
    evicted,
    evicted_for_memory,
    active,
    buffered_bytes
});
