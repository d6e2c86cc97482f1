//! Event latency, measured from the capture of a packet and from its arrival in this process.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hdrhistogram::Histogram;
use huginn_net::observation::FindingKind;
use huginn_net::{Event, Observation, Timestamp};

use crate::control::counters::{LatencyCounters, LatencySummary, LatencyTotals};

/// Longest recorded latency, in microseconds: one hour. Longer latencies are recorded as this value.
const MAX_LATENCY_MICROS: u64 = 3_600_000_000;

/// Significant decimal digits of a recorded latency: an error of at most 1 %, with a small histogram.
const LATENCY_DIGITS: u8 = 2;

/// Upper bounds of the histogram buckets of `--metrics`, in microseconds.
const BUCKET_BOUNDS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];

/// Whether an event waits for what follows its packet: the end of a connection, or a pause. Its latency says nothing of the program.
pub(super) fn is_late(event: &Event) -> bool {
    match &event.kind {
        Observation::Connection(_) => true,
        Observation::Finding(finding) => {
            matches!(finding.kind, FindingKind::Scan(_) | FindingKind::BruteForce(_))
        }
        _ => false,
    }
}

/// Both latency distributions, readable from any thread.
#[derive(Debug)]
pub(crate) struct Latency(Mutex<Measured>);

#[derive(Debug)]
struct Measured {
    capture_to_event: Distribution,
    own: Distribution,
}

/// Distribution of latencies in microseconds.
#[derive(Debug)]
struct Distribution {
    /// Latencies since the last line of counters.
    recent: Histogram<u64>,
    /// Number of events since the start, and the sum of their latencies.
    count: u64,
    sum: u64,
    /// Number of latencies in each bucket, not cumulative.
    ranges: [u64; BUCKET_BOUNDS.len()],
}

impl Latency {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Mutex::new(Measured { capture_to_event: Distribution::new()?, own: Distribution::new()? })))
    }

    /// Records the latency of events that were just queued for output.
    ///
    /// `captured` holds the capture times of their packets in nanoseconds since the Unix epoch. `taken_at` is the time at
    /// which the first packet was read from the kernel.
    pub(crate) fn record(&self, captured: &[u64], taken_at: Option<Timestamp>) {
        let now = Timestamp::from(SystemTime::now()).as_nanos();
        let mut measured = self.lock();
        for captured in captured {
            measured.capture_to_event.record(now.saturating_sub(*captured), 1);
        }
        if let Some(taken_at) = taken_at {
            measured.own.record(now.saturating_sub(taken_at.as_nanos()), captured.len() as u64);
        }
    }

    /// Returns totals since the start, and quantiles since the last [`Self::reset_interval`].
    pub(crate) fn counters(&self) -> LatencyCounters {
        let measured = self.lock();
        LatencyCounters {
            capture_to_event_us: measured.capture_to_event.summary(),
            own_us: measured.own.summary(),
        }
    }

    /// Resets the quantiles, which describe the current interval only.
    pub(crate) fn reset_interval(&self) {
        let mut measured = self.lock();
        measured.capture_to_event.recent.reset();
        measured.own.recent.reset();
    }

    fn lock(&self) -> MutexGuard<'_, Measured> {
        // A panic leaves no number half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Distribution {
    fn new() -> io::Result<Self> {
        let recent =
            Histogram::new_with_bounds(1, MAX_LATENCY_MICROS, LATENCY_DIGITS).map_err(io::Error::other)?;
        Ok(Self { recent, count: 0, sum: 0, ranges: [0; BUCKET_BOUNDS.len()] })
    }

    /// Records one latency for `events` events.
    fn record(&mut self, nanos: u64, events: u64) {
        let micros = nanos.div_ceil(1000);
        self.recent.saturating_record_n(micros, events);
        self.count = self.count.saturating_add(events);
        self.sum = self.sum.saturating_add(micros.saturating_mul(events));
        let range = BUCKET_BOUNDS.partition_point(|end| *end < micros);
        if let Some(count) = self.ranges.get_mut(range) {
            *count = count.saturating_add(events);
        }
    }

    fn summary(&self) -> LatencySummary {
        let Self { recent, count, sum, ranges } = self;
        let ranges = BUCKET_BOUNDS.into_iter().zip(*ranges).collect();
        LatencySummary {
            count: recent.len(),
            p50: recent.value_at_quantile(0.5),
            p99: recent.value_at_quantile(0.99),
            max: recent.max(),
            total: LatencyTotals { count: *count, sum: *sum, ranges },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

    use super::*;

    #[test]
    fn reports_latency_quantiles_and_buckets() {
        let mut distribution = Distribution::new().unwrap();
        distribution.record(0, 0);
        distribution.record(49_001, 97);
        distribution.record(250_000, 2);
        distribution.record(u64::MAX, 1);
        let spread = distribution.summary();
        assert_eq!((spread.count, spread.p50, spread.p99), (100, 50, 250));
        assert!((3600..3700).contains(&(spread.max / 1_000_000)), "an hour, to two digits");
        assert_eq!(spread.total.ranges[..3], [(50, 97), (100, 0), (250, 2)]);
        assert_eq!(spread.total.ranges.iter().map(|(_, count)| count).sum::<u64>(), 99);
    }

    #[test]
    fn quantiles_restart_after_reset() {
        let latency = Latency::new().unwrap();
        latency.record(&[0], None);
        latency.reset_interval();
        let of_none = latency.counters().capture_to_event_us;
        assert_eq!((of_none.count, of_none.p99, of_none.max, of_none.total.count), (0, 0, 0, 1));
        latency.record(&[u64::MAX], None);
        let of_one = latency.counters().capture_to_event_us;
        assert_eq!((of_one.count, of_one.total.count, of_one.total.ranges[0]), (1, 2, (50, 1)));
        assert!(of_one.max <= 1);
    }

    #[test]
    fn measures_latency_from_packet_and_batch_start() {
        let latency = Latency::new().unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let ago = |millis: u64| u64::try_from(now.as_nanos()).unwrap() - millis * 1_000_000;
        let taken_at = Timestamp::new(0, 0, 9);
        latency.record(&[ago(20_000), ago(30_000)], None);
        latency.record(&[ago(20_000)], Some(taken_at));
        let counters = latency.counters();
        assert_eq!((counters.capture_to_event_us.count, counters.own_us.count), (3, 1));
        assert!((19_900_000..25_000_000).contains(&counters.capture_to_event_us.p50));
        assert!(counters.own_us.max >= MAX_LATENCY_MICROS);
    }
}
