//! The host table: state of an address across flows.

mod answers;
mod change;
mod clocks;
mod conflict;
mod contacts;
mod evaluate;
mod findings;
mod host_record;
mod joined;
mod known_servers;
mod observed;
mod profile;
mod progress;
mod restore;
mod saved;
mod scores;
mod seen_by;
mod server_facts;
mod server_header;
pub mod state;
mod stored;
mod systems;
mod tools;
mod top_values;
mod tunneled;
mod update;
mod update_record;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use huginn_net_consistency::systems::is_firm;
use huginn_net_core::{FlowId, IdleLimits, IdleMap, PacketClock, Route, SharedState, Side, Timestamp};
use huginn_net_db::{Label, TcpMatch};
use huginn_net_tcp::{Clock, ClockReading, TcpSignature, Uptime};
use serde::{Deserialize, Serialize};

pub use self::answers::AlikeServers;
use self::conflict::contradiction_of_head;
pub use self::contacts::{Contact, Contacts};
pub(crate) use self::contacts::{asked_name, host_name};
pub use self::findings::{Baseline, BaselineError, FindingCounters, FindingSettings};
use self::findings::{Findings, Learner};
#[doc(hidden)]
pub use self::host_record::{
    ActivityRecord, AlikeServersRecord, ClaimRecord, ClockRecord, ContradictionRecord, EvidenceRecord,
    LanguageRecord, NameRecord, PeerRecord, SensorViewRecord, ServerActivityRecord, SoftwareSeenRecord,
    StatementRecord, SystemSeenRecord, TlsClientSeenRecord, VerdictRecord,
};
pub use self::host_record::{HostRecord, JsonHost, fields_of_host};
pub use self::joined::{JoinedHosts, is_local};
pub(crate) use self::observed::Observed;
pub use self::profile::{
    Activity, Changes, Claim, HostProfile, Latest, Mismatch, SoftwareSeen, SystemSeen, TlsClientSeen,
};
pub(crate) use self::progress::{Progress, ProgressUpdate, SshLogin, StrayKind};
pub use self::restore::HostRecordError;
#[doc(hidden)]
pub use self::saved::SavedHost;
pub use self::seen_by::{Disagreement, ObservationPoint, SeenBy, SensorView};
pub(crate) use self::server_facts::{CertificateFacts, ServerFacts};
use self::stored::is_default;
pub use self::tools::Tools;
use self::tools::{HostSet, LastSyn, PortSet};
pub use self::top_values::{Counted, TopValues};
pub use self::update::HostUpdate;
pub(crate) use self::update::{
    FlowOutput, HttpUpdate, RequestFacts, TcpUpdate, TlsUpdate, Update, language_of, p0f_language_of,
};
pub use self::update_record::HostUpdateRecord;
pub use crate::addresses::is_public;
pub use crate::observation::span::TimeSpan;
pub use crate::observation::verdict::{
    Cause, Contradiction, Evidence, EvidenceLayer, Explanation, Grade, Statement, Systems, Verdict,
};

use self::change::{HostHistory, HttpSeen, Score, TcpSeen};
pub(crate) use self::clocks::P0fClock;
use self::clocks::{ClockVerdict, HostClock};
use self::saved::TableTime;
use self::scores::Scores;
use self::systems::AddressSystems;
use self::tunneled::Tunneled;
use crate::alert::KnownAlerts;
use crate::event_limits::{EventLimits, Rates, SuppressedEvents, Ticket};
use crate::observation::{ChangeObservation, Reasons, ToolObservation, UptimeObservation};
use crate::scope::Scope;
use crate::{Event, Observation};

/// Maximum number of hosts whose scanners wait for their judgement: 3 MiB.
const MAX_JUDGED_HOSTS: usize = 1 << 16;

/// Limits of the host table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostLimits {
    /// Maximum number of hosts (default 131,072). At the limit, the table evicts the host with the oldest update, to
    /// within a second.
    pub max_hosts: usize,
    /// Idle timeout of a host, in packet time (default 2 hours, as in p0f). A wrong or merged clock expires no
    /// host by itself, except in [`Scope::P0f`].
    pub idle_timeout: Duration,
    /// Maximum heap memory of all hosts without their table entries, in bytes (default 256 MiB). At the limit, the table
    /// evicts the host with the oldest update.
    pub max_buffered_bytes: usize,
}

