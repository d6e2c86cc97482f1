//! A scan that was found, and may grow.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use huginn_net_core::{Event, FlowId, Side, Timestamp, TransportKind, TunnelPath};
use huginn_net_db::Label;

use super::super::Seen;
use super::client::{Group, Target};
use super::{is_at_most, is_percent};
use crate::hosts::{HostSet, PortSet};
use crate::limits::{
    MAX_FINDING_PACKETS, MAX_SCAN_ACCEPTED_PERCENT, MIN_SCAN_GROWTH_PERCENT, MIN_SCAN_TOOL_PERCENT,
    SCAN_ANSWER_NANOS,
};
use crate::observation::{Finding, FindingKind, ScanFinding, ScanRemark, ScanSegments, ScanTarget};

/// Maximum number of targets of a scan that are remembered because the client acknowledged their SYN+ACK.
const MAX_SCAN_PROOFS: usize = 8;

/// A scan that was reported, and may grow.
#[derive(Debug)]
pub(super) struct OpenScan {
    target: ScanTarget,
    segments: ScanSegments,
    targets: TargetSet,
    accepted: TargetSet,
    refused: TargetSet,
    with_data: TargetSet,
    /// Maximum share of the targets that exchange data with the client.
    max_data_percent: usize,
    remark: Option<ScanRemark>,
    syns: u64,
    first_at: u64,
    first_seen: Timestamp,
    /// Number of the last packet of the group that made it.
    last_counted: u64,
    packets: Vec<u64>,
    tool: Option<Arc<Label>>,
    /// Targets that got other SYNs than those of the tool.
    others: TargetSet,
    /// Targets that accepted, whose SYN+ACK the client acknowledged, and when. Those that get data leave.
    proofs: VecDeque<(SocketAddr, u64)>,
    /// Number of targets when the scan was reported, and at which it is reported next.
    reported: u32,
    report_at: u32,
    is_update: bool,
    pub(super) last: LastSegment,
}

/// The last segment of a scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastSegment {
    pub(super) at: u64,
    ts: Timestamp,
    packet_number: u64,
    first_packet: u64,
    client_port: u16,
    server: SocketAddr,
}

#[derive(Debug)]
enum TargetSet {
    Ports(PortSet),
    Hosts(HostSet),
}

impl OpenScan {
    /// The scan of a group.
    pub(super) fn new(group: &Group) -> Option<Self> {
        let ((_, first), (server, last)) = (group.targets.first()?, group.targets.last()?);
        let set = || TargetSet::new(&group.target);
        let mut scan = Self {
            target: group.target.clone(),
            segments: group.segments,
            targets: set(),
            accepted: set(),
            refused: set(),
            with_data: set(),
            max_data_percent: group.max_data_percent,
            remark: group.remark,
            syns: 0,
            first_at: first.at,
            first_seen: first.ts,
            last_counted: last.packet_number,
            packets: group
                .targets
                .iter()
                .take(MAX_FINDING_PACKETS)
                .map(|(_, one)| one.packet_number)
                .collect(),
            tool: group.tool.clone(),
            others: set(),
            proofs: VecDeque::new(),
            reported: 0,
            report_at: 0,
            is_update: false,
            last: LastSegment::new(*server, last),
        };
        group.targets.iter().for_each(|(server, one)| scan.add(*server, one));
        Some(scan)
    }

    /// Sets what the reader has to know of the answers.
    pub(super) fn set_remark(&mut self, remark: ScanRemark) {
        self.remark.get_or_insert(remark);
    }

    pub(super) fn is_of(&self, target: &ScanTarget, segments: ScanSegments) -> bool {
        self.target == *target && self.segments == segments
    }

    /// Whether it is a scan of hosts on a port.
    pub(super) fn has_port(&self, port: u16, segments: ScanSegments) -> bool {
        self.segments == segments && matches!(&self.target, ScanTarget::Ports(ports) if ports.contains(&port))
    }

