//! Tests over certificates that OpenSSL made and read (`certificates/make.sh`), and over hostile ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::*;
use crate::Version;

const EXPECTED: &str = include_str!("../../certificates/expected.tsv");

fn read(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/certificates");
    std::fs::read(format!("{folder}/{name}.der")).unwrap()
}

fn fields(name: &str) -> CertificateFields {
    Certificate::from_der(&read(name)).fields().unwrap().clone()
}

/// The fields of each certificate, as OpenSSL reads them.
fn expected() -> BTreeMap<&'static str, BTreeMap<&'static str, &'static str>> {
    let mut all = BTreeMap::<_, BTreeMap<_, _>>::new();
    for line in EXPECTED.lines() {
        let [name, field, value] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        all.entry(name).or_default().insert(field, value);
    }
    all
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn fields_match_openssl() {
    let all = expected();
    assert_eq!(all.len(), 28);
    for (name, expected) in all {
        let der = read(name);
        let certificate = Certificate::from_der(&der);
        let fields = certificate.fields().unwrap();
        let openssl_key = match expected["curve"] {
            "prime256v1" => "EC P-256",
            "secp384r1" => "EC P-384",
            "secp521r1" => "EC P-521",
            "secp256k1" => "EC secp256k1",
            _ => match expected["key_algorithm"] {
                "rsaEncryption" => "RSA",
                "rsassaPss" => "RSA-PSS",
                "dsaEncryption" => "DSA",
                "ED25519" => "Ed25519",
                "ED448" => "Ed448",
                other => panic!("{other}"),
            },
        };
        // RFC 8032: OpenSSL does not print the size of these keys.
        let bits = match openssl_key {
            "Ed25519" => "256",
            "Ed448" => "456",
            _ => expected["key_bits"],
        };
        let found = [
            ("sha256", hex(certificate.sha256())),
            ("sha1", hex(certificate.sha1())),
            ("serial", fields.serial.as_deref().unwrap().to_owned()),
            ("subject", fields.subject.as_deref().unwrap().to_owned()),
            ("issuer", fields.issuer.as_deref().unwrap().to_owned()),
            ("not_before", fields.not_before.unwrap().to_string()),
            ("not_after", fields.not_after.unwrap().to_string()),
            ("version", fields.version.unwrap().to_string()),
            ("signature_algorithm", fields.signature_algorithm.as_deref().unwrap().to_owned()),
        ];
        for (field, value) in found {
            assert_eq!(value, expected[field], "{name}: {field}");
        }
        assert_eq!(certificate.len(), der.len());
        assert_eq!(fields.key.as_deref(), Some(openssl_key), "{name}");
        assert_eq!(fields.key_bits.unwrap().to_string(), bits, "{name}");
        assert_eq!(fields.is_ca, Some(expected["ca"] == "CA:TRUE"), "{name}");
        assert_eq!(fields.is_self_issued, expected["subject"] == expected["issuer"], "{name}");
        #[cfg(feature = "self-signed")]
        {
            let is_self_signed = expected["self_signed"] == "true";
            let is_verified = !matches!(name, "dsa" | "ed448" | "p521" | "secp256k1");
            let found = Certificate::from_kept_der(&der).is_self_signed();
            assert_eq!(found, is_verified.then_some(is_self_signed), "{name}");
            assert_eq!(certificate.is_self_signed(), (!is_self_signed).then_some(false), "{name}: no bytes");
        }
        let names: Vec<_> = expected["names"].split(", ").filter(|name| !name.is_empty()).collect();
        match &fields.alternative_names {
            Some(found) => {
                assert!(found.names.iter().map(openssl_name).eq(names) && !found.has_more, "{name}")
            }
            None => assert!(names.is_empty(), "{name}"),
        }
    }
}

/// The name as `openssl x509 -ext subjectAltName` writes it.
fn openssl_name(name: &AlternativeName) -> String {
    match name {
        AlternativeName::Dns(text) => format!("DNS:{text}"),
        AlternativeName::Email(text) => format!("email:{text}"),
        AlternativeName::Uri(text) => format!("URI:{text}"),
        AlternativeName::Ip(IpAddr::V4(address)) => format!("IP Address:{address}"),
        AlternativeName::Ip(IpAddr::V6(address)) => {
            let groups = address.segments().map(|group| format!("{group:X}"));
            format!("IP Address:{}", groups.join(":"))
        }
    }
}

