//! Compares the values of events with lists.

use std::net::SocketAddr;

use huginn_net_core::{Escaped, HexDigits, IpNet, Side};
use huginn_net_http::without_port;
use huginn_net_tls::{ClientHello, Ja4Form};

use super::index::Index;
use super::value::{Key, Kind, at_sender, normal_name};
use crate::Observation;
use crate::limits::MAX_EVENT_MATCHES;
use crate::observation::IndicatorType;

/// An entry that an event matches.
pub(super) struct Hit {
    /// Number of the entry.
    pub(super) entry: u32,
    pub(super) kind: IndicatorType,
    /// The value of the list.
    pub(super) value: Box<str>,
    /// The side that has the value, if it is not the subject of the event.
    pub(super) side: Option<Side>,
}

/// The entries of an event: at most [`MAX_EVENT_MATCHES`] that are watched, and as many others.
pub(super) struct Hits {
    /// In the order of the lists.
    pub(super) entries: Vec<Hit>,
    /// Number of watched entries beyond the limit.
    pub(super) left_out: u64,
}

/// Finds the entries of an event.
pub(super) struct Search<'i> {
    index: &'i Index,
    hits: Vec<Hit>,
    /// The keys with more watched entries than an event has.
    truncated: Vec<Key>,
}

impl<'i> Search<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        Self { index, hits: Vec::new(), truncated: Vec::new() }
    }

    pub(super) fn finish(mut self) -> Hits {
        self.hits.sort_by_key(|hit| hit.entry);
        // JA4 and stable JA4 may be equal.
        self.hits.dedup_by_key(|hit| (hit.entry, hit.side == Some(Side::Server)));
        let left_out = self.truncated.iter().map(|key| self.index.left_out_of(key));
        let mut left_out = left_out.fold(0, u64::saturating_add);
        // One kind of entry does not displace the other.
        let (mut watched, mut others) = (0_usize, 0_usize);
        self.hits.retain(|hit| {
            let is_watched = self.index.entry(hit.entry).is_some_and(|entry| entry.watch);
            let count = if is_watched { &mut watched } else { &mut others };
            *count = count.saturating_add(1);
            let is_left_out = *count > MAX_EVENT_MATCHES;
            left_out = left_out.saturating_add((is_watched && is_left_out).into());
            !is_left_out
        });
        Hits { entries: self.hits, left_out }
    }

    /// Looks up the values of an observation.
    pub(super) fn observation(&mut self, observation: &Observation) {
        use IndicatorType as T;
        match observation {
            Observation::Tcp(found) if self.has(&[Kind::Of(T::Signature)]) => {
                let text = at_sender(&found.signature.to_string());
                self.text(&[T::Signature], T::Signature, text.as_bytes());
            }
            Observation::HttpRequest(found) => {
                if let Some(host) = found.request.host() {
                    self.host(without_port(host));
                }
                if let Some(akamai) = found.akamai.as_deref() {
                    self.md5(T::Akamai, || akamai.hash().0);
                }
                if let Some(user_agent) = found.request.user_agent() {
                    self.user_agent(user_agent);
                }
            }
            Observation::TlsClient(found) => {
                self.hello(&found.client.hello);
            }
            Observation::TlsServer(found) => self.md5(T::Ja3s, || found.server.hello.ja3s().hash().0),
            Observation::TlsCertificates(found) if self.index.has_certificates() => {
                for certificate in &found.certificates.certificates {
                    self.hash(T::CertificateSha256, certificate.sha256());
                    self.hash(T::CertificateSha1, certificate.sha1());
                }
            }
            Observation::SshClient(found) => {
                if let Some(algorithms) = found.peer.hassh_algorithms() {
                    self.md5(T::Hassh, || algorithms.hash().0);
                }
            }
            Observation::SshServer(found) => {
                if let Some(algorithms) = found.peer.hassh_algorithms() {
                    self.md5(T::HasshServer, || algorithms.hash().0);
                }
            }
            _ => {}
        }
    }

    /// Looks up the fingerprints and the server name of a ClientHello.
    pub(super) fn hello(&mut self, hello: &ClientHello<'_>) {
        use IndicatorType as T;
        if self.has(&[T::Ja4, T::Ja4Stable, T::Ja4Raw].map(Kind::Of)) {
            for (form, kinds, kind) in [
                (Ja4Form::Sorted, &[T::Ja4][..], T::Ja4),
                (Ja4Form::SessionStable, &[T::Ja4, T::Ja4Stable], T::Ja4Stable),
            ] {
                let raw = hello.ja4_raw(form);
                self.text(kinds, kind, raw.ja4().to_string().as_bytes());
                self.text(&[T::Ja4Raw], T::Ja4Raw, raw.as_str().as_bytes());
            }
        }
        self.md5(T::Ja3, || hello.ja3_hash().0);
        if let Some(name) = hello.server_name() {
            self.host(name);
        }
    }

    /// Looks up the addresses of client and server.
    pub(super) fn addresses(&mut self, client: SocketAddr, server: SocketAddr) {
        let has = &self.index.has;
        for (side, address) in [(Side::Client, client), (Side::Server, server)] {
            for len in has.prefixes(address.is_ipv4()).iter().copied() {
                let Some(key) = Key::network(address.ip(), len) else { continue };
                let value = || match IpNet::new(address.ip(), len) {
                    Ok(network) if len < network.max_prefix_len() => network.trunc().to_string(),
                    _ => address.ip().to_string(),
                };
                self.key(&key, IndicatorType::Address, value, Some(side));
            }
            if has.any(&[Kind::Endpoint]) {
                let key = Key::endpoint(address);
                self.key(&key, IndicatorType::Address, || address.to_string(), Some(side));
            }
        }
    }

    fn has(&self, kinds: &[Kind]) -> bool {
        self.index.has.any(kinds)
    }

    fn key(&mut self, key: &Key, kind: IndicatorType, value: impl Fn() -> String, side: Option<Side>) {
        let index = self.index;
        let mut add = |entry| self.hits.push(Hit { entry, kind, value: value().into(), side });
        let mut watched = 0_usize;
        for entry in index.entries_of(key, true) {
            add(entry);
            watched = watched.saturating_add(1);
        }
        if index.has.unwatched {
            index.entries_of(key, false).for_each(add);
        }
        // JA4 and stable JA4 may be equal.
        let may_be_truncated = watched >= MAX_EVENT_MATCHES;
        if may_be_truncated && index.left_out_of(key) > 0 && !self.truncated.contains(key) {
            self.truncated.push(*key);
        }
    }

    /// Looks up a text in the keys of several types.
    fn text(&mut self, types: &[IndicatorType], kind: IndicatorType, text: &[u8]) {
        for of in types.iter().copied().map(Kind::Of).filter(|of| self.index.has.any(&[*of])) {
            self.key(&Key::text(of, text), kind, || Escaped(text).to_string(), None);
        }
    }

    /// Looks up an MD5, which is computed only if a list has one of its kind.
    fn md5(&mut self, kind: IndicatorType, md5: impl FnOnce() -> [u8; 16]) {
        let kinds = [Kind::Of(kind), Kind::Md5];
        if !self.has(&kinds) {
            return;
        }
        let md5 = md5();
        for of in kinds {
            self.key(&Key::new(of, md5), kind, || HexDigits(&md5).to_string(), None);
        }
    }

    fn hash(&mut self, kind: IndicatorType, hash: &[u8]) {
        self.key(&Key::hash(Kind::Of(kind), hash), kind, || HexDigits(hash).to_string(), None);
    }

    /// Looks up a host, and the names above it.
    fn host(&mut self, name: &[u8]) {
        let kind = IndicatorType::Host;
        if !self.has(&[Kind::Of(kind), Kind::Suffix, Kind::Below]) {
            return;
        }
        let Some(name) = normal_name(name) else { return };
        self.text(&[kind], kind, name.as_bytes());
        let mut suffix = name.as_str();
        let mut labels = u32::try_from(name.split('.').count()).unwrap_or(u32::MAX);
        loop {
            let is_listed =
                self.index.has.suffix_labels & 1_u128.checked_shl(labels).unwrap_or_default() != 0;
            if is_listed {
                self.key(&Key::text(Kind::Suffix, suffix.as_bytes()), kind, || format!(".{suffix}"), None);
            }
            if is_listed && suffix.len() < name.len() {
                self.key(&Key::text(Kind::Below, suffix.as_bytes()), kind, || format!("*.{suffix}"), None);
            }
            let Some((_, rest)) = suffix.split_once('.') else { return };
            suffix = rest;
            labels = labels.saturating_sub(1);
        }
    }

    fn user_agent(&mut self, text: &[u8]) {
        let kind = IndicatorType::UserAgent;
        self.text(&[kind], kind, text);
        if self.index.has_patterns() {
            let index = self.index;
            for (pattern, entry) in index.patterns_of(&Escaped(text).to_string()) {
                self.hits.push(Hit { entry, kind, value: pattern.into(), side: None });
            }
        }
    }
}
