//! Records of the sensor among the events of an output: all counters, and what was lost; and the numbers of all records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use huginn_net::Timestamp;
use huginn_net::core::StreamCounters;
use huginn_net::record::formats::{PacketTotals, SensorRecord, SensorRecordKind};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::control::counters::LiveCounters;
use crate::output::OutputCounters;

/// The numbers and the records of one output.
#[derive(Debug)]
pub(super) struct Records {
    /// The number of the last record.
    number: Mutex<u64>,
    last: Mutex<Last>,
}

/// The last records of the sensor.
#[derive(Debug)]
struct Last {
    /// Interval of records; `None` if there are none any more.
    every: Option<Duration>,
    /// The last time that records were due.
    at: Instant,
    statistics: Reading,
    loss: Reading,
}

/// Counters at a time; by default those at the start of the program.
#[derive(Clone, Debug, Default)]
struct Reading {
    uptime_seconds: u64,
    interfaces: BTreeMap<String, Packets>,
    losses: Losses,
    analyzed: u64,
}

/// Packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Packets {
    received: u64,
    kernel_dropped: u64,
    interface_dropped: Option<u64>,
}

/// Counters of losses, but for those of interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Losses {
    /// Segments that a worker skipped.
    segments_dropped: u64,
    /// Flows and hosts that limits removed.
    evicted: u64,
    /// Events that limits left out.
    events_suppressed: u64,
    /// Records that this output lost.
    records_dropped: u64,
    /// Packets of `--extract` that were not written.
    extract_packets_dropped: u64,
    gaps: u64,
    expected_bytes: u64,
    missing_bytes: u64,
}

/// What happened between two records.
#[derive(Debug, Serialize)]
struct Interval {
    seconds: u64,
    received: u64,
    kernel_dropped: u64,
    /// The packets of each interface, by its name.
    capture: BTreeMap<String, Packets>,
    #[serde(flatten)]
    losses: Losses,
    /// In per cent.
    capture_loss: Option<f64>,
    #[serde(skip)]
    analyzed: u64,
}

impl Records {
    /// The records of an output, `before` being those of its last form. Numbers go on even if there are no records any more: texts of the
    /// last form may still come.
    pub(super) fn change(before: Option<Arc<Self>>, every: Option<Duration>) -> Option<Arc<Self>> {
        match (before, every) {
            (Some(records), every) => {
                records.last().every = every;
                Some(records)
            }
            (None, Some(_)) => {
                let (statistics, loss) = <(Reading, Reading)>::default();
                let last = Last { every, at: Instant::now(), statistics, loss };
                Some(Arc::new(Self { number: Mutex::default(), last: Mutex::new(last) }))
            }
            (None, None) => None,
        }
    }

    /// The number of the last record. While it is locked, no other record is queued.
    pub(super) fn number(&self) -> MutexGuard<'_, u64> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the records that are due; at the end, all. `write` returns whether the output took a record: what an output drops is said
    /// again by the next one.
    pub(super) fn write_due(
        &self,
        now: Instant,
        is_end: bool,
        counters: &LiveCounters,
        output: &OutputCounters,
        write: &dyn Fn(&SensorRecord) -> bool,
    ) {
        let mut last = self.last();
        let Some(every) = last.every else { return };
        if !is_end && now.saturating_duration_since(last.at) < every {
            return;
        }
        last.at = now;
        let reading = Reading::new(counters, output);
        let interval = reading.since(&last.loss);
        if !interval.is_loss() || write(&record(SensorRecordKind::Loss, &reading, &interval, None)) {
            last.loss = reading.clone();
        }
        let interval = reading.since(&last.statistics);
        if write(&record(SensorRecordKind::Statistics, &reading, &interval, Some(counters))) {
            last.statistics = reading;
        }
    }
}