#[test]
fn common_name_is_unescaped_and_most_specific() {
    for (name, wanted) in [
        ("escapes", Some("a=b\t😀")),
        ("bmp", Some("straße.example")),
        ("several-values", Some("last")),
        ("no-name", None),
    ] {
        assert_eq!(fields(name).common_name.as_deref(), wanted, "{name}");
    }
}

#[test]
fn names_match_as_in_rfc_9525() {
    // Names of the certificate: www.example.com, *.example.org, 192.0.2.1, 2001:db8::1.
    let with_names = fields("p256");
    for (host, wanted) in [
        ("www.example.com", true),
        ("WWW.Example.COM", true),
        ("www.example.com.", true),
        ("example.com", false),
        ("a.www.example.com", false),
        ("host.example.org", true),
        ("example.org", false),
        ("a.b.example.org", false),
        (".example.org", false),
        ("*.example.org", false),
        ("192.0.2.1", true),
        ("192.0.2.2", false),
        ("2001:db8:0::1", true),
        ("user@example.net", false),
        ("example.net", false),
        ("", false),
    ] {
        assert_eq!(with_names.matches_name(host.as_bytes()), Some(wanted), "{host}");
    }
    let common_name_only = fields("p384");
    for (host, wanted) in [("p384.example", true), ("P384.EXAMPLE", true), ("example", false)] {
        assert_eq!(common_name_only.matches_name(host.as_bytes()), Some(wanted), "{host}");
    }
    // The common name does not count beside other names.
    assert_eq!(fields("rsa2048").matches_name(b"rsa.example"), Some(false));
    assert_eq!(fields("version-1").matches_name(b"rsa.example"), Some(true));
    assert_eq!(fields("no-name").matches_name(b"rsa.example"), Some(false));
    assert_eq!(fields("p256").matches_name(b"\xff.example.org"), Some(true), "one label");
}

#[test]
fn wildcards_match_one_label() {
    for (pattern, host, wanted) in [
        ("*.example.com", "a.example.com", true),
        ("*.EXAMPLE.com", "A.example.COM", true),
        ("*.com", "example.com", false),
        ("*", "localhost", false),
        ("a*.example.com", "ab.example.com", false),
        ("*a.example.com", "ba.example.com", false),
        ("a.*.com", "a.b.com", false),
        ("*.*.com", "a.b.com", false),
        ("*.2.1", "192.0.2.1", false),
        ("192.0.2.1", "192.0.2.1", false),
        ("localhost", "localhost", true),
        ("xn--strae-oqa.example", "xn--strae-oqa.example", true),
        ("", "", false),
    ] {
        assert_eq!(host::matches_dns(pattern, host.as_bytes()), wanted, "{pattern} {host}");
    }
}

#[test]
fn validity_includes_both_ends() {
    let fields = fields("dates-utc");
    let (first, last) = (-631_152_000, 2_524_607_999);
    for (seconds, wanted) in [(first - 1, false), (first, true), (0, true), (last, true), (last + 1, false)] {
        assert_eq!(fields.is_valid_at(seconds), Some(wanted), "{seconds}");
    }
}

/// A certificate whose bytes are replaced by others of the same length, and its fields.
fn replaced(name: &str, bytes: &[u8], other: &[u8]) -> CertificateFields {
    let mut der = read(name);
    let at = der.windows(bytes.len()).position(|found| found == bytes).unwrap();
    der[at..at + bytes.len()].copy_from_slice(other);
    Certificate::from_der(&der).fields().unwrap().clone()
}

