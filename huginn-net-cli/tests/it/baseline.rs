//! `--baseline` and `--write-baseline`: new values, files and errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;

const HEADER: &str = r#"{"huginn_net_baseline":2,"first":null,"last":null}"#;

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

/// Returns a path in the scratch folder of this module.
fn scratch(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("baseline");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name).display().to_string()
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).arg("pcap").args(args).output().unwrap()
}

/// The lines of a run, which must succeed without messages.
fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes the baseline of captures, and returns its path.
fn learn(name: &str, captures: &[String]) -> String {
    let path = scratch(name);
    let mut args = vec!["-q", "--write-baseline", &path];
    args.extend(captures.iter().map(String::as_str));
    assert!(!stdout(&args).contains("new_fingerprint"), "learning reports nothing");
    path
}

/// Type and value of each line of a baseline.
fn fingerprints(path: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| fingerprint(&serde_json::from_str(line).unwrap())).collect()
}

fn fingerprint(line: &Value) -> (String, String) {
    (line["type"].as_str().unwrap().to_owned(), line["value"].as_str().unwrap().to_owned())
}

/// The findings of captures against a baseline.
fn findings(baseline: &str, captures: &[String], more: &[&str]) -> Vec<Value> {
    let mut args = vec!["--format", "json", "--baseline", baseline];
    args.extend(more);
    args.extend(captures.iter().map(String::as_str));
    let lines = stdout(&args);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["finding"].as_str().is_some_and(|name| name.starts_with("new_"))).collect()
}

fn mixed() -> Vec<String> {
    ["tls-curl.pcap", "ssh-openssh.pcap", "http-h2c.pcap", "tls-certificates.pcap", "nmap-scan.pcap"]
        .map(capture)
        .to_vec()
}

#[test]
fn fingerprints_of_the_learning_period_are_not_reported() {
    let path = learn("same.jsonl", &mixed());
    assert_eq!(findings(&path, &mixed(), &[]), [Value::Null; 0]);
    let known = fingerprints(&path);
    let kinds = [
        "tcp_syn",
        "ja4_stable",
        "akamai",
        "hassh",
        "hassh_server",
        "tool",
        "server",
        "issuer",
        "client",
        "certificate",
        "name",
        "user_agent",
    ];
    for kind in kinds {
        assert!(known.iter().any(|(found, _)| found == kind), "{kind}: {known:?}");
    }
    let order =
        |(kind, value): &(String, String)| (kinds.iter().position(|name| name == kind), value.clone());
    assert!(known.is_sorted_by_key(order), "{known:?}");
}

#[test]
fn each_fingerprint_that_the_baseline_lacks_is_reported_once() {
    let path = learn("curl.jsonl", &[capture("tls-curl.pcap")]);
    let other = learn("mixed.jsonl", &mixed());
    let known = fingerprints(&path);
    let mut expected = fingerprints(&other);
    let is_reported = |kind: &str| {
        !["certificate", "name", "user_agent"].contains(&kind) && !["server", "client"].contains(&kind)
    };
    expected.retain(|found| is_reported(&found.0) && !known.contains(found));
    let twice = [mixed(), mixed()].concat();
    let events = findings(&path, &twice, &[]);
    let mut found: Vec<_> = events.iter().map(fingerprint).collect();
    found.sort_unstable();
    let all = found.len();
    found.dedup();
    assert_eq!(found.len(), all);
    found.retain(|(kind, _)| is_reported(kind));
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(found.len() > 4, "{found:?}");
}

#[test]
fn finding_has_numbers_packet_and_reason() {
    let path = learn("numbers.jsonl", &[capture("tls-curl.pcap")]);
    let header: Value =
        serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
    let events = findings(&path, &[capture("ssh-openssh.pcap")], &[]);
    let server = events.iter().find(|event| event["type"] == "hassh_server").unwrap();
    let known = fingerprints(&path).iter().filter(|(kind, _)| kind == "hassh_server").count();
    assert_eq!(server["subject"], "server");
    assert_eq!((&server["known"], &server["since"]), (&known.into(), &header["first"]));
    assert_eq!((&server["baseline"], &server["packets"][0]), (&Value::from(&*path), &server["packet"]));
    assert_eq!(server["page"], "docs/findings.md#new_fingerprint");
    let (value, since) = (server["value"].as_str().unwrap(), header["first"].as_str().unwrap());
    let reason = format!(
        "HASSHServer {value} is not in {path}: {known} known since {since}; the address may be forged"
    );
    assert_eq!(server["reason"], *reason);
}