huginn_net_core::setters!(HostLimits { max_hosts: usize, idle_timeout: Duration, max_buffered_bytes: usize });

impl Default for HostLimits {
    fn default() -> Self {
        Self { max_hosts: 1 << 17, idle_timeout: Duration::from_secs(7200), max_buffered_bytes: 256 << 20 }
    }
}

/// Counters of the host table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct HostCounters {
    /// Hosts added to the table; a host that returns after its removal counts again.
    pub seen: u64,
    /// Hosts of an earlier table that [`Hosts::restore`] added.
    pub restored: u64,
    /// Hosts removed by the idle timeout.
    pub expired: u64,
    /// Hosts evicted by the limit on the number of hosts.
    pub evicted: u64,
    /// Hosts evicted by the memory limit.
    pub evicted_for_memory: u64,
    /// Hosts removed by [`Hosts::clear`], as before each file.
    pub cleared: u64,
    /// Hosts in the table now.
    pub active: u64,
    /// Heap memory of the hosts now, without their table entries, in bytes.
    pub buffered_bytes: u64,
    /// Uptimes reported.
    pub uptimes: u64,
    /// Clock measurements without an uptime: the clock may have a random start value, or systems do not use its frequency.
    pub uptimes_doubted: u64,
    /// Hosts with inconsistent timestamps: the start value is random per peer or connection (Linux since 4.10), or
    /// several hosts share the address.
    pub random_clocks: u64,
    /// Changes reported.
    pub changes: u64,
    /// Addresses reported as shared.
    pub sharings: u64,
    /// Reports of tools: scanners and packet makers.
    pub tools: u64,
}

impl HostCounters {
    fn count(&mut self, result: &UpdateResult) {
        let add = |counter: &mut u64, count: bool| *counter = counter.saturating_add(u64::from(count));
        for conclusion in result.conclusions.iter().flatten() {
            match conclusion {
                Conclusion::Changed(..) => add(&mut self.changes, true),
                Conclusion::Shared(..) => add(&mut self.sharings, true),
            }
        }
        add(&mut self.tools, result.tool.is_some());
        add(&mut self.uptimes, result.uptime.is_some());
        add(&mut self.uptimes_doubted, result.doubt.is_some());
        add(&mut self.random_clocks, result.doubt == Some(ClockVerdict::Random));
    }
}

/// The host table.
#[derive(Debug)]
pub struct Hosts {
    map: IdleMap<HostKey, Host>,
    /// Time of the updates, for the idle timeout.
    clock: PacketClock,
    time: TableTime,
    idle_timeout: Duration,
    scope: Scope,
    /// Whether the table keeps profiles.
    profiles: bool,
    tunneled: Tunneled,
    counters: HostCounters,
    rates: Rates,
    findings: Option<Box<Findings>>,
    learner: Option<Box<Learner>>,
    /// Hosts with a scanner to judge, and when, in nanoseconds.
    judged: VecDeque<(u64, HostKey)>,
    known: Option<Arc<KnownAlerts>>,
}

/// An address and its tunnel: equal private addresses in two tunnels are two hosts.
type HostKey = (IpAddr, u64);

/// Identifier of a host in the table. Its order is that of [`Hosts::profiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(HostKey);

impl HostId {
    /// The host that an event describes.
    pub fn of<K>(event: &huginn_net_core::Event<K>) -> Self {
        Self((event.subject_addr().ip(), event.flow.tunnel_key()))
    }

    /// The address.
    pub fn ip(self) -> IpAddr {
        self.0.0
    }
}

/// State of one host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Host {
    /// The latest system that a handshake names; in the scope of p0f, that a handshake or head matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<Arc<Label>>,
    #[serde(default, skip_serializing_if = "is_default")]
    clock: HostClock,
    #[serde(default, skip_serializing_if = "is_default")]
    systems: AddressSystems,
    /// The scores of p0f; only in its scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p0f: Option<Box<P0fHistory>>,
    /// Tools of a host without a profile; a profile has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Box<Tools>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<Box<HostProfile>>,
}

/// What p0f compares a host with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct P0fHistory {
    /// Reasons for sharing since the last sharing report.
    #[serde(default, skip_serializing_if = "is_default")]
    reasons: Reasons,
    /// Source port of the last SYN; 0 without a SYN.
    #[serde(default, skip_serializing_if = "is_default")]
    port: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Box<RoleHistory>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<Box<RoleHistory>>,
}

