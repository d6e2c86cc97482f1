//! What stands out: a list of items, each about one host, with its reason, numbers and packet.

use std::fmt;
use std::net::IpAddr;

use foldhash::HashSet;
use huginn_net::core::Amount;
use huginn_net::hosts::Contradiction;

use super::activity::Activity;
use super::alerts::{Alert, AlertList, Alerts};
use super::page::Report;
use crate::limits::{MAX_REPORT_ITEMS, MAX_REPORT_RARE_ITEMS};
use crate::views::overview::{Overview, SeenValue, ValueKind};

/// How much an item matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    High,
    Medium,
    Low,
}

impl Severity {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// A statement about a host.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) severity: Severity,
    pub(crate) host: IpAddr,
    pub(crate) reason: String,
    pub(crate) numbers: String,
    pub(crate) packets: Option<Packets>,
    /// The first hosts that it concerns, too.
    pub(crate) clients: Vec<IpAddr>,
    pub(crate) has_more_clients: bool,
}

impl Item {
    fn about(host: IpAddr) -> Self {
        Self {
            severity: Severity::Low,
            host,
            reason: String::new(),
            numbers: String::new(),
            packets: None,
            clients: Vec::new(),
            has_more_clients: false,
        }
    }
}

/// Packets that show a statement.
///
/// [`Display`](fmt::Display) writes their numbers: `packets 3, 5`.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    numbers: Vec<u64>,
    /// Index of the file.
    pub(crate) file: usize,
}

impl Packets {
    fn one(number: u64, file: usize) -> Self {
        Self { numbers: vec![number], file }
    }

    fn of(alert: &Alert) -> Option<Self> {
        let Alert { packets, file, .. } = alert;
        (!packets.is_empty()).then(|| Self { numbers: packets.clone(), file: *file })
    }

    /// The display filter of Wireshark for them.
    pub(super) fn display_filter(&self) -> String {
        match &*self.numbers {
            [number] => format!("frame.number == {number}"),
            _ => format!("frame.number in {{{}}}", self.list()),
        }
    }

    fn list(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        numbers.join(", ")
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.numbers.len() == 1 { "" } else { "s" };
        write!(f, "packet{plural} {}", self.list())
    }
}

/// Items of one kind, and a sentence about those that are left out.
pub(crate) struct Group {
    pub(crate) items: Vec<Item>,
    pub(crate) more: Option<String>,
    /// The section that has the others.
    pub(super) section: &'static str,
}

impl Group {
    /// The first items. `more` names the others by their number; the table of hosts has them.
    fn first(items: impl Iterator<Item = Item>, total: usize, more: impl Fn(u64) -> String) -> Self {
        Self::cut(items.take(MAX_REPORT_ITEMS), total, more, "hosts")
    }

    /// Fewer items, since one host may have many. The section of rare values has the others.
    fn first_rare(items: impl Iterator<Item = Item>, total: usize, more: impl Fn(u64) -> String) -> Self {
        Self::cut(items.take(MAX_REPORT_RARE_ITEMS), total, more, "rare")
    }

    fn cut(
        items: impl Iterator<Item = Item>,
        total: usize,
        more: impl Fn(u64) -> String,
        section: &'static str,
    ) -> Self {
        let items: Vec<Item> = items.collect();
        let left_out = total.saturating_sub(items.len());
        Self { items, more: (left_out > 0).then(|| more(left_out as u64)), section }
    }
}

/// All items, those that matter most first.
pub(super) fn groups(report: &Report<'_>) -> Vec<Group> {
    let (alerts, overview) = (report.alerts, report.overview);
    // Hosts as a whole have the contradictions that findings of connections lack.
    let mut groups = of_events(overview, alerts, Some(report.activity), contradictions(report));
    groups.extend([
        lone_clients(report, ValueKind::UserAgent, "User-Agent"),
        lone_clients(report, ValueKind::Ja4, "TLS client"),
        devices(report),
    ]);
    groups
}

/// The items of a running analysis: those that events show, without those of complete captures.
pub(crate) fn so_far(overview: &Overview, alerts: &Alerts) -> Vec<Group> {
    let more = "more host(s) with contradictions between layers";
    of_events(overview, alerts, None, of_alerts(&alerts.contradictions, Severity::Medium, more))
}

fn of_events(
    overview: &Overview,
    alerts: &Alerts,
    activity: Option<&Activity>,
    contradictions: Group,
) -> Vec<Group> {
    vec![
        watched(&alerts.hits),
        of_alerts(&alerts.scans, Severity::High, "more scan(s)"),
        tools(overview, alerts, activity),
        of_alerts(
            &alerts.beacons,
            Severity::Medium,
            "more client(s) that contact a server at regular intervals",
        ),
        imitations(overview, alerts),
        mismatches(overview),
        contradictions,
        of_certificates(&alerts.certificates, Severity::Medium, "more certificate(s) with a problem"),
        of_certificates(
            &alerts.self_issued,
            Severity::Medium,
            "more self-issued certificate(s) of servers on the Internet",
        ),
        failed_handshakes(alerts),
        of_certificates(
            &alerts.self_issued_nearby,
            Severity::Low,
            "more self-issued certificate(s) of servers in private networks",
        ),
    ]
}

