//! Lints of valid signature files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_db::Database;

fn lints(file: &str) -> Vec<String> {
    Database::parse(file).unwrap().lint().iter().map(ToString::to_string).collect()
}

#[test]
fn lints_labels_and_links() {
    let file = "\
classes = win,unix
[mtu]
label = a
sig = 1500
label = b
sig = 1500
[tcp:request]
label = s:unix:Empty:
label = s:unix:Linux:
sig = *:64:0:*:*,0:mss:df:0
label = s:!:Bare:
sys =
sig = *:64:0:*:*,0:mss,nop:df:0
label = s:!:Lost:
sys = Linux,@win,Linus
sig = *:64:0:*:*,0:mss,sok:df:0
label = s:!:Cut short:
";
    assert_eq!(
        lints(file),
        [
            "line 6: MTU 1500 is listed in line 4, which counts",
            "line 8: the label has no signatures",
            "line 11: the label of class '!' lists no systems in sys",
            "line 14: sys: no label of a system is named 'Linus'",
            "line 17: the label has no signatures",
            "line 17: the label of class '!' lists no systems in sys",
        ]
    );
}

#[test]
fn lints_contradictory_signatures() {
    for (section, sig, want) in [
        ("request", "*:64:0:1460:*,0:sok:df:0", Some("an MSS, but the layout has no mss")),
        ("request", "*:64:0:0:*,0:sok:df:0", None),
        ("request", "*:64:0:*:*,7:mss:df:0", Some("a window scale, but the layout has no ws")),
        ("request", "*:64:0:*:*,*:mss:df:0", None),
        ("request", "*:64:0:*:mss*4,0:sok:df:0", Some("the window is a multiple, but the layout has no mss")),
        ("request", "*:64:0:*:*,15:ws:df:0", Some("exws goes with a scale over 14, and the other way round")),
        (
            "request",
            "*:64:0:*:*,14:ws:exws:0",
            Some("exws goes with a scale over 14, and the other way round"),
        ),
        ("request", "*:64:0:*:*,15:ws:exws:0", None),
        ("request", "*:64:0:*:*,*:ws:exws:0", None),
        ("request", "*:64:0:*:*,0:mss:ts1-:0", Some("ts1- or ts2+, but the layout has no ts")),
        ("request", "*:64:0:*:*,0:ts:ts2+:0", None),
        ("response", "*:64:0:*:*,0:ts:ts2+:0", Some("ts2+ does not occur on a SYN+ACK")),
        ("request", "*:64:0:*:*,0:eol+1:opt+:0", Some("opt+ needs eol+2 or more")),
        ("request", "*:64:0:*:*,0:eol+2:opt+:0", None),
        ("request", "4:64:0:*:*,0:mss:id+:0", Some("id+ goes with df, id- without")),
        ("request", "4:64:0:*:*,0:mss:df,id-:0", Some("id+ goes with df, id- without")),
        ("request", "*:64:0:*:*,0:mss:ack-:0", Some("a SYN has no ack-, a SYN+ACK no ack+")),
        ("request", "*:64:0:*:*,0:mss:ack+:0", None),
        ("response", "*:64:0:*:*,0:mss:ack+:0", Some("a SYN has no ack-, a SYN+ACK no ack+")),
        ("response", "*:64:0:*:*,0:mss:ack-:0", None),
        ("request", "*:64:0:*:*,0:mss:uptr+,urgf+:0", Some("uptr+ and urgf+ exclude each other")),
    ] {
        let file = format!("classes = unix\n[tcp:{section}]\nlabel = s:unix:A:\nsig = {sig}\n");
        let want: Vec<String> = want
            .iter()
            .map(|reason| format!("line 4: no packet can match this signature: {reason}"))
            .collect();
        assert_eq!(lints(&file), want, "{sig}");
    }
}

#[test]
fn lints_http_signatures() {
    for (first, second, want) in [
        (
            "g = *:A::",
            "g = *:A,B::",
            Some(
                "line 7: what fits the signature exactly fits the one in line 5 as well, which is preferred",
            ),
        ),
        (
            "g = *:A,B::",
            "s = *:A::",
            Some(
                "line 5: what fits the signature exactly fits the one in line 7 as well, which is preferred",
            ),
        ),
        ("g = *:A::", "s = *:A,B::", None),
        ("g = *:A,B::", "g = *:A::", None),
        (
            "s = *:A::",
            "s = *:C,B,?A:B,A:",
            Some("line 7: no packet can match this signature: a header that it asks for must be absent"),
        ),
        ("s = *:A::", "s = *:C,?B:B:", None),
    ] {
        let (first_type, first) = first.split_once(" = ").unwrap();
        let (second_type, second) = second.split_once(" = ").unwrap();
        for section in ["request", "response"] {
            let file = format!(
                "classes = unix\n\n[http:{section}]\nlabel = {first_type}:unix:A:\nsig = {first}\n\
                 label = {second_type}:unix:B:\nsig = {second}\n"
            );
            assert_eq!(lints(&file), want.into_iter().collect::<Vec<_>>(), "{first} {second}");
        }
    }
}
