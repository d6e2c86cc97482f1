//! What needs attention.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Display};

use huginn_net::ssh::strength::{MethodWeakness, WeakMethod};
use huginn_net::tls::Version;
use huginn_net::tls::strength::{KeyExchangeKind, SuiteWeakness, deprecated_by, weaknesses};

use super::certificate::CertificateProblem;
use crate::views::store::cryptography::{Client, Server};

/// Number of weak SSH methods of a host that the human format and the report list, the worst ones.
const SHOWN_WEAK_METHODS: usize = 3;

/// What a server negotiated, or a client offered, that standards advise against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    role: Role,
    /// Weaknesses of cipher suites.
    pub(crate) weak: BTreeSet<SuiteWeakness>,
    /// Deprecated versions, the oldest first: negotiated ones; of a client, its highest version.
    pub(crate) old: Vec<Version>,
    /// Length of the shortest prime of a Diffie-Hellman group that is too short, in bits.
    pub(crate) short_prime: Option<u32>,
    /// Weak methods of SSH, the worst first: those that a server and its clients agreed on; those that a client offered.
    pub(crate) weak_ssh: BTreeSet<WeakMethod>,
    /// Weak methods of SSH that a server offered and that no client agreed on, the worst first.
    pub(crate) weak_ssh_offered: BTreeSet<WeakMethod>,
    /// Problems of its own certificates.
    pub(crate) certificates: BTreeSet<CertificateProblem>,
    /// Whether a key exchange without forward secrecy was negotiated.
    pub(crate) no_forward_secrecy: bool,
    /// Whether the key exchange was classical and never post-quantum or hybrid; of a client, whether it offered nothing else.
    pub(crate) no_post_quantum: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Server,
    Client,
}

impl Problems {
    pub(crate) fn of_server(server: &Server) -> Self {
        let chosen = || server.tls.iter().map(|(choice, _)| choice);
        let ssh = || server.ssh.iter().filter_map(|(choice, _)| choice.kind());
        let kinds = || chosen().filter_map(|choice| choice.key_exchange()).chain(ssh());
        let has = |kind| kinds().any(|found| found == kind);
        let is_post_quantum = has(KeyExchangeKind::Hybrid) || has(KeyExchangeKind::PostQuantum);
        let old = chosen().map(|choice| choice.version).filter(|version| deprecated_by(*version).is_some());
        let weak_ssh: BTreeSet<WeakMethod> =
            server.ssh.iter().flat_map(|(choice, _)| choice.weak_methods()).collect();
        let offered = server.ssh_offered.iter().flat_map(|(offer, _)| offer.weak_methods());
        let weak_ssh_offered = offered.filter(|method| !weak_ssh.contains(method)).collect();
        let own_certificates = server.certificates.iter().filter(|(found, _)| found.is_own);
        Self {
            role: Role::Server,
            weak: chosen().flat_map(|choice| weaknesses(choice.cipher_suite)).collect(),
            old: sorted(old.collect()),
            weak_ssh,
            weak_ssh_offered,
            short_prime: chosen().filter_map(|choice| choice.short_prime()).min(),
            certificates: own_certificates
                .flat_map(|(own, seen)| CertificateProblem::of(&own.certificate, seen.last))
                .collect(),
            no_forward_secrecy: chosen().any(|choice| choice.is_forward_secret() == Some(false)),
            no_post_quantum: has(KeyExchangeKind::Classical) && !is_post_quantum,
        }
    }

    pub(crate) fn of_client(client: &Client) -> Self {
        let offers = || client.tls.iter().map(|(offer, _)| offer);
        let highest =
            offers().filter_map(|offer| offer.highest_version()).max_by_key(|version| version.rank());
        Self {
            role: Role::Client,
            weak: offers()
                .flat_map(|offer| offer.cipher_suites.iter())
                .flat_map(|suite| weaknesses(*suite))
                .collect(),
            old: highest.into_iter().filter(|version| deprecated_by(*version).is_some()).collect(),
            weak_ssh: client.ssh_offered.iter().flat_map(|(offer, _)| offer.weak_methods()).collect(),
            weak_ssh_offered: BTreeSet::new(),
            short_prime: None,
            certificates: BTreeSet::new(),
            no_forward_secrecy: false,
            no_post_quantum: !client.tls.is_empty() && !offers().any(|offer| offer.has_post_quantum_group()),
        }
    }

