//! The database of clients: its tables, and the names that it gives to recorded hellos.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use huginn_net_db::{ClientDatabase, ClientTableError, ClientTableFault, MatchKind, Software};
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{ClientHello, Ja3Hash, Ja4, Ja4Raw, Transport};

/// The rows of a table as values by column.
fn rows(text: &'static str) -> impl Iterator<Item = impl Fn(&str) -> &'static str> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines.map(move |line| {
        let columns = columns.clone();
        let values: Vec<&str> = line.split('\t').collect();
        move |name: &str| columns.iter().position(|column| *column == name).map_or("", |index| values[index])
    })
}

#[test]
fn builtin_contains_all_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    let files: BTreeSet<String> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let builtin: BTreeSet<String> =
        ClientDatabase::builtin_tables().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, builtin);
}

#[test]
fn tables_parse_alone_and_together() {
    let tables = ClientDatabase::builtin_tables().iter();
    let alone: usize = tables.map(|(name, text)| ClientDatabase::parse(text).expect(name).len()).sum();
    let together = ClientDatabase::builtin().len();
    assert!((100..=alone).contains(&together), "{together} of {alone}");
}

/// `docs/clients.md` says how many rows were recorded, and how many are constructed.
#[test]
fn page_counts_rows_of_each_source() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/clients.md")).unwrap();
    let sources = || {
        let tables = ClientDatabase::builtin_tables().iter();
        tables.flat_map(|(_, text)| rows(text).map(|row| row("source")))
    };
    let constructed = sources().filter(|source| *source == "constructed").count();
    for (source, count) in [("recorded", sources().count() - constructed), ("constructed", constructed)] {
        let line = format!("| `{source}` | {count} |");
        assert!(page.contains(&line), "docs/clients.md needs: {line}");
    }
}

#[test]
fn every_row_has_consistent_fingerprints_and_evidence() {
    for (name, text) in ClientDatabase::builtin_tables() {
        for row in rows(text) {
            let context = format!("{name}: {} {}", row("ja4_stable"), row("application"));
            assert!(!row("evidence").is_empty(), "{context}");
            assert_eq!(row("date").len(), 10, "{context}");
            if !row("ja4_stable").is_empty() {
                let [ja4_stable, ja4]: [Ja4; 2] =
                    ["ja4_stable", "ja4"].map(|name| row(name).parse().unwrap());
                assert_eq!(row("ja4_stable_r").parse::<Ja4Raw>().unwrap().ja4(), ja4_stable, "{context}");
                assert_eq!(ja4.cipher_hash(), ja4_stable.cipher_hash(), "{context}");
            }
        }
    }
}

#[test]
fn no_fingerprint_belongs_to_two_libraries() {
    let database = ClientDatabase::builtin();
    for (name, text) in ClientDatabase::builtin_tables() {
        for row in rows(text).filter(|row| !row("ja4_stable").is_empty() && !row("library").is_empty()) {
            let found = database.match_ja4(row("ja4_stable").parse().unwrap()).unwrap();
            assert!(
                found.software.library.is_some(),
                "{name}: {}: {:?}",
                row("ja4_stable"),
                found.software.candidates
            );
        }
    }
}

#[test]
fn clients_of_phones_and_devices_are_named() {
    let table = [
        // OkHttp 3.12 with Conscrypt 1.4, which other clients of Android may send, all suites of Conscrypt 2.5, and QtWebEngine 5.8.
        ("t12d1209h2_d34a8e72043a_b39be8c56a14", "Conscrypt", "Conscrypt"),
        ("t13d1713h1_5b57614c22b0_eca864cca44a", "Conscrypt or BoringSSL", "Conscrypt or BoringSSL"),
        ("t12d1710h2_67e6df579eba_4a7a952b215a", "BoringSSL", "Chromium 48-55"),
        // OpenSSL 1.0.1e, and Mbed TLS 2.16 with a pre-shared key.
        ("t12d800600_15c493246000_570a46b37db9", "OpenSSL", "OpenSSL"),
        ("t12d990700_0c0515f0dee4_7b0ba9b4cf08", "mbed TLS", "mbed TLS"),
    ];
    for (ja4, library, name) in table {
        let software = ClientDatabase::builtin().match_ja4(ja4.parse().unwrap()).unwrap().software;
        assert_eq!(software.library.as_deref(), Some(library), "{ja4}");
        assert!(software.to_string().starts_with(name), "{ja4}: {software}");
    }
}

