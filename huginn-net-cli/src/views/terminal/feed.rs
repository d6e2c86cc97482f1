//! Contents of the screen, collected while the analysis runs.

use std::collections::VecDeque;
use std::fmt::{self, Display, Write as _};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use huginn_net::Event;
use huginn_net::alert::Severity;
use huginn_net::core::Amount;
use huginn_net::hosts::HostId;

use super::kept::{EventLine, KeptLines};
use super::view::{HostOrder, Panel, Target, View};
use crate::output::Lines;
use crate::output::Zone;
use crate::views::store::alerts::{RankedAlert, SeenAlert};
use crate::views::store::statement::Statement;
use crate::views::store::{Part, SeenHost, Store, ValueKind};

/// Number of events that the terminal view keeps.
const MAX_VIEW_LINES: usize = 1000;

/// Number of alerts in the terminal view.
const MAX_VIEW_ALERTS: usize = 200;

/// Number of messages in the terminal view; older ones are only written.
const MAX_VIEW_MESSAGES: usize = 3;

/// Number of rare fingerprints of each kind in the terminal view.
const MAX_VIEW_RARE: usize = 25;

/// The kinds of fingerprints whose rarest values are shown.
const RARE_KINDS: [ValueKind; 4] = [ValueKind::Ja4, ValueKind::Syn, ValueKind::HttpRequest, ValueKind::Hassh];

/// Collects the contents of the screen. The analysis adds events from any thread; memory is bounded.
pub(crate) struct Feed {
    state: Mutex<State>,
    lines: Lines,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

struct State {
    store: Store,
    newest: VecDeque<Arc<EventLine>>,
    /// The lines of each host.
    kept: KeptLines,
    /// Names of captures by their indices, if there are several.
    files: HashMap<usize, String>,
    messages: VecDeque<String>,
    counts: Counts,
    source: String,
    /// Memory of the line that is written.
    line: Vec<u8>,
}

/// Counters of the analysis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) flows: u64,
    /// Losses by place: all places, those without losses included.
    pub(crate) losses: Vec<(&'static str, u64)>,
    pub(crate) has_ended: bool,
}

/// A rare fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RareValue {
    pub(super) kind: &'static str,
    pub(super) value: String,
    pub(super) name: String,
    pub(super) hosts: usize,
    pub(super) client: IpAddr,
}

/// An alert about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FindingRow {
    pub(super) severity: Severity,
    pub(super) host: IpAddr,
    /// Kind and reason, with packets and file.
    pub(super) text: String,
}

/// Contents of one screen.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) counts: Counts,
    pub(super) events: u64,
    /// Name of the input: `eth0`, or `3 of 17: name.pcap`.
    pub(super) source: String,
    pub(super) host_count: usize,
    pub(super) hosts: Vec<(IpAddr, SeenHost)>,
    /// Those that matter most first.
    pub(super) findings: Vec<FindingRow>,
    pub(super) rare: Vec<RareValue>,
    /// The newest first.
    pub(super) newest: Vec<Arc<EventLine>>,
    pub(super) messages: Vec<String>,
    /// Lines of the details, if they are open.
    pub(super) details: Vec<String>,
}

impl Feed {
    pub(crate) fn new(zone: Zone) -> Self {
        let state = State {
            store: Store::new(&[Part::Fingerprints, Part::HostNames, Part::Alerts]),
            newest: VecDeque::new(),
            kept: KeptLines::default(),
            files: HashMap::default(),
            messages: VecDeque::new(),
            counts: Counts::default(),
            source: String::new(),
            line: Vec::new(),
        };
        Self { state: Mutex::new(state), lines: Lines::new(false, zone) }
    }

    /// Adds an event.
    pub(crate) fn add(&self, event: &Event) {
        let mut state = self.lock();
        state.store.add(event);
        state.line.clear();
        let State { line, newest, kept, .. } = &mut *state;
        self.lines.write(line, event, None);
        let text = line.trim_ascii_end();
        if !text.is_empty() {
            let line = Arc::new(EventLine {
                number: kept.next_number(),
                client: event.flow.client,
                server: event.flow.server,
                is_alarm: Lines::is_alarm(event),
                text: String::from_utf8_lossy(text).into(),
            });
            kept.add(&line);
            if newest.len() >= MAX_VIEW_LINES {
                newest.pop_front();
            }
            newest.push_back(line);
        }
    }

    /// Adds a message of the program.
    pub(crate) fn add_message(&self, message: &dyn Display) {
        let mut state = self.lock();
        if state.messages.len() >= MAX_VIEW_MESSAGES {
            state.messages.pop_front();
        }
        state.messages.push_back(message.to_string());
    }

    /// Replaces the counters, unless the analysis has ended.
    pub(crate) fn set_counts(&self, counts: Counts) {
        let mut state = self.lock();
        if !state.counts.has_ended {
            state.counts = counts;
        }
    }

