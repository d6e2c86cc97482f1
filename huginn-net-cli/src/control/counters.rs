//! All that is counted while an interface is watched: the object of `--stats-interval`, and what `--metrics` tells.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis_counters::AnalysisCounters;
use crate::output::OutputCounters;

/// What was counted since the program was started.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LiveCounters {
    /// By the analysis.
    #[serde(flatten)]
    pub(crate) analysis: AnalysisCounters,
    /// By each interface, by its name.
    pub(crate) capture: BTreeMap<String, CaptureCounters>,
    /// On the way to standard output or a file.
    pub(crate) output: OutputCounters,
    /// How long it takes.
    pub(crate) latency: LatencyCounters,
    /// Since the program was started.
    pub(crate) uptime_seconds: u64,
}

/// What was counted of one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CaptureCounters {
    /// Frames taken from it.
    pub(crate) received: u64,
    /// Frames that the kernel dropped for want of room.
    pub(crate) kernel_dropped: u64,
    /// Frames that the interface or its driver dropped, as far as the system tells; on Linux those too that were taken from
    /// it, but which no protocol of the system itself wanted.
    pub(crate) interface_dropped: Option<u64>,
    /// Attempts to read from it that failed, and were made again.
    pub(crate) read_errors: u64,
    /// Whether it is `up`, or why nothing comes from it.
    pub(crate) state: String,
}

/// How late events are, and whose fault it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LatencyCounters {
    /// From the time stamp of a packet to the event that it tells.
    pub(crate) capture_to_event_us: LatencySummary,
    /// From when the packet was taken from the kernel to the event.
    pub(crate) own_us: LatencySummary,
}

/// How durations spread, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LatencySummary {
    /// How many since the last line of counters.
    pub(crate) count: u64,
    /// The one that half of these do not exceed.
    pub(crate) p50: u64,
    /// The one that 99 of 100 of these do not exceed.
    pub(crate) p99: u64,
    /// The longest of these.
    pub(crate) max: u64,
    /// Those since the start.
    #[serde(skip)]
    pub(crate) total: LatencyTotals,
}

/// All durations since the start, in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LatencyTotals {
    /// How many.
    pub(crate) count: u64,
    /// Their sum.
    pub(crate) sum: u64,
    /// Of ranges of durations, from the shortest on, the end of each and how many are in it. What is longer than the end
    /// of the last counts in `count` alone.
    pub(crate) ranges: Vec<(u64, u64)>,
}