#[test]
fn unreadable_field_hides_no_other() {
    let whole = fields("dates-utc");
    let end = b"491231235959Z";
    // 30 February, second 60, a fraction, another type.
    for time in [b"490230235959Z", b"491231235960Z", b"4912312359.5Z", b"491231235959?"] {
        let found = replaced("dates-utc", end, time);
        assert_eq!(found.unreadable().collect::<Vec<_>>(), ["not_after"]);
        let first = -631_152_000;
        assert_eq!([first - 1, first].map(|seconds| found.is_valid_at(seconds)), [Some(false), None]);
        assert_eq!(CertificateFields { not_after: whole.not_after, ..found }, whole);
    }
    let whole = fields("p256");
    let found = replaced("p256", &[0xa0, 3, 2, 1, 2], &[0xa0, 3, 2, 1, 3]);
    assert_eq!(found.unreadable().collect::<Vec<_>>(), ["version"]);
    assert_eq!(CertificateFields { version: whole.version, ..found }, whole);
    // The key is a set, not the sequence of an algorithm and a bit string.
    let key = [0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    let found = replaced("p256", &key, &[&[0x31], &key[1..]].concat());
    assert_eq!(found.unreadable().collect::<Vec<_>>(), ["key"]);
    assert_eq!(CertificateFields { key: whole.key.clone(), key_bits: whole.key_bits, ..found }, whole);
}

#[test]
fn part_of_a_name_or_list_is_not_taken_for_the_whole() {
    let attribute =
        |tag| value(0x31, &value(0x30, &[value(6, &[0x55, 4, 3]), value(tag, b"a.test")].concat()));
    let fields = |subject: &[u8], extensions: &[u8]| {
        let certificate = Certificate::from_der(&certificate(subject, extensions));
        (certificate.matches_name(b"a.test"), certificate.fields().unwrap().clone())
    };
    let (matches, whole) = fields(&attribute(0x0c), &[]);
    assert_eq!(
        (matches, whole.subject.as_deref(), whole.unreadable().count()),
        (Some(true), Some("CN=a.test"), 0)
    );
    // A second part that has no value.
    let (matches, cut) = fields(&[attribute(0x0c), vec![0x31, 2, 0x30, 0]].concat(), &[]);
    assert_eq!((matches, cut.subject.as_deref(), cut.common_name.as_deref()), (None, None, None));
    assert_eq!(cut.unreadable().collect::<Vec<_>>(), ["subject"]);
    // A second extension that is cut.
    let (matches, cut) = fields(&attribute(0x0c), &[san(&value(0x82, b"a.test")), vec![0x30, 1, 6]].concat());
    assert_eq!((matches, cut.unreadable().collect::<Vec<_>>()), (None, vec!["names", "ca"]));
}

#[test]
fn truncated_certificate_has_hashes_alone() {
    let der = read("rsa2048");
    for len in 0..der.len() {
        let certificate = Certificate::from_der(&der[..len]);
        assert_eq!((certificate.fields(), certificate.len()), (None, len));
        assert_eq!(certificate.matches_name(b"www.example.com"), None);
        assert_eq!(certificate.is_valid_at(0), None);
    }
    assert_eq!(Certificate::from_der(&[&der[..], &[0]].concat()).fields(), None, "a byte after the end");
    // Reference: FIPS 180-4's examples of the empty message.
    let empty = Certificate::from_der(b"");
    assert_eq!(hex(empty.sha256()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(hex(empty.sha1()), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

#[test]
fn damaged_certificates_do_not_panic() {
    for name in ["p256", "rsa2048", "escapes", "universal", "dates-generalized"] {
        let der = read(name);
        let mut subjects = BTreeSet::new();
        for at in 0..der.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = der.clone();
                damaged[at] ^= flip;
                if let Some(fields) = Certificate::from_der(&damaged).fields() {
                    subjects.insert(fields.subject.clone());
                }
            }
        }
        assert!(!subjects.is_empty());
    }
}

/// A value in DER.
fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    let header = match len {
        0..0x80 => vec![tag, len as u8],
        _ => vec![tag, 0x83, (len >> 16) as u8, (len >> 8) as u8, len as u8],
    };
    // Three bytes where one or two suffice are not DER.
    let header = match len {
        0x80..0x100 => vec![tag, 0x81, len as u8],
        0x100..0x1_0000 => vec![tag, 0x82, (len >> 8) as u8, len as u8],
        _ => header,
    };
    [header, content.to_vec()].concat()
}

/// A certificate with a subject and extensions, given as the contents of their sequences.
fn certificate(subject: &[u8], extensions: &[u8]) -> Vec<u8> {
    // ecdsa-with-SHA256, id-ecPublicKey with prime256v1 (RFC 5480).
    let algorithm = value(0x30, &value(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]));
    let key =
        [value(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]), value(6, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7])];
    let key = [value(0x30, &key.concat()), value(3, &[&[0, 4][..], &[7; 64]].concat())].concat();
    let validity = [value(0x17, b"250101000000Z"), value(0x17, b"260101000000Z")].concat();
    let body = [
        value(0xa0, &[2, 1, 2]),
        value(2, &[5]),
        algorithm.clone(),
        value(0x30, &[]),
        value(0x30, &validity),
        value(0x30, subject),
        value(0x30, &key),
        value(0xa3, &value(0x30, extensions)),
    ];
    value(0x30, &[value(0x30, &body.concat()), algorithm, value(3, &[0, 1])].concat())
}