    /// The order of hosts: the worst problem, from 0 on; `None` without problems.
    pub(crate) fn rank(&self) -> Option<usize> {
        let is_broken = self.weak.first().is_some_and(|worst| *worst < SuiteWeakness::TripleDes)
            || self.weak_ssh.first().is_some_and(|worst| worst.weakness.is_broken());
        let is_short = |method: &WeakMethod| method.weakness == MethodWeakness::ShortPrime;
        let in_order = [
            is_broken,
            self.certificates.contains(&CertificateProblem::Expired),
            !self.old.is_empty(),
            // The same for TLS and SSH.
            self.short_prime.is_some() || self.weak_ssh.iter().any(is_short),
            !self.weak.is_empty() || !self.weak_ssh.is_empty(),
            !self.certificates.is_empty(),
            self.no_forward_secrecy,
            !self.weak_ssh_offered.is_empty(),
            self.no_post_quantum,
        ];
        in_order.iter().position(|is_so| *is_so)
    }

    /// The names of the problems in JSON.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let all = [
            (!self.weak.is_empty(), "weak_cipher_suite"),
            (!self.old.is_empty(), "deprecated_version"),
            (!self.weak_ssh.is_empty(), "weak_ssh_method"),
            (!self.weak_ssh_offered.is_empty(), "weak_ssh_method_offered"),
            (self.short_prime.is_some(), "short_dh_prime"),
            (self.no_forward_secrecy, "no_forward_secrecy"),
            (self.no_post_quantum, "no_post_quantum_key_exchange"),
        ];
        let names = all.into_iter().filter_map(|(is_so, name)| is_so.then_some(name));
        names.chain(self.certificates.iter().map(|problem| problem.name())).collect()
    }
}

/// The name of a method for people: `none` does not say what is missing.
pub(super) fn method_text(method: &WeakMethod) -> &'static str {
    match method.weakness {
        MethodWeakness::NoEncryption => "no encryption",
        MethodWeakness::NoMac => "no MAC",
        _ => method.name,
    }
}

/// The worst methods and the number of others, as one text: `ssh-dss, 3des-cbc and 2 more`; `None` without any.
pub(super) fn worst_methods(
    texts: impl ExactSizeIterator<Item: Into<Cow<'static, str>>>,
    verb: &str,
) -> Option<String> {
    let more = texts.len().saturating_sub(SHOWN_WEAK_METHODS);
    let shown: Vec<Cow<'static, str>> = texts.take(SHOWN_WEAK_METHODS).map(Into::into).collect();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!shown.is_empty()).then(|| format!("{verb}{}{more}", shown.join(", ")))
}

fn sorted(mut versions: Vec<Version>) -> Vec<Version> {
    versions.sort_unstable_by_key(|version| version.rank());
    versions.dedup();
    versions
}

/// Writes the problems, the worst first: `RC4, TLS 1.0, no forward secrecy, classical only`.
impl Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_most = if self.role == Role::Client { " at most" } else { "" };
        let weak = self.weak.iter().map(|weakness| weakness.name().to_owned());
        let old = self.old.iter().filter_map(|version| version.name());
        let old = old.map(|name| format!("{name}{at_most}"));
        let ssh = worst_methods(self.weak_ssh.iter().map(method_text), "");
        let ssh_offered = worst_methods(self.weak_ssh_offered.iter().map(method_text), "offers ");
        let certificates = self.certificates.iter().map(|problem| problem.text().to_owned());
        let prime = self.short_prime.map(|bits| format!("{bits}-bit DH"));
        let forward = self.no_forward_secrecy.then(|| "no forward secrecy".to_owned());
        let classical = self.no_post_quantum.then(|| "classical only".to_owned());
        let texts: Vec<String> = weak
            .chain(old)
            .chain(ssh)
            .chain(certificates)
            .chain(prime)
            .chain(forward)
            .chain(ssh_offered)
            .chain(classical)
            .collect();
        f.write_str(&texts.join(", "))
    }
}
