//! Totals of an inventory.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use huginn_net::ssh::strength::WeakMethod;
use huginn_net::tls::strength::{KeyExchangeKind, SuiteWeakness, suite_key_exchange};
use huginn_net::tls::{Certificate, CertificateTime, KeyExchange, Version, names};
use serde::Serialize;

use super::problem::Problems;
use crate::views::store::bounded::{Seen, increment};
use crate::views::store::cryptography::{
    Client, ClientLibrary, Inventory, NamesOf, Place, Server, SshChoice, TlsChoice,
};

/// Servers and clients with their problems, and totals.
#[derive(Debug, Default)]
pub(crate) struct Summary<'a> {
    /// By address.
    pub(crate) servers: Vec<JudgedServer<'a>>,
    /// By address.
    pub(crate) clients: Vec<JudgedClient<'a>>,
    /// TLS connections of servers by the kind of their key exchange.
    pub(crate) connections: KindCounts,
    /// TLS servers by the best kind of key exchange that they chose.
    pub(crate) best: KindCounts,
    /// SSH connections by the kind of their key exchange.
    pub(crate) ssh_connections: KindCounts,
    /// Key exchanges of SSH, the most frequent first.
    pub(crate) ssh_key_exchanges: Vec<(KeyExchangeName, Usage)>,
    /// Weak methods of SSH that were agreed on, the worst first, with the number of servers.
    pub(crate) weak_ssh: BTreeMap<WeakMethod, u64>,
    /// Key exchanges of TLS, the most frequent first.
    pub(crate) key_exchanges: Vec<(KeyExchangeName, Usage)>,
    /// Versions, the most frequent first.
    pub(crate) versions: Vec<(Version, Usage)>,
    /// Weaknesses of cipher suites, the worst first, with the number of servers.
    pub(crate) weak: BTreeMap<SuiteWeakness, u64>,
    pub(crate) no_forward_secrecy: u64,
}

#[derive(Debug)]
pub(crate) struct JudgedServer<'a> {
    pub(crate) place: Place,
    pub(crate) server: &'a Server,
    pub(crate) names: NamesOf<'a>,
    pub(crate) problems: Problems,
}

#[derive(Debug)]
pub(crate) struct JudgedClient<'a> {
    pub(crate) address: IpAddr,
    pub(crate) client: &'a Client,
    pub(crate) problems: Problems,
}

/// Counts by the kind of a key exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct KindCounts {
    pub(crate) hybrid: u64,
    pub(crate) post_quantum: u64,
    pub(crate) classical: u64,
    pub(crate) unknown: u64,
}

impl KindCounts {
    fn add(&mut self, kind: Option<KeyExchangeKind>, count: u64) {
        let sum = match kind {
            Some(KeyExchangeKind::Hybrid) => &mut self.hybrid,
            Some(KeyExchangeKind::PostQuantum) => &mut self.post_quantum,
            Some(KeyExchangeKind::Classical) => &mut self.classical,
            _ => &mut self.unknown,
        };
        *sum = sum.saturating_add(count);
    }

    pub(crate) fn total(self) -> u64 {
        let Self { hybrid, post_quantum, classical, unknown } = self;
        hybrid.saturating_add(post_quantum).saturating_add(classical).saturating_add(unknown)
    }
}

/// A group, or what the cipher suite says about the key exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyExchangeName {
    pub(crate) name: String,
    pub(crate) kind: Option<KeyExchangeKind>,
}

impl KeyExchangeName {
    /// The key exchange method of SSH; `None` if the sides did not agree on all methods.
    pub(super) fn of_ssh(choice: &SshChoice) -> Option<Self> {
        Some(Self { name: choice.kex_in_use()?.to_owned(), kind: choice.kind() })
    }

    pub(super) fn of(choice: &TlsChoice) -> Self {
        let kind = choice.key_exchange();
        let of_suite = || match suite_key_exchange(choice.cipher_suite) {
            Some(name) if name.contains("DH") => format!("{name}, unknown group"),
            Some(name) => name.to_owned(),
            None => "unknown".to_owned(),
        };
        Self { name: choice.group.map_or_else(of_suite, key_exchange_name), kind }
    }
}

