//! Matches of TCP signatures, compared with those of p0f 3.09b for the same packets and database.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use huginn_net_db::{Database, Distance, FuzzyReason, TcpMatch, TcpParams};
use huginn_net_tcp::{Handshake, Mtu, TcpSignature};

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
        signature.handshake = if segment == "syn" { Handshake::Syn } else { Handshake::SynAck };
        let found = database.match_as_p0f(&signature);
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
    assert_eq!(database().match_as_p0f(&signature), None);
    assert_eq!(Distance::guess(&signature).to_string(), "62");
    assert_eq!(TcpParams::from_signature(&signature, None).to_string(), "excess_dist");
}

#[test]
fn distance_in_words_is_absent_unless_plausible() {
    let words = |ttl: u8| {
        let signature: TcpSignature = format!("4:{ttl}:0:1460:1,0:mss:df:0").parse().unwrap();
        Distance::guess(&signature).in_words().map(|words| words.to_string())
    };
    let table = [(64, Some("0 hops")), (63, Some("1 hop")), (93, Some("35 hops")), (92, None), (155, None)];
    for (ttl, expected) in table {
        assert_eq!(words(ttl).as_deref(), expected, "{ttl}");
    }
}

/// The name that a SYN+ACK has in every view, and the one that p0f prints.
fn names(database: &Database, raw_sig: &str) -> [Option<String>; 2] {
    let mut signature: TcpSignature = raw_sig.parse().unwrap();
    signature.handshake = Handshake::SynAck;
    [database.match_syn_ack(&signature), database.match_as_p0f(&signature)]
        .map(|found| found.map(|found| found.name().to_string()))
}

#[test]
fn fuzzy_match_has_the_fields_that_identify_the_system() {
    let database: Database = "\
classes = unix,other
[tcp:response]
label = s:unix:Bare:
sig = 4:16:0:0:65535,0::df,id+:0
label = s:unix:Small:
sig = *:255:0:*:4128,0:mss:df,id+:0
label = s:unix:Linux:1
sig = *:64:0:*:8192,*:mss,sok,ts,nop,ws:df,id+,flow:0
label = s:unix:Android:2
sig = *:64:0:*:65535,*:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:Front:end
sig = *:128:0:*:8192,8:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:Alone:1
sig = *:64:0:*:4321,*:mss,nop,ws,sok,eol+1:df,id+:0
label = s:unix:One:
sig = *:64:0:*:1,*:mss,ws,ts:df,id+:0
label = s:unix:Two:
sig = *:64:0:*:2,8:mss,ws,ts:df,id+:0
label = s:other:Device:1
sig = *:64:0:*:4321,*:mss,ws,sok:df,id+:0
label = g:unix:Linux:
sig = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0
"
    .parse()
    .unwrap();
    let linux = Some("Linux (fuzzy)");
    let table: [(&str, Option<&str>, Option<&str>); 14] = [
        // Without options, or with the MSS alone, only an exact match names the sender.
        ("4:16+0:0:0:65535,0::df,id+:0", Some("Bare"), Some("Bare")),
        ("4:64+0:0:0:65535,0::df,id+:0", None, Some("Bare (fuzzy)")),
        ("4:16+0:0:0:65535,0::df,id+,ecn:0", None, Some("Bare (fuzzy)")),
        ("4:255+0:0:1460:4128,0:mss::0", None, Some("Small (fuzzy)")),
        // Another TTL is that of neither system.
        ("4:255+0:0:1460:8192,8:mss,sok,ts,nop,ws:df,id+:0", None, Some("Linux 1 (fuzzy)")),
        // The signature of last resort says whose options these are. Android is Linux.
        ("4:255+0:0:1460:8192,7:mss,sok,ts,nop,ws:df,id+:0", linux, Some("Linux 1 (fuzzy)")),
        ("4:255+0:0:1460:65535,7:mss,sok,ts,nop,ws:df,id+:0", linux, Some("Android 2 (fuzzy)")),
        ("4:255+0:0:1460:9999,7:mss,sok,ts,nop,ws:df,id+:0", linux, Some("Linux (generic, fuzzy)")),
        // The network may change quirks, but not TTL and quirks.
        (
            "4:60+4:0:1460:8192,8:mss,sok,ts,nop,ws:df,id+,ecn:0",
            Some("Linux 1 (fuzzy)"),
            Some("Linux 1 (fuzzy)"),
        ),
        ("4:120+8:0:1460:8192,8:mss,sok,ts,nop,ws:df:0", Some("Front end (fuzzy)"), Some("Linux 1 (fuzzy)")),
        ("4:255+0:0:1460:8192,7:mss,sok,ts,nop,ws:df:0", None, Some("Linux 1 (fuzzy)")),
        // No other system has these options; two systems have them; embedded stacks share them.
        (
            "4:255+0:0:1460:4321,8:mss,nop,ws,sok,eol+1:df,id+:0",
            Some("Alone (fuzzy)"),
            Some("Alone 1 (fuzzy)"),
        ),
        ("4:255+0:0:1460:1,8:mss,ws,ts:df,id+:0", None, Some("One (fuzzy)")),
        ("4:255+0:0:1460:4321,8:mss,ws,sok:df,id+:0", None, Some("Device 1 (fuzzy)")),
    ];
    for (raw_sig, expected, of_p0f) in table {
        let [found, found_by_p0f] = names(&database, raw_sig);
        assert_eq!((found.as_deref(), found_by_p0f.as_deref()), (expected, of_p0f), "{raw_sig}");
    }
}

