//! Parsing of valid and malformed ClientHellos and ServerHellos.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_tls::{
    ClientHello, Ech, Parsed, ServerHello, TlsError, TlsField, Transport, Version, extension_type,
};
use proptest::prelude::*;

/// Encodes a number in `width` bytes.
fn number(value: usize, width: usize) -> Vec<u8> {
    value.to_be_bytes()[size_of::<usize>() - width..].to_vec()
}

/// Prefixes bytes with their length in `width` bytes.
fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len(), width), bytes.to_vec()].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [vec![kind], prefixed(3, body)].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), prefixed(2, data)].concat()
}

/// Builds the fields before the extensions (RFC 8446, section 4.1.2): a session id of two bytes, the suites 1301 and
/// 0a0a.
fn before_extensions() -> Vec<u8> {
    [&[3, 3][..], &[7; 32], &[2, 8, 9], &[0, 4, 0x13, 0x01, 0x0a, 0x0a], &[1, 0]].concat()
}

/// Builds a ClientHello with this block of extensions.
fn hello(extensions: &[u8]) -> Vec<u8> {
    message(1, &[before_extensions(), prefixed(2, extensions)].concat())
}

fn parsed(message: &[u8]) -> ClientHello<'_> {
    ClientHello::from_message(message, Transport::Tls).unwrap().unwrap().value
}

fn kinds(hello: &ClientHello<'_>) -> Vec<u16> {
    hello.extensions().map(|extension| extension.kind).collect()
}

#[test]
fn reads_every_field() {
    let extensions = [
        extension(0, &prefixed(2, &[&[0][..], &prefixed(2, b"a.example")].concat())),
        extension(10, &prefixed(2, &[0x1a, 0x1a, 0, 29])),
        extension(11, &prefixed(1, &[0, 1])),
        extension(13, &prefixed(2, &[4, 3, 8, 4])),
        extension(16, &prefixed(2, &[prefixed(1, b"h2"), prefixed(1, b"http/1.1")].concat())),
        extension(43, &prefixed(1, &[0x2a, 0x2a, 3, 4, 3, 3])),
        extension(51, &prefixed(2, &[extension(0x1a1a, &[0]), extension(29, &[5; 32])].concat())),
        extension(0xfe0d, &[0; 9]),
    ]
    .concat();
    let bytes = [hello(&extensions), b"of another message".to_vec()].concat();
    let hello = parsed(&bytes);
    assert!(hello.is_well_formed());
    assert_eq!(hello.message().len(), bytes.len() - 18);
    assert_eq!((hello.random(), hello.session_id()), (&[7; 32][..], &[8, 9][..]));
    assert_eq!(hello.cipher_suites().collect::<Vec<_>>(), [0x1301, 0x0a0a]);
    assert_eq!(hello.compression_methods(), [0]);
    assert_eq!((hello.has_server_name(), hello.server_name()), (true, Some(&b"a.example"[..])));
    assert_eq!(hello.supported_groups().collect::<Vec<_>>(), [0x1a1a, 29]);
    assert_eq!(hello.ec_point_formats(), [0, 1]);
    assert_eq!(hello.signature_algorithms().collect::<Vec<_>>(), [0x0403, 0x0804]);
    assert_eq!(hello.alpn().collect::<Vec<_>>(), [&b"h2"[..], b"http/1.1"]);
    assert_eq!((hello.version(), hello.legacy_version()), (Version::TLS_1_3, Version::TLS_1_2));
    let shares: Vec<_> = hello.key_shares().map(|share| (share.group, share.key.len())).collect();
    assert_eq!(shares, [(0x1a1a, 1), (29, 32)]);
    assert!(hello.has_ech());
    assert_eq!(hello.extension(extension_type::ENCRYPTED_CLIENT_HELLO), Some(&[0; 9][..]));
    assert_eq!(hello.clone().into_owned(), hello);
}

