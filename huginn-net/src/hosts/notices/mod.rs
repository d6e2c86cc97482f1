//! Findings above fingerprints: what several connections of a client show together.

mod baseline;
mod beacon;
mod brute_force;
mod by_proof;
mod known_servers;
mod once;
mod scan;
mod servers;
mod service;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use std::cell::Cell;
use std::fmt::{self, Display};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use huginn_net_core::{Event, PacketClock, Side, Timestamp};
use huginn_net_tcp::Handshake;

pub use self::baseline::{Baseline, BaselineError, BaselineType, NewFingerprintNotice};
pub(crate) use self::baseline::{FINDING_TYPES, Learner, Observed, is_digits};
use self::beacon::Beacons;
pub use self::beacon::{BeaconNotice, BeaconTarget};
pub use self::brute_force::BruteForceNotice;
use self::brute_force::BruteForces;
pub(crate) use self::known_servers::c2_program_named;
use self::once::Once;
pub use self::once::{ContradictionNotice, ImitationNotice};
use self::scan::Scans;
pub use self::scan::{ScanNotice, ScanRemark, ScanSegments, ScanTarget};
use self::servers::Servers;
pub use self::servers::{
    C2CertificateNotice, CertificateNames, ServerMark, ServerMarks, UnusualServerNotice,
};
pub(crate) use self::servers::{CertificateFacts, ServerFacts};
pub use self::service::BeaconService;
use crate::Finding;
use crate::alert::AlertKind;
use crate::hosts::{HostUpdate, HttpUpdate, Progress, TcpUpdate, Update};
use crate::limits::{BEACON_CONTACTS, MAX_BEACON_CONTACTS, NOTICE_IDLE_SECS, SCAN_HOSTS, SCAN_PORTS};

/// Thresholds of findings above fingerprints. docs/findings.md has the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeSettings {
    /// Ports of a host that make a scan (default 100).
    pub scan_ports: NonZeroU32,
    /// Hosts on a port that make a scan (default 100).
    pub scan_hosts: NonZeroU32,
    /// Contacts that make a beacon at intervals that vary by up to 25 % (default 20; at least 3, at most 1000). Fewer make one if
    /// they are more regular.
    pub beacon_contacts: NonZeroU32,
}

impl Default for NoticeSettings {
    fn default() -> Self {
        Self { scan_ports: SCAN_PORTS, scan_hosts: SCAN_HOSTS, beacon_contacts: BEACON_CONTACTS }
    }
}

/// A conclusion from several connections of a client, with its numbers and its evidence.
///
/// [`Display`] is the reason in words: `sends SYNs to 100 ports of 192.0.2.7 in 5 s, 3 accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrafficNotice {
    /// The conclusion.
    pub kind: TrafficNoticeKind,
    /// Numbers of the first packets that show it, at most eight.
    pub packets: Vec<u64>,
    /// Whether a handshake proves that the client sent the packets.
    pub is_proven: bool,
    /// Whether an earlier event reported the same with smaller numbers, or without proof.
    pub is_update: bool,
}

/// The kinds of conclusions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrafficNoticeKind {
    /// The client looks for open ports, or for hosts with an open port.
    Scan(ScanNotice),
    /// Many SSH logins of the client at a server fail.
    BruteForce(BruteForceNotice),
    /// The client contacts a server at regular intervals.
    Beacon(BeaconNotice),
    /// The client contacts a TLS server without a name that has further marks.
    UnusualServer(UnusualServerNotice),
    /// The client contacts a server with the default certificate of a C2 program.
    C2Certificate(C2CertificateNotice),
    /// The layers of a connection name different systems.
    Contradiction(ContradictionNotice),
    /// The client is not the software that it claims to be.
    Imitation(ImitationNotice),
    /// The network has a fingerprint, server, issuer or client that a baseline lacks.
    NewFingerprint(NewFingerprintNotice),
}

impl TrafficNotice {
    pub(crate) fn new(kind: TrafficNoticeKind, packets: Vec<u64>) -> Self {
        Self { kind, packets, is_proven: false, is_update: false }
    }
}

impl TrafficNoticeKind {
    /// The kind of the alert.
    pub const fn alert(&self) -> AlertKind {
        match self {
            Self::Scan(_) => AlertKind::Scan,
            Self::BruteForce(_) => AlertKind::BruteForce,
            Self::Beacon(_) => AlertKind::Beacon,
            Self::UnusualServer(_) => AlertKind::UnusualServer,
            Self::C2Certificate(_) => AlertKind::C2Certificate,
            Self::Contradiction(_) => AlertKind::Contradiction,
            Self::Imitation(_) => AlertKind::Imitation,
            Self::NewFingerprint(found) => found.alert(),
        }
    }

