//! Profiles of hosts over several captures, or of several sensors.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_db::Database;

use super::{
    Activity, Changes, HostId, HostLimits, HostProfile, HostRecordError, Hosts, ObservationPoint, SavedHost,
    SeenBy, SensorView, SystemSeen, TopValues,
};
use crate::limits::MAX_TOP_VALUES;

/// Profiles of the hosts of several captures, joined by address and tunnel; or of several sensors, joined by site, too.
///
/// The order of the captures does not matter for counts. An address of captures is one host; a private, link-local or loopback one is a
/// host in each network.
///
/// ```
/// use huginn_net::hosts::{HostLimits, JoinedHosts};
///
/// let joined = JoinedHosts::new(&HostLimits::default());
/// assert_eq!(joined.profiles().count(), 0);
/// ```
#[derive(Debug)]
pub struct JoinedHosts {
    /// By address and tunnel, then by network or site.
    profiles: BTreeMap<(HostId, Option<Arc<str>>), HostProfile>,
    limits: HostLimits,
    heap_bytes: usize,
    left_out: u64,
}

impl JoinedHosts {
    /// Creates an empty set of hosts. The limits on hosts and on bytes apply to it; the idle timeout does not.
    pub fn new(limits: &HostLimits) -> Self {
        Self { profiles: BTreeMap::new(), limits: *limits, heap_bytes: 0, left_out: 0 }
    }

    /// Adds the profiles of a capture. `network`: the name of its network, if there are several. At a limit, hosts that are not
    /// there yet are left out.
    pub fn add(&mut self, hosts: &Hosts, network: Option<&Arc<str>>) {
        for (id, profile) in hosts.profiles_by_id() {
            let network = network.filter(|_| is_local(id.ip())).cloned();
            let new = || HostProfile { network: network.clone(), ..profile.clone() };
            self.add_profile((id, network.clone()), profile, new, None);
        }
    }

    /// Adds the profile of a host that a sensor saved. Equal addresses at two sites are two hosts, public ones too. At a limit, a host
    /// that is not there yet is left out.
    ///
    /// # Errors
    /// [`HostRecordError`] if the database lacks a name of the host.
    pub fn add_saved(
        &mut self,
        saved: SavedHost,
        from: &ObservationPoint,
        database: &Database,
    ) -> Result<(), HostRecordError> {
        let Some((id, mut profile)) = saved.into_profile(database)? else { return Ok(()) };
        let mut seen_by = SeenBy::new(from.site.clone());
        if let Some(sensor) = &from.sensor {
            seen_by.add(view(sensor, &profile));
        }
        profile.seen_by = Some(Box::new(seen_by));
        self.add_profile((id, from.site.clone()), &profile, || profile.clone(), from.sensor.as_ref());
        Ok(())
    }

    /// Adds a profile to the one with its key. `new`: makes the profile of a host that is not there yet. `sensor`: the one that saw it.
    fn add_profile(
        &mut self,
        key: (HostId, Option<Arc<str>>),
        profile: &HostProfile,
        new: impl FnOnce() -> HostProfile,
        sensor: Option<&Arc<str>>,
    ) {
        let is_full =
            self.profiles.len() >= self.limits.max_hosts || self.heap_bytes >= self.limits.max_buffered_bytes;
        let (before, after) = match self.profiles.get_mut(&key) {
            Some(joined) => {
                let before = joined.heap_bytes();
                joined.join(profile, is_full);
                if let (Some(seen_by), Some(sensor)) = (&mut joined.seen_by, sensor) {
                    seen_by.add(view(sensor, profile));
                }
                (before, joined.heap_bytes())
            }
            None if is_full => {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
            None => {
                let bytes = profile.heap_bytes();
                self.profiles.insert(key, new());
                (0, bytes)
            }
        };
        self.heap_bytes = self.heap_bytes.saturating_add(after).saturating_sub(before);
    }

    /// The profiles, sorted as [`Hosts::profiles`].
    pub fn profiles(&self) -> impl Iterator<Item = &HostProfile> {
        self.profiles.values()
    }

    /// The profiles of an address: outside of tunnels first, then one for each tunnel, and of each those of all networks.
    pub fn profiles_of(&self, ip: IpAddr) -> impl Iterator<Item = &HostProfile> {
        let hosts = self.profiles.range((HostId((ip, 0)), None)..);
        hosts.take_while(move |((id, _), _)| id.ip() == ip).map(|(_, profile)| profile)
    }

    /// Number of profiles that were left out; a host counts once for each capture or sensor.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// What a sensor says of a host.
fn view(sensor: &Arc<str>, profile: &HostProfile) -> SensorView {
    SensorView {
        sensor: Arc::clone(sensor),
        first_seen: profile.first_seen,
        last_seen: profile.last_seen,
        system: profile.verdict().system,
    }
}

/// Whether an address is one of a private network, a link or a machine: another network may use it, too. RFC 6890, section 2.2.
#[doc(hidden)]
pub fn is_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified() || is_shared
        }
        IpAddr::V6(ip) => {
            ip.is_loopback() || ip.is_unspecified() || ip.is_unicast_link_local() || ip.is_unique_local()
        }
    }
}