const HEADER: &str = "ja4_stable\tlibrary\tlibrary_version\tapplication\tapplication_version\timitates\town_settings\tja4_stable_r\n";
const ONE: &str = "t13d0304h2_55b375c5d22e_000000000001";
const TWO: &str = "t13d0304h2_55b375c5d22e_000000000002";

fn software(rows: &[&str]) -> Software {
    let text = format!("{HEADER}{}", rows.iter().map(|row| format!("{row}\t\n")).collect::<String>());
    let found = ClientDatabase::parse(&text).unwrap().match_ja4(ONE.parse().unwrap()).unwrap();
    assert_eq!(found.kind, MatchKind::Stable);
    (*found.software).clone()
}

#[test]
fn application_with_own_settings_is_named() {
    let rows = [
        format!("{ONE}\tLib\t1.1\tApp\t10.1\t\tyes"),
        format!("{ONE}\tLib\t1.2\tApp\t11.1\t\tyes"),
        format!("{TWO}\tLib\t1.3\tApp\t13.0\t\tyes"),
    ];
    let software = software(&rows.each_ref().map(String::as_str));
    assert_eq!(
        (software.library.as_deref(), software.to_string()),
        (Some("Lib"), "App 12 and older".to_owned())
    );
    assert_eq!(software.candidates.iter().map(|text| &**text).collect::<Vec<_>>(), ["App 12 and older"]);
}

#[test]
fn default_settings_name_library_only() {
    let rows = [format!("{ONE}\tLib\t1.1\tApp\t10.1\t\t"), format!("{TWO}\tLib\t1.3\tApp\t13.0\t\t")];
    let software = software(&rows.each_ref().map(String::as_str));
    assert_eq!(
        (software.application.as_deref(), software.to_string()),
        (None, "Lib 1.2 and older".to_owned())
    );
}

#[test]
fn several_applications_leave_library() {
    let rows = [
        format!("{ONE}\tLib\t1.1\tApp\t10.1\t\tyes"),
        format!("{ONE}\tLib\t1.1\tOther\t2\t\tyes"),
        format!("{TWO}\tLib\t2.0\tApp\t11.0\t\tyes"),
    ];
    let software = software(&rows.each_ref().map(String::as_str));
    assert_eq!(
        (software.application.as_deref(), software.versions.as_deref()),
        (None, Some("1.1 and older"))
    );
    assert_eq!(
        software.candidates.iter().map(|text| &**text).collect::<Vec<_>>(),
        ["App 10 and older", "Other"]
    );
}

#[test]
fn imitations_are_candidates_behind_genuine_clients() {
    let rows = [
        format!("{ONE}\tLib\t\tCloak\t3.1\tBrowser 99\t"),
        format!("{ONE}\tLib\t\tBrowser\t98.1\t\tyes"),
        format!("{TWO}\tLib\t\tBrowser\t101.0\t\tyes"),
        format!("{TWO}\tLib\t\tCloak\t3.1\tBrowser 102\t"),
    ];
    let software = software(&rows.each_ref().map(String::as_str));
    assert_eq!(software.to_string(), "Browser 100 and older");
    assert_eq!(
        software.candidates.iter().map(|text| &**text).collect::<Vec<_>>(),
        ["Browser 100 and older", "Cloak as Browser 101 and older"]
    );
}

#[test]
fn imitations_alone_name_what_they_imitate() {
    let rows = [
        format!("{ONE}\tLib\t\tCloak\t3.1\tBrowser 99\t"),
        format!("{TWO}\tLib\t\tCloak\t3.1\tBrowser 105 on X\t"),
    ];
    let software = software(&rows.each_ref().map(String::as_str));
    assert_eq!((software.library.as_deref(), software.or_imitation), (Some("Lib"), true));
    assert_eq!(software.to_string(), "Browser 104 and older");
    assert_eq!(
        software.candidates.iter().map(|text| &**text).collect::<Vec<_>>(),
        ["Browser 104 and older", "Cloak as Browser 104 and older"]
    );
}

#[test]
fn two_libraries_are_both_named_and_three_are_not() {
    let row = |library: &str| format!("{ONE}\t{library}\t\tApp of {library}\t\t\tyes");
    let [one, two, three] = ["One", "Two", "Three"].map(row);
    let both = software(&[&one, &two]);
    assert_eq!((both.to_string(), both.application.as_deref()), ("Two or One".to_owned(), None));
    assert_eq!(software(&[&one, &two, &three]).library, None);
}

