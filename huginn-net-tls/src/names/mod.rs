//! Names of the numbers in a fingerprint.
//!
//! The names come from IANA's registries "TLS Parameters" and "TLS ExtensionType Values". Unregistered numbers have the
//! name that implementations use, from a draft or a vendor.

mod cipher_suites;

use std::borrow::Cow;

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
    look_up(cipher_suites::REGISTERED, number).or_else(|| look_up(UNREGISTERED_CIPHER_SUITES, number))
}

/// The name of an extension.
///
/// ```
/// assert_eq!(huginn_net_tls::names::extension(0x0000), Some("server_name"));
/// ```
pub fn extension(kind: u16) -> Option<&'static str> {
    look_up(EXTENSIONS, kind)
}

/// The name of a signature scheme. For pairs of TLS 1.2, hash and algorithm (RFC 5246, section 7.4.1.4.1).
///
/// ```
/// assert_eq!(huginn_net_tls::names::signature_scheme(0x0403), Some("ecdsa_secp256r1_sha256"));
/// ```
pub fn signature_scheme(number: u16) -> Option<&'static str> {
    look_up(SIGNATURE_SCHEMES, number)
}

/// The name of a group for key exchange.
///
/// ```
/// assert_eq!(huginn_net_tls::names::group(0x11ec), Some("X25519MLKEM768"));
/// ```
pub fn group(number: u16) -> Option<&'static str> {
    look_up(GROUPS, number)
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
    look_up(ALERTS, description.into())
}

/// The name of a QUIC transport parameter (IANA, "QUIC Transport Parameters"); `reserved` of ids that are reserved to be
/// ignored.
///
/// ```
/// assert_eq!(huginn_net_tls::names::transport_parameter(0x20), Some("max_datagram_frame_size"));
/// ```
pub fn transport_parameter(id: u64) -> Option<&'static str> {
    look_up(TRANSPORT_PARAMETERS, id).or((id % 31 == 27).then_some("reserved"))
}

type Names<N = u16> = &'static [(N, &'static str)];

fn look_up<N: Ord + Copy>(names: Names<N>, number: N) -> Option<&'static str> {
    let at = names.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    names.get(at).map(|(_, name)| *name)
}

/// Sorted by number.
const UNREGISTERED_CIPHER_SUITES: Names = &[
    (0xcc13, "ECDHE_RSA_WITH_CHACHA20_POLY1305 (draft)"),
    (0xcc14, "ECDHE_ECDSA_WITH_CHACHA20_POLY1305 (draft)"),
    (0xcc15, "DHE_RSA_WITH_CHACHA20_POLY1305 (draft)"),
    (0xfefe, "SSL_RSA_FIPS_WITH_DES_CBC_SHA (Netscape)"),
    (0xfeff, "SSL_RSA_FIPS_WITH_3DES_EDE_CBC_SHA (Netscape)"),
];

/// Sorted by number.
const GROUPS: Names = &[
    (0x0001, "sect163k1"),
    (0x0002, "sect163r1"),
    (0x0003, "sect163r2"),
    (0x0004, "sect193r1"),
    (0x0005, "sect193r2"),
    (0x0006, "sect233k1"),
    (0x0007, "sect233r1"),
    (0x0008, "sect239k1"),
    (0x0009, "sect283k1"),
    (0x000a, "sect283r1"),
    (0x000b, "sect409k1"),
    (0x000c, "sect409r1"),
    (0x000d, "sect571k1"),
    (0x000e, "sect571r1"),
    (0x000f, "secp160k1"),
    (0x0010, "secp160r1"),
    (0x0011, "secp160r2"),
    (0x0012, "secp192k1"),
    (0x0013, "secp192r1"),
    (0x0014, "secp224k1"),
    (0x0015, "secp224r1"),
    (0x0016, "secp256k1"),
    (0x0017, "secp256r1"),
    (0x0018, "secp384r1"),
    (0x0019, "secp521r1"),
    (0x001a, "brainpoolP256r1"),
    (0x001b, "brainpoolP384r1"),
    (0x001c, "brainpoolP512r1"),
    (0x001d, "x25519"),
    (0x001e, "x448"),
    (0x001f, "brainpoolP256r1tls13"),
    (0x0020, "brainpoolP384r1tls13"),
    (0x0021, "brainpoolP512r1tls13"),
    (0x0022, "GC256A"),
    (0x0023, "GC256B"),
    (0x0024, "GC256C"),
    (0x0025, "GC256D"),
    (0x0026, "GC512A"),
    (0x0027, "GC512B"),
    (0x0028, "GC512C"),
    (0x0029, "curveSM2"),
    (0x0100, "ffdhe2048"),
    (0x0101, "ffdhe3072"),
    (0x0102, "ffdhe4096"),
    (0x0103, "ffdhe6144"),
    (0x0104, "ffdhe8192"),
    (0x0200, "MLKEM512"),
    (0x0201, "MLKEM768"),
    (0x0202, "MLKEM1024"),
    (0x11eb, "SecP256r1MLKEM768"),
    (0x11ec, "X25519MLKEM768"),
    (0x11ed, "SecP384r1MLKEM1024"),
    (0x11ee, "curveSM2MLKEM768"),
    (0x4138, "CECPQ2 (draft)"),
    (0x6399, "X25519Kyber768Draft00"),
    (0x639a, "SecP256r1Kyber768Draft00"),
    (0xff01, "arbitrary_explicit_prime_curves"),
    (0xff02, "arbitrary_explicit_char2_curves"),
];