#[test]
fn reads_extensions_beside_fingerprints() {
    let identity = [prefixed(2, b"ticket"), vec![0, 0, 1, 0]].concat();
    let psk = [prefixed(2, &identity.repeat(2)), prefixed(2, &prefixed(1, &[9; 32]))].concat();
    let ech = [&[0, 0, 1, 0, 1, 42][..], &prefixed(2, &[6; 32]), &prefixed(2, &[7; 144])].concat();
    let anchors = prefixed(2, &[prefixed(1, &[0x81, 0xfd, 0x59, 1]), prefixed(1, &[8])].concat());
    let extensions = [
        extension(0x3a3a, &[]),
        extension(27, &prefixed(1, &[0, 2, 0, 1])),
        extension(28, &[0x40, 1]),
        extension(35, &[1; 192]),
        extension(42, &[]),
        extension(0x44cd, &prefixed(2, &prefixed(1, b"h2"))),
        extension(0xca34, &anchors),
        extension(0x1234, &[0; 5]),
        extension(0xfe0d, &ech),
        extension(0x4a4a, &[0]),
        extension(41, &psk),
    ]
    .concat();
    let bytes = hello(&extensions);
    let hello = parsed(&bytes);
    assert_eq!(hello.certificate_compression().collect::<Vec<_>>(), [2, 1]);
    assert_eq!(hello.record_size_limit(), Some(0x4001));
    assert_eq!(hello.session_ticket().map(<[u8]>::len), Some(192));
    assert!(hello.has_early_data());
    assert_eq!(hello.alps().collect::<Vec<_>>(), [b"h2"]);
    let anchors: Vec<_> = hello.trust_anchors().unwrap().map(|id| id.to_string()).collect();
    assert_eq!(anchors, ["32473.1", "8"]);
    let unknown: Vec<_> = hello.unknown_extensions().map(|found| (found.kind, found.data.len())).collect();
    assert_eq!(unknown, [(0x1234, 5)]);
    let Some(Ech::Outer(ech)) = hello.ech() else { panic!("{:?}", hello.ech()) };
    assert_eq!((ech.kdf, ech.aead, ech.config_id, ech.enc.len(), ech.payload.len()), (1, 1, 42, 32, 144));
    let psks: Vec<_> = hello.psk_identities().map(|psk| (psk.identity, psk.obfuscated_ticket_age)).collect();
    assert_eq!(psks, [(&b"ticket"[..], 256); 2]);
    let grease: Vec<_> = hello.grease().map(|place| place.to_string()).collect();
    assert_eq!(grease, ["cipher_suites[1]", "extensions[0]", "extensions[9]"]);
}

#[test]
fn extensions_beside_fingerprints_may_be_absent() {
    let bytes = hello(&[]);
    let hello = parsed(&bytes);
    assert_eq!((hello.ech(), hello.session_ticket(), hello.record_size_limit()), (None, None, None));
    assert_eq!((hello.psk_identities().count(), hello.alps().count()), (0, 0));
    assert_eq!((hello.certificate_compression().count(), hello.unknown_extensions().count()), (0, 0));
    assert!(hello.trust_anchors().is_none() && !hello.has_early_data());
}

#[test]
fn server_hello_has_session_id_and_key_share() {
    let fields = [&[3, 3][..], &[7; 32], &prefixed(1, &[5; 32]), &[0x13, 1, 0]].concat();
    let share = [&[0, 29][..], &prefixed(2, &[4; 32])].concat();
    let extensions = [extension(51, &share), extension(43, &[3, 4]), extension(41, &[0, 1])].concat();
    let bytes = message(2, &[fields, prefixed(2, &extensions)].concat());
    let hello = ServerHello::from_message(&bytes, Transport::Tls).unwrap().unwrap().value;
    assert_eq!((hello.session_id(), hello.key_share()), (&[5; 32][..], Some(&[4; 32][..])));
    assert_eq!((hello.group(), hello.selected_psk()), (Some(29), Some(1)));
}

#[test]
fn hello_without_extensions_block() {
    let bytes = message(1, &before_extensions());
    let hello = parsed(&bytes);
    assert!(hello.is_well_formed());
    assert_eq!((kinds(&hello), hello.version()), (vec![], Version::TLS_1_2));
    assert_eq!((hello.has_server_name(), hello.server_name(), hello.alpn().next()), (false, None, None));
}

#[test]
fn dtls_has_a_cookie() {
    let mut body = before_extensions();
    body.splice(37..37, [3, b'a', b'b', b'c']);
    let bytes = message(1, &body);
    let hello = ClientHello::from_message(&bytes, Transport::Dtls).unwrap().unwrap().value;
    assert_eq!((hello.session_id(), hello.cookie()), (&[8, 9][..], &b"abc"[..]));
    assert_eq!(hello.cipher_suites().next(), Some(0x1301));
}

/// Returns the JA4 version of a hello with these `supported_versions`.
fn version(offered: &[u8], transport: Transport) -> &'static str {
    let bytes = hello(&extension(43, &prefixed(1, offered)));
    let mut bytes = bytes;
    if transport == Transport::Dtls {
        bytes.insert(41, 0);
        bytes[3] += 1;
    }
    ClientHello::from_message(&bytes, transport).unwrap().unwrap().value.version().ja4()
}