#[test]
fn new_fingerprints_do_not_depend_on_workers() {
    let path = scratch("empty.jsonl");
    fs::write(&path, HEADER).unwrap();
    let captures = [capture("tls-clients.pcap"), capture("ssh-openssh.pcap"), capture("http-chromium.pcap")];
    let one = findings(&path, &captures, &["-w", "1"]);
    assert_eq!(findings(&path, &captures, &["-w", "3"]), one);
    assert!(one.len() > 5, "{one:?}");
    let written = |workers: &str| {
        let to = scratch(&format!("workers-{workers}.jsonl"));
        let args = ["-q", "-w", workers, "--write-baseline", &to, &captures[0], &captures[1], &captures[2]];
        stdout(&args);
        fs::read_to_string(to).unwrap()
    };
    assert_eq!(written("3"), written("1"));
}

#[test]
fn written_baseline_has_the_fingerprints_that_were_read() {
    let path = learn("joined.jsonl", &[capture("tls-curl.pcap")]);
    let before = fingerprints(&path);
    stdout(&["-q", "--baseline", &path, "--write-baseline", &path, &capture("ssh-openssh.pcap")]);
    let together = learn("together.jsonl", &[capture("tls-curl.pcap"), capture("ssh-openssh.pcap")]);
    assert_eq!(fs::read_to_string(&path).unwrap(), fs::read_to_string(together).unwrap());
    assert!(before.iter().all(|found| fingerprints(&path).contains(found)));
    assert!(!Path::new(&format!("{path}.new")).exists());
}

#[test]
fn distance_of_the_sender_is_not_part_of_a_syn_signature() {
    let known = fingerprints(&learn("distance.jsonl", &mixed()));
    let ttls =
        known.iter().filter(|(kind, _)| kind == "tcp_syn").map(|(_, value)| value.split(':').nth(1).unwrap());
    assert!(ttls.clone().count() > 0 && ttls.clone().all(|ttl| ttl.ends_with("+0")), "{known:?}");
}

