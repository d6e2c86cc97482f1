//! Counts and reports hits of watch lists.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

use huginn_net::core::Amount;
use huginn_net::finding::Match;
use huginn_net::{Escaped, Event, Finding, Timestamp};

use crate::control::counters::WatchListCounters;
use crate::limits::{MAX_NOTICE_TEXT_BYTES, MAX_NOTICED, WATCH_NOTICE_INTERVAL};
use crate::output::Messages;
use crate::plan::{LoadedLists, WatchFiles};

/// Counts matches and reports them on standard error, from any thread.
#[derive(Debug)]
pub(super) struct Watched {
    files: Option<WatchFiles>,
    /// Matches of each list since the start, by name, those of former lists included.
    counts: RwLock<BTreeMap<Arc<str>, AtomicU64>>,
    /// When the lists were read, in nanoseconds since the Unix epoch.
    loaded_at: AtomicU64,
    notices: Mutex<Notices>,
    messages: Messages,
}

impl Watched {
    pub(super) fn new(files: Option<WatchFiles>, messages: Messages) -> Self {
        Self {
            files,
            counts: RwLock::default(),
            loaded_at: AtomicU64::new(now()),
            notices: Mutex::default(),
            messages,
        }
    }

    /// Number of matches since the start.
    pub(super) fn count(&self) -> u64 {
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        counts.values().map(|count| count.load(Ordering::Relaxed)).fold(0, u64::saturating_add)
    }

