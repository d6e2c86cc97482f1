//! `huginn-net diff`: what differs between two sets of captures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;
use crate::hostile_texts::{capture, check, payloads};

fn run(args: &[&str], sides: [&str; 2]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["diff", "-q"]).args(args).env("COLUMNS", "160");
    let path = |file: &str| if file.starts_with('/') { PathBuf::from(file) } else { captures::path(file) };
    command.args(sides.map(path)).output().unwrap()
}

fn lines(sides: [&str; 2]) -> Vec<Value> {
    let output = run(&["--format", "json"], sides);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn equal_sides_have_no_differences() {
    for name in ["tls-clients.pcap", "hosts-ua.pcap", "ssh-dropbear.pcap"] {
        let output = run(&[], [name, name]);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().ends_with("\nno differences\n"));
        assert_eq!(lines([name, name]).len(), 2);
    }
}

#[test]
fn new_and_gone_swap_with_the_sides() {
    let sides = ["tls-clients.pcap", "ssh-dropbear.pcap"];
    let [there, back] = [sides, [sides[1], sides[0]]].map(|sides| {
        let all = lines(sides);
        let key =
            |line: &Value| (line["subject"].to_string(), line["kind"].to_string(), line["value"].to_string());
        let of = |change: &str| {
            let mut found: Vec<_> = all.iter().filter(|line| line["change"] == change).map(key).collect();
            found.sort();
            found
        };
        (of("new"), of("gone"))
    });
    assert!(!there.0.is_empty() && !there.1.is_empty());
    assert_eq!((&there.0, &there.1), (&back.1, &back.0));
    assert!(there.0.iter().any(|(_, kind, _)| kind == "\"hassh\""), "{:?}", there.0);
    assert!(there.1.iter().any(|(_, kind, _)| kind == "\"ja3s\""), "{:?}", there.1);
}

#[test]
fn changed_host_has_old_and_new_values() {
    let all = lines(["hosts-ua.pcap", "hosts-nat.pcap"]);
    let changed: Vec<_> =
        all.iter().filter(|line| line["subject"] == "host" && line["change"] == "changed").collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0]["value"], "192.0.2.1");
    assert_eq!(changed[0]["old"][0], "system: Linux 4.20 or newer");
    assert_eq!(changed[0]["new"][0], "several systems: Linux, Windows");
    let text = String::from_utf8(run(&[], ["hosts-ua.pcap", "hosts-nat.pcap"]).stdout).unwrap();
    assert!(
        text.contains("hosts: 1 changed") && text.lines().all(|line| line.chars().count() <= 160),
        "{text}"
    );
}

#[test]
fn software_has_the_remark_of_its_header() {
    let all = lines(["ssh-dropbear.pcap", "http-imitation.pcap"]);
    let host = all.iter().find(|line| line["subject"] == "host" && line["value"] == "192.0.2.1").unwrap();
    let named: Vec<&str> = host["new"].as_array().unwrap().iter().filter_map(|text| text.as_str()).collect();
    assert!(named.contains(&"client: Python urllib (dishonest)"), "{named:?}");
}

/// The certificates: `NAME.certificates` of both captures, which OpenSSL reads.
#[test]
fn server_with_another_certificate_has_changed() {
    let all = lines(["tls-certificates.pcap", "tls-alerts.pcap"]);
    let is_changed = |line: &&Value| {
        line["subject"] == "certificate" && line["change"] == "changed" && line["value"] == "192.0.2.2:443"
    };
    let changed = all.iter().find(is_changed).unwrap();
    let has = |side: &str, text: &str| {
        changed[side].as_array().unwrap().iter().any(|found| found.as_str().unwrap().contains(text))
    };
    let sha256 = [
        "7c05d977441d20e3ec648d549b6cbc15b89ac9693e8a6aa1c77d648415bcf1a0",
        "89e8c825b62e9ff0febd1e047023f8aa95c4bae7c7ba19bb3f27270a4b855fa1",
    ];
    assert!(has("old", sha256[0]) && has("new", sha256[1]), "{changed}");
    assert!(has("old", "CN=www.example.test,O=Example\\, Inc."), "{changed}");
}

#[test]
fn damaged_side_is_incomplete_and_status_is_1() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diff");
    fs::create_dir_all(&folder).unwrap();
    let cut = folder.join("cut.pcap");
    let bytes = fs::read(captures::path("tls-clients.pcap")).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 7]).unwrap();
    let output = run(&["--format", "json"], ["tls-clients.pcap", cut.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let sides: Vec<Value> = text.lines().take(2).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&sides[0]["complete"], &sides[1]["complete"]), (&true.into(), &false.into()));
    assert_eq!(sides[1]["missing"][0], "a capture could not be read to its end");
}

#[test]
fn hostile_texts_are_printable() {
    let path = capture("diff.pcap", &payloads("=x"));
    let path = path.to_str().unwrap();
    for sides in [[path, "curl-nginx.pcap"], ["curl-nginx.pcap", path]] {
        check(&run(&[], sides).stdout, "differences");
    }
}

#[test]
fn number_of_workers_does_not_change_output() {
    let with =
        |workers| run(&["--format", "json", "-w", workers], ["hosts-ua.pcap", "tls-clients.pcap"]).stdout;
    assert_eq!(with("1"), with("3"));
}

#[test]
fn condition_that_holds_in_no_compared_event_is_an_error() {
    for (condition, message) in [
        ("finding == 'scan'", "--where: diff does not compare the event 'finding', and no other can"),
        (
            "event in ('tool', 'uptime')",
            "--where: diff does not compare the events 'uptime' and 'tool', and no other",
        ),
    ] {
        let output = run(&["--where", condition], ["tls-curl.pcap", "tls-clients.pcap"]);
        let found = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && found.contains(message), "{found}");
    }
}

#[test]
fn side_without_packets_is_an_error() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diff-empty");
    fs::create_dir_all(&folder).unwrap();
    let empty = folder.join("empty.pcap");
    fs::write(&empty, &fs::read(captures::path("tls-curl.pcap")).unwrap()[..24]).unwrap();
    let empty = empty.to_str().unwrap();
    for sides in [[empty, "tls-curl.pcap"], ["tls-curl.pcap", "/nowhere.pcap"]] {
        let output = run(&[], sides);
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{sides:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.ends_with("pcap: no packets, so that there is nothing to compare\n"), "{message}");
    }
}