/// Sorted by number.
const EXTENSIONS: Names = &[
    (0x0000, "server_name"),
    (0x0001, "max_fragment_length"),
    (0x0002, "client_certificate_url"),
    (0x0003, "trusted_ca_keys"),
    (0x0004, "truncated_hmac"),
    (0x0005, "status_request"),
    (0x0006, "user_mapping"),
    (0x0007, "client_authz"),
    (0x0008, "server_authz"),
    (0x0009, "cert_type"),
    (0x000a, "supported_groups"),
    (0x000b, "ec_point_formats"),
    (0x000c, "srp"),
    (0x000d, "signature_algorithms"),
    (0x000e, "use_srtp"),
    (0x000f, "heartbeat"),
    (0x0010, "application_layer_protocol_negotiation"),
    (0x0011, "status_request_v2"),
    (0x0012, "signed_certificate_timestamp"),
    (0x0013, "client_certificate_type"),
    (0x0014, "server_certificate_type"),
    (0x0015, "padding"),
    (0x0016, "encrypt_then_mac"),
    (0x0017, "extended_master_secret"),
    (0x0018, "token_binding"),
    (0x0019, "cached_info"),
    (0x001a, "tls_lts"),
    (0x001b, "compress_certificate"),
    (0x001c, "record_size_limit"),
    (0x001d, "pwd_protect"),
    (0x001e, "pwd_clear"),
    (0x001f, "password_salt"),
    (0x0020, "ticket_pinning"),
    (0x0021, "tls_cert_with_extern_psk"),
    (0x0022, "delegated_credential"),
    (0x0023, "session_ticket"),
    (0x0024, "TLMSP"),
    (0x0025, "TLMSP_proxying"),
    (0x0026, "TLMSP_delegate"),
    (0x0027, "supported_ekt_ciphers"),
    (0x0028, "key_share (drafts of TLS 1.3)"),
    (0x0029, "pre_shared_key"),
    (0x002a, "early_data"),
    (0x002b, "supported_versions"),
    (0x002c, "cookie"),
    (0x002d, "psk_key_exchange_modes"),
    (0x002e, "ticket_early_data_info (drafts of TLS 1.3)"),
    (0x002f, "certificate_authorities"),
    (0x0030, "oid_filters"),
    (0x0031, "post_handshake_auth"),
    (0x0032, "signature_algorithms_cert"),
    (0x0033, "key_share"),
    (0x0034, "transparency_info"),
    (0x0035, "connection_id (deprecated)"),
    (0x0036, "connection_id"),
    (0x0037, "external_id_hash"),
    (0x0038, "external_session_id"),
    (0x0039, "quic_transport_parameters"),
    (0x003a, "ticket_request"),
    (0x003b, "dnssec_chain"),
    (0x003c, "sequence_number_encryption_algorithms"),
    (0x003d, "rrc"),
    (0x003e, "tls_flags"),
    (0x12e0, "server_padding (draft)"),
    (0x3374, "next_protocol_negotiation"),
    (0x4469, "application_settings (draft, old number)"),
    (0x44cd, "application_settings (draft)"),
    (0x754f, "channel_id (old number)"),
    (0x7550, "channel_id"),
    (0xca34, "trust_anchors (draft)"),
    (0xfd00, "ech_outer_extensions"),
    (0xfe0d, "encrypted_client_hello"),
    (0xff01, "renegotiation_info"),
    (0xffa5, "quic_transport_parameters (drafts)"),
    (0xffce, "encrypted_server_name (draft)"),
];

