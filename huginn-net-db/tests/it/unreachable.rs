//! Unreachable TCP signatures, which an earlier signature covers.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_db::{Database, DatabaseError, Lint, Remark};

/// The result of parsing a file with two signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The parser rejects the file.
    Rejected,
    /// The parser accepts the file, and a lint reports the second signature as unreachable.
    Linted,
    /// The parser accepts the file without lints.
    Accepted,
}

use Outcome::{Accepted, Linted, Rejected};

/// Parses a file with two signatures, each given as label type and pattern.
fn parse_both(earlier: (&str, &str), later: (&str, &str)) -> Outcome {
    let ((first_type, first), (second_type, second)) = (earlier, later);
    let file = format!(
        "classes = unix\n[tcp:request]\nlabel = {first_type}:unix:A:\nsig = {first}\n\
         label = {second_type}:unix:B:\nsig = {second}\n"
    );
    match Database::parse(&file) {
        Err(error) => {
            assert_eq!(error, DatabaseError::Covered { line: 6, earlier: 4 }, "{first} {second}");
            Rejected
        }
        Ok(database) => match database.lint().as_slice() {
            [] => Accepted,
            [Lint { line: 6, remark: Remark::Unreachable { other: 4 }, .. }] => Linted,
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn rejects_file_with_covered_signature() {
    // The comments give the result of p0f 3.09b for the same two signatures.
    for (earlier, later, want) in [
        // p0f rejects these files.
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:*,0:mss::0", Rejected),
        ("*:64:0:*:*,0:mss::0", "4:64:0:*:*,0:mss::0", Rejected),
        ("4:64:0:*:*,0:mss::0", "6:64:0:*:*,0:mss::0", Rejected),
        ("4:64:0:*:*,0:mss:df:0", "4:64:0:*:*,0:mss:df:0", Rejected),
        ("*:64:0:*:*,0:mss:df:0", "4:64:0:*:*,0:mss:df:0", Rejected),
        ("*:64:0:*:*,0:mss:df:0", "6:64:0:*:*,0:mss::0", Rejected),
        ("*:64:0:*:*,0:mss:flow:0", "4:64:0:*:*,0:mss::0", Rejected),
        ("*:64:0:*:*,0:mss:flow:0", "*:64:0:*:*,0:mss:flow:0", Rejected),
        ("*:64:0:*:*,0:mss::0", "*:64-:0:*:*,0:mss::0", Rejected),
        ("*:64:0:*:*,0:mss::0", "*:29:0:*:*,0:mss::0", Rejected),
        ("*:64-:0:*:*,0:mss::0", "*:28:0:*:*,0:mss::0", Rejected),
        ("*:64:0:*:*,0:mss::0", "*:64:0:1460:*,0:mss::0", Rejected),
        ("*:64:0:*:*,*:mss::0", "*:64:0:*:*,7:mss::0", Rejected),
        ("*:64:0:*:*,0:mss::*", "*:64:0:*:*,0:mss::+", Rejected),
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:8192,0:mss::0", Rejected),
        ("*:64:0:*:%1024,0:mss::0", "*:64:0:*:8192,0:mss::0", Rejected),
        ("*:64:0:*:%1024,0:mss::0", "*:64:0:*:%1024,0:mss::0", Rejected),
        ("*:64:0:*:mss*4,0:mss::0", "*:64:0:1460:5840,0:mss::0", Rejected),
        ("*:64:0:*:mss*4,0:mss,eol+1::0", "*:64:0:*:mss*4,0:mss,eol+1::0", Rejected),
        // p0f accepts these files, although the second signature is unreachable.
        ("*:64:0:*:*,0:mss:df:0", "*:64:0:*:*,0:mss:df:0", Linted),
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:mss*4,0:mss::0", Linted),
        ("*:64:0:*:%1024,0:mss::0", "*:64:0:*:%8192,0:mss::0", Linted),
        // p0f rejects this file, although the second signature matches IPv4 packets.
        ("*:64:0:*:*,0:mss:df:0", "*:64:0:*:*,0:mss::0", Accepted),
        // p0f accepts these files.
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:*,0:mss:df:0", Accepted),
        ("*:64:0:*:*,0:mss:flow:0", "*:64:0:*:*,0:mss::0", Accepted),
        ("4:64:0:*:*,0:mss:df,id+:0", "4:64:0:*:*,0:mss:df:0", Accepted),
        ("4:64:0:*:*,0:mss:df:0", "4:64:0:*:*,0:mss:df,ecn:0", Accepted),
        ("*:64:0:*:*,0:mss::0", "*:28:0:*:*,0:mss::0", Accepted),
        ("*:64:0:*:*,0:mss::0", "*:128:0:*:*,0:mss::0", Accepted),
        ("*:60-:0:*:*,0:mss::0", "*:64-:0:*:*,0:mss::0", Accepted),
        ("*:64:0:1460:*,0:mss::0", "*:64:0:*:*,0:mss::0", Accepted),
        ("*:64:0:*:*,7:mss,ws::0", "*:64:0:*:*,*:mss,ws::0", Accepted),
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:*,0:mss::*", Accepted),
        ("*:64:0:*:8192,0:mss::0", "*:64:0:*:%8192,0:mss::0", Accepted),
        ("*:64:0:*:mss*4,0:mss::0", "*:64:0:*:mtu*4,0:mss::0", Accepted),
        ("*:64:0:*:5840,0:mss::0", "*:64:0:1460:mss*4,0:mss::0", Accepted),
        ("*:64:0:*:*,0:mss::0", "*:64:4:*:*,0:mss::0", Accepted),
        ("*:64:0:*:*,0:mss,eol+1::0", "*:64:0:*:*,0:mss,eol+2::0", Accepted),
    ] {
        assert_eq!(parse_both(("s", earlier), ("s", later)), want, "{earlier} {later}");
    }
}

#[test]
fn generic_signature_does_not_hide_specific() {
    let sig = "*:64:0:*:*,0:mss::0";
    assert_eq!(parse_both(("s", sig), ("g", sig)), Rejected);
    assert_eq!(parse_both(("g", sig), ("g", sig)), Linted);
    let file = format!(
        "classes = unix\n[tcp:request]\nlabel = g:unix:A:\nsig = {sig}\nlabel = s:unix:B:\nsig = {sig}\n"
    );
    let lints = Database::parse(&file).unwrap().lint();
    let lints: Vec<String> = lints.iter().map(ToString::to_string).collect();
    assert_eq!(
        lints,
        ["line 4: what fits the signature exactly fits the one in line 6 as well, which is preferred"]
    );
}

#[test]
fn sections_of_directions_are_independent() {
    let sig = "*:64:0:*:*,0:mss::0";
    let file = format!(
        "classes = unix\n[tcp:request]\nlabel = s:unix:A:\nsig = {sig}\n\
         [tcp:response]\nlabel = s:unix:B:\nsig = {sig}\n"
    );
    assert_eq!(Database::parse(&file).unwrap().lint(), []);
}

#[test]
fn error_names_both_lines() {
    let sig = "*:64:0:*:*,0:mss::0";
    let file =
        format!("classes = unix\n[tcp:request]\nlabel = s:unix:A:\nsig = {sig}\n\n; again\nsig = {sig}\n");
    let error = Database::parse(&file).unwrap_err();
    assert_eq!(error.to_string(), "line 7: the signature can never be reached, the one in line 4 covers it");
}

/// A comparison of each signature with all earlier ones would take minutes.
#[test]
fn many_signatures_are_read_in_linear_time() {
    const SIGNATURES: u32 = 40_000;
    let start = std::time::Instant::now();
    let tcp = |number: u32| {
        format!("*:64:0:{}:{},7:mss,sok,ts,nop,ws:df,id+:0", number % 199 + 1, number / 199 + 1)
    };
    let header = |number: u32| format!("1:Host,User-Agent=[<{number}>],Accept::");
    let mut text = "classes = unix\n[tcp:request]\nlabel = s:unix:A:\n".to_owned();
    (0..SIGNATURES).for_each(|number| text.push_str(&format!("sig = {}\n", tcp(number))));
    text.push_str("[http:request]\nlabel = g:unix:A:\n");
    (0..SIGNATURES).for_each(|number| text.push_str(&format!("sig = {}\n", header(number))));
    let stats = Database::parse(&text).unwrap().stats();
    assert_eq!((stats.tcp_request, stats.http_request), (SIGNATURES as usize, SIGNATURES as usize));
    assert!(start.elapsed() < std::time::Duration::from_secs(30), "{:?}", start.elapsed());
}