/// What p0f compares a client, or a server, with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RoleHistory {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handshake: Option<TcpSeen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http: Option<HttpSeen>,
    #[serde(default, skip_serializing_if = "is_default")]
    scores: Scores,
}

impl Hosts {
    pub(crate) fn new(limits: &HostLimits, events: EventLimits, scope: Scope, profiles: bool) -> Self {
        let limits = IdleLimits {
            max_entries: limits.max_hosts,
            idle_timeout: limits.idle_timeout,
            max_buffered_bytes: limits.max_buffered_bytes,
        };
        let tunneled = Tunneled::new(&limits);
        let clock = PacketClock::new(limits.idle_timeout);
        Self {
            map: IdleMap::new(&limits),
            clock,
            time: TableTime::default(),
            idle_timeout: limits.idle_timeout,
            scope,
            profiles,
            tunneled,
            counters: HostCounters::default(),
            rates: Rates::new(events, scope),
            findings: None,
            learner: None,
            judged: VecDeque::new(),
            known: None,
        }
    }

    /// Reports conclusions from several connections with these thresholds, or none.
    pub(crate) fn with_findings(self, settings: Option<FindingSettings>) -> Self {
        Self { findings: settings.map(|settings| Box::new(Findings::new(&settings))), ..self }
    }

    /// Leaves known alerts out.
    pub(crate) fn with_known(self, known: Option<Arc<KnownAlerts>>) -> Self {
        Self { known, ..self }
    }

    /// Compares fingerprints with a baseline, if there is one.
    pub(crate) fn with_baseline(self, baseline: Option<&Baseline>) -> Self {
        Self { learner: baseline.map(|baseline| Box::new(Learner::new(baseline.clone()))), ..self }
    }

    /// Counters of the findings that [`Configure::findings`](crate::Configure::findings) and
    /// [`Configure::baseline`](crate::Configure::baseline) enable.
    pub fn findings(&self) -> FindingCounters {
        let counters =
            self.findings.as_ref().map_or_else(FindingCounters::default, |findings| findings.counters());
        let known = self.known.as_ref().map_or(0, |known| known.silenced());
        let counters = FindingCounters { known, ..counters };
        self.learner.as_ref().map_or(counters, |learner| learner.add_to(counters))
    }

    /// The baseline of [`Configure::baseline`](crate::Configure::baseline) with the fingerprints that were seen.
    pub fn baseline(&self) -> Option<&Baseline> {
        self.learner.as_ref().map(|learner| &learner.baseline)
    }

    /// The fingerprints that the baseline lacked before the analysis, for [`restore_baseline`](Self::restore_baseline) of another table.
    pub fn learned(&self) -> Option<Baseline> {
        self.learner.as_ref().map(|learner| learner.learned.clone())
    }

    /// Adds fingerprints that an earlier analysis with the same baseline [learned](Self::learned). They are not reported again.
    pub fn restore_baseline(&mut self, learned: &Baseline) {
        if let Some(learner) = &mut self.learner {
            learner.restore(learned);
        }
    }

    /// The counters since the table was created.
    pub fn counters(&self) -> HostCounters {
        let map = self.map.counters();
        HostCounters {
            seen: map.inserted.saturating_sub(self.time.added()),
            restored: self.time.restored(),
            expired: map.expired,
            evicted: map.evicted,
            evicted_for_memory: map.evicted_for_memory,
            active: map.entries,
            buffered_bytes: map.buffered_bytes,
            ..self.counters
        }
    }

    /// The events that the limits of hosts and of kinds suppressed. Those of connections are in
    /// [`ProtocolCounters`](crate::observers::ProtocolCounters).
    pub fn events_suppressed(&self) -> SuppressedEvents {
        self.rates.suppressed()
    }

    /// The matches of watch lists among [`Self::events_suppressed`].
    pub fn matches_suppressed(&self) -> u64 {
        self.rates.suppressed_matches()
    }

