//! What stands out: a list of items, each about one host, with its reason, numbers and packet.

use std::net::IpAddr;

use huginn_net::core::Amount;

use super::page::Report;
use crate::limits::MAX_REPORT_ITEMS;
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
}

impl Group {
    /// The first items. `more` names the others by their number.
    fn first(items: impl Iterator<Item = Item>, total: usize, more: impl Fn(u64) -> String) -> Self {
        let items: Vec<Item> = items.take(MAX_REPORT_ITEMS).collect();
        let left_out = total.saturating_sub(items.len());
        Self { items, more: (left_out > 0).then(|| more(left_out as u64)) }
    }
}

/// All items, those that matter most first.
pub(super) fn groups(report: &Report<'_>) -> Vec<Group> {
    vec![tools(report), mismatches(report), contradictions(report), lone_clients(report), devices(report)]
}

fn tools(report: &Report<'_>) -> Group {
    let tools = report.overview.tools();
    let items = tools.iter().map(|(id, found)| Item {
        severity: Severity::High,
        host: id.ip(),
        reason: format!("sends packets of a tool, {}", found.label),
        numbers: found.sent().to_string(),
        packet: report.activity.first_step(id.ip(), "tool"),
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

/// Clients that one host of several has.
fn lone_clients(report: &Report<'_>) -> Group {
    let (hosts, _) = report.overview.hosts();
    let clients = report.overview.values(ValueKind::Ja4).rare(usize::MAX);
    let lone: Vec<_> = clients.iter().filter(|(_, seen)| seen.hosts() == 1 && hosts > 2).collect();
    let items = lone.iter().map(|(ja4, seen)| Item {
        severity: Severity::Low,
        host: seen.first.client.ip(),
        reason: match &seen.name {
            Some(name) => format!("alone has the TLS client {ja4}, {name}"),
            None => format!("alone has the TLS client {ja4}, which has no name"),
        },
        numbers: Amount(seen.count, "event(s)").to_string(),
        packet: place(seen),
    });
    Group::first(items, lone.len(), |more| format!("{} of one host only", Amount(more, "more TLS client(s)")))
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