    fn add(&self, list: &Arc<str>) {
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get(list) {
            count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        drop(counts);
        let mut counts = self.counts.write().unwrap_or_else(PoisonError::into_inner);
        counts.entry(Arc::clone(list)).or_default().fetch_add(1, Ordering::Relaxed);
    }

    /// The counters of each list, by name.
    pub(super) fn counters(&self) -> BTreeMap<String, WatchListCounters> {
        let Some(files) = &self.files else { return BTreeMap::new() };
        let lists = files.handle.get();
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        let loaded_at = self.loaded_at.load(Ordering::Relaxed);
        let counters = lists.summaries().iter().map(|list| {
            let matches = counts.get(&list.name).map_or(0, |count| count.load(Ordering::Relaxed));
            (list.name.to_string(), WatchListCounters { entries: list.entries, matches, loaded_at })
        });
        counters.collect()
    }

    /// Counts and reports an event that is a match.
    pub(super) fn on_event(&self, event: &Event) {
        let Finding::Match(found) = &event.kind else { return };
        self.add(&found.list);
        let notice = Notice { event, found };
        self.with_notices(|notices| {
            let key = Key::new(event, found);
            notices.add(key, &notice, Instant::now(), &|message| self.messages.warn(message));
        });
    }

    /// Reports how many matches had no line of their own, once a line is due.
    pub(super) fn report_due(&self, now: Instant) {
        self.with_notices(|notices| notices.flush(now, &|message| self.messages.warn(message)));
    }

    /// Reports how many matches had no line of their own.
    pub(super) fn finish(&self) {
        self.with_notices(|notices| notices.report_rest(&|message| self.messages.warn(message)));
    }

    fn with_notices(&self, update: impl FnOnce(&mut Notices)) {
        update(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Reports lists that were read again.
    pub(super) fn on_reload(&self, loaded: &LoadedLists) {
        self.loaded_at.store(now(), Ordering::Relaxed);
        let LoadedLists { entries, took, warnings } = loaded;
        for warning in warnings {
            self.messages.warn(warning);
        }
        self.messages.print(&format_args!("watch lists read again in {took:.1?}: {entries} entries"));
    }
}

fn now() -> u64 {
    Timestamp::from(SystemTime::now()).as_nanos()
}

/// What has a line at once: a client, a server and the value of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    client: IpAddr,
    server: SocketAddr,
    list: Arc<str>,
    line: Option<u32>,
    value: Arc<str>,
}

impl Key {
    fn new(event: &Event, found: &Match) -> Self {
        Self {
            client: event.flow.client.ip(),
            server: event.flow.server,
            list: Arc::clone(&found.list),
            line: found.line,
            value: Arc::clone(&found.value),
        }
    }
}

/// Prints a line. Returns whether it was queued: a reader of standard error that stalls loses lines.
type Print<'a> = &'a dyn Fn(&dyn fmt::Display) -> bool;

/// The last lines, and the matches since.
#[derive(Debug, Default)]
struct Notices {
    last: HashMap<Key, Last>,
    /// The time of the last count.
    counted_at: Option<Instant>,
    /// Matches without a line since.
    unreported: u64,
}

/// The last line of a key.
#[derive(Debug)]
struct Last {
    at: Instant,
    repeats: u64,
}

impl Notices {
    /// Prints a line for a match: at once for a new key, then at most one in [`WATCH_NOTICE_INTERVAL`], with the number of
    /// matches since the line before it. A match whose line is lost counts as one without a line, and the next one has a line.
    fn add(&mut self, key: Key, notice: &dyn fmt::Display, now: Instant, print: Print<'_>) {
        if let Some(last) = self.last.get_mut(&key) {
            let is_due = is_over(Some(last.at), now);
            let is_printed = is_due
                && match last.repeats {
                    0 => print(notice),
                    repeats => print(&format_args!(
                        "{notice}; {} since its last line",
                        Amount(repeats, "more hit(s)")
                    )),
                };
            if is_printed {
                self.unreported = self.unreported.saturating_sub(std::mem::take(&mut last.repeats));
                last.at = now;
            } else {
                last.repeats = last.repeats.saturating_add(1);
                self.unreported = self.unreported.saturating_add(1);
            }
            return;
        }
        if self.last.len() >= MAX_NOTICED {
            self.last.retain(|_, last| !is_over(Some(last.at), now));
        }
        if self.last.len() < MAX_NOTICED && print(notice) {
            self.last.insert(key, Last { at: now, repeats: 0 });
        } else {
            self.unreported = self.unreported.saturating_add(1);
        }
    }

    /// Prints the number of matches without a line, once an interval is over.
    fn flush(&mut self, now: Instant, print: Print<'_>) {
        if self.unreported == 0 {
            self.counted_at = Some(now);
        } else if is_over(self.counted_at, now) {
            self.report_rest(print);
            self.counted_at = Some(now);
        }
    }

    fn report_rest(&mut self, print: Print<'_>) {
        if self.unreported > 0 && print(&Amount(self.unreported, "more hit(s) of watch lists without a line"))
        {
            self.unreported = 0;
            self.last.values_mut().for_each(|last| last.repeats = 0);
        }
    }
}

fn is_over(at: Option<Instant>, now: Instant) -> bool {
    at.is_none_or(|at| now.saturating_duration_since(at) >= WATCH_NOTICE_INTERVAL)
}

/// One line about a match. Texts are shortened, control characters escaped.
struct Notice<'a> {
    event: &'a Event,
    found: &'a Match,
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, found } = self;
        let Match { list, line, kind, value, label, event: name, server_name, host, .. } = found;
        let (client, server) = (event.flow.client, event.flow.server);
        write!(f, "match {} {name}: {client} -> {server}", event.ts)?;
        if let Some(name) = server_name.as_deref().or(host.as_deref()) {
            write!(f, " ({})", Short(name))?;
        }
        write!(f, ": {} {}", kind.name(), Short(value.as_bytes()))?;
        if !label.is_empty() {
            write!(f, ", {}", Short(label.as_bytes()))?;
        }
        write!(f, " [{}", Short(list.as_bytes()))?;
        match line {
            Some(line) => write!(f, ":{line}]"),
            None => f.write_str("]"),
        }
    }
}