    /// The profiles of all hosts, sorted by address: IPv4 first, and hosts outside tunnels before equal addresses inside.
    /// Empty unless [`Configure::profiles`](crate::Configure::profiles) enables profiles.
    pub fn profiles(&self) -> impl Iterator<Item = &HostProfile> {
        let mut profiles: Vec<_> = self.profiles_by_id().collect();
        profiles.sort_unstable_by_key(|(id, _)| *id);
        profiles.into_iter().map(|(_, profile)| profile)
    }

    /// The profiles of all hosts, in no particular order.
    fn profiles_by_id(&self) -> impl Iterator<Item = (HostId, &HostProfile)> {
        self.map.iter().filter_map(|(key, host)| Some((HostId(*key), host.profile.as_deref()?)))
    }

    /// The profile of the host with this address. A host outside tunnels takes precedence; otherwise the host in the
    /// tunnel with the latest update. `None` if the table has no such host, or unless
    /// [`Configure::profiles`](crate::Configure::profiles) enables profiles.
    pub fn profile(&self, ip: IpAddr) -> Option<&HostProfile> {
        let in_tunnel = |tunnel| self.map.peek(&(ip, tunnel))?.profile.as_deref();
        in_tunnel(0).or_else(|| in_tunnel(self.tunneled.last(ip)?))
    }

    /// The identifiers of all hosts, in no particular order. A caller can read profiles in small batches by
    /// [`profile_of`](Self::profile_of) and analyse packets between the batches.
    pub fn ids(&self) -> impl Iterator<Item = HostId> {
        self.map.iter().map(|(key, _)| HostId(*key))
    }

    /// The profile of a host. `None` after the removal of the host, or unless
    /// [`Configure::profiles`](crate::Configure::profiles) enables profiles.
    pub fn profile_of(&self, id: HostId) -> Option<&HostProfile> {
        self.map.peek(&id.0)?.profile.as_deref()
    }

    /// Compares the values of an event with the baseline, if there is one.
    fn learn<K>(
        &mut self,
        event: &huginn_net_core::Event<K>,
        observed: &Observed,
        is_proven: bool,
        report: &mut dyn FnMut(Event),
    ) {
        let Self { learner, rates, known, .. } = self;
        let Some(learner) = learner else { return };
        learner.on_values(event, observed, &mut |mut event| {
            if let Observation::Finding(finding) = &mut event.kind {
                finding.is_proven = is_proven;
            }
            admit(rates, known.as_deref(), event, report);
        });
    }

    /// Removes every host; keeps the counters and the baseline. Before the first update, restored hosts count as if they had never been there.
    pub fn clear(&mut self) {
        let removed = self.map.counters().entries.saturating_sub(self.time.discard());
        self.counters.cleared = self.counters.cleared.saturating_add(removed);
        self.map.clear();
        self.tunneled.clear();
        self.judged.clear();
        if let Some(findings) = &mut self.findings {
            findings.clear();
        }
    }
}

impl Hosts {
    /// Adds a SYN+ACK to the answers that its client has, and marks the servers for which one device answers.
    fn on_answer(&mut self, signature: &TcpSignature, flow: &FlowId, tunnel: u64, now: Timestamp) {
        let server = flow.server.ip();
        if !is_public(server) {
            return;
        }
        let Some((slot, client)) = self.map.touch_mut(&(flow.client.ip(), tunnel), now) else { return };
        let Some(profile) = client.profile.as_deref_mut() else { return };
        let is_near = profile.is_near();
        let answers = &mut profile.answers;
        let (before, was_known) = (answers.heap_bytes(), answers.one_device().is_some());
        let marked = match answers.add(signature, server, is_near) {
            Some(_) if was_known => vec![server],
            Some(alike) => alike.servers().collect(),
            None => Vec::new(),
        };
        if answers.heap_bytes() != before {
            let heap_bytes = client.heap_bytes();
            self.map.set_buffered_bytes(slot, heap_bytes);
        }
        for server in marked {
            let host = self.map.touch_mut(&(server, tunnel), now);
            if let Some(profile) = host.and_then(|(_, host)| host.profile.as_deref_mut()) {
                profile.own_answer.mark(signature);
            }
        }
    }
}

impl Hosts {
    /// Adds a name that a client asked for to its server, if the server has sent something before.
    fn on_name(&mut self, name: &[u8], flow: &FlowId, tunnel: u64, now: Timestamp) {
        let Some((slot, server)) = self.map.touch_mut(&(flow.server.ip(), tunnel), now) else { return };
        let Some(profile) = server.profile.as_deref_mut() else { return };
        profile.on_name(name, Side::Server);
        let heap_bytes = server.heap_bytes();
        self.map.set_buffered_bytes(slot, heap_bytes);
    }
}