    /// What distinguishes conclusions of one kind about a client.
    pub(crate) fn object(&self) -> String {
        match self {
            Self::Scan(found) => format!("{:?} {}", found.segments, found.target),
            Self::BruteForce(found) => found.server.to_string(),
            Self::Beacon(found) => found.target.to_string(),
            Self::UnusualServer(found) => found.server.to_string(),
            Self::C2Certificate(found) => format!("{} {}", found.server, found.program),
            Self::Contradiction(_) => String::new(),
            Self::Imitation(found) => found.claim.clone(),
            Self::NewFingerprint(found) => format!("{} {}", found.kind.name(), found.value),
        }
    }
}

impl Display for TrafficNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TrafficNoticeKind::Scan(found) => found.fmt(f),
            TrafficNoticeKind::BruteForce(found) => found.fmt(f),
            TrafficNoticeKind::Beacon(found) => found.fmt(f),
            TrafficNoticeKind::UnusualServer(found) => found.fmt(f),
            TrafficNoticeKind::C2Certificate(found) => found.fmt(f),
            TrafficNoticeKind::Contradiction(found) => found.fmt(f),
            TrafficNoticeKind::Imitation(found) => found.fmt(f),
            TrafficNoticeKind::NewFingerprint(found) => found.fmt(f),
        }
    }
}

/// Counters of findings above fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct NoticeCounters {
    /// Scans.
    pub scans: u64,
    /// Series of failed SSH logins.
    pub brute_forces: u64,
    /// Beacons.
    pub beacons: u64,
    /// TLS servers without a name that have further marks.
    pub unusual_servers: u64,
    /// Servers with the default certificate of a C2 program.
    pub c2_certificates: u64,
    /// Hosts with a contradiction.
    pub contradictions: u64,
    /// Clients that are not the software that they claim to be.
    pub imitations: u64,
    /// Fingerprints that the baseline lacks.
    pub new_fingerprints: u64,
    /// Servers without a name, or with a private issuer, that the baseline lacks.
    pub new_servers: u64,
    /// Issuers of certificates that the baseline lacks.
    pub new_issuers: u64,
    /// TLS clients that the baseline lacks, of hosts that it has.
    pub new_clients_of_hosts: u64,
    /// Values that were not compared with the baseline: it has as many of their type as it can.
    pub baseline_left_out: u64,
    /// Clients and servers that were evicted before enough connections were seen.
    pub evicted: u64,
    /// Alerts that were not reported, because they are [known](crate::alert::KnownAlerts).
    pub known: u64,
}

/// An address and its tunnel.
type ClientKey = (IpAddr, u64);

/// The state that leads to conclusions. Updates arrive in the order of the capture.
#[derive(Debug)]
pub(crate) struct Notices {
    /// Time of the updates, for idle timeouts.
    clock: PacketClock,
    scans: Scans,
    brute_forces: BruteForces,
    beacons: Beacons,
    servers: Servers,
    once: Once,
    counters: NoticeCounters,
}

impl Notices {
    pub(crate) fn new(settings: &NoticeSettings) -> Self {
        let contacts = settings.beacon_contacts.get().clamp(3, MAX_BEACON_CONTACTS);
        Self {
            clock: PacketClock::new(Duration::from_secs(NOTICE_IDLE_SECS)),
            scans: Scans::new(settings),
            brute_forces: BruteForces::new(),
            beacons: Beacons::new(contacts),
            servers: Servers::new(),
            once: Once::new(),
            counters: NoticeCounters::default(),
        }
    }

    pub(crate) fn counters(&self) -> NoticeCounters {
        let Self { scans, brute_forces, beacons, servers, .. } = self;
        let evicted = [scans.evicted(), brute_forces.evicted(), beacons.evicted(), servers.evicted()];
        let evicted = evicted.into_iter().fold(0, u64::saturating_add);
        NoticeCounters { evicted: self.counters.evicted.saturating_add(evicted), ..self.counters }
    }

    /// Forgets all clients; keeps the counters.
    pub(crate) fn clear(&mut self) {
        self.counters = self.counters();
        self.scans.clear();
        self.brute_forces.clear();
        self.beacons.clear();
        self.servers.clear();
        self.once.clear();
        self.clock = PacketClock::new(Duration::from_secs(NOTICE_IDLE_SECS));
    }

