//! Counts alerts and reports them on standard error.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::{self, Display};
use std::hash::Hash;
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use huginn_net::alert::{Alert, AlertId, AlertKind, Severity};
use huginn_net::core::{Amount, Escaped};
use huginn_net::hosts::state::MAX_SAVED_ALERTS;
use huginn_net::{Event, Observation};
use serde::{Deserialize, Serialize};

use crate::control::counters::AlertCounters;
use crate::limits::MAX_ALERT_TEXT;
use crate::output::{Messages, last_boundary};

/// Minimum interval between two lines about the same alert, so that one client does not fill the log. Events and metrics have all.
const ALARM_INTERVAL: Duration = Duration::from_secs(3600);

/// Interval between two lines with the number of alerts without one.
const COUNT_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of alerts without proof whose last line is remembered, and of proven ones, in a megabyte each. Beyond it, alerts are
/// counted in one line for each interval.
const MAX_ALARMS: usize = MAX_SAVED_ALERTS / 2;

/// Maximum length of a name of a server in a line about an alert, in bytes.
const MAX_ALARM_NAME_BYTES: usize = 255;

/// Counts alerts and reports them on standard error, from any thread.
#[derive(Debug)]
pub(super) struct Alarms {
    seen: Mutex<Seen>,
    messages: Messages,
}

#[derive(Debug, Default)]
struct Seen {
    /// Alerts since the start.
    counts: BTreeMap<(AlertKind, Severity), u64>,
    lines: AlarmLines<AlertId>,
    /// Alerts that an earlier run reported, and this one did not yet.
    earlier: HashSet<AlertId>,
}

impl Alarms {
    pub(super) fn new(messages: Messages) -> Self {
        Self { seen: Mutex::default(), messages }
    }

    /// The alerts of each kind and severity.
    pub(super) fn counters(&self) -> AlertCounters {
        self.with_seen(|seen| {
            let of_kind = |kind| {
                let count = |severity| seen.counts.get(&(kind, severity)).copied().unwrap_or_default();
                Severity::ALL.iter().map(|&severity| (severity.name(), count(severity))).collect()
            };
            AlertKind::ALL.iter().map(|&kind| (kind.name(), of_kind(kind))).collect()
        })
    }

    /// Counts and reports an event that is an alert.
    pub(super) fn on_event(&self, event: &Event) {
        let Some(alert) = Alert::of(event) else { return };
        let severity = alert.severity();
        let alarm = Alarm {
            id: alert.id(),
            severity,
            is_proven: alert.is_proven(),
            is_update: alert.is_update(),
            line: &AlarmLine(alert),
        };
        self.with_seen(|seen| {
            let is_new =
                seen.lines.add(&alarm, Instant::now(), &|line| self.messages.print_alert(severity, line));
            if is_new {
                let count = seen.counts.entry((alert.kind(), severity)).or_default();
                *count = count.saturating_add(1);
            }
        });
    }

    /// An event about a finding or a tool that an earlier run reported, as an update: the analysis of this run does not know of it.
    pub(super) fn as_update(&self, event: &Event) -> Option<Event> {
        self.as_update_at(event, Instant::now())
    }

    /// None without a line of the last [`ALARM_INTERVAL`]: the alert needs another one.
    fn as_update_at(&self, event: &Event, now: Instant) -> Option<Event> {
        let alert = Alert::of(event).filter(|alert| !alert.is_update())?;
        let has_line = |seen: &mut Seen| {
            let id = alert.id();
            !seen.earlier.is_empty() && seen.earlier.remove(&id) && seen.lines.has_line(&id, now)
        };
        if !self.with_seen(has_line) {
            return None;
        }
        let mut event = event.clone();
        match &mut event.kind {
            Observation::Finding(finding) => finding.is_update = true,
            Observation::Tool(found) => found.is_update = true,
            _ => return None,
        }
        Some(event)
    }

