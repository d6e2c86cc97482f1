//! The rows of `docs/ja4-conformance.md`. An independent Python program computed the values from the definition.

use huginn_net_tls::extension_type as kind;

use super::parts::{Parts, alpn, empty, long_list, server_name, signatures, versions};

const PAGE: &str = include_str!("../../../../docs/ja4-conformance.md");

/// Builds the hello that each row changes: three cipher suites; supported_versions, signature_algorithms,
/// supported_groups and key_share.
fn base() -> Parts {
    let groups = (kind::SUPPORTED_GROUPS, long_list(&[0x001d, 0x0017]));
    let mut parts = Parts::small().with(groups);
    parts.extensions.swap(2, 3);
    parts
}

fn named() -> Parts {
    base().with(server_name(b"example.org"))
}

fn with_alpn(values: &[&[u8]]) -> Parts {
    named().with(alpn(values))
}

/// Builds the hello with another supported_versions, its first extension.
fn offering(offered: &[u16]) -> Parts {
    let mut parts = named();
    parts.extensions[0] = versions(offered);
    parts
}

fn with_cipher_suites(more: &[u16]) -> Parts {
    let mut parts = named();
    parts.cipher_suites.extend(more);
    parts
}

fn with_extensions(extensions: Vec<(u16, Vec<u8>)>) -> Parts {
    Parts { extensions, ..Parts::small() }
}

#[test]
fn rows_have_the_values_of_the_page() {
    let mut greased = with_cipher_suites(&[0x2a2a]).with(empty(0xfafa));
    greased.extensions.insert(0, empty(0x5a5a));
    let mut greased_algorithms = named();
    greased_algorithms.extensions[1] = signatures(&[0x4a4a, 0x0403, 0x0804]);
    let mut without_algorithms = named();
    without_algorithms.extensions.remove(1);
    let hundred = Parts { cipher_suites: (0x2000..0x2064).collect(), ..named() };

    let rows = [
        ("plain", with_alpn(&[b"h2"]), "t13d0306h2_55b375c5d22e_e12c865f31a5"),
        ("alpn-http", with_alpn(&[b"http/1.1"]), "t13d0306h1_55b375c5d22e_e12c865f31a5"),
        ("alpn-one", with_alpn(&[b"z"]), "t13d0306zz_55b375c5d22e_e12c865f31a5"),
        ("alpn-first-empty", with_alpn(&[b"", b"h2"]), "t13d030600_55b375c5d22e_e12c865f31a5"),
        ("alpn-no-values", with_alpn(&[]), "t13d030600_55b375c5d22e_e12c865f31a5"),
        ("alpn-grease", with_alpn(&[b"\x0a\x0a", b"h2"]), "t13d03060a_55b375c5d22e_e12c865f31a5"),
        ("alpn-space", with_alpn(&[b"h2 "]), "t13d030660_55b375c5d22e_e12c865f31a5"),
        ("alpn-one-end", with_alpn(&[b"\x30\xab"]), "t13d03063b_55b375c5d22e_e12c865f31a5"),
        ("sni-address", base().with(server_name(b"192.0.2.1")), "t13d030500_55b375c5d22e_e12c865f31a5"),
        ("sni-empty", base().with(empty(kind::SERVER_NAME)), "t13d030500_55b375c5d22e_e12c865f31a5"),
        ("grease-lists", greased, "t13d030500_55b375c5d22e_e12c865f31a5"),
        ("grease-algorithms", greased_algorithms, "t13d030500_55b375c5d22e_e12c865f31a5"),
        ("grease-version", offering(&[0xfafa, 0x0304, 0x0303]), "t13d030500_55b375c5d22e_e12c865f31a5"),
        ("grease-alike", with_cipher_suites(&[0x0a1a]), "t13d040500_e63ade0db64e_e12c865f31a5"),
        ("version-draft", offering(&[0x7f1c, 0x0304, 0x0303]), "t00d030500_55b375c5d22e_e12c865f31a5"),
        ("version-order", offering(&[0x0303, 0x0304]), "t13d030500_55b375c5d22e_e12c865f31a5"),
        ("scsv", with_cipher_suites(&[0x00ff, 0x5600]), "t13d050500_0afc1687a68f_e12c865f31a5"),
        ("count-99", hundred, "t13d990500_1acc4ce2b236_e12c865f31a5"),
        (
            "algorithms-cert",
            named().with((0x0032, long_list(&[0x0601, 0x0501]))),
            "t13d030600_55b375c5d22e_39d0ad3b269c",
        ),
        ("algorithms-none", without_algorithms, "t13d030400_55b375c5d22e_3a62dcb2b4a6"),
        ("extensions-none", with_extensions(vec![]), "t12i030000_55b375c5d22e_000000000000"),
        (
            "extensions-unlisted",
            with_extensions(vec![server_name(b"example.org"), alpn(&[b"h2"])]),
            "t12d0302h2_55b375c5d22e_000000000000",
        ),
        (
            "extensions-new",
            named().with(empty(0x44cd)).with(empty(0xfe0d)).with(empty(0xca34)),
            "t13d030800_55b375c5d22e_43d7ca4e2cac",
        ),
        (
            "extensions-doubled",
            named().with(empty(0x0017)).with(empty(0x0017)),
            "t13d030700_55b375c5d22e_6000dae1c3c2",
        ),
    ];
    for (name, parts, ja4) in rows {
        assert_eq!(parts.hello().ja4().to_string(), ja4, "{name}");
        let is_row =
            |line: &str| line.starts_with(&format!("| `{name}` |")) && line.contains(&format!("`{ja4}`"));
        assert!(PAGE.lines().any(is_row), "{name} is not a row of the page");
    }
}