/// Hits of watch lists.
fn watched(hits: &AlertList) -> Group {
    counted(hits, Severity::High, "hit(s)", "more hit(s) of watch lists")
}

/// Certificates, with the clients that they were sent to.
fn of_certificates(list: &AlertList, severity: Severity, more: &str) -> Group {
    counted(list, severity, "handshake(s)", more)
}

/// Failed handshakes, with the number of all handshakes of the client and the server.
fn failed_handshakes(alerts: &Alerts) -> Group {
    let list = &alerts.failed_handshakes;
    let items = list.alerts.iter().map(|alert| {
        let count = match alerts.handshakes_of(alert) {
            Some(counted) => format!("{} of {}", alert.events, Amount(counted.all, "handshake(s)")),
            None => Amount(alert.events, "handshake(s)").to_string(),
        };
        Item { numbers: numbers(count, alert), ..item(alert, Severity::Low) }
    });
    let total = total(list.alerts.len(), list.left_out);
    Group::first(items, total, |count| Amount(count, "more kind(s) of failed handshakes").to_string())
}

/// Alerts with the number of their events.
fn counted(list: &AlertList, severity: Severity, events: &str, more: &str) -> Group {
    let items = list.alerts.iter().map(|alert| Item {
        numbers: numbers(Amount(alert.events, events).to_string(), alert),
        ..item(alert, severity)
    });
    let total = total(list.alerts.len(), list.left_out);
    Group::first(items, total, |count| Amount(count, more).to_string())
}

/// All findings of a kind.
fn of_alerts(list: &AlertList, severity: Severity, more: &str) -> Group {
    let items = list.alerts.iter().map(|alert| item(alert, severity));
    Group::first(items, total(list.alerts.len(), list.left_out), |count| Amount(count, more).to_string())
}

fn item(alert: &Alert, severity: Severity) -> Item {
    Item {
        severity,
        host: alert.host,
        reason: alert.reason.clone(),
        numbers: numbers(String::new(), alert),
        packets: Packets::of(alert),
        clients: alert.clients.clone(),
        has_more_clients: alert.has_more_clients,
    }
}

/// Numbers, and the number of captures if there are several.
fn numbers(mut numbers: String, alert: &Alert) -> String {
    if alert.captures > 1 {
        let separator = if numbers.is_empty() { "in" } else { " in" };
        numbers.push_str(&format!("{separator} {} captures", alert.captures));
    }
    numbers
}

fn total(listed: usize, left_out: u64) -> usize {
    listed.saturating_add(usize::try_from(left_out).unwrap_or(usize::MAX))
}

/// Imitations, except those that are listed as mismatches of requests.
fn imitations(overview: &Overview, alerts: &Alerts) -> Group {
    let values = overview.values(ValueKind::Mismatch).top(usize::MAX);
    let listed: HashSet<(IpAddr, &str)> = values
        .iter()
        .filter_map(|(text, seen)| Some((claim_of(text.strip_prefix("imitation: ")?), seen)))
        .flat_map(|(claim, seen)| seen.addresses().map(move |ip| (ip, claim)))
        .collect();
    let list = &alerts.imitations;
    let others: Vec<&Alert> =
        list.alerts.iter().filter(|alert| !listed.contains(&(alert.host, claim_of(&alert.reason)))).collect();
    let items = others.iter().map(|alert| item(alert, Severity::Medium));
    Group::first(items, total(others.len(), list.left_out), |more| {
        Amount(more, "more client(s) that imitate other software").to_string()
    })
}

/// The first of the reasons.
fn claim_of(reasons: &str) -> &str {
    reasons.split_once("; ").map_or(reasons, |(claim, _)| claim)
}

/// Hosts that send packets of tools. Scans that name the tool are listed as such.
fn tools(overview: &Overview, alerts: &Alerts, activity: Option<&Activity>) -> Group {
    let scans = alerts.scans.alerts.iter();
    let of_scans: HashSet<(IpAddr, String)> =
        scans.filter_map(|scan| Some((scan.host, scan.tool.clone()?))).collect();
    let mut tools = overview.tools();
    tools.retain(|(id, found)| !of_scans.contains(&(id.ip(), found.label.to_string())));
    let items = tools.iter().map(|(id, found)| Item {
        severity: Severity::High,
        reason: format!("sends packets of a tool, {}", found.label),
        numbers: found.sent().to_string(),
        packets: activity
            .and_then(|activity| activity.first_step(id.ip(), "tool", &format!("{:#}", found.label)))
            .map(|(packet, file)| Packets::one(packet, file)),
        ..Item::about(id.ip())
    });
    let has_more = usize::from(overview.has_more_tools());
    let total = tools.len().saturating_add(has_more);
    let at_least = if has_more > 0 { "at least " } else { "" };
    Group::first(items, total, |more| {
        format!("{at_least}{} with packets of tools", Amount(more, "more host(s)"))
    })
}