    /// Reports how many alerts had no line of their own, once a line is due.
    pub(super) fn report_due(&self, now: Instant) {
        self.with_seen(|seen| seen.lines.flush(now, &|line| self.messages.warn(line)));
    }

    /// Reports how many alerts had no line of their own.
    pub(super) fn finish(&self) {
        self.with_seen(|seen| seen.lines.report_rest(&|line| self.messages.warn(line)));
    }

    /// The lines of the last [`ALARM_INTERVAL`], for the next start.
    pub(super) fn saved(&self) -> Vec<SavedAlarm> {
        let (now, time) = (Instant::now(), SystemTime::now());
        self.with_seen(|seen| {
            let lines = seen.lines.last.iter().zip([false, true]);
            let lines = lines.flat_map(|(lines, proven)| lines.iter().map(move |line| (line, proven)));
            let save = |((&alert, last), proven): ((&AlertId, &Last), bool)| {
                let age = now.saturating_duration_since(last.at);
                let at = time.checked_sub(age).filter(|_| age < ALARM_INTERVAL)?;
                let at = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
                Some(SavedAlarm { alert, at, severity: last.severity.name().into(), proven })
            };
            lines.filter_map(save).collect()
        })
    }

    /// Takes the lines that an earlier run printed: it prints none about these alerts before their interval is over.
    pub(super) fn restore(&self, saved: Vec<SavedAlarm>) {
        let (now, time) = (Instant::now(), SystemTime::now());
        self.with_seen(|seen| {
            for SavedAlarm { alert, at, severity, proven } in saved {
                let at = UNIX_EPOCH.checked_add(Duration::from_secs(at));
                // A time in the future is of another clock.
                let age = at.and_then(|at| time.duration_since(at).ok());
                let at = age.filter(|age| *age < ALARM_INTERVAL).and_then(|age| now.checked_sub(age));
                let severity = Severity::ALL.iter().copied().find(|known| known.name() == &*severity);
                let [of_unproven, of_proven] = &mut seen.lines.last;
                let lines = if proven { of_proven } else { of_unproven };
                if let (Some(at), Some(severity)) = (at, severity)
                    && lines.len() < MAX_ALARMS
                {
                    lines.insert(alert, Last { at, severity, repeats: 0 });
                    seen.earlier.insert(alert);
                }
            }
        });
    }