/// Sorted by number.
const SIGNATURE_SCHEMES: Names = &[
    (0x0101, "md5, rsa"),
    (0x0102, "md5, dsa"),
    (0x0103, "md5, ecdsa"),
    (0x0201, "rsa_pkcs1_sha1"),
    (0x0202, "sha1, dsa"),
    (0x0203, "ecdsa_sha1"),
    (0x0301, "sha224, rsa"),
    (0x0302, "sha224, dsa"),
    (0x0303, "sha224, ecdsa"),
    (0x0401, "rsa_pkcs1_sha256"),
    (0x0402, "sha256, dsa"),
    (0x0403, "ecdsa_secp256r1_sha256"),
    (0x0420, "rsa_pkcs1_sha256_legacy"),
    (0x0501, "rsa_pkcs1_sha384"),
    (0x0502, "sha384, dsa"),
    (0x0503, "ecdsa_secp384r1_sha384"),
    (0x0520, "rsa_pkcs1_sha384_legacy"),
    (0x0601, "rsa_pkcs1_sha512"),
    (0x0602, "sha512, dsa"),
    (0x0603, "ecdsa_secp521r1_sha512"),
    (0x0620, "rsa_pkcs1_sha512_legacy"),
    (0x0704, "eccsi_sha256"),
    (0x0705, "iso_ibs1"),
    (0x0706, "iso_ibs2"),
    (0x0707, "iso_chinese_ibs"),
    (0x0708, "sm2sig_sm3"),
    (0x0709, "gostr34102012_256a"),
    (0x070a, "gostr34102012_256b"),
    (0x070b, "gostr34102012_256c"),
    (0x070c, "gostr34102012_256d"),
    (0x070d, "gostr34102012_512a"),
    (0x070e, "gostr34102012_512b"),
    (0x070f, "gostr34102012_512c"),
    (0x0804, "rsa_pss_rsae_sha256"),
    (0x0805, "rsa_pss_rsae_sha384"),
    (0x0806, "rsa_pss_rsae_sha512"),
    (0x0807, "ed25519"),
    (0x0808, "ed448"),
    (0x0809, "rsa_pss_pss_sha256"),
    (0x080a, "rsa_pss_pss_sha384"),
    (0x080b, "rsa_pss_pss_sha512"),
    (0x081a, "ecdsa_brainpoolP256r1tls13_sha256"),
    (0x081b, "ecdsa_brainpoolP384r1tls13_sha384"),
    (0x081c, "ecdsa_brainpoolP512r1tls13_sha512"),
    (0x0904, "mldsa44"),
    (0x0905, "mldsa65"),
    (0x0906, "mldsa87"),
];

/// Sorted by number.
const CERTIFICATE_COMPRESSION: Names = &[(1, "zlib"), (2, "brotli"), (3, "zstd")];

/// Sorted by number.
const HPKE_KDFS: Names = &[(1, "HKDF-SHA256"), (2, "HKDF-SHA384"), (3, "HKDF-SHA512")];

/// Sorted by number.
const HPKE_AEADS: Names = &[(1, "AES-128-GCM"), (2, "AES-256-GCM"), (3, "ChaCha20Poly1305")];

/// Sorted by number.
const ALERTS: Names = &[
    (0, "close_notify"),
    (10, "unexpected_message"),
    (20, "bad_record_mac"),
    (21, "decryption_failed"),
    (22, "record_overflow"),
    (30, "decompression_failure"),
    (40, "handshake_failure"),
    (41, "no_certificate"),
    (42, "bad_certificate"),
    (43, "unsupported_certificate"),
    (44, "certificate_revoked"),
    (45, "certificate_expired"),
    (46, "certificate_unknown"),
    (47, "illegal_parameter"),
    (48, "unknown_ca"),
    (49, "access_denied"),
    (50, "decode_error"),
    (51, "decrypt_error"),
    (52, "too_many_cids_requested"),
    (60, "export_restriction"),
    (70, "protocol_version"),
    (71, "insufficient_security"),
    (80, "internal_error"),
    (86, "inappropriate_fallback"),
    (90, "user_canceled"),
    (100, "no_renegotiation"),
    (109, "missing_extension"),
    (110, "unsupported_extension"),
    (111, "certificate_unobtainable"),
    (112, "unrecognized_name"),
    (113, "bad_certificate_status_response"),
    (114, "bad_certificate_hash_value"),
    (115, "unknown_psk_identity"),
    (116, "certificate_required"),
    (117, "general_error"),
    (120, "no_application_protocol"),
    (121, "ech_required"),
];

