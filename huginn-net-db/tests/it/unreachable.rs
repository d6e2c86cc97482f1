//! Signatures that can never be reached.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_db::{Database, DatabaseError, Lint, Remark};

/// What becomes of a file with two signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is refused.
    Refused,
    /// It is taken, with a remark on the second signature.
    Remarked,
    Taken,
}

use Verdict::{Refused, Remarked, Taken};

/// The verdict on a file with two signatures, of these types of label.
fn verdict(earlier: (&str, &str), later: (&str, &str)) -> Verdict {
    let ((first_type, first), (second_type, second)) = (earlier, later);
    let file = format!(
        "classes = unix\n[tcp:request]\nlabel = {first_type}:unix:A:\nsig = {first}\n\
         label = {second_type}:unix:B:\nsig = {second}\n"
    );
    match Database::parse(&file) {
        Err(error) => {
            assert_eq!(error, DatabaseError::Covered { line: 6, earlier: 4 }, "{first} {second}");
            Refused
        }
        Ok(database) => match database.lint().as_slice() {
            [] => Taken,
            [Lint { line: 6, remark: Remark::Unreachable { other: 4 }, .. }] => Remarked,
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn rejects_file_with_covered_signature() {
    // "p0f refuses" and "p0f takes": p0f 3.09b on the same two signatures.
    for (earlier, later, want) in [
        // p0f refuses.
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:*,0:mss::0", Refused),
        ("*:64:0:*:*,0:mss::0", "4:64:0:*:*,0:mss::0", Refused),
        ("4:64:0:*:*,0:mss::0", "6:64:0:*:*,0:mss::0", Refused),
        ("4:64:0:*:*,0:mss:df:0", "4:64:0:*:*,0:mss:df:0", Refused),
        ("*:64:0:*:*,0:mss:df:0", "4:64:0:*:*,0:mss:df:0", Refused),
        ("*:64:0:*:*,0:mss:df:0", "6:64:0:*:*,0:mss::0", Refused),
        ("*:64:0:*:*,0:mss:flow:0", "4:64:0:*:*,0:mss::0", Refused),
        ("*:64:0:*:*,0:mss:flow:0", "*:64:0:*:*,0:mss:flow:0", Refused),
        ("*:64:0:*:*,0:mss::0", "*:64-:0:*:*,0:mss::0", Refused),
        ("*:64:0:*:*,0:mss::0", "*:29:0:*:*,0:mss::0", Refused),
        ("*:64-:0:*:*,0:mss::0", "*:28:0:*:*,0:mss::0", Refused),
        ("*:64:0:*:*,0:mss::0", "*:64:0:1460:*,0:mss::0", Refused),
        ("*:64:0:*:*,*:mss::0", "*:64:0:*:*,7:mss::0", Refused),
        ("*:64:0:*:*,0:mss::*", "*:64:0:*:*,0:mss::+", Refused),
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:8192,0:mss::0", Refused),
        ("*:64:0:*:%1024,0:mss::0", "*:64:0:*:8192,0:mss::0", Refused),
        ("*:64:0:*:%1024,0:mss::0", "*:64:0:*:%1024,0:mss::0", Refused),
        ("*:64:0:*:mss*4,0:mss::0", "*:64:0:1460:5840,0:mss::0", Refused),
        ("*:64:0:*:mss*4,0:mss,eol+1::0", "*:64:0:*:mss*4,0:mss,eol+1::0", Refused),
        // p0f takes, though the second is never reached.
        ("*:64:0:*:*,0:mss:df:0", "*:64:0:*:*,0:mss:df:0", Remarked),
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:mss*4,0:mss::0", Remarked),
        ("*:64:0:*:%1024,0:mss::0", "*:64:0:*:%8192,0:mss::0", Remarked),
        // p0f refuses, though the second is reached over IPv4.
        ("*:64:0:*:*,0:mss:df:0", "*:64:0:*:*,0:mss::0", Taken),
        // p0f takes.
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:*,0:mss:df:0", Taken),
        ("*:64:0:*:*,0:mss:flow:0", "*:64:0:*:*,0:mss::0", Taken),
        ("4:64:0:*:*,0:mss:df,id+:0", "4:64:0:*:*,0:mss:df:0", Taken),
        ("4:64:0:*:*,0:mss:df:0", "4:64:0:*:*,0:mss:df,ecn:0", Taken),
        ("*:64:0:*:*,0:mss::0", "*:28:0:*:*,0:mss::0", Taken),
        ("*:64:0:*:*,0:mss::0", "*:128:0:*:*,0:mss::0", Taken),
        ("*:60-:0:*:*,0:mss::0", "*:64-:0:*:*,0:mss::0", Taken),
        ("*:64:0:1460:*,0:mss::0", "*:64:0:*:*,0:mss::0", Taken),
        ("*:64:0:*:*,7:mss,ws::0", "*:64:0:*:*,*:mss,ws::0", Taken),
        ("*:64:0:*:*,0:mss::0", "*:64:0:*:*,0:mss::*", Taken),
        ("*:64:0:*:8192,0:mss::0", "*:64:0:*:%8192,0:mss::0", Taken),
        ("*:64:0:*:mss*4,0:mss::0", "*:64:0:*:mtu*4,0:mss::0", Taken),
        ("*:64:0:*:5840,0:mss::0", "*:64:0:1460:mss*4,0:mss::0", Taken),
        ("*:64:0:*:*,0:mss::0", "*:64:4:*:*,0:mss::0", Taken),
        ("*:64:0:*:*,0:mss,eol+1::0", "*:64:0:*:*,0:mss,eol+2::0", Taken),
    ] {
        assert_eq!(verdict(("s", earlier), ("s", later)), want, "{earlier} {later}");
    }
}

#[test]
fn generic_signature_does_not_hide_specific() {
    let sig = "*:64:0:*:*,0:mss::0";
    assert_eq!(verdict(("s", sig), ("g", sig)), Refused);
    assert_eq!(verdict(("g", sig), ("g", sig)), Remarked);
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
