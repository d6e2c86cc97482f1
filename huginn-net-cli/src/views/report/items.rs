//! What else a page says of hosts, below the alerts: certificates, failed handshakes, contradictions, what one host alone has.

use std::net::IpAddr;

use huginn_net::alert::AlertKind;
use huginn_net::core::Amount;

use super::page::Report;
use super::remarks::{Remark, RemarkList, Remarks};
use crate::limits::{MAX_REPORT_ITEMS, MAX_REPORT_RARE_ITEMS};
use crate::views::alerts::Packets;
use crate::views::overview::{SeenValue, ValueKind};

/// A statement about a host.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) host: IpAddr,
    pub(super) reason: String,
    pub(super) numbers: String,
    pub(super) packets: Option<Packets>,
    /// The first hosts that it concerns, too.
    pub(super) clients: Vec<IpAddr>,
    pub(super) has_more_clients: bool,
}

impl Item {
    fn about(host: IpAddr) -> Self {
        Self {
            host,
            reason: String::new(),
            numbers: String::new(),
            packets: None,
            clients: Vec::new(),
            has_more_clients: false,
        }
    }
}

/// Items of one kind, and a sentence about those that are left out.
pub(super) struct Group {
    pub(super) items: Vec<Item>,
    pub(super) more: Option<String>,
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

/// All items.
pub(super) fn groups(report: &Report<'_>) -> Vec<Group> {
    let remarks = report.remarks;
    vec![
        of_certificates(&remarks.certificates, "more certificate(s) with a problem"),
        failed_handshakes(remarks),
        mismatches(report),
        contradictions(report),
        lone_clients(report, ValueKind::UserAgent, "User-Agent"),
        lone_clients(report, ValueKind::Ja4, "TLS client"),
        of_certificates(&remarks.self_issued, "more self-issued certificate(s) of servers on the Internet"),
        of_certificates(
            &remarks.self_issued_nearby,
            "more self-issued certificate(s) of servers in private networks",
        ),
        devices(report),
    ]
}

/// Certificates, with the clients that they were sent to.
fn of_certificates(list: &RemarkList, more: &str) -> Group {
    let items = list.remarks.iter().map(|remark| Item {
        numbers: numbers(Amount(remark.events, "handshake(s)").to_string(), remark),
        ..item(remark)
    });
    let total = total(list.remarks.len(), list.left_out);
    Group::first(items, total, |count| Amount(count, more).to_string())
}

/// Failed handshakes, with the number of all handshakes of the client and the server.
fn failed_handshakes(remarks: &Remarks) -> Group {
    let list = &remarks.failed_handshakes;
    let items = list.remarks.iter().map(|remark| {
        let count = match remarks.handshakes_of(remark) {
            Some(counted) => format!("{} of {}", remark.events, Amount(counted.all, "handshake(s)")),
            None => Amount(remark.events, "handshake(s)").to_string(),
        };
        Item { numbers: numbers(count, remark), ..item(remark) }
    });
    let total = total(list.remarks.len(), list.left_out);
    Group::first(items, total, |count| Amount(count, "more kind(s) of failed handshakes").to_string())
}

fn item(remark: &Remark) -> Item {
    let Remark { host, reason, packets, file, clients, has_more_clients, .. } = remark;
    Item {
        host: *host,
        reason: reason.clone(),
        numbers: String::new(),
        packets: (!packets.is_empty()).then(|| Packets { numbers: packets.clone(), file: *file }),
        clients: clients.clone(),
        has_more_clients: *has_more_clients,
    }
}

/// Numbers, and the number of captures if there are several.
fn numbers(mut numbers: String, remark: &Remark) -> String {
    if remark.captures > 1 {
        numbers.push_str(&format!(" in {} captures", remark.captures));
    }
    numbers
}

fn total(listed: usize, left_out: u64) -> usize {
    listed.saturating_add(usize::try_from(left_out).unwrap_or(usize::MAX))
}

/// Requests that do not fit the browser that they claim, without those that alerts report as imitations.
fn mismatches(report: &Report<'_>) -> Group {
    let values = report.overview.values(ValueKind::Mismatch);
    let mut shown = values.top(usize::MAX);
    shown.retain(|(reasons, _)| !reasons.starts_with("imitation: "));
    let items = shown.iter().map(|(reasons, seen)| Item {
        reason: (*reasons).to_owned(),
        numbers: format!("{}, {}", Amount(seen.hosts() as u64, "host(s)"), Amount(seen.count, "event(s)")),
        packets: place(seen),
        ..Item::about(seen.first.client.ip())
    });
    Group::first(items, shown.len(), |more| Amount(more, "more kind(s) of mismatches").to_string())
}

/// Contradictions of hosts that no alert reports.
fn contradictions(report: &Report<'_>) -> Group {
    let has_alert = |host| {
        let is_same = |kind| matches!(kind, AlertKind::Contradiction | AlertKind::Imitation);
        report.alerts.of_host(host).any(|alert| is_same(alert.kind))
    };
    let hosts = report.hosts.contradictions();
    let listed: Vec<_> = hosts.iter().filter(|(host, _)| !has_alert(*host)).collect();
    let items = listed.iter().map(|(host, texts)| Item {
        reason: texts.first().map(ToString::to_string).unwrap_or_default(),
        numbers: Amount(texts.len() as u64, "contradiction(s) between layers").to_string(),
        ..Item::about(*host)
    });
    let total = report.hosts.with_contradictions().saturating_sub(hosts.len()).saturating_add(listed.len());
    Group::first(items, total, |more| {
        format!("{} with contradictions between layers", Amount(more, "more host(s)"))
    })
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
    let items = devices.iter().map(|(host, text)| Item { reason: text.clone(), ..Item::about(*host) });
    Group::first(items, devices.len(), |more| {
        format!("{} whose connections one device ends", Amount(more, "more client(s)"))
    })
}

fn place(seen: &SeenValue) -> Option<Packets> {
    seen.first.file.map(|file| Packets::one(seen.first.packet, file))
}
