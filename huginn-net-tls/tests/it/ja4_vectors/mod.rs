//! JA4 and JA3 rule by rule. Lists are written out, so that a reader can check them. Hashes are published ones, or
//! computed from the adjacent list with Python's `hashlib`.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    reason = "a test may panic"
)]

mod conformance;
mod parts;
mod properties;

use huginn_net_tls::extension_type as kind;
use huginn_net_tls::{
    ClientHello, Ja4, Ja4Field, Ja4Hash, Ja4Head, Ja4ParseError, Ja4Raw, ServerHello, Transport, Version,
};

use self::parts::{
    EXAMPLE_SIGNATURES, Parts, alpn, empty, long_list, numbers, server_name, signatures, versions,
};

const EXAMPLE_RAW: &str = "t13d1516h2_\
    002f,0035,009c,009d,1301,1302,1303,c013,c014,c02b,c02c,c02f,c030,cca8,cca9_\
    0005,000a,000b,000d,0012,0015,0017,001b,0023,002b,002d,0033,4469,ff01_\
    0403,0804,0401,0503,0805,0501,0806,0601";
const EXAMPLE_RAW_ORIGINAL: &str = "t13d1516h2_\
    1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035_\
    001b,0000,0033,0010,4469,0017,002d,000d,0005,0023,0012,002b,ff01,000b,000a,0015_\
    0403,0804,0401,0503,0805,0501,0806,0601";

/// FoxIO, `technical_details/JA4.md`, sections "Example" and "Raw Output".
#[test]
fn example_of_the_definition() {
    let hello = Parts::example().hello();
    assert_eq!(hello.ja4().to_string(), "t13d1516h2_8daaf6152771_e5627efa2ab1");
    assert_eq!(hello.ja4_r().to_string(), EXAMPLE_RAW);
    assert_eq!(hello.ja4_ro().to_string(), EXAMPLE_RAW_ORIGINAL);
    assert_eq!(hello.ja4_o().to_string(), "t13d1516h2_acb858a92679_18f69afefd3d");
}

/// The value that users of Chrome 152 publish (FoxIO's `ja4`, issue 305). The hello comes from `bogdanfinn/tls-client`,
/// issue 262: its signature algorithms start with GREASE and ML-DSA.
#[test]
fn chrome_152_sends_grease_among_signature_algorithms() {
    let mut parts = Parts::example();
    for (kind, data) in &mut parts.extensions {
        match *kind {
            0x4469 => *kind = 0x44cd,
            kind::PADDING => *kind = 0xca34,
            kind::SIGNATURE_ALGORITHMS => {
                *data = long_list(&[&[0xfafa, 0x0904, 0x0905, 0x0906], &EXAMPLE_SIGNATURES[..]].concat());
            }
            _ => {}
        }
    }
    let hello = parts.with(empty(kind::ENCRYPTED_CLIENT_HELLO)).hello();
    assert_eq!(hello.ja4().to_string(), "t13d1517h2_8daaf6152771_cb7bf5808d99");
}

/// The definition, section "QUIC and DTLS". Extension 57 (quic_transport_parameters) has no effect.
#[test]
fn first_letter_is_the_transport() {
    let rows = [(Transport::Tls, "t13"), (Transport::Quic, "q13"), (Transport::Dtls, "d13")];
    for (transport, wanted) in rows {
        for parts in [Parts::small(), Parts::small().with(empty(0x0039))] {
            let head = Parts { transport, ..parts }.head();
            assert_eq!(head.transport(), transport);
            assert!(head.as_str().starts_with(wanted), "{head}");
        }
    }
}

/// The definition, section "TLS and DTLS Version".
#[test]
fn version_is_highest_offered_or_legacy() {
    let rows: [(u16, Option<&[u16]>, &str); 24] = [
        (0x0303, Some(&[0x0304, 0x0303]), "13"),
        (0x0303, Some(&[0x0303, 0x0304, 0x0302]), "13"),
        (0x0303, Some(&[0x0303]), "12"),
        (0x0304, Some(&[0x0301]), "10"),
        (0x0301, Some(&[0x0304]), "13"),
        (0x0304, None, "13"),
        (0x0303, None, "12"),
        (0x0302, None, "11"),
        (0x0301, None, "10"),
        (0x0300, None, "s3"),
        (0x0002, None, "s2"),
        (0xfeff, None, "d1"),
        (0xfefd, None, "d2"),
        (0xfefc, None, "d3"),
        (0xfefd, Some(&[0xfefc, 0xfefd]), "d3"),
        (0xfefd, Some(&[0xfefd]), "d2"),
        // GREASE is not a version, despite its high number.
        (0x0303, Some(&[0xfafa, 0x0304]), "13"),
        (0x0303, Some(&[0x0a0a, 0x0303]), "12"),
        // Resembles GREASE but is not: an unknown version.
        (0x0303, Some(&[0x0a1a, 0x0303]), "00"),
        // Drafts of TLS 1.3, 28 and 23 and Facebook's 23.
        (0x0303, Some(&[0x7f1c, 0x0304, 0x0303]), "00"),
        (0x0303, Some(&[0x7f17]), "00"),
        (0x0303, Some(&[0xfb17, 0x0303]), "00"),
        (0x0305, None, "00"),
        (0x0000, None, "00"),
    ];
    for (legacy_version, offered, wanted) in rows {
        let mut parts = Parts { legacy_version, extensions: vec![], ..Parts::small() };
        parts.extensions.extend(offered.map(versions));
        let head = parts.head();
        assert_eq!(&head.as_str()[1..3], wanted, "{legacy_version:04x} {offered:04x?}");
        assert_eq!(head.version().map_or("00", Version::ja4), wanted);
    }
}