    fn includes(&self, server: SocketAddr, segments: ScanSegments) -> bool {
        self.segments == segments && self.target.includes(server)
    }

    /// Whether it counts a server that got a SYN.
    fn counts(&self, server: SocketAddr) -> bool {
        self.includes(server, ScanSegments::Syn) && self.targets.contains(server)
    }

    /// Adds a target with its segments.
    fn add(&mut self, server: SocketAddr, target: &Target) {
        self.targets.insert(server);
        self.syns = self.syns.saturating_add(target.syns.into());
        if target.is_accepted {
            self.accepted.insert(server);
        }
        if target.is_refused {
            self.refused.insert(server);
        }
        if target.has_data {
            self.with_data.insert(server);
        } else if target.is_proven {
            self.prove(server, target.at);
        }
        if self.tool.is_some() && self.tool != target.tool {
            self.others.insert(server);
        }
    }

    /// Adds a target that was tried after the group: it counts for the next report.
    pub(super) fn add_later(&mut self, server: SocketAddr, target: &Target) {
        let is_later = target.packet_number > self.last_counted && target.at >= self.first_at;
        if is_later && self.includes(server, target.segments) {
            self.add(server, target);
            if target.packet_number > self.last.packet_number {
                self.last = LastSegment::new(server, target);
            }
        }
    }

    pub(super) fn accept(&mut self, server: SocketAddr) {
        if self.counts(server) {
            self.accepted.insert(server);
        }
    }

    pub(super) fn refuse(&mut self, server: SocketAddr, is_connection: bool) {
        let is_own = (self.segments == ScanSegments::Syn) == is_connection && self.target.includes(server);
        if is_own && self.targets.contains(server) {
            self.refused.insert(server);
        }
    }

    pub(super) fn on_data(&mut self, server: SocketAddr) {
        if self.counts(server) {
            self.with_data.insert(server);
            self.accepted.insert(server);
            self.proofs.retain(|(proven, _)| *proven != server);
        }
    }

    pub(super) fn prove(&mut self, server: SocketAddr, at: u64) {
        if self.counts(server) && self.proofs.len() < MAX_SCAN_PROOFS {
            self.proofs.push_back((server, at));
        }
    }

    /// Adds a segment. Returns whether the scan is to be reported again: at the next power of ten of targets.
    pub(super) fn grow(
        &mut self,
        seen: &Seen<'_>,
        segments: ScanSegments,
        tool: Option<&Arc<Label>>,
    ) -> bool {
        let (event, server) = (seen.event, seen.server());
        if !self.includes(server, segments) {
            return false;
        }
        self.targets.insert(server);
        self.syns = self.syns.saturating_add(1);
        self.last = LastSegment {
            at: seen.now.as_nanos(),
            ts: event.ts,
            packet_number: event.packet_number,
            first_packet: event.first_packet,
            client_port: event.flow.client.port(),
            server,
        };
        if self.tool.is_some() && self.tool.as_ref() != tool {
            self.others.insert(server);
        }
        let is_due = self.targets.len() >= self.report_at;
        if is_due {
            self.report_at = next_power_of_ten(self.targets.len());
        }
        is_due && self.is_sure()
    }

    /// Whether the targets grew enough since the last report for another one.
    pub(super) fn has_grown(&self) -> bool {
        is_percent(self.targets.len() as usize, self.reported as usize, MIN_SCAN_GROWTH_PERCENT)
    }

    /// Whether it is a scan with all of its targets.
    pub(super) fn is_sure(&self) -> bool {
        let [all, accepted, with_data] =
            [&self.targets, &self.accepted, &self.with_data].map(|set| set.len() as usize);
        let is_unused =
            self.remark == Some(ScanRemark::NoData) || is_at_most(accepted, all, MAX_SCAN_ACCEPTED_PERCENT);
        is_at_most(with_data, all, self.max_data_percent) && (is_unused || self.tool().is_some())
    }