/// Timestamps and "SACK permitted" that a middlebox overwrote with NOPs are read as what stood there, except by p0f.
#[test]
fn cleared_options_are_read_as_what_was_sent() {
    let database: Database = "\
classes = unix
[tcp:response]
label = s:unix:Linux:1
sig = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:Linux:1 (no SACK)
sig = *:64:0:*:mss*44,*:mss,nop,nop,ts,nop,ws:df,id+:0
label = s:unix:Linux:2
sig = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:A:
sig = *:64:0:*:65535,*:mss,nop,ws,sok,ts:df,id+:0
label = s:unix:B:
sig = *:64:0:*:65535,*:mss,nop,ws,nop,nop,ts:df,id+:0
"
    .parse()
    .unwrap();
    let nops = |count: usize| ["nop"].repeat(count).join(",");
    let packet =
        |window: &str, layout: String, quirks: &str| format!("4:64+0:0:1460:{window}:{layout}:{quirks}:0");
    let table = [
        (packet("mss*44,7", format!("mss,sok,{},ws", nops(11)), "df,id+"), Some("Linux 1 (fuzzy)")),
        (packet("mss*44,7", format!("mss,sok,{},ws", nops(11)), "df"), Some("Linux 1 (fuzzy)")),
        (packet("mss*20,7", format!("mss,{},ws", nops(13)), "df,id+"), Some("Linux 2 (fuzzy)")),
        // SACK may be what is missing.
        (packet("mss*44,7", format!("mss,{},ws", nops(13)), "df,id+"), Some("Linux (fuzzy)")),
        (packet("65535,7", format!("mss,nop,ws,sok,{}", nops(10)), "df,id+"), Some("A (fuzzy)")),
        // What two systems send.
        (packet("65535,7", format!("mss,nop,ws,{}", nops(12)), "df,id+"), None),
        (packet("mss*44,7", format!("mss,sok,{},ws", nops(12)), "df,id+"), None),
        (packet("mss*44,7", format!("mss,sok,{},ws", nops(11)), "df,id+,seq-"), None),
        (packet("mss*44,7", format!("mss,sok,{},ws", nops(11)), "df,id+").replace("4:64+0", "4:255+0"), None),
    ];
    for (raw_sig, expected) in table {
        let [found, found_by_p0f] = names(&database, &raw_sig);
        assert_eq!((found.as_deref(), found_by_p0f.as_deref()), (expected, None), "{raw_sig}");
    }
}

#[test]
fn fuzzy_match_says_why() {
    let database = Database::builtin();
    for (raw_sig, reason) in [
        ("4:64+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0", None),
        ("4:64+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df:0", Some(FuzzyReason::Quirks)),
        ("4:128+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0", Some(FuzzyReason::InitialTtl)),
        ("4:64+0:0:1460:65535,8:mss,nop,ws,nop,nop,sok:df,id+:0", Some(FuzzyReason::InitialTtl)),
        ("4:128+0:0:1460:65535,8:mss,nop,ws,nop,nop,nop,nop:df,id+:0", Some(FuzzyReason::ClearedOptions)),
    ] {
        let signature: TcpSignature = raw_sig.parse().unwrap();
        let found = database.match_syn(&signature).unwrap();
        assert_eq!(found.fuzzy, reason, "{raw_sig}");
        let by_p0f = database.match_as_p0f(&signature);
        let reason = reason.filter(|reason| *reason != FuzzyReason::ClearedOptions);
        assert_eq!(by_p0f.and_then(|found| found.fuzzy), reason, "{raw_sig}");
    }
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
    let other = std::thread::spawn(|| database.stats());
    assert_eq!(other.join().unwrap(), database.stats());
}

