//! Counters of live capture, as `--stats-interval` and `--metrics` report them.

use std::collections::BTreeMap;

use huginn_net_live::QueueStats;
use serde::Serialize;

use crate::analysis_counters::AnalysisCounters;
use crate::output::{MessageCounters, OutputCounters};

/// Alerts by the names of their kind and of their severity.
pub(crate) type AlertCounters = BTreeMap<&'static str, BTreeMap<&'static str, u64>>;

/// Counters since the start of the program.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LiveCounters {
    /// Counters of the analysis.
    #[serde(flatten)]
    pub(crate) analysis: AnalysisCounters,
    /// Events reported, by the names of JSON events.
    pub(crate) events_by_kind: BTreeMap<&'static str, u64>,
    /// Counters of each interface, by name.
    pub(crate) capture: BTreeMap<String, CaptureCounters>,
    /// Counters of all outputs together, removed ones included.
    pub(crate) output: OutputCounters,
    /// Counters of each output, by name.
    pub(crate) outputs: BTreeMap<String, NamedOutputCounters>,
    /// Event latency.
    pub(crate) latency: LatencyCounters,
    /// Alerts.
    pub(crate) alerts: AlertCounters,
    /// Counters of each watch list, by name.
    pub(crate) watch_lists: BTreeMap<String, WatchListCounters>,
    /// Counters of what SIGHUP reads again.
    pub(crate) reloads: ReloadCounters,
    /// Counters of `--state`.
    pub(crate) state: StateCounters,
    /// Counters of messages on standard error.
    pub(crate) messages: MessageCounters,
    /// Counters of `--extract`.
    pub(crate) extract: ExtractCounters,
    /// Seconds since the start of the program.
    pub(crate) uptime_seconds: u64,
    /// Wall clock times, which only the metrics have.
    #[serde(skip)]
    pub(crate) times: Times,
}

impl LiveCounters {
    /// Flows and hosts that were removed because a limit was reached.
    pub(crate) fn evicted(&self) -> u64 {
        let (flows, hosts) = (&self.analysis.engine.flows, &self.analysis.hosts);
        let evicted = [flows.evicted, flows.evicted_for_memory, hosts.evicted, hosts.evicted_for_memory];
        evicted.into_iter().fold(0, u64::saturating_add)
    }
}

/// Counters of `--extract`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ExtractCounters {
    /// Packets written.
    pub(crate) packets_written: u64,
    /// Packets of selected connections that were not written: the queue was full, or a write failed.
    pub(crate) packets_dropped: u64,
    /// Files with all packets of a connection.
    pub(crate) files: u64,
    /// Failed writes and removals.
    pub(crate) write_errors: u64,
    /// Events that selected a connection.
    pub(crate) events: u64,
    /// Those whose connection was not kept: it began before the capture, or was forgotten.
    pub(crate) events_without_packets: u64,
    /// Those whose own packet was not among the kept ones, so that it has no comment.
    pub(crate) comments_without_packet: u64,
    /// Connections without a selected event whose packets were forgotten because others needed the memory.
    pub(crate) flows_forgotten: u64,
    /// Bytes of packets that wait to be written.
    pub(crate) queued_bytes: u64,
}

/// Counters of one output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NamedOutputCounters {
    /// Counters of its queue.
    #[serde(flatten)]
    pub(crate) queue: OutputCounters,
    /// Counters of `--once`.
    pub(crate) repeats: RepeatCounters,
}

/// Counters of `--once`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RepeatCounters {
    /// Events that were not written because they repeat a fingerprint of their host.
    pub(crate) left_out: u64,
    /// Fingerprints of hosts that were forgotten early, because there are too many: they are written again.
    pub(crate) forgotten: u64,
}

/// Counters of `--state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct StateCounters {
    /// Times that the state was written.
    pub(crate) written: u64,
    /// Times that it could not be written.
    pub(crate) failed: u64,
}

/// Counters of what SIGHUP reads again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ReloadCounters {
    pub(crate) configuration: ReloadCounts,
    pub(crate) databases: ReloadCounts,
    pub(crate) watch_lists: ReloadCounts,
}

/// Counters of files that are read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ReloadCounts {
    /// Times that new content was used.
    pub(crate) done: u64,
    /// Times that a file was invalid, and the old content stayed.
    pub(crate) failed: u64,
}

/// Counters of one watch list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct WatchListCounters {
    /// Number of entries.
    pub(crate) entries: u64,
    /// Matches since the start.
    pub(crate) matches: u64,
    /// When the list was read, in nanoseconds since the Unix epoch; only the metrics have it.
    #[serde(skip)]
    pub(crate) loaded_at: u64,
}

/// Wall clock times in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// Start of the program.
    pub(crate) started: u64,
    /// When the newest packets were taken from the kernel; 0 before the first.
    pub(crate) last_packet: u64,
    /// Capture time of the packet of the newest event; 0 before the first.
    pub(crate) last_event: u64,
}

/// Counters of one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CaptureCounters {
    /// Frames received from the interface.
    pub(crate) received: u64,
    /// Frames that the kernel dropped because its buffer was full.
    pub(crate) kernel_dropped: u64,
    /// Frames that the interface or its driver dropped, if the system reports them. Linux also counts captured frames
    /// that no other protocol of the system wanted.
    pub(crate) interface_dropped: Option<u64>,
    /// Packets that were left out because another interface had them, if patterns select interfaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copies: Option<u64>,
    /// Failed reads, which are retried.
    pub(crate) read_errors: u64,
    /// `up`, or the reason why no frames arrive.
    pub(crate) state: String,
    /// The share of each worker, if each has a queue of the interface.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) workers: Vec<QueueCounters>,
}

/// Counters of the queue of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct QueueCounters {
    /// Frames received.
    pub(crate) received: u64,
    /// Frames that the kernel dropped because the buffer of the queue was full.
    pub(crate) kernel_dropped: u64,
}

impl From<&QueueStats> for QueueCounters {
    fn from(queue: &QueueStats) -> Self {
        Self { received: queue.received, kernel_dropped: queue.kernel_dropped }
    }
}

/// Event latency, in total and within this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LatencyCounters {
    /// From the timestamp of a packet to its event.
    pub(crate) capture_to_event_us: LatencySummary,
    /// From reading the packet from the kernel to its event.
    pub(crate) own_us: LatencySummary,
}

/// Summary of latencies, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct LatencySummary {
    /// Number of events since the last line of counters.
    pub(crate) count: u64,
    /// Median.
    pub(crate) p50: u64,
    /// 99th percentile.
    pub(crate) p99: u64,
    /// Maximum.
    pub(crate) max: u64,
    /// Totals since the start.
    #[serde(skip)]
    pub(crate) total: LatencyTotals,
}

/// Histogram of latencies since the start, in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LatencyTotals {
    /// Number of events.
    pub(crate) count: u64,
    /// Sum of latencies.
    pub(crate) sum: u64,
    /// Upper bound and number of events of each bucket, in ascending order. Longer latencies count in `count` only.
    pub(crate) ranges: Vec<(u64, u64)>,
}