/// The start of a text for the terminal.
struct Short<'a>(&'a [u8]);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_at_checked(MAX_NOTICE_TEXT_BYTES) {
            Some((start, rest)) if !rest.is_empty() => write!(f, "{:#}...", Escaped(start)),
            _ => write!(f, "{:#}", Escaped(self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use super::*;

    fn key(client: u8, value: &str) -> Key {
        Key {
            client: [192, 0, 2, client].into(),
            server: ([198, 51, 100, 1], 443).into(),
            list: "list".into(),
            line: Some(1),
            value: value.into(),
        }
    }

    #[test]
    fn each_victim_and_value_has_a_line_at_once() {
        let said = RefCell::new(Vec::new());
        let print = |message: &dyn fmt::Display| {
            said.borrow_mut().push(message.to_string());
            true
        };
        let mut notices = Notices::default();
        let start = Instant::now();
        let at = |seconds| start.checked_add(Duration::from_secs(seconds)).unwrap();
        for (seconds, client, value) in
            [(0, 1, "x"), (0, 2, "x"), (1, 1, "y"), (1, 1, "x"), (2, 1, "x"), (59, 2, "x")]
        {
            notices.add(key(client, value), &format_args!("{client} {value}"), at(seconds), &print);
        }
        assert_eq!(said.take(), ["1 x", "2 x", "1 y"]);
        notices.add(key(1, "x"), &"1 x", at(60), &print);
        assert_eq!(said.take(), ["1 x; 2 more hits since its last line"]);
        notices.flush(at(60), &print);
        notices.report_rest(&print);
        assert_eq!(said.take(), ["1 more hit of watch lists without a line"]);
        notices.add(key(2, "x"), &"2 x", at(200), &print);
        assert_eq!(said.take(), ["2 x"]);
    }

    #[test]
    fn lost_line_is_counted_and_the_next_hit_has_one() {
        let (said, has_room) = (RefCell::new(Vec::new()), Cell::new(false));
        let print = |message: &dyn fmt::Display| {
            said.borrow_mut().push(message.to_string());
            has_room.get()
        };
        let mut notices = Notices::default();
        let start = Instant::now();
        let later = start.checked_add(WATCH_NOTICE_INTERVAL).unwrap();
        notices.add(key(1, "x"), &"1 x", start, &print);
        notices.report_rest(&print);
        assert_eq!((notices.unreported, notices.last.len()), (1, 0), "{said:?}");
        has_room.set(true);
        said.take();
        notices.add(key(1, "x"), &"1 x", start, &print);
        has_room.set(false);
        notices.add(key(1, "x"), &"1 x", later, &print);
        has_room.set(true);
        notices.report_rest(&print);
        assert_eq!(said.take(), ["1 x", "1 x", "2 more hits of watch lists without a line"]);
        notices.add(key(1, "x"), &"1 x", later, &print);
        assert_eq!((said.take(), notices.unreported), (vec!["1 x".to_owned()], 0));
    }

    #[test]
    fn lines_of_a_flood_are_bounded_and_counted() {
        let said = RefCell::new(Vec::new());
        let print = |message: &dyn fmt::Display| {
            said.borrow_mut().push(message.to_string());
            true
        };
        let mut notices = Notices::default();
        let start = Instant::now();
        for value in 0..MAX_NOTICED + 10 {
            notices.add(key(1, &value.to_string()), &"line", start, &print);
        }
        assert_eq!(said.take().len(), MAX_NOTICED);
        let later = start.checked_add(WATCH_NOTICE_INTERVAL).unwrap();
        notices.flush(later, &print);
        assert_eq!(said.take(), ["10 more hits of watch lists without a line"]);
        notices.add(key(2, "new"), &"new", later, &print);
        assert_eq!((said.take(), notices.last.len()), (vec!["new".to_owned()], 1));
    }

    #[test]
    fn texts_are_escaped_and_shortened() {
        assert_eq!(Short(b"a\x1b[2J\n\xff").to_string(), r"a\x1b[2J\x0a\xff");
        assert_eq!(Short(&[b'x'; MAX_NOTICE_TEXT_BYTES]).to_string(), "x".repeat(MAX_NOTICE_TEXT_BYTES));
        assert!(Short(&[b'x'; MAX_NOTICE_TEXT_BYTES + 1]).to_string().ends_with("x..."));
    }
}