    /// Sets the name of the input.
    pub(crate) fn set_source(&self, source: String) {
        self.lock().source = source;
    }

    /// Sets the capture that the next events come from. `name`: its name, if there are several.
    pub(crate) fn set_capture(&self, index: usize, name: Option<&str>) {
        let mut state = self.lock();
        state.store.begin_file(index, None);
        if let Some(name) = name {
            state.files.insert(index, name.to_owned());
        }
    }

    /// The messages that are shown.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.lock().messages.iter().cloned().collect()
    }

    /// Returns the contents of a screen with at most `rows` rows below the selected ones.
    pub(super) fn show(&self, view: &View, rows: usize) -> Shown {
        let state = self.lock();
        let filter = RowFilter::new(&view.filter);
        let rows_of = |panel| view.selected(panel).saturating_add(rows);
        let (host_count, hosts) = state.first_hosts(view.order, rows_of(Panel::Hosts), &filter);
        let lines = state.newest.iter().rev().filter(|line| filter.selects(&line.text));
        Shown {
            counts: state.counts.clone(),
            events: state.store.events,
            source: state.source.clone(),
            host_count,
            hosts,
            findings: state.findings(&filter),
            rare: state.rare(&filter),
            newest: lines.take(rows_of(Panel::Events)).cloned().collect(),
            messages: state.messages.iter().cloned().collect(),
            details: view.details.map(|target| state.details(target)).unwrap_or_default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The number of hosts that the filter selects, and the first ones.
    fn first_hosts(
        &self,
        order: HostOrder,
        rows: usize,
        filter: &RowFilter,
    ) -> (usize, Vec<(IpAddr, SeenHost)>) {
        let is_shown = |(id, host): &(HostId, &SeenHost)| {
            let SeenHost { system, software, tls_client, tool, .. } = host;
            let text = || format!("{} {system} {software} {tls_client} {tool}", id.ip());
            filter.is_empty() || filter.selects(&text())
        };
        let mut hosts: Vec<_> = self.store.hosts.iter().filter(is_shown).collect();
        let count = hosts.len();
        let key = |(id, host): &(HostId, &SeenHost)| {
            let rank = match order {
                HostOrder::MostEvents => host.seen.count,
                HostOrder::Latest => host.seen.last.as_nanos(),
            };
            (std::cmp::Reverse((!host.tool.is_empty(), rank)), *id)
        };
        if hosts.len() > rows && rows > 0 {
            hosts.select_nth_unstable_by_key(rows.saturating_sub(1), key);
        }
        hosts.truncate(rows);
        hosts.sort_unstable_by_key(key);
        (count, hosts.into_iter().map(|(id, host)| (id.ip(), host.clone())).collect())
    }

    /// The alerts.
    fn findings(&self, filter: &RowFilter) -> Vec<FindingRow> {
        let ranked = self.store.alerts.ranked();
        let rows = ranked.iter().take(MAX_VIEW_ALERTS).map(|RankedAlert { alert, others }| {
            let mut row = self.finding(alert);
            if *others > 0 {
                // Writing to memory does not fail.
                _ = write!(row.text, " and {}", Amount(*others, "other(s)"));
            }
            row
        });
        rows.filter(|row| filter.is_empty() || filter.selects(&row.row_text())).collect()
    }

    fn finding(&self, alert: &SeenAlert) -> FindingRow {
        let SeenAlert { kind, severity, statement, .. } = alert;
        let Statement { host, reason, packets, .. } = statement;
        let mut text = format!("{}: {reason}, {packets}", kind.title());
        if let Some(name) = self.files.get(&packets.file) {
            // Writing to memory does not fail.
            _ = write!(text, " of {name}");
        }
        FindingRow { severity: *severity, host: *host, text }
    }

    /// What a host is, its findings, and the events of a host or a connection that are kept, the newest first.
    fn details(&self, target: Target) -> Vec<String> {
        let mut lines = Vec::new();
        if let Target::Host(ip) = target {
            for (_, host) in self.store.hosts.iter().filter(|(id, _)| id.ip() == ip) {
                let SeenHost { seen, system, software, tls_client, tool, is_mismatch } = host;
                let difference = if *is_mismatch { "differs from what it says" } else { "" }.to_owned();
                for (name, value) in [
                    ("system", system),
                    ("software", software),
                    ("TLS client", tls_client),
                    ("tool", tool),
                    ("remark", &difference),
                ] {
                    if !value.is_empty() {
                        lines.push(format!("{name:<11} {value}"));
                    }
                }
                lines.push(format!("{:<11} {}", "events", seen.count));
            }
            lines.extend(self.store.alerts.of_host(ip).take(MAX_VIEW_ALERTS).map(|alert| {
                let FindingRow { severity, text, .. } = self.finding(alert);
                format!("{:<11} {severity}: {text}", "alert")
            }));
            lines.push(String::new());
        }
        let is_own = |line: &&Arc<EventLine>| match target {
            Target::Host(ip) => line.client.ip() == ip || line.server.ip() == ip,
            Target::Connection { client, server } => (line.client, line.server) == (client, server),
        };
        let own = self.newest.iter().rev().filter(is_own);
        lines.extend(own.map(|line| line.text.to_string()));
        let ip = match target {
            Target::Host(ip) => ip,
            Target::Connection { client, .. } => client.ip(),
        };
        let oldest = self.newest.front().map_or(u64::MAX, |line| line.number);
        let earlier = self.kept.before(ip, oldest);
        let text = |line: &Arc<EventLine>| line.text.to_string();
        lines.extend(earlier.last.iter().copied().filter(is_own).map(text));
        let is_of_host = |line: &&Arc<EventLine>| [line.client.ip(), line.server.ip()].contains(&ip);
        let kept = [self.newest.iter().filter(is_of_host).count(), earlier.last.len(), earlier.first.len()];
        let dropped = kept.iter().fold(earlier.all, |all, count| all.saturating_sub(*count as u64));
        if dropped > 0 {
            let whose = match target {
                Target::Host(_) => "of this host",
                Target::Connection { .. } => "of its client, which may be of this connection,",
            };
            let are = if dropped == 1 { "is" } else { "are" };
            let events = Amount(dropped, "event(s)");
            lines.push(format!("-- {events} {whose} between these {are} not kept --"));
        }
        lines.extend(earlier.first.iter().copied().filter(is_own).map(text));
        lines
    }

    fn rare(&self, filter: &RowFilter) -> Vec<RareValue> {
        let values = RARE_KINDS.into_iter().flat_map(|kind| {
            let rare = self.store.values.of(kind).rare(MAX_VIEW_RARE);
            rare.into_iter().map(move |(value, seen)| RareValue {
                kind: kind.title(),
                value: value.to_owned(),
                name: seen.name.as_deref().unwrap_or_default().to_owned(),
                hosts: seen.hosts(),
                client: seen.first.client.ip(),
            })
        });
        let is_shown = |value: &RareValue| {
            let RareValue { kind, value, name, client, .. } = value;
            filter.is_empty() || filter.selects(&format!("{kind} {client} {name} {value}"))
        };
        let mut values: Vec<RareValue> = values.filter(is_shown).collect();
        // Unnamed values come first among equally rare ones: they are the more interesting.
        values.sort_by_key(|value| (value.hosts, !value.name.is_empty()));
        values
    }
}

impl FindingRow {
    /// The text of a row.
    fn row_text(&self) -> String {
        format!("{} {} {}", self.severity, self.host, self.text)
    }
}

/// Words that a row must have, in any order and case.
struct RowFilter(Vec<String>);

impl RowFilter {
    fn new(text: &str) -> Self {
        Self(text.split_whitespace().map(str::to_lowercase).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn selects(&self, row: &str) -> bool {
        if self.is_empty() {
            return true;
        }
        let row = row.to_lowercase();
        self.0.iter().all(|word| row.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use huginn_net::{CaptureReader, Configure, HuginnNet};

    use super::*;
    use crate::limits::MAX_VIEW_HOST_LINES;

    fn details(feed: &Feed, ip: &str) -> Vec<String> {
        let mut view = View::default();
        view.open_details(Some(Target::Host(ip.parse().unwrap())));
        feed.show(&view, 40).details
    }

    #[test]
    fn evidence_of_a_host_outlasts_the_events_of_others() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
        let mut events = Vec::new();
        let mut analyzer = HuginnNet::builder().handshakes(true).build();
        analyzer.analyze(CaptureReader::open(path).unwrap(), &mut |event: Event| events.push(event)).unwrap();
        let (early, others): (Vec<Event>, Vec<Event>) =
            events.into_iter().partition(|event| event.flow.client.is_ipv6());
        let feed = Feed::new(Zone::new(false));
        early.iter().for_each(|event| feed.add(event));
        (0..100).for_each(|_| others.iter().for_each(|event| feed.add(event)));

        let of_early = details(&feed, "2001:db8::1");
        for text in ["libcurl 7.88", "SYN"] {
            assert!(of_early.iter().any(|line| line.contains(text)), "{text}: {of_early:#?}");
        }
        assert!(of_early.iter().all(|line| !line.contains("not kept")), "{of_early:#?}");
        let of_others = details(&feed, "192.0.2.1");
        let note = of_others.iter().position(|line| line.contains("of this host between these are not kept"));
        let note = note.unwrap_or_else(|| panic!("{of_others:#?}"));
        assert_eq!(of_others.len() - note - 1, MAX_VIEW_HOST_LINES / 2, "the first lines");
        let counted = feed.show(&View::default(), 40);
        assert_eq!((counted.findings.len(), counted.newest.len()), (0, 40));
    }
}