impl SharedState<Route<Observation, HostUpdate>> for Hosts {
    type Report = Observation;
    type Update = HostUpdate;
    type Ticket = Ticket;

    fn route(event: Route<Observation, HostUpdate>) -> Route<Observation, HostUpdate> {
        event
    }

    fn ticket<K>(event: &huginn_net_core::Event<K>, report: &Observation) -> Ticket {
        Ticket::new(event, report)
    }

    #[inline]
    fn admits(&mut self, ticket: Ticket) -> bool {
        self.rates.admits(&ticket)
    }

    fn on_update(&mut self, update: huginn_net_core::Event<HostUpdate>, report: &mut impl FnMut(Event)) {
        self.take_update(update, report);
    }

    fn on_end(&mut self, report: &mut impl FnMut(Event)) {
        self.conclude_all(report);
    }
}

// The reports are dynamic calls, so that the rules are compiled once and not for each sink.
impl Hosts {
    fn take_update(&mut self, update: huginn_net_core::Event<HostUpdate>, report: &mut dyn FnMut(Event)) {
        if let Update::Observed(found) = &update.kind.update {
            self.learn(&update, found, update.kind.is_proven, report);
            return;
        }
        if let Some(findings) = &mut self.findings {
            let (rates, known) = (&mut self.rates, self.known.as_deref());
            findings.on_update(&update, &mut |event| admit(rates, known, event, report));
            if matches!(update.kind.update, Update::Request(_) | Update::Server(_)) {
                return;
            }
        }
        if let Update::Progress(progress) = &update.kind.update {
            let host = self.map.peek_mut(&HostId::of(&update).0).filter(|_| progress.by_tool);
            if let Some(tools) = host.and_then(Host::tools_mut) {
                tools.on_progress(progress.step, update.flow.server);
            }
            return;
        }
        // A worker may run ahead of the host table and send a timestamp after the table decided on the clock.
        if matches!(&update.kind.update, Update::Timestamp(_, clock) if clock.is_decided(update.subject)) {
            return;
        }
        let now = match self.scope {
            Scope::Full => self.time.tick(&mut self.clock, update.ts),
            // p0f takes every timestamp for the time.
            Scope::P0f => update.ts,
        };
        self.judge_tools(now.as_nanos(), report);
        self.map.expire(now);
        let HostId(key) = HostId::of(&update);
        let slot = self.map.touch(&key, now).or_else(|| self.map.insert(key, now, Host::default()));
        let Some((slot, host)) = slot.and_then(|slot| Some((slot, self.map.get_mut(slot)?))) else { return };
        if self.profiles {
            let new = || Box::new(HostProfile::new(key.0, update.flow.tunnel.clone(), update.ts));
            host.profile.get_or_insert_with(new).on_update(&update, host.system.as_deref(), self.scope);
            if key.1 != 0 {
                self.tunneled.record(key, now);
            }
        }
        let context = UpdateContext {
            ts: update.ts,
            now: now.as_nanos(),
            packet_number: update.packet_number,
            first_packet: update.first_packet,
            flow: &update.flow,
            side: update.subject,
            scope: self.scope,
        };
        let answer = match &update.kind.update {
            Update::Tcp(tcp) if self.profiles && update.subject == Side::Server => Some(tcp.signature),
            _ => None,
        };
        let name = update.kind.name().filter(|_| self.profiles);
        let result = match &update.kind.update {
            Update::Tcp(update) => host.on_handshake(update, &context),
            Update::Http(update) => host.on_head(update, &context),
            Update::Timestamp(reading, clock) => host.on_timestamp(*reading, clock, &context),
            Update::Clock(clock) => host.on_clock(*clock, &context),
            Update::Mtu(_)
            | Update::TlsClient(_)
            | Update::TlsServer
            | Update::Request(_)
            | Update::Server(_)
            | Update::Observed(_)
            | Update::Progress(_) => UpdateResult::default(),
        };
        if let Some(profile) = &mut host.profile {
            profile.on_learned(&result, context.ts);
        }
        let heap_bytes = host.heap_bytes();
        self.map.set_buffered_bytes(slot, heap_bytes);
        if let Some(at) = result.judged_at {
            self.judged.push_back((at, key));
        }
        if let Some(signature) = answer {
            self.on_answer(&signature, context.flow, key.1, now);
        }
        if let Some(name) = name {
            self.on_name(name, context.flow, key.1, now);
        }
        if result.is_empty() {
            return;
        }
        self.counters.count(&result);
        for observation in result.observations() {
            self.conclude(update.derive(update.subject, observation), report);
        }
    }

