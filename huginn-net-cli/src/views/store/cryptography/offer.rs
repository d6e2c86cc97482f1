//! What clients offer, and what servers choose.

use huginn_net::Side;
use huginn_net::core::Escaped;
use huginn_net::ssh::strength::{WeakMethod, weak_cipher, weak_host_key, weak_kex, weak_mac};
use huginn_net::ssh::{KexInit, NameList, Negotiation};
use huginn_net::tls::strength::{
    KeyExchangeKind, MIN_PRIME_BITS, group_kind, is_forward_secret, key_exchange, suite_key_exchange,
};
use huginn_net::tls::{ClientHello, KeyExchange, ServerHello, Transport, U16List, Version, is_grease};
use serde::Serialize;

/// Signalling values, which are not cipher suites: RFC 5746, section 3.3, and RFC 7507.
const SIGNALS: [u16; 2] = [0x00ff, 0x5600];

/// What a ServerHello chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TlsChoice {
    pub(crate) transport: Transport,
    pub(crate) version: Version,
    pub(crate) cipher_suite: u16,
    /// The group, if it was seen.
    pub(crate) group: Option<KeyExchange>,
}

impl TlsChoice {
    pub(super) fn new(hello: &ServerHello<'_>) -> Self {
        Self {
            transport: hello.transport(),
            version: hello.version(),
            cipher_suite: hello.cipher_suite(),
            group: hello.group().map(KeyExchange::Group),
        }
    }

    /// What the key exchange relies on; `None` if unknown.
    pub(crate) fn key_exchange(&self) -> Option<KeyExchangeKind> {
        match self.group {
            Some(KeyExchange::FiniteField(_)) => Some(KeyExchangeKind::Classical),
            _ => key_exchange(self.version, self.cipher_suite, self.named_group()),
        }
    }

    pub(crate) fn is_forward_secret(&self) -> Option<bool> {
        is_forward_secret(self.version, self.cipher_suite, self.named_group())
    }

    /// Whether another message than the ServerHello has the group.
    pub(super) fn lacks_group(&self) -> bool {
        self.group.is_none()
            && suite_key_exchange(self.cipher_suite).is_some()
            && self.transport != Transport::Quic
    }

    /// The length of the prime of a Diffie-Hellman group of the server's own that is too short, in bits.
    pub(crate) fn short_prime(&self) -> Option<u32> {
        match self.group {
            Some(KeyExchange::FiniteField(bits)) if bits < MIN_PRIME_BITS => Some(bits),
            _ => None,
        }
    }

    fn named_group(&self) -> Option<u16> {
        match self.group {
            Some(KeyExchange::Group(group)) => Some(group),
            _ => None,
        }
    }
}

/// What a ClientHello offered, without GREASE (RFC 8701).
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TlsOffer {
    /// Those of supported_versions; without that extension the highest version that the client accepts.
    pub(crate) versions: Box<[u16]>,
    pub(crate) cipher_suites: Box<[u16]>,
    pub(crate) groups: Box<[u16]>,
    /// Groups of key shares.
    pub(crate) key_shares: Box<[u16]>,
    pub(crate) signature_algorithms: Box<[u16]>,
}

impl TlsOffer {
    pub(super) fn new(hello: &ClientHello<'_>) -> Self {
        let versions = numbers(hello.supported_versions());
        let is_suite = |suite: &u16| !is_grease(*suite) && !SIGNALS.contains(suite);
        let shares = hello.key_shares().map(|share| share.group);
        Self {
            versions: if versions.is_empty() { Box::new([hello.legacy_version().0]) } else { versions },
            cipher_suites: hello.cipher_suites().filter(is_suite).collect(),
            groups: numbers(hello.supported_groups()),
            key_shares: shares.filter(|group| !is_grease(*group)).collect(),
            signature_algorithms: numbers(hello.signature_algorithms()),
        }
    }

    /// The highest version.
    pub(crate) fn highest_version(&self) -> Option<Version> {
        self.versions.iter().map(|number| Version(*number)).max_by_key(|version| version.rank())
    }

    /// Whether a group is hybrid or post-quantum.
    pub(crate) fn has_post_quantum_group(&self) -> bool {
        self.groups.iter().any(|group| group_kind(*group).is_some_and(KeyExchangeKind::is_post_quantum))
    }

    /// Size of the lists, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let lists =
            [&self.versions, &self.cipher_suites, &self.groups, &self.key_shares, &self.signature_algorithms];
        let numbers = lists.iter().fold(0_usize, |sum, list| sum.saturating_add(list.len()));
        numbers.saturating_mul(size_of::<u16>()).saturating_add(size_of::<Self>())
    }
}

fn numbers(list: U16List<'_>) -> Box<[u16]> {
    list.filter(|number| !is_grease(*number)).collect()
}

/// What both sides of SSH agreed on; `None` where they had nothing in common.
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct SshChoice {
    pub(crate) kex: Option<Box<str>>,
    host_key: Option<Box<str>>,
    client_cipher: Option<Box<str>>,
    server_cipher: Option<Box<str>>,
    client_mac: Option<Box<str>>,
    server_mac: Option<Box<str>>,
    pub(crate) post_quantum: Option<bool>,
    /// Whether each list has a common name. Otherwise the connection ends, and no method is in use.
    #[serde(skip)]
    is_complete: bool,
}

