//! What published standards say about the strength of versions, groups and cipher suites.
//!
//! An answer is certain or absent: a number without an entry in IANA's registries yields `None`, never a guess.
//!
//! ```
//! use huginn_net_tls::Version;
//! use huginn_net_tls::strength::{KeyExchangeKind, SuiteWeakness, deprecated_by, key_exchange, weaknesses};
//!
//! // TLS_AES_128_GCM_SHA256 with X25519MLKEM768.
//! assert_eq!(key_exchange(Version::TLS_1_3, 0x1301, Some(0x11ec)), Some(KeyExchangeKind::Hybrid));
//! // TLS_RSA_WITH_RC4_128_SHA: no group.
//! assert_eq!(key_exchange(Version::TLS_1_0, 0x0005, None), Some(KeyExchangeKind::Classical));
//! assert_eq!(weaknesses(0x0005).collect::<Vec<_>>(), [SuiteWeakness::Rc4]);
//! assert_eq!(deprecated_by(Version::TLS_1_0), Some("RFC 8996"));
//! ```

use crate::Version;
use crate::names;

/// What a key exchange relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KeyExchangeKind {
    /// (EC)DH or RSA, which a quantum computer breaks.
    Classical,
    /// A classical key exchange together with a post-quantum one: a secret is safe while either of them is.
    Hybrid,
    /// A post-quantum key exchange alone.
    PostQuantum,
}

impl KeyExchangeKind {
    /// The name: `classical`, `hybrid` or `post_quantum`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::Hybrid => "hybrid",
            Self::PostQuantum => "post_quantum",
        }
    }

    /// Whether a quantum computer does not break it: it is hybrid or post-quantum.
    pub const fn is_post_quantum(self) -> bool {
        !matches!(self, Self::Classical)
    }
}

/// The kind of a group. `None` if the group has no [name](names::group).
///
/// Sources: IANA, "TLS Supported Groups"; draft-ietf-tls-ecdhe-mlkem (0x11eb to 0x11ed), draft-ietf-tls-mlkem (0x0200 to 0x0202),
/// draft-yang-tls-hybrid-sm2-mlkem (0x11ee), draft-tls-westerbaan-xyber768d00 (0x6399), draft-kwiatkowski-tls-ecdhe-kyber (0x639a);
/// CECPQ2 is X25519 with HRSS-SXY.
pub fn group_kind(group: u16) -> Option<KeyExchangeKind> {
    names::group(group)?;
    Some(match group {
        0x0200..=0x0202 => KeyExchangeKind::PostQuantum,
        0x11eb..=0x11ee | 0x4138 | 0x6399 | 0x639a => KeyExchangeKind::Hybrid,
        // Elliptic curves (RFC 8422, RFC 7919 and others).
        _ => KeyExchangeKind::Classical,
    })
}

/// The kind of the key exchange of a handshake: version and cipher suite of the ServerHello, and the group, if it was seen.
///
/// Without a group, it is classical if the suite itself names RSA, (EC)DH, SRP or ECCPWD: up to TLS 1.2, suites say which algorithm
/// agrees on the secret, ECDHE is that of elliptic curves (RFC 8422, section 2), and no hybrid group is defined for it. `None` of any
/// other suite without a group, such as a resumption of TLS 1.3 without (EC)DH, PSK or Kerberos.
pub fn key_exchange(version: Version, cipher_suite: u16, group: Option<u16>) -> Option<KeyExchangeKind> {
    match group {
        Some(group) => group_kind(group),
        None if is_tls_1_3(version) => None,
        None => {
            let name = suite_key_exchange(cipher_suite)?;
            let is_classical =
                |word| matches!(word, "RSA" | "DH" | "DHE" | "ECDH" | "ECDHE" | "SRP" | "ECCPWD");
            name.split('_').any(is_classical).then_some(KeyExchangeKind::Classical)
        }
    }
}

