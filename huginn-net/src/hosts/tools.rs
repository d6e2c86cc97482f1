//! Tools that send packets of their own: scanners and packet makers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use huginn_net_core::{FlowId, Timestamp};
use huginn_net_db::Label;
use serde::{Deserialize, Serialize};

use super::progress::Progress;
use super::stored::{at_most, time};
use crate::limits::MAX_TOP_VALUES;
use crate::observation::ToolObservation;

/// Maximum number of ports in the list of the ports that a tool sent to: 8 KiB, as much as the bitmap of all ports that
/// replaces it.
const MAX_LISTED_PORTS: usize = 4096;

/// Maximum number of addresses in the list of those that a tool sent to: four networks of 256 addresses, in 17 KiB.
const MAX_TOOL_TARGETS: usize = 1024;

/// Time after the first SYN of a scanner before it is judged, in nanoseconds: a stack repeats a SYN within 6 s.
const TOOL_WAIT_NANOS: u64 = 10_000_000_000;

/// Targets that make a scanner of what sends its SYNs.
const MIN_TOOL_TARGETS: u64 = 5;

/// Maximum number of SYNs to each of fewer targets: a scanner repeats a probe once.
const MAX_TOOL_TRIES: u64 = 2;

/// Maximum number of connections that go on, and of repeated SYNs, in percent of the targets of a scanner.
const MAX_TOOL_STACK_PERCENT: u64 = 10;

/// Minimum number of SYNs of a scanner that is reported with its last numbers, in percent of those of its last report.
const MIN_TOOL_GROWTH_PERCENT: u64 = 110;

/// The tools whose packets a host sends, at most eight, each with its targets.
///
/// A tool is a label without a system (class `!`) that a SYN matches: a scanner such as Nmap, or a packet maker such as
/// Scapy. The tool builds the packets, so that they say nothing about the system of the host. A label of last resort does
/// not count: other programs send the same SYN. So do stacks of devices, and a scanner is named only by what follows: docs/events.md
/// has the rule.
///
/// ```
/// use huginn_net::hosts::Tools;
///
/// assert!(Tools::default().is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    #[serde(deserialize_with = "at_most::<MAX_TOP_VALUES, _, _>")]
    pub(super) seen: Vec<ToolSeen>,
    pub(super) left_out: u32,
}

/// A tool and its targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolSeen {
    pub(super) label: Arc<Label>,
    pub(super) syns: u64,
    /// Number of connections that went on, and of SYNs that were repeated, as those of a stack are.
    pub(super) of_stack: u32,
    pub(super) reported: Reported,
    /// Number of SYNs in the last report.
    pub(super) reported_syns: u64,
    pub(super) ports: PortSet,
    pub(super) hosts: HostSet,
    #[serde(with = "time")]
    pub(super) first_seen: Timestamp,
    #[serde(with = "time")]
    pub(super) last_seen: Timestamp,
    /// The last SYN of a scanner.
    #[serde(skip)]
    pub(super) last: Option<Box<LastSyn>>,
    /// When the scanner is judged, in nanoseconds, if it is to be.
    #[serde(skip)]
    pub(super) judged_at: Option<u64>,
}

/// What was reported of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Reported {
    #[default]
    Nothing,
    /// That its SYNs resemble those of the tool.
    Resembles,
    /// That it is the tool.
    Named,
}

/// The packet of a SYN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastSyn {
    pub(super) ts: Timestamp,
    pub(super) packet_number: u64,
    pub(super) first_packet: u64,
    pub(super) flow: FlowId,
}

impl Tools {
    /// Whether a SYN with this label is one of a tool.
    pub(crate) fn names_tool(label: &Label) -> bool {
        label.is_tool() && !label.generic
    }

    /// Counts a SYN that the label of a tool matches. The SYNs of a ninth tool only count as [left
    /// out](Self::left_out).
    pub(super) fn add(&mut self, label: &Arc<Label>, target: SocketAddr, ts: Timestamp) {
        let known = self.seen.iter().position(|seen| seen.label == *label);
        if known.is_none() && self.seen.len() >= MAX_TOP_VALUES {
            self.leave_out(1);
            return;
        }
        let index = known.unwrap_or_else(|| {
            // Most hosts with a tool have one.
            self.seen.reserve_exact(1);
            self.seen.push(ToolSeen::new(label, ts));
            self.seen.len().saturating_sub(1)
        });
        if let Some(seen) = self.seen.get_mut(index) {
            seen.add(target, ts);
        }
    }