/// Number of servers and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) servers: u64,
    pub(crate) connections: u64,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(inventory: &'a Inventory) -> Self {
        let servers = inventory.servers().into_iter().map(|(place, server, names)| JudgedServer {
            place,
            server,
            names,
            problems: Problems::of_server(server),
        });
        let clients = inventory.clients().into_iter().map(|(address, client)| JudgedClient {
            address,
            client,
            problems: Problems::of_client(client),
        });
        let mut summary = Self { servers: servers.collect(), clients: clients.collect(), ..Self::default() };
        summary.count();
        summary
    }

    fn count(&mut self) {
        let [mut exchanges, mut ssh_exchanges] = [Usages(BTreeMap::new()), Usages(BTreeMap::new())];
        let mut versions = Usages(BTreeMap::new());
        for JudgedServer { server, problems, .. } in &self.servers {
            let chosen = server.tls.iter();
            for (choice, seen) in server.tls.iter() {
                self.connections.add(choice.key_exchange(), seen.count);
            }
            if chosen.len() > 0 {
                let best = server.tls.iter().filter_map(|(choice, _)| choice.key_exchange()).max();
                self.best.add(best, 1);
            }
            for (choice, seen) in server.ssh.iter() {
                self.ssh_connections.add(choice.kind(), seen.count);
            }
            exchanges
                .add_server(server.tls.iter().map(|(chosen, seen)| (KeyExchangeName::of(chosen), *seen)));
            versions.add_server(server.tls.iter().map(|(chosen, seen)| (chosen.version.0, *seen)));
            let ssh = server.ssh.iter();
            ssh_exchanges
                .add_server(ssh.filter_map(|(choice, seen)| Some((KeyExchangeName::of_ssh(choice)?, *seen))));
            problems.weak_ssh.iter().for_each(|method| increment(self.weak_ssh.entry(*method).or_default()));
            problems.weak.iter().for_each(|weakness| increment(self.weak.entry(*weakness).or_default()));
            self.no_forward_secrecy =
                self.no_forward_secrecy.saturating_add(u64::from(problems.no_forward_secrecy));
        }
        self.key_exchanges = exchanges.most_frequent_first();
        self.ssh_key_exchanges = ssh_exchanges.most_frequent_first();
        let versions = versions.most_frequent_first().into_iter();
        self.versions = versions.map(|(number, usage)| (Version(number), usage)).collect();
    }

    /// Number of servers that chose something in TLS.
    pub(crate) fn tls_servers(&self) -> u64 {
        self.best.total()
    }

    /// Clients that offered something in TLS.
    pub(crate) fn tls_clients(&self) -> impl Iterator<Item = &JudgedClient<'a>> {
        self.clients.iter().filter(|judged| !judged.client.tls.is_empty())
    }

    /// Servers with problems, the worst first; among equal ones, those with most connections.
    pub(crate) fn worst_servers(&self) -> Vec<&JudgedServer<'a>> {
        worst(&self.servers, |judged| (&judged.problems, judged.server.total()))
    }

    /// The own certificates of servers, those whose validity has no readable end and those whose
    /// validity ends first before others, each with when it was seen and the number of
    /// servers. Those that cannot be read have no validity.
    pub(crate) fn certificates_by_end(&self) -> Vec<(&'a Certificate, Seen, u64)> {
        let mut all: BTreeMap<(i64, [u8; 32]), (&'a Certificate, Seen, u64)> = BTreeMap::new();
        for judged in &self.servers {
            for (found, seen) in judged.server.certificates.iter().filter(|(found, _)| found.is_own) {
                let Some(fields) = found.certificate.fields() else { continue };
                let end = fields.not_after.map_or(i64::MIN, CertificateTime::seconds);
                let key = (end, *found.certificate.sha256());
                let known = all.entry(key).or_insert((&found.certificate, Seen { count: 0, ..*seen }, 0));
                known.1.add(seen);
                known.2 = known.2.saturating_add(1);
            }
        }
        all.into_values().collect()
    }

    /// TLS libraries that are no longer released, with their clients and hellos, the oldest first.
    pub(crate) fn old_libraries(&self) -> Vec<(&'a ClientLibrary, IpAddr, Seen)> {
        let libraries = self.clients.iter().flat_map(|judged| {
            let of_client = judged.client.libraries.iter();
            of_client.map(|(library, seen)| (library, judged.address, *seen))
        });
        let mut old: Vec<_> = libraries.filter(|(library, ..)| library.age.last.is_some()).collect();
        old.sort_by_key(|(library, address, _)| (*library, *address));
        old
    }

    /// Clients with problems, in the same order.
    pub(crate) fn worst_clients(&self) -> Vec<&JudgedClient<'a>> {
        worst(&self.clients, |judged| (&judged.problems, judged.client.total()))
    }
}

/// Hosts with problems, the worst first; among equal ones, those seen most often.
fn worst<H>(hosts: &[H], judge: impl Fn(&H) -> (&Problems, Option<Seen>)) -> Vec<&H> {
    let ranked = hosts.iter().filter_map(|host| {
        let (problems, seen) = judge(host);
        Some(((problems.rank()?, std::cmp::Reverse(seen.map_or(0, |seen| seen.count))), host))
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, host)| host).collect()
}

/// Values with the number of servers and connections.
struct Usages<K>(BTreeMap<K, Usage>);

impl<K: Ord + Clone> Usages<K> {
    fn most_frequent_first(self) -> Vec<(K, Usage)> {
        let mut usages: Vec<(K, Usage)> = self.0.into_iter().collect();
        usages.sort_by_key(|(_, usage)| std::cmp::Reverse((usage.connections, usage.servers)));
        usages
    }

    fn add_server(&mut self, values: impl Iterator<Item = (K, Seen)>) {
        let mut own = BTreeSet::new();
        for (value, seen) in values {
            let usage = self.0.entry(value.clone()).or_default();
            usage.connections = usage.connections.saturating_add(seen.count);
            usage.servers = usage.servers.saturating_add(u64::from(own.insert(value)));
        }
    }
}

/// The name of a version, or its number.
pub(crate) fn version_name(version: Version) -> String {
    version.name().map_or_else(|| hex(version.0), str::to_owned)
}

/// The name of a group, or the length of the prime of another one.
pub(crate) fn key_exchange_name(group: KeyExchange) -> String {
    match group {
        KeyExchange::Group(group) => group_name(group),
        KeyExchange::FiniteField(bits) => format!("{bits}-bit DH"),
        _ => "unknown".to_owned(),
    }
}

/// The name of a group, or its number.
pub(crate) fn group_name(group: u16) -> String {
    names::group(group).map_or_else(|| hex(group), str::to_owned)
}

/// The name of a cipher suite, or its number.
pub(crate) fn suite_name(suite: u16) -> String {
    names::cipher_suite(suite).map_or_else(|| hex(suite), str::to_owned)
}

/// The name of a signature scheme, or its number.
pub(crate) fn scheme_name(scheme: u16) -> String {
    names::signature_scheme(scheme).map_or_else(|| hex(scheme), str::to_owned)
}

fn hex(number: u16) -> String {
    format!("{number:#06x}")
}
