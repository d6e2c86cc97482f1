//! Names of fingerprints that were not recorded, but that a recorded client also has.

#![allow(clippy::indexing_slicing, clippy::string_slice, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_db::{ClientDatabase, ClientMatch, MatchKind};
use huginn_net_tls::{Ja4, Ja4Raw};

fn builtin(ja4: &str) -> Option<ClientMatch> {
    ClientDatabase::builtin().match_ja4(ja4.parse().unwrap())
}

/// The name, how it was found, and the differences.
fn named(found: Option<ClientMatch>) -> (String, MatchKind, String) {
    let found = found.unwrap();
    let variant = found.variant.map(|variant| variant.to_string()).unwrap_or_default();
    (found.software.to_string(), found.kind, variant)
}

/// The rows of the built-in tables of TLS: library, imitated program, JA4 and stable JA4_r.
fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    ClientDatabase::builtin_tables().iter().flat_map(|(_, text)| {
        let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let columns = lines.next().unwrap();
        let wanted = ["library", "imitates", "ja4", "ja4_stable_r"];
        let places = wanted.map(|name| columns.iter().position(|column| *column == name));
        lines.filter_map(move |line| {
            let places = [places[0]?, places[1]?, places[2]?, places[3]?];
            Some(places.map(|place| line[place]))
        })
    })
}

/// The same lists with another head and more extensions.
fn changed(raw: &str, head: impl Fn(&str) -> String, more: &[&str]) -> Ja4 {
    let (start, lists) = raw.split_once('_').unwrap();
    let mut parts: Vec<String> = lists.split('_').map(str::to_owned).collect();
    let recorded = parts[1].split(',').filter(|name| !name.is_empty());
    let mut extensions: Vec<&str> = recorded.chain(more.iter().copied()).collect();
    extensions.sort_unstable();
    parts[1] = extensions.join(",");
    format!("{}_{}", head(start), parts.join("_")).parse::<Ja4Raw>().unwrap().ja4()
}

/// Hellos that other projects publish as those of these programs, and recordings of Debian's curl.
#[test]
fn hash_names_client_and_difference() {
    let rows = [
        ("t13d1517h2_8daaf6152771_b6f405a00624", "Chromium 132-152", MatchKind::Stable, "resumed"),
        ("t13i1515h2_8daaf6152771_d8a2da3f94cd", "Chromium 132-152", MatchKind::Variant, "to an address"),
        ("t13d1517h2_8daaf6152771_dcad5a053991", "Chromium 132-152", MatchKind::Variant, "other field trial"),
        (
            "t13i3111h2_e8f1e7e78f70_b26ce05bbdd6",
            "libcurl 7.88 and older",
            MatchKind::Variant,
            "to an address",
        ),
    ];
    for (ja4, name, kind, variant) in rows {
        assert_eq!(named(builtin(ja4)), (name.to_owned(), kind, variant.to_owned()), "{ja4}");
    }
}

#[test]
fn every_variant_names_library_of_its_row() {
    let mut count = 0;
    for [library, imitates, ja4, raw] in rows().filter(|[library, ..]| !library.is_empty()) {
        let same = str::to_owned;
        let other_name = |head: &str| {
            let flag =
                if head.contains('d') { head.replacen('d', "i", 1) } else { head.replacen('i', "d", 1) };
            head.strip_prefix('d').map_or(flag, |rest| format!("d{rest}"))
        };
        let other_alpn =
            |head: &str| format!("{}{}", &head[..8], if head.ends_with("h2") { "00" } else { "h2" });
        let mut variants = vec![
            ja4.parse().unwrap(),
            changed(raw, other_name, &[]),
            changed(raw, other_alpn, &[]),
            changed(raw, same, &["0015", "0023"]),
        ];
        if raw[1..].starts_with("13") {
            variants
                .extend([changed(raw, same, &["0029"]), changed(raw, other_name, &["0023", "0029", "002a"])]);
        }
        for variant in variants {
            let found = ClientDatabase::builtin().match_ja4(variant);
            if found.is_none() && raw.split('_').nth(2) == Some("") {
                continue;
            }
            let found = found.unwrap_or_else(|| panic!("{variant} of {raw}"));
            if imitates.is_empty() {
                let named = found.software.library.as_deref().unwrap_or_default();
                assert!(named.split(" or ").any(|name| name == library), "{variant} of {raw}: {named}");
            }
            count += 1;
        }
    }
    assert!(count > 1_000, "{count}");
}