/// The definition, section "SNI": the extension counts, not its contents.
#[test]
fn server_name_flag_requires_extension_only() {
    assert!(!Parts::small().head().has_server_name());
    for extension in [server_name(b"example.org"), server_name(b"192.0.2.1"), empty(kind::SERVER_NAME)] {
        let parts = Parts::small().with(extension);
        assert!(parts.head().has_server_name());
        assert_eq!(parts.ja4_r(), "t13d030400_1301,1302,1303_000d,002b,0033_0403,0804");
    }
}

/// The definition, sections "Number of Ciphers" and "Number of Extensions".
#[test]
fn counts_exclude_grease_and_stop_at_99() {
    let mut parts = Parts::small().with(server_name(b"a")).with(alpn(&[b"h2"])).with(empty(0xbaba));
    parts.cipher_suites.extend([0x0a0a, 0x00ff, 0x5600, 0xfefe]);
    assert_eq!(parts.ja4_r(), "t13d0605h2_00ff,1301,1302,1303,5600,fefe_000d,002b,0033_0403,0804");

    parts.cipher_suites = (0..99).collect();
    assert_eq!(parts.head().cipher_count(), 99);
    parts.cipher_suites = (0..100).collect();
    assert_eq!(parts.head().cipher_count(), 99);
    assert_eq!(parts.hello().ja4_r().cipher_suites().len(), 100);

    parts.extensions.extend((0x1000..0x1100).map(empty));
    assert_eq!(parts.head().extension_count(), 99);
    assert_eq!(parts.hello().ja4_r().extensions().len(), 3 + 256);
}

/// RFC 8701, section 2, reserves sixteen numbers with two equal bytes.
#[test]
fn grease_lookalikes_stay() {
    let mut parts = Parts::small().with(empty(0x0a1a)).with(empty(0xfafa));
    parts.cipher_suites.extend([0x1a0a, 0x1a1a, 0x0b0b]);
    parts.extensions[1] = signatures(&[0x2a2a, 0x0403, 0x2a3a]);
    assert_eq!(parts.ja4_r(), "t13i050400_0b0b,1301,1302,1303,1a0a_000d,002b,0033,0a1a_0403,2a3a");
}

/// The definition, section "ALPN Extension Value".
#[test]
fn alpn_uses_first_value() {
    let rows: [(&[&[u8]], &str); 9] = [
        (&[b"h2", b"http/1.1"], "h2"),
        (&[b"http/1.1", b"h2"], "h1"),
        (&[b"h3"], "h3"),
        (&[b"dot"], "dt"),
        (&[b"z"], "zz"),
        (&[b"", b"h2"], "00"),
        (&[], "00"),
        (&[b"\x0a\x0a", b"h2"], "0a"),
        (&[b"h2 "], "60"),
    ];
    for (values, wanted) in rows {
        let parts = Parts::small().with(alpn(values));
        assert_eq!(parts.head().alpn(), wanted, "{values:?}");
        assert_eq!(parts.head().extension_count(), 4);
    }
    assert_eq!(Parts::small().head().alpn(), "00");
    assert_eq!(Parts::small().with(empty(kind::ALPN)).head().alpn(), "00");
}

/// The definition, section "Extension hash".
#[test]
fn signature_algorithms_keep_extension_order() {
    let certificate_ones = (0x0032, long_list(&[0x0601, 0x0501]));
    let mut parts = Parts::small().with(certificate_ones);
    parts.extensions[1] = signatures(&[0x0804, 0x4a4a, 0x0403, 0x0203]);
    assert_eq!(parts.ja4_r(), "t13i030400_1301,1302,1303_000d,002b,0032,0033_0804,0403,0203");

    parts.extensions.remove(1);
    assert_eq!(parts.ja4_r(), "t13i030300_1301,1302,1303_002b,0032,0033");
}

