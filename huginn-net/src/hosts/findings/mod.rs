//! Findings above fingerprints: what several connections of a client show together.

mod baseline;
mod beacon;
mod brute_force;
mod by_proof;
mod once;
mod scan;
mod servers;
mod service;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use huginn_net_core::{Event, PacketClock, Side, Timestamp};
use huginn_net_tcp::Handshake;

pub(crate) use self::baseline::Learner;
pub use self::baseline::{Baseline, BaselineError};
use self::beacon::Beacons;
use self::brute_force::BruteForces;
use self::once::Once;
use self::scan::Scans;
use self::servers::Servers;
use super::{HostUpdate, Progress, TcpUpdate, Update};
use crate::Observation;
use crate::alert::AlertKind;
use crate::limits::{BEACON_CONTACTS, FINDING_IDLE_SECS};
use crate::observation::{Finding, FindingKind};

/// Ports of a host that make a scan: more than any client uses of one server in a minute, except for a scanner, or one that
/// transfers files by FTP, whose ports answer.
const SCAN_PORTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Hosts on a port that make a scan: more than a browser contacts in a minute.
const SCAN_HOSTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Maximum number of contacts that a caller may ask for: 64 KiB of times and packet numbers.
const MAX_BEACON_CONTACTS: u32 = 1000;

/// Thresholds of findings. docs/findings.md has the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FindingSettings {
    /// Ports of a host that make a scan (default 100).
    pub scan_ports: NonZeroU32,
    /// Hosts on a port that make a scan (default 100).
    pub scan_hosts: NonZeroU32,
    /// Contacts that make a beacon at intervals that vary by up to 25 % (default 20; at least 3, at most 1000). Fewer make one if
    /// they are more regular.
    pub beacon_contacts: NonZeroU32,
}

huginn_net_core::setters!(FindingSettings {
    scan_ports: NonZeroU32,
    scan_hosts: NonZeroU32,
    beacon_contacts: NonZeroU32,
});

impl Default for FindingSettings {
    fn default() -> Self {
        Self { scan_ports: SCAN_PORTS, scan_hosts: SCAN_HOSTS, beacon_contacts: BEACON_CONTACTS }
    }
}

/// Counters of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct FindingCounters {
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
    /// Types of which the baseline was full.
    pub full_baselines: u64,
    /// Values that the baseline had no room for, or that gave theirs to others.
    pub baseline_left_out: u64,
    /// Clients and servers that were evicted before enough connections were seen.
    pub evicted: u64,
    /// Alerts that were not reported, because they are [known](crate::alert::KnownAlerts).
    pub known: u64,
}

/// An address and its tunnel.
type ClientKey = (IpAddr, u64);

/// An update, with what every rule asks of it.
#[derive(Clone, Copy)]
struct Seen<'a> {
    event: &'a Event<HostUpdate>,
    client: ClientKey,
    now: Timestamp,
    /// Whether the handshake shows that the client has its address.
    is_proven: bool,
}

/// Takes conclusions.
type Report<'r> = &'r mut dyn FnMut(Event<Finding>);

impl Seen<'_> {
    fn server(&self) -> SocketAddr {
        self.event.flow.server
    }

    /// The event of a conclusion at the packet of the update.
    fn event_of(&self, kind: FindingKind, packets: Vec<u64>) -> Event<Finding> {
        self.event.derive(Side::Client, Finding::new(kind, packets))
    }
}

/// The state that leads to conclusions. Updates arrive in the order of the capture.
#[derive(Debug)]
pub(crate) struct Findings {
    /// Time of the updates, for idle timeouts.
    clock: PacketClock,
    scans: Scans,
    brute_forces: BruteForces,
    beacons: Beacons,
    servers: Servers,
    once: Once,
    counters: FindingCounters,
    settings: FindingSettings,
}

impl Findings {
    pub(crate) fn new(settings: &FindingSettings) -> Self {
        Self {
            settings: *settings,
            clock: PacketClock::new(Duration::from_secs(FINDING_IDLE_SECS)),
            scans: Scans::new(settings),
            brute_forces: BruteForces::new(),
            beacons: Beacons::new(settings.beacon_contacts.get().clamp(3, MAX_BEACON_CONTACTS)),
            servers: Servers::new(),
            once: Once::new(),
            counters: FindingCounters::default(),
        }
    }

