//! What else a page says of hosts, below the alerts: certificates, failed handshakes, contradictions, what one host alone has.

use std::net::IpAddr;

use huginn_net::alert::AlertKind;
use huginn_net::core::Amount;

use super::hosts::HostList;
use crate::limits::MAX_REPORT_ITEMS;
use crate::views::store::remarks::{Remark, RemarkList};
use crate::views::store::statement::Packets;
use crate::views::store::{SeenValue, Store, ValueKind};

/// Maximum number of rare values of a kind that a report lists under what stands out: there are many in most networks.
const MAX_REPORT_RARE_ITEMS: usize = 5;

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
    fn new(host: IpAddr, reason: String, numbers: String) -> Self {
        Self { host, reason, numbers, packets: None, clients: Vec::new(), has_more_clients: false }
    }

    /// A statement that the first event with a value shows.
    fn of_value(seen: &SeenValue, reason: String, numbers: String) -> Self {
        let packets = Some(Packets::one(seen.first.packet, seen.first.file));
        Self { packets, ..Self::new(seen.first.client.ip(), reason, numbers) }
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
    /// The first items. `others` names those that are left out, which the table of hosts has.
    fn new(items: impl Iterator<Item = Item>, total: usize, others: &str) -> Self {
        let items: Vec<Item> = items.take(MAX_REPORT_ITEMS).collect();
        let left_out = total.saturating_sub(items.len()) as u64;
        let more = (left_out > 0).then(|| Amount(left_out, others).to_string());
        Self { items, more, section: "hosts" }
    }
}

/// All items.
pub(super) fn groups(store: &Store, hosts: &HostList) -> Vec<Group> {
    let remarks = &store.remarks;
    vec![
        of_remarks(store, &remarks.certificates, "more certificate(s) with a problem"),
        of_remarks(store, &remarks.failed_handshakes, "more kind(s) of failed handshakes"),
        mismatches(store),
        contradictions(store, hosts),
        lone_clients(store, ValueKind::UserAgent, "User-Agent"),
        lone_clients(store, ValueKind::Ja4, "TLS client"),
        of_remarks(store, &remarks.self_issued, "more self-issued certificate(s) of servers on the Internet"),
        of_remarks(
            store,
            &remarks.self_issued_nearby,
            "more self-issued certificate(s) of servers in private networks",
        ),
        devices(hosts),
    ]
}

/// Certificates with the clients that they were sent to, or failed handshakes with the number of all handshakes of the client
/// and the server.
fn of_remarks(store: &Store, list: &RemarkList, others: &str) -> Group {
    let items = list.remarks.iter().map(|remark| {
        let Remark { statement, clients, has_more_clients, .. } = remark;
        let mut numbers = match store.remarks.handshakes_of(remark) {
            Some(counted) => format!("{} of {}", statement.events, Amount(counted.all, "handshake(s)")),
            None => Amount(statement.events, "handshake(s)").to_string(),
        };
        if statement.captures > 1 {
            numbers.push_str(&format!(" in {} captures", statement.captures));
        }
        Item {
            packets: Some(statement.packets.clone()),
            clients: clients.clone(),
            has_more_clients: *has_more_clients,
            ..Item::new(statement.host, statement.reason.clone(), numbers)
        }
    });
    let left_out = usize::try_from(list.left_out).unwrap_or(usize::MAX);
    Group::new(items, list.remarks.len().saturating_add(left_out), others)
}

/// Requests that do not fit the browser that they claim, without those that alerts report as imitations.
fn mismatches(store: &Store) -> Group {
    let mut shown = store.values.of(ValueKind::Mismatch).top(usize::MAX);
    shown.retain(|(reasons, _)| !reasons.starts_with("imitation: "));
    let items = shown.iter().map(|(reasons, seen)| {
        let (hosts, events) = (Amount(seen.hosts() as u64, "host(s)"), Amount(seen.count, "event(s)"));
        Item::of_value(seen, (*reasons).to_owned(), format!("{hosts}, {events}"))
    });
    Group::new(items, shown.len(), "more kind(s) of mismatches")
}

/// Contradictions of hosts that no alert reports.
fn contradictions(store: &Store, hosts: &HostList) -> Group {
    let has_alert = |host| {
        let is_same = |kind| matches!(kind, AlertKind::Contradiction | AlertKind::Imitation);
        store.alerts.of_host(host).any(|alert| is_same(alert.kind))
    };
    let first = &hosts.contradictions;
    let listed: Vec<_> = first.iter().filter(|(host, _)| !has_alert(*host)).collect();
    let items = listed.iter().map(|(host, texts)| {
        let reason = texts.first().map(ToString::to_string).unwrap_or_default();
        Item::new(*host, reason, Amount(texts.len() as u64, "contradiction(s) between layers").to_string())
    });
    let total = hosts.with_contradictions.saturating_sub(first.len()).saturating_add(listed.len());
    Group::new(items, total, "more host(s) with contradictions between layers")
}

/// TLS clients, and User-Agents without a name, that one host of several has: fewer of them, since one host may have many.
fn lone_clients(store: &Store, kind: ValueKind, title: &str) -> Group {
    let values = store.values.of(kind);
    let has_others = values.all_hosts() > 2;
    let mut lone = values.rare(usize::MAX);
    lone.retain(|(_, seen)| {
        seen.hosts() == 1 && has_others && (kind == ValueKind::Ja4 || seen.name.is_none())
    });
    let items = lone.iter().map(|(value, seen)| {
        let name = seen.name.as_deref().unwrap_or("which has no name");
        let reason = format!("alone has the {title} {value}, {name}");
        Item::of_value(seen, reason, Amount(seen.count, "event(s)").to_string())
    });
    let items = items.take(MAX_REPORT_RARE_ITEMS);
    let group = Group::new(items, lone.len(), &format!("more {title}(s) of one host only"));
    Group { section: "rare", ..group }
}

/// Clients whose connections one device ends.
fn devices(hosts: &HostList) -> Group {
    let devices = &hosts.devices;
    let items = devices.iter().map(|(host, text)| Item::new(*host, text.clone(), String::new()));
    Group::new(items, devices.len(), "more client(s) whose connections one device ends")
}