/// Whether past traffic stays secret when the server's private key becomes known (RFC 9325, section 4.1). `None` if neither group
/// nor suite say so.
///
/// RSA and static (EC)DH are not forward secret, and neither are PSK (RFC 4279) and Kerberos (RFC 2712) without Diffie-Hellman.
pub fn is_forward_secret(version: Version, cipher_suite: u16, group: Option<u16>) -> Option<bool> {
    if group.is_some() {
        // Shares of TLS 1.3 and of ServerKeyExchange are for one connection.
        return Some(true);
    }
    if is_tls_1_3(version) {
        return None;
    }
    let words: Vec<&str> = suite_key_exchange(cipher_suite)?.split('_').collect();
    let has = |word| words.contains(&word);
    if has("DHE") || has("ECDHE") || has("anon") {
        return Some(true);
    }
    // RSA and DSS sign in suites of SRP.
    let is_static = ["RSA", "DH", "ECDH", "PSK", "KRB5"].into_iter().any(has) && !has("SRP");
    is_static.then_some(false)
}

/// Whether key exchange and cipher suite are separate: TLS 1.3 and DTLS 1.3, including drafts.
fn is_tls_1_3(version: Version) -> bool {
    matches!(version, Version::TLS_1_3 | Version::DTLS_1_3) || version.0 >> 8 == 0x7f
}

/// The key exchange and authentication in the name of a cipher suite, such as `ECDHE_RSA`. `None` of suites of TLS 1.3, which have
/// neither, and of unknown ones.
pub fn suite_key_exchange(cipher_suite: u16) -> Option<&'static str> {
    let name = names::cipher_suite(cipher_suite)?;
    let (key_exchange, _) = name.split_once("_WITH_")?;
    Some(
        key_exchange
            .strip_prefix("TLS_")
            .or_else(|| key_exchange.strip_prefix("SSL_"))
            .unwrap_or(key_exchange),
    )
}

/// Length of the prime of a Diffie-Hellman group, in bits, that RFC 9325, section 4.4, asks for at least.
pub const MIN_PRIME_BITS: u32 = 2048;

/// The document that forbids a version, such as `RFC 8996`; `None` of versions that may be used and of unknown ones.
pub const fn deprecated_by(version: Version) -> Option<&'static str> {
    match version {
        Version::SSL_2 => Some("RFC 6176"),
        Version::SSL_3 => Some("RFC 7568"),
        Version::TLS_1_0 | Version::TLS_1_1 | Version::DTLS_1_0 => Some("RFC 8996"),
        _ => None,
    }
}

huginn_net_wire::named! {
    /// A weakness of a cipher suite.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum SuiteWeakness {
        /// No encryption: RFC 9325, section 4.1, forbids it. TLS 1.3 has such suites, too (RFC 9150).
        NullEncryption = "NULL",
        /// Nobody is authenticated: RFC 5246, appendix F.1.1.1.
        Anonymous = "anonymous",
        /// Keys of 40 or 56 bits for export: RFC 9325, section 4.1, forbids less than 112 bits.
        Export = "EXPORT",
        /// DES, with a key of 56 bits: removed by RFC 5469.
        Des = "DES",
        /// RC4: forbidden by RFC 7465.
        Rc4 = "RC4",
        /// 3DES, with blocks of 64 bits: an attacker who sees much traffic can decrypt parts (CVE-2016-2183). NIST SP 800-131A, revision
        /// 2, disallows it after 2023.
        TripleDes = "3DES",
    }
}

impl SuiteWeakness {
    /// Whether a suite with this name has the weakness.
    fn is_in(self, name: &str) -> bool {
        let has = |word: &str| name.split(['_', ' ']).any(|part| part == word);
        match self {
            Self::NullEncryption => {
                name.contains("_WITH_NULL_") || matches!(name, "TLS_SHA256_SHA256" | "TLS_SHA384_SHA384")
            }
            Self::Anonymous => has("anon"),
            Self::Export => has("EXPORT") || has("EXPORT1024"),
            Self::Des => has("DES") || has("DES40"),
            Self::Rc4 => has("RC4"),
            Self::TripleDes => has("3DES"),
        }
    }
}