    /// Takes an update of the host table.
    pub(crate) fn on_update(&mut self, update: &Event<HostUpdate>, report: &mut dyn FnMut(Event<Finding>)) {
        use TrafficNoticeKind::{Beacon, BruteForce, Scan};

        let Self { clock, scans, brute_forces, beacons, servers, once, counters } = self;
        let now = clock.tick(update.ts);
        let is_proven = update.kind.is_proven();
        let is_beacon = Cell::new(false);
        let mut report = |mut event: Event<TrafficNotice>| {
            counters.count(&event.kind);
            is_beacon.set(is_beacon.get() || matches!(event.kind.kind, Beacon(_)));
            // Conclusions from several connections have a proof of their own.
            let has_own = matches!(event.kind.kind, Scan(_) | BruteForce(_) | Beacon(_));
            event.kind.is_proven |= is_proven && !has_own;
            report(event.map(|notice| Finding::Notice(Box::new(notice))));
        };
        scans.on_time(now, &mut report);
        brute_forces.on_time(now, &mut report);
        match update.kind.update() {
            Update::Tcp(TcpUpdate { signature, matched, isn, .. }) => match signature.handshake {
                Handshake::Syn => {
                    let label = matched.as_ref().map(|found| &found.label);
                    scans.on_syn(update, label, now, &mut report);
                    beacons.on_syn(update, *isn, now, &mut report);
                }
                Handshake::SynAck => {
                    scans.on_answer(update, now);
                    beacons.on_answer(update, now);
                }
            },
            Update::Request(contact) => {
                servers.on_hello(update, contact, is_proven, now);
                beacons.on_contact(update, contact, true, is_proven, now, &mut report);
                once.on_contact(update, contact, is_proven, now, &mut report);
            }
            Update::Progress(progress) => {
                scans.on_progress(update, progress.step, is_proven, now, &mut report);
                match progress.step {
                    Progress::Continues { .. } if is_proven => beacons.on_proof(update, now),
                    Progress::Login(login) => {
                        brute_forces.on_login(update, login, is_proven, now, &mut report);
                    }
                    _ => {}
                }
            }
            Update::Server(facts) => servers.on_server(update, facts, is_proven, now, &mut report),
            Update::Http(http) => {
                if let Some(contact) = &http.contact {
                    beacons.on_contact(update, contact, http.counts, is_proven, now, &mut report);
                    once.on_contact(update, contact, is_proven, now, &mut report);
                }
                once.on_head(update, http, is_proven, now, &mut report);
            }
            _ => {}
        }
        if is_beacon.get() {
            servers.on_regular(update, is_proven, now, &mut report);
        }
    }

    /// Reports what no later update can change.
    pub(crate) fn on_end(&mut self, report: &mut dyn FnMut(Event<Finding>)) {
        let Self { clock, scans, brute_forces, counters, .. } = self;
        let mut report = |event: Event<TrafficNotice>| {
            counters.count(&event.kind);
            report(event.map(|notice| Finding::Notice(Box::new(notice))));
        };
        scans.on_end(clock.now(), &mut report);
        brute_forces.on_end(&mut report);
    }
}

impl NoticeCounters {
    fn count(&mut self, notice: &TrafficNotice) {
        let counter = match notice.kind {
            TrafficNoticeKind::Scan(_) => &mut self.scans,
            TrafficNoticeKind::BruteForce(_) => &mut self.brute_forces,
            TrafficNoticeKind::Beacon(_) => &mut self.beacons,
            TrafficNoticeKind::UnusualServer(_) => &mut self.unusual_servers,
            TrafficNoticeKind::C2Certificate(_) => &mut self.c2_certificates,
            TrafficNoticeKind::Contradiction(_) => &mut self.contradictions,
            TrafficNoticeKind::Imitation(_) => &mut self.imitations,
            TrafficNoticeKind::NewFingerprint(ref found) => match found.alert() {
                AlertKind::NewServer => &mut self.new_servers,
                AlertKind::NewIssuer => &mut self.new_issuers,
                AlertKind::NewClientOfHost => &mut self.new_clients_of_hosts,
                _ => &mut self.new_fingerprints,
            },
        };
        *counter = counter.saturating_add(1);
    }
}

/// The client of an update.
fn client_of<K>(event: &Event<K>) -> ClientKey {
    (event.flow.client.ip(), event.flow.tunnel_key())
}

/// The event of a conclusion at the packet of an update.
fn at_packet<K>(event: &Event<K>, kind: TrafficNoticeKind, packets: Vec<u64>) -> Event<TrafficNotice> {
    let Event { ts, packet_number, flow, .. } = event;
    Event::new(*ts, *packet_number, flow.clone(), Side::Client, TrafficNotice::new(kind, packets))
}

/// The time between two timestamps, in milliseconds; zero if the second one is earlier.
fn millis_between(first: Timestamp, last: Timestamp) -> u64 {
    last.as_millis().saturating_sub(first.as_millis())
}