    fn with_seen<R>(&self, update: impl FnOnce(&mut Seen) -> R) -> R {
        update(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A line about an alert that an earlier run printed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedAlarm {
    alert: AlertId,
    /// When, in seconds since the Unix epoch.
    at: u64,
    severity: Box<str>,
    proven: bool,
}

/// An alert for [`AlarmLines`].
struct Alarm<'a, K> {
    id: K,
    severity: Severity,
    is_proven: bool,
    is_update: bool,
    line: &'a dyn Display,
}

/// Prints a line. Returns whether it was queued: a reader of standard error that stalls loses lines.
type Print<'a> = &'a dyn Fn(&dyn Display) -> bool;

/// The last lines, and the alerts since.
#[derive(Debug)]
struct AlarmLines<K> {
    /// Those of alerts without proof, and those of proven ones: forged packets take no room of proven alerts.
    last: [HashMap<K, Last>; 2],
    /// The time of the last count.
    counted_at: Option<Instant>,
    /// Alerts without a line since.
    unreported: u64,
}

/// The last line of an alert.
#[derive(Debug)]
struct Last {
    at: Instant,
    severity: Severity,
    repeats: u64,
}

impl<K> Default for AlarmLines<K> {
    fn default() -> Self {
        Self { last: Default::default(), counted_at: None, unreported: 0 }
    }
}

impl<K: Copy + Eq + Hash> AlarmLines<K> {
    /// Prints a line for an alert: at once for a new one, and for one that is proven or more severe since; otherwise at most one in
    /// [`ALARM_INTERVAL`], with the number of alerts since the line before it, and none for an update. An alert whose line is lost counts
    /// as one without a line, and the next one has a line. Returns whether the alert is more than an update.
    fn add(&mut self, alarm: &Alarm<'_, K>, now: Instant, print: Print<'_>) -> bool {
        let Alarm { id, severity, is_proven, is_update, line } = *alarm;
        let [unproven, proven] = &mut self.last;
        let lines = if is_proven { proven } else { unproven };
        let Some(last) = lines.get_mut(&id) else {
            // The line before an update that is proven said that it was not.
            if is_update && !is_proven {
                return false;
            }
            if lines.len() < MAX_ALARMS && print(line) {
                lines.insert(id, Last { at: now, severity, repeats: 0 });
            } else {
                self.unreported = self.unreported.saturating_add(1);
            }
            return true;
        };
        let is_worse = severity > last.severity;
        if is_update && !is_worse {
            return false;
        }
        let is_due = is_worse || is_over(Some(last.at), ALARM_INTERVAL, now);
        let is_printed = is_due
            && match last.repeats {
                0 => print(line),
                repeats => {
                    print(&format_args!("{line}; {} since its last line", Amount(repeats, "more report(s)")))
                }
            };
        if is_printed {
            self.unreported = self.unreported.saturating_sub(mem::take(&mut last.repeats));
            (last.at, last.severity) = (now, severity);
        } else {
            last.repeats = last.repeats.saturating_add(1);
            self.unreported = self.unreported.saturating_add(1);
        }
        true
    }

    /// Whether a line of the last [`ALARM_INTERVAL`] is known.
    fn has_line(&self, id: &K, now: Instant) -> bool {
        let mut lines = self.last.iter().filter_map(|lines| lines.get(id));
        lines.any(|last| !is_over(Some(last.at), ALARM_INTERVAL, now))
    }

    /// Prints the number of alerts without a line, once an interval is over, and makes room for new lines.
    fn flush(&mut self, now: Instant, print: Print<'_>) {
        if self.unreported == 0 {
            self.counted_at = Some(now);
        } else if is_over(self.counted_at, COUNT_INTERVAL, now) {
            self.report_rest(print);
            self.counted_at = Some(now);
        }
        for lines in self.last.iter_mut().filter(|lines| lines.len() >= MAX_ALARMS) {
            // Alerts of a flood give way after a minute.
            lines.retain(|_, last| !is_over(Some(last.at), COUNT_INTERVAL, now));
        }
    }

    fn report_rest(&mut self, print: Print<'_>) {
        if self.unreported > 0 && print(&Amount(self.unreported, "more alert(s) without a line")) {
            self.unreported = 0;
            self.last.iter_mut().flat_map(HashMap::values_mut).for_each(|last| last.repeats = 0);
        }
    }
}

fn is_over(at: Option<Instant>, interval: Duration, now: Instant) -> bool {
    at.is_none_or(|at| now.saturating_duration_since(at) >= interval)
}

/// One line about an alert. Texts are shortened, control characters escaped.
struct AlarmLine<'a>(Alert<'a>);

impl Display for AlarmLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(alert) = self;
        let event = alert.event();
        let (client, server) = (event.flow.client, event.flow.server);
        write!(f, "{} {} {}: {client} -> {server}", event.ts, alert.severity(), alert.kind().name())?;
        if let Observation::Match(found) = &event.kind
            && let Some(name) = found.server_name.as_deref().or(found.host.as_deref())
        {
            write!(f, " ({})", ShortName(name))?;
        }
        let reason = alert.reason().to_string();
        match reason.get(..last_boundary(&reason, MAX_ALERT_TEXT)) {
            Some(start) if start.len() < reason.len() => write!(f, ": {start}..."),
            _ => write!(f, ": {reason}"),
        }
    }
}

/// The start of a name for the terminal.
struct ShortName<'a>(&'a [u8]);