/// The weaknesses of a cipher suite, the worst first; none of unknown suites.
pub fn weaknesses(cipher_suite: u16) -> impl Iterator<Item = SuiteWeakness> {
    let name = names::cipher_suite(cipher_suite);
    SuiteWeakness::ALL.iter().copied().filter(move |weakness| name.is_some_and(|name| weakness.is_in(name)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tls_parser::{TlsCipherAu, TlsCipherEnc, TlsCipherKx, TlsCipherSuite};

    use super::*;

    /// The registered suites with the properties that tls-parser lists for them.
    fn registered() -> impl Iterator<Item = &'static TlsCipherSuite> {
        (0..=u16::MAX).filter_map(TlsCipherSuite::from_id)
    }

    /// The table of IANA's registry "TLS Supported Groups", as of 2026, and the drafts that the documentation names.
    #[test]
    fn groups_have_kinds_of_registry() {
        let rows = [
            (0x0017, Some(KeyExchangeKind::Classical)),
            (0x001d, Some(KeyExchangeKind::Classical)),
            (0x0029, Some(KeyExchangeKind::Classical)),
            (0x0100, Some(KeyExchangeKind::Classical)),
            (0x01ff, None),
            (0x0200, Some(KeyExchangeKind::PostQuantum)),
            (0x0201, Some(KeyExchangeKind::PostQuantum)),
            (0x0202, Some(KeyExchangeKind::PostQuantum)),
            (0x0203, None),
            (0x11eb, Some(KeyExchangeKind::Hybrid)),
            (0x11ec, Some(KeyExchangeKind::Hybrid)),
            (0x11ed, Some(KeyExchangeKind::Hybrid)),
            (0x11ee, Some(KeyExchangeKind::Hybrid)),
            (0x4138, Some(KeyExchangeKind::Hybrid)),
            (0x6399, Some(KeyExchangeKind::Hybrid)),
            (0x639a, Some(KeyExchangeKind::Hybrid)),
            (0x2a2a, None),
            (0xfe30, None),
        ];
        for (group, kind) in rows {
            assert_eq!(group_kind(group), kind, "{group:#06x}");
        }
        // No other group has ML-KEM, Kyber or CECPQ2 in its name.
        for group in 0..=u16::MAX {
            let Some(name) = names::group(group) else { continue };
            let is_post_quantum = ["MLKEM", "Kyber", "CECPQ"].iter().any(|word| name.contains(word));
            assert_eq!(
                group_kind(group).map(KeyExchangeKind::is_post_quantum),
                Some(is_post_quantum),
                "{name}"
            );
        }
    }

    #[test]
    fn key_exchange_of_each_suite_is_that_of_tls_parser() {
        for suite in registered() {
            let found = key_exchange(Version::TLS_1_2, *suite.id, None);
            let is_classical = match (&suite.kx, &suite.au) {
                (TlsCipherKx::Psk, TlsCipherAu::Dhe) => true,
                (TlsCipherKx::Null | TlsCipherKx::Psk | TlsCipherKx::Krb5 | TlsCipherKx::Tls13, _) => false,
                _ => true,
            };
            assert_eq!(found.is_some(), is_classical, "{} {:?}", suite.name, suite.kx);
            assert_ne!(found.map(KeyExchangeKind::is_post_quantum), Some(true), "{}", suite.name);
        }
    }

    #[test]
    fn forward_secrecy_of_each_suite_follows_its_key_exchange() {
        for suite in registered() {
            let wanted = match (&suite.kx, &suite.au) {
                (TlsCipherKx::Dhe | TlsCipherKx::Ecdhe, _) | (TlsCipherKx::Psk, TlsCipherAu::Dhe) => {
                    Some(true)
                }
                // Anonymous Diffie-Hellman is ephemeral.
                (TlsCipherKx::Dh | TlsCipherKx::Ecdh, TlsCipherAu::Null) => Some(true),
                (
                    TlsCipherKx::Rsa
                    | TlsCipherKx::Dh
                    | TlsCipherKx::Ecdh
                    | TlsCipherKx::Psk
                    | TlsCipherKx::Krb5,
                    _,
                ) => Some(false),
                _ => None,
            };
            assert_eq!(is_forward_secret(Version::TLS_1_2, *suite.id, None), wanted, "{}", suite.name);
        }
    }

    #[test]
    fn weaknesses_of_each_suite_are_those_of_tls_parser() {
        let mut seen = BTreeSet::new();
        for suite in registered() {
            let found: Vec<SuiteWeakness> = weaknesses(*suite.id).collect();
            let has = |weakness| found.contains(&weakness);
            seen.extend(found.iter().copied());
            let is_signalling = suite.name.ends_with("SCSV");
            assert_eq!(
                has(SuiteWeakness::NullEncryption),
                suite.enc == TlsCipherEnc::Null && !is_signalling,
                "{}",
                suite.name
            );
            assert_eq!(has(SuiteWeakness::Rc4), suite.enc == TlsCipherEnc::Rc4, "{}", suite.name);
            assert_eq!(has(SuiteWeakness::Des), suite.enc == TlsCipherEnc::Des, "{}", suite.name);
            assert_eq!(has(SuiteWeakness::TripleDes), suite.enc == TlsCipherEnc::TripleDes, "{}", suite.name);
            let is_anonymous = suite.name.contains("_anon_");
            assert_eq!(has(SuiteWeakness::Anonymous), is_anonymous, "{}", suite.name);
            assert_eq!(has(SuiteWeakness::Export), suite.name.contains("EXPORT"), "{}", suite.name);
        }
        assert_eq!(seen.len(), SuiteWeakness::ALL.len());
        assert_eq!(weaknesses(0x0a0a).next(), None);
        // SSL_RSA_FIPS_WITH_3DES_EDE_CBC_SHA, which IANA does not register.
        assert!(weaknesses(0xfeff).eq([SuiteWeakness::TripleDes]));
    }

    #[test]
    fn versions_are_deprecated_by_rfc() {
        let rows = [
            (Version::SSL_2, Some("RFC 6176")),
            (Version::SSL_3, Some("RFC 7568")),
            (Version::TLS_1_0, Some("RFC 8996")),
            (Version::TLS_1_1, Some("RFC 8996")),
            (Version::DTLS_1_0, Some("RFC 8996")),
            (Version::TLS_1_2, None),
            (Version::DTLS_1_2, None),
            (Version::TLS_1_3, None),
            (Version::DTLS_1_3, None),
            (Version(0x7f1c), None),
        ];
        for (version, wanted) in rows {
            assert_eq!(deprecated_by(version), wanted, "{version:?}");
        }
    }

    #[test]
    fn handshake_without_group_of_tls_1_3_has_unknown_key_exchange() {
        for version in [Version::TLS_1_3, Version::DTLS_1_3, Version(0x7f1c)] {
            assert_eq!(key_exchange(version, 0x1301, None), None);
            assert_eq!(is_forward_secret(version, 0x1301, None), None);
        }
        // A group without a name.
        assert_eq!(key_exchange(Version::TLS_1_3, 0x1301, Some(0xfe30)), None);
        assert_eq!(is_forward_secret(Version::TLS_1_3, 0x1301, Some(0x001d)), Some(true));
        // TLS_PSK_WITH_AES_128_GCM_SHA256.
        assert_eq!(key_exchange(Version::TLS_1_2, 0x00a8, None), None);
        assert_eq!(is_forward_secret(Version::TLS_1_2, 0x00a8, None), Some(false));
    }
}