#[test]
fn evidence_says_that_a_row_is_constructed() {
    let table = |source: &str| {
        format!(
            "ja4_stable\tlibrary\tapplication\tsource\tevidence\tdate\n{ONE}\tLib\tApp\t{source}\tRFC 1\t2026-11-29\n"
        )
    };
    let evidence = |source: &str| {
        let found = ClientDatabase::parse(&table(source)).unwrap().match_ja4(ONE.parse().unwrap()).unwrap();
        found.software.evidence.join("; ")
    };
    assert_eq!(evidence("constructed"), "constructed from RFC 1 (2026-11-29)");
    assert_eq!([evidence("recorded"), evidence("")], ["RFC 1 (2026-11-29)"; 2]);
    let error = ClientDatabase::parse(&table("guessed")).unwrap_err();
    assert_eq!(error.to_string(), "line 2: source: 'guessed' is none of 'recorded', 'constructed' and empty");
}

#[test]
fn ja3_names_what_all_its_clients_share() {
    let ja3 = "00112233445566778899aabbccddeeff";
    let table = format!(
        "ja4_stable\tja3_hash\tlibrary\tapplication\town_settings\n{ONE}\t{ja3}\tLib\tOne\tyes\n{TWO}\t{ja3}\tLib\tTwo\tyes\n"
    );
    let hash = Ja3Hash(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes());
    let found = ClientDatabase::parse(&table).unwrap().match_ja3(hash).unwrap();
    assert_eq!(
        (found.software.library.as_deref(), found.software.application.as_deref()),
        (Some("Lib"), None)
    );
}

#[test]
fn http2_names_no_tls_library() {
    let table =
        "akamai_hash\tlibrary\tapplication\town_settings\n52d84b11737d980aef856699f885ca86\tLib\tApp\tyes\n";
    let hash = AkamaiHash(0x52d8_4b11_737d_980a_ef85_6699_f885_ca86_u128.to_be_bytes());
    let database = ClientDatabase::parse(table).unwrap();
    let found = database.match_akamai(hash).unwrap();
    assert_eq!(
        (found.software.library.as_deref(), found.software.application.as_deref()),
        (None, Some("App"))
    );
    assert!(database.len() == 1 && database.or_builtin().len() > 100);
}

#[test]
fn http3_names_clients_by_the_whole_text() {
    let text = "1:65536;GREASE|m,a,s,p";
    let table = format!("http3\tlibrary\tapplication\town_settings\n{text}\tLib\tApp\tyes\n");
    let database = ClientDatabase::parse(&table).unwrap();
    let found = database.match_http3(text).unwrap();
    assert_eq!((found.software.library.as_deref(), found.software.to_string()), (None, "App".to_owned()));
    assert!(database.match_http3("1:65536|m,a,s,p").is_none());
    let error = ClientDatabase::parse("http3\tapplication\n\tApp\n").unwrap_err();
    assert_eq!(error.line, 2);
    let all = database.or_builtin();
    let chromium = "1:65536;6:262144;7:100;51:1;GREASE|m,a,s,p";
    assert!(all.match_http3(text).is_some() && all.match_http3(chromium).is_none() && all.len() > 100);
}

#[test]
fn similar_fingerprint_names_library_within_limit() {
    let hello = |suites: &[u16], kinds: &[u16]| {
        let mut body = vec![3, 3];
        body.extend([0; 33]);
        let list =
            |numbers: &[u16]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        body.extend(u16::try_from(suites.len() * 2).unwrap().to_be_bytes());
        body.extend(list(suites));
        body.extend([1, 0]);
        let extensions: Vec<u8> =
            kinds.iter().flat_map(|kind| [list(&[*kind]), vec![0, 0]].concat()).collect();
        body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
        body.extend(extensions);
        let len = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[1, 0][..], &len, &body].concat()
    };
    let parse =
        |bytes: &[u8]| ClientHello::from_message(bytes, Transport::Tls).unwrap().unwrap().value.into_owned();
    let suites = [0xfe01, 0xfe02];
    let known = parse(&hello(&suites, &[0xfa01, 0xfa02]));
    assert_eq!(known.family(), None);
    let table = format!(
        "ja4_stable\tja4_stable_r\tlibrary\tapplication\n{}\t{}\tLib\tApp\n",
        known.ja4_stable(),
        known.ja4_stable_r()
    );
    let database = ClientDatabase::parse(&table).unwrap();
    let library = |kinds: &[u16]| database.match_hello(&parse(&hello(&suites, kinds)));
    let near = library(&[0xfa01, 0xfa02, 0xfa03, 0xfa04, 0xfa05]).unwrap();
    assert_eq!((near.kind, near.software.library.as_deref()), (MatchKind::Structural, Some("Lib")));
    assert!(!near.is_recorded());
    assert_eq!(library(&[0xfa03, 0xfa04, 0xfa05, 0xfa06]), None, "six differences");
    let other_suites = parse(&hello(&[0xfe03], &[0xfa01, 0xfa02, 0xfa03]));
    assert_eq!(database.match_hello(&other_suites), None, "neither list is known");
}