impl Reading {
    fn new(counters: &LiveCounters, output: &OutputCounters) -> Self {
        let interfaces = counters.capture.iter().map(|(name, interface)| {
            let packets = Packets {
                received: interface.received,
                kernel_dropped: interface.kernel_dropped,
                interface_dropped: interface.interface_dropped,
            };
            (name.clone(), packets)
        });
        let streams = &counters.analysis.protocols.streams;
        let suppressed = &counters.analysis.protocols.events_suppressed;
        let losses = Losses {
            segments_dropped: counters.analysis.engine.segments_dropped,
            evicted: counters.evicted(),
            events_suppressed: suppressed.total(),
            records_dropped: output.dropped_lines,
            extract_packets_dropped: counters.extract.packets_dropped,
            gaps: streams.gaps,
            expected_bytes: streams.expected_bytes,
            missing_bytes: streams.missing_bytes,
        };
        Self {
            uptime_seconds: counters.uptime_seconds,
            interfaces: interfaces.collect(),
            losses,
            analyzed: counters.analysis.engine.frames,
        }
    }

    fn since(&self, before: &Self) -> Interval {
        let capture: BTreeMap<String, Packets> = self
            .interfaces
            .iter()
            .map(|(name, now)| {
                (name.clone(), now.since(before.interfaces.get(name).copied().unwrap_or_default()))
            })
            .collect();
        let losses = self.losses.since(&before.losses);
        let mut streams = StreamCounters::default();
        (streams.expected_bytes, streams.missing_bytes) = (losses.expected_bytes, losses.missing_bytes);
        let sum = |count: fn(&Packets) -> u64| capture.values().map(count).fold(0, u64::saturating_add);
        Interval {
            seconds: self.uptime_seconds.saturating_sub(before.uptime_seconds),
            received: sum(|packets| packets.received),
            kernel_dropped: sum(|packets| packets.kernel_dropped),
            capture_loss: streams.capture_loss().map(rounded),
            losses,
            analyzed: self.analyzed.saturating_sub(before.analyzed),
            capture,
        }
    }

    fn totals(&self) -> PacketTotals {
        let sum =
            |count: fn(&Packets) -> u64| self.interfaces.values().map(count).fold(0, u64::saturating_add);
        PacketTotals {
            seconds: self.uptime_seconds,
            received: sum(|packets| packets.received),
            kernel_dropped: sum(|packets| packets.kernel_dropped),
            analyzed: self.analyzed,
        }
    }
}

impl Packets {
    fn since(self, before: Self) -> Self {
        Self {
            received: self.received.saturating_sub(before.received),
            kernel_dropped: self.kernel_dropped.saturating_sub(before.kernel_dropped),
            interface_dropped: self
                .interface_dropped
                .map(|dropped| dropped.saturating_sub(before.interface_dropped.unwrap_or_default())),
        }
    }
}

impl Losses {
    fn since(&self, before: &Self) -> Self {
        Self {
            segments_dropped: self.segments_dropped.saturating_sub(before.segments_dropped),
            evicted: self.evicted.saturating_sub(before.evicted),
            events_suppressed: self.events_suppressed.saturating_sub(before.events_suppressed),
            records_dropped: self.records_dropped.saturating_sub(before.records_dropped),
            extract_packets_dropped: self
                .extract_packets_dropped
                .saturating_sub(before.extract_packets_dropped),
            gaps: self.gaps.saturating_sub(before.gaps),
            expected_bytes: self.expected_bytes.saturating_sub(before.expected_bytes),
            missing_bytes: self.missing_bytes.saturating_sub(before.missing_bytes),
        }
    }
}

impl Interval {
    /// Whether something was lost. Drops of interfaces alone are no loss: most systems count frames there that were captured.
    fn is_loss(&self) -> bool {
        // Bytes that are expected are not lost.
        let losses = Losses { expected_bytes: 0, ..self.losses };
        self.kernel_dropped > 0 || losses != Losses::default()
    }

    fn totals(&self) -> PacketTotals {
        let &Self { seconds, received, kernel_dropped, analyzed, .. } = self;
        PacketTotals { seconds, received, kernel_dropped, analyzed }
    }
}

