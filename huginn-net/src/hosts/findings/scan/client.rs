//! The targets of a client, and the groups of them that are a scan.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use foldhash::fast::RandomState;
use huginn_net_core::{Timestamp, TunnelPath};
use huginn_net_db::Label;

use super::super::Seen;
use super::open::OpenScan;
use super::{Thresholds, is_at_most, is_percent};
use crate::limits::{
    MAX_NEAR_SCAN_DATA_PERCENT, MAX_SCAN_ACCEPTED_PERCENT, MAX_SCAN_DATA_PERCENT, MAX_SCAN_TARGETS,
    MIN_SCAN_TOOL_PERCENT, SCAN_ANSWER_NANOS, SCAN_WINDOW_NANOS, SLOW_SCAN_WINDOWS,
};
use crate::observation::{ScanRemark, ScanSegments, ScanTarget};

/// How many times as many targets make a slow scan.
const SLOW_SCAN_FACTOR: u32 = 2;

/// Minimum share of the targets of a client that have a port of a scan of hosts.
const MIN_SCAN_PORT_PERCENT: usize = 10;

/// Minimum share of the targets of a client that have the ports of a scan of hosts: peer-to-peer programs contact many ports.
const MIN_SCAN_PORTS_PERCENT: usize = 50;

/// Ports of which programs contact many hosts: SYNs without answers do not tell their connections from a scan.
const PORTS_OF_MANY_HOSTS: [u16; 5] = [25, 53, 80, 443, 853];

/// Maximum number of segments with ACK that a scanner sends to a target: more are those of a connection.
const MAX_PROBES: u32 = 2;

/// Targets of which most accepted, after which a client without answers lost its network.
const MIN_BUSY_TARGETS: usize = 20;

/// The connections that a client tried in the last minutes, and its scans.
#[derive(Debug)]
pub(super) struct Client {
    targets: HashMap<SocketAddr, Target, RandomState>,
    /// When old targets were last removed.
    pruned_at: u64,
    pub(super) is_due: bool,
    /// Whether it is among the clients with a scan that grew.
    pub(super) is_growing: bool,
    pub(super) tunnel: Option<Box<TunnelPath>>,
    pub(super) scans: Vec<OpenScan>,
}

/// A server address and port, and the first segment to it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) at: u64,
    pub(super) ts: Timestamp,
    pub(super) packet_number: u64,
    /// Whether that packet is the first of a connection.
    pub(super) begins_flow: bool,
    pub(super) client_port: u16,
    pub(super) segments: ScanSegments,
    pub(super) syns: u32,
    /// Whether the server accepted: with a SYN+ACK, or the client went on.
    pub(super) is_accepted: bool,
    /// Whether the client went on, or reset the connection: the capture shows what it does after a SYN+ACK.
    is_followed: bool,
    /// Whether a side sent payload; of a segment without connection, whether the server answered it otherwise than with RST.
    pub(super) has_data: bool,
    pub(super) is_refused: bool,
    /// Whether the client acknowledged the SYN+ACK.
    pub(super) is_proven: bool,
    /// The tool that sent all of its SYNs.
    pub(super) tool: Option<Arc<Label>>,
}

/// Targets that are a scan, in the order of their first segments.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) target: ScanTarget,
    pub(super) segments: ScanSegments,
    pub(super) targets: Vec<(SocketAddr, Target)>,
    pub(super) remark: Option<ScanRemark>,
    pub(super) tool: Option<Arc<Label>>,
    /// Maximum share of the targets that exchange data with the client.
    pub(super) max_data_percent: usize,
}