impl HostProfile {
    /// Adds the counts and values of another profile of the same host. `is_full`: whether the hosts may take no more memory
    /// for the targets of tools, which are large.
    fn join(&mut self, other: &Self, is_full: bool) {
        let is_later = other.last_seen.as_nanos() >= self.last_seen.as_nanos();
        if is_later {
            self.last_seen = other.last_seen;
            self.latest = other.latest.clone();
            self.uptime = other.uptime.or(self.uptime);
        } else {
            self.uptime = self.uptime.or(other.uptime);
        }
        if other.first_seen.as_nanos() < self.first_seen.as_nanos() {
            self.first_seen = other.first_seen;
        }
        self.as_client.join(&other.as_client);
        self.as_server.join(&other.as_server);
        self.tools.join(&other.tools, is_full);
        self.systems.join(&other.systems, SystemSeen::is_same);
        self.distances.join(&other.distances, PartialEq::eq);
        self.links.join(&other.links, PartialEq::eq);
        self.browsers.join(&other.browsers, PartialEq::eq);
        self.user_agents.join(&other.user_agents, PartialEq::eq);
        self.servers.join(&other.servers, PartialEq::eq);
        self.server_headers.join(&other.server_headers, PartialEq::eq);
        self.tls_clients.join(&other.tls_clients, |one, other| one.ja4 == other.ja4);
        self.languages.join(&other.languages, PartialEq::eq);
        self.peers.join(&other.peers);
        self.names.join(&other.names);
        self.conflicts.join(&other.conflicts, PartialEq::eq);
        self.answers.join(&other.answers);
        self.own_answer.join(&other.own_answer);
        self.changes.join(&other.changes);
        self.sharings.join(&other.sharings);
    }
}

impl Activity {
    fn join(&mut self, other: &Self) {
        self.handshakes = self.handshakes.saturating_add(other.handshakes);
        self.heads = self.heads.saturating_add(other.heads);
        self.forwarded = self.forwarded.saturating_add(other.forwarded);
        self.hellos = self.hellos.saturating_add(other.hellos);
    }
}

impl SystemSeen {
    /// Whether both are the same match; the first signature without a match stands for all of them.
    fn is_same(&self, other: &Self) -> bool {
        (&self.label, self.fuzzy, self.handshake) == (&other.label, other.fuzzy, other.handshake)
    }
}

impl Changes {
    fn join(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        if other.last.as_nanos() > self.last.as_nanos() {
            self.latest.clone_from(&other.latest);
            self.last = other.last;
        }
    }
}

impl<T: Clone> TopValues<T> {
    /// Adds the counts of another list, and keeps the most frequent values.
    fn join(&mut self, other: &Self, is_same: impl Fn(&T, &T) -> bool) {
        self.left_out = self.left_out.saturating_add(other.left_out);
        for entry in &other.entries {
            match self.entries.iter_mut().find(|own| is_same(&own.value, &entry.value)) {
                Some(own) => own.count = own.count.saturating_add(entry.count),
                None => self.entries.push(entry.clone()),
            }
        }
        self.evict_to(MAX_TOP_VALUES);
    }
}