/// The definition, section "Extension hash": its own row for a hello without signature algorithms.
#[test]
fn absent_signature_algorithms_omit_last_underscore() {
    let (lists, _) = EXAMPLE_RAW.rsplit_once('_').unwrap();
    let raw: Ja4Raw = lists.parse().unwrap();
    assert_eq!(raw.ja4().to_string(), "t13d1516h2_8daaf6152771_6d807ffa2a79");

    for algorithms in [&[][..], &[0x1a1a, 0xfafa]] {
        let mut parts = Parts::small();
        parts.extensions[1] = signatures(algorithms);
        assert_eq!(parts.ja4_r(), "t13i030300_1301,1302,1303_000d,002b,0033");
    }
}

/// The definition, sections "Cipher hash" and "Extension hash", at their ends.
#[test]
fn empty_list_hashes_to_zeros() {
    let bare = Parts { cipher_suites: vec![0x3a3a], extensions: vec![], ..Parts::small() };
    assert_eq!(bare.ja4_r(), "t12i000000__");
    assert_eq!(bare.hello().ja4().to_string(), "t12i000000_000000000000_000000000000");

    let named = Parts { extensions: vec![server_name(b"a"), alpn(&[b"h2"])], ..Parts::small() };
    assert_eq!(named.ja4_r(), "t12d0302h2_1301,1302,1303_");
    assert_eq!(named.hello().ja4().to_string(), "t12d0302h2_55b375c5d22e_000000000000");
    assert_eq!(named.hello().ja4_o().extension_hash(), Ja4Hash::from_list("0000,0010"));
}

/// The definition, section "Raw Output".
#[test]
fn original_order_keeps_all_but_grease() {
    let mut parts = Parts::small().with(empty(0x000a));
    parts.cipher_suites = vec![0x1303, 0xdada, 0x1301];
    parts.extensions.insert(0, server_name(b"a"));
    parts.extensions.insert(0, empty(0xeaea));
    parts.extensions.insert(2, alpn(&[b"h2"]));
    let raw = parts.hello().ja4_ro();
    assert_eq!(raw.to_string(), "t13d0206h2_1303,1301_0000,0010,002b,000d,0033,000a_0403,0804");
    assert_eq!(raw.sorted(), parts.hello().ja4_r());
}

/// A client that resumes a session sends more extensions; `ja4_stable` omits 0015, 0023, 0029 and 002a.
#[test]
fn session_stable_form_ignores_resumption() {
    let initial = Parts::small().with(server_name(b"a"));
    let mut resumed = initial.clone();
    for extension in [kind::PADDING, kind::SESSION_TICKET, kind::EARLY_DATA, kind::PRE_SHARED_KEY] {
        resumed = resumed.with(empty(extension));
    }
    let stable = "t13d030400_1301,1302,1303_000d,002b,0033_0403,0804";
    for parts in [&initial, &resumed] {
        assert_eq!(parts.hello().ja4_stable_r().to_string(), stable);
        assert_eq!(parts.hello().ja4_stable(), initial.hello().ja4());
    }
    assert_eq!(resumed.ja4_r(), "t13d030800_1301,1302,1303_000d,0015,0023,0029,002a,002b,0033_0403,0804");
}

/// JA4 lists and counts each repeated extension, but uses only the contents of the first one.
#[test]
fn repeated_extensions_are_all_counted() {
    let parts = Parts::small().with(signatures(&[0x0601])).with(versions(&[0x0301]));
    assert_eq!(parts.ja4_r(), "t13i030500_1301,1302,1303_000d,000d,002b,002b,0033_0403,0804");
}

/// An extension that exceeds the remaining bytes does not hide the extensions before it.
#[test]
fn malformed_end_keeps_earlier_extensions() {
    let parts = Parts::small();
    let mut message = parts.message();
    let block = message.len() - 4 * 3 - (1 + 4) - (2 + 4) - 2;
    let more = numbers(&[0x002d, 0x0100, 0x0101]);
    let len = u16::from_be_bytes([message[block], message[block + 1]]) + 6;
    message[block..block + 2].copy_from_slice(&len.to_be_bytes());
    message[3] += 6;
    message.extend(more);
    let hello = ClientHello::from_message(&message, Transport::Tls).unwrap().unwrap().value;
    assert!(!hello.is_well_formed());
    assert_eq!(hello.ja4_r(), parts.hello().ja4_r());
}

