//! Compares the parser with `tls-parser` on well-formed hellos, captured and generated.
#![allow(clippy::arithmetic_side_effects, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../benches/hellos.rs"]
mod hellos;

use huginn_net_tls::{ClientHello, Transport};
use proptest::collection::vec;
use proptest::prelude::*;
use tls_parser::{
    TlsClientHelloContents, TlsExtension, TlsExtensionType, TlsMessage, TlsMessageHandshake,
    parse_tls_client_hello_extensions, parse_tls_message_handshake,
};

#[test]
fn captured_hellos_equal_tls_parser() {
    let hellos = hellos::from_captures(&crate::captures::with_extension(&["pcap"]));
    // tls-parser does not support the cookie of DTLS.
    let hellos: Vec<_> = hellos.iter().filter(|hello| hello.transport() != Transport::Dtls).collect();
    assert!(hellos.len() > 100, "{} hellos", hellos.len());
    for hello in hellos {
        compare(hello);
    }
}

proptest! {
    #[test]
    fn generated_hellos_equal_tls_parser(message in any_message()) {
        compare(&ClientHello::from_message(&message, Transport::Tls).unwrap().unwrap().value);
    }
}

fn compare(hello: &ClientHello<'_>) {
    assert!(hello.is_well_formed());
    let contents = contents(hello.message());
    assert_eq!(hello.legacy_version().0, contents.version.0);
    assert_eq!(hello.random(), contents.random);
    assert_eq!(hello.session_id(), contents.session_id.unwrap_or_default());
    let (suites, methods) = (contents.ciphers.iter().map(|id| id.0), contents.comp.iter().map(|id| id.0));
    assert!(hello.cipher_suites().eq(suites));
    assert!(hello.compression_methods().iter().copied().eq(methods));

    let (rest, extensions) = parse_tls_client_hello_extensions(contents.ext.unwrap_or_default()).unwrap();
    assert!(rest.is_empty(), "{rest:02x?} after {extensions:?}");
    assert!(
        hello.extensions().map(|extension| extension.kind).eq(extensions.iter().map(kind)),
        "{extensions:?}"
    );
    let mut first = Vec::new();
    for extension in &extensions {
        if !first.contains(&kind(extension)) {
            first.push(kind(extension));
            compare_extension(hello, extension);
        }
    }
}

/// Converts a GREASE extension of tls-parser, which has a separate variant. tls-parser also counts `0a1a` as GREASE,
/// which RFC 8701 does not.
fn kind(extension: &TlsExtension<'_>) -> u16 {
    match extension {
        TlsExtension::Grease(kind, _) => *kind,
        known => TlsExtensionType::from(known).0,
    }
}

/// Compares the first extension of its type.
fn compare_extension(hello: &ClientHello<'_>, extension: &TlsExtension<'_>) {
    match extension {
        TlsExtension::SNI(names) => {
            assert!(hello.has_server_name());
            assert_eq!(
                hello.server_name(),
                names.iter().find(|(kind, _)| kind.0 == 0).map(|(_, name)| *name)
            );
        }
        TlsExtension::EllipticCurves(groups) => {
            assert!(hello.supported_groups().eq(groups.iter().map(|group| group.0)));
        }
        TlsExtension::EcPointFormats(formats) => assert_eq!(hello.ec_point_formats(), *formats),
        TlsExtension::SignatureAlgorithms(schemes) => {
            assert!(hello.signature_algorithms().eq(schemes.iter().copied()));
        }
        TlsExtension::ALPN(names) => assert!(hello.alpn().eq(names.iter().copied())),
        TlsExtension::SupportedVersions(versions) => {
            assert!(hello.supported_versions().eq(versions.iter().map(|version| version.0)));
        }
        TlsExtension::KeyShare(data)
        | TlsExtension::SessionTicket(data)
        | TlsExtension::PreSharedKey(data)
        | TlsExtension::Padding(data)
        | TlsExtension::Grease(_, data)
        | TlsExtension::Unknown(_, data) => assert_eq!(hello.extension(kind(extension)), Some(*data)),
        _ => assert!(hello.extension(kind(extension)).is_some()),
    }
}

fn contents(message: &[u8]) -> TlsClientHelloContents<'_> {
    match parse_tls_message_handshake(message) {
        Ok((_, TlsMessage::Handshake(TlsMessageHandshake::ClientHello(contents)))) => contents,
        other => panic!("{other:?}"),
    }
}

prop_compose! {
    /// Builds a ClientHello (RFC 8446, section 4.1.2).
    fn any_message()(
        version in any::<u16>(),
        random in any::<[u8; 32]>(),
        session_id in vec(any::<u8>(), 0..=32),
        suites in numbers(0..120),
        methods in vec(any::<u8>(), 1..4),
        extensions in prop_oneof![
            9 => vec(any_extension(), 0..30).prop_map(|list| prefixed(2, &list.concat())),
            1 => Just(Vec::new()),
        ],
    ) -> Vec<u8> {
        let lists = [prefixed(1, &session_id), prefixed(2, &suites), prefixed(1, &methods), extensions].concat();
        let body = [&version.to_be_bytes()[..], &random, &lists].concat();
        [vec![1], prefixed(3, &body)].concat()
    }
}

/// Generates an extension with valid contents for its type.
fn any_extension() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |lengths| vec(any::<u8>(), lengths);
    let names = vec(bytes(1..20).prop_map(|name| prefixed(1, &name)), 1..4).prop_map(|names| names.concat());
    prop_oneof![
        bytes(0..20)
            .prop_map(|name| extension_bytes(0, prefixed(2, &[vec![0], prefixed(2, &name)].concat()))),
        numbers(0..20).prop_map(|groups| extension_bytes(10, prefixed(2, &groups))),
        bytes(0..4).prop_map(|formats| extension_bytes(11, prefixed(1, &formats))),
        numbers(0..30).prop_map(|schemes| extension_bytes(13, prefixed(2, &schemes))),
        names.prop_map(|names| extension_bytes(16, prefixed(2, &names))),
        numbers(1..8).prop_map(|versions| extension_bytes(43, prefixed(1, &versions))),
        bytes(0..300).prop_map(|padding| extension_bytes(21, padding)),
        bytes(0..300).prop_map(|ticket| extension_bytes(35, ticket)),
        bytes(0..300).prop_map(|shares| extension_bytes(51, shares)),
        prop_oneof![Just(22), Just(23), Just(49)].prop_map(|kind| extension_bytes(kind, Vec::new())),
        (0_u16..16, bytes(0..3)).prop_map(|(n, data)| extension_bytes(0x0a0a + n * 0x1010, data)),
        (0x4000_u16..0xfd00, bytes(0..30)).prop_map(|(kind, data)| extension_bytes(kind, data)),
    ]
}

fn numbers(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<[u8; 2]>(), count).prop_map(|numbers| numbers.concat())
}

fn extension_bytes(kind: u16, data: Vec<u8>) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), prefixed(2, &data)].concat()
}

/// Prefixes bytes with their length in `width` bytes.
fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    let len = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [len.get(4 - width..).unwrap(), bytes].concat()
}
