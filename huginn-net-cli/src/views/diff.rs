//! What differs between two sets of captures: hosts, fingerprints, software, servers and their certificates.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::net::SocketAddr;

use huginn_net::core::{Amount, HexDigits};
use huginn_net::hosts::{HostLimits, HostProfile, Hosts, JoinedHosts, TopValues};
use huginn_net::http::Role;
use huginn_net::tls::Certificate;
use huginn_net::{Escaped, Event, Finding, Side};
use serde::Serialize;

use super::columns::{Layout, Table};
use super::overview::{Overview, ValueKind};
use crate::limits::{
    MAX_COMPARED_SERVERS, MAX_FOLLOWED_SERVERS, MAX_OVERVIEW_TEXT, MAX_OVERVIEW_VALUES, SHOWN_ROWS,
};
use crate::outcome::Outcome;

/// Names of the sides.
const SIDES: [&str; 2] = ["A", "B"];

/// The fingerprints that are compared, beside JA3S.
const FINGERPRINTS: [ValueKind; 6] = [
    ValueKind::Syn,
    ValueKind::SynAck,
    ValueKind::Akamai,
    ValueKind::Ja4,
    ValueKind::Hassh,
    ValueKind::HasshServer,
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

/// What one side shows.
pub(crate) struct View {
    hosts: JoinedHosts,
    overview: Overview,
    ja3s: BTreeSet<String>,
    /// Names that clients asked a server for.
    servers: BTreeMap<SocketAddr, BTreeSet<String>>,
    /// The own certificates of servers.
    certificates: BTreeMap<SocketAddr, BTreeSet<String>>,
    /// Whether a limit left out servers, names, certificates or JA3S.
    is_full: bool,
    captures: u64,
    packets: u64,
    /// Why the side shows only a part of its captures.
    missing: Vec<&'static str>,
}

impl View {
    pub(crate) fn new(limits: &HostLimits) -> Self {
        Self {
            hosts: JoinedHosts::new(limits),
            overview: Overview::new(true),
            ja3s: BTreeSet::new(),
            servers: BTreeMap::new(),
            certificates: BTreeMap::new(),
            is_full: false,
            captures: 0,
            packets: 0,
            missing: Vec::new(),
        }
    }

    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event) {
        self.overview.add(event);
        let server = event.flow.server;
        let name = match &event.kind {
            Finding::TlsServer(finding) => {
                let hash = finding.server.hello.ja3s_hash().to_string();
                if self.ja3s.len() < MAX_OVERVIEW_VALUES {
                    self.ja3s.insert(hash);
                } else {
                    self.is_full |= !self.ja3s.contains(&hash);
                }
                None
            }
            Finding::TlsClient(finding) => finding.client.hello.server_name(),
            Finding::HttpRequest(finding) => finding.request.host(),
            Finding::HttpResponse(_) | Finding::SshServer(_) => None,
            Finding::TlsCertificates(finding) if event.subject == Side::Server => {
                let own = finding.certificates.certificates.first().map(certificate_in_words);
                self.is_full |= add_to(&mut self.certificates, event.subject_addr(), own);
                return;
            }
            _ => return,
        };
        let name = name.map(|name| {
            let name = name.get(..MAX_OVERVIEW_TEXT).unwrap_or(name).to_ascii_lowercase();
            format!("{:#}", Escaped(&name))
        });
        self.is_full |= add_to(&mut self.servers, server, name);
    }

    /// Adds the hosts of a capture.
    pub(crate) fn add_hosts(&mut self, hosts: &Hosts) {
        self.hosts.add(hosts, None);
    }

    /// Ends the side. `evicted`: hosts that the host table evicted.
    pub(crate) fn end(&mut self, captures: u64, packets: u64, outcome: Outcome, evicted: u64) {
        (self.captures, self.packets) = (captures, packets);
        match outcome {
            Outcome::Interrupted => self.missing.push("the analysis was interrupted"),
            Outcome::Failed => self.missing.push("a capture could not be read to its end"),
            Outcome::Complete | Outcome::Usage | Outcome::Watched => {}
        }
        let left_out =
            FINGERPRINTS.iter().chain(&SOFTWARE).any(|kind| self.overview.values(*kind).left_out() > 0);
        if self.is_full || left_out || evicted > 0 || self.hosts.left_out() > 0 {
            self.missing.push("a limit left out hosts, values or servers");
        }
    }

    /// The values of a kind with their names; without TLS clients that have no name.
    fn values(&self, kind: ValueKind) -> BTreeMap<&str, &str> {
        let all = self.overview.values(kind).top(usize::MAX).into_iter();
        let all = all.map(|(value, seen)| (value, seen.name.as_deref().unwrap_or_default()));
        all.filter(|(value, _)| kind != ValueKind::TlsClient || !value.starts_with("unknown ")).collect()
    }
}