    /// Returns what a tool sent until its last SYN, if it is to be reported: after 1, 10, 100, 1000 SYNs and so on. A scanner is judged
    /// first: see [`take_judged`](Self::take_judged).
    pub(super) fn take_report(
        &mut self,
        label: &Arc<Label>,
        last: LastSyn,
        now: u64,
    ) -> Option<ToolObservation> {
        let seen = self.seen.iter_mut().find(|seen| seen.label == *label)?;
        let is_named = seen.reported == Reported::Named;
        if is_scanner(label) {
            seen.last = Some(Box::new(last));
            if !is_named {
                seen.judged_at.get_or_insert(now.saturating_add(TOOL_WAIT_NANOS));
                return None;
            }
        }
        let is_due = seen.syns >= next_power_of_ten(seen.reported_syns);
        (is_due && seen.standing() == Reported::Named).then(|| seen.report(Reported::Named))
    }

    /// The time at which a scanner is judged, if its last SYN set it.
    pub(super) fn judged_at(&self, label: &Label) -> Option<u64> {
        self.seen.iter().find(|seen| *seen.label == *label)?.judged_at
    }

    /// Judges the scanners whose time has come. Returns what they sent until their last SYN, with its packet, if they are to be reported.
    pub(super) fn take_judged(&mut self, now: u64) -> Vec<(LastSyn, ToolObservation)> {
        let due = self.seen.iter_mut().filter(|seen| seen.judged_at.is_some_and(|at| at <= now));
        let judged = due.filter_map(|seen| {
            seen.judged_at = None;
            let (standing, last) = (seen.standing(), seen.last.as_deref()?.clone());
            (standing > seen.reported).then(|| (last, seen.report(standing)))
        });
        judged.collect()
    }

    /// Returns what scanners sent, if that is more than in the last report: at the end of a capture.
    pub(super) fn take_last(&mut self) -> Vec<(LastSyn, ToolObservation)> {
        let named = self.seen.iter_mut().filter(|seen| seen.reported == Reported::Named);
        let grown = named.filter_map(|seen| {
            let min = seen.reported_syns.saturating_mul(MIN_TOOL_GROWTH_PERCENT);
            let has_grown = seen.syns.saturating_mul(100) >= min && seen.standing() == Reported::Named;
            let last = seen.last.as_deref().filter(|_| has_grown)?.clone();
            Some((last, seen.report(Reported::Named)))
        });
        grown.collect()
    }

    /// Takes what follows a SYN with the label of a tool.
    pub(super) fn on_progress(&mut self, step: Progress, target: SocketAddr) {
        if matches!(step, Progress::Continues { .. } | Progress::Repeats) {
            let of_target = |seen: &&mut ToolSeen| {
                seen.ports.contains(target.port())
                    && (seen.hosts.contains(target.ip()) || seen.hosts.has_more)
            };
            for seen in self.seen.iter_mut().filter(of_target) {
                seen.of_stack = seen.of_stack.saturating_add(1);
            }
        }
    }

    /// Whether no SYN matched a tool, whatever followed it.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// What each tool sent until now, the one with most SYNs first; of equal ones, the first that was seen. Without stacks that send the
    /// SYNs of a scanner.
    pub fn observations(&self) -> impl Iterator<Item = ToolObservation> {
        let mut seen: Vec<&ToolSeen> =
            self.seen.iter().filter(|seen| seen.standing() != Reported::Nothing).collect();
        seen.sort_by_key(|seen| std::cmp::Reverse(seen.syns));
        seen.into_iter().map(ToolSeen::observation)
    }

    /// Counts SYNs of a tool that are left out.
    fn leave_out(&mut self, syns: u64) {
        self.left_out = self.left_out.saturating_add(u32::try_from(syns).unwrap_or(u32::MAX));
    }

