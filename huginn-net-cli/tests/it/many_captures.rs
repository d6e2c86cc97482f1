//! `huginn-net pcap` with several captures: directories, lists, patterns, joined hosts and counted fingerprints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    // Other commands begin with their name.
    let is_named = args.first().is_some_and(|name| ["hosts", "fingerprints"].contains(name));
    command.args((!is_named).then_some("pcap")).args(args).env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn json(args: &[&str]) -> Vec<Value> {
    let output = run(&[args, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A folder with two captures, in it and below it, and another file.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("b")).unwrap();
    fs::copy(captures::path("curl-nginx.pcap"), folder.join("b/second.pcap")).unwrap();
    fs::copy(captures::path("tls-curl.pcap"), folder.join("a-first.pcap")).unwrap();
    fs::write(folder.join("notes.txt"), "no capture").unwrap();
    folder
}

/// The files that events name, in the order of their first events.
fn files(events: &[Value]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for event in events {
        let name = event["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        if files.last() != Some(&name) {
            files.push(name);
        }
    }
    files
}

#[test]
fn directories_are_read_recursively_in_order() {
    let folder = folder("directory");
    let output = run(&["--format", "json", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "huginn-net: skipped 1 file that is not a capture\n");
    let events: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(files(&events), ["a-first.pcap", "second.pcap"]);
}

#[test]
fn file_named_as_capture_is_not_skipped() {
    let folder = folder("broken");
    fs::write(folder.join("broken.pcap"), "no capture").unwrap();
    let output = run(&["-q", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("broken.pcap: is not a capture file"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("second.pcap"), "the others are analysed");
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed() {
    let folder = folder("links");
    std::os::unix::fs::symlink(&folder, folder.join("loop")).unwrap();
    std::os::unix::fs::symlink(folder.join("a-first.pcap"), folder.join("copy.pcap")).unwrap();
    assert_eq!(files(&json(&[folder.to_str().unwrap()])), ["a-first.pcap", "second.pcap"]);
}

#[test]
fn directory_without_captures_fails() {
    let folder = folder("empty");
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    for (args, message) in [
        (["-q", empty.to_str().unwrap()], "empty: no capture files"),
        (["-q", "/nowhere"], "/nowhere: "),
        (["-q", folder.join("*.zip").to_str().unwrap()], "*.zip: no capture files"),
    ] {
        let output = run(&args);
        assert_ne!(output.status.code(), Some(0), "{args:?}");
        assert!(text(&output.stderr).contains(message), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn places_without_captures_do_not_stop_the_others() {
    let folder = folder("places");
    let empty = folder.join("empty");
    fs::create_dir(&empty).unwrap();
    let capture = folder.join("a-first.pcap");
    let pattern = folder.join("*.zip");
    for places in [&[&empty][..], &[&pattern], &[&empty, &pattern]] {
        let args: Vec<&str> = places.iter().chain([&&capture]).map(|path| path.to_str().unwrap()).collect();
        let output = run(&[&["-q", "--format", "json"], &*args].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(text(&output.stdout).contains("\"tcp_syn\""), "the others are analysed: {stderr}");
        assert_eq!(stderr.matches(": no capture files\n").count(), places.len(), "{stderr}");
    }
    let output = run(&["-q", empty.to_str().unwrap(), pattern.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr).matches(": no capture files\n").count(), 2, "{}", text(&output.stderr));
}

#[test]
fn lists_and_patterns_name_captures() {
    let folder = folder("lists");
    let list = folder.join("list");
    let (first, second) = (folder.join("a-first.pcap"), folder.join("b/second.pcap"));
    fs::write(&list, format!("{}\n\n{}\r\n", second.display(), first.display())).unwrap();
    assert_eq!(files(&json(&[&format!("@{}", list.display())])), ["second.pcap", "a-first.pcap"]);
    let pattern = folder.join("*/*.pcap");
    let events = json(&[pattern.to_str().unwrap(), first.to_str().unwrap()]);
    assert_eq!(files(&events), ["second.pcap", "a-first.pcap"]);
    let missing = run(&["@/nowhere/list"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("@/nowhere/list: "), "{}", text(&missing.stderr));
}

#[test]
fn merged_hosts_have_one_row_per_address() {
    let folder = folder("merge");
    let folder = folder.to_str().unwrap();
    let each = json(&["hosts", "-q", folder]);
    let merged = json(&["hosts", "-q", "--merge", folder]);
    let address = |host: &Value| host["ip"].as_str().unwrap().to_owned();
    let addresses: BTreeSet<String> = each.iter().map(address).collect();
    assert!(addresses.len() < each.len(), "an address is in both captures");
    assert_eq!(merged.iter().map(address).collect::<Vec<_>>().len(), addresses.len());
    assert_eq!(merged.iter().map(address).collect::<BTreeSet<_>>(), addresses);
    let handshakes = |hosts: &[Value]| -> u64 {
        hosts.iter().map(|host| host["as_client"]["handshakes"].as_u64().unwrap()).sum()
    };
    assert_eq!(handshakes(&merged), handshakes(&each));
    assert!(merged.iter().all(|host| host.get("file").is_none()));
}

/// The hosts of each JA4, from events.
fn ja4_hosts(events: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut hosts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["event"] == "tls_client") {
        let ip = event["client"]["ip"].as_str().unwrap().to_owned();
        hosts.entry(event["ja4"].as_str().unwrap().to_owned()).or_default().insert(ip);
    }
    hosts
}

#[test]
fn fingerprints_are_counted_as_events_show_them() {
    let folder = captures::folder().join("tls");
    let folder = folder.to_str().unwrap();
    let known = ja4_hosts(&json(&["-q", folder]));
    let lines = json(&["fingerprints", "-q", "--top", "1000", "--kinds", "ja4,ja3,sni", folder]);
    let ja4: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "ja4").collect();
    assert!(ja4.len() > 10 && ja4.len() == known.len(), "{} of {}", ja4.len(), known.len());
    for line in &ja4 {
        let hosts = &known[line["value"].as_str().unwrap()];
        assert_eq!(line["hosts"].as_u64(), Some(hosts.len() as u64), "{line}");
    }
    assert!(lines.iter().all(|line| line["kind"] != "tcp_syn"), "--kinds selects");
    let order: Vec<u64> = ja4.iter().map(|line| line["hosts"].as_u64().unwrap()).collect();
    assert!(order.is_sorted_by(|one, other| one >= other), "{order:?}");

    let rare = json(&["fingerprints", "-q", "--rare", "3", "--kinds", "ja4", folder]);
    let rare: Vec<&Value> = rare.iter().filter(|line| line["kind"] == "ja4").collect();
    assert_eq!(rare.len(), 3);
    assert_eq!(rare[0]["value"], ja4[ja4.len() - 1]["value"]);
    assert!(rare[0]["first"]["file"].as_str().unwrap().contains("tls/"));
}

#[test]
fn fingerprints_name_their_first_packet() {
    let capture = captures::path("tls-curl.pcap").display().to_string();
    let first = json(&["--events", "tls_server", &capture]).remove(0);
    let of_kind = |lines: &[Value], kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    let lines = json(&["fingerprints", "-q", "--top", "9", "--where", "event == 'tls_server'", &capture]);
    assert!(of_kind(&lines, "ja3s") > 0 && of_kind(&lines, "tls_cipher") > 0);
    let line = lines.iter().find(|line| line["value"] == first["ja3s_hash"]).unwrap();
    assert_eq!(line["first"]["packet"], first["packet"]);

    let output = run(&[
        "fingerprints",
        "-q",
        "--top",
        "9",
        "--where",
        "event == 'tls_server'",
        "--format",
        "csv",
        &capture,
    ]);
    let mut csv = csv::Reader::from_reader(&output.stdout[..]);
    let column = |name| csv.headers().unwrap().iter().position(|heading| heading == name).unwrap();
    let [value, packet, file] = ["value", "packet", "file"].map(column);
    let rows: Vec<_> = csv.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), lines.len());
    for (row, line) in rows.iter().zip(&lines) {
        assert_eq!(row[value], *line["value"].as_str().unwrap());
        assert_eq!(row[packet], line["first"]["packet"].to_string());
        assert_eq!(row[file], *"");
    }

    let output =
        run(&["fingerprints", "-q", "--top", "9", "--where", "event == 'tls_server'", &capture, &capture]);
    let table = text(&output.stdout);
    assert!(table.lines().any(|line| line.ends_with("packet   file")), "{table}");
    assert!(table.lines().any(|line| line.ends_with("tls-curl.pcap")), "{table}");
}

#[test]
fn kinds_and_conditions_select_fingerprints() {
    let file = captures::path("http-imitation.pcap").display().to_string();
    let kinds = |args: &[&str]| {
        let lines = json(&[&["fingerprints", "-q"], args, &[&*file]].concat());
        let mut kinds: Vec<Value> = lines.iter().map(|line| line["kind"].clone()).collect();
        kinds.dedup();
        kinds
    };
    assert!(kinds(&["--where", "event == 'http_request'"]).len() > 1);
    assert_eq!(kinds(&["--kinds", "user_agent"]), ["user_agent"]);
    let error = |args: &[&str]| {
        let output = run(&[&["fingerprints"], args, &[&*file]].concat());
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).to_owned()
    };
    assert!(error(&["--kinds", "useragent"]).contains("expected one of tcp_syn"));
    let uptime = ["--where", "event == 'uptime'"];
    assert!(error(&uptime).contains("fingerprints does not count the event 'uptime'"));
    assert!(error(&["--top", "3", "--rare", "3"]).contains("cannot be used with"));
}

#[test]
fn tables_of_fingerprints_end_with_totals() {
    let output =
        run(&["fingerprints", "--rare", "2", &captures::path("tls-curl.pcap").display().to_string()]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for wanted in ["JA4: rarest 2 of", "TCP SYN: rarest", "\ntotal       42 packets"] {
        assert!(printed.contains(wanted), "{wanted}: {printed}");
    }
    assert!(!printed.contains(" > "), "no events: {printed}");
}

#[test]
fn selected_events_are_written() {
    let capture = captures::path("tls-curl.pcap").display().to_string();
    let all = json(&[&capture]);
    let some = json(&["--events", "tls_client,tcp_syn", &capture]);
    let is_some = |event: &&Value| event["event"] == "tls_client" || event["event"] == "tcp_syn";
    assert!(!some.is_empty() && some.len() < all.len());
    assert!(some.iter().eq(all.iter().filter(is_some)));
    let unknown = run(&["--events", "tls", &capture]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("tls_client"), "{}", text(&unknown.stderr));
}

#[test]
fn fields_are_written_as_csv_and_tsv() {
    let capture = captures::path("tls-curl.pcap").display().to_string();
    let events = json(&["--events", "tls_client", &capture]);
    let column = |event: &Value| {
        format!(
            "{},{},{}",
            event["client"]["ip"].as_str().unwrap(),
            event["sni"].as_str().unwrap_or_default(),
            event["ja4"].as_str().unwrap()
        )
    };
    let wanted: Vec<String> =
        std::iter::once("client.ip,sni,ja4".to_owned()).chain(events.iter().map(column)).collect();
    let args = ["--events", "tls_client", "--fields", "client.ip,sni,ja4", &capture, "--format"];
    let csv = run(&[&args[..], &["csv"]].concat());
    assert_eq!(text(&csv.stdout).lines().collect::<Vec<_>>(), wanted);
    let tsv = run(&[&args[..], &["tsv"]].concat());
    assert_eq!(text(&tsv.stdout).replace('\t', ","), text(&csv.stdout));
    assert!(tsv.stderr.is_empty() && csv.stderr.is_empty());

    let json = run(&[&args[..], &["json"]].concat());
    let first: Value = serde_json::from_str(text(&json.stdout).lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        serde_json::json!({"client.ip": events[0]["client"]["ip"], "sni": events[0]["sni"], "ja4": events[0]["ja4"]})
    );
    let default = run(&["--format", "csv", &capture]);
    assert!(text(&default.stdout).starts_with("ts,event,client.ip,"), "{}", text(&default.stdout));
}

#[test]
fn local_time_shifts_human_format_only() {
    let capture = captures::path("tls-curl.pcap").display().to_string();
    let local = |args: &[&str]| {
        let output = program(args).env("TZ", "America/New_York").output().unwrap();
        text(&output.stdout).to_owned()
    };
    let (utc, shifted) = (local(&["-q", &capture]), local(&["-q", "--local-time", &capture]));
    assert!(utc.starts_with("07:43:47.931309  "), "{utc}");
    assert!(shifted.starts_with("02:43:47.931309  "), "{shifted}");
    assert_eq!(utc.replace("07:43:4", "02:43:4"), shifted);
    assert!(local(&["-v", "--local-time", &capture]).contains("2026-11-21T02:43:47.931309000-05:00"));
}

#[cfg(unix)]
#[test]
fn interrupt_ends_with_totals() {
    use std::io::Write;
    use std::process::Stdio;
    use std::thread;
    use std::time::Duration;

    let mut child =
        program(&["-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&fs::read(captures::path("tls-curl.pcap")).unwrap()).unwrap();
    let mut first = [0; 1];
    // The program handles the signal once it has written an event.
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    thread::sleep(Duration::from_millis(300));
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\ntotal       "), "{}", text(&output.stdout));
}

#[test]
fn totals_of_fingerprints_have_contradictions() {
    let path = captures::path("hosts-ua.pcap");
    let output = run(&["fingerprints", "--rare", "1", "--kinds", "http_request", path.to_str().unwrap()]);
    let totals = text(&output.stdout);
    for reason in [
        "            192.0.2.1: TCP says Linux, User-Agent says Windows, 4 times: unexplained (NAT, a proxy or a forgery)",
        "            192.0.2.1: TCP says Linux, User-Agent says macOS or iOS (iPhone), 4 times",
    ] {
        assert!(totals.contains(reason), "{totals}");
    }
}