impl SshChoice {
    pub(super) fn new(found: &Negotiation<'_>) -> Self {
        let text = |name: Option<&[u8]>| name.map(|name| Escaped(name).to_string().into_boxed_str());
        Self {
            kex: text(found.kex()),
            host_key: text(found.host_key()),
            client_cipher: text(found.cipher(Side::Client)),
            server_cipher: text(found.cipher(Side::Server)),
            client_mac: text(found.mac(Side::Client)),
            server_mac: text(found.mac(Side::Server)),
            post_quantum: found.is_post_quantum(),
            is_complete: found.unmatched().is_none(),
        }
    }

    /// The key exchange method in use; `None` if the sides did not agree on all methods.
    pub(crate) fn kex_in_use(&self) -> Option<&str> {
        self.kex.as_deref().filter(|_| self.is_complete)
    }

    /// The names of all methods in use, as one text; `None` if the sides did not agree on all methods.
    pub(crate) fn suite_name(&self) -> Option<String> {
        let Self { kex, host_key, client_cipher, server_cipher, client_mac, server_mac, .. } = self;
        let ciphers = [client_cipher, server_cipher].into_iter().zip([client_mac, server_mac]);
        let mut names: Vec<&str> = [kex, host_key].into_iter().flatten().map(|name| &**name).collect();
        for name in ciphers.flat_map(|(cipher, mac)| [cipher, mac]).flatten() {
            // "<implicit>" is the MAC of an AEAD cipher.
            if !name.starts_with('<') && !names.contains(&&**name) {
                names.push(name);
            }
        }
        self.is_complete.then(|| names.join(", "))
    }

    /// The kind of the key exchange method in use, by its name: one with a classical part is hybrid.
    pub(crate) fn kind(&self) -> Option<KeyExchangeKind> {
        let kex = self.kex_in_use()?;
        Some(match self.post_quantum? {
            false => KeyExchangeKind::Classical,
            true if ["25519", "nistp", "ecdh", "448"].iter().any(|part| kex.contains(part)) => {
                KeyExchangeKind::Hybrid
            }
            true => KeyExchangeKind::PostQuantum,
        })
    }

    /// The weak methods in use: none if the sides did not agree on all methods.
    pub(crate) fn weak_methods(&self) -> impl Iterator<Item = WeakMethod> {
        let Self { kex, host_key, client_cipher, server_cipher, client_mac, server_mac, .. } = self;
        let judged: [(&Option<Box<str>>, Judge); 6] = [
            (kex, weak_kex),
            (host_key, weak_host_key),
            (client_cipher, weak_cipher),
            (server_cipher, weak_cipher),
            (client_mac, weak_mac),
            (server_mac, weak_mac),
        ];
        let judged = judged.into_iter().filter(move |_| self.is_complete);
        judged.filter_map(|(name, judge)| judge(name.as_deref()?.as_bytes()))
    }

    /// Size of the names, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let Self { kex, host_key, client_cipher, server_cipher, client_mac, server_mac, .. } = self;
        let names = [kex, host_key, client_cipher, server_cipher, client_mac, server_mac];
        names.into_iter().flatten().fold(size_of::<Self>(), |sum, name| sum.saturating_add(name.len()))
    }
}

/// Returns the weak method with a name.
type Judge = fn(&[u8]) -> Option<WeakMethod>;

/// What a client or server offered in its SSH_MSG_KEXINIT (RFC 4253, section 7.1).
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct SshOffer {
    pub(crate) software: Box<str>,
    pub(crate) kex: Box<[Box<str>]>,
    pub(crate) host_keys: Box<[Box<str>]>,
    /// Ciphers and MACs of what the peer itself sends.
    pub(crate) ciphers: Box<[Box<str>]>,
    pub(crate) macs: Box<[Box<str>]>,
}

impl SshOffer {
    pub(super) fn new(kex_init: &KexInit<'_>, software: &[u8], side: Side) -> Self {
        let (ciphers, macs) = match side {
            Side::Client => (kex_init.encryption_client_to_server(), kex_init.mac_client_to_server()),
            Side::Server => (kex_init.encryption_server_to_client(), kex_init.mac_server_to_client()),
        };
        let names =
            |list: NameList<'_>| list.iter().map(|name| Escaped(name).to_string().into_boxed_str()).collect();
        Self {
            software: Escaped(software).to_string().into_boxed_str(),
            kex: names(kex_init.kex_algorithms()),
            host_keys: names(kex_init.server_host_key_algorithms()),
            ciphers: names(ciphers),
            macs: names(macs),
        }
    }

    /// The weak methods.
    pub(crate) fn weak_methods(&self) -> impl Iterator<Item = WeakMethod> {
        let judged: [(&[Box<str>], Judge); 4] = [
            (&self.kex, weak_kex),
            (&self.host_keys, weak_host_key),
            (&self.ciphers, weak_cipher),
            (&self.macs, weak_mac),
        ];
        judged
            .into_iter()
            .flat_map(|(names, judge)| names.iter().filter_map(move |name| judge(name.as_bytes())))
    }

    /// Size of the lists, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let texts = [&self.kex, &self.host_keys, &self.ciphers, &self.macs].into_iter().flatten();
        let own = size_of::<Self>().saturating_add(self.software.len());
        texts.fold(own, |sum, text| sum.saturating_add(size_of::<Box<str>>()).saturating_add(text.len()))
    }
}