    /// Number of SYNs of further tools, and of those that there was no memory for.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Heap memory, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let own = self.seen.capacity().saturating_mul(size_of::<ToolSeen>());
        self.seen.iter().fold(own, |sum, seen| {
            let last = seen.last.as_ref().map_or(0, |_| size_of::<LastSyn>());
            sum.saturating_add(seen.ports.heap_bytes())
                .saturating_add(seen.hosts.heap_bytes())
                .saturating_add(last)
        })
    }

    /// Adds the tools of another profile of the same host; if it `is_full`, only the number of their SYNs as [left
    /// out](Self::left_out).
    pub(super) fn join(&mut self, other: &Self, is_full: bool) {
        self.left_out = self.left_out.saturating_add(other.left_out);
        for seen in &other.seen {
            let has_room = self.seen.len() < MAX_TOP_VALUES;
            match self.seen.iter_mut().find(|own| own.label == seen.label) {
                Some(own) if !is_full => own.join(seen),
                None if !is_full && has_room => self.seen.push(seen.clone()),
                _ => self.leave_out(seen.syns),
            }
        }
    }
}

impl ToolSeen {
    fn new(label: &Arc<Label>, ts: Timestamp) -> Self {
        Self {
            label: Arc::clone(label),
            syns: 0,
            of_stack: 0,
            reported: Reported::Nothing,
            reported_syns: 0,
            ports: PortSet::default(),
            hosts: HostSet::default(),
            first_seen: ts,
            last_seen: ts,
            last: None,
            judged_at: None,
        }
    }

    fn add(&mut self, target: SocketAddr, ts: Timestamp) {
        self.syns = self.syns.saturating_add(1);
        self.ports.insert(target.port());
        self.hosts.insert(target.ip());
        self.widen(ts, ts);
    }

    fn widen(&mut self, first: Timestamp, last: Timestamp) {
        if first.as_nanos() < self.first_seen.as_nanos() {
            self.first_seen = first;
        }
        if last.as_nanos() > self.last_seen.as_nanos() {
            self.last_seen = last;
        }
    }

    fn join(&mut self, other: &Self) {
        self.syns = self.syns.saturating_add(other.syns);
        self.of_stack = self.of_stack.saturating_add(other.of_stack);
        other.ports.for_each(|port| self.ports.insert(port));
        other.hosts.listed.iter().for_each(|ip| self.hosts.insert(*ip));
        self.hosts.has_more |= other.hosts.has_more;
        self.widen(other.first_seen, other.last_seen);
    }

    /// What its SYNs are, by what followed them.
    fn standing(&self) -> Reported {
        if !is_scanner(&self.label) {
            return Reported::Named;
        }
        let targets = u64::from(self.ports.len().max(self.hosts.len()));
        if targets < MIN_TOOL_TARGETS {
            let is_device = self.of_stack > 0 || self.syns > targets.saturating_mul(MAX_TOOL_TRIES);
            return if is_device { Reported::Nothing } else { Reported::Resembles };
        }
        let of_stack = u64::from(self.of_stack).saturating_mul(100);
        let seconds = self.last_seen.as_secs().saturating_sub(self.first_seen.as_secs());
        let is_scan = of_stack <= targets.saturating_mul(MAX_TOOL_STACK_PERCENT)
            && seconds <= targets.saturating_mul(60);
        if is_scan { Reported::Named } else { Reported::Nothing }
    }

    /// Describes it, and takes note that it was reported.
    fn report(&mut self, standing: Reported) -> ToolObservation {
        let is_update = self.reported == standing;
        (self.reported, self.reported_syns) = (standing, self.syns);
        ToolObservation { is_update, ..self.observation() }
    }

    fn observation(&self) -> ToolObservation {
        ToolObservation {
            label: Arc::clone(&self.label),
            is_scanner: is_scanner(&self.label),
            resembles: self.standing() == Reported::Resembles,
            is_update: false,
            syns: self.syns,
            ports: self.ports.len(),
            hosts: self.hosts.len(),
            has_more_hosts: self.hosts.has_more,
            first_seen: self.first_seen,
            last_seen: self.last_seen,
        }
    }
}

/// Whether a tool looks for open ports or for hosts. The others make packets for any purpose.
fn is_scanner(label: &Label) -> bool {
    matches!(&*label.name, "Nmap" | "masscan" | "ZMap")
}

/// The lowest power of ten above a number.
fn next_power_of_ten(number: u64) -> u64 {
    10_u64.checked_pow(number.checked_ilog10().map_or(0, |power| power.saturating_add(1))).unwrap_or(u64::MAX)
}

