//! Text, lints and source lines of the built-in database.

#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use huginn_net_db::Database;
use huginn_net_tcp::Mtu;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("signatures");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn text_concatenates_files_by_name() {
    let files = files();
    let all: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    assert_eq!(Database::builtin_text(), all);
    assert!(files.iter().all(|file| fs::read(file).unwrap().ends_with(b"\n")));
}

#[test]
fn parses_without_error_or_lint() {
    let database = Database::parse(Database::builtin_text()).unwrap();
    assert_eq!(database.lint(), []);
    assert_eq!(database.stats(), Database::builtin().stats());
    assert!(database.stats().tcp_request > 100 && database.stats().tcp_response > 100);
}

#[test]
fn mtu_with_several_causes_names_all() {
    let database = Database::builtin();
    let table = [
        (1500, Some("Ethernet")),
        (1420, Some("WireGuard, mobile network or clamped MSS")),
        (1440, Some("WireGuard, mobile network or clamped MSS")),
        (1446, Some("AWS VPN or another IPsec tunnel")),
        (1480, Some("IPIP tunnel, 6in4 tunnel or the MSS of IPv6")),
        (1234, None),
    ];
    for (mtu, expected) in table {
        assert_eq!(database.match_mtu(Mtu(mtu)).map(|link| &**link), expected, "{mtu}");
    }
}

#[test]
fn each_file_lints_with_builtin_classes() {
    let base = Database::builtin();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let database = Database::parse_fragment(&text, base).unwrap();
        assert_eq!(database.lint(), [], "{}", file.display());
    }
    let unknown = "[tcp:request]\nlabel = s:!:tool:\nsys = Unknown OS\nsig = *:64:0:*:*,*:mss::0\n";
    assert_eq!(Database::parse_fragment(unknown, base).unwrap().lint().len(), 1);
}

/// Totals count names without flavors. Only programs that are based on the named one are in a flavor.
#[test]
fn alternative_software_is_in_the_name() {
    let database = Database::builtin();
    let labels = database.http_request().iter().chain(database.http_response());
    for label in labels.map(|entry| &entry.label) {
        let flavor = format!(" {}", label.flavor.as_deref().unwrap_or_default());
        let mut alternatives = flavor.split(" or ").skip(1);
        let is_version = |text: &str| {
            ["newer", "older", "based on", "a browser based on it"].iter().any(|rest| text.starts_with(rest))
        };
        assert!(alternatives.all(is_version), "{label}");
    }
}

#[test]
fn builtin_source_names_file_and_line() {
    let mut line = 0;
    for file in files() {
        let name = file.file_name().unwrap().to_str().unwrap();
        for (index, _) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            line += 1;
            let source = Database::builtin_source(line).unwrap();
            assert_eq!(source.to_string(), format!("{name}:{}", index + 1));
        }
    }
    assert_eq!(Database::builtin_source(0), None);
    assert_eq!(Database::builtin_source(line + 1), None);
}
