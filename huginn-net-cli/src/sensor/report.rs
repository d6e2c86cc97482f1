//! Reports of losses, counters and progress.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use huginn_net::core::{Amount, StreamCounters};
use huginn_net::{Counters, Timestamp};
use serde::Serialize;

use super::records::rounded;
use super::service_manager::ServiceManager;
use super::status::LiveStatus;
use crate::blind_spots::LocatedSpot;
use crate::control::Health;
use crate::control::counters::LiveCounters;
use crate::output::{Messages, OutputCounters};

/// Interval between two checks for losses. A warning follows a loss within about a second.
const LOSS_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum interval between two warnings of losses, so that lasting losses do not fill the log.
const LOSS_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Capture loss in per cent beyond which there is a warning: less is usual on mirror ports, and changes few events.
const MAX_CAPTURE_LOSS: f64 = 1.0;

/// Number of expected bytes from which on a capture loss is judged: fewer are of some connections only.
const MIN_CAPTURE_LOSS_BYTES: u64 = 1_000_000;

/// Thread that writes counters at intervals, warns of losses and reports progress to the service manager.
#[derive(Debug)]
pub(super) struct Ticker {
    /// Nothing is sent: the thread ends when this sender is dropped.
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Ticker {
    /// Starts the thread. Without an interval it writes no counters.
    pub(super) fn start(
        status: Arc<LiveStatus>,
        manager: Arc<ServiceManager>,
        interval: Option<Duration>,
        messages: Messages,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let run = move || tick(&status, &manager, interval, &messages, &stopped);
        let thread = thread::Builder::new().name("huginn-ticker".to_owned()).spawn(run)?;
        Ok(Self { stop, thread })
    }

    /// Stops the thread and waits for it.
    pub(super) fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

fn tick(
    status: &LiveStatus,
    manager: &ServiceManager,
    interval: Option<Duration>,
    messages: &Messages,
    stopped: &Receiver<()>,
) {
    let mut warned = LossWarnings::default();
    let mut loss = CaptureLoss::default();
    let mut looked = Instant::now();
    let mut written = looked;
    while stopped.recv_timeout(LOSS_CHECK_INTERVAL.saturating_sub(looked.elapsed()))
        == Err(RecvTimeoutError::Timeout)
    {
        looked = Instant::now();
        let is_due = interval.is_some_and(|interval| looked.saturating_duration_since(written) >= interval);
        let counters = if is_due { status.take_interval_counters() } else { status.counters() };
        // The counters come from the thread that delivers events, the health from the one that takes packets: this line is
        // reached only while the former makes progress.
        if matches!(status.health(), Health::Capturing | Health::NoInterface) {
            manager.notify_progress();
        }
        warned.update(Losses::from_counters(&counters), looked, &|message| _ = messages.warn(message));
        loss.update(counters.analysis.protocols.streams, looked, &|message| _ = messages.warn(message));
        status.alarms().report_due(looked);
        status.outputs().write_records(looked, false, &counters);
        if is_due {
            write_counters(&counters, None, messages);
            written = looked;
        }
    }
}

/// Losses by cause. Drops of interfaces are excluded: most systems count frames that were captured but that no other
/// protocol wanted.
#[derive(Clone, Debug, Default)]
struct Losses {
    kernel: u64,
    queues: u64,
    limits: u64,
    /// Of all outputs, removed ones included.
    output: OutputLosses,
    /// Of each output, by name.
    outputs: BTreeMap<String, OutputLosses>,
    extract: u64,
}

/// Events that outputs lost.
#[derive(Clone, Copy, Debug, Default)]
struct OutputLosses {
    /// Those that found the queue full.
    refused: u64,
    /// Those that were queued, or whose reader was gone.
    unwritten: u64,
}

impl Losses {
    fn from_counters(counters: &LiveCounters) -> Self {
        let kernel = counters.capture.values().map(|interface| interface.kernel_dropped);
        let outputs = counters.outputs.iter();
        Self {
            kernel: kernel.fold(0, u64::saturating_add),
            queues: counters.analysis.engine.segments_dropped,
            limits: counters.evicted(),
            output: OutputLosses::from_counters(&counters.output),
            outputs: outputs
                .map(|(name, output)| (name.clone(), OutputLosses::from_counters(&output.queue)))
                .collect(),
            extract: counters.extract.packets_dropped,
        }
    }

    /// Returns the losses since `before`.
    fn since(&self, before: &Self) -> Self {
        let outputs = self.outputs.iter().map(|(name, output)| {
            let before = before.outputs.get(name).copied().unwrap_or_default();
            (name.clone(), output.since(before))
        });
        Self {
            kernel: self.kernel.saturating_sub(before.kernel),
            queues: self.queues.saturating_sub(before.queues),
            limits: self.limits.saturating_sub(before.limits),
            output: self.output.since(before.output),
            outputs: outputs.collect(),
            extract: self.extract.saturating_sub(before.extract),
        }
    }

    /// Whether nothing was lost.
    fn is_empty(&self) -> bool {
        let Self { kernel, queues, limits, output, outputs: _, extract } = self;
        [*kernel, *queues, *limits, output.refused, output.unwritten, *extract] == [0; 6]
    }

    /// Names the outputs that lost something, if there are several: ` (a.json: 1, b.json: 2)`.
    fn by_output(&self, count: fn(&OutputLosses) -> u64) -> String {
        let lost = self.outputs.iter().map(|(name, output)| (name, count(output)));
        let named: Vec<String> =
            lost.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name}: {count}")).collect();
        match self.outputs.len() {
            0 | 1 => String::new(),
            _ if named.is_empty() => String::new(),
            _ => format!(" ({})", named.join(", ")),
        }
    }
}

impl OutputLosses {
    fn from_counters(counters: &OutputCounters) -> Self {
        let refused = counters.refused_lines;
        Self { refused, unwritten: counters.dropped_lines.saturating_sub(refused) }
    }

