//! `--fingerprint-list`: labels of fingerprints in events, and errors.

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
        command.args(["--fingerprint-list", list]);
    }
    command.arg(captures::path("tls-rustls.pcap"));
    command
}

fn stdout(format: &str, lists: &[&str]) -> String {
    let output = pcap(format, lists);
    assert!(output.status.success(), "{output:?}");
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
        &format!("# own\nJA4,Name,Watch\n{JA4},\"a \"\"b\"\"\",\n{JA4_STABLE},\"c\x1b[2J\",yes\n"),
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
    let list = file("plain.csv", &format!("{JA4},x\n"));
    let with = stdout("json", &[&list]);
    let with =
        with.replace(r#","listed":[{"label":"x","watch":false}]"#, "").replace(r#","listed":null"#, "");
    assert!(with == without);
}

#[test]
fn human_blocks_escape_labels() {
    let list = file("human.csv", &format!("ja4,label,watch\n{JA4},\"a\x1b[2J\nb\",1\n{JA3},c,0\n"));
    let lines = stdout("human", &[&list]);
    assert!(lines.contains(", a\\x1b[2J\\x0ab, c\n"), "{lines}");
    assert!(!lines.contains('\x1b'), "{lines}");
    let blocks = String::from_utf8(command("human", &[&list]).arg("-v").output().unwrap().stdout).unwrap();
    assert!(blocks.contains("  listed     a\\x1b[2J\\x0ab (watched)\n  listed     c\n"), "{blocks}");
    assert!(!stdout("human", &[]).contains("listed"));
}

#[test]
fn invalid_lists_name_file_and_line() {
    let good = file("good.csv", &format!("{JA4},x\n"));
    for (name, text, line) in [
        ("value.csv", format!("{JA4},x\nno-ja4,y\n"), "line 2: 'no-ja4' is not a JA4"),
        ("watch.jsonl", format!("{{\"ja4\":\"{JA4}\",\"label\":\"\",\"watch\":2}}"), "line 1: watch: '2'"),
        ("label.csv", format!("\n{JA4}\n"), "line 2: no label"),
        ("escape.csv", "\x1b[2J,x".to_owned(), r"line 1: '\x1b[2J' is not a JA4"),
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
    let want = format!("huginn-net: {list}: none of 2 rows has a JA4 or a JA3 hash\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), want);
}

#[test]
fn large_list_finds_first_and_last_entry() {
    let mut text = format!("{JA3},first\n");
    for number in 0..100_000 {
        writeln!(text, "{number:032x},label {number}").unwrap();
    }
    writeln!(text, "{JA4},last").unwrap();
    let want = r#"[{"label":"first","watch":false},{"label":"last","watch":false}]"#;
    let found = listed(&[&file("large.csv", &text)]);
    assert_eq!(found, [want, "null"]);
}