/// Adds a server and a value of it. Returns whether a limit leaves one of them out.
fn add_to(
    servers: &mut BTreeMap<SocketAddr, BTreeSet<String>>,
    server: SocketAddr,
    value: Option<String>,
) -> bool {
    if servers.len() >= MAX_COMPARED_SERVERS && !servers.contains_key(&server) {
        return true;
    }
    let values = servers.entry(server).or_default();
    let Some(value) = value else { return false };
    if values.len() >= MAX_FOLLOWED_SERVERS {
        return !values.contains(&value);
    }
    values.insert(value);
    false
}

/// Subject, issuer and validity of a certificate, and its SHA-256.
fn certificate_in_words(certificate: &Certificate) -> String {
    let text = certificate.to_string();
    let text = text.as_bytes().get(..MAX_OVERVIEW_TEXT).unwrap_or(text.as_bytes());
    format!("{:#}, SHA-256 {}", Escaped(text), HexDigits(certificate.sha256()))
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
    event: &'static str,
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

/// A side, as JSON.
#[derive(Serialize)]
struct SideLine<'a> {
    event: &'static str,
    side: &'static str,
    captures: u64,
    packets: u64,
    complete: bool,
    missing: &'a [&'static str],
}

/// Compares two maps: what is only in one of them, or has other values in both.
fn compare<K: Ord + Clone, V: PartialEq>(
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
        if let Some(other) = new.get(key).filter(|other| *other != value) {
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
    let all = |host: &HostProfile| traits(host, host).0;
    for (address, host) in new.iter().filter(|(address, _)| !old.contains_key(*address)) {
        differences.push(difference("host", Change::New, address, Vec::new(), all(host)));
    }
    for (address, host) in old.iter().filter(|(address, _)| !new.contains_key(*address)) {
        differences.push(difference("host", Change::Gone, address, all(host), Vec::new()));
    }
    for (address, one) in &old {
        let Some(other) = new.get(address) else { continue };
        let (before, after) = traits(one, other);
        if before != after {
            let only = |these: &[String], those: &[String]| -> Vec<String> {
                these.iter().filter(|text| !those.contains(text)).cloned().collect()
            };
            let (gone, come) = (only(&before, &after), only(&after, &before));
            differences.push(difference("host", Change::Changed, address, gone, come));
        }
    }
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
    Difference { event: "difference", subject, change, kind: None, value: value.to_owned(), old, new }
}

/// What identifies one host and another: system, software and JA4. A list takes part only if it is complete for both.
fn traits(one: &HostProfile, other: &HostProfile) -> (Vec<String>, Vec<String>) {
    let mut both = [Vec::new(), Vec::new()];
    for (host, found) in [one, other].into_iter().zip(&mut both) {
        let verdict = host.verdict();
        match (verdict.name(), verdict.several.is_empty()) {
            (_, false) => found.push(format!("several systems: {}", verdict.several.join(", "))),
            (Some(name), true) => found.push(format!("system: {name}")),
            (None, true) => {}
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

fn ja3s(views: &[View; 2]) -> Vec<Difference> {
    let [old, new] = views;
    let kind = Some("ja3s");
    let one = |change, value: &String| {
        let found = difference("fingerprint", change, value, Vec::new(), Vec::new());
        Difference { kind, ..found }
    };
    let come = new.ja3s.difference(&old.ja3s).map(|value| one(Change::New, value));
    let gone = old.ja3s.difference(&new.ja3s).map(|value| one(Change::Gone, value));
    come.chain(gone).collect()
}

/// The differences of names or certificates of servers.
fn servers(
    subject: &'static str,
    views: &[View; 2],
    of: fn(&View) -> &BTreeMap<SocketAddr, BTreeSet<String>>,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    let [old, new] = views.each_ref().map(of);
    let list = |values: Option<&BTreeSet<String>>| values.into_iter().flatten().cloned().collect();
    compare(old, new, |change, server, old, new| {
        differences.push(difference(subject, change, &server.to_string(), list(old), list(new)));
    });
    differences
}

/// All differences, by question.
fn groups(views: &[View; 2]) -> [(&'static str, Vec<Difference>); 5] {
    let mut fingerprints = values("fingerprint", &FINGERPRINTS, views);
    fingerprints.extend(ja3s(views));
    [
        ("hosts", hosts(views)),
        ("fingerprints", fingerprints),
        ("software", values("software", &SOFTWARE, views)),
        ("servers", servers("server", views, |view| &view.servers)),
        ("certificates", servers("certificate", views, |view| &view.certificates)),
    ]
}

/// Writes the sides, then the differences, as JSON Lines.
pub(crate) fn write_json(out: &mut impl Write, views: &[View; 2]) -> io::Result<()> {
    for (view, side) in views.iter().zip(SIDES) {
        let View { captures, packets, missing, .. } = view;
        let complete = missing.is_empty();
        let line =
            SideLine { event: "side", side, captures: *captures, packets: *packets, complete, missing };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    for found in groups(views).iter().flat_map(|(_, found)| found) {
        serde_json::to_writer(&mut *out, found)?;
        out.write_all(b"\n")?;
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
        let more = found.len().saturating_sub(SHOWN_ROWS);
        if more > 0 {
            writeln!(out, "and {more} more; --format json has them")?;
        }
    }
    if !has_differences {
        writeln!(out, "\nno differences")?;
    }
    Ok(())
}