/// A set of ports: a sorted list of at most 8 KiB, or a bitmap of 8 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u16, u16)>", into = "Vec<(u16, u16)>")]
pub(crate) enum PortSet {
    List(Vec<u16>),
    Bitmap { words: Box<[u64; 1024]>, len: u32 },
}

impl Default for PortSet {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl PortSet {
    pub(crate) fn insert(&mut self, port: u16) {
        match self {
            Self::List(ports) => {
                let Err(index) = ports.binary_search(&port) else { return };
                if ports.len() < MAX_LISTED_PORTS {
                    ports.insert(index, port);
                    return;
                }
                let mut bitmap = Self::Bitmap { words: Box::new([0; 1024]), len: 0 };
                ports.iter().chain([&port]).for_each(|port| bitmap.insert(*port));
                *self = bitmap;
            }
            Self::Bitmap { words, len } => {
                let Some(word) = words.get_mut(usize::from(port / 64)) else { return };
                let bit = 1_u64 << (port % 64);
                *len = len.saturating_add(u32::from(*word & bit == 0));
                *word |= bit;
            }
        }
    }

    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::List(ports) => u32::try_from(ports.len()).unwrap_or(u32::MAX),
            Self::Bitmap { len, .. } => *len,
        }
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(u16)) {
        match self {
            Self::List(ports) => ports.iter().copied().for_each(visit),
            Self::Bitmap { .. } => (0..=u16::MAX).filter(|port| self.contains(*port)).for_each(&mut visit),
        }
    }

    pub(crate) fn contains(&self, port: u16) -> bool {
        match self {
            Self::List(ports) => ports.binary_search(&port).is_ok(),
            Self::Bitmap { words, .. } => {
                words.get(usize::from(port / 64)).is_some_and(|word| word & (1 << (port % 64)) != 0)
            }
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::List(ports) => ports.capacity().saturating_mul(size_of::<u16>()),
            Self::Bitmap { words, .. } => size_of_val(&**words),
        }
    }
}

impl TryFrom<Vec<(u16, u16)>> for PortSet {
    type Error = &'static str;

    /// The set of ranges, each with its first and last port.
    fn try_from(ranges: Vec<(u16, u16)>) -> Result<Self, Self::Error> {
        let is_ordered = ranges.iter().all(|(first, last)| first <= last)
            && ranges.iter().zip(ranges.iter().skip(1)).all(|((_, last), (next, _))| last < next);
        if !is_ordered {
            return Err("the ports of a tool are not ascending, disjoint ranges");
        }
        let ports = ranges.iter().map(|(first, last)| u32::from(last.abs_diff(*first)).saturating_add(1));
        let len = ports.fold(0, u32::saturating_add);
        if usize::try_from(len).is_ok_and(|len| len <= MAX_LISTED_PORTS) {
            return Ok(Self::List(ranges.iter().flat_map(|(first, last)| *first..=*last).collect()));
        }
        let mut words = Box::new([0_u64; 1024]);
        for (first, last) in &ranges {
            // The first and the last bit of each word.
            for (word, index) in words.iter_mut().zip(0_u16..).take(usize::from(last / 64).saturating_add(1))
            {
                let start = index.saturating_mul(64);
                if first.saturating_sub(start) > 63 {
                    continue;
                }
                let [begin, end] = [first, last].map(|port| u32::from(port.saturating_sub(start).min(63)));
                *word |= u64::MAX.wrapping_shr(63_u32.saturating_sub(end)) & u64::MAX.wrapping_shl(begin);
            }
        }
        Ok(Self::Bitmap { words, len })
    }
}

impl From<PortSet> for Vec<(u16, u16)> {
    fn from(ports: PortSet) -> Self {
        let mut ranges: Self = Vec::new();
        ports.for_each(|port| match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(port) => *last = port,
            _ => ranges.push((port, port)),
        });
        ranges
    }
}

/// A set of addresses, sorted, that says whether it left out some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostSet {
    #[serde(deserialize_with = "at_most::<MAX_TOOL_TARGETS, _, _>")]
    pub(super) listed: Vec<IpAddr>,
    /// Whether there are more.
    pub(crate) has_more: bool,
}

impl HostSet {
    pub(crate) fn insert(&mut self, ip: IpAddr) {
        let Err(index) = self.listed.binary_search(&ip) else { return };
        if self.listed.len() < MAX_TOOL_TARGETS {
            self.listed.insert(index, ip);
        } else {
            self.has_more = true;
        }
    }