fn value(kind: &str, value: &str) -> String {
    format!(r#"{{"type":"{kind}","value":"{value}"}}"#)
}

#[test]
fn several_baselines_are_joined() {
    let curl = learn("first.jsonl", &[capture("tls-curl.pcap")]);
    let ssh = learn("second.jsonl", &[capture("ssh-openssh.pcap")]);
    let both = [capture("tls-curl.pcap"), capture("ssh-openssh.pcap")];
    assert_eq!(findings(&curl, &both, &["--baseline", &ssh]), [Value::Null; 0]);
    assert!(!findings(&curl, &both, &[]).is_empty());
    let joined = scratch("both.jsonl");
    let empty = capture("http-h2c.pcap");
    let args = ["-q", "-c", "1", "--protocols", "ssh", "--baseline", &curl, "--baseline", &ssh];
    stdout(&[&args[..], &["--write-baseline", &joined, &empty]].concat());
    assert_eq!(fs::read_to_string(&joined).unwrap(), fs::read_to_string(learn("all.jsonl", &both)).unwrap());
}

/// Private addresses are those of other hosts at another site; all other values of its baseline are known here.
#[test]
fn baseline_of_another_site_says_nothing_of_local_hosts() {
    let values = [
        value("server", "10.0.0.2:443"),
        value("server", "[fd00::1]:443"),
        value("server", "a.example:443"),
        value("client", "10.0.0.1 61a7ad8aa9b6"),
        value("client", "192.0.2.9 61a7ad8aa9b6"),
    ];
    let header = HEADER.replace('}', r#","site":"berlin","sensor":"berlin-1"}"#);
    let path = scratch("berlin.jsonl");
    fs::write(&path, format!("{header}\n{}\n", values.join("\n"))).unwrap();
    let written = scratch("site.jsonl");
    for (site, kept) in [("berlin", &[0, 1, 2, 3, 4][..]), ("paris", &[2, 4])] {
        let args = ["-q", "-c", "1", "--protocols", "ssh", "--site", site, "--baseline", &path];
        stdout(&[&args[..], &["--write-baseline", &written, &capture("http-h2c.pcap")]].concat());
        let text = fs::read_to_string(&written).unwrap();
        let mut wanted = vec![HEADER.replace('}', &format!(r#","site":"{site}"}}"#))];
        wanted.extend(kept.iter().map(|place| values[*place].clone()));
        assert_eq!(
            text.lines().collect::<BTreeSet<_>>(),
            wanted.iter().map(String::as_str).collect(),
            "{site}"
        );
    }
}

#[test]
fn certificates_are_learned_whatever_events_are_written() {
    let path = scratch("certificates.jsonl");
    let args = ["-q", "--events", "tcp_syn", "--write-baseline", &path, &capture("tls-certificates.pcap")];
    assert!(!stdout(&args).contains("certificate"));
    assert!(fingerprints(&path).iter().any(|(kind, _)| kind == "certificate"));
}

#[test]
fn damaged_files_are_refused_with_their_line() {
    let ja4 = r#"{"type":"ja4_stable","value":"t13d1011h1_61a7ad8aa9b6_0d308c48d2a3"}"#;
    let many: String =
        (0..65_537).map(|number| format!("{{\"type\":\"hassh\",\"value\":\"{number:032x}\"}}\n")).collect();
    for (text, wanted) in [
        ("", "line 1: not the header of a baseline"),
        ("ja4,label\n", "line 1: not the header"),
        (ja4, "line 1: not the header"),
        (
            r#"{"huginn_net_baseline":1,"first":null,"last":null}"#,
            "line 1: version 1 of the format, and this program reads version 2: learn again with --write-baseline",
        ),
        (
            r#"{"huginn_net_baseline":2,"first":"2024-01-01T00:00:00Z","last":null}"#,
            "line 1: 'first' and 'last'",
        ),
        (&format!("{HEADER}\n{ja4}\n{}", ja4.get(..30).unwrap()), "line 3: not a value of a baseline"),
        (&format!("{HEADER}\n\n{HEADER}\n"), "line 3: not a value of a baseline"),
        (&format!("{HEADER}\n{}\n", ja4.replace("ja4", "ja5")), "line 2: not a value of a baseline"),
        (
            &format!("{HEADER}\n{}\n", ja4.replace("t13", "x13")),
            "line 2: not a value of the type 'ja4_stable'",
        ),
        (
            &format!("{HEADER}\n{}\n", ja4.replace("ja4_stable", "hassh")),
            "line 2: not a value of the type 'hassh'",
        ),
        (
            &format!("{HEADER}\n{}\n", value("client", "192.0.2.1")),
            "line 2: not a value of the type 'client'",
        ),
        (
            &format!("{HEADER}\n{}\n", value("server", "192.0.2.1")),
            "line 2: not a value of the type 'server'",
        ),
        (&format!("{HEADER}\n{}\n", value("name", "a\\nb")), "line 2: not a value of the type 'name'"),
        (&format!("{HEADER}\n{many}"), "line 65538: more than 65536 values of the type 'hassh'"),
    ] {
        let path = scratch("damaged.jsonl");
        fs::write(&path, text).unwrap();
        let output = run(&["--baseline", &path, &capture("tls-curl.pcap")]);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(&format!("damaged.jsonl: {wanted}")), "{wanted}: {printed}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn full_baseline_says_what_it_left_out() {
    let many: String =
        (0..65_536).map(|number| format!("{{\"type\":\"hassh\",\"value\":\"{number:032x}\"}}\n")).collect();
    let path = scratch("full.jsonl");
    fs::write(&path, format!("{HEADER}\n{many}")).unwrap();
    let output = run(&["--events", "finding", "--baseline", &path, &capture("ssh-openssh.pcap")]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("the baseline is full; values not written: "), "{printed}");
    assert!(printed.contains(" of the type 'hassh'\n"), "{printed}");
    // It is new nevertheless.
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("HASSH "));
}

#[test]
fn file_that_cannot_be_written_is_refused_before_the_analysis() {
    let curl = capture("tls-curl.pcap");
    let copy = scratch("copy.pcap");
    fs::copy(&curl, &copy).unwrap();
    let out = scratch("events.txt");
    for (args, wanted) in [
        (&["--write-baseline", &copy, &copy][..], "input and output are the same file"),
        (&["-o", &out, "--write-baseline", &out, &curl], "--output and --write-baseline name the same file"),
        (&["--write-baseline", "/no-such-folder/x", &curl], "No such file or directory"),
        (&["--write-baseline", "/dev/null", &curl], "not a regular file"),
    ] {
        let output = run(args);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(wanted) && output.stdout.is_empty(), "{args:?}: {printed}");
    }
}