    fn conclude_all(&mut self, report: &mut dyn FnMut(Event)) {
        self.judge_tools(u64::MAX, report);
        let mut hosts: Vec<HostKey> =
            self.map.iter().filter(|(_, host)| host.has_tools()).map(|(key, _)| *key).collect();
        hosts.sort_unstable();
        for key in hosts {
            let tools = self.map.peek_mut(&key).and_then(Host::tools_mut);
            let found = tools.map(Tools::take_last).unwrap_or_default();
            self.report_tools(found, report);
        }
        let Some(findings) = &mut self.findings else { return };
        let (rates, known) = (&mut self.rates, self.known.as_deref());
        findings.on_end(&mut |event| admit(rates, known, event, report));
    }

    /// Judges the scanners whose time has come.
    #[inline]
    fn judge_tools(&mut self, now: u64, report: &mut dyn FnMut(Event)) {
        // Time may stand still.
        let is_full = |judged: &VecDeque<_>| judged.len() > MAX_JUDGED_HOSTS;
        while let Some((at, key)) = self.judged.front().copied()
            && (at <= now || is_full(&self.judged))
        {
            self.judged.pop_front();
            let tools = self.map.peek_mut(&key).and_then(Host::tools_mut);
            let found = tools.map(|tools| tools.take_judged(at)).unwrap_or_default();
            self.report_tools(found, report);
        }
    }

    fn report_tools(&mut self, found: Vec<(LastSyn, ToolObservation)>, report: &mut dyn FnMut(Event)) {
        for (LastSyn { ts, packet_number, first_packet, flow }, tool) in found {
            self.counters.tools = self.counters.tools.saturating_add(1);
            let event = Event::new(ts, packet_number, flow, Side::Client, Observation::Tool(Box::new(tool)));
            self.conclude(event.with_first_packet(first_packet), report);
        }
    }

    /// Learns the values of a conclusion, if there is a baseline, and reports it. The other values come with updates.
    fn conclude(&mut self, event: Event, report: &mut dyn FnMut(Event)) {
        if self.learner.is_some()
            && let Some(observed) = Observed::of(&event.kind, event.subject)
        {
            self.learn(&event, &observed, false, report);
        }
        admit(&mut self.rates, self.known.as_deref(), event, report);
    }
}

/// Reports an event unless it is a known alert, or exceeds a limit.
fn admit(rates: &mut Rates, known: Option<&KnownAlerts>, event: Event, report: &mut dyn FnMut(Event)) {
    let ends = (event.flow.client, event.flow.server);
    let is_known = known.is_some_and(|known| known.silences(&event.kind, event.ts, ends, event.subject));
    if !is_known && rates.admits(&Ticket::new(&event, &event.kind)) {
        report(event);
    }
}

/// The flow context of an update.
struct UpdateContext<'a> {
    ts: Timestamp,
    /// Time of the table, in nanoseconds.
    now: u64,
    packet_number: u64,
    first_packet: u64,
    flow: &'a FlowId,
    side: Side,
    scope: Scope,
}

impl UpdateContext<'_> {
    fn peer(&self) -> IpAddr {
        self.side.choose(self.flow.server, self.flow.client).ip()
    }
}

/// A change of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Conclusion {
    /// Another host has the address.
    Changed(ChangeObservation),
    /// Several hosts share the address.
    Shared(ChangeObservation),
}

/// Conclusions from one update.
#[derive(Default)]
struct UpdateResult {
    /// At most two: p0f reports a conflict of software and system, and the difference to the previous fingerprint of the host.
    conclusions: [Option<Conclusion>; 2],
    uptime: Option<Uptime>,
    doubt: Option<ClockVerdict>,
    /// A tool of the host, if it is reported now.
    tool: Option<Box<ToolObservation>>,
    /// When a scanner of the host is judged, if this SYN is its first since it was.
    judged_at: Option<u64>,
}

