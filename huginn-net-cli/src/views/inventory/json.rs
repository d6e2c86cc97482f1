//! The inventory as JSON Lines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use huginn_net::Timestamp;
use huginn_net::ssh::strength::WeakMethod;
use huginn_net::tls::Version;
use huginn_net::tls::strength::KeyExchangeKind;
use serde::Serialize;

use super::certificate::CertificateRow;
use super::summary::{
    JudgedClient, JudgedServer, KindCounts, group_name, key_exchange_name, scheme_name, suite_name,
    version_name,
};
use super::{Inventory, LeftOut, Seen, SeenList, SshChoice, SshOffer, Summary, TlsChoice, TlsOffer};

/// Totals.
#[derive(Serialize)]
struct Totals {
    event: &'static str,
    captures: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    tls_servers: u64,
    tls_clients: u64,
    tls_connections: u64,
    /// Connections by the kind of their key exchange.
    key_exchange: KindCounts,
    /// Servers by the best kind of key exchange that they chose.
    servers_by_key_exchange: KindCounts,
    certificates: usize,
    ssh_servers: usize,
    ssh_clients: usize,
    /// SSH connections by the kind of their key exchange.
    ssh_key_exchange: KindCounts,
    left_out: LeftOut,
}

/// A count, and the times of the earliest and of the latest event.
#[derive(Serialize)]
struct Counted<T: Serialize> {
    #[serde(flatten)]
    value: T,
    count: u64,
    first: Timestamp,
    last: Timestamp,
}

fn counted<T: Serialize>(value: T, seen: &Seen) -> Counted<T> {
    let Seen { count, first, last } = *seen;
    Counted { value, count, first, last }
}

#[derive(Serialize)]
struct ServerLine<'a> {
    event: &'static str,
    ip: IpAddr,
    port: u16,
    transport: &'static str,
    names: Vec<&'a str>,
    names_left_out: u64,
    problems: Vec<&'static str>,
    hello_retry_requests: u64,
    tls: Vec<Counted<Chosen>>,
    certificates: Vec<Counted<CertificateRow<'a>>>,
    ssh: Vec<Counted<&'a SshChoice>>,
    ssh_offered: Vec<Counted<&'a SshOffer>>,
    weak_ssh: Vec<WeakSsh>,
}

/// A weak method of SSH.
#[derive(Serialize)]
struct WeakSsh {
    method: &'static str,
    weakness: &'static str,
    source: &'static str,
    /// Whether client and server agreed on it; otherwise it was only offered.
    agreed: bool,
}

impl WeakSsh {
    fn all(methods: &BTreeSet<WeakMethod>, agreed: bool) -> impl Iterator<Item = Self> {
        methods.iter().map(move |method| Self {
            method: method.name,
            weakness: method.weakness.name(),
            source: method.source,
            agreed,
        })
    }
}

/// What a server chose.
#[derive(Serialize)]
struct Chosen {
    transport: &'static str,
    version: String,
    cipher_suite: String,
    group: Option<String>,
    key_exchange: Option<&'static str>,
    forward_secrecy: Option<bool>,
}

#[derive(Serialize)]
struct ClientLine<'a> {
    event: &'static str,
    ip: IpAddr,
    problems: Vec<&'static str>,
    /// Number of ClientHellos.
    hellos: u64,
    versions: Vec<Counted<Name>>,
    cipher_suites: Vec<Counted<Name>>,
    groups: Vec<Counted<Name>>,
    key_shares: Vec<Counted<Name>>,
    signature_algorithms: Vec<Counted<Name>>,
    /// What its servers chose.
    tls: Vec<Counted<Chosen>>,
    ssh: Vec<Counted<&'a SshChoice>>,
    ssh_offered: Vec<Counted<&'a SshOffer>>,
    weak_ssh: Vec<WeakSsh>,
}

#[derive(Serialize)]
struct Name {
    name: String,
}