#[test]
fn version_is_highest_without_grease() {
    assert_eq!(version(&[0xfa, 0xfa, 3, 2, 3, 4, 3, 3], Transport::Tls), "13");
    assert_eq!(version(&[0x7f, 0x1c, 3, 3], Transport::Tls), "00", "a draft");
    assert_eq!(version(&[0x8a, 0x8a], Transport::Tls), "12", "only GREASE: the legacy version counts");
    assert_eq!(version(&[0xfe, 0xff, 0xfe, 0xfc, 0xfe, 0xfd], Transport::Dtls), "d3");
    assert_eq!(version(&[0xfe, 0xff, 0xfe, 0xfd], Transport::Dtls), "d2");
}

#[test]
fn missing_mandatory_field_is_an_error() {
    let whole = message(1, &before_extensions());
    let fields = [
        (4, TlsField::Version),
        (6, TlsField::Random),
        (38, TlsField::SessionId),
        (41, TlsField::CipherSuites),
        (47, TlsField::CompressionMethods),
    ];
    for len in 0..whole.len() {
        let mut cut = whole[..len].to_vec();
        assert_eq!(ClientHello::from_message(&cut, Transport::Tls), Ok(None), "{len} bytes");
        if len >= 4 {
            cut[3] = u8::try_from(len - 4).unwrap();
            let error = ClientHello::from_message(&cut, Transport::Tls).unwrap_err();
            let (_, expected) = fields.iter().rev().find(|(offset, _)| len >= *offset).unwrap();
            assert!(
                matches!(error, TlsError::Truncated { field, .. } if field == *expected),
                "{len} bytes: {error}"
            );
        }
    }
    assert_eq!(ClientHello::from_message(&[2, 0, 0, 0], Transport::Tls), Err(TlsError::NotHello(2)));
    let announced = 0xff_ffff;
    assert_eq!(
        ClientHello::from_message(&[1, 0xff, 0xff, 0xff], Transport::Tls),
        Err(TlsError::TooLong { announced })
    );
}

#[test]
fn malformed_extension_keeps_earlier_extensions() {
    let good = extension(23, b"");
    let cases: [(&str, Vec<u8>); 4] = [
        ("longer than the block", [good.clone(), vec![0, 35, 0, 9, 1]].concat()),
        ("truncated header", [good.clone(), vec![0, 35, 0]].concat()),
        ("an extra byte", [good.clone(), vec![0]].concat()),
        ("trailing zeros", [good.clone(), vec![0; 3]].concat()),
    ];
    for (what, block) in cases {
        let bytes = hello(&block);
        let hello = parsed(&bytes);
        assert_eq!(kinds(&hello), [23], "{what}");
        assert!(!hello.is_well_formed(), "{what}");
    }
}

#[test]
fn wrong_block_length_stops_at_message_end() {
    for (announced, expected) in [(3_usize, vec![]), (4, vec![23]), (9, vec![23, 22]), (0xffff, vec![23, 22])]
    {
        let block = [extension(23, b""), extension(22, b"")].concat();
        let bytes = message(1, &[before_extensions(), number(announced, 2), block].concat());
        let hello = parsed(&bytes);
        assert_eq!(kinds(&hello), expected, "{announced} bytes announced");
        assert!(!hello.is_well_formed());
    }
}

#[test]
fn duplicate_extension_uses_first_and_lists_both() {
    let block = [extension(13, &prefixed(2, &[4, 3])), extension(13, &prefixed(2, &[8, 4]))].concat();
    let bytes = hello(&block);
    let hello = parsed(&bytes);
    assert_eq!(kinds(&hello), [13, 13]);
    assert_eq!(hello.signature_algorithms().collect::<Vec<_>>(), [0x0403]);
}

#[test]
fn malformed_lists_keep_complete_items() {
    let block = [
        extension(0, &[0xff, 0xff, 1, 0, 1, b'x', 0, 0, 2, b'o', b'k', 0, 0, 9]),
        extension(10, &[0xff, 0xff, 0, 29, 7]),
        extension(13, &[0]),
        extension(16, &[0, 9, 2, b'h', b'2', 9, b'x']),
        extension(43, b""),
        extension(51, &[0xff, 0xff, 0, 29, 0, 1, 7, 0, 23, 0, 9, 1]),
    ]
    .concat();
    let bytes = hello(&block);
    let hello = parsed(&bytes);
    assert_eq!(hello.server_name(), Some(&b"ok"[..]), "the first name of type host_name");
    assert_eq!(hello.supported_groups().collect::<Vec<_>>(), [29]);
    assert_eq!(hello.key_shares().map(|share| share.group).collect::<Vec<_>>(), [29]);
    assert_eq!(hello.signature_algorithms().next(), None);
    assert_eq!(hello.alpn().collect::<Vec<_>>(), [b"h2"]);
    assert_eq!(hello.version(), Version::TLS_1_2);
}