impl UpdateResult {
    /// Whether the table concludes nothing, as after most updates.
    fn is_empty(&self) -> bool {
        matches!(self, Self { conclusions: [None, None], uptime: None, doubt: None, tool: None, .. })
    }

    fn observations(self) -> impl Iterator<Item = Observation> {
        let changes = self.conclusions.into_iter().flatten().map(|conclusion| match conclusion {
            Conclusion::Changed(found) => Observation::HostChange(found),
            Conclusion::Shared(found) => Observation::IpSharing(found),
        });
        let tool = self.tool.map(Observation::Tool);
        tool.into_iter()
            .chain(changes)
            .chain(self.uptime.map(|uptime| Observation::Uptime(UptimeObservation { uptime })))
    }
}

impl P0fHistory {
    fn role(&mut self, side: Side) -> &mut RoleHistory {
        side.choose(&mut self.client, &mut self.server).get_or_insert_default()
    }

    fn add_score(&mut self, side: Side, score: Score) -> Option<Conclusion> {
        let role = side.choose(&mut self.client, &mut self.server).get_or_insert_default();
        role.scores.add(score.points, score.reasons, &mut self.reasons)
    }

    /// Scores a user-space tool, or an application that the database limits to some systems.
    fn on_software(&mut self, software: &Label, system: Option<&Label>, side: Side) -> Option<Conclusion> {
        if software.systems.is_empty() {
            return None;
        }
        self.add_score(side, change::score_software(software, system))
    }

    /// Heap memory, in bytes.
    fn heap_bytes(&self) -> usize {
        let roles = [&self.client, &self.server].iter().filter(|role| role.is_some()).count();
        size_of::<Self>().saturating_add(roles.saturating_mul(size_of::<RoleHistory>()))
    }
}

impl Host {
    /// Heap memory of the host, in bytes.
    fn heap_bytes(&self) -> usize {
        let Self { systems, p0f, tools, profile, .. } = self;
        [
            systems.heap_bytes(),
            p0f.as_ref().map_or(0, |p0f| p0f.heap_bytes()),
            tools.as_ref().map_or(0, |tools| size_of::<Tools>().saturating_add(tools.heap_bytes())),
            profile.as_ref().map_or(0, |profile| profile.heap_bytes()),
        ]
        .iter()
        .fold(0, |sum, part| sum.saturating_add(*part))
    }

    fn on_handshake(&mut self, update: &TcpUpdate, context: &UpdateContext<'_>) -> UpdateResult {
        let tool = update.matched.as_ref().map(|found| &found.label).filter(|label| label.is_tool());
        let mut result = match context.scope {
            Scope::P0f => self.score_handshake(update, context),
            Scope::Full => self.compare_system(update.matched.as_ref(), context),
        };
        if let Some(label) = tool
            && context.side == Side::Client
            && Tools::names_tool(label)
        {
            let tools = self.on_tool(label, context);
            let UpdateContext { ts, packet_number, first_packet, flow, .. } = *context;
            let last = LastSyn { ts, packet_number, first_packet, flow: flow.clone() };
            let before = tools.judged_at(label);
            result.tool = tools.take_report(label, last, context.now).map(Box::new);
            result.judged_at = tools.judged_at(label).filter(|_| before.is_none());
        }
        result
    }

    /// Compares the system that a handshake names with those before.
    fn compare_system(&mut self, matched: Option<&TcpMatch>, context: &UpdateContext<'_>) -> UpdateResult {
        let Some(found) = matched.filter(|found| is_firm(found)) else { return UpdateResult::default() };
        self.system = Some(Arc::clone(&found.label));
        let ip = context.side.choose(context.flow.client, context.flow.server).ip();
        if !systems::is_evidence(found, ip) {
            return UpdateResult::default();
        }
        let conclusion = match context.side {
            Side::Client => self.systems.add_client(&found.label.name),
            Side::Server => self.systems.add_server(&found.label.name, context.flow.server.port()),
        };
        UpdateResult { conclusions: [conclusion, None], ..UpdateResult::default() }
    }

