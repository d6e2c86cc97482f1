//! Scans: many ports of a host, or many hosts on a port, that almost never answer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::{self, Display};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use huginn_net_core::{
    Amount, Event, FlowId, IdleLimits, IdleMap, Side, Timestamp, TransportKind, TunnelPath,
};
use huginn_net_db::Label;

use super::{ClientKey, TrafficNotice, TrafficNoticeKind, client_of, millis_between};
use crate::hosts::{HostSet, PortSet, TimeSpan, Tools};
use crate::limits::{
    MAX_NOTICE_PACKETS, MAX_SCAN_ANSWERS_PERCENT, MAX_SCAN_BYTES, MAX_SCAN_CLIENTS, MAX_SCAN_TARGETS,
    MAX_SCANS_PER_CLIENT, MIN_ANSWERS_OF_OTHERS, MIN_BUSY_TARGETS, MIN_SCAN_GROWTH_PERCENT,
    MIN_SCAN_PORT_PERCENT, MIN_SCAN_TOOL_PERCENT, SCAN_ANSWER_NANOS, SCAN_WINDOW_NANOS,
};

/// Connections that a client tried to ports of a host or to hosts on a port.
///
/// [`Display`] is a sentence: `sends SYNs to 100 ports of 192.0.2.7 in 5 s, 3 accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanNotice {
    /// What was scanned.
    pub target: ScanTarget,
    /// Number of ports or hosts.
    pub targets: u32,
    /// Whether there are more hosts than were counted.
    pub has_more: bool,
    /// Number of ports or hosts that answered with a SYN+ACK.
    pub answered: u32,
    /// Number of SYNs, without retransmissions.
    pub syns: u64,
    /// Time of the first SYN.
    pub first_seen: Timestamp,
    /// Time of the last SYN.
    pub last_seen: Timestamp,
    /// The tool that sends the SYNs, if the database knows it: that of at least 90 % of the ports or hosts.
    pub tool: Option<Arc<Label>>,
    /// Number of ports or hosts that got SYNs of this tool only.
    pub by_tool: u32,
}

/// What a client scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ScanTarget {
    /// Ports of this host.
    Host(IpAddr),
    /// Hosts on this port.
    Port(u16),
}

impl ScanNotice {
    /// Time from the first SYN to the last one, in seconds.
    pub fn duration(&self) -> f64 {
        millis_between(self.first_seen, self.last_seen) as f64 / 1e3
    }
}

impl Display for ScanNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, targets, has_more, answered, first_seen, last_seen, tool, by_tool, .. } = self;
        let more = if *has_more { "more than " } else { "" };
        let count = u64::from(*targets);
        match target {
            ScanTarget::Host(ip) => write!(f, "sends SYNs to {} of {ip}", Amount(count, "port(s)"))?,
            ScanTarget::Port(port) => {
                write!(f, "sends SYNs to {more}{} on port {port}", Amount(count, "host(s)"))?;
            }
        }
        write!(f, " in {}, ", TimeSpan::between(*first_seen, *last_seen))?;
        match answered {
            0 => f.write_str("none accepts")?,
            1 => f.write_str("1 accepts")?,
            answered => write!(f, "{answered} accept")?,
        }
        match tool {
            Some(tool) if by_tool == targets => write!(f, "; the packets are those of {tool}"),
            Some(tool) => write!(f, "; the packets to {by_tool} of them are those of {tool}"),
            None => Ok(()),
        }
    }
}

/// The connections of each client in the last minute, and the scans that were found.
#[derive(Debug)]
pub(super) struct Scans {
    clients: IdleMap<ClientKey, Client>,
    /// Clients to evaluate once their last servers had time to answer, by time.
    due: VecDeque<(u64, ClientKey)>,
    /// Clients with a scan that grew since its last report, and when those that ended were last looked for.
    growing: Vec<ClientKey>,
    swept_at: u64,
    /// SYN+ACKs to all clients.
    answers: u64,
    ports: u32,
    hosts: u32,
}

#[derive(Debug)]
struct Client {
    window_start: u64,
    targets: HashMap<SocketAddr, Target, RandomState>,
    /// Number of targets that answered.
    answered: u32,
    /// Targets of the window before, and how many of them answered.
    previous: (u32, u32),
    /// SYN+ACKs since the client is known.
    answers: u64,
    is_due: bool,
    /// Whether it is among the clients with a scan that grew.
    is_growing: bool,
    tunnel: Option<Box<TunnelPath>>,
    scans: Vec<OpenScan>,
}