fn mismatches(overview: &Overview) -> Group {
    let values = overview.values(ValueKind::Mismatch);
    let shown = values.top(MAX_REPORT_ITEMS);
    let items = shown.iter().map(|(reasons, seen)| Item {
        severity: Severity::Medium,
        reason: (*reasons).to_owned(),
        numbers: format!("{}, {}", Amount(seen.hosts() as u64, "host(s)"), Amount(seen.count, "event(s)")),
        packets: place(seen),
        ..Item::about(seen.first.client.ip())
    });
    Group::first(items, values.len(), |more| Amount(more, "more kind(s) of mismatches").to_string())
}

/// Contradictions of hosts, with the packet if a finding has it, then findings about other hosts.
fn contradictions(report: &Report<'_>) -> Group {
    let found = &report.alerts.contradictions;
    let listed = report.hosts.contradictions().iter().map(|(host, texts)| {
        let shown = found.alerts.iter().filter(|alert| alert.host == *host).find_map(|alert| {
            let shown = alert.contradiction.as_ref()?;
            Some((texts.iter().find(|text| is_same(text, shown))?, Packets::of(alert)))
        });
        let (first, packets) = shown.map_or((texts.first(), None), |(text, packets)| (Some(text), packets));
        Item {
            severity: Severity::Medium,
            reason: first.map(ToString::to_string).unwrap_or_default(),
            numbers: Amount(texts.len() as u64, "contradiction(s) between layers").to_string(),
            packets,
            ..Item::about(*host)
        }
    });
    let values = report.overview.values(ValueKind::Mismatch).top(usize::MAX);
    let mismatching: HashSet<IpAddr> = values.iter().flat_map(|(_, seen)| seen.addresses()).collect();
    let is_listed = |ip| report.hosts.is_contradicting(ip) || mismatching.contains(&ip);
    let others: Vec<&Alert> = found.alerts.iter().filter(|alert| !is_listed(alert.host)).collect();
    let total = report.hosts.with_contradictions().saturating_add(others.len());
    let items = listed.chain(others.iter().map(|alert| item(alert, Severity::Medium)));
    Group::first(items, total, |more| {
        format!("{} with contradictions between layers", Amount(more, "more host(s)"))
    })
}

/// Whether two contradictions have the same statements and explanation.
fn is_same(one: &Contradiction, other: &Contradiction) -> bool {
    let sentence = |found: &Contradiction| {
        let Contradiction { one, other, explanation, .. } = found;
        ([(one.who, one.says.clone()), (other.who, other.says.clone())], *explanation)
    };
    sentence(one) == sentence(other)
}

/// TLS clients, and User-Agents without a name, that one host of several has.
fn lone_clients(report: &Report<'_>, kind: ValueKind, title: &str) -> Group {
    let values = report.overview.values(kind);
    let has_others = values.all_hosts() > 2;
    let clients = values.rare(usize::MAX);
    let is_odd = |seen: &SeenValue| kind == ValueKind::Ja4 || seen.name.is_none();
    let lone: Vec<_> =
        clients.iter().filter(|(_, seen)| seen.hosts() == 1 && has_others && is_odd(seen)).collect();
    let items = lone.iter().map(|(value, seen)| Item {
        severity: Severity::Low,
        reason: match &seen.name {
            Some(name) => format!("alone has the {title} {value}, {name}"),
            None => format!("alone has the {title} {value}, which has no name"),
        },
        numbers: Amount(seen.count, "event(s)").to_string(),
        packets: place(seen),
        ..Item::about(seen.first.client.ip())
    });
    Group::first_rare(items, lone.len(), |more| {
        format!("{} of one host only", Amount(more, &format!("more {title}(s)")))
    })
}

/// Clients whose connections one device ends.
fn devices(report: &Report<'_>) -> Group {
    let devices = report.hosts.devices();
    let items = devices.iter().map(|(host, text)| Item {
        severity: Severity::Low,
        reason: text.clone(),
        ..Item::about(*host)
    });
    Group::first(items, devices.len(), |more| {
        format!("{} whose connections one device ends", Amount(more, "more client(s)"))
    })
}

fn place(seen: &SeenValue) -> Option<Packets> {
    seen.first.file.map(|file| Packets::one(seen.first.packet, file))
}