/// Rounds to three digits.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn record(
    kind: SensorRecordKind,
    reading: &Reading,
    interval: &Interval,
    counters: Option<&LiveCounters>,
) -> SensorRecord {
    let now = Timestamp::from(SystemTime::now());
    let mut fields = Map::new();
    fields.insert("interval".to_owned(), serde_json::to_value(interval).unwrap_or(Value::Null));
    if let Some(counters) = counters {
        fields.insert("counters".to_owned(), serde_json::to_value(counters).unwrap_or(Value::Null));
    }
    SensorRecord {
        kind,
        ts: Timestamp::new(now.as_secs(), now.subsec_nanos(), 6),
        total: reading.totals(),
        interval: interval.totals(),
        capture_loss: interval.capture_loss,
        fields,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;
    use crate::control::counters::CaptureCounters;

    /// Records that an output took or lost, at these seconds.
    struct Written {
        records: Arc<Records>,
        start: Instant,
        found: RefCell<Vec<(&'static str, Value)>>,
    }

    impl Written {
        fn new() -> Self {
            let records = Records::change(None, Some(Duration::from_secs(60))).unwrap();
            let start = records.last().at;
            Self { records, start, found: RefCell::default() }
        }

        /// The records at a time.
        fn at(
            &self,
            seconds: u64,
            counters: &LiveCounters,
            dropped: u64,
            is_taken: bool,
        ) -> Vec<(&'static str, Value)> {
            let now = self.start.checked_add(Duration::from_secs(seconds)).unwrap();
            let counters = LiveCounters { uptime_seconds: seconds, ..counters.clone() };
            let output = OutputCounters { dropped_lines: dropped, ..OutputCounters::default() };
            self.records.write_due(now, false, &counters, &output, &|record| {
                self.found.borrow_mut().push((record.kind.name(), record.fields["interval"].clone()));
                is_taken
            });
            self.found.take()
        }
    }

    fn names(found: &[(&'static str, Value)]) -> Vec<&'static str> {
        found.iter().map(|(name, _)| *name).collect()
    }

    fn counters(received: u64, kernel_dropped: u64) -> LiveCounters {
        let capture = CaptureCounters {
            received,
            kernel_dropped,
            interface_dropped: Some(kernel_dropped),
            ..CaptureCounters::default()
        };
        let mut counters = LiveCounters::default();
        counters.capture.insert("eth0".to_owned(), capture);
        counters.capture.insert("eth1".to_owned(), CaptureCounters::default());
        counters
    }

    #[test]
    fn loss_has_what_was_lost_since_the_last_one() {
        let written = Written::new();
        assert!(written.at(59, &counters(10, 1), 0, true).is_empty());
        let found = written.at(60, &counters(1000, 7), 2, true);
        assert_eq!(names(&found), ["loss", "statistics"]);
        let wanted = json!({
            "seconds": 60,
            "received": 1000,
            "kernel_dropped": 7,
            "capture": {
                "eth0": {"received": 1000, "kernel_dropped": 7, "interface_dropped": 7},
                "eth1": {"received": 0, "kernel_dropped": 0, "interface_dropped": null},
            },
            "segments_dropped": 0,
            "evicted": 0,
            "events_suppressed": 0,
            "records_dropped": 2,
            "extract_packets_dropped": 0,
            "gaps": 0,
            "expected_bytes": 0,
            "missing_bytes": 0,
            "capture_loss": null,
        });
        assert_eq!(found[0].1, wanted);
        assert_eq!(found[1].1, wanted);
        // Nothing more is lost, but for what interfaces count.
        let mut more = counters(5000, 7);
        more.capture.get_mut("eth0").unwrap().interface_dropped = Some(50);
        let found = written.at(120, &more, 2, true);
        assert_eq!(names(&found), ["statistics"]);
        assert_eq!((&found[0].1["received"], &found[0].1["seconds"]), (&4000.into(), &60.into()));
        more.analysis.protocols.streams.expected_bytes = 2000;
        more.analysis.protocols.streams.missing_bytes = 50;
        let found = written.at(180, &more, 2, true);
        assert_eq!(names(&found), ["loss", "statistics"]);
        assert_eq!((&found[0].1["capture_loss"], &found[0].1["kernel_dropped"]), (&2.5.into(), &0.into()));
    }

    #[test]
    fn loss_that_the_output_drops_is_said_again() {
        let written = Written::new();
        let found = written.at(60, &counters(10, 4), 0, false);
        assert_eq!(names(&found), ["loss", "statistics"]);
        assert!(written.at(61, &counters(10, 4), 2, true).is_empty(), "an interval later");
        let found = written.at(120, &counters(20, 5), 2, true);
        let [(_, loss), (_, statistics)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&loss["kernel_dropped"], &loss["records_dropped"]), (&5.into(), &2.into()));
        assert_eq!((&loss["seconds"], &statistics["kernel_dropped"]), (&120.into(), &5.into()));
    }
}
