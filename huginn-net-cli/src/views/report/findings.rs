//! What stands out: a list of items, each about one host, with its reason, numbers and packet.

use std::net::IpAddr;

use huginn_net::core::Amount;

use super::page::Report;
use crate::limits::{MAX_REPORT_ITEMS, MAX_REPORT_RARE_ITEMS};
use crate::views::overview::{SeenValue, ValueKind};

/// How much an item matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Severity {
    High,
    Medium,
    Low,
}

impl Severity {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// A statement about a host.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) severity: Severity,
    pub(super) host: IpAddr,
    pub(super) reason: String,
    pub(super) numbers: String,
    /// Packet number, and index of the file.
    pub(super) packet: Option<(u64, usize)>,
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

/// All items, those that matter most first.
pub(super) fn groups(report: &Report<'_>) -> Vec<Group> {
    vec![
        tools(report),
        mismatches(report),
        contradictions(report),
        lone_clients(report, ValueKind::UserAgent, "User-Agent"),
        lone_clients(report, ValueKind::Ja4, "TLS client"),
        devices(report),
    ]
}

fn tools(report: &Report<'_>) -> Group {
    let tools = report.overview.tools();
    let items = tools.iter().map(|(id, found)| Item {
        severity: Severity::High,
        host: id.ip(),
        reason: format!("sends packets of a tool, {}", found.label),
        numbers: found.sent().to_string(),
        packet: report.activity.first_step(id.ip(), "tool", &format!("{:#}", found.label)),
    });
    let has_more = usize::from(report.overview.has_more_tools());
    let total = tools.len().saturating_add(has_more);
    let at_least = if has_more > 0 { "at least " } else { "" };
    Group::first(items, total, |more| {
        format!("{at_least}{} with packets of tools", Amount(more, "more host(s)"))
    })
}

fn mismatches(report: &Report<'_>) -> Group {
    let values = report.overview.values(ValueKind::Mismatch);
    let shown = values.top(MAX_REPORT_ITEMS);
    let items = shown.iter().map(|(reasons, seen)| Item {
        severity: Severity::Medium,
        host: seen.first.client.ip(),
        reason: (*reasons).to_owned(),
        numbers: format!("{}, {}", Amount(seen.hosts() as u64, "host(s)"), Amount(seen.count, "event(s)")),
        packet: place(seen),
    });
    Group::first(items, values.len(), |more| Amount(more, "more kind(s) of mismatches").to_string())
}

fn contradictions(report: &Report<'_>) -> Group {
    let items = report.hosts.contradictions().iter().map(|(host, texts)| Item {
        severity: Severity::Medium,
        host: *host,
        reason: texts.first().cloned().unwrap_or_default(),
        numbers: Amount(texts.len() as u64, "contradiction(s) between layers").to_string(),
        packet: None,
    });
    Group::first(items, report.hosts.with_contradictions(), |more| {
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
        severity: Severity::Low,
        host: seen.first.client.ip(),
        reason: match &seen.name {
            Some(name) => format!("alone has the {title} {value}, {name}"),
            None => format!("alone has the {title} {value}, which has no name"),
        },
        numbers: Amount(seen.count, "event(s)").to_string(),
        packet: place(seen),
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
        host: *host,
        reason: text.clone(),
        numbers: String::new(),
        packet: None,
    });
    Group::first(items, devices.len(), |more| {
        format!("{} whose connections one device ends", Amount(more, "more client(s)"))
    })
}

fn place(seen: &SeenValue) -> Option<(u64, usize)> {
    seen.first.file.map(|file| (seen.first.packet, file))
}