#[test]
fn unknown_cipher_suites_leave_library() {
    let found = builtin("t13d0512h2_000000000001_b26ce05bbdd6").unwrap();
    assert_eq!(
        named(Some(found.clone())),
        ("OpenSSL".to_owned(), MatchKind::Structural, "other cipher suites or settings".to_owned())
    );
    assert_eq!((found.software.application.as_deref(), found.software.candidates.len()), (None, 0));
    // rustls without TLS 1.3, and wolfSSL when it resumes a session: recorded, but not in the tables.
    for (ja4, library) in [
        ("t12d100800_61a7ad8aa9b6_2541d505c05f", "rustls"),
        ("t13d600900_68b42a500d9a_378830ebc602", "wolfSSL"),
    ] {
        assert_eq!(builtin(ja4).unwrap().software.to_string(), library, "{ja4}");
    }
    assert_eq!(builtin("q13d0512h2_000000000001_b26ce05bbdd6"), None, "no QUIC client has these extensions");
    assert_eq!(
        builtin("t13d310000_000000000001_000000000000"),
        None,
        "no extensions are those of many clients"
    );
}

#[test]
fn long_list_of_cipher_suites_names_library() {
    let name = |ja4| builtin(ja4).map(|found| named(Some(found)));
    let want =
        |library: &str| Some((library.to_owned(), MatchKind::Structural, "other extensions".to_owned()));
    // Of OpenSSL 3, of Windows 10, and of Apple's systems with TLS_FALLBACK_SCSV.
    assert_eq!(name("t13d3112h2_e8f1e7e78f70_000000000001"), want("OpenSSL"));
    assert_eq!(name("t12d2112h2_76e208dd3e22_000000000001"), want("Schannel"));
    assert_eq!(name("t13d2712h2_cda1b1a5bd07_000000000001"), want("Apple"));
    // Three suites of TLS 1.3 are those of many clients.
    assert_eq!(name("t13d0312h2_55b375c5d22e_000000000001"), None);
}

/// Hashes of lists that documents give: no program was recorded.
#[test]
fn constructed_clients_are_named_by_hash() {
    let rows = [
        ("t12d210800_76e208dd3e22_7af1ed941c26", "Schannel", "Windows 10 1709"),
        ("t12d420600_a4993b992045_b19191599a6a", "JSSE", "Java SSLSocket"),
        ("t13d181200_5d04281c6031_02c8e53ee398", "BoringSSL", "Node.js in Electron"),
        ("t12d1410h2_c866b44c5a26_b5b8faed2b99", "NSS", "Firefox"),
        ("t13d1314h1_f57a46bbacb6_14788d8d241b", "Apple", "URLSession"),
        ("t12d1809h1_98a373aa5100_17c8ccb8ce8c", "Conscrypt", "Android 7"),
    ];
    for (ja4, library, candidate) in rows {
        let software = builtin(ja4).unwrap_or_else(|| panic!("{ja4}")).software;
        assert_eq!(software.library.as_deref(), Some(library), "{ja4}");
        assert!(
            software.candidates.iter().any(|name| name.starts_with(candidate)),
            "{:?}",
            software.candidates
        );
        assert!(software.evidence.iter().any(|text| text.starts_with("constructed from ")), "{ja4}");
    }
}

/// tls-client, as OkHttp, has the extensions of Conscrypt, which are also those of BoringSSL in other programs.
#[test]
fn shared_extensions_name_both_libraries() {
    let found = builtin("t13d0713h2_04ca88ad2b9b_eca864cca44a").unwrap();
    assert_eq!(
        named(Some(found.clone())),
        (
            "Conscrypt or BoringSSL".to_owned(),
            MatchKind::Structural,
            "other cipher suites or settings".to_owned()
        )
    );
    assert!(found.software.or_imitation);
    assert_eq!(*found.software.candidates, ["Conscrypt or BoringSSL or an imitation".into()]);
    // These suites are of BoringSSL alone.
    let found = builtin("t13d1613h2_46e7e9700bed_eca864cca44a").unwrap();
    assert_eq!(found.software.to_string(), "BoringSSL");
}

const HEADER: &str = "ja4_stable\tja4_stable_r\tlibrary\tapplication\town_settings";
const LISTS: &str = "1301,1302_000d,002b,002d,0033_0403,0804";

/// A database with a client of the library Lib for each of these heads.
fn database(clients: &[(&str, &str)]) -> ClientDatabase {
    let row = |(head, application): &(&str, &str)| {
        let raw: Ja4Raw = format!("{head}_{LISTS}").parse().unwrap();
        format!("{}\t{raw}\tLib\t{application}\tyes\n", raw.ja4())
    };
    let rows: String = clients.iter().map(row).collect();
    ClientDatabase::parse(&format!("{HEADER}\n{rows}")).unwrap()
}