#[test]
fn maximum_extension_and_suite_counts() {
    let block: Vec<u8> = (0..16_383_u16).flat_map(|kind| extension(kind, b"")).collect();
    let suites: Vec<u8> = (0..32_767_u16).flat_map(u16::to_be_bytes).collect();
    let body = [&[3, 3][..], &[7; 32], &[0], &prefixed(2, &suites), &[1, 0], &prefixed(2, &block)].concat();
    let bytes = message(1, &body);
    let hello = parsed(&bytes);
    assert!(hello.is_well_formed());
    assert_eq!((hello.extensions().count(), hello.cipher_suites().len()), (16_383, 32_767));
    assert!(hello.ja4().to_string().starts_with("t12d9999"), "{}", hello.ja4());
}

#[test]
fn server_hello_has_chosen_parameters() {
    let block = [extension(16, &prefixed(2, &prefixed(1, b"h2"))), extension(0xff01, &[0])].concat();
    let body = [&[3, 3][..], &[7; 32], &[1, 9], &[0xc0, 0x2f], &[0], &prefixed(2, &block)].concat();
    let bytes = message(2, &body);
    let hello = ServerHello::from_message(&bytes, Transport::Tls).unwrap().unwrap().value;
    assert_eq!((hello.version(), hello.cipher_suite()), (Version::TLS_1_2, 0xc02f));
    assert_eq!((hello.alpn(), hello.group(), hello.is_retry_request()), (Some(&b"h2"[..]), None, false));
    let old = message(2, &body[..body.len() - block.len() - 2]);
    assert_eq!(
        ServerHello::from_message(&old, Transport::Tls).unwrap().unwrap().value.extensions().count(),
        0
    );
    for len in 0..39 {
        assert!(ServerHello::from_message(&message(2, &body[..len]), Transport::Tls).is_err(), "{len} bytes");
    }
}

/// A ServerHello has a key share, a HelloRetryRequest only its group.
#[test]
fn server_hello_has_group_of_key_share() {
    for share in [&[&[0x11, 0xec][..], &prefixed(2, &[5; 1120])].concat(), &[0x11, 0xec][..]] {
        let block = extension(51, share);
        let body = [&[3, 3][..], &[7; 32], &[0], &[0x13, 0x01], &[0], &prefixed(2, &block)].concat();
        let bytes = message(2, &body);
        let hello = ServerHello::from_message(&bytes, Transport::Tls).unwrap().unwrap().value;
        assert_eq!(hello.group(), Some(0x11ec));
    }
}

/// The ServerHello of TLS 1.3 before its draft 22 had no session id and no compression method.
#[test]
fn reads_server_hello_of_early_draft() {
    let body =
        [&[0x7f, 0x12][..], &[7; 32], &[0x13, 0x02], &prefixed(2, &extension(40, &[0, 29, 0, 0]))].concat();
    let bytes = message(2, &body);
    let hello = ServerHello::from_message(&bytes, Transport::Tls).unwrap().unwrap().value;
    assert_eq!((hello.version(), hello.cipher_suite()), (Version(0x7f12), 0x1302));
    assert_eq!(hello.extensions().map(|extension| extension.kind).collect::<Vec<_>>(), [40]);
    assert_eq!(hello.group(), Some(29), "key_share had another number");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), server in any::<bool>()) {
        if let [kind, high, middle, ..] = bytes.as_mut_slice() {
            (*kind, *high, *middle) = (1 + u8::from(server), 0, 0);
        }
        for transport in [Transport::Tls, Transport::Quic, Transport::Dtls] {
            if let Ok(Some(Parsed { value: hello, consumed })) = ClientHello::from_message(&bytes, transport) {
                prop_assert_eq!(consumed, hello.message().len());
                let _ = (hello.ja4_r().to_string(), hello.ja3_hash().to_string(), hello.server_name());
                prop_assert!(hello.alpn().count() < 400);
            }
            if let Ok(Some(Parsed { value: hello, consumed })) = ServerHello::from_message(&bytes, transport) {
                prop_assert_eq!(consumed, hello.message().len());
                let _ = (hello.ja3s_hash().to_string(), hello.alpn(), hello.version());
            }
        }
        let _ = ClientHello::from_records(&bytes);
    }
}