/// Sorted by number.
const TRANSPORT_PARAMETERS: Names<u64> = &[
    (0x00, "original_destination_connection_id"),
    (0x01, "max_idle_timeout"),
    (0x02, "stateless_reset_token"),
    (0x03, "max_udp_payload_size"),
    (0x04, "initial_max_data"),
    (0x05, "initial_max_stream_data_bidi_local"),
    (0x06, "initial_max_stream_data_bidi_remote"),
    (0x07, "initial_max_stream_data_uni"),
    (0x08, "initial_max_streams_bidi"),
    (0x09, "initial_max_streams_uni"),
    (0x0a, "ack_delay_exponent"),
    (0x0b, "max_ack_delay"),
    (0x0c, "disable_active_migration"),
    (0x0d, "preferred_address"),
    (0x0e, "active_connection_id_limit"),
    (0x0f, "initial_source_connection_id"),
    (0x10, "retry_source_connection_id"),
    (0x11, "version_information"),
    (0x20, "max_datagram_frame_size"),
    (0x3e, "initial_max_path_id"),
    (0x1000, "cibir_encoding"),
    (0x1057, "loss_bits"),
    (0x173e, "discard"),
    (0x26ab, "google_handshake_message"),
    (0x2ab2, "grease_quic_bit"),
    (0x3127, "initial_rtt"),
    (0x3128, "google_connection_options"),
    (0x3129, "user_agent"),
    (0x312a, "google_support_handshake_done"),
    (0x312b, "google_key_update_not_yet_supported"),
    (0x4751, "google_quic_params"),
    (0x4752, "google_version"),
    (0x7157, "enable_time_stamp (old number)"),
    (0x7158, "enable_time_stamp_v2"),
    (0xde1a, "min_ack_delay (draft)"),
    (0xff_73db, "version_information (draft)"),
    (0x9f81_a176, "address_discovery (draft)"),
    (0xff02_de1a, "min_ack_delay (draft)"),
    (0xff03_de1a, "min_ack_delay (draft)"),
    (0xff04_de1b, "min_ack_delay (draft)"),
    (0x17_f758_6d2c_b571, "reset_stream_at (draft)"),
    (0x0f73_9bbc_1b66_6d04, "enable_multipath (draft)"),
    (0x0f73_9bbc_1b66_6d05, "enable_multipath (draft)"),
    (0x0f73_9bbc_1b66_6d06, "enable_multipath (draft)"),
    (0x0f73_9bbc_1b66_6d07, "initial_max_paths (draft)"),
    (0x0f73_9bbc_1b66_6d09, "initial_max_path_id (draft)"),
    (0x0f73_9bbc_1b66_6d0c, "initial_max_path_id (draft)"),
    (0x0f73_9bbc_1b66_6d0d, "initial_max_path_id (draft)"),
    (0x0f73_9bbc_1b66_6d11, "initial_max_path_id (draft)"),
];

#[cfg(test)]
mod tests {
    use tls_parser::TlsCipherSuite;

    use super::cipher_suites::REGISTERED;
    use super::{
        ALERTS, EXTENSIONS, GROUPS, SIGNATURE_SCHEMES, TRANSPORT_PARAMETERS, UNREGISTERED_CIPHER_SUITES,
        cipher_suite, extension, look_up, signature_scheme, transport_parameter,
    };
    use crate::{TransportParameter, extension_type as kind};

    #[test]
    fn tables_are_by_number_without_doubles() {
        for names in [REGISTERED, EXTENSIONS, GROUPS, SIGNATURE_SCHEMES, UNREGISTERED_CIPHER_SUITES, ALERTS] {
            assert!(names.is_sorted_by(|left: &(u16, _), right| left.0 < right.0));
        }
    }

    #[test]
    fn transport_parameters_are_by_id_and_not_reserved() {
        assert!(TRANSPORT_PARAMETERS.is_sorted_by(|left, right| left.0 < right.0));
        for (id, name) in TRANSPORT_PARAMETERS {
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
            assert_eq!(look_up(REGISTERED, number), expected, "{number:#06x}");
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
