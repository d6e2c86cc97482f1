//! The inventory as JSON Lines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

use huginn_net::core::HexDigits;
use huginn_net::ssh::strength::WeakMethod;
use huginn_net::tls::Version;
use huginn_net::tls::strength::KeyExchangeKind;
use serde::Serialize;

use super::certificate::sha256_of;
use super::summary::{
    JudgedClient, JudgedServer, Summary, group_name, key_exchange_name, scheme_name, suite_name, version_name,
};
use crate::views::encoding::{object, write_json_line};
use crate::views::store::bounded::Seen;
use crate::views::store::cryptography::{
    ClientLibrary, Inventory, SeenList, ServerCertificate, TlsChoice, TlsOffer,
};

/// A value, how often it was seen, and when.
#[derive(Serialize)]
struct Counted<T: Serialize> {
    #[serde(flatten)]
    value: T,
    #[serde(flatten)]
    seen: Seen,
}

fn counted<T: Serialize>(value: T, seen: &Seen) -> Counted<T> {
    Counted { value, seen: *seen }
}

/// Writes the totals, then a line for each server and client. `captures`: number of captures.
pub(crate) fn write(
    out: &mut impl Write,
    inventory: &Inventory,
    summary: &Summary<'_>,
    captures: u64,
) -> io::Result<()> {
    write_json_line(out, "inventory", totals(inventory, summary, captures))?;
    for server in &summary.servers {
        write_json_line(out, "inventory_server", server_line(server))?;
    }
    for client in &summary.clients {
        write_json_line(out, "inventory_client", client_line(client))?;
    }
    Ok(())
}

fn totals(inventory: &Inventory, summary: &Summary<'_>, captures: u64) -> impl Serialize {
    let span = inventory.span();
    object! {
        captures: captures,
        first: span.map(|seen| seen.first),
        last: span.map(|seen| seen.last),
        tls_servers: summary.tls_servers(),
        tls_clients: summary.tls_clients().count(),
        tls_connections: summary.connections.total(),
        // Connections by the kind of their key exchange.
        key_exchange: summary.connections,
        // Servers by the best kind of key exchange that they chose.
        servers_by_key_exchange: summary.best,
        certificates: inventory.certificates(),
        ssh_servers: summary.servers.iter().filter(|judged| !judged.server.ssh_offered.is_empty()).count(),
        ssh_clients: summary.clients.iter().filter(|judged| !judged.client.ssh_offered.is_empty()).count(),
        ssh_key_exchange: summary.ssh_connections,
        left_out: inventory.left_out(),
    }
}

fn server_line<'a>(judged: &'a JudgedServer<'a>) -> impl Serialize + 'a {
    let certificates = judged.server.certificates.iter();
    let certificates: Vec<_> =
        certificates.map(|(found, seen)| counted(certificate_row(found), seen)).collect();
    let (agreed, offered) = (&judged.problems.weak_ssh, &judged.problems.weak_ssh_offered);
    let weak_ssh = weak_methods(agreed, true).chain(weak_methods(offered, false));
    object! {
        ip: judged.place.address.ip(),
        port: judged.place.address.port(),
        transport: if judged.place.is_udp { "udp" } else { "tcp" },
        names: judged.names.by_count(),
        names_left_out: judged.names.left_out(),
        problems: judged.problems.names(),
        hello_retry_requests: judged.server.retries,
        tls: chosen(&judged.server.tls),
        certificates: certificates,
        ssh: shared(&judged.server.ssh),
        ssh_offered: shared(&judged.server.ssh_offered),
        weak_ssh: weak_ssh.collect::<Vec<_>>(),
    }
}

