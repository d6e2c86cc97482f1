//! The syntax of signature files: parsed values, and errors with their position.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use huginn_net_db::{Database, DatabaseError, HttpPattern, System, TcpPattern};
use huginn_net_http::HttpVersion;
use huginn_net_tcp::Mtu;
use proptest::collection::vec;
use proptest::prelude::*;

const FILE: &str = "\
; A comment, and a blank line.

  classes=win,unix , Other2
classes\t=\tbsd

[mtu]
label = Ethernet; or: modem
sig   = 576
sig   = 1500

[tcp:request]
label = s:UNIX:Linux:3.x: and more
sig   = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0
sig = 4:54+10:12:1460:%8192,*:mss,nop,?34,eol+2:df:*
label = g:win:Windows:
label = s:!:NMap:SYN scan
sys = @unix, @WIN,Mac OS X
sig = 6:64-:0:0:4,10:sok,ts,ws,eol+0:flow:+

  [tcp:response]
label = s:unix:Linux:3.x
sig   = *:64:0:*:mtu*4,0:mss:df:0

[http:request]
ua_os = Linux,iOS=[iPad; x],Mac OS X
ua_os = Windows
label = s:!:Chrome:
sys   = Linux
sig   = *:Host,?Accept=[a,b:c],X_Y-1:Keep-Alive,Via: Chrom

[http:response]
label = s:unix:Apache:2.x
sig   = 1::Date:
";

#[test]
fn parses_whole_file() {
    for text in [FILE.to_owned(), FILE.replace('\n', "\r\n"), FILE.trim_end().to_owned()] {
        let database = Database::from_bytes(text.as_bytes()).unwrap();
        let classes: Vec<&str> = database.classes().iter().map(|class| &**class).collect();
        assert_eq!(classes, ["win", "unix", "Other2", "bsd"]);
        let links: Vec<_> = database.links().iter().map(|link| (link.mtu, &*link.link, link.line)).collect();
        assert_eq!(links, [(Mtu(576), "Ethernet; or: modem", 8), (Mtu(1500), "Ethernet; or: modem", 9)]);
        let labels: Vec<String> = database.labels().iter().map(ToString::to_string).collect();
        assert_eq!(
            labels,
            ["Linux 3.x: and more", "Windows", "NMap SYN scan", "Linux 3.x", "Chrome", "Apache 2.x"]
        );
        let request: Vec<_> =
            database.tcp_request().iter().map(|entry| (entry.line, entry.pattern.to_string())).collect();
        assert_eq!(
            request,
            [
                (13, "*:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0".into()),
                (14, "4:64:12:1460:%8192,*:mss,nop,?34,eol+2:df:*".into()),
                (18, "6:64-:0:0:4,10:sok,ts,ws,eol+0:flow:+".into()),
            ]
        );
        let tool = &database.tcp_request()[2].label;
        let systems: Vec<String> = tool.systems.iter().map(ToString::to_string).collect();
        assert_eq!(systems, ["@unix", "@win", "Mac OS X"]);
        assert_eq!(tool.systems[2], System::Name("Mac OS X".into()));
        assert_eq!(database.tcp_request()[0].label.class.as_deref(), Some("unix"));
        assert!(database.labels()[1].generic);
        assert_eq!(database.tcp_response().len(), 1);
        let systems: Vec<_> =
            database.user_agent_systems().iter().map(|system| (&*system.name, &*system.text)).collect();
        let want = [("Linux", "Linux"), ("iOS", "iPad; x"), ("Mac OS X", "Mac OS X"), ("Windows", "Windows")];
        assert_eq!(systems, want);
        let named = |user_agent: &str| {
            database.user_agent_system(user_agent.as_bytes()).map(|system| system.name.to_string())
        };
        assert_eq!(
            named("Mozilla/5.0 (Windows; iPad; x)").as_deref(),
            Some("iOS"),
            "the first match of the list wins"
        );
        assert_eq!(named("curl/8.5.0 (windows)"), None);
        let http = &database.http_request()[0].pattern;
        assert_eq!(http.to_string(), "*:Host,?Accept=[a,b:c],X_Y-1:Keep-Alive,Via: Chrom");
        assert_eq!(http.headers[1].value.as_deref(), Some("a,b:c"));
        let http = &database.http_response()[0].pattern;
        assert_eq!(
            (http.version, http.headers.len(), http.software.as_deref()),
            (Some(HttpVersion::Http11), 0, None)
        );
        let stats = database.stats();
        assert_eq!((stats.classes, stats.labels, stats.mtu), (4, 6, 2));
        assert_eq!(
            (stats.tcp_request, stats.tcp_response, stats.http_request, stats.http_response),
            (3, 1, 1, 1)
        );
    }
}

