//! What differs between two sets of captures: hosts, fingerprints, software, servers and their certificates.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use huginn_net::core::Amount;
use huginn_net::hosts::{HostProfile, JoinedHosts, Systems, TopValues};
use huginn_net::http::Role;
use serde::Serialize;

use super::columns::{Layout, Table, write_more};
use super::encoding::{object, write_json_line};
use super::store::{Part, ServerTexts, Store, ValueKind};
use crate::limits::SHOWN_ROWS;
use crate::outcome::Outcome;

/// Names of the sides.
const SIDES: [&str; 2] = ["A", "B"];

/// The parts of the store that are compared.
pub(crate) const PARTS: [Part; 2] = [Part::Fingerprints, Part::Servers];

/// The fingerprints that are compared.
const FINGERPRINTS: [ValueKind; 7] = [
    ValueKind::Syn,
    ValueKind::SynAck,
    ValueKind::Akamai,
    ValueKind::Ja4,
    ValueKind::Hassh,
    ValueKind::HasshServer,
    ValueKind::Ja3s,
];

/// The names of software that are compared.
const SOFTWARE: [ValueKind; 4] =
    [ValueKind::System, ValueKind::Software, ValueKind::TlsClient, ValueKind::SshClient];

/// The events that are compared: those with fingerprints, names of software, and servers.
pub(crate) const COMPARED_EVENTS: [&str; 8] = [
    "tcp_syn",
    "tcp_syn_ack",
    "http_request",
    "http_response",
    "tls_client",
    "tls_server",
    "ssh_client",
    "ssh_server",
];

/// One side.
pub(crate) struct View {
    pub(crate) store: Store,
    pub(crate) hosts: JoinedHosts,
    captures: u64,
    packets: u64,
    /// Why the side shows only a part of its captures.
    missing: Vec<&'static str>,
}

impl View {
    /// `evicted`: hosts that the host table evicted.
    pub(crate) fn new(
        store: Store,
        hosts: JoinedHosts,
        (captures, packets): (u64, u64),
        outcome: Outcome,
        evicted: u64,
    ) -> Self {
        let mut missing = Vec::new();
        match outcome {
            Outcome::Interrupted => missing.push("the analysis was interrupted"),
            Outcome::Failed => missing.push("a capture could not be read to its end"),
            Outcome::Complete | Outcome::Usage | Outcome::Watched => {}
        }
        let mut kinds = FINGERPRINTS.iter().chain(&SOFTWARE);
        let left_out = kinds.any(|kind| store.values.of(*kind).left_out() > 0);
        if left_out || store.servers.has_more() || evicted > 0 || hosts.left_out() > 0 {
            missing.push("a limit left out hosts, values or servers");
        }
        Self { store, hosts, captures, packets, missing }
    }

    /// The values of a kind with their names; without TLS clients that have no name.
    fn values(&self, kind: ValueKind) -> BTreeMap<&str, &str> {
        let all = self.store.values.of(kind).top(usize::MAX).into_iter();
        let all = all.map(|(value, seen)| (value, seen.name.as_deref().unwrap_or_default()));
        all.filter(|(value, _)| kind != ValueKind::TlsClient || !value.starts_with("unknown ")).collect()
    }
}

/// How a subject differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Change {
    New,
    Gone,
    Changed,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Changed => "changed",
        }
    }
}

/// A difference, as JSON.
#[derive(Serialize)]
struct Difference {
    /// The question: `host`, `fingerprint`, `software`, `server` or `certificate`.
    subject: &'static str,
    change: Change,
    /// The kind of a fingerprint or of software.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    value: String,
    old: Vec<String>,
    new: Vec<String>,
}

/// Compares two maps: what is only in one of them, then what is in both.
fn compare<K: Ord, V>(
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    mut found: impl FnMut(Change, &K, Option<&V>, Option<&V>),
) {
    for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(key)) {
        found(Change::New, key, None, Some(value));
    }
    for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(key)) {
        found(Change::Gone, key, Some(value), None);
    }
    for (key, value) in old {
        if let Some(other) = new.get(key) {
            found(Change::Changed, key, Some(value), Some(other));
        }
    }
}

/// The differences of hosts.
fn hosts(views: &[View; 2]) -> Vec<Difference> {
    let [old, new] = views.each_ref().map(|view| {
        let hosts = view.hosts.profiles().map(|host| (address(host), host));
        hosts.collect::<BTreeMap<String, &HostProfile>>()
    });
    let mut differences = Vec::new();
    let all = |host: Option<&&HostProfile>| host.map(|host| traits(host, host).0).unwrap_or_default();
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|text| !those.contains(text)).cloned().collect()
    };
    compare(&old, &new, |change, address, one, other| {
        let (before, after) = match (one, other) {
            (Some(one), Some(other)) => traits(one, other),
            (one, other) => (all(one), all(other)),
        };
        if change != Change::Changed || before != after {
            let (gone, come) = (only(&before, &after), only(&after, &before));
            differences.push(difference("host", change, address, gone, come));
        }
    });
    differences
}

fn address(host: &HostProfile) -> String {
    let layers = host.tunnel.iter().flat_map(|tunnel| tunnel.layers());
    layers.fold(host.ip.to_string(), |text, layer| format!("{text} {layer}"))
}

fn difference(
    subject: &'static str,
    change: Change,
    value: &str,
    old: Vec<String>,
    new: Vec<String>,
) -> Difference {
    Difference { subject, change, kind: None, value: value.to_owned(), old, new }
}