/// A server address and port, and the first SYN to it.
#[derive(Clone, Debug)]
struct Target {
    at: u64,
    ts: Timestamp,
    packet_number: u64,
    client_port: u16,
    syns: u32,
    is_answered: bool,
    /// The tool that sent all of its SYNs.
    tool: Option<Arc<Label>>,
}

/// A scan that was reported, and may grow.
#[derive(Debug)]
struct OpenScan {
    target: ScanTarget,
    targets: TargetSet,
    answered: TargetSet,
    syns: u64,
    first_seen: Timestamp,
    packets: Vec<u64>,
    tool: Option<Arc<Label>>,
    /// Targets that got other SYNs than those of the tool.
    others: TargetSet,
    /// Number of targets when the scan was reported, and at which it is reported next.
    reported: u32,
    report_at: u32,
    last: LastSyn,
}

/// The last SYN of a scan.
#[derive(Clone, Copy, Debug)]
struct LastSyn {
    at: u64,
    ts: Timestamp,
    packet_number: u64,
    client_port: u16,
    server: SocketAddr,
}

#[derive(Debug)]
enum TargetSet {
    Ports(PortSet),
    Hosts(HostSet),
}

impl Scans {
    pub(super) fn new(ports: u32, hosts: u32) -> Self {
        let limits = IdleLimits {
            max_entries: MAX_SCAN_CLIENTS,
            idle_timeout: Duration::from_nanos(SCAN_WINDOW_NANOS.saturating_mul(2)),
            max_buffered_bytes: MAX_SCAN_BYTES,
        };
        // Not more targets are kept.
        let ports = ports.min(MAX_SCAN_TARGETS);
        let hosts = hosts.min(MAX_SCAN_TARGETS);
        Self {
            clients: IdleMap::new(&limits),
            due: VecDeque::new(),
            growing: Vec::new(),
            swept_at: 0,
            answers: 0,
            ports,
            hosts,
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        let counters = self.clients.counters();
        counters.evicted.saturating_add(counters.evicted_for_memory)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.ports, self.hosts);
    }

    /// Counts a SYN.
    pub(super) fn on_syn<K>(
        &mut self,
        event: &Event<K>,
        label: Option<&Arc<Label>>,
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        let tool = label.filter(|label| Tools::names_tool(label));
        let (key, at) = (client_of(event), now.as_nanos());
        let new = || Client::new(at, event.flow.tunnel.clone());
        let slot = self.clients.touch(&key, now).or_else(|| self.clients.insert(key, now, new()));
        let Some((slot, client)) = slot.and_then(|slot| Some((slot, self.clients.get_mut(slot)?))) else {
            return;
        };
        client.grow(event, tool, at, report);
        if client.starts_growing() {
            self.growing.push(key);
        }
        client.add(event, tool, at);
        if !client.is_due && client.targets.len() >= self.ports.min(self.hosts) as usize {
            client.is_due = true;
            self.due.push_back((at.saturating_add(SCAN_ANSWER_NANOS), key));
        }
        let heap_bytes = client.heap_bytes();
        self.clients.set_buffered_bytes(slot, heap_bytes);
        // Time may stand still.
        if self.due.len() > MAX_SCAN_CLIENTS
            && let Some(due) = self.due.pop_front()
        {
            self.evaluate(due, now, report);
        }
    }

    /// Counts a SYN+ACK.
    pub(super) fn on_answer<K>(&mut self, event: &Event<K>, now: Timestamp) {
        self.answers = self.answers.saturating_add(1);
        let Some((slot, client)) = self.clients.touch_mut(&client_of(event), now) else { return };
        client.answer(event.flow.server);
        let heap_bytes = client.heap_bytes();
        self.clients.set_buffered_bytes(slot, heap_bytes);
    }

    /// Evaluates the clients whose last servers had time to answer.
    pub(super) fn on_time(&mut self, now: Timestamp, report: &mut impl FnMut(Event<TrafficNotice>)) {
        while let Some(due) = self.due.front().copied().filter(|(at, _)| *at <= now.as_nanos()) {
            self.due.pop_front();
            self.evaluate(due, now, report);
        }
        // Before the client is forgotten, which takes two windows.
        if now.as_nanos().saturating_sub(self.swept_at) >= SCAN_WINDOW_NANOS {
            self.swept_at = now.as_nanos();
            self.report_totals(now.as_nanos().saturating_sub(SCAN_WINDOW_NANOS), report);
        }
    }