#[test]
fn labels_need_not_be_utf8() {
    let file = b"classes = unix\n[tcp:request]\nlabel = s:unix:A:caf\xe9\nsig = *:64:0:*:*,0:mss:df:0\n";
    let database = Database::from_bytes(file).unwrap();
    assert_eq!(database.labels()[0].to_string(), "A caf\u{fffd}");
    assert!(Database::from_bytes(b"").unwrap().labels().is_empty());
}

/// Returns the error message for an invalid file.
fn error_message(file: &str) -> String {
    Database::parse(file).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn invalid_statements_name_line_and_column() {
    // p0f 3.09b rejects all of these.
    for (file, want) in [
        (
            "classes = unix\n  hello\n",
            "line 2, column 3: 'hello' is neither 'key = value' nor a section in brackets",
        ),
        (
            "classes = unix\nfoo = 1\n",
            "line 2, column 1: 'foo' is none of classes, ua_os, label, sys and sig",
        ),
        (
            "\n [tcp]\n",
            "line 2, column 2: '[tcp]' is none of [mtu], [tcp:request], [tcp:response], [http:request] and \
             [http:response]",
        ),
        ("[mtu]\nclasses = win\n", "line 2, column 1: classes must stand before the first section"),
        ("classes = win, w-n\n", "line 1, column 16: class: 'w-n' is not made of letters and digits"),
        ("classes = win,\n", "line 1, column 15: class: '' is not made of letters and digits"),
        ("label = s:unix:A:b\n", "line 1, column 1: label must stand in a section"),
        ("[mtu]\n  sig = 1500\n", "line 2, column 3: sig must follow a label of its section"),
        ("[mtu]\nlabel =\n", "line 2, column 8: label: empty"),
        ("[mtu]\nlabel = a\nsig = 0\n", "line 3, column 7: MTU: '0' is not a number from 1 to 65535"),
        ("[mtu]\nlabel = a\nsig = 65536\n", "line 3, column 7: MTU: '65536' is not a number from 1 to 65535"),
        ("[mtu]\nlabel = a\nsys = b\n", "line 3, column 1: sys must stand right behind a label of class '!'"),
        (
            "[tcp:request]\nua_os = A\n",
            "line 2, column 1: ua_os must stand in [http:request], before the first label",
        ),
        (
            "[http:request]\nua_os = A,i+S\n",
            "line 2, column 11: name: 'i+S' is not made of letters, digits, blanks and ./-_!?()",
        ),
        ("[http:request]\nua_os = A=x\n", "line 2, column 11: value: 'x' is not a text in brackets"),
        ("[http:request]\nua_os = A=[]\n", "line 2, column 11: value: '[]' is not a text in brackets"),
    ] {
        assert_eq!(error_message(file), want, "{file}");
    }
}

#[test]
fn invalid_labels_name_line_and_column() {
    for (lines, want) in [
        ("label = s:unix:A", "line 3, column 9: label: 3 fields, not the 4 of type:class:name:flavor"),
        ("label = x:unix:A:b", "line 3, column 9: label type: 'x' is neither 's' nor 'g'"),
        ("label = s:foo:A:b", "line 3, column 11: class: 'foo' is not listed in classes"),
        (
            "label = s:unix:A,B:c",
            "line 3, column 16: name: 'A,B' is not made of letters, digits, blanks and ./-_!?()",
        ),
        (
            "label = s:unix:A:b\nsys = Linux",
            "line 4, column 1: sys must stand right behind a label of class '!'",
        ),
        ("label = s:!:A:b\nsig = x", "line 4, column 1: a label of class '!' must be followed by sys"),
        (
            "label = s:!:A:b\nlabel = s:!:A:b",
            "line 4, column 1: a label of class '!' must be followed by sys",
        ),
        ("label = s:!:A:b\nsys = B,@foo", "line 4, column 10: class: 'foo' is not listed in classes"),
        (
            "label = s:!:A:b\nsys = B,",
            "line 4, column 9: name: '' is not made of letters, digits, blanks and ./-_!?()",
        ),
        (
            "label = s:!:A:b\nsys = B\nsys = C",
            "line 5, column 1: sys must stand right behind a label of class '!'",
        ),
    ] {
        assert_eq!(error_message(&format!("classes = unix\n[tcp:request]\n{lines}\n")), want);
    }
}

#[test]
fn invalid_tcp_signatures_name_line_and_column() {
    // p0f 3.09b rejects all of these except an empty number, which it reads as 0, and a comma at the end of a list.
    let window = "is not a number, '*', '%N', 'mss*N' or 'mtu*N'";
    let ttl = "is not a number from 1 to 255, 'N-' or 'N+DISTANCE'";
    let option = "is none of nop, mss, ws, sok, sack, ts, ?N and eol+N with N up to 255";
    for (sig, column, want) in [
        (
            "*:64:0:*:1,0:mss:df",
            7,
            "7 fields, not the 8 of ver:ittl:olen:mss:wsize,scale:olayout:quirks:pclass".into(),
        ),
        ("5:64:0:*:1,0:mss:df:0", 7, "IP version: '5' is not '4', '6' or '*'".into()),
        ("*:0:0:*:1,0:mss:df:0", 9, format!("TTL: '0' {ttl}")),
        ("*:256:0:*:1,0:mss:df:0", 9, format!("TTL: '256' {ttl}")),
        ("*:250+6:0:*:1,0:mss:df:0", 9, format!("TTL: '250+6' {ttl}")),
        ("*:64+?:0:*:1,0:mss:df:0", 9, format!("TTL: '64+?' {ttl}")),
        ("*:64:256:*:1,0:mss:df:0", 12, "IP option length: '256' is not a number up to 255".into()),
        ("*:64::*:1,0:mss:df:0", 12, "IP option length: '' is not a number up to 255".into()),
        ("*:64:0:65536:1,0:mss:df:0", 14, "MSS: '65536' is not a number up to 65535 or '*'".into()),
        ("*:64:0:*:mss*x,0:mss:df:0", 16, format!("window: 'mss*x' {window}")),
        ("*:64:0:*:mss*0,0:mss:df:0", 16, format!("window: 'mss*0' {window}")),
        ("*:64:0:*:mtu*1001,0:mss:df:0", 16, format!("window: 'mtu*1001' {window}")),
        ("*:64:0:*:%1,0:mss:df:0", 16, format!("window: '%1' {window}")),
        ("*:64:0:*:65536,0:mss:df:0", 16, format!("window: '65536' {window}")),
        ("*:64:0:*:+5,0:mss:df:0", 16, format!("window: '+5' {window}")),
        ("*:64:0:*:8192:mss:df:0", 16, format!("window: '8192' {window}")),
        ("*:64:0:*:1,256:mss:df:0", 18, "window scale: '256' is not a number up to 255 or '*'".into()),
        ("*:64:0:*:1,0:mss,xx:df:0", 24, format!("option layout: 'xx' {option}")),
        ("*:64:0:*:1,0:mss,:df:0", 24, format!("option layout: '' {option}")),
        (
            "*:64:0:*:1,0:eol+1,nop:df:0",
            26,
            "option layout: 'nop' stands after the end of the options".into(),
        ),
        ("*:64:0:*:1,0:mss:df,no:0", 27, "quirks: 'no' is not a quirk".into()),
        ("6:64:0:*:1,0:mss:ecn,df:0", 28, "quirks: 'df' does not occur in IPv6".into()),
        ("6:64:0:*:1,0:mss:0+:0", 24, "quirks: '0+' does not occur in IPv6".into()),
        ("4:64:0:*:1,0:mss:df,flow:0", 27, "quirks: 'flow' does not occur in IPv4".into()),
        ("*:64:0:*:1,0:mss:df:1", 27, "payload class: '1' is not '0', '+' or '*'".into()),
    ] {
        let file = format!("classes = unix\n[tcp:response]\nlabel = s:unix:A:b\nsig = {sig}\n");
        assert_eq!(error_message(&file), format!("line 4, column {column}: {want}"));
        let alone = sig.parse::<TcpPattern>().unwrap_err().to_string();
        assert_eq!(alone, format!("line 1, column {}: {want}", column - 6));
    }
}

#[test]
fn invalid_http_signatures_name_line_and_column() {
    // p0f 3.09b rejects all of these except a comma at the end of a list.
    let fields = "fields, not the 4 of ver:horder:habsent:expsw";
    let name = "is not made of letters, digits, '-' and '_'";
    let headers = vec!["A"; 33].join(",");
    for (sig, column, want) in [
        ("1".to_owned(), 1, format!("1 {fields}")),
        ("1:Host".into(), 1, format!("2 {fields}")),
        ("1:Host:".into(), 1, format!("3 {fields}")),
        ("1:Host::a:b".into(), 1, format!("5 {fields}")),
        ("2:Host::".into(), 1, "HTTP version: '2' is not '0', '1' or '*'".into()),
        ("1:Host,,Via::".into(), 8, format!("header: '' {name}")),
        ("1:Host,::".into(), 8, format!("header: '' {name}")),
        ("1:Host, Via::".into(), 8, format!("header: ' Via' {name}")),
        ("1:Ho st::".into(), 3, format!("header: 'Ho st' {name}")),
        ("1:Host=a::".into(), 8, "value: 'a::' is not a text in brackets".into()),
        ("1:Host=[a::".into(), 8, "value: '[a::' is not a text in brackets".into()),
        ("1:Host=[]::".into(), 8, "value: '[]::' is not a text in brackets".into()),
        ("1:Host=[a]b::".into(), 3, format!("header: 'Host=[a]b' {name}")),
        ("1:Host:Via,?X:".into(), 12, format!("header: '?X' {name}")),
        (format!("1:{headers}::"), 67, "more than 32 headers".into()),
        (format!("1::{headers}:"), 68, "more than 32 headers".into()),
    ] {
        assert_eq!(
            sig.parse::<HttpPattern>().unwrap_err().to_string(),
            format!("line 1, column {column}: {want}")
        );
    }
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        error_message("classes = unix\n[http:request]\nlabel = s:unix:A:\nsig = 1:Ä=[ö],B!::\n"),
        "line 4, column 9: header: 'Ä=[ö]' is not made of letters, digits, '-' and '_'"
    );
    let error = Database::parse("classes = \u{e4}\u{f6},x\n").unwrap_err();
    assert!(matches!(error, DatabaseError::Syntax { line: 1, column: 11, .. }));
    let error = Database::parse("[http:request]\nua_os = A=[\u{e4}\u{f6}],\u{fc}\n").unwrap_err();
    assert!(matches!(error, DatabaseError::Syntax { line: 2, column: 16, .. }), "{error}");
}