/// What identifies one host and another: system, software and JA4. A list takes part only if it is complete for both.
fn traits(one: &HostProfile, other: &HostProfile) -> (Vec<String>, Vec<String>) {
    let mut both = [Vec::new(), Vec::new()];
    for (host, found) in [one, other].into_iter().zip(&mut both) {
        let verdict = host.verdict();
        match verdict.systems() {
            Systems::Several(names) => found.push(format!("several systems: {}", names.join(", "))),
            Systems::One(name) => found.push(format!("system: {name}")),
            Systems::Unknown => {}
        }
    }
    let mut add = |are_complete: bool, values: fn(&HostProfile) -> Vec<String>| {
        for (host, found) in [one, other].into_iter().zip(&mut both).filter(|_| are_complete) {
            let mut values = values(host);
            values.sort_unstable();
            values.dedup();
            found.extend(values);
        }
    };
    fn complete<T>(lists: [&TopValues<T>; 2]) -> bool {
        lists.iter().all(|list| list.left_out() == 0)
    }
    add(complete([&one.browsers, &other.browsers]), |host| {
        let own = host.browsers.iter().filter(|seen| !seen.value.forwarded);
        own.map(|seen| format!("client: {}", seen.value.name(Role::Request))).collect()
    });
    add(complete([&one.servers, &other.servers]), |host| {
        let own = host.servers.iter().filter(|seen| !seen.value.forwarded);
        own.map(|seen| format!("server: {}", seen.value.name(Role::Response))).collect()
    });
    add(complete([&one.tls_clients, &other.tls_clients]), |host| {
        let seen = host.tls_clients.iter().map(|seen| &seen.value);
        seen.map(|seen| match &seen.software {
            Some(software) => format!("JA4: {} ({software})", seen.ja4),
            None => format!("JA4: {}", seen.ja4),
        })
        .collect()
    });
    let [before, after] = both;
    (before, after)
}

/// The differences of values of some kinds.
fn values(subject: &'static str, kinds: &[ValueKind], views: &[View; 2]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for kind in kinds {
        let [old, new] = views.each_ref().map(|view| view.values(*kind));
        compare(&old, &new, |change, value, old, new| {
            // A value stands for the same name on both sides, unless its events differ.
            if change != Change::Changed {
                let named = |name: Option<&&str>| {
                    name.filter(|name| !name.is_empty()).map(|name| (*name).to_owned()).into_iter().collect()
                };
                let found = difference(subject, change, value, named(old), named(new));
                differences.push(Difference { kind: Some(kind.name()), ..found });
            }
        });
    }
    differences
}

/// The differences of names or certificates of servers.
fn servers(subject: &'static str, views: &[View; 2], of: fn(&Store) -> &ServerTexts) -> Vec<Difference> {
    let mut differences = Vec::new();
    let [old, new] = views.each_ref().map(|view| of(&view.store).iter().collect::<BTreeMap<_, _>>());
    let list = |texts: Option<&&BTreeSet<String>>| texts.into_iter().copied().flatten().cloned().collect();
    compare(&old, &new, |change, server, old, new| {
        if old != new {
            differences.push(difference(subject, change, &server.to_string(), list(old), list(new)));
        }
    });
    differences
}

/// All differences, by question.
fn groups(views: &[View; 2]) -> [(&'static str, Vec<Difference>); 5] {
    let fingerprints = values("fingerprint", &FINGERPRINTS, views);
    [
        ("hosts", hosts(views)),
        ("fingerprints", fingerprints),
        ("software", values("software", &SOFTWARE, views)),
        ("servers", servers("server", views, |store| &store.servers.names)),
        ("certificates", servers("certificate", views, |store| &store.servers.certificates)),
    ]
}

/// Writes the sides, then the differences, as JSON Lines.
pub(crate) fn write_json(out: &mut impl Write, views: &[View; 2]) -> io::Result<()> {
    for (view, side) in views.iter().zip(SIDES) {
        let View { captures, packets, missing, .. } = view;
        let complete = missing.is_empty();
        let line = object! { side: side, captures: captures, packets: packets, complete: complete, missing: missing };
        write_json_line(out, "side", line)?;
    }
    for found in groups(views).iter().flat_map(|(_, found)| found) {
        write_json_line(out, "difference", found)?;
    }
    Ok(())
}

/// Writes the sides, then a table for each question with differences.
pub(crate) fn write_text(out: &mut impl Write, views: &[View; 2], width: Option<u16>) -> io::Result<()> {
    for (view, side) in views.iter().zip(SIDES) {
        let (captures, packets) = (Amount(view.captures, "capture(s)"), Amount(view.packets, "packet(s)"));
        write!(out, "{side}: {captures}, {packets}")?;
        match &*view.missing {
            [] => writeln!(out)?,
            missing => writeln!(out, "; incomplete: {}", missing.join(", "))?,
        }
    }
    let mut has_differences = false;
    for (title, found) in groups(views).iter().filter(|(_, found)| !found.is_empty()) {
        has_differences = true;
        let counts = [Change::New, Change::Gone, Change::Changed].map(|change| {
            let count = found.iter().filter(|difference| difference.change == change).count();
            (count, change.name())
        });
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
        writeln!(out, "\n{title}: {}", counts.join(", "))?;
        let mut table = Table::new(&["", "kind", "value", "A", "B"]);
        for found in found.iter().take(SHOWN_ROWS) {
            table.add_row(vec![
                found.change.name().to_owned(),
                found.kind.unwrap_or_default().to_owned(),
                found.value.clone(),
                found.old.join("\n"),
                found.new.join("\n"),
            ]);
        }
        table.write(out, Layout { whole: &[0, 1], numbers: &[] }, width)?;
        write_more(out, found.len().saturating_sub(SHOWN_ROWS) as u64, "; --format json has them")?;
    }
    if !has_differences {
        writeln!(out, "\nno differences")?;
    }
    Ok(())
}