    /// Reports the last numbers of scans that grew since their last report, and have had no SYN since `last`.
    fn report_totals(&mut self, last: u64, report: &mut impl FnMut(Event<TrafficNotice>)) {
        let clients = &mut self.clients;
        self.growing.retain(|key| {
            let Some(client) = clients.peek_mut(key) else { return false };
            let tunnel = client.tunnel.clone();
            for scan in client.scans.iter_mut().filter(|scan| scan.has_grown() && scan.last.at <= last) {
                scan.reported = scan.targets.len();
                if scan.is_sure() {
                    report(scan.event(key.0, tunnel.clone()));
                }
            }
            client.is_growing = client.scans.iter().any(OpenScan::has_grown);
            client.is_growing
        });
    }

    /// Evaluates the clients that are left at the end of a capture, and reports the last numbers of scans.
    pub(super) fn on_end(&mut self, now: Timestamp, report: &mut impl FnMut(Event<TrafficNotice>)) {
        for due in std::mem::take(&mut self.due) {
            self.evaluate(due, now, report);
        }
        self.report_totals(u64::MAX, report);
    }

    /// Evaluates a client that was due at a time.
    fn evaluate(
        &mut self,
        (at, key): (u64, ClientKey),
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        // After a pause, the idle timeout of the client may be over.
        let seen = Timestamp::from_nanos(at.min(now.as_nanos()), 9);
        let Some((slot, client)) = self.clients.touch_mut(&key, seen) else { return };
        client.is_due = false;
        let answers_of_others = self.answers.saturating_sub(client.answers);
        let sees_answers = client.answers > 0 || answers_of_others >= MIN_ANSWERS_OF_OTHERS;
        for (target, group) in client.groups(self.ports, self.hosts, now) {
            if client.scans.len() < MAX_SCANS_PER_CLIENT && client.is_scan(&group, target, sees_answers) {
                client.open(key.0, target, &group).into_iter().for_each(&mut *report);
            }
        }
        if client.starts_growing() {
            self.growing.push(key);
        }
        let heap_bytes = client.heap_bytes();
        self.clients.set_buffered_bytes(slot, heap_bytes);
    }
}

impl Client {
    fn new(at: u64, tunnel: Option<Box<TunnelPath>>) -> Self {
        Self {
            window_start: at,
            targets: HashMap::default(),
            answered: 0,
            previous: (0, 0),
            answers: 0,
            is_due: false,
            is_growing: false,
            tunnel,
            scans: Vec::new(),
        }
    }

    fn heap_bytes(&self) -> usize {
        let targets = self.targets.capacity().saturating_mul(size_of::<(SocketAddr, Target)>());
        let own = targets.saturating_add(self.scans.capacity().saturating_mul(size_of::<OpenScan>()));
        self.scans.iter().fold(own, |sum, scan| {
            let sets = [&scan.targets, &scan.answered, &scan.others];
            sets.into_iter().fold(sum, |sum, set| sum.saturating_add(set.heap_bytes()))
        })
    }