    /// Scores a handshake as p0f does.
    fn score_handshake(&mut self, update: &TcpUpdate, context: &UpdateContext<'_>) -> UpdateResult {
        let TcpUpdate { signature, matched, clock, .. } = update;
        let p0f = self.p0f.get_or_insert_default();
        let label = matched.as_ref().map(|found| &found.label);
        if let Some(tool) = label.filter(|label| label.is_tool()) {
            let conclusion = p0f.on_software(tool, self.system.as_deref(), context.side);
            return UpdateResult { conclusions: [conclusion, None], ..UpdateResult::default() };
        }
        let (port, at_millis) = (context.flow.client.port(), context.ts.as_millis());
        let seen = TcpSeen { signature: *signature, matched: matched.clone(), at_millis, port };
        let history = HostHistory { system: self.system.as_deref(), last_port: p0f.port };
        let role = p0f.role(context.side);
        let last = role.handshake.as_ref();
        let score = seen.score_against(last, &history);
        let measured = clock.as_ref().zip(seen.clock()).and_then(|(clock, reading)| {
            clock.measure(context.side, last?.clock(), reading, context.side == Side::Client)
        });
        role.handshake = Some(seen);
        p0f.port = port;
        let conclusions = [p0f.add_score(context.side, score), None];
        if let Some(label) = label {
            self.system = Some(Arc::clone(label));
        }
        UpdateResult {
            conclusions,
            uptime: measured.map(|clock| clock.p0f_uptime()),
            ..UpdateResult::default()
        }
    }

    /// Counts a SYN of a tool. Returns the tools of the host.
    fn on_tool(&mut self, label: &Arc<Label>, context: &UpdateContext<'_>) -> &mut Tools {
        let tools = match &mut self.profile {
            Some(profile) => &mut profile.tools,
            None => self.tools.get_or_insert_default(),
        };
        tools.add(label, context.flow.server, context.ts);
        tools
    }

    /// Whether it sent a SYN of a tool.
    fn has_tools(&self) -> bool {
        self.profile.as_ref().map_or(self.tools.is_some(), |profile| !profile.tools.is_empty())
    }

    fn tools_mut(&mut self) -> Option<&mut Tools> {
        match &mut self.profile {
            Some(profile) => Some(&mut profile.tools),
            None => self.tools.as_deref_mut(),
        }
    }

    /// Scores the head of a request or response, if it is one that p0f evaluates.
    fn on_head(&mut self, update: &HttpUpdate, context: &UpdateContext<'_>) -> UpdateResult {
        if !update.counts {
            return UpdateResult::default();
        }
        let p0f = self.p0f.get_or_insert_default();
        let label = update.matched.as_ref().map(|found| &found.label);
        let software = label.filter(|label| label.is_tool());
        let at = i64::try_from(context.ts.as_secs()).unwrap_or(i64::MAX);
        let seen = HttpSeen::new(update, context.flow.server.port(), at);
        let history = HostHistory { system: self.system.as_deref(), last_port: p0f.port };
        let first = software.and_then(|software| p0f.on_software(software, history.system, context.side));
        let role = p0f.role(context.side);
        let score = seen.score_against(update, context.side, role.http.as_ref(), &history);
        let system = label.filter(|label| !label.is_tool());
        if context.side == Side::Server || system.is_some() {
            role.http = Some(seen);
        }
        let conclusions = [first, p0f.add_score(context.side, score)];
        if let Some(system) = system {
            self.system = Some(Arc::clone(system));
        }
        UpdateResult { conclusions, ..UpdateResult::default() }
    }

    fn on_timestamp(
        &mut self,
        reading: ClockReading,
        clock: &P0fClock,
        context: &UpdateContext<'_>,
    ) -> UpdateResult {
        let role = self.p0f.get_or_insert_default().role(context.side);
        let last = role.handshake.as_ref().and_then(TcpSeen::clock);
        let measured = clock.measure(context.side, last, reading, false);
        UpdateResult { uptime: measured.map(|clock| clock.p0f_uptime()), ..UpdateResult::default() }
    }

    fn on_clock(&mut self, clock: Clock, context: &UpdateContext<'_>) -> UpdateResult {
        match self.clock.add_measurement(clock, context.peer()) {
            ClockVerdict::Uptime(uptime) => UpdateResult { uptime: Some(uptime), ..UpdateResult::default() },
            doubt => UpdateResult { doubt: Some(doubt), ..UpdateResult::default() },
        }
    }
}