impl Client {
    pub(super) fn new(at: u64, tunnel: Option<Box<TunnelPath>>) -> Self {
        Self {
            targets: HashMap::default(),
            pruned_at: at,
            is_due: false,
            is_growing: false,
            tunnel,
            scans: Vec::new(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let targets = self.targets.capacity().saturating_mul(size_of::<(SocketAddr, Target)>());
        let own = targets.saturating_add(self.scans.capacity().saturating_mul(size_of::<OpenScan>()));
        self.scans.iter().fold(own, |sum, scan| sum.saturating_add(scan.heap_bytes()))
    }

    /// Number of targets.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Adds the target of a segment.
    pub(super) fn add(&mut self, seen: &Seen<'_>, segments: ScanSegments, tool: Option<&Arc<Label>>) {
        let (event, at) = (seen.event, seen.now.as_nanos());
        let since = at.saturating_sub(self.pruned_at);
        let is_full = self.targets.len() >= MAX_SCAN_TARGETS as usize && since >= SCAN_ANSWER_NANOS;
        if since >= SCAN_WINDOW_NANOS || is_full {
            self.pruned_at = at;
            // Fast scans leave no room for slow ones.
            let windows = if is_full { 1 } else { SLOW_SCAN_WINDOWS };
            let oldest = at.saturating_sub(window_nanos(windows));
            self.targets.retain(|_, target| target.at >= oldest);
        }
        let server = event.flow.server;
        if let Some(target) = self.targets.get_mut(&server) {
            target.syns = target.syns.saturating_add(1);
            target.tool.take_if(|known| Some(&*known) != tool);
        } else if self.targets.len() < MAX_SCAN_TARGETS as usize {
            let target = Target {
                at,
                ts: event.ts,
                packet_number: event.packet_number,
                begins_flow: event.packet_number == event.first_packet,
                client_port: event.flow.client.port(),
                segments,
                syns: 1,
                is_accepted: false,
                is_followed: false,
                has_data: false,
                is_refused: false,
                is_proven: false,
                tool: tool.cloned(),
            };
            self.targets.insert(server, target);
        }
    }

    /// The target of a SYN, or of a segment without connection.
    fn target_mut(&mut self, server: SocketAddr, is_connection: bool) -> Option<&mut Target> {
        self.targets.get_mut(&server).filter(|target| (target.segments == ScanSegments::Syn) == is_connection)
    }

    /// A server accepted a connection. `is_followed`: the client went on.
    pub(super) fn accept(&mut self, server: SocketAddr, is_followed: bool) {
        if let Some(target) = self.target_mut(server, true) {
            target.is_accepted = true;
            target.is_followed |= is_followed;
        }
        self.scans.iter_mut().for_each(|scan| scan.accept(server));
    }

    /// The client reset a connection.
    pub(super) fn reset(&mut self, server: SocketAddr) {
        if let Some(target) = self.target_mut(server, true) {
            target.is_followed = true;
        }
    }

    /// A server refused a connection, or a segment without one.
    pub(super) fn refuse(&mut self, server: SocketAddr, is_connection: bool) {
        if let Some(target) = self.target_mut(server, is_connection) {
            target.is_refused = true;
        }
        self.scans.iter_mut().for_each(|scan| scan.refuse(server, is_connection));
    }

    /// A side sent payload.
    pub(super) fn on_data(&mut self, server: SocketAddr) {
        if let Some(target) = self.target_mut(server, true) {
            target.has_data = true;
            target.is_accepted = true;
        }
        self.scans.iter_mut().for_each(|scan| scan.on_data(server));
    }

    /// The client acknowledged a SYN+ACK.
    pub(super) fn prove(&mut self, server: SocketAddr, at: u64) {
        if let Some(target) = self.target_mut(server, true) {
            target.is_proven = true;
        }
        self.scans.iter_mut().for_each(|scan| scan.prove(server, at));
    }

    /// The server of a segment without connection sent such a segment, too: the connection is older than the capture.
    pub(super) fn on_answer_to_stray(&mut self, server: SocketAddr) {
        if let Some(target) = self.target_mut(server, false) {
            target.has_data = true;
        }
    }

    /// The targets that are a scan and were not reported yet: those of the last minute, or else of the last few minutes.
    /// `at`: when enough targets were there, and `now`: the time until which servers could answer.
    pub(super) fn groups(&self, thresholds: Thresholds, has_answers: bool, at: u64, now: u64) -> Vec<Group> {
        let latest = now.saturating_sub(SCAN_ANSWER_NANOS);
        for (windows, factor) in [(1, 1), (SLOW_SCAN_WINDOWS, SLOW_SCAN_FACTOR)] {
            let oldest = at.saturating_sub(window_nanos(windows));
            let is_counted = |target: &Target| target.at >= oldest && target.is_settled(latest);
            let targets = self.targets.iter().filter(|(_, target)| is_counted(target));
            let mut targets: Vec<(&SocketAddr, &Target)> = targets.collect();
            targets.sort_unstable_by_key(|(server, target)| (target.packet_number, **server));
            let thresholds = thresholds.times(factor);
            let mut groups = self.by_host(&targets, thresholds);
            // A client whose network blocks most of what it needs tries many hosts, too, in a longer time.
            let judges_busy_ports = has_answers && factor == 1;
            groups.extend(self.by_ports(&targets, thresholds, judges_busy_ports));
            if !groups.is_empty() {
                groups.iter_mut().for_each(|group| group.trim(thresholds));
                return groups;
            }
        }
        Vec::new()
    }

    fn by_host(&self, targets: &[(&SocketAddr, &Target)], thresholds: Thresholds) -> Vec<Group> {
        let mut by_host: BTreeMap<_, Vec<(SocketAddr, Target)>> = BTreeMap::new();
        for (server, target) in targets {
            by_host.entry((target.segments, server.ip())).or_default().push((**server, (*target).clone()));
        }
        let groups = by_host.into_iter().filter(|(_, group)| group.len() >= thresholds.ports as usize);
        let groups = groups.filter_map(|((segments, ip), targets)| {
            let target = ScanTarget::Host(ip);
            let is_known = self.scans.iter().any(|scan| scan.is_of(&target, segments));
            let group = Group::new(target, segments, targets, thresholds.ports)?;
            (!is_known && group.targets.len() >= thresholds.ports as usize).then_some(group)
        });
        groups.collect()
    }

    /// Groups hosts by port, and joins the ports that are scanned.
    fn by_ports(
        &self,
        targets: &[(&SocketAddr, &Target)],
        thresholds: Thresholds,
        judges_busy_ports: bool,
    ) -> Vec<Group> {
        let mut by_port: BTreeMap<ScanSegments, BTreeMap<u16, Vec<(SocketAddr, Target)>>> = BTreeMap::new();
        for (server, target) in targets {
            let of_port = by_port.entry(target.segments).or_default().entry(server.port()).or_default();
            of_port.push((**server, (*target).clone()));
        }
        let groups = by_port.into_iter().filter_map(|(segments, by_port)| {
            // Programs that look for peers contact many hosts on many ports.
            let is_open = |target: &Target| target.segments == segments && !target.has_data;
            let all = targets.iter().filter(|(_, target)| is_open(target)).count();
            let is_known = |port| self.scans.iter().any(|scan| scan.has_port(port, segments));
            let ports = by_port.into_iter().filter_map(|(port, targets)| {
                let is_many = is_percent(targets.len(), all, MIN_SCAN_PORT_PERCENT) && !is_known(port);
                let group = Group::new(ScanTarget::Ports([port].into()), segments, targets, thresholds.hosts);
                group.filter(|_| is_many)
            });
            let group = ports.reduce(Group::join)?;
            let hosts: BTreeSet<_> = group.targets.iter().map(|(server, _)| server.ip()).collect();
            let is_bulk = is_percent(group.targets.len(), all, MIN_SCAN_PORTS_PERCENT);
            let is_scan = hosts.len() >= thresholds.hosts as usize
                && is_bulk
                && (segments != ScanSegments::Syn
                    || group.tool.is_some()
                    || are_near(&group.target, &group.targets, thresholds.hosts)
                    || !self.may_be_lost(&group))
                && (segments != ScanSegments::Syn || judges_busy_ports || !group.target.has_busy_port());
            is_scan.then_some(group)
        });
        groups.collect()
    }

    /// Whether the servers of these ports just accepted: the client may have lost its network.
    fn may_be_lost(&self, group: &Group) -> bool {
        let on_ports = || {
            let is_of = |server: &SocketAddr| group.target.includes(*server);
            self.targets.iter().filter(move |(server, _)| is_of(server)).map(|(_, target)| target)
        };
        let last = on_ports().filter(|target| target.is_accepted).map(|target| target.packet_number).max();
        let Some(last) = last else { return false };
        let before = on_ports().filter(|target| target.packet_number <= last);
        let (mut all, mut accepted) = (0_usize, 0_usize);
        for target in before {
            all = all.saturating_add(1);
            accepted = accepted.saturating_add(target.is_accepted.into());
        }
        let after = group.targets.iter().filter(|(_, target)| target.packet_number > last).count();
        all >= MIN_BUSY_TARGETS && is_percent(accepted, all, 50) && is_percent(after, group.targets.len(), 50)
    }

    /// Keeps a scan. Returns its place.
    pub(super) fn open(&mut self, group: &Group) -> Option<&mut OpenScan> {
        self.scans.push(OpenScan::new(group)?);
        self.scans.last_mut()
    }

    /// Adds the targets to the last scan that were tried since its first one, and do not belong to its group.
    pub(super) fn add_later(&mut self) {
        if let Some(scan) = self.scans.last_mut() {
            self.targets.iter().for_each(|(server, target)| scan.add_later(*server, target));
        }
    }
}

/// The time in which targets are counted, and the time that they have to answer.
fn window_nanos(windows: u64) -> u64 {
    SCAN_WINDOW_NANOS.saturating_mul(windows).saturating_add(SCAN_ANSWER_NANOS)
}

impl Target {
    /// Whether the target answered or had time to do so: its first SYN is not later than `latest`. Packets of a tool need no
    /// answer.
    fn is_settled(&self, latest: u64) -> bool {
        self.is_accepted || self.is_refused || self.tool.is_some() || self.at <= latest
    }
}

/// The value that most have, if more than half have it, by the vote of Boyer and Moore: two different values cancel each other.
fn majority<T: PartialEq>(values: impl Iterator<Item = T>) -> Option<T> {
    let (mut most, mut votes) = (None, 0_usize);
    for value in values {
        if votes == 0 {
            (most, votes) = (Some(value), 1);
        } else if most.as_ref() == Some(&value) {
            votes = votes.saturating_add(1);
        } else {
            votes = votes.saturating_sub(1);
        }
    }
    most
}

impl Group {
    /// Targets of one host or port, if connections to them are a scan.
    fn new(
        target: ScanTarget,
        segments: ScanSegments,
        mut targets: Vec<(SocketAddr, Target)>,
        min: u32,
    ) -> Option<Self> {
        let count = |targets: &[(SocketAddr, Target)], is: fn(&Target) -> bool| {
            targets.iter().filter(|(_, target)| is(target)).count()
        };
        let all = targets.len();
        let mut max_data_percent = MAX_SCAN_DATA_PERCENT;
        let (tool, remark) = match segments {
            ScanSegments::Syn => {
                let tool = tool_of(&targets).cloned();
                let accepted = count(&targets, |target| target.is_accepted);
                let silent =
                    count(&targets, |found| found.is_accepted && found.is_followed && !found.has_data);
                let with_data = count(&targets, |target| target.has_data);
                if !is_at_most(with_data, all, max_data_percent) {
                    max_data_percent = MAX_NEAR_SCAN_DATA_PERCENT;
                    if !is_at_most(with_data, all, max_data_percent) || !are_near(&target, &targets, min) {
                        return None;
                    }
                }
                let is_refused = is_at_most(accepted, all, MAX_SCAN_ACCEPTED_PERCENT);
                let is_silent = silent >= min as usize;
                if tool.is_none() && !is_refused && !is_silent {
                    return None;
                }
                (tool, (is_silent && !is_refused).then_some(ScanRemark::NoData))
            }
            // Nothing else sends them.
            ScanSegments::Fin | ScanSegments::Null | ScanSegments::Xmas => (None, None),
            ScanSegments::Ack | ScanSegments::Maimon => {
                // Before its scan, Nmap sends probes from another port.
                let port = majority(targets.iter().map(|(_, target)| target.client_port))?;
                targets.retain(|(_, target)| {
                    target.is_refused
                        && !target.has_data
                        && target.syns <= MAX_PROBES
                        && target.client_port == port
                });
                if !is_percent(targets.len(), all, MIN_SCAN_TOOL_PERCENT) {
                    return None;
                }
                (None, None)
            }
        };
        Some(Self { target, segments, targets, remark, tool, max_data_percent })
    }

    /// Adds the hosts of another port.
    fn join(self, other: Self) -> Self {
        let ScanTarget::Ports(ports) = &self.target else { return self };
        let ScanTarget::Ports(more) = &other.target else { return self };
        let target = ScanTarget::Ports(ports.iter().chain(&**more).copied().collect());
        let mut targets = self.targets;
        targets.extend(other.targets);
        targets.sort_unstable_by_key(|(server, target)| (target.packet_number, *server));
        let remark = self.remark.filter(|remark| other.remark == Some(*remark));
        let tool = tool_of(&targets).cloned();
        let max_data_percent = self.max_data_percent.max(other.max_data_percent);
        Self { target, segments: self.segments, targets, remark, tool, max_data_percent }
    }

    /// Leaves out what lies before or after a pause that takes most of the time, if enough is left.
    fn trim(&mut self, thresholds: Thresholds) {
        let min = match self.target {
            ScanTarget::Host(_) => thresholds.ports,
            ScanTarget::Ports(_) => thresholds.hosts,
        };
        loop {
            let times = self.targets.iter().map(|(_, target)| target.at);
            let (Some(first), Some(last)) = (times.clone().next(), times.clone().next_back()) else { return };
            let gaps = times.clone().zip(times.skip(1)).map(|(one, next)| next.saturating_sub(one));
            let Some((index, gap)) = gaps.enumerate().max_by_key(|(index, gap)| (*gap, *index)) else {
                return;
            };
            let (before, after) = self.targets.split_at(index.saturating_add(1));
            let longer = if before.len() > after.len() { before } else { after };
            let is_most = gap.saturating_mul(2) > last.saturating_sub(first) && gap > SCAN_ANSWER_NANOS;
            if !is_most || longer.len() < min as usize {
                return;
            }
            self.targets = longer.to_vec();
        }
    }
}

/// Whether at least `min` targets without data are ports of one host, or hosts of one network on ports that are not busy. The
/// absent peers of a peer-to-peer program are in many networks, and so are the servers of a client that loses its network.
fn are_near(target: &ScanTarget, targets: &[(SocketAddr, Target)], min: u32) -> bool {
    let unused = || targets.iter().filter(|(_, target)| !target.has_data).map(|(server, _)| server.ip());
    if matches!(target, ScanTarget::Host(_)) {
        return unused().count() >= min as usize;
    }
    let mut networks: BTreeMap<u64, u32> = BTreeMap::new();
    for ip in unused() {
        let count = networks.entry(network(ip)).or_default();
        *count = count.saturating_add(1);
    }
    !target.has_busy_port() && networks.values().any(|count| *count >= min)
}

/// The first 16 bits of an IPv4 address, or the first 48 of an IPv6 address, after the version.
fn network(ip: IpAddr) -> u64 {
    match ip {
        IpAddr::V4(ip) => u64::from(u32::from(ip) >> 16),
        IpAddr::V6(ip) => {
            let [a, b, c, ..] = ip.segments();
            [a, b, c].into_iter().fold(1, |prefix, part| (prefix << 16) | u64::from(part))
        }
    }
}

impl ScanTarget {
    /// Whether it has a port on which programs contact many hosts.
    fn has_busy_port(&self) -> bool {
        matches!(self, Self::Ports(ports) if ports.iter().any(|port| PORTS_OF_MANY_HOSTS.contains(port)))
    }

    pub(super) fn includes(&self, server: SocketAddr) -> bool {
        match self {
            Self::Host(ip) => server.ip() == *ip,
            Self::Ports(ports) => ports.contains(&server.port()),
        }
    }
}

/// The tool whose packets almost all targets of a group got, and no others.
fn tool_of(group: &[(SocketAddr, Target)]) -> Option<&Arc<Label>> {
    let most = majority(group.iter().map(|(_, target)| target.tool.as_ref()))?;
    let by_tool = group.iter().filter(|(_, target)| target.tool.as_ref() == most).count();
    most.filter(|_| is_percent(by_tool, group.len(), MIN_SCAN_TOOL_PERCENT))
}

#[cfg(test)]
mod tests {
    use super::majority;

    #[test]
    fn majority_is_found_wherever_it_stands() {
        assert_eq!(majority([7, 1, 7, 7].into_iter()), Some(7));
        assert_eq!(majority([1, 1, 7, 7, 7].into_iter()), Some(7), "the others come first");
        assert_eq!(majority([None, Some(1), None].into_iter()), Some(None));
        assert_eq!(majority(std::iter::empty::<u16>()), None);
    }
}