/// A certificate in the chain of a server.
fn certificate_row(found: &ServerCertificate) -> impl Serialize {
    let fields = found.certificate.fields();
    let names = fields.and_then(|fields| fields.alternative_names.as_ref());
    object! {
        sha256: sha256_of(&found.certificate),
        sha1: HexDigits(found.certificate.sha1()).to_string(),
        // Whether it is the one of the server itself.
        own: found.is_own,
        serial: fields.and_then(|fields| fields.serial.as_deref()),
        subject: fields.and_then(|fields| fields.subject.as_deref()),
        issuer: fields.and_then(|fields| fields.issuer.as_deref()),
        // Names of subjectAltName; the first ones if it has many.
        names: names.iter().flat_map(|names| &*names.names).map(ToString::to_string).collect::<Vec<_>>(),
        ca: fields.and_then(|fields| fields.is_ca),
        self_issued: fields.map(|fields| fields.is_self_issued),
        not_before: fields.and_then(|fields| fields.not_before).map(|time| time.to_string()),
        not_after: fields.and_then(|fields| fields.not_after).map(|time| time.to_string()),
        key: fields.and_then(|fields| fields.key.as_deref()),
        key_bits: fields.and_then(|fields| fields.key_bits),
        signature_algorithm: fields.and_then(|fields| fields.signature_algorithm.as_deref()),
    }
}

/// Weak methods of SSH. `agreed`: whether client and server agreed on them; otherwise they were only offered.
fn weak_methods(methods: &BTreeSet<WeakMethod>, agreed: bool) -> impl Iterator<Item = impl Serialize> {
    methods.iter().map(move |method| {
        object! {
            method: method.name,
            weakness: method.weakness.name(),
            source: method.source,
            agreed: agreed,
        }
    })
}

/// What servers chose, the highest version first.
fn chosen(choices: &SeenList<TlsChoice>) -> Vec<Counted<impl Serialize>> {
    let mut rows: Vec<_> = choices.iter().collect();
    rows.sort_by_key(|(chosen, _)| {
        (Reverse(chosen.version.rank()), chosen.cipher_suite, chosen.group.map(key_exchange_name))
    });
    let chosen = rows.into_iter().map(|(chosen, seen)| {
        let chosen = object! {
            protocol: chosen.transport.name(),
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

fn client_line<'a>(judged: &'a JudgedClient<'a>) -> impl Serialize + 'a {
    let offers = &judged.client.tls;
    object! {
        ip: judged.address,
        problems: judged.problems.names(),
        // Number of ClientHellos.
        hellos: offers.total().map_or(0, |seen| seen.count),
        versions: names(offers, |offer| &offer.versions, |number| version_name(Version(number))),
        cipher_suites: names(offers, |offer| &offer.cipher_suites, suite_name),
        groups: names(offers, |offer| &offer.groups, group_name),
        key_shares: names(offers, |offer| &offer.key_shares, group_name),
        signature_algorithms: names(offers, |offer| &offer.signature_algorithms, scheme_name),
        libraries: libraries(&judged.client.libraries),
        // What its servers chose.
        tls: chosen(&judged.client.chosen),
        ssh: shared(&judged.client.ssh),
        ssh_offered: shared(&judged.client.ssh_offered),
        weak_ssh: weak_methods(&judged.problems.weak_ssh, false).collect::<Vec<_>>(),
    }
}

/// TLS libraries of known age, the oldest first.
fn libraries(found: &SeenList<ClientLibrary>) -> Vec<Counted<impl Serialize>> {
    let mut rows: Vec<_> = found.iter().collect();
    rows.sort_by_key(|(library, _)| *library);
    let rows = rows.into_iter().map(|(ClientLibrary { name, age }, seen)| {
        let library = object! {
            library: name,
            series: &*age.series,
            first_released: age.first,
            // Null if releases go on.
            last_released: age.last,
        };
        counted(library, seen)
    });
    rows.collect()
}

/// The numbers of all hellos of a client, each with the number of hellos that had it.
fn names(
    offers: &SeenList<Arc<TlsOffer>>,
    list: impl Fn(&TlsOffer) -> &[u16],
    name: impl Fn(u16) -> String,
) -> Vec<Counted<impl Serialize>> {
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
    numbers.into_iter().map(|(number, seen)| counted(object! { name: name(number) }, &seen)).collect()
}

fn shared<T: Serialize>(values: &SeenList<Arc<T>>) -> Vec<Counted<&T>> {
    values.iter().map(|(value, seen)| counted(&**value, seen)).collect()
}