/// A subjectAltName extension with the names in DER.
fn san(names: &[u8]) -> Vec<u8> {
    value(0x30, &[value(6, &[0x55, 0x1d, 0x11]), value(4, &value(0x30, names))].concat())
}

#[test]
fn names_of_large_certificate_are_bounded() {
    let names: Vec<u8> =
        (0..10_000).flat_map(|n| value(0x82, format!("n{n}.example.com").as_bytes())).collect();
    let der = certificate(&[], &san(&names));
    let certificate = Certificate::from_der(&der);
    let found = certificate.fields().unwrap().alternative_names.as_ref().unwrap();
    assert_eq!((found.names.len(), found.has_more), (256, true));
    assert_eq!(found.names[255].to_string(), "n255.example.com");
    assert_eq!(certificate.matches_name(b"n255.example.com"), Some(true));
    assert_eq!(certificate.matches_name(b"n256.example.com"), None, "the name may be among the others");
    let long = value(0x82, &[b'a'; 1000]).repeat(20);
    let der = self::certificate(&[], &san(&long));
    let certificate = Certificate::from_der(&der);
    let found = certificate.fields().unwrap().alternative_names.as_ref().unwrap();
    assert_eq!((found.names.len(), found.has_more), (16, true));
}

#[test]
fn unreadable_names_leave_match_open() {
    let good = value(0x82, b"www.example.com");
    let not_utf8 = value(0x82, b"\xff");
    let short_address = value(0x87, &[192, 0, 2]);
    let cut = good[..5].to_vec();
    for (extensions, names) in [
        (san(&[good.clone(), not_utf8].concat()), 1),
        (san(&[short_address, good.clone()].concat()), 1),
        (san(&cut), 0),
        ([san(&good), san(&good)].concat(), 0),
    ] {
        let certificate = Certificate::from_der(&certificate(&[], &extensions));
        let found = certificate.fields().unwrap().alternative_names.as_ref().unwrap();
        assert_eq!((found.names.len(), found.has_more), (names, true), "{extensions:02x?}");
        assert_eq!(certificate.matches_name(b"www.example.com"), (names > 0).then_some(true));
        assert_eq!(certificate.matches_name(b"example.com"), None);
    }
    let empty = Certificate::from_der(&certificate(&[], &san(&[])));
    assert_eq!(empty.matches_name(b"www.example.com"), Some(false));
}

#[test]
fn long_subject_is_omitted() {
    let attribute = |len| {
        let attribute = [value(6, &[0x55, 4, 3]), value(0x0c, &vec![b'a'; len])].concat();
        value(0x31, &value(0x30, &attribute))
    };
    for (len, is_kept) in [(2045, true), (2046, false), (100_000, false)] {
        let certificate = Certificate::from_der(&certificate(&attribute(len), &[]));
        let fields = certificate.fields().unwrap();
        assert_eq!(fields.subject.as_ref().map(|text| text.len()), is_kept.then_some(len + 3));
        assert_eq!(fields.issuer.as_deref(), Some(""));
    }
}

