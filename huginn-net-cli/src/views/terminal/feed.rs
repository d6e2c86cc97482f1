//! Contents of the screen, collected while the analysis runs.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::fmt::{self, Display, Write as _};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use huginn_net::finding::HttpVerdict;
use huginn_net::hosts::HostId;
use huginn_net::{Escaped, Event, Finding, Timestamp};

use crate::limits::{MAX_LINE_TEXT, MAX_VIEW_HOSTS, MAX_VIEW_LINES, MAX_VIEW_MESSAGES, MAX_VIEW_RARE};
use crate::output::Lines;
use crate::output::Zone;
use crate::views::overview::{Overview, ValueKind};

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
    overview: Overview,
    hosts: HashMap<HostId, HostSeen>,
    newest: VecDeque<String>,
    messages: VecDeque<String>,
    counts: Counts,
    source: String,
    /// Memory of the line that is written.
    line: Vec<u8>,
}

/// Names and number of events of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostSeen {
    pub(super) events: u64,
    pub(super) last: Timestamp,
    pub(super) system: String,
    pub(super) software: String,
    pub(super) tls_client: String,
    /// The tool whose packets it sends, and what it sent; empty without one.
    pub(super) tool: String,
    /// Whether it differs from what it says.
    pub(super) is_mismatch: bool,
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

/// How hosts are sorted, after those with tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HostOrder {
    #[default]
    MostEvents,
    Latest,
}

/// Contents of one screen.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    pub(super) counts: Counts,
    pub(super) events: u64,
    /// Name of the input: `eth0`, or `3 of 17: name.pcap`.
    pub(super) source: String,
    pub(super) host_count: usize,
    pub(super) hosts: Vec<(IpAddr, HostSeen)>,
    pub(super) rare: Vec<RareValue>,
    /// The newest first.
    pub(super) newest: Vec<String>,
    pub(super) messages: Vec<String>,
}

impl Feed {
    pub(crate) fn new(zone: Zone) -> Self {
        let state = State {
            overview: Overview::new(true),
            hosts: HashMap::default(),
            newest: VecDeque::new(),
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
        state.overview.add(event);
        state.add_to_host(event);
        state.line.clear();
        let State { line, newest, .. } = &mut *state;
        // Writing to memory does not fail.
        let _ = self.lines.write(line, event, None);
        let text = line.trim_ascii_end();
        if !text.is_empty() {
            // Old lines give their memory to new ones.
            let mut kept =
                if newest.len() >= MAX_VIEW_LINES { newest.pop_front() } else { None }.unwrap_or_default();
            kept.clear();
            kept.push_str(&String::from_utf8_lossy(text));
            newest.push_back(kept);
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

    /// The messages that are shown.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.lock().messages.iter().cloned().collect()
    }

    /// Returns the contents of a screen with this number of rows for hosts and for events.
    pub(super) fn show(&self, order: HostOrder, hosts: usize, lines: usize) -> Shown {
        let state = self.lock();
        Shown {
            counts: state.counts.clone(),
            events: state.overview.events(),
            source: state.source.clone(),
            host_count: state.hosts.len(),
            hosts: state.first_hosts(order, hosts),
            rare: state.rare(),
            newest: state.newest.iter().rev().take(lines).cloned().collect(),
            messages: state.messages.iter().cloned().collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add_to_host(&mut self, event: &Event) {
        let is_full = self.hosts.len() >= MAX_VIEW_HOSTS;
        let host = match self.hosts.entry(HostId::of(event)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if is_full => return,
            Entry::Vacant(entry) => entry.insert(HostSeen::default()),
        };
        host.events = host.events.saturating_add(1);
        if event.ts.as_nanos() > host.last.as_nanos() {
            host.last = event.ts;
        }
        // A name stays until another one is learned: most events repeat it, and need no memory.
        match &event.kind {
            Finding::Tcp(finding) => {
                if let Some(system) = finding.system() {
                    host.system.clear();
                    _ = write!(host.system, "{system}");
                }
            }
            Finding::HttpRequest(finding) => replace_software(&mut host.software, &finding.verdict),
            Finding::HttpResponse(finding) => replace_software(&mut host.software, &finding.verdict),
            Finding::TlsClient(finding) if host.tls_client.is_empty() => {
                if let Some(found) = finding.software() {
                    host.tls_client = found.software.to_string();
                }
            }
            Finding::Mismatch(_) => host.is_mismatch = true,
            _ => {}
        }
    }

    fn first_hosts(&self, order: HostOrder, rows: usize) -> Vec<(IpAddr, HostSeen)> {
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        let key = |(id, host): &(&HostId, &HostSeen)| {
            let rank = match order {
                HostOrder::MostEvents => host.events,
                HostOrder::Latest => host.last.as_nanos(),
            };
            (std::cmp::Reverse((self.overview.has_tool(**id), rank)), **id)
        };
        if hosts.len() > rows && rows > 0 {
            hosts.select_nth_unstable_by_key(rows.saturating_sub(1), key);
        }
        hosts.truncate(rows);
        hosts.sort_unstable_by_key(key);
        let shown = |(id, host): (&HostId, &HostSeen)| {
            let tool = self.overview.tool(*id).map(|found| found.to_string()).unwrap_or_default();
            (id.ip(), HostSeen { tool, ..host.clone() })
        };
        hosts.into_iter().map(shown).collect()
    }

    fn rare(&self) -> Vec<RareValue> {
        let values = RARE_KINDS.into_iter().flat_map(|kind| {
            let rare = self.overview.values(kind).rare(MAX_VIEW_RARE);
            rare.into_iter().map(move |(value, seen)| RareValue {
                kind: kind.title(),
                value: value.to_owned(),
                name: seen.name.as_deref().unwrap_or_default().to_owned(),
                hosts: seen.hosts(),
                client: seen.first.client.ip(),
            })
        });
        let mut values: Vec<RareValue> = values.collect();
        // Unnamed values come first among equally rare ones: they are the more interesting.
        values.sort_by_key(|value| (value.hosts, !value.name.is_empty()));
        values
    }
}

/// Writes the name of the software of a head, and the header that contradicts it.
fn replace_software(text: &mut String, verdict: &HttpVerdict) {
    let Some(software) = verdict.software() else { return };
    text.clear();
    // Writing to memory does not fail.
    _ = write!(text, "{software}");
    if let Some(header) = verdict.contradicting_text() {
        let shown = header.get(..MAX_LINE_TEXT).unwrap_or(header);
        _ = write!(text, " \"{:#}\"", Escaped(shown));
    }
}
