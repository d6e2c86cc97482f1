//! Names of the numbers in a fingerprint.
//!
//! The names come from IANA's registries "TLS Parameters" and "TLS ExtensionType Values". Unregistered numbers have the
//! name that implementations use, from a draft or a vendor.

use std::borrow::Cow;
use std::sync::LazyLock;

/// The name of a number by one of the functions here, or its four hexadecimal digits.
///
/// ```
/// use huginn_net_tls::names;
///
/// assert_eq!(names::or_digits(0x001d, names::group), "x25519");
/// assert_eq!(names::or_digits(0xabcd, names::group), "abcd");
/// ```
pub fn or_digits(number: u16, name: fn(u16) -> Option<&'static str>) -> Cow<'static, str> {
    name(number).map_or_else(|| format!("{number:04x}").into(), Cow::Borrowed)
}

/// The name of a cipher suite or signalling value.
///
/// ```
/// assert_eq!(huginn_net_tls::names::cipher_suite(0x1301), Some("TLS_AES_128_GCM_SHA256"));
/// ```
pub fn cipher_suite(number: u16) -> Option<&'static str> {
    look_up(&CIPHER_SUITES, number).or_else(|| look_up(UNREGISTERED_CIPHER_SUITES, number))
}

/// The name of an extension.
///
/// ```
/// assert_eq!(huginn_net_tls::names::extension(0x0000), Some("server_name"));
/// ```
pub fn extension(kind: u16) -> Option<&'static str> {
    look_up(&EXTENSIONS, kind)
}

/// The name of a signature scheme. For pairs of TLS 1.2, hash and algorithm (RFC 5246, section 7.4.1.4.1).
///
/// ```
/// assert_eq!(huginn_net_tls::names::signature_scheme(0x0403), Some("ecdsa_secp256r1_sha256"));
/// ```
pub fn signature_scheme(number: u16) -> Option<&'static str> {
    look_up(&SIGNATURE_SCHEMES, number)
}

/// The name of a group for key exchange.
///
/// ```
/// assert_eq!(huginn_net_tls::names::group(0x11ec), Some("X25519MLKEM768"));
/// ```
pub fn group(number: u16) -> Option<&'static str> {
    look_up(&GROUPS, number)
}

/// The name of an algorithm that compresses certificates (RFC 8879, section 7.3).
///
/// ```
/// assert_eq!(huginn_net_tls::names::certificate_compression(2), Some("brotli"));
/// ```
pub fn certificate_compression(number: u16) -> Option<&'static str> {
    look_up(CERTIFICATE_COMPRESSION, number)
}

/// The name of a key derivation function of HPKE (RFC 9180, section 7.2), which ECH uses.
///
/// ```
/// assert_eq!(huginn_net_tls::names::hpke_kdf(1), Some("HKDF-SHA256"));
/// ```
pub fn hpke_kdf(number: u16) -> Option<&'static str> {
    look_up(HPKE_KDFS, number)
}

/// The name of an AEAD of HPKE (RFC 9180, section 7.3), which ECH uses.
///
/// ```
/// assert_eq!(huginn_net_tls::names::hpke_aead(1), Some("AES-128-GCM"));
/// ```
pub fn hpke_aead(number: u16) -> Option<&'static str> {
    look_up(HPKE_AEADS, number)
}

/// The name of an alert (IANA, "TLS Alerts").
///
/// ```
/// assert_eq!(huginn_net_tls::names::alert(48), Some("unknown_ca"));
/// ```
pub fn alert(description: u8) -> Option<&'static str> {
    look_up(&ALERTS, description)
}

/// The name of a QUIC transport parameter (IANA, "QUIC Transport Parameters"); `reserved` of ids that are reserved to be
/// ignored.
///
/// ```
/// assert_eq!(huginn_net_tls::names::transport_parameter(0x20), Some("max_datagram_frame_size"));
/// ```
pub fn transport_parameter(id: u64) -> Option<&'static str> {
    look_up(&TRANSPORT_PARAMETERS, id).or((id % 31 == 27).then_some("reserved"))
}

/// Numbers with their names, sorted by number.
type Names = LazyLock<Vec<(u64, &'static str)>>;

static CIPHER_SUITES: Names = LazyLock::new(|| rows(include_str!("cipher_suites.txt")));
static GROUPS: Names = LazyLock::new(|| rows(include_str!("groups.txt")));
static EXTENSIONS: Names = LazyLock::new(|| rows(include_str!("extensions.txt")));
static SIGNATURE_SCHEMES: Names = LazyLock::new(|| rows(include_str!("signature_schemes.txt")));
static ALERTS: Names = LazyLock::new(|| rows(include_str!("alerts.txt")));
static TRANSPORT_PARAMETERS: Names = LazyLock::new(|| rows(include_str!("transport_parameters.txt")));

/// The rows of a file: `0x1301 TLS_AES_128_GCM_SHA256`.
fn rows(text: &'static str) -> Vec<(u64, &'static str)> {
    let row = |line: &'static str| {
        let (number, name) = line.split_once(' ')?;
        let number = match number.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => number.parse(),
        };
        Some((number.ok()?, name))
    };
    text.lines().filter_map(row).collect()
}