/// Generates TCP signatures, most of them valid.
fn tcp_text() -> impl Strategy<Value = String> {
    let number = || prop_oneof![Just("*".to_owned()), any::<u16>().prop_map(|n| n.to_string())];
    let layout = vec(prop_oneof![Just("mss"), Just("nop"), Just("ws"), Just("ts"), Just("?99")], 0..6);
    let quirks = proptest::sample::subsequence(vec!["df", "id+", "ecn", "seq-", "opt+", "bad"], 0..=6);
    (
        prop_oneof![Just("4"), Just("*")],
        1..=255_u8,
        prop_oneof![Just(""), Just("-")],
        number(),
        prop_oneof![
            number(),
            (1..=1000_u16).prop_map(|n| format!("mss*{n}")),
            (1..=1000_u16).prop_map(|n| format!("mtu*{n}")),
            (2..=u16::MAX).prop_map(|n| format!("%{n}")),
        ],
        prop_oneof![Just("*".to_owned()), any::<u8>().prop_map(|n| n.to_string())],
        layout,
        quirks,
        prop_oneof![Just("0"), Just("+"), Just("*")],
    )
        .prop_map(|(version, ttl, random, mss, window, scale, layout, quirks, payload)| {
            let (layout, quirks) = (layout.join(","), quirks.join(","));
            format!("{version}:{ttl}{random}:0:{mss}:{window},{scale}:{layout}:{quirks}:{payload}")
        })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = Database::from_bytes(&bytes);
    }

    #[test]
    fn arbitrary_lines_never_panic(
        lines in vec("(classes|label|sys|sig|ua_os|\\[(mtu|tcp:request|http:request)\\]) ?=? ?[a-z0-9*!@:,=\\[\\]?+%-]{0,12}", 0..30),
    ) {
        let text = lines.join("\n");
        let _ = Database::parse(&text).map(|database| database.lint());
    }

    #[test]
    fn arbitrary_signatures_never_panic(text in "\\PC{0,40}") {
        let _ = text.parse::<TcpPattern>();
        let _ = text.parse::<HttpPattern>();
    }

    #[test]
    fn tcp_patterns_round_trip(text in tcp_text()) {
        let pattern: TcpPattern = text.parse().unwrap();
        prop_assert_eq!(pattern.to_string(), text);
    }

    #[test]
    fn http_patterns_round_trip(
        text in "[01*]:(\\??[A-Za-z_-]{1,6}(=\\[[ -Z^-~]{1,8}\\])?(,\\??[A-Z]{1,3}(=\\[[a-z:,]{1,8}\\])?){0,3})?:([A-Z]{1,4}(,[a-z]{1,4}){0,3})?:[ -9;-~]{0,9}",
    ) {
        let pattern: HttpPattern = text.parse().unwrap();
        prop_assert_eq!(pattern.to_string(), text);
    }
}