/// Writes the totals, then a line for each server and client. `captures`: number of captures.
pub(crate) fn write(
    out: &mut impl Write,
    inventory: &Inventory,
    summary: &Summary<'_>,
    captures: u64,
) -> io::Result<()> {
    write_line(out, &totals(inventory, summary, captures))?;
    for server in &summary.servers {
        write_line(out, &server_line(server))?;
    }
    for client in &summary.clients {
        write_line(out, &client_line(client))?;
    }
    Ok(())
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn totals(inventory: &Inventory, summary: &Summary<'_>, captures: u64) -> Totals {
    let span = inventory.span();
    Totals {
        event: "inventory",
        captures,
        first: span.map(|seen| seen.first),
        last: span.map(|seen| seen.last),
        tls_servers: summary.tls_servers(),
        tls_clients: summary.tls_clients().count() as u64,
        tls_connections: summary.connections.total(),
        key_exchange: summary.connections,
        servers_by_key_exchange: summary.best,
        certificates: inventory.certificates(),
        ssh_servers: summary.servers.iter().filter(|judged| !judged.server.ssh_offered.is_empty()).count(),
        ssh_clients: summary.clients.iter().filter(|judged| !judged.client.ssh_offered.is_empty()).count(),
        ssh_key_exchange: summary.ssh_connections,
        left_out: inventory.left_out(),
    }
}

fn server_line<'a>(judged: &'a JudgedServer<'a>) -> ServerLine<'a> {
    let certificates = judged.server.certificates.iter();
    let certificates = certificates.map(|(found, seen)| counted(CertificateRow::new(found), seen));
    ServerLine {
        event: "inventory_server",
        ip: judged.place.address.ip(),
        port: judged.place.address.port(),
        transport: if judged.place.is_udp { "udp" } else { "tcp" },
        names: judged.names.by_count(),
        names_left_out: judged.names.left_out(),
        problems: judged.problems.names(),
        hello_retry_requests: judged.server.retries,
        tls: chosen(&judged.server.tls),
        certificates: certificates.collect(),
        ssh: shared(&judged.server.ssh),
        ssh_offered: shared(&judged.server.ssh_offered),
        weak_ssh: WeakSsh::all(&judged.problems.weak_ssh, true)
            .chain(WeakSsh::all(&judged.problems.weak_ssh_offered, false))
            .collect(),
    }
}

/// What servers chose, the highest version first.
fn chosen(choices: &SeenList<TlsChoice>) -> Vec<Counted<Chosen>> {
    let mut rows: Vec<_> = choices.iter().collect();
    rows.sort_by_key(|(chosen, _)| {
        (Reverse(chosen.version.rank()), chosen.cipher_suite, chosen.group.map(key_exchange_name))
    });
    let chosen = rows.into_iter().map(|(chosen, seen)| {
        let chosen = Chosen {
            transport: chosen.transport.name(),
            version: version_name(chosen.version),
            cipher_suite: suite_name(chosen.cipher_suite),
            group: chosen.group.map(key_exchange_name),
            key_exchange: chosen.key_exchange().map(KeyExchangeKind::name),
            forward_secrecy: chosen.is_forward_secret(),
        };
        counted(chosen, seen)
    });
    chosen.collect()
}

fn client_line<'a>(judged: &'a JudgedClient<'a>) -> ClientLine<'a> {
    let offers = &judged.client.tls;
    ClientLine {
        event: "inventory_client",
        ip: judged.address,
        problems: judged.problems.names(),
        hellos: offers.total().map_or(0, |seen| seen.count),
        versions: names(offers, |offer| &offer.versions, |number| version_name(Version(number))),
        cipher_suites: names(offers, |offer| &offer.cipher_suites, suite_name),
        groups: names(offers, |offer| &offer.groups, group_name),
        key_shares: names(offers, |offer| &offer.key_shares, group_name),
        signature_algorithms: names(offers, |offer| &offer.signature_algorithms, scheme_name),
        tls: chosen(&judged.client.chosen),
        ssh: shared(&judged.client.ssh),
        ssh_offered: shared(&judged.client.ssh_offered),
        weak_ssh: WeakSsh::all(&judged.problems.weak_ssh, false).collect(),
    }
}

/// The numbers of all hellos of a client, each with the number of hellos that had it.
fn names(
    offers: &SeenList<Arc<TlsOffer>>,
    list: impl Fn(&TlsOffer) -> &[u16],
    name: impl Fn(u16) -> String,
) -> Vec<Counted<Name>> {
    let mut numbers: BTreeMap<u16, Seen> = BTreeMap::new();
    for (offer, seen) in offers.iter() {
        let mut own = list(offer).to_vec();
        // A hello may repeat a number.
        own.sort_unstable();
        own.dedup();
        for number in own {
            numbers.entry(number).and_modify(|known| known.add(seen)).or_insert(*seen);
        }
    }
    numbers.into_iter().map(|(number, seen)| counted(Name { name: name(number) }, &seen)).collect()
}

fn shared<T: Serialize>(values: &SeenList<Arc<T>>) -> Vec<Counted<&T>> {
    values.iter().map(|(value, seen)| counted(&**value, seen)).collect()
}
