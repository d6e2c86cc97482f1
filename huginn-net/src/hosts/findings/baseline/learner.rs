//! What an analysis adds to a baseline, and reports.

use std::collections::{BTreeSet, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use huginn_net_core::{Event, IdleLimits, IdleMap, PacketClock, Side, Timestamp, TransportKind};

use super::{Baseline, Inserted};
use crate::Observation;
use crate::hosts::FindingCounters;
use crate::hosts::observed::{BaselineValue, Observed, Unnamed};
use crate::observation::finding::{TYPES, client_host};
use crate::observation::{BaselineType, Finding, FindingKind, NewFingerprintFinding};

/// Maximum number of open handshakes with servers without a name that a baseline follows: 2 MiB.
const MAX_UNNAMED_HANDSHAKES: usize = 1 << 14;

/// Time after which such a handshake is forgotten, in seconds: longer than servers commonly wait for one.
const HANDSHAKE_IDLE_SECS: u64 = 120;

/// A baseline, and what an analysis adds to it.
#[derive(Debug)]
pub(crate) struct Learner {
    pub(crate) baseline: Baseline,
    /// Numbers of values by type, and first time, before the analysis.
    known: [u64; TYPES],
    since: Option<Timestamp>,
    /// Hosts whose TLS clients the baseline had before the analysis.
    known_hosts: HashSet<IpAddr>,
    counters: FindingCounters,
    clock: PacketClock,
    /// Open handshakes with servers without a name, and whether the server is still to be compared.
    unnamed: IdleMap<(SocketAddr, SocketAddr, u64), bool>,
    /// The values that the baseline lacked before the analysis: as many as a baseline may have, also if that is full.
    pub(crate) learned: Baseline,
    /// Those of them that came from connections without an answer alone, which anybody can forge: at most a quarter, once an answer shows
    /// that the capture has both directions. They make room for others.
    unanswered: [BTreeSet<Arc<str>>; TYPES],
    has_answers: bool,
    /// Whether the first value of a type that was left out is reported.
    is_full: [bool; TYPES],
}

/// What became of a value.
enum Learned {
    Known,
    New,
    /// There was no room.
    LeftOut,
}

/// The part of a type that values from connections without an answer may take.
const UNANSWERED_PART: usize = 4;

impl Learner {
    pub(crate) fn new(baseline: Baseline) -> Self {
        let idle_timeout = Duration::from_secs(HANDSHAKE_IDLE_SECS);
        let known_hosts = baseline.values.get(BaselineType::Client as usize).into_iter().flatten();
        Self {
            known: baseline.values.each_ref().map(|values| values.len() as u64),
            since: baseline.first(),
            known_hosts: known_hosts.filter_map(|value| client_host(value)).collect(),
            counters: FindingCounters::default(),
            clock: PacketClock::new(idle_timeout),
            unnamed: IdleMap::new(&IdleLimits {
                max_entries: MAX_UNNAMED_HANDSHAKES,
                idle_timeout,
                max_buffered_bytes: usize::MAX,
            }),
            learned: Baseline::default(),
            unanswered: Default::default(),
            has_answers: false,
            is_full: [false; TYPES],
            baseline,
        }
    }

    /// Adds what an earlier analysis learned, without a report.
    pub(crate) fn restore(&mut self, learned: &Baseline) {
        for (kind, value) in learned.values() {
            if let Inserted::New(value) = self.baseline.insert(kind, value) {
                self.learned.insert(kind, &value);
            }
        }
        for ts in learned.period.into_iter().flat_map(<[Timestamp; 2]>::from) {
            self.baseline.add_time(ts);
            self.learned.add_time(ts);
        }
    }

    /// Adds the counters of the learner to those of other findings.
    pub(crate) fn add_to(&self, counters: FindingCounters) -> FindingCounters {
        let FindingCounters {
            new_fingerprints,
            new_servers,
            new_issuers,
            new_clients_of_hosts,
            full_baselines,
            ..
        } = self.counters;
        let baseline_left_out = self.baseline.left_out();
        FindingCounters {
            new_fingerprints,
            new_servers,
            new_issuers,
            new_clients_of_hosts,
            full_baselines,
            baseline_left_out,
            ..counters
        }
    }

    /// Whether the baseline had a value before the analysis.
    fn knew(&self, kind: BaselineType, value: &str) -> bool {
        self.baseline.contains(kind, value) && !self.learned.contains(kind, value)
    }

    /// Adds the values of an event. Reports those that the baseline lacked, if it was parsed.
    pub(crate) fn on_values<K>(
        &mut self,
        event: &Event<K>,
        Observed { values, unnamed }: &Observed,
        report: &mut dyn FnMut(Event<Observation>),
    ) {
        self.baseline.add_time(event.ts);
        self.learned.add_time(event.ts);
        if event.is_answered && !std::mem::replace(&mut self.has_answers, true) {
            self.trim_unanswered();
        }
        let server = unnamed.filter(|step| self.is_compared(event, *step));
        let server = server.map(|_| BaselineValue { kind: BaselineType::Server, value: Box::default() });
        // A server that is known by its certificate or name, or reported with its issuer, is not reported.
        let mut is_known_server = false;
        for BaselineValue { kind, value: part } in values.iter().chain(&server) {
            let kind = *kind;
            let value = match kind {
                BaselineType::Client => format!("{} {part}", event.flow.client.ip()),
                BaselineType::Server if event.flow.transport == TransportKind::Udp => continue,
                BaselineType::Server if part.is_empty() => event.flow.server.to_string(),
                BaselineType::Server => {
                    is_known_server |= self.knew(BaselineType::Name, part);
                    format!("{part}:{}", event.flow.server.port())
                }
                BaselineType::Certificate => {
                    is_known_server |= self.knew(kind, part);
                    part.to_string()
                }
                _ => part.to_string(),
            };
            match self.learn(kind, &value, event.is_answered) {
                Learned::New => {}
                Learned::Known => continue,
                Learned::LeftOut => {
                    self.full_baseline(event, kind, value).into_iter().for_each(&mut *report);
                    continue;
                }
            }
            let is_reported = match kind {
                BaselineType::Client => self.known_hosts.contains(&event.flow.client.ip()),
                BaselineType::Server => !is_known_server,
                _ => true,
            };
            if is_reported && let Some(event) = self.finding(event, kind, value, false) {
                is_known_server |= kind == BaselineType::Issuer;
                report(event);
            }
        }
    }

    /// Adds a value to the baseline and to what was learned.
    fn learn(&mut self, kind: BaselineType, value: &str, is_answered: bool) -> Learned {
        if self.baseline.contains(kind, value) || self.learned.contains(kind, value) {
            if is_answered && let Some(unanswered) = self.unanswered.get_mut(kind as usize) {
                unanswered.remove(value);
            }
            return Learned::Known;
        }
        if !self.make_room(kind, is_answered) {
            self.baseline.count_left_out(kind);
            return Learned::LeftOut;
        }
        let value = match self.baseline.insert(kind, value) {
            Inserted::New(value) => value,
            Inserted::Known | Inserted::Full => {
                self.baseline.count_left_out(kind);
                value.into()
            }
        };
        self.learned.insert(kind, &value);
        if !is_answered && let Some(unanswered) = self.unanswered.get_mut(kind as usize) {
            unanswered.insert(value);
        }
        Learned::New
    }

    /// Whether there is room for a value; one from a connection with an answer replaces one from a connection without.
    fn make_room(&mut self, kind: BaselineType, is_answered: bool) -> bool {
        let is_full = |baseline: &Baseline| baseline.len_of(kind) >= kind.limit();
        if is_answered {
            if is_full(&self.learned) || is_full(&self.baseline) && self.has_unanswered(kind) {
                self.forget_unanswered(kind);
            }
            return !is_full(&self.learned);
        }
        let limit = if self.has_answers { kind.limit() / UNANSWERED_PART } else { kind.limit() };
        let unanswered = self.unanswered.get(kind as usize).map_or(0, BTreeSet::len);
        unanswered < limit && !is_full(&self.learned)
    }

    /// Whether the baseline has a value from a connection without an answer, which is the next to be removed.
    fn has_unanswered(&self, kind: BaselineType) -> bool {
        let first = self.unanswered.get(kind as usize).and_then(BTreeSet::first);
        first.is_some_and(|value| self.baseline.contains(kind, value))
    }

    /// Removes a value from a connection without an answer, the first in the order of texts.
    fn forget_unanswered(&mut self, kind: BaselineType) {
        if let Some(value) = self.unanswered.get_mut(kind as usize).and_then(BTreeSet::pop_first) {
            self.baseline.remove(kind, &value);
            self.learned.remove(kind, &value);
        }
    }

    /// Leaves a quarter of the values from connections without an answer.
    fn trim_unanswered(&mut self) {
        for kind in BaselineType::ALL.iter().copied() {
            while self
                .unanswered
                .get(kind as usize)
                .is_some_and(|values| values.len() > kind.limit() / UNANSWERED_PART)
            {
                self.baseline.count_left_out(kind);
                self.forget_unanswered(kind);
            }
        }
    }

    /// Notes a step of a handshake with a server without a name. Returns whether the server is now compared.
    fn is_compared<K>(&mut self, event: &Event<K>, step: Unnamed) -> bool {
        let now = self.clock.tick(event.ts);
        let key = (event.flow.client, event.flow.server, event.flow.tunnel_key());
        let found = self.unnamed.touch_mut(&key, now).map(|(_, is_open)| is_open);
        match (step, found) {
            (Unnamed::Asked, Some(is_open)) => *is_open = true,
            (Unnamed::Asked, None) => _ = self.unnamed.insert(key, now, true),
            (Unnamed::Certified | Unnamed::Completed, Some(is_open)) => {
                return std::mem::take(is_open) && step == Unnamed::Completed;
            }
            (Unnamed::Certified | Unnamed::Completed, None) => {}
        }
        false
    }

    /// The finding for the first value of a type that was left out because the table is full. A value from a connection without an answer
    /// may be left out earlier.
    fn full_baseline<K>(
        &mut self,
        event: &Event<K>,
        kind: BaselineType,
        value: String,
    ) -> Option<Event<Observation>> {
        if self.learned.len_of(kind) < kind.limit() {
            return None;
        }
        let is_full = self.is_full.get_mut(kind as usize)?;
        if std::mem::replace(is_full, true) { None } else { self.finding(event, kind, value, true) }
    }

    /// The finding for a value, unless values of the type are only learned, or the baseline was not parsed.
    fn finding<K>(
        &mut self,
        event: &Event<K>,
        kind: BaselineType,
        value: String,
        is_left_out: bool,
    ) -> Option<Event<Observation>> {
        let finding = NewFingerprintFinding {
            kind,
            value: value.into_boxed_str(),
            known: kind.alert().and_then(|_| self.known.get(kind as usize).copied())?,
            since: self.since,
            baseline: self.baseline.name.clone()?,
            is_left_out,
        };
        let subject = match kind {
            BaselineType::Server | BaselineType::Issuer => Side::Server,
            _ => event.subject,
        };
        let finding = Finding::new(FindingKind::NewFingerprint(finding), vec![event.packet_number]);
        self.counters.count(&finding);
        Some(event.derive(subject, Observation::Finding(Box::new(finding))))
    }
}