#[test]
fn invalid_bytes_of_strings_are_escaped() {
    let name = |tag, bytes: &[u8]| {
        let attribute = [value(6, &[0x55, 4, 3]), value(tag, bytes)].concat();
        let der = certificate(&value(0x31, &value(0x30, &attribute)), &[]);
        let certificate = Certificate::from_der(&der);
        let fields = certificate.fields().unwrap();
        (fields.subject.clone().unwrap().into_string(), fields.common_name.as_deref().map(str::to_owned))
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(name(0x0c, b"a\xff"), ("CN=a\\FF".into(), None));
    assert_eq!(name(0x13, b"*.a_\xc3\xa9"), ("CN=*.a_é".into(), text("*.a_é")));
    assert_eq!(name(0x1e, b"\0a\xd8\0"), ("CN=#1E040061D800".into(), None), "half a surrogate pair");
    assert_eq!(name(0x1e, b"\0a\0"), ("CN=#1E03006100".into(), None), "an odd length");
    assert_eq!(name(0x1c, b"\0\x11\0\0"), ("CN=#1C0400110000".into(), None), "beyond Unicode");
    assert_eq!(name(0x02, &[5]), ("CN=#020105".into(), None), "an integer");
    assert_eq!(name(0x0c, "\u{202e}a".as_bytes()), ("CN=\\E2\\80\\AEa".into(), text("\u{202e}a")));
}

/// Bounds the time generously: a quadratic reader would take minutes.
#[test]
fn hostile_certificates_are_read_in_linear_time() {
    let len = CertificateMessage::MAX_LEN - 1000;
    let nested = |mut depth: usize| {
        let mut der = Vec::new();
        while depth > 0 {
            der = value(0x30, &der);
            depth = if der.len() < len { depth - 1 } else { 0 };
        }
        der
    };
    let deep = nested(5000);
    let attribute = value(0x31, &value(0x30, &[6, 1, 0x55, 5, 0]));
    let many_parts = attribute.repeat(len / attribute.len());
    let many_extensions = value(0x30, &[6, 1, 0x55, 4, 0]).repeat(len / 7);
    let nested_value =
        |content: &[u8]| value(0x31, &value(0x30, &[value(6, &[0x55, 4, 3]), content.to_vec()].concat()));
    let cases = [
        deep.clone(),
        certificate(&nested_value(&deep), &[]),
        certificate(&many_parts, &[]),
        certificate(&[], &many_extensions),
        certificate(&[], &san(&[0x82, 0].repeat(len / 2))),
        certificate(&[], &san(&value(0xa4, &value(0x30, &many_parts)))),
        certificate(&[], &san(&deep)),
    ];
    for (index, der) in cases.iter().enumerate() {
        let start = Instant::now();
        let certificate = Certificate::from_der(der);
        assert!(start.elapsed() < Duration::from_secs(10), "{index}: {} bytes", der.len());
        assert_eq!(certificate.fields().is_some(), index > 0, "{index}");
    }
    let too_long = certificate(&[], &san(&[0x82, 0].repeat(CertificateMessage::MAX_LEN)));
    assert_eq!(Certificate::from_der(&too_long).fields(), None);
}

/// A list of certificates with lengths of three bytes.
fn list(certificates: &[&[u8]]) -> Vec<u8> {
    let with_len = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[1..], bytes].concat();
    with_len(&certificates.iter().flat_map(|der| with_len(der)).collect::<Vec<_>>())
}

#[test]
fn message_lists_complete_certificates() {
    let body = list(&[b"first", b"", b"third"]);
    for (body, wanted, has_more) in [
        (&body[..], &[&b"first"[..], b"", b"third"][..], false),
        (&[&body[..], b"\0\0\0"].concat(), &[b"first", b"", b"third"], false),
        (&body[..body.len() - 1], &[b"first", b""], true),
        (&body[..10], &[], true),
        (&[0, 0, 0], &[], false),
        (&[0, 0], &[], true),
        (&[], &[], true),
        (&[0xff; 9], &[], true),
    ] {
        let message = CertificateMessage::from_body(body);
        assert!(message.certificates().eq(wanted.iter().copied()), "{body:?}");
        assert_eq!(message.has_more(), has_more, "{body:?}");
    }
    let many = list(&[&b"x"[..]; 17]);
    let message = CertificateMessage::from_body(&many);
    assert_eq!((message.certificates().count(), message.has_more()), (16, true));
    let large = list(&[&vec![0; 300_000], b"x"]);
    let message = CertificateMessage::from_body(&large);
    assert_eq!((message.certificates().count(), message.has_more()), (0, true));
}

