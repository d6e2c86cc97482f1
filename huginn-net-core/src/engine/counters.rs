//! Counters of an analyzer.

use crate::{DecodeCounters, FlowCounters, tally};

/// Counters of an analyzer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Counters {
    /// Frames read.
    pub frames: u64,
    /// Captured bytes in them.
    pub bytes: u64,
    /// Frames that the filter expression rejected.
    pub frames_filtered: u64,
    /// Counters of the decoder.
    pub decode: DecodeCounters,
    /// Segments that the filter by port and network rejected.
    pub segments_filtered: u64,
    /// Frames with a timestamp before that of an earlier frame.
    pub time_steps_back: u64,
    /// Frames with a timestamp more than the idle timeout after that of the frame before: a pause of the capture, or
    /// a wrong clock.
    pub time_steps_ahead: u64,
    /// Segments of a worker's flows in blocks that the worker dropped because it was too slow; only with
    /// [`Overflow::Drop`](crate::Overflow::Drop), the default of live sources. The kernel's drops are not among them.
    pub segments_dropped: u64,
    /// Blocks that a worker dropped: a block that all of four workers drop counts four times.
    pub blocks_dropped: u64,
    /// Segments that belong to no flow and start none, mostly of connections older than the capture.
    pub segments_without_flow: u64,
    /// Counters of the flow table.
    pub flows: FlowCounters,
    /// Events passed to the sink.
    pub events: u64,
}

tally!(Counters {
    frames,
    bytes,
    frames_filtered,
    decode,
    segments_filtered,
    time_steps_back,
    time_steps_ahead,
    segments_dropped,
    blocks_dropped,
    segments_without_flow,
    flows,
    events,
});