/// Salesforce, `README.md` of `ja3`: both examples.
#[test]
fn ja3_examples_of_the_definition() {
    let groups = |list: &[u16]| (kind::SUPPORTED_GROUPS, long_list(list));
    let with_extensions = Parts {
        transport: Transport::Tls,
        legacy_version: 769,
        cipher_suites: vec![47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4],
        extensions: vec![server_name(b"a"), groups(&[23, 24, 25]), (kind::EC_POINT_FORMATS, vec![1, 0])],
    };
    let without = Parts {
        cipher_suites: vec![4, 5, 10, 9, 100, 98, 3, 6, 19, 18, 99],
        extensions: vec![],
        ..with_extensions.clone()
    };
    let rows = [
        (
            with_extensions,
            "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0",
            "ada70206e40642a3e4461f35503241d5",
        ),
        (without, "769,4-5-10-9-100-98-3-6-19-18-99,,,", "de350869b8c85de67a350c8d186f11e6"),
    ];
    for (parts, text, hash) in rows {
        assert_eq!(parts.hello().ja3().to_string(), text);
        assert_eq!(parts.hello().ja3_hash().to_string(), hash);
    }
}

/// Salesforce, `README.md` of `ja3`: JA3 omits GREASE from every list.
#[test]
fn ja3_excludes_grease_and_uses_legacy_version() {
    let text = "771,4865-4866-4867-49195-49199-49196-49200-52393-52392-49171-49172-156-157-47-53,\
                27-0-51-16-17513-23-45-13-5-35-18-43-65281-11-10-21,29-23-24,0";
    assert_eq!(Parts::example().hello().ja3().to_string(), text);
}

#[test]
fn ja3s_is_version_cipher_suite_and_extensions() {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0x13, 0x02, 0, 0, 10, 0, 0x2b, 0, 2, 3, 4, 0, 0x33, 0, 0]);
    let mut message = vec![2, 0, 0, u8::try_from(body.len()).unwrap()];
    message.extend(body);
    let hello = ServerHello::from_message(&message, Transport::Tls).unwrap().unwrap().value;
    assert_eq!(hello.ja3s().to_string(), "771,4866,43-51");
    assert_eq!(hello.ja3s_hash().to_string(), "15af977ce25de452b96affa2addb1036");
}

#[test]
fn text_error_has_position() {
    let hash = "t13d1516h2_8daaf6152771_e5627efa2ab1";
    let unexpected = |offset, field, found| Ja4ParseError::Unexpected { offset, field, found };
    let ended = |offset, field| Ja4ParseError::Ended { offset, field };
    let rows = [
        (String::new(), ended(0, Ja4Field::Transport)),
        (hash.replace("t13", "x13"), unexpected(0, Ja4Field::Transport, 'x')),
        (hash.replace("t13", "t14"), unexpected(2, Ja4Field::Version, '4')),
        (hash.replace("t13", "td0"), unexpected(2, Ja4Field::Version, '0')),
        (hash.replace("3d1", "3e1"), unexpected(3, Ja4Field::ServerName, 'e')),
        (hash.replace("d15", "d1x"), unexpected(5, Ja4Field::CipherCount, 'x')),
        (hash.replace("16h", "1ah"), unexpected(7, Ja4Field::ExtensionCount, 'a')),
        (hash.replace("h2_", "h-_"), unexpected(9, Ja4Field::Alpn, '-')),
        (hash.replace("h2_", "hä_"), unexpected(9, Ja4Field::Alpn, 'ä')),
        (hash.replace("h2_", "h2-"), unexpected(10, Ja4Field::Separator, '-')),
        (hash.replace("8da", "8Da"), unexpected(12, Ja4Field::CipherHash, 'D')),
        (hash.replace("71_", "7_"), unexpected(22, Ja4Field::CipherHash, '_')),
        (hash.replace("ab1", "ab"), ended(35, Ja4Field::ExtensionHash)),
        (hash.replace("ab1", "ab1 "), unexpected(36, Ja4Field::End, ' ')),
    ];
    for (text, wanted) in rows {
        assert_eq!(text.parse::<Ja4>(), Err(wanted), "{text}");
    }
    let rows = [
        ("t13i0303", ended(8, Ja4Field::Alpn)),
        ("t13i030300", ended(10, Ja4Field::Separator)),
        ("t13i030300_1301,130", ended(19, Ja4Field::CipherSuites)),
        ("t13i030300_1301,,1302_", unexpected(16, Ja4Field::CipherSuites, ',')),
        ("t13i030300_1301,13022_", unexpected(20, Ja4Field::CipherSuites, '2')),
        ("t13i030300_1301", ended(15, Ja4Field::Separator)),
        ("t13i030300_1301_002B", unexpected(19, Ja4Field::Extensions, 'B')),
        ("t13i030300_1301_002b_", ended(21, Ja4Field::SignatureAlgorithms)),
        ("t13i030300_1301_002b_0403_", unexpected(25, Ja4Field::End, '_')),
    ];
    for (text, wanted) in rows {
        assert_eq!(text.parse::<Ja4Raw>(), Err(wanted), "{text}");
    }
    assert_eq!("t13d1516h22".parse::<Ja4Head>(), Err(unexpected(10, Ja4Field::End, '2')));
}
