//! `huginn-net db learn` of captures that name the programs of their packets.

use std::fs;
use std::process::{Command, Output};

use crate::captures;
use crate::learn::{capture, folder, text, write};

const SOURCES: [(&str, &str); 4] = [
    ("labelled-pktap.pcap", "PKTAP"),
    ("labelled-blocks.pcapng", "process blocks"),
    ("labelled-pcapdroid.pcap", "PCAPdroid"),
    ("labelled-list.pcap", "a list of programs"),
];

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap()
}

/// Standard output of a run without messages.
fn learn(args: &[&str]) -> String {
    let output = run(&[&["db", "learn"], args].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    text(&output.stdout).to_owned()
}

/// The lines to paste: columns and rows.
fn table(printed: &str) -> Vec<&str> {
    printed.lines().filter(|line| line.contains('\t')).collect()
}

#[test]
fn each_source_fills_in_row_of_program() {
    let folder = folder("programs-sources");
    for (name, origin) in SOURCES {
        let printed = learn(&[&capture(name)]);
        assert!(!printed.contains('['), "servers and SYNs have names: {printed}");
        let version = if name == "labelled-list.pcap" { " 7.88.1" } else { "" };
        for line in [&*format!("# curl{version}, named by {origin}"), "# 2 ClientHellos of 2 hosts"] {
            assert!(printed.lines().any(|found| found == line), "{line}\n{printed}");
        }
        let [columns, row] = table(&printed)[..] else { panic!("{printed}") };
        let value = |column: &str| {
            let at = columns.split('\t').position(|found| found == column).unwrap();
            row.split('\t').nth(at).unwrap()
        };
        assert_eq!((value("application"), value("library")), ("curl", "OpenSSL"));
        assert_eq!(value("application_version"), version.trim());
        assert_eq!(value("evidence"), format!("capture {name}, program named by {origin}"));
        assert_eq!(value("date"), "2026-11-21");
        let clients = write(&folder, "clients.tsv", format!("{columns}\n{row}\n"));
        let explained = run(&["explain", value("ja4"), "--clients", &clients]);
        assert!(text(&explained.stdout).contains("candidates    curl\n"), "{}", text(&explained.stdout));
    }
}

#[test]
fn capture_without_programs_lists_nothing_that_has_a_name() {
    assert_eq!(learn(&[&capture("tls-curl.pcap")]), "; every fingerprint has a name\n");
}

#[test]
fn list_names_program_at_local_end_in_its_time() {
    let folder = folder("programs-lists");
    let plain = capture("tls-curl.pcap");
    let line = |local: &str, remote: &str, rest: &str| {
        format!(r#"{{"protocol":"TCP","local_addr":"{local}","remote_addr":"{remote}"{rest}}}"#)
    };
    let (client, server) = ("192.0.2.1:41658", "192.0.2.2:443");
    let curl = line(client, server, r#","process_name":"curl""#);
    let wget = line(client, server, r#","process_name":"wget""#);
    let nginx = line(server, client, r#","process_name":"nginx""#);
    let timed = |program: &str, first: &str, last: &str| {
        let seen = format!(r#","program":"{program}","first_seen":"{first}","last_seen":"{last}""#);
        line(client, server, &seen)
    };
    let before = timed("wget", "2026-11-21T07:43:40Z", "2026-11-21T07:43:44Z");
    let during = timed("curl", "2026-11-21T08:43:47.5+01:00", "2026-11-21T08:43:50+01:00");
    let log = r#"{"event":"new_connection","protocol":"TCP","source_ip":"192.0.2.1","source_port":41658,
        "destination_ip":"192.0.2.2","destination_port":443,"pid":1,"process_name":"curl"}"#;
    let cases: [(String, Option<&str>); 12] = [
        (curl.clone(), Some("curl")),
        (format!("\n{curl}\r\n\n{curl}\n"), Some("curl")),
        (log.replace('\n', ""), Some("curl")),
        (format!("{before}\n{during}"), Some("curl")),
        (before, None),
        (format!("{curl}\n{wget}"), None),
        (nginx, None),
        (format!("{curl}\n").repeat(63), Some("curl")),
        (format!("{curl}\n").repeat(64), None),
        (line(client, server, ""), None),
        (curl.replace("TCP", "UDP"), None),
        (curl.replace("TCP", "ICMP"), None),
    ];
    for (list, want) in cases {
        let list = write(&folder, "list.jsonl", list);
        let printed = learn(&[&plain, "--programs", &list, "--protocols", "tls"]);
        let named = printed.lines().find_map(|line| line.strip_suffix(", named by a list of programs"));
        assert_eq!(named, want.map(|name| format!("# {name}")).as_deref(), "{printed}");
    }
}

#[test]
fn wrong_line_of_list_is_named() {
    let folder = folder("programs-wrong");
    let list =
        write(&folder, "list.jsonl", "{\"protocol\":\"TCP\"}\n{\"protocol\":\"TCP\",\"local_addr\":\"x\"}\n");
    let output = run(&["db", "learn", &capture("tls-curl.pcap"), "--programs", &list]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("list.jsonl: line 2, column 34: "), "{}", text(&output.stderr));

    let copy = write(&folder, "x.pcap", fs::read(captures::path("tls-curl.pcap")).unwrap());
    write(&folder, "x.pcap.connections.jsonl", "{");
    let output = run(&["db", "learn", &copy]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("x.pcap.connections.jsonl: line 1, column 1: "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn program_name_is_safe_in_row_and_terminal() {
    let folder = folder("programs-hostile");
    let name = "a\\tb\\u001b[2J\\n:c";
    let line =
        r#"{"protocol":"TCP","local_addr":"192.0.2.1:41658","remote_addr":"192.0.2.2:443","program":"NAME"}"#;
    let list = write(&folder, "list.jsonl", line.replace("NAME", name));
    let printed = learn(&[&capture("tls-curl.pcap"), "--programs", &list]);
    assert!(printed.contains("# a\\x09b\\x1b[2J\\x0a:c, named by"), "{printed}");
    let [columns, row] = table(&printed)[..] else { panic!("{printed}") };
    assert_eq!(columns.split('\t').count(), row.split('\t').count());
}

#[test]
fn damaged_process_is_reported_and_others_are_learned() {
    let folder = folder("programs-damaged");
    let mut bytes = fs::read(captures::path("labelled-blocks.pcapng")).unwrap();
    let option = [0x01, 0x80, 4, 0, 0, 0, 0, 0];
    let at = bytes.windows(8).position(|window| window == option).unwrap();
    bytes[at + 4] = 9;
    let file = write(&folder, "damaged.pcapng", bytes);
    let output = run(&["db", "learn", &file]);
    assert_eq!(output.status.code(), Some(1));
    let message =
        "damaged.pcapng: packet 1 at byte 88: packet of process 9 in a section that describes 1 so far\n";
    assert!(text(&output.stderr).ends_with(message), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("# 2 ClientHellos"), "{}", text(&output.stdout));
}

#[test]
fn process_without_direction_names_no_program() {
    let folder = folder("programs-direction");
    let mut bytes = fs::read(captures::path("labelled-pktap.pcap")).unwrap();
    let mut at = 24;
    let mut packets = 0;
    while at < bytes.len() {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        bytes[at + 16 + 36] = 0;
        at += 16 + usize::try_from(len).unwrap();
        packets += 1;
    }
    let file = write(&folder, "pktap.pcap", bytes);
    let output = run(&["db", "learn", &file]);
    assert_eq!(text(&output.stdout), "; every fingerprint has a name\n");
    let message = format!("{packets} packets name a process but not whether it sent or received them");
    assert!(text(&output.stderr).contains(&message), "{}", text(&output.stderr));
}