    /// Takes note that it is reported with its targets.
    pub(super) fn set_reported(&mut self) {
        self.reported = self.targets.len();
        self.report_at = self.report_at.max(next_power_of_ten(self.reported));
    }

    /// The event of the scan as it is, at its last segment. Counts as a report.
    pub(super) fn report(&mut self, ip: IpAddr, tunnel: Option<Box<TunnelPath>>, now: u64) -> Event<Finding> {
        self.set_reported();
        let LastSegment { ts, packet_number, first_packet, client_port, server, .. } = self.last;
        let flow = FlowId::new(SocketAddr::new(ip, client_port), server, TransportKind::Tcp, tunnel);
        let mut finding = Finding::new(FindingKind::Scan(self.finding()), self.packets.clone());
        // A connection of the host itself, which anybody may name as the sender of a scan, soon gets data.
        let latest = now.saturating_sub(SCAN_ANSWER_NANOS);
        finding.is_proven = self.proofs.iter().any(|(_, at)| *at <= latest);
        finding.is_update = std::mem::replace(&mut self.is_update, true);
        Event::new(ts, packet_number, flow, Side::Client, finding).with_first_packet(first_packet)
    }

    /// The tool, and the number of targets that got SYNs of it only, if they are enough to name it.
    fn tool(&self) -> Option<(&Arc<Label>, u32)> {
        let by_tool = self.targets.len().saturating_sub(self.others.len());
        let is_enough = is_percent(by_tool as usize, self.targets.len() as usize, MIN_SCAN_TOOL_PERCENT);
        Some((self.tool.as_ref()?, by_tool)).filter(|_| is_enough)
    }

    fn finding(&self) -> ScanFinding {
        let (tool, by_tool) = self.tool().unzip();
        ScanFinding {
            target: self.target.clone(),
            segments: self.segments,
            targets: self.targets.len(),
            has_more: self.targets.has_more(),
            answered: self.accepted.len(),
            refused: self.refused.len(),
            remark: self.remark,
            syns: self.syns,
            first_seen: self.first_seen,
            last_seen: self.last.ts,
            tool: tool.cloned(),
            by_tool: by_tool.unwrap_or_default(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let sets = [&self.targets, &self.accepted, &self.refused, &self.with_data, &self.others];
        sets.into_iter().fold(0, |sum, set| sum.saturating_add(set.heap_bytes()))
    }
}

impl LastSegment {
    fn new(server: SocketAddr, target: &Target) -> Self {
        let Target { at, ts, packet_number, client_port, begins_flow, .. } = *target;
        let first_packet = if begins_flow { packet_number } else { 0 };
        Self { at, ts, packet_number, first_packet, client_port, server }
    }
}

impl TargetSet {
    fn new(target: &ScanTarget) -> Self {
        match target {
            ScanTarget::Host(_) => Self::Ports(PortSet::default()),
            ScanTarget::Ports(_) => Self::Hosts(HostSet::default()),
        }
    }

    fn insert(&mut self, server: SocketAddr) {
        match self {
            Self::Ports(ports) => ports.insert(server.port()),
            Self::Hosts(hosts) => hosts.insert(server.ip()),
        }
    }

    fn contains(&self, server: SocketAddr) -> bool {
        match self {
            Self::Ports(ports) => ports.contains(server.port()),
            Self::Hosts(hosts) => hosts.contains(server.ip()),
        }
    }

    fn len(&self) -> u32 {
        match self {
            Self::Ports(ports) => ports.len(),
            Self::Hosts(hosts) => hosts.len(),
        }
    }

    fn has_more(&self) -> bool {
        matches!(self, Self::Hosts(hosts) if hosts.has_more)
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Ports(ports) => ports.heap_bytes(),
            Self::Hosts(hosts) => hosts.heap_bytes(),
        }
    }
}

/// The lowest power of ten above a number.
fn next_power_of_ten(number: u32) -> u32 {
    10_u32.checked_pow(number.checked_ilog10().map_or(0, |power| power.saturating_add(1))).unwrap_or(u32::MAX)
}