    /// Adds the target of a SYN to the window.
    fn add<K>(&mut self, event: &Event<K>, tool: Option<&Arc<Label>>, at: u64) {
        if at.saturating_sub(self.window_start) >= SCAN_WINDOW_NANOS {
            let count = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
            self.previous = (count, self.answered);
            self.targets.clear();
            (self.answered, self.window_start) = (0, at);
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
                client_port: event.flow.client.port(),
                syns: 1,
                is_answered: false,
                tool: tool.cloned(),
            };
            self.targets.insert(server, target);
        }
    }

    fn answer(&mut self, server: SocketAddr) {
        self.answers = self.answers.saturating_add(1);
        if let Some(target) = self.targets.get_mut(&server).filter(|target| !target.is_answered) {
            target.is_answered = true;
            self.answered = self.answered.saturating_add(1);
        }
        if let Some(scan) = self.scans.iter_mut().find(|scan| scan.target.includes(server)) {
            scan.answered.insert(server);
        }
    }

    /// Adds a SYN to a scan that was found before, and reports it at the next power of ten of targets.
    fn grow<K>(
        &mut self,
        event: &Event<K>,
        tool: Option<&Arc<Label>>,
        at: u64,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        let server = event.flow.server;
        let Some(scan) = self.scans.iter_mut().find(|scan| scan.target.includes(server)) else { return };
        scan.targets.insert(server);
        scan.syns = scan.syns.saturating_add(1);
        scan.last = LastSyn {
            at,
            ts: event.ts,
            packet_number: event.packet_number,
            client_port: event.flow.client.port(),
            server,
        };
        if scan.tool.is_some() && scan.tool.as_ref() != tool {
            scan.others.insert(server);
        }
        let count = scan.targets.len();
        if count < scan.report_at {
            return;
        }
        scan.report_at = next_power_of_ten(count);
        if scan.is_sure() {
            scan.reported = count;
            report(scan.event(event.flow.client.ip(), event.flow.tunnel.clone()));
        }
    }

    /// Whether it joins the clients with a scan that grew.
    fn starts_growing(&mut self) -> bool {
        let starts = !self.is_growing && self.scans.iter().any(OpenScan::has_grown);
        self.is_growing |= starts;
        starts
    }

    /// The targets of each host with so many ports, and of each port with so many hosts, that were not reported yet. Targets
    /// count once they had time to answer.
    fn groups(&self, ports: u32, hosts: u32, now: Timestamp) -> Vec<(ScanTarget, Vec<(SocketAddr, Target)>)> {
        let mut groups: BTreeMap<ScanTarget, Vec<(SocketAddr, Target)>> = BTreeMap::new();
        let latest = now.as_nanos().saturating_sub(SCAN_ANSWER_NANOS);
        for (server, target) in self.targets.iter().filter(|(_, target)| target.is_settled(latest)) {
            for key in [ScanTarget::Host(server.ip()), ScanTarget::Port(server.port())] {
                groups.entry(key).or_default().push((*server, target.clone()));
            }
        }
        let is_known = |target: &ScanTarget| self.scans.iter().any(|scan| scan.target == *target);
        groups.retain(|target, group| {
            let min = match target {
                ScanTarget::Host(_) => ports,
                ScanTarget::Port(_) => hosts,
            };
            group.len() >= min as usize && !is_known(target)
        });
        for group in groups.values_mut() {
            group.sort_unstable_by_key(|(server, target)| (target.packet_number, *server));
        }
        groups.into_iter().collect()
    }

    /// Whether connections to a group of targets are a scan.
    fn is_scan(&self, group: &[(SocketAddr, Target)], target: ScanTarget, sees_answers: bool) -> bool {
        if tool_of(group).is_some() {
            return true;
        }
        // Programs that look for peers contact many hosts on many ports.
        let has_one_port = match target {
            ScanTarget::Host(_) => true,
            ScanTarget::Port(_) => is_percent(group.len(), self.targets.len(), MIN_SCAN_PORT_PERCENT),
        };
        let answered = group.iter().filter(|(_, target)| target.is_answered).count();
        // A client whose servers just answered lost its network.
        let (before, answered_before) = self.previous;
        let lost_network = before >= MIN_BUSY_TARGETS && answered_before > before / 2;
        has_one_port && is_unanswered(answered, group.len()) && sees_answers && !lost_network
    }

    /// Keeps a scan, and returns its event: that of the last packet.
    fn open(
        &mut self,
        ip: IpAddr,
        target: ScanTarget,
        group: &[(SocketAddr, Target)],
    ) -> Option<Event<TrafficNotice>> {
        let ((_, first), (server, last)) = (group.first()?, group.last()?);
        let mut scan = OpenScan {
            target,
            targets: TargetSet::new(target),
            answered: TargetSet::new(target),
            syns: 0,
            first_seen: first.ts,
            packets: group.iter().take(MAX_NOTICE_PACKETS).map(|(_, one)| one.packet_number).collect(),
            tool: tool_of(group).cloned(),
            others: TargetSet::new(target),
            reported: 0,
            report_at: 0,
            last: last.as_last(*server),
        };
        group.iter().for_each(|(server, one)| scan.add(*server, one));
        scan.reported = scan.targets.len();
        scan.report_at = next_power_of_ten(scan.reported);
        let event = scan.event(ip, self.tunnel.clone());
        // Later targets count for the next report.
        scan.syns = 0;
        for (server, one) in self.targets.iter().filter(|(server, _)| target.includes(**server)) {
            scan.add(*server, one);
            if one.packet_number > scan.last.packet_number {
                scan.last = one.as_last(*server);
            }
        }
        self.scans.push(scan);
        Some(event)
    }
}

impl Target {
    /// Whether the target answered or had time to do so: its first SYN is not later than `latest`. Packets of a tool need no
    /// answer.
    fn is_settled(&self, latest: u64) -> bool {
        self.is_answered || self.tool.is_some() || self.at <= latest
    }

    fn as_last(&self, server: SocketAddr) -> LastSyn {
        let Self { at, ts, packet_number, client_port, .. } = *self;
        LastSyn { at, ts, packet_number, client_port, server }
    }
}