fn look_up(names: &[(u64, &'static str)], number: impl Into<u64>) -> Option<&'static str> {
    let number = number.into();
    let at = names.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    names.get(at).map(|(_, name)| *name)
}

/// Sorted by number.
const UNREGISTERED_CIPHER_SUITES: &[(u64, &str)] = &[
    (0xcc13, "ECDHE_RSA_WITH_CHACHA20_POLY1305 (draft)"),
    (0xcc14, "ECDHE_ECDSA_WITH_CHACHA20_POLY1305 (draft)"),
    (0xcc15, "DHE_RSA_WITH_CHACHA20_POLY1305 (draft)"),
    (0xfefe, "SSL_RSA_FIPS_WITH_DES_CBC_SHA (Netscape)"),
    (0xfeff, "SSL_RSA_FIPS_WITH_3DES_EDE_CBC_SHA (Netscape)"),
];

/// Sorted by number.
const CERTIFICATE_COMPRESSION: &[(u64, &str)] = &[(1, "zlib"), (2, "brotli"), (3, "zstd")];

/// Sorted by number.
const HPKE_KDFS: &[(u64, &str)] = &[(1, "HKDF-SHA256"), (2, "HKDF-SHA384"), (3, "HKDF-SHA512")];

/// Sorted by number.
const HPKE_AEADS: &[(u64, &str)] = &[(1, "AES-128-GCM"), (2, "AES-256-GCM"), (3, "ChaCha20Poly1305")];

#[cfg(test)]
mod tests {
    use tls_parser::TlsCipherSuite;

    use super::*;
    use crate::{TransportParameter, extension_type as kind};

    #[test]
    fn tables_are_by_number_without_doubles() {
        let names =
            [&CIPHER_SUITES, &EXTENSIONS, &GROUPS, &SIGNATURE_SCHEMES, &ALERTS, &TRANSPORT_PARAMETERS];
        for names in names.into_iter().map(|names| names.as_slice()).chain([UNREGISTERED_CIPHER_SUITES]) {
            assert!(names.is_sorted_by(|left, right| left.0 < right.0));
        }
    }

    #[test]
    fn every_line_of_files_is_a_row() {
        let lines = |text: &str| text.lines().count();
        assert_eq!(GROUPS.len(), lines(include_str!("groups.txt")));
        assert_eq!(EXTENSIONS.len(), lines(include_str!("extensions.txt")));
        assert_eq!(SIGNATURE_SCHEMES.len(), lines(include_str!("signature_schemes.txt")));
        assert_eq!(ALERTS.len(), lines(include_str!("alerts.txt")));
        assert_eq!(TRANSPORT_PARAMETERS.len(), lines(include_str!("transport_parameters.txt")));
    }

    #[test]
    fn transport_parameters_are_by_id_and_not_reserved() {
        for (id, name) in TRANSPORT_PARAMETERS.iter() {
            assert_eq!(transport_parameter(*id), Some(*name));
            assert!(!TransportParameter { id: *id, value: &[] }.is_reserved(), "{id:#x}");
        }
        assert_eq!(transport_parameter(31 * 1000 + 27), Some("reserved"));
        assert_eq!(transport_parameter(0x12), None);
    }

    #[test]
    fn registered_suites_match_tls_parser() {
        for number in 0..=u16::MAX {
            let expected = TlsCipherSuite::from_id(number).map(|suite| suite.name);
            assert_eq!(look_up(&CIPHER_SUITES, number), expected, "{number:#06x}");
        }
    }

    #[test]
    fn names_match_registries() {
        let rows = [
            (cipher_suite(0x00ff), Some("TLS_EMPTY_RENEGOTIATION_INFO_SCSV")),
            (cipher_suite(0x5600), Some("TLS_FALLBACK_SCSV")),
            (cipher_suite(0xcca9), Some("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256")),
            (cipher_suite(0xcc13), Some("ECDHE_RSA_WITH_CHACHA20_POLY1305 (draft)")),
            (cipher_suite(0x0a0a), None),
            (extension(kind::ALPN), Some("application_layer_protocol_negotiation")),
            (extension(kind::ENCRYPTED_CLIENT_HELLO), Some("encrypted_client_hello")),
            (extension(0xfafa), None),
            (signature_scheme(0x0905), Some("mldsa65")),
            (signature_scheme(0x0000), None),
        ];
        for (name, wanted) in rows {
            assert_eq!(name, wanted);
        }
    }
}