    pub(crate) fn counters(&self) -> FindingCounters {
        let Self { scans, brute_forces, beacons, servers, .. } = self;
        let evicted = [scans.evicted(), brute_forces.evicted(), beacons.evicted(), servers.evicted()];
        let evicted = evicted.into_iter().fold(0, u64::saturating_add);
        FindingCounters { evicted: self.counters.evicted.saturating_add(evicted), ..self.counters }
    }

    /// Forgets all clients; keeps the counters.
    pub(crate) fn clear(&mut self) {
        *self = Self { counters: self.counters(), ..Self::new(&self.settings) };
    }

    /// Takes an update of the host table.
    pub(crate) fn on_update(
        &mut self,
        update: &Event<HostUpdate>,
        report: &mut dyn FnMut(Event<Observation>),
    ) {
        use FindingKind::{Beacon, BruteForce, Scan};

        let Self { clock, scans, brute_forces, beacons, servers, once, counters, .. } = self;
        let (now, is_proven) = (clock.tick(update.ts), update.kind.is_proven());
        let client = (update.flow.client.ip(), update.flow.tunnel_key());
        let seen = &Seen { event: update, client, now, is_proven };
        let is_beacon = Cell::new(false);
        let mut report = |mut event: Event<Finding>| {
            counters.count(&event.kind);
            is_beacon.set(is_beacon.get() || matches!(event.kind.kind, Beacon(_)));
            // Conclusions from several connections have a proof of their own.
            let has_own = matches!(event.kind.kind, Scan(_) | BruteForce(_) | Beacon(_));
            event.kind.is_proven |= is_proven && !has_own;
            report(event.map(|finding| Observation::Finding(Box::new(finding))));
        };
        scans.on_time(now, &mut report);
        brute_forces.on_time(now, &mut report);
        match update.kind.update() {
            Update::Tcp(TcpUpdate { signature, matched, isn, .. }) => match signature.handshake {
                Handshake::Syn => {
                    scans.on_syn(seen, matched.as_ref().map(|found| &found.label), &mut report);
                    beacons.on_syn(seen, *isn, &mut report);
                }
                Handshake::SynAck => {
                    scans.on_answer(seen);
                    beacons.on_answer(seen);
                }
            },
            Update::Request(contact) => {
                servers.on_hello(seen, contact);
                beacons.on_contact(seen, contact, true, &mut report);
                once.on_contact(seen, contact, &mut report);
            }
            Update::Progress(progress) => {
                scans.on_progress(seen, progress.step, &mut report);
                match progress.step {
                    Progress::Continues { .. } if is_proven => beacons.on_proof(seen),
                    Progress::Login(login) => brute_forces.on_login(seen, login, &mut report),
                    _ => {}
                }
            }
            Update::Server(facts) => servers.on_server(seen, facts, &mut report),
            Update::Http(http) => {
                if let Some(contact) = &http.contact {
                    beacons.on_contact(seen, contact, http.counts, &mut report);
                    once.on_contact(seen, contact, &mut report);
                }
                once.on_head(seen, http, &mut report);
            }
            _ => {}
        }
        if is_beacon.get() {
            servers.on_regular(seen, &mut report);
        }
    }

    /// Reports what no later update can change.
    pub(crate) fn on_end(&mut self, report: &mut dyn FnMut(Event<Observation>)) {
        let Self { clock, scans, brute_forces, counters, .. } = self;
        let mut report = |event: Event<Finding>| {
            counters.count(&event.kind);
            report(event.map(|finding| Observation::Finding(Box::new(finding))));
        };
        scans.on_end(clock.now(), &mut report);
        brute_forces.on_end(&mut report);
    }
}

impl FindingCounters {
    fn count(&mut self, finding: &Finding) {
        let counter = match finding.kind {
            FindingKind::Scan(_) => &mut self.scans,
            FindingKind::BruteForce(_) => &mut self.brute_forces,
            FindingKind::Beacon(_) => &mut self.beacons,
            FindingKind::UnusualServer(_) => &mut self.unusual_servers,
            FindingKind::C2Certificate(_) => &mut self.c2_certificates,
            FindingKind::Contradiction(_) => &mut self.contradictions,
            FindingKind::Imitation(_) => &mut self.imitations,
            FindingKind::NewFingerprint(ref found) => match found.alert() {
                AlertKind::NewServer => &mut self.new_servers,
                AlertKind::NewIssuer => &mut self.new_issuers,
                AlertKind::NewClientOfHost => &mut self.new_clients_of_hosts,
                AlertKind::FullBaseline => &mut self.full_baselines,
                _ => &mut self.new_fingerprints,
            },
        };
        *counter = counter.saturating_add(1);
    }
}