    /// Whether an address is listed.
    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        self.listed.binary_search(&ip).is_ok()
    }

    /// Number of listed addresses.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.listed.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.listed.capacity().saturating_mul(size_of::<IpAddr>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Arc<Label> {
        let database: huginn_net_db::Database = format!(
            "classes = unix\n[tcp:request]\nlabel = s:!:{name}:\nsys = @unix\nsig = *:64:0:*:1,0:mss::0\n"
        )
        .parse()
        .unwrap();
        Arc::clone(&database.labels()[0])
    }

    fn at(millis: u32) -> Timestamp {
        Timestamp::new(1, millis.saturating_mul(1_000_000), 6)
    }

    fn target(host: u16, port: u16) -> SocketAddr {
        let [high, low] = host.to_be_bytes();
        ([192, 0, high, low], port).into()
    }

    fn texts(tools: &Tools) -> Vec<String> {
        tools.observations().map(|found| found.to_string()).collect()
    }

    #[test]
    fn ports_are_read_from_ascending_disjoint_ranges() {
        for ranges in [
            &[][..],
            &[(0, 0), (2, 5), (65535, 65535)],
            &[(0, 65535)],
            &[(1, 64), (66, 127), (129, 9000), (65000, 65534)],
        ] {
            let mut wanted = PortSet::default();
            ranges.iter().for_each(|(first, last)| (*first..=*last).for_each(|port| wanted.insert(port)));
            assert_eq!(PortSet::try_from(ranges.to_vec()), Ok(wanted));
        }
        for ranges in [&[(5, 4)][..], &[(1, 5), (5, 6)], &[(7, 8), (1, 2)], &[(0, 65535); 2]] {
            assert!(PortSet::try_from(ranges.to_vec()).is_err());
        }
    }

    #[test]
    fn sentence_counts_syns_ports_and_hosts() {
        let (mut tools, nmap) = (Tools::default(), tool("Nmap"));
        tools.add(&nmap, target(1, 80), at(0));
        assert_eq!(texts(&tools), ["resembles Nmap: 1 SYN to 1 port of 1 host"]);
        tools.add(&nmap, target(1, 80), at(500));
        tools.add(&nmap, target(2, 443), at(900));
        assert_eq!(texts(&tools), ["resembles Nmap: 3 SYNs to 2 ports of 2 hosts in 900 ms"]);
    }

    #[test]
    fn every_port_is_counted_once_in_bounded_memory() {
        let (mut tools, nmap) = (Tools::default(), tool("Nmap"));
        for round in 0..2 {
            // 40503 is odd: the sequence has every port, in no order.
            for n in 0..=u16::MAX {
                tools.add(&nmap, target(1, n.wrapping_mul(40503)), at(round));
            }
        }
        let found = tools.observations().next().unwrap();
        assert_eq!((found.syns, found.ports, found.hosts), (131_072, 65_536, 1));
        assert!(tools.heap_bytes() < 9 << 10, "{}", tools.heap_bytes());
    }

    #[test]
    fn finding_says_so_when_hosts_exceed_limit() {
        let (mut tools, masscan) = (Tools::default(), tool("masscan"));
        let of = |n| u16::try_from(n).unwrap();
        for host in 0..MAX_TOOL_TARGETS {
            tools.add(&masscan, target(of(host), 80), at(0));
        }
        tools.add(&masscan, target(0, 80), at(0));
        assert_eq!(texts(&tools), ["masscan: 1025 SYNs to 1 port of 1024 hosts"]);
        tools.add(&masscan, target(of(MAX_TOOL_TARGETS), 80), at(0));
        assert_eq!(texts(&tools), ["masscan: 1026 SYNs to 1 port of more than 1024 hosts"]);
        assert!(tools.heap_bytes() < 40 << 10, "{}", tools.heap_bytes());
    }

    #[test]
    fn label_of_last_resort_does_not_name_a_tool() {
        let database: huginn_net_db::Database =
            "classes = unix\n[tcp:request]\nlabel = g:!:hping:\nsys = @unix\nsig = 4:64:0:0:512,0:::0\n"
                .parse()
                .unwrap();
        assert!(database.labels()[0].is_tool() && !Tools::names_tool(&database.labels()[0]));
        assert!(Tools::names_tool(&tool("Nmap")));
    }

    #[test]
    fn ninth_tool_is_left_out() {
        let mut tools = Tools::default();
        for n in 0..9 {
            tools.add(&tool(&n.to_string()), target(1, 80), at(0));
        }
        assert_eq!((tools.observations().count(), tools.left_out()), (8, 1));
    }

    #[test]
    fn joined_tools_have_the_union_of_targets() {
        let nmap = tool("Nmap");
        let (mut one, mut other) = (Tools::default(), Tools::default());
        (0..5000).for_each(|port| one.add(&nmap, target(1, port), at(0)));
        (4000..4500).for_each(|port| other.add(&nmap, target(2, port), at(2)));
        other.join(&one, false);
        assert_eq!(texts(&other), ["Nmap: 5500 SYNs to 5000 ports of 2 hosts in 2 ms"]);
    }

    #[test]
    fn packet_maker_is_reported_once_at_powers_of_ten_or_later() {
        let (mut tools, scapy) = (Tools::default(), tool("Scapy"));
        let mut reported = Vec::new();
        for port in 0..2000 {
            tools.add(&scapy, target(1, port), at(0));
            if port != 99 {
                let found = tools.take_report(&scapy, syn(port, at(0)), 0);
                reported.extend(found.map(|found| (found.syns, found.is_update)));
            }
        }
        assert_eq!(reported, [(1, false), (10, true), (101, true), (1000, true)]);
    }

    fn syn(port: u16, ts: Timestamp) -> LastSyn {
        let flow = FlowId::new(target(0, 40_000), target(1, port), huginn_net_core::TransportKind::Tcp, None);
        LastSyn { ts, packet_number: port.into(), first_packet: port.into(), flow }
    }

    /// SYNs of a scanner to so many ports, the connections that go on, and what is reported once it is judged.
    fn judged(ports: u16, steps: &[(u16, Progress)]) -> Vec<String> {
        let (mut tools, nmap) = (Tools::default(), tool("Nmap"));
        for port in 1..=ports {
            tools.add(&nmap, target(1, port), at(port.into()));
            assert_eq!(tools.take_report(&nmap, syn(port, at(port.into())), 0), None, "not judged yet");
        }
        steps.iter().for_each(|(port, step)| tools.on_progress(*step, target(1, *port)));
        assert_eq!(tools.take_judged(TOOL_WAIT_NANOS - 1), []);
        tools.take_judged(TOOL_WAIT_NANOS).into_iter().map(|(_, found)| found.to_string()).collect()
    }

    #[test]
    fn scanner_is_named_after_five_targets() {
        assert_eq!(judged(5, &[]), ["Nmap: 5 SYNs to 5 ports of 1 host in 4 ms"]);
        assert_eq!(judged(4, &[]), ["resembles Nmap: 4 SYNs to 4 ports of 1 host in 3 ms"]);
    }

    #[test]
    fn stack_with_syns_of_a_scanner_is_not_reported() {
        let continues = Progress::Continues { has_data: false };
        for (ports, steps) in [
            (1, vec![(1, continues)]),
            (1, vec![(1, Progress::Repeats)]),
            (20, vec![(1, continues), (2, continues), (3, Progress::Repeats)]),
        ] {
            assert_eq!(judged(ports, &steps), [""; 0], "{steps:?}");
        }
        assert_eq!(judged(1, &[(1, Progress::Resets)]).len(), 1, "a scanner resets what is accepted");
        assert_eq!(judged(20, &[(1, continues), (2, continues)]).len(), 1, "a banner is read now and then");
    }

    #[test]
    fn scanner_that_is_named_is_updated_at_powers_of_ten_and_at_the_end() {
        let (mut tools, nmap) = (Tools::default(), tool("Nmap"));
        let mut reported = Vec::new();
        for port in 0..250 {
            tools.add(&nmap, target(1, port), at(0));
            reported.extend(tools.take_report(&nmap, syn(port, at(0)), 0));
            if port == 20 {
                reported.extend(tools.take_judged(TOOL_WAIT_NANOS).into_iter().map(|(_, found)| found));
            }
        }
        reported.extend(tools.take_last().into_iter().map(|(_, found)| found));
        let rows: Vec<_> = reported.iter().map(|found| (found.syns, found.is_update)).collect();
        assert_eq!(rows, [(21, false), (100, true), (250, true)]);
    }
}