/// Window and scale that a program sets by its receive buffer tell no version, except to p0f.
#[test]
fn set_receive_buffer_tells_no_version() {
    let database: Database = "\
classes = unix
[tcp:response]
label = s:unix:A:old
sig = *:64:0:*:mss*22,0:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:A:new
sig = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,id+:0
sig = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:A:(jumbo)
sig = *:64:0:8960:mss*7,*:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:A:no scaling
sig = *:64:0:*:mss*44,0:mss,nop,nop,sok:df,id+:0
label = s:unix:A:(no scaling, small)
sig = *:64:0:*:mss*20,0:mss,nop,nop,sok:df,id+:0
label = s:unix:A:without DF
sig = 4:64:0:*:mss*22,0:mss,sok,ts,nop,ws::0
label = s:unix:A:over IPv6
sig = 6:64:0:*:mss*23,0:mss,sok,ts,nop,ws::0
label = s:unix:B:1
sig = *:64:0:*:8192,*:mss,nop,ws:df,id+:0
label = g:unix:B:
sig = *:64:0:*:*,*:mss,nop,ws:df,id+:0
label = g:unix:A:
sig = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0
"
    .parse()
    .unwrap();
    let table: [(&str, &str, &str); 14] = [
        // The scale is the smallest one that the window needs.
        ("4:64+0:0:1460:mss*22,0:mss,sok,ts,nop,ws:df,id+:0", "A", "A old"),
        ("4:64+0:0:1460:mss*44,0:mss,sok,ts,nop,ws:df,id+:0", "A", "A new"),
        ("4:64+0:0:1460:mss*20,0:mss,sok,ts,nop,ws:df:0", "A (fuzzy)", "A new (fuzzy)"),
        // A buffer of 64 KiB or more fills the window, but for a part of a segment.
        ("4:64+0:0:1460:mss*44,1:mss,sok,ts,nop,ws:df,id+:0", "A", "A new"),
        ("4:64+0:0:1460:mss*44,2:mss,sok,ts,nop,ws:df,id+:0", "A", "A new"),
        ("4:64+0:0:1460:mss*20,1:mss,sok,ts,nop,ws:df,id+:0", "A new", "A new"),
        // Programs set no buffers of such scales.
        ("4:64+0:0:1460:mss*44,3:mss,sok,ts,nop,ws:df,id+:0", "A new", "A new"),
        // The MSS, the options, the quirks, and the lack of another version tell the version.
        ("4:64+0:0:1460:mss*22,0:mss,sok,ts,nop,ws::0", "A without DF", "A without DF"),
        ("6:64+0:0:1440:mss*23,0:mss,sok,ts,nop,ws::0", "A", "A over IPv6"),
        ("4:64+0:0:8960:mss*7,0:mss,sok,ts,nop,ws:df,id+:0", "A (jumbo)", "A (jumbo)"),
        ("4:64+0:0:1460:mss*44,0:mss,nop,nop,sok:df,id+:0", "A no scaling", "A no scaling"),
        ("4:64+0:0:1460:8192,0:mss,nop,ws:df,id+:0", "B 1", "B 1"),
        // A signature of last resort tells none anyway.
        ("4:64+0:0:1460:mss*9,0:mss,sok,ts,nop,ws:df,id+:0", "A (generic)", "A (generic)"),
        ("4:64+0:0:1460:8193,0:mss,nop,ws:df,id+:0", "B (generic)", "B (generic)"),
    ];
    for (raw_sig, expected, of_p0f) in table {
        let [found, found_by_p0f] = names(&database, raw_sig);
        assert_eq!((found.as_deref(), found_by_p0f.as_deref()), (Some(expected), Some(of_p0f)), "{raw_sig}");
    }
    let labels: Vec<(String, u32)> =
        database.labels_without_flavor().iter().map(|label| (label.to_string(), label.line)).collect();
    assert_eq!(labels, [("A".to_owned(), 3), ("B".to_owned(), 18)]);
}