impl OpenScan {
    /// Adds a target with its SYNs.
    fn add(&mut self, server: SocketAddr, target: &Target) {
        self.targets.insert(server);
        self.syns = self.syns.saturating_add(target.syns.into());
        if target.is_answered {
            self.answered.insert(server);
        }
        if self.tool.is_some() && self.tool != target.tool {
            self.others.insert(server);
        }
    }

    /// The tool, and the number of targets that got SYNs of it only, if they are enough to name it.
    fn tool(&self) -> Option<(&Arc<Label>, u32)> {
        let by_tool = self.targets.len().saturating_sub(self.others.len());
        let is_enough = is_percent(by_tool as usize, self.targets.len() as usize, MIN_SCAN_TOOL_PERCENT);
        Some((self.tool.as_ref()?, by_tool)).filter(|_| is_enough)
    }

    /// Whether the targets grew enough since the last report for another one.
    fn has_grown(&self) -> bool {
        is_percent(self.targets.len() as usize, self.reported as usize, MIN_SCAN_GROWTH_PERCENT)
    }

    /// Whether it is a scan with all of its targets.
    fn is_sure(&self) -> bool {
        self.tool().is_some() || is_unanswered(self.answered.len() as usize, self.targets.len() as usize)
    }

    /// The event of the scan as it is, at its last SYN.
    fn event(&self, ip: IpAddr, tunnel: Option<Box<TunnelPath>>) -> Event<TrafficNotice> {
        let LastSyn { ts, packet_number, client_port, server, .. } = self.last;
        let flow = FlowId::new(SocketAddr::new(ip, client_port), server, TransportKind::Tcp, tunnel);
        let kind = TrafficNoticeKind::Scan(self.notice());
        let notice = TrafficNotice::new(kind, self.packets.clone());
        Event::new(ts, packet_number, flow, Side::Client, notice)
    }

    fn notice(&self) -> ScanNotice {
        let (tool, by_tool) = self.tool().unzip();
        ScanNotice {
            target: self.target,
            targets: self.targets.len(),
            has_more: self.targets.has_more(),
            answered: self.answered.len(),
            syns: self.syns,
            first_seen: self.first_seen,
            last_seen: self.last.ts,
            tool: tool.cloned(),
            by_tool: by_tool.unwrap_or_default(),
        }
    }
}

impl ScanTarget {
    fn includes(self, server: SocketAddr) -> bool {
        match self {
            Self::Host(ip) => server.ip() == ip,
            Self::Port(port) => server.port() == port,
        }
    }
}

impl TargetSet {
    fn new(target: ScanTarget) -> Self {
        match target {
            ScanTarget::Host(_) => Self::Ports(PortSet::default()),
            ScanTarget::Port(_) => Self::Hosts(HostSet::default()),
        }
    }

    fn insert(&mut self, server: SocketAddr) {
        match self {
            Self::Ports(ports) => ports.insert(server.port()),
            Self::Hosts(hosts) => hosts.insert(server.ip()),
        }
    }

    fn len(&self) -> u32 {
        match self {
            Self::Ports(ports) => ports.len(),
            Self::Hosts(hosts) => hosts.len(),
        }
    }

    fn has_more(&self) -> bool {
        matches!(self, Self::Hosts(hosts) if hosts.has_more())
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

/// The tool whose packets almost all targets of a group got, and no others.
fn tool_of(group: &[(SocketAddr, Target)]) -> Option<&Arc<Label>> {
    // The tool of most targets is left if two targets with different tools cancel each other.
    let (mut most, mut votes) = (None, 0_usize);
    for (_, target) in group {
        let tool = target.tool.as_ref();
        votes = match votes {
            0 => {
                most = tool;
                1
            }
            _ if most == tool => votes.saturating_add(1),
            _ => votes.saturating_sub(1),
        };
    }
    let by_tool = group.iter().filter(|(_, target)| target.tool.as_ref() == most).count();
    most.filter(|_| is_percent(by_tool, group.len(), MIN_SCAN_TOOL_PERCENT))
}

/// Whether so few targets answer that the connections are a scan.
fn is_unanswered(answered: usize, targets: usize) -> bool {
    answered.saturating_mul(100) <= targets.saturating_mul(MAX_SCAN_ANSWERS_PERCENT)
}

/// Whether `part` is at least this percentage of `all`.
fn is_percent(part: usize, all: usize, percent: usize) -> bool {
    part.saturating_mul(100) >= all.saturating_mul(percent)
}