#[test]
fn errors_name_line_and_fault() {
    let error = |text: &str| match ClientDatabase::parse(text) {
        Err(ClientTableError { line, fault, .. }) => (line, fault),
        Ok(_) => panic!("{text:?} parses"),
    };
    let row = "t13d0304h2_55b375c5d22e_000000000001";
    let faults = [
        (error("ja4_stable\tcolour\n"), (1, ClientTableFault::UnknownColumn { name: "colour".into() })),
        (
            error("ja4_stable\tja4_stable\n"),
            (1, ClientTableFault::RepeatedColumn { name: "ja4_stable".into() }),
        ),
        (error("# comment\n\nlibrary\n"), (3, ClientTableFault::KeyColumn)),
        (error("ja4_stable\thassh\n"), (1, ClientTableFault::KeyColumn)),
        (
            error(&format!("ja4_stable\tapplication\n{row}\tA\tB\n")),
            (2, ClientTableFault::FieldCount { found: 3, columns: 2 }),
        ),
        (
            error(&format!("ja4_stable\tapplication\n{row}\t\n")),
            (2, ClientTableFault::Empty { column: "application" }),
        ),
        (
            error(&format!("ja4_stable\tapplication\town_settings\n{row}\tA\tYes\n")),
            (2, ClientTableFault::OwnSettings { value: "Yes".into() }),
        ),
        (
            error(&format!("ja4_stable\tapplication\tdiffers\n{row}\tA\talps,ech\n")),
            (2, ClientTableFault::Field { value: "ech".into() }),
        ),
        (
            error(&format!("ja4_stable\tapplication\tja4_stable_r\n{row}\tA\tt13d0102h2_1301_002b_0403\n")),
            (2, ClientTableFault::OtherLists { ja4_stable: row.parse().unwrap() }),
        ),
        (error("hassh\tapplication\nABC\tA\n"), (2, ClientTableFault::Hash { value: "ABC".into() })),
    ];
    for (found, want) in faults {
        assert_eq!(found, want);
    }
    assert!(matches!(error("ja4_stable\tapplication\nx\tA\n"), (2, ClientTableFault::Ja4(_))));
    assert!(ClientDatabase::parse("").unwrap().is_empty());
}

/// The hello of curl 7.88.1 with OpenSSL 3.0.
const CURL: &[u8] = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin");

#[test]
fn unknown_fingerprint_names_library_and_nearest_client() {
    let hello = ClientHello::from_records(CURL).unwrap().unwrap().value;
    let known = ClientDatabase::builtin().match_hello(&hello).unwrap();
    assert_eq!((known.kind, known.software.library.as_deref()), (MatchKind::Exact, Some("OpenSSL")));

    let empty = ClientDatabase::default().match_hello(&hello).unwrap();
    assert_eq!((empty.kind, empty.software.library.as_deref()), (MatchKind::Structural, Some("OpenSSL")));
    assert_eq!((empty.software.application.as_deref(), empty.nearest), (None, None));

    // The same lists without extension 0x0016 and with 0x00aa.
    let raw = hello.ja4_stable_r().to_string().replace(",0016,", ",").replace(",0033_", ",0033,00aa_");
    let similar: Ja4Raw = raw.parse().unwrap();
    let table =
        format!("ja4_stable\tapplication\tlibrary\tja4_stable_r\n{}\tA\tOpenSSL\t{similar}\n", similar.ja4());
    let found = ClientDatabase::parse(&table).unwrap().match_hello(&hello).unwrap();
    let nearest = found.nearest.unwrap();
    assert_eq!((found.kind, nearest.ja4_stable), (MatchKind::Structural, similar.ja4()));
    assert_eq!(nearest.difference.to_string(), "with extensions 0016; without extensions 00aa");
}

#[test]
fn hello_with_thousands_of_extensions_has_no_nearest_client() {
    let extensions = |count: usize| -> String {
        (0x1000..0x1000 + count).map(|kind| format!("{kind:04x}")).collect::<Vec<_>>().join(",")
    };
    let raw = |count| -> Ja4Raw { format!("t13d0199h2_1301_{}_0403", extensions(count)).parse().unwrap() };
    let database = ClientDatabase::builtin();
    assert!(database.nearest(&raw(200)).is_some());
    assert!(database.nearest(&raw(20_000)).is_none());
}
