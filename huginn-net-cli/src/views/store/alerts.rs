//! The alerts of a run: each once, with its latest numbers, worst first.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use huginn_net::alert::{Alert, AlertId, AlertKind, Severity};
use huginn_net::observation::{FindingKind, ScanTarget};
use huginn_net::{Event, Observation, Timestamp};

use super::bounded::increment;
use super::origin::Origin;
use super::statement::Statement;
use crate::views::encoding::object;

/// Maximum number of alerts of a kind that are proven, and of those that are not; others are counted.
const MAX_ALERTS_OF_KIND: usize = 1000;

/// The alerts of a run. Memory is bounded: alerts that exceed the limits are counted.
#[derive(Debug, Default)]
pub(crate) struct AlertList {
    alerts: Vec<SeenAlert>,
    places: HashMap<(AlertId, Option<Arc<str>>), usize>,
    /// The alerts of each kind. Those without proof have limits of their own: forged packets displace no proven alert.
    of_kind: HashMap<(AlertKind, bool), Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    listed: usize,
    left_out: u64,
}

/// An alert, which several events may report.
#[derive(Clone, Debug)]
pub(crate) struct SeenAlert {
    pub(crate) kind: AlertKind,
    pub(crate) severity: Severity,
    pub(crate) is_proven: bool,
    id: AlertId,
    pub(crate) statement: Statement,
    /// The display filter of Wireshark for the traffic.
    pub(crate) filter: String,
    first_seen: Timestamp,
}

/// An alert in the order of views.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedAlert<'a> {
    pub(crate) alert: &'a SeenAlert,
    /// The number of other alerts of the kind, with the first one of them.
    pub(crate) others: u64,
}

impl AlertList {
    /// Adds an event, if it is an alert.
    pub(crate) fn add(&mut self, event: &Event, origin: &Origin) {
        let Some(alert) = Alert::of(event) else { return };
        let id = alert.id();
        let key = (id, origin.network_of(alert.host()));
        if let Some(known) = self.places.get(&key).and_then(|place| self.alerts.get_mut(*place)) {
            known.add(&alert, origin.file);
            return;
        }
        let count = self.of_kind.entry((alert.kind(), alert.is_proven())).or_default();
        if count.listed >= MAX_ALERTS_OF_KIND {
            return increment(&mut count.left_out);
        }
        count.listed = count.listed.saturating_add(1);
        self.places.insert(key, self.alerts.len());
        self.alerts.push(SeenAlert::new(&alert, id, origin.file));
    }

    /// Whether a watch list had a hit.
    pub(crate) fn has_hit(&self) -> bool {
        self.of_kind.keys().any(|(kind, _)| *kind == AlertKind::Match)
    }

    /// Number of events of alerts that there was no room for.
    pub(crate) fn left_out(&self) -> u64 {
        self.of_kind.values().fold(0, |sum, count| sum.saturating_add(count.left_out))
    }

    /// The alerts of a host.
    pub(crate) fn of_host(&self, host: IpAddr) -> impl Iterator<Item = &SeenAlert> {
        self.alerts.iter().filter(move |alert| alert.statement.host == host)
    }

    /// The worst alert of each host.
    pub(crate) fn worst_by_host(&self) -> HashMap<IpAddr, &SeenAlert> {
        let mut worst: HashMap<IpAddr, &SeenAlert> = HashMap::default();
        for alert in &self.alerts {
            let known = worst.entry(alert.statement.host).or_insert(alert);
            if alert.rank() < known.rank() {
                *known = alert;
            }
        }
        worst
    }

    /// All alerts: first the worst of each kind, then the others, each by severity, kind and proof. What a worse alert says, too, is left
    /// out.
    pub(crate) fn ranked(&self) -> Vec<RankedAlert<'_>> {
        let explained = self.explained();
        let mut alerts: Vec<&SeenAlert> =
            self.alerts.iter().filter(|alert| !explained.contains(&alert.id)).collect();
        alerts.sort_by_key(|alert| alert.rank());
        let mut others: HashMap<AlertKind, u64> = HashMap::default();
        for alert in &alerts {
            others.entry(alert.kind).and_modify(increment).or_default();
        }
        for ((kind, _), count) in &self.of_kind {
            others.entry(*kind).and_modify(|others| *others = others.saturating_add(count.left_out));
        }
        let (first, rest): (Vec<_>, Vec<_>) = alerts
            .into_iter()
            .map(|alert| RankedAlert { alert, others: others.remove(&alert.kind).unwrap_or(u64::MAX) })
            .partition(|ranked| ranked.others != u64::MAX);
        let rest = rest.into_iter().map(|ranked| RankedAlert { others: 0, ..ranked });
        first.into_iter().chain(rest).collect()
    }

    /// The alerts that state a fact of a worse one: the tool of a scan, the contradictions of an imitation.
    fn explained(&self) -> HashSet<AlertId> {
        let of = |kind| self.alerts.iter().filter(move |alert| alert.kind == kind);
        let hosts = |kind| of(kind).map(|alert| alert.statement.host).collect::<HashSet<IpAddr>>();
        let (scanners, imitators) = (hosts(AlertKind::Scan), hosts(AlertKind::Imitation));
        let tools = of(AlertKind::Tool).filter(|alert| scanners.contains(&alert.statement.host));
        let contradictions =
            of(AlertKind::Contradiction).filter(|alert| imitators.contains(&alert.statement.host));
        tools.chain(contradictions).map(|alert| alert.id).collect()
    }
}

impl SeenAlert {
    fn new(alert: &Alert<'_>, id: AlertId, file: usize) -> Self {
        Self {
            kind: alert.kind(),
            severity: alert.severity(),
            is_proven: alert.is_proven(),
            id,
            statement: Statement::new(alert.host(), alert.reason().to_string(), alert.packets(), file),
            filter: display_filter(alert.event()),
            first_seen: alert.event().ts,
        }
    }