    fn since(self, before: Self) -> Self {
        Self {
            refused: self.refused.saturating_sub(before.refused),
            unwritten: self.unwritten.saturating_sub(before.unwritten),
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = self.by_output(|output| output.refused);
        let unwritten = self.by_output(|output| output.unwritten);
        let places = [
            (self.kernel, "packet(s) dropped by the kernel because its buffer was full", ""),
            (self.queues, "segment(s) dropped because a worker could not keep up", ""),
            (self.limits, "flow(s) or host(s) evicted because a limit was reached", ""),
            (self.output.refused, "event(s) dropped because the output queue was full", refused.as_str()),
            (self.output.unwritten, "event(s) could not be written", &unwritten),
            (self.extract, "packet(s) of --extract not written", ""),
        ];
        let mut lost = places.into_iter().filter(|(count, ..)| *count > 0);
        let Some((count, place, outputs)) = lost.next() else { return f.write_str("nothing was lost") };
        write!(f, "{}{outputs}", Amount(count, place))?;
        lost.try_for_each(|(count, place, outputs)| write!(f, "; {}{outputs}", Amount(count, place)))
    }
}

/// Losses that were reported, and the time of the last warning.
#[derive(Debug, Default)]
struct LossWarnings {
    losses: Losses,
    at: Option<Instant>,
}

impl LossWarnings {
    /// Warns of new losses, at most once in [`LOSS_WARNING_INTERVAL`].
    fn update(&mut self, losses: Losses, now: Instant, warn: &dyn Fn(&dyn fmt::Display)) {
        let since = losses.since(&self.losses);
        let is_early = |at| now.saturating_duration_since(at) < LOSS_WARNING_INTERVAL;
        if since.is_empty() || self.at.is_some_and(is_early) {
            return;
        }
        warn(&since);
        *self = Self { losses, at: Some(now) };
    }
}

/// The capture loss since the last look that had enough bytes.
#[derive(Debug, Default)]
struct CaptureLoss {
    before: StreamCounters,
    at: Option<Instant>,
}

impl CaptureLoss {
    /// Warns of a loss beyond [`MAX_CAPTURE_LOSS`], at most once in [`LOSS_WARNING_INTERVAL`].
    fn update(&mut self, now: StreamCounters, looked: Instant, warn: &dyn Fn(&dyn fmt::Display)) {
        let expected = now.expected_bytes.saturating_sub(self.before.expected_bytes);
        let is_early = |at| looked.saturating_duration_since(at) < LOSS_WARNING_INTERVAL;
        if expected < MIN_CAPTURE_LOSS_BYTES || self.at.is_some_and(is_early) {
            return;
        }
        let missing = now.missing_bytes.saturating_sub(self.before.missing_bytes);
        let mut since = StreamCounters::default();
        (since.expected_bytes, since.missing_bytes) = (expected, missing);
        if let Some(percent) = since.capture_loss().filter(|percent| *percent > MAX_CAPTURE_LOSS) {
            warn(&format_args!(
                "capture loss of {percent:.1} %: {missing} of {expected} acknowledged or captured bytes are missing from the capture"
            ));
        }
        *self = Self { before: now, at: Some(looked) };
    }
}

/// Line of counters in the JSON format of events.
#[derive(Serialize)]
struct Line<'a> {
    ts: String,
    event: &'static str,
    #[serde(flatten)]
    counters: &'a LiveCounters,
    /// In per cent, since the start.
    capture_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blind_spots: Option<Vec<LocatedSpot>>,
}

/// Writes the counters to standard error, as one JSON object in one line. `blind_spots`: those of the whole analysis,
/// at its end.
pub(super) fn write_counters(
    counters: &LiveCounters,
    blind_spots: Option<Vec<LocatedSpot>>,
    messages: &Messages,
) {
    let now = Timestamp::from(SystemTime::now());
    let ts = Timestamp::new(now.as_secs(), now.subsec_nanos(), 6).to_string();
    let capture_loss = counters.analysis.protocols.streams.capture_loss();
    let capture_loss = capture_loss.map(rounded);
    let line = Line { ts, event: "counters", counters, capture_loss, blind_spots };
    if let Ok(mut line) = serde_json::to_vec(&line) {
        line.push(b'\n');
        messages.write(&line);
    }
}

/// Prints one line with totals and losses. `has_failed`: whether the capture ended although packets may have come.
pub(super) fn report_totals(counters: &LiveCounters, has_failed: bool, messages: &Messages) {
    let Counters { frames, events, .. } = counters.analysis.engine;
    let (packets, events) = (Amount(frames, "packet(s)"), Amount(events, "event(s)"));
    let until = if has_failed { " until the capture failed" } else { "" };
    messages.print(&format_args!("{packets}, {events}; {}{until}", Losses::from_counters(counters)));
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::control::counters::NamedOutputCounters;

    #[test]
    fn warns_of_capture_loss_beyond_threshold_once_a_minute() {
        let said = RefCell::new(Vec::new());
        let warn = |message: &dyn fmt::Display| said.borrow_mut().push(message.to_string());
        let (mut loss, start) = (CaptureLoss::default(), Instant::now());
        for (seconds, expected, missing) in [
            (1, 999_999, 900_000),
            (2, 1_000_000, 10_000),
            (3, 2_000_000, 10_000),
            (70, 3_000_000, 60_000),
            (80, 9_000_000, 5_000_000),
        ] {
            let mut now = StreamCounters::default();
            (now.expected_bytes, now.missing_bytes) = (expected, missing);
            loss.update(now, start.checked_add(Duration::from_secs(seconds)).unwrap_or(start), &warn);
        }
        assert_eq!(
            said.take(),
            [
                "capture loss of 2.5 %: 50000 of 2000000 acknowledged or captured bytes are missing from the capture"
            ]
        );
    }

    #[test]
    fn lost_events_have_their_cause_and_output() {
        let mut counters = LiveCounters::default();
        let lost = |dropped_lines, refused_lines| NamedOutputCounters {
            queue: OutputCounters { dropped_lines, refused_lines, ..OutputCounters::default() },
            ..NamedOutputCounters::default()
        };
        for (name, output) in [("a.json", lost(7, 7)), ("tcp:127.0.0.1:9", lost(3, 1)), ("b", lost(0, 0))] {
            counters.output.add(&output.queue);
            counters.outputs.insert(name.to_owned(), output);
        }
        let losses = Losses::from_counters(&counters);
        assert_eq!(
            losses.to_string(),
            "8 events dropped because the output queue was full (a.json: 7, tcp:127.0.0.1:9: 1); \
             2 events could not be written (tcp:127.0.0.1:9: 2)"
        );
        assert_eq!(losses.since(&losses).to_string(), "nothing was lost");
        counters.outputs.retain(|name, _| name.starts_with("tcp"));
        counters.output = lost(3, 0).queue;
        assert_eq!(Losses::from_counters(&counters).to_string(), "3 events could not be written");
    }

    #[test]
    fn output_without_losses_causes_no_warning() {
        let said = RefCell::new(Vec::new());
        let warn = |message: &dyn fmt::Display| said.borrow_mut().push(message.to_string());
        let (mut warned, mut counters, now) =
            (LossWarnings::default(), LiveCounters::default(), Instant::now());
        counters.outputs.insert("stdout".to_owned(), NamedOutputCounters::default());
        warned.update(Losses::from_counters(&counters), now, &warn);
        counters.capture.entry("eth0".to_owned()).or_default().kernel_dropped = 2;
        warned.update(Losses::from_counters(&counters), now, &warn);
        let want = "2 packets dropped by the kernel because its buffer was full";
        assert_eq!(said.take(), [want]);
    }

    #[test]
    fn totals_name_lost_packets_of_extract() {
        let mut counters = LiveCounters::default();
        counters.extract.packets_dropped = 214;
        assert_eq!(Losses::from_counters(&counters).to_string(), "214 packets of --extract not written");
    }

    #[test]
    fn warns_of_new_losses_once_a_minute() {
        let said = RefCell::new(Vec::new());
        let warn = |message: &dyn fmt::Display| said.borrow_mut().push(message.to_string());
        let mut warned = LossWarnings::default();
        let start = Instant::now();
        for (seconds, kernel, output) in [(0, 0, 0), (1, 5, 0), (30, 7, 1), (61, 8, 1), (200, 8, 1)] {
            let output = OutputLosses { refused: output, unwritten: 0 };
            let losses = Losses { kernel, output, ..Losses::default() };
            warned.update(losses, start.checked_add(Duration::from_secs(seconds)).unwrap_or(start), &warn);
        }
        assert_eq!(
            said.take(),
            [
                "5 packets dropped by the kernel because its buffer was full",
                "3 packets dropped by the kernel because its buffer was full; 1 event dropped because the output queue was full",
            ]
        );
        assert_eq!(Losses::default().to_string(), "nothing was lost");
    }
}
