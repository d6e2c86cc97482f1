//! Counts and reports watched fingerprints.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use huginn_net::core::{Amount, FlowId};
use huginn_net::fingerprint_list::ListEntry;
use huginn_net::record::event_name;
use huginn_net::{Escaped, Event, Finding};

use crate::limits::{MAX_NOTICE_LABELS, MAX_NOTICE_TEXT_BYTES, WATCH_NOTICE_INTERVAL};
use crate::output::Messages;

/// Counts the events of watched fingerprints and reports them on standard error, from any thread.
#[derive(Debug)]
pub(super) struct WatchedFingerprints {
    count: AtomicU64,
    notices: Mutex<Notices>,
    messages: Messages,
}

impl WatchedFingerprints {
    pub(super) fn new(messages: Messages) -> Self {
        Self { count: AtomicU64::new(0), notices: Mutex::default(), messages }
    }

    /// Number of events of watched fingerprints since the start.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts and reports an event if a list marks its fingerprint as watched.
    pub(super) fn on_event(&self, event: &Event) {
        let Some(mut entries) = event.kind.listed() else { return };
        entries.retain(|entry| entry.is_watched());
        if entries.is_empty() {
            return;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.with_notices(|notices| {
            let notice = Notice { event, entries: &entries };
            notices.add(&notice, Instant::now(), &|message| self.messages.print(message));
        });
    }

    /// Reports how many events had no line of their own, once a line is due.
    pub(super) fn report_due(&self, now: Instant) {
        self.with_notices(|notices| notices.flush(now, &|message| self.messages.print(message)));
    }

    /// Reports how many events had no line of their own.
    pub(super) fn finish(&self) {
        self.with_notices(|notices| notices.report_rest(&|message| self.messages.print(message)));
    }

    fn with_notices(&self, update: impl FnOnce(&mut Notices)) {
        update(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The time of the last line, and the number of events since.
#[derive(Debug, Default)]
struct Notices {
    at: Option<Instant>,
    unreported: u64,
}

impl Notices {
    /// Prints a line for an event, at most one in [`WATCH_NOTICE_INTERVAL`].
    fn add(&mut self, notice: &dyn fmt::Display, now: Instant, print: &dyn Fn(&dyn fmt::Display)) {
        if !self.is_due(now) {
            self.unreported = self.unreported.saturating_add(1);
            return;
        }
        self.report_rest(print);
        print(notice);
        self.at = Some(now);
    }

    fn flush(&mut self, now: Instant, print: &dyn Fn(&dyn fmt::Display)) {
        if self.unreported > 0 && self.is_due(now) {
            self.report_rest(print);
            self.at = Some(now);
        }
    }

    fn report_rest(&mut self, print: &dyn Fn(&dyn fmt::Display)) {
        let unreported = std::mem::take(&mut self.unreported);
        if unreported > 0 {
            let events = Amount(unreported, "more event(s) of watched fingerprints since the last line");
            print(&events);
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.at.is_none_or(|at| now.saturating_duration_since(at) >= WATCH_NOTICE_INTERVAL)
    }
}

/// One line about a watched fingerprint. Texts are shortened, control characters escaped.
struct Notice<'a> {
    event: &'a Event,
    entries: &'a [&'a ListEntry],
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, entries } = self;
        let FlowId { client, server, .. } = event.flow;
        write!(f, "watched {}: {client} -> {server}", event_name(&event.kind))?;
        let name = match &event.kind {
            Finding::TlsClient(finding) => finding.client.hello.server_name(),
            Finding::HttpRequest(finding) => finding.request.host(),
            _ => None,
        };
        if let Some(name) = name {
            write!(f, " ({})", Short(name))?;
        }
        for (number, entry) in entries.iter().take(MAX_NOTICE_LABELS).enumerate() {
            write!(f, "{} {}", if number == 0 { ":" } else { "," }, Short(entry.label().as_bytes()))?;
        }
        match entries.len().saturating_sub(MAX_NOTICE_LABELS) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
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
    use std::cell::RefCell;
    use std::time::Duration;

    use super::*;

    #[test]
    fn prints_one_line_per_interval() {
        let said = RefCell::new(Vec::new());
        let print = |message: &dyn fmt::Display| said.borrow_mut().push(message.to_string());
        let mut notices = Notices::default();
        let start = Instant::now();
        let at = |seconds| start.checked_add(Duration::from_secs(seconds)).unwrap();
        for (seconds, client) in [(0, Some("a")), (1, Some("b")), (59, Some("c")), (59, None), (60, None)] {
            match client {
                Some(client) => notices.add(&client, at(seconds), &print),
                None => notices.flush(at(seconds), &print),
            }
        }
        assert_eq!(said.take(), ["a", "2 more events of watched fingerprints since the last line"]);
        // A count is a line, too.
        notices.add(&"d", at(119), &print);
        notices.add(&"e", at(120), &print);
        notices.add(&"f", at(121), &print);
        notices.flush(at(179), &print);
        assert_eq!(said.take(), ["1 more event of watched fingerprints since the last line", "e"]);
        notices.report_rest(&print);
        notices.report_rest(&print);
        assert_eq!(said.take(), ["1 more event of watched fingerprints since the last line"]);
    }

    #[test]
    fn texts_are_escaped_and_shortened() {
        assert_eq!(Short(b"a\x1b[2J\n\xff").to_string(), r"a\x1b[2J\x0a\xff");
        assert_eq!(Short(&[b'x'; MAX_NOTICE_TEXT_BYTES]).to_string(), "x".repeat(MAX_NOTICE_TEXT_BYTES));
        assert!(Short(&[b'x'; MAX_NOTICE_TEXT_BYTES + 1]).to_string().ends_with("x..."));
    }
}