#[test]
fn certificate_request_has_algorithms_in_tls_1_2_alone() {
    let first = [0x30, 0];
    let name = {
        let der = read("p384");
        let text = fields("p384").subject.unwrap();
        // The name in DER: a sequence that contains a set, here up to 127 bytes.
        let at = der.windows(2).position(|pair| pair == [0x31, 0x15]).unwrap();
        assert_eq!(&*text, "CN=p384.example");
        der[at - 2..at + 0x17].to_vec()
    };
    let mut authorities = vec![0, 2];
    authorities.extend(first);
    authorities.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
    authorities.extend(&name);
    authorities.extend([0, 1, 7]);
    let len = u16::try_from(authorities.len()).unwrap().to_be_bytes();
    let algorithms = [0, 4, 4, 3, 8, 7];
    let new = [&[2, 1, 64][..], &algorithms, &len, &authorities].concat();
    let old = [&[2, 1, 64][..], &len, &authorities].concat();
    for (body, version, wanted) in [
        (&new, Version::TLS_1_2, &[0x0403, 0x0807][..]),
        (&new, Version::DTLS_1_2, &[0x0403, 0x0807]),
        (&old, Version::TLS_1_1, &[]),
        (&old, Version::DTLS_1_0, &[]),
    ] {
        let request = CertificateRequest::from_body(body, version).unwrap();
        assert_eq!(request.certificate_types(), [1, 64]);
        assert!(request.signature_algorithms().eq(wanted.iter().copied()));
        let texts: Vec<_> = request.authorities().map(|name| name.text()).collect();
        assert_eq!(texts, [Some("".into()), Some("CN=p384.example".into()), None]);
        for len in 0..body.len() {
            assert!(CertificateRequest::from_body(&body[..len], version).is_err());
        }
    }
    let many = [&[0, 4, 0][..], &[0, 0].repeat(512)].concat();
    let request = CertificateRequest::from_body(&many, Version::TLS_1_0).unwrap();
    assert_eq!(request.authorities().count(), 512);
}

#[test]
fn bytes_are_kept_where_they_are_asked_for() {
    let der = read("p256");
    for _ in 0..3 {
        // Each kind has a cache of its own.
        let (kept, other) = (Certificate::from_kept_der(&der), Certificate::from_der(&der));
        assert_eq!((kept.der(), other.der()), (Some(&*der), None));
        assert_eq!(kept, other);
    }
    let long = [&der[..], &[0; MAX_CACHED_CERTIFICATE_LEN]].concat();
    assert_eq!(Certificate::from_kept_der(&long).der(), Some(&*long));
    assert_ne!(Certificate::from_kept_der(&long), Certificate::from_kept_der(&der));
}

/// The first sight is read, the second one is stored, the third one is that of the cache.
#[test]
fn repeated_certificates_are_equal_and_shared() {
    let der = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/p384.der"));
    let [first, second, third] = [(); 3].map(|()| Certificate::from_der(der));
    assert!(first == second && second == third);
    assert!(Arc::ptr_eq(&second.0, &third.0) && !Arc::ptr_eq(&first.0, &second.0));
    let long = vec![0x30; MAX_CACHED_CERTIFICATE_LEN + 1];
    let [_, second, third] = [(); 3].map(|()| Certificate::from_der(&long));
    assert!(second == third && !Arc::ptr_eq(&second.0, &third.0));
}

/// Replicas of a capture stand for servers that send the same certificates again. Each certificate misses twice.
#[cfg(feature = "packets")]
#[test]
#[expect(clippy::print_stdout, reason = "the test is also a report")]
fn cache_hit_rate_grows_with_replicas() {
    use crate::{HuginnNetTls, TlsEvent, TlsObserver};
    use huginn_net_capture::CaptureReader;

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-certificates/tls-certificates.pcap");
    for (replicas, min_percent) in [(1, 60), (10, 90)] {
        let mut certificates = Vec::new();
        // A thread has a cache of its own.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..replicas {
                    let mut events: Vec<huginn_net_core::Event<TlsEvent>> = Vec::new();
                    let observer = TlsObserver::default().handshakes(true);
                    HuginnNetTls::builder_with(observer)
                        .build()
                        .analyze(CaptureReader::open(path).unwrap(), |event| events.push(event))
                        .unwrap();
                    for event in events {
                        if let TlsEvent::Certificates(found) = event.kind {
                            certificates.extend(found.certificates);
                        }
                    }
                }
            });
        });
        // What the cache returns is shared, and what it misses is not.
        let different: BTreeSet<_> = certificates.iter().map(Certificate::sha256).collect();
        let misses = certificates.iter().map(|found| Arc::as_ptr(&found.0)).collect::<BTreeSet<_>>().len();
        let hits = certificates.len() - misses;
        let percent = hits * 100 / certificates.len();
        let (different, lookups) = (different.len(), certificates.len());
        println!(
            "{replicas} replica(s): {hits} hits of {lookups} lookups ({percent} %), {different} certificates"
        );
        // A certificate that shares its place with another one may miss once more.
        assert!(percent >= min_percent, "{replicas} replica(s): {percent} %");
    }
}