impl Display for ShortName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_at_checked(MAX_ALARM_NAME_BYTES) {
            Some((start, rest)) if !rest.is_empty() => write!(f, "{:#}...", Escaped(start)),
            _ => write!(f, "{:#}", Escaped(self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use huginn_net::{CaptureReader, HuginnNet};

    use super::*;

    /// Lines that were printed, and a clock.
    struct Standard {
        lines: AlarmLines<usize>,
        said: RefCell<Vec<String>>,
        has_room: Cell<bool>,
        start: Instant,
    }

    impl Standard {
        fn new() -> Self {
            let lines = AlarmLines::default();
            Self { lines, said: RefCell::default(), has_room: Cell::new(true), start: Instant::now() }
        }

        fn at(&self, seconds: u64) -> Instant {
            self.start.checked_add(Duration::from_secs(seconds)).unwrap()
        }

        fn print(said: &RefCell<Vec<String>>, has_room: bool, line: &dyn Display) -> bool {
            said.borrow_mut().push(line.to_string());
            has_room
        }

        /// Adds an alert that says its number. Returns whether it is more than an update.
        fn add(&mut self, seconds: u64, id: usize, alarm: (Severity, bool, bool)) -> bool {
            let (severity, is_proven, is_update) = alarm;
            let alarm = Alarm { id, severity, is_proven, is_update, line: &id };
            let (now, has_room) = (self.at(seconds), self.has_room.get());
            self.lines.add(&alarm, now, &|line| Self::print(&self.said, has_room, line))
        }

        fn flush(&mut self, seconds: u64) {
            let (now, has_room) = (self.at(seconds), self.has_room.get());
            self.lines.flush(now, &|line| Self::print(&self.said, has_room, line));
        }

        fn finish(&mut self) {
            let has_room = self.has_room.get();
            self.lines.report_rest(&|line| Self::print(&self.said, has_room, line));
        }
    }

    const NEW: (Severity, bool, bool) = (Severity::Medium, false, false);
    const UPDATE: (Severity, bool, bool) = (Severity::Medium, false, true);

    #[test]
    fn each_alert_has_a_line_at_once_and_repeats_are_counted() {
        let mut standard = Standard::new();
        for (seconds, id) in [(0, 1), (0, 2), (1, 3), (1, 1), (2, 1), (3599, 2)] {
            assert!(standard.add(seconds, id, NEW));
        }
        assert_eq!(standard.said.take(), ["1", "2", "3"]);
        standard.add(3600, 1, NEW);
        assert_eq!(standard.said.take(), ["1; 2 more reports since its last line"]);
        standard.flush(3600);
        standard.finish();
        assert_eq!(standard.said.take(), ["1 more alert without a line"]);
        standard.add(3700, 2, NEW);
        assert_eq!(standard.said.take(), ["2"]);
    }

    #[test]
    fn update_has_no_line_unless_it_is_proven_or_worse() {
        let mut standard = Standard::new();
        standard.add(0, 1, NEW);
        assert!(!standard.add(100, 1, UPDATE) && !standard.add(100, 2, UPDATE));
        assert_eq!(standard.said.take(), ["1"]);
        let proven = (Severity::Medium, true, true);
        assert!(standard.add(101, 1, proven) && !standard.add(102, 1, proven));
        assert!(standard.add(103, 1, (Severity::High, true, true)));
        assert!(!standard.add(104, 1, (Severity::High, true, true)));
        assert!(standard.add(105, 1, (Severity::Low, true, false)), "a repeat counts");
        assert_eq!((standard.said.take(), standard.lines.unreported), (vec!["1".to_owned(); 2], 1));
    }

    #[test]
    fn lost_line_is_counted_and_the_next_alert_has_one() {
        let mut standard = Standard::new();
        standard.has_room.set(false);
        standard.add(0, 1, NEW);
        standard.finish();
        assert_eq!((standard.lines.unreported, standard.lines.last[0].len()), (1, 0));
        standard.has_room.set(true);
        standard.said.take();
        standard.add(0, 1, NEW);
        standard.has_room.set(false);
        standard.add(3600, 1, NEW);
        standard.has_room.set(true);
        standard.finish();
        assert_eq!(standard.said.take(), ["1", "1", "2 more alerts without a line"]);
        standard.add(3600, 1, NEW);
        assert_eq!((standard.said.take(), standard.lines.unreported), (vec!["1".to_owned()], 0));
    }

    #[test]
    fn flood_is_bounded_and_leaves_room_for_proven_alerts() {
        let mut standard = Standard::new();
        (0..MAX_ALARMS + 10).for_each(|id| _ = standard.add(0, id, NEW));
        assert_eq!(standard.said.take().len(), MAX_ALARMS);
        standard.add(0, 1, (Severity::High, true, false));
        assert_eq!(standard.said.take(), ["1"]);
        standard.flush(60);
        assert_eq!(standard.said.take(), ["10 more alerts without a line"]);
        standard.add(60, MAX_ALARMS + 11, NEW);
        assert_eq!((standard.said.take().len(), standard.lines.last[0].len()), (1, 1));
    }

    fn alarms() -> Alarms {
        Alarms::new(Messages::start().unwrap().0)
    }

    fn alerts() -> Vec<Event> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/nmap-scan/nmap-scan.pcap");
        let mut alerts = Vec::new();
        let keep = |event: Event| alerts.extend(Alert::of(&event).is_some().then_some(event));
        HuginnNet::builder().build().analyze(CaptureReader::open(path).unwrap(), keep).unwrap();
        alerts
    }

    #[test]
    fn lines_of_the_last_hour_are_known_after_a_restart() {
        let event = &alerts()[0];
        let lines = |alarms: &Alarms| alarms.with_seen(|seen| seen.lines.unreported);

        let first = alarms();
        first.on_event(event);
        let saved = serde_json::to_string(&first.saved()).unwrap();
        let second = alarms();
        second.restore(serde_json::from_str(&saved).unwrap());
        assert!(first.as_update(event).is_none());
        let update = second.as_update(event).unwrap();
        assert!(Alert::of(&update).unwrap().is_update() && second.as_update(event).is_none());
        second.on_event(&update);
        assert_eq!((lines(&first), lines(&second)), (0, 0), "{saved}");
        second.on_event(event);
        assert_eq!(lines(&second), 1);

        let mut old: Vec<SavedAlarm> = serde_json::from_str(&saved).unwrap();
        old.iter_mut().for_each(|line| line.at -= 3600);
        let third = alarms();
        third.restore(old);
        assert!(third.as_update(event).is_none());
        third.on_event(event);
        assert_eq!(lines(&third), 0);
    }

    #[test]
    fn alert_of_earlier_run_without_recent_line() {
        let event = &alerts()[0];
        let restored = || {
            let (first, second) = (alarms(), alarms());
            first.on_event(event);
            second.restore(first.saved());
            second
        };
        let after = |seconds| Instant::now().checked_add(Duration::from_secs(seconds)).unwrap();
        assert!(restored().as_update_at(event, after(3500)).is_some());
        assert!(restored().as_update_at(event, after(3600)).is_none());
        let flooded = restored();
        flooded.with_seen(|seen| seen.lines.last.iter_mut().for_each(HashMap::clear));
        assert!(flooded.as_update(event).is_none());
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        assert_eq!(ShortName(b"a\x1b[2J\n\xff").to_string(), r"a\x1b[2J\x0a\xff");
        assert_eq!(ShortName(&[b'x'; MAX_ALARM_NAME_BYTES]).to_string(), "x".repeat(MAX_ALARM_NAME_BYTES));
        assert!(ShortName(&[b'x'; MAX_ALARM_NAME_BYTES + 1]).to_string().ends_with("x..."));
    }
}