fn ja4(head: &str) -> Ja4 {
    format!("{head}_{LISTS}").parse::<Ja4Raw>().unwrap().ja4()
}

#[test]
fn shared_variant_names_library_and_all_candidates() {
    // Two clients of BoringSSL, one in each of two field trials.
    let row = |raw: &str, application: &str| {
        let raw: Ja4Raw = raw.parse().unwrap();
        format!("{}\t{raw}\tBoringSSL\t{application}\tyes\n", raw.ja4())
    };
    let one = row("t13d0205h2_1301,1302_000d,002b,0033_0403", "One");
    let two = row("t13d0206h2_1301,1302_000d,002b,0033,ca34_0403", "Two");
    let database = ClientDatabase::parse(&format!("{HEADER}\n{one}{two}")).unwrap();
    let trial: Ja4Raw = "t13d0206h2_1301,1302_000d,002b,0033,12e0_0403".parse().unwrap();
    let found = database.match_ja4(trial.sorted().ja4());
    let candidates: Vec<String> =
        found.iter().flat_map(|found| &found.software.candidates).map(ToString::to_string).collect();
    assert_eq!(candidates, ["One", "Two"]);
    assert_eq!(named(found), ("BoringSSL".to_owned(), MatchKind::Variant, "other field trial".to_owned()));
}

/// A program with the ALPN of the hello is nearer than one with another.
#[test]
fn same_alpn_decides_before_other_alpn() {
    let database = database(&[("t13d0206h2", "One"), ("t13d0206h1", "Two")]);
    let found = database.match_ja4(ja4("t13i0205h2"));
    assert_eq!(named(found), ("One".to_owned(), MatchKind::Variant, "to an address".to_owned()));
    let found = database.match_ja4(ja4("t13d020500")).unwrap();
    let candidates: Vec<&str> = found.software.candidates.iter().map(|name| &**name).collect();
    assert_eq!((found.software.to_string(), candidates), ("Lib".to_owned(), vec!["Two", "One"]));
}

#[test]
fn other_alpn_does_not_name_application() {
    let database = database(&[("t13d0206h2", "One")]);
    let found = database.match_ja4(ja4("t13d020500")).unwrap();
    assert_eq!(named(Some(found.clone())), ("Lib".to_owned(), MatchKind::Variant, "other ALPN".to_owned()));
    assert_eq!(found.software.candidates.len(), 1);
}

#[test]
fn other_version_or_transport_is_no_variant() {
    let database = database(&[("t13d0206h2", "One")]);
    for head in ["t12d0206h2", "q13d0206h2"] {
        let found = database.match_ja4(ja4(head));
        assert!(found.is_none_or(|found| found.kind == MatchKind::Structural), "{head}");
    }
}

/// Python's `hashlib` computed the hashes of `000d,002b,0033_0403,0804` and `002b,002d,0033_`.
#[test]
fn values_of_other_tools_are_recognised() {
    let found =
        database(&[("t13d0206h2", "One")]).match_ja4("t13d0205h2_62ed6f6ca7ad_7a92526c31dc".parse().unwrap());
    assert_eq!(
        named(found),
        ("One".to_owned(), MatchKind::Variant, "as ja4_s1 of huginn-net 2.2".to_owned())
    );
    let raw: Ja4Raw = "t13d0205h2_1301,1302_002b,002d,0033".parse().unwrap();
    let table = format!("{HEADER}\n{}\t{raw}\tLib\tOne\tyes\n", raw.ja4());
    let found = ClientDatabase::parse(&table)
        .unwrap()
        .match_ja4("t13d0205h2_62ed6f6ca7ad_51e17fb48fcb".parse().unwrap());
    assert_eq!(named(found), ("One".to_owned(), MatchKind::Variant, "as Suricata hashes it".to_owned()));
}

#[test]
fn table_without_lists_has_no_variants() {
    let table = "ja4_stable\tlibrary\tapplication\nt13d0206h2_62ed6f6ca7ad_000000000001\tLib\tOne\n";
    let database = ClientDatabase::parse(table).unwrap();
    assert!(database.match_ja4("t13d0206h2_62ed6f6ca7ad_000000000001".parse().unwrap()).is_some());
    assert_eq!(database.match_ja4("t13i0205h2_62ed6f6ca7ad_000000000001".parse().unwrap()), None);
}