    /// Its place among others: by severity, kind and proof.
    pub(crate) fn rank(&self) -> (Reverse<Severity>, AlertKind, Reverse<bool>) {
        (Reverse(self.severity), self.kind, Reverse(self.is_proven))
    }

    /// Adds a later event of the alert.
    fn add(&mut self, alert: &Alert<'_>, file: usize) {
        self.severity = self.severity.max(alert.severity());
        self.is_proven |= alert.is_proven();
        match self.statement.count(file) {
            true if alert.is_update() => {
                // The later event has the numbers until then.
                self.statement.update(alert.reason().to_string(), alert.packets());
            }
            true => self.statement.add_packets(alert.packets()),
            false => {}
        }
    }

    /// Number of events and captures in words, if there are several.
    pub(crate) fn numbers(&self) -> String {
        let Statement { events, captures, .. } = self.statement;
        match (events, captures) {
            (_, 2..) => format!("in {captures} captures"),
            (2.., _) if self.kind == AlertKind::Match => format!("{events} hits"),
            _ => String::new(),
        }
    }

    /// The alert as JSON. `file`: the name of its capture.
    pub(crate) fn to_json(&self, file: Option<&str>) -> serde_json::Result<String> {
        let Statement { host, reason, packets, events, captures, .. } = &self.statement;
        serde_json::to_string(&object! {
            severity: self.severity.name(),
            kind: self.kind.name(),
            proven: self.is_proven,
            id: self.id.to_string(),
            host: host,
            reason: reason,
            first: self.first_seen.to_string(),
            file: file,
            packets: &packets.numbers,
            filter: &self.filter,
            events: events,
            captures: captures,
        })
    }
}

/// The display filter of Wireshark for the traffic that an alert is about.
fn display_filter(event: &Event) -> String {
    let is = |ip: IpAddr| format!("{} == {ip}", if ip.is_ipv4() { "ip.addr" } else { "ipv6.addr" });
    let (client, server) = (event.flow.client.ip(), event.flow.server);
    let transport = event.flow.transport.name();
    match &event.kind {
        Observation::Finding(finding) => {
            if let FindingKind::Scan(scan) = &finding.kind {
                return match &scan.target {
                    ScanTarget::Host(target) => format!("{} && {}", is(client), is(*target)),
                    ScanTarget::Ports(_) => format!("{} && tcp.port in {{{}}}", is(client), scan.target),
                    _ => is(client),
                };
            }
        }
        Observation::Tool(_) => return is(client),
        _ => {}
    }
    format!("{} && {} && {transport}.port == {}", is(client), is(server.ip()), server.port())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use huginn_net::{CaptureReader, Configure, HuginnNet, Side};

    use super::*;

    /// An alert of each kind that captures of this project have.
    fn alerts() -> Vec<Event> {
        let mut events = Vec::new();
        for name in ["tcp/nmap-syn/nmap-syn.pcap", "http/http-clients/http-clients.pcap"] {
            let path = format!("{}/../captures/{name}", env!("CARGO_MANIFEST_DIR"));
            let mut analyzer = HuginnNet::builder().findings(Some(Default::default())).build();
            let mut add = |event: Event| events.push(event);
            analyzer.analyze(CaptureReader::open(&path).unwrap(), &mut add).unwrap();
        }
        events.retain(|event| Alert::of(event).is_some());
        events
    }

    /// The event with another client.
    fn from(event: &Event, client: u32, is_proven: bool) -> Event {
        let mut event = event.clone();
        event.flow.client = SocketAddr::new(std::net::Ipv4Addr::from(client).into(), 1);
        event.subject = Side::Client;
        if let Observation::Finding(finding) = &mut event.kind {
            finding.is_proven = is_proven;
        }
        event
    }

    #[test]
    fn first_of_each_kind_precedes_others() {
        let mut list = AlertList::default();
        alerts().iter().for_each(|event| list.add(event, &Origin::default()));
        let ranked = list.ranked();
        let kinds: Vec<AlertKind> = ranked.iter().map(|ranked| ranked.alert.kind).collect();
        let first: HashSet<AlertKind> = kinds.iter().copied().collect();
        assert!(first.len() > 1 && ranked.len() > first.len(), "{kinds:?}");
        let (firsts, rest) = ranked.split_at(first.len());
        assert_eq!(firsts.iter().map(|ranked| ranked.alert.kind).collect::<HashSet<_>>(), first);
        let others: u64 = firsts.iter().map(|ranked| ranked.others).sum();
        assert_eq!(others, rest.len() as u64);
        for part in [firsts, rest] {
            assert!(part.is_sorted_by_key(|ranked| ranked.alert.rank()), "{kinds:?}");
        }
    }

    #[test]
    fn forged_alerts_hide_no_proven_one() {
        let events = alerts();
        let imitation = |event: &&Event| Alert::of(event).unwrap().kind() == AlertKind::Imitation;
        let event = events.iter().find(imitation).unwrap();
        let mut list = AlertList::default();
        (0..3000).for_each(|client| list.add(&from(event, 0x0a00_0000 + client, false), &Origin::default()));
        list.add(&from(event, 0x0b00_0000, true), &Origin::default());
        assert_eq!(list.left_out(), 3000 - MAX_ALERTS_OF_KIND as u64);
        let first = list.ranked()[0];
        assert_eq!(
            (first.alert.statement.host.to_string(), first.alert.is_proven),
            ("11.0.0.0".to_owned(), true)
        );
        assert_eq!(first.others, 3000);
    }
}
