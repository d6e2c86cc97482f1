//! `--fingerprints`: matches, labels of events, exit statuses and errors.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

use crate::captures;

/// The JA4, stable JA4 and JA3 hash of the first of the two clients in `tls-rustls.pcap`, by tshark and the goldens of the capture.
const JA4: &str = "t13d1011h1_61a7ad8aa9b6_0d308c48d2a3";
const JA4_STABLE: &str = "t13d1010h1_61a7ad8aa9b6_76ad8fd2bde2";
const JA3: &str = "767cd7645936b7916bcb8d106c29f99e";

/// Writes a list and returns its path.
fn file(name: &str, text: &str) -> String {
    let folder = format!("{}/lists", env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(&folder).unwrap();
    let path = format!("{folder}/{name}");
    fs::write(&path, text).unwrap();
    path
}

/// Analyses `tls-rustls.pcap`.
fn pcap(format: &str, lists: &[&str]) -> Output {
    command(format, lists).output().unwrap()
}

fn command(format: &str, lists: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["pcap", "--format", format]).env_remove("CLICOLOR_FORCE");
    for list in lists {
        command.args(["--fingerprints", list]);
    }
    command.arg(captures::path("tls-rustls.pcap"));
    command
}

fn stdout(format: &str, lists: &[&str]) -> String {
    let output = pcap(format, lists);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The fields from `listed` on of each TLS client.
fn listed(lists: &[&str]) -> Vec<String> {
    let events = stdout("json", lists);
    let clients = events.lines().filter(|line| line.contains(r#""event":"tls_client""#));
    clients
        .map(|line| line.split_once(r#","listed":"#).unwrap().1.strip_suffix('}').unwrap().to_owned())
        .collect()
}

#[test]
fn events_have_labels_of_all_lists() {
    let csv = file(
        "both.csv",
        &format!("# own\nJA4,Name,Watch\n{JA4},\"a \"\"b\"\"\",no\n{JA4_STABLE},\"c\x1b[2J\",yes\n"),
    );
    let json = file("both.jsonl", &format!("{{\"hash\":\"{JA3}\",\"label\":\"d\\ne\",\"watch\":false}}\n"));
    let other = file("other.csv", "ja3_md5,reason\n00000000000000000000000000000000,no\n");
    let [a, c, d] = [
        r#"{"label":"a \"b\"","watch":false}"#,
        r#"{"label":"c\u001b[2J","watch":true}"#,
        r#"{"label":"d\ne","watch":false}"#,
    ];
    for (lists, want) in [
        (&[&*csv, &*json, &*other][..], format!("[{a},{c},{d}]")),
        (&[&*other, &*json, &*csv], format!("[{d},{a},{c}]")),
        (&[&*other], "null".to_owned()),
    ] {
        let found = listed(lists);
        assert_eq!(found, [want.as_str(), "null"]);
    }
}

#[test]
fn other_fields_do_not_depend_on_lists() {
    let without = stdout("json", &[]);
    assert!(!without.contains("listed"));
    let list = file("plain.csv", &format!("ja4,label,watch\n{JA4},x,no\n"));
    let with = stdout("json", &[&list]);
    let with =
        with.replace(r#","listed":[{"label":"x","watch":false}]"#, "").replace(r#","listed":null"#, "");
    assert!(with == without);
}

#[test]
fn human_blocks_escape_labels() {
    let list = file("human.csv", &format!("fingerprint,label,watch\n{JA4},\"a\x1b[2J\nb\",1\n{JA3},c,0\n"));
    let lines = stdout("human", &[&list]);
    assert!(lines.contains(", c\n"), "{lines}");
    let hit =
        format!(" match: a\\x1b[2J\\x0ab, ja4 {JA4} of tls_client, www.example.test, {list}:2, packet ");
    assert!(lines.contains(&hit), "{lines}");
    assert!(!lines.contains('\x1b'), "{lines}");
    let blocks = String::from_utf8(command("human", &[&list]).arg("-v").output().unwrap().stdout).unwrap();
    assert!(blocks.contains("  listed     a\\x1b[2J\\x0ab (watched)\n  listed     c\n"), "{blocks}");
    assert!(!stdout("human", &[]).contains("listed"));
}

#[test]
fn invalid_lists_name_file_and_line() {
    let good = file("good.csv", &format!("{JA4},x\n"));
    for (name, text, line) in [
        ("value.csv", format!("{JA4},x\nno-ja4,y\n"), "line 2: 'no-ja4' is not a value of a known type"),
        ("watch.jsonl", format!("{{\"ja4\":\"{JA4}\",\"label\":\"\",\"watch\":2}}"), "line 1: watch: '2'"),
        ("type.csv", format!("type,value\njarm,{JA4}\n"), "line 2: unknown type 'jarm'"),
        ("escape.csv", "\x1b[2J,x".to_owned(), r"line 1: '\x1b[2J' is not a value"),
    ] {
        let bad = file(name, &text);
        let output = pcap("json", &[&good, &bad]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty());
        assert!(stderr.starts_with(&format!("huginn-net: {bad}: {line}")), "{stderr}");
    }
    let output = pcap("json", &["no-such-list.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("huginn-net: no-such-list.csv: "));
}

#[test]
fn list_without_any_fingerprint_is_reported() {
    let list = file("other-kinds.csv", "Application,ja4,ja4h\nx,,ge11\ny,,po11\n");
    let output = pcap("json", &[&list]);
    assert!(output.status.success());
    let want = format!("huginn-net: {list}: 0 entries; left out 2 without a value\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), want);
}

#[test]
fn empty_list_is_reported() {
    for (name, text) in
        [("nothing.csv", ""), ("header.csv", "type,value,label\n"), ("comment.txt", "# none\n")]
    {
        let list = file(name, text);
        let output = pcap("json", &[&list]);
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("huginn-net: {list}: no entries\n"));
    }
}

#[test]
fn entries_without_watch_leave_room_for_watched_ones() {
    let mut text = "ja4,label,watch\n".to_owned();
    (0..100).for_each(|_| writeln!(text, "{JA4},known,no").unwrap());
    writeln!(text, "{JA4},loader,yes").unwrap();
    let list = file("crowd.csv", &text);
    let output = command("json", &[&list]).arg("--only-matches").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stdout).unwrap().contains(r#""match_label":"loader""#));
}

#[test]
fn large_list_finds_first_and_last_entry() {
    let mut text = format!("{JA3},first\n");
    for number in 0..100_000 {
        writeln!(text, "{number:032x},label {number}").unwrap();
    }
    writeln!(text, "{JA4},last").unwrap();
    let want = r#"[{"label":"first","watch":true},{"label":"last","watch":true}]"#;
    let found = listed(&[&file("large.csv", &text)]);
    assert_eq!(found, [want, "null"]);
}

#[test]
fn only_matches_are_written_after_a_hit() {
    let list = file("only.csv", &format!("type,value,label\nja4,{JA4},loader\nip,0.0.0.0/0,any\n"));
    let output = command("json", &[&list]).arg("--only-matches").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["event"] == "match" && event["list"] == *list));
    let hit = events.iter().find(|event| event["type"] == "ja4").unwrap();
    assert_eq!(
        (&hit["value"], &hit["match_label"], &hit["line"], &hit["ja4"]),
        (&JA4.into(), &"loader".into(), &2.into(), &JA4.into())
    );
    assert_eq!((&hit["matched_event"], &hit["subject"]), (&"tls_client".into(), &"client".into()));
    assert_eq!(
        command("json", &[&list]).args(["--events", "match"]).output().unwrap().stdout,
        text.as_bytes()
    );
}

#[test]
fn hit_names_its_packet_and_file() {
    let list = file("packet.csv", &format!("type,value,label\nja4,{JA4},loader\n"));
    let printed = |format: &str, more: &[&str]| {
        let output = command(format, &[&list]).args(["-q", "--only-matches"]).args(more).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(printed("json", &[]).lines().next().unwrap()).unwrap();
    let packet = json["packet"].as_u64().unwrap();
    let line = printed("human", &[]);
    assert!(line.contains(&format!(", packet {packet}\n")), "{line}");
    let block = printed("human", &["-v"]);
    assert!(block.contains(&format!("  packet     {packet}\n")), "{block}");
    let other = captures::path("tls-curl.pcap").display().to_string();
    let table = printed("csv", &[&other]);
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].ends_with(",matched_event,packet,file"), "{table}");
    assert!(
        rows[1].ends_with("tls-rustls.pcap") && rows[1].contains(&format!(",tls_client,{packet},")),
        "{table}"
    );
}

#[test]
fn matches_follow_their_events_whatever_is_selected() {
    let list = file("follow.csv", &format!("{JA4},loader\n"));
    let names = |arguments: &[&str]| -> Vec<String> {
        let output = command("csv", &[&list]).args(["--fields", "event"]).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().skip(1).map(str::to_owned).collect()
    };
    let all = names(&[]);
    let at = all.iter().position(|name| name == "match").unwrap();
    assert_eq!(all[at - 1], "tls_client");
    assert_eq!(all.iter().filter(|name| *name == "match").count(), 1);
    let syns = names(&["--events", "tcp_syn"]);
    assert!(syns.iter().any(|name| name == "match") && syns.iter().any(|name| name == "tcp_syn"));
    assert!(!syns.iter().any(|name| name == "tls_client"));
}

#[test]
fn exit_status_says_whether_a_list_had_a_hit() {
    let hit = file("hit.csv", &format!("{JA4}\n"));
    let miss = file("miss.txt", "203.0.113.9\n");
    let label = file("label.csv", &format!("ja4,label,watch\n{JA4},x,no\n"));
    let status = |lists: &[&str], arguments: &[&str]| {
        command("json", lists).args(arguments).output().unwrap().status.code()
    };
    assert_eq!(status(&[&hit], &[]), Some(3));
    assert_eq!(status(&[&miss], &[]), Some(0));
    assert_eq!(status(&[&label], &[]), Some(0));
    assert_eq!(status(&[&miss, &hit], &["-q"]), Some(3));
    assert_eq!(status(&[&hit], &["--where", "event == 'match' and match_label == 'other'"]), Some(0));
    // A capture that cannot be read, or is damaged, does not hide the hit.
    let bytes = fs::read(captures::path("tls-rustls.pcap")).unwrap();
    let cut = file("cut.pcap", "");
    fs::write(&cut, &bytes[..bytes.len() - 7]).unwrap();
    for damaged in ["no-such-capture.pcap", &cut] {
        assert_eq!(status(&[&hit], &[damaged]), Some(3), "{damaged}");
        assert_eq!(status(&[&miss], &[damaged]), Some(1), "{damaged}");
    }
    assert_eq!(status(&[], &["--only-matches"]), Some(2));
    assert_eq!(status(&[], &["--events", "match"]), Some(2));
}

#[test]
fn match_that_a_limit_left_out_is_a_hit() {
    let list = file("limited.csv", &format!("{JA4},x\n"));
    for workers in ["1", "3"] {
        let mut command = command("json", &[&list]);
        command.args(["--only-matches", "--max-bytes-per-kind", "10", "-w", workers]);
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(3), &b""[..]), "{workers}");
    }
}