/// Names stay; the last byte is of the signature, and the serial number is signed.
#[cfg(feature = "self-signed")]
#[test]
fn broken_signature_is_not_of_its_own_key() {
    for name in ["authority", "rsa1023", "rsa-pss", "p256", "p384", "ed25519"] {
        let der = read(name);
        let serial = der.windows(5).position(|found| found == [0xa0, 3, 2, 1, 2]).unwrap() + 8;
        for at in [serial, der.len() - 1] {
            let mut broken = der.clone();
            broken[at] ^= 1;
            assert_eq!(Certificate::from_kept_der(&broken).is_self_signed(), Some(false), "{name}: {at}");
        }
    }
}

#[cfg(feature = "self-signed")]
#[test]
fn signature_of_another_form_is_not_judged() {
    // The algorithm outside is sha384WithRSAEncryption, the signed one sha256WithRSAEncryption.
    let algorithm = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    let mut other = read("authority");
    let at = other.windows(9).rposition(|found| found == algorithm).unwrap();
    other[at + 8] = 12;
    assert_eq!(Certificate::from_kept_der(&other).is_self_signed(), None);
    // The point is not on the curve.
    let mut no_key = read("p256");
    let point = [3, 0x42, 0, 4];
    let at = no_key.windows(4).position(|found| found == point).unwrap();
    no_key[at + 10] ^= 1;
    assert_eq!(Certificate::from_kept_der(&no_key).is_self_signed(), None);
    // Not the two numbers of ECDSA.
    assert_eq!(Certificate::from_kept_der(&certificate(&[], &[])).is_self_signed(), None);
}

#[cfg(feature = "self-signed")]
#[test]
fn size_of_rsa_keys_is_bounded() {
    let sign = |bytes: &[u8]| bytes.first().is_some_and(|first| first & 0x80 != 0).then_some(0);
    let number = |bytes: &[u8]| value(2, &[sign(bytes).as_slice(), bytes].concat());
    let accepts = |modulus: &[u8], exponent: &[u8]| {
        let key = value(0x30, &[number(modulus), number(exponent)].concat());
        self_signed::rsa_key(&key).is_some()
    };
    let exponent = [1, 0, 1];
    assert!(accepts(&[0xff; 1024], &exponent) && accepts(&[0xff; 64], &[3]));
    assert!(accepts(&[0xff; 64], &[1, 0xff, 0xff, 0xff, 0xff]), "33 bits");
    assert!(!accepts(&[0xff; 64], &[2, 0, 0, 0, 1]), "34 bits");
    assert!(!accepts(&[&[1][..], &[0xff; 1024]].concat(), &exponent), "8,193 bits");
    assert!(!accepts(&[&[0x7f][..], &[0xff; 63]].concat(), &exponent), "511 bits");
    assert!(!accepts(&[&[0xff; 63][..], &[0xfe]].concat(), &exponent), "even");
    for exponent in [&[][..], &[0], &[1], &[2]] {
        assert!(!accepts(&[0xff; 64], exponent), "{exponent:?}");
    }
    assert!(!accepts(&[0xff; 200_000], &exponent) && !accepts(&[0xff; 64], &[0xff; 200_000]));
}

#[cfg(feature = "self-signed")]
#[test]
fn damaged_certificate_is_not_self_signed() {
    for name in ["authority", "rsa-pss", "p256", "p384", "ed25519"] {
        let der = read(name);
        for at in (0..der.len()).step_by(11) {
            let mut damaged = der.clone();
            damaged[at] ^= 0x41;
            assert_ne!(Certificate::from_kept_der(&damaged).is_self_signed(), Some(true), "{name}: {at}");
        }
    }
}
