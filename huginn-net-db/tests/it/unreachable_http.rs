//! Unreachable HTTP signatures, which an earlier signature covers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_db::{Database, DatabaseError};

#[test]
fn rejects_file_with_covered_signature() {
    // Each row has two signatures and whether p0f 3.09b rejects a file with both.
    for (earlier, later, rejected) in [
        ("*:A::", "*:A::", true),
        ("*:A::", "1:A::", true),
        ("1:A::", "*:A::", false),
        ("1:A::", "0:A::", false),
        ("1:A::", "1:A,B::", true),
        ("1:A,B::", "1:A::", false),
        ("1:A,B::", "1:B,A::", false),
        ("1:A,B::", "1:A,C,B::", true),
        ("1:A,?B::", "1:A,B::", true),
        ("1:A,?B::", "1:A::", true),
        ("1:A,?B::", "1:A,?B::", true),
        ("1:A,B::", "1:A,?B::", false),
        ("1:A::", "1:A,?B::", true),
        ("1:A,?B::", "1:A,C::", true),
        ("1:A=[x]::", "1:A=[xy]::", true),
        ("1:A=[xy]::", "1:A=[x]::", false),
        ("1:A=[x]::", "1:A::", false),
        ("1:A::", "1:A=[x]::", true),
        ("1:A:B:", "1:A:B:", true),
        ("1:A:B:", "1:A::", false),
        ("1:A::", "1:A:B:", true),
        ("1:A:B,C:", "1:A:B:", false),
        ("1:A:B:", "1:A:B,C:", true),
        ("1:A:B:", "1:A:C:", false),
        ("1:A::", "1:A::Soft", true),
        ("1:A::Soft", "1:A::", true),
        ("1:A::Soft", "1:A::Soft", true),
        ("1:A::Soft", "1:A::Ware", true),
        ("1:A::Soft", "1:A::Software", true),
        ("1:A:B:", "1:A,B::", false),
        ("1:A:B:", "1:A,?B::", false),
        ("1:A,?B::", "1:A:B:", true),
        ("1:?A::", "1:B::", true),
        ("1:::", "1:A::", true),
        ("1:::", "1:::", true),
        ("1:A,?B,C::", "1:A,C,?B::", false),
        ("1:A,?B,C::", "1:A,C::", true),
        ("1:A,?B,C::", "1:A,C,B::", false),
        ("1:A,?B,C::", "1:B,A,C::", false),
        ("1:A,?B=[x]::", "1:A,?B::", false),
        ("1:A,?B=[x]::", "1:A::", true),
        ("1:A,?B::", "1:A,?B=[x]::", true),
        ("1:A:B,C:", "1:A:C,B:", true),
        ("1:A:B,C:", "1:A:C,B,D:", true),
        ("1:Host,?Via::", "1:Host::", true),
    ] {
        for section in ["request", "response"] {
            for (earlier_type, later_type) in [("s", "s"), ("s", "g"), ("g", "s"), ("g", "g")] {
                let file = format!(
                    "classes = unix\n[http:{section}]\nlabel = {earlier_type}:unix:A:\nsig = {earlier}\n\
                     label = {later_type}:unix:B:\nsig = {later}\n"
                );
                let rejected = rejected && earlier_type == "s";
                let want = if rejected { Err(DatabaseError::Covered { line: 6, earlier: 4 }) } else { Ok(2) };
                let read = Database::parse(&file).map(|database| database.labels().len());
                assert_eq!(read, want, "{file}");
            }
        }
    }
}

#[test]
fn sections_are_independent() {
    let file = "classes = unix\n[http:request]\nlabel = s:unix:A:\nsig = *:A::\n\
                [http:response]\nlabel = s:unix:A:\nsig = *:A::\n";
    assert_eq!(Database::parse(file).unwrap().stats().labels, 2);
}
