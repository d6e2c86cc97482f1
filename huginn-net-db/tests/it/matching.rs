//! Matches of TCP signatures, compared with those of p0f 3.09b for the same packets and database.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use huginn_net_db::{Database, Distance, TcpMatch, TcpParams};
use huginn_net_tcp::{Mtu, TcpSignature};

fn database() -> Database {
    include_str!("matching/signatures.fp").parse().unwrap()
}

#[test]
fn matches_agree_with_p0f() {
    let database = database();
    let rows = include_str!("matching/expected.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for row in rows {
        let [segment, tos, raw_sig, name, distance, params] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let mut signature: TcpSignature = raw_sig.parse().unwrap();
        signature.traffic_class = tos.parse().unwrap();
        let found = match segment {
            "syn" => database.match_syn(&signature),
            _ => database.match_syn_ack(&signature),
        };
        assert_eq!(printed_name(found.as_ref()), name, "{row}");
        let printed = found.as_ref().map_or_else(|| Distance::guess(&signature), |found| found.distance);
        assert_eq!(printed.to_string(), distance, "{row}");
        assert_eq!(TcpParams::from_signature(&signature, found.as_ref()).to_string(), params, "{row}");
        count += 1;
    }
    assert!(count > 60);
}

fn printed_name(found: Option<&TcpMatch>) -> String {
    match found {
        Some(found) if found.label.is_tool() => format!("app={}", found.label),
        Some(found) => format!("os={}", found.label),
        None => "os=???".into(),
    }
}

#[test]
fn dropped_fuzzy_match_keeps_guessed_distance() {
    // p0f 3.09b prints a distance of 0 here, because it does not compute the distance.
    let signature: TcpSignature = "4:66+?:0:1002:65535,0:mss:df:0".parse().unwrap();
    assert_eq!(database().match_syn(&signature), None);
    assert_eq!(Distance::guess(&signature).to_string(), "62");
    assert_eq!(TcpParams::from_signature(&signature, None).to_string(), "excess_dist");
}

#[test]
fn random_ttl_still_compares_ip_options() {
    // p0f 3.09b reads the `4` after `64-:` as 0.
    let database: Database =
        "classes = unix\n[tcp:request]\nlabel = s:unix:A:\nsig = *:64-:4:*:*,0:mss:df:0\n".parse().unwrap();
    let matches = |raw_sig: &str| database.match_syn(&raw_sig.parse().unwrap()).is_some();
    assert!(matches("4:64+0:4:1460:8192,0:mss:df:0"));
    assert!(!matches("4:64+0:0:1460:8192,0:mss:df:0"));
}

#[test]
fn match_names_line_and_label() {
    let database = database();
    let found = database.match_syn(&"4:64+0:0:1002:1,0:mss:df:0".parse().unwrap()).unwrap();
    let entry = database.tcp_request().iter().find(|entry| entry.line == found.line).unwrap();
    assert_eq!(entry.pattern.to_string(), "*:64:0:1002:*,0:mss:df:0");
    assert_eq!((&*found.label.name, found.label.flavor.as_deref()), ("Tool", Some("exact")));
    assert_eq!((found.label.class.as_deref(), found.label.generic), (None, false));
    assert_eq!(found.label.systems[0].to_string(), "@unix");
}

#[test]
fn first_repeated_mtu_wins() {
    let database = database();
    assert_eq!(database.match_mtu(Mtu(1_500)).map(|link| &**link), Some("first"));
    assert_eq!(database.match_mtu(Mtu(576)).map(|link| &**link), Some("first"));
    assert_eq!(database.match_mtu(Mtu(1_499)), None);
    assert_eq!(database.match_mtu(Mtu(65_595)), None);
}

#[test]
fn database_is_shared_between_threads() {
    let database = Database::builtin();
    let other = std::thread::spawn({
        let database = database.clone();
        move || database.stats()
    });
    assert_eq!(other.join().unwrap(), database.stats());
}
