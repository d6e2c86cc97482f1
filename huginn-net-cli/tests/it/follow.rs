//! `huginn-net follow`: one host, and who sent something.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;
use crate::hostile_texts::{capture, check, payloads};

fn run(args: &[&str], files: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("follow").args(args).env("COLUMNS", "160");
    let path = |file: &&str| if file.starts_with('/') { PathBuf::from(file) } else { captures::path(file) };
    command.args(files.iter().map(path)).output().unwrap()
}

fn stdout(args: &[&str], files: &[&str]) -> String {
    let output = run(args, files);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(args: &[&str], files: &[&str]) -> Vec<Value> {
    let text = stdout(&[&["--format", "json"], args].concat(), files);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn host_has_evidence_connections_and_changes() {
    let screen = stdout(&["192.0.2.1"], &["hosts-ua.pcap"]);
    for line in [
        "system         Linux 4.20 or newer",
        "evidence       TCP says Linux (Linux 4.20 or newer, 12 SYNs)",
        "contradictions TCP says Linux, User-Agent says Windows, 4 times: unexplained (NAT, a proxy or a forgery)",
        "contacted      192.0.2.2 (12)",
        "connections: 12, on 2026-11-21 (UTC)",
        "changes, findings, tools, failed handshakes and certificates: 9",
    ] {
        assert!(screen.lines().any(|found| found == line), "{line}\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 160), "{screen}");
    assert!(
        screen.contains("unexplained: User-Agent says Chromium 126 on Windows; TCP says Linux"),
        "{screen}"
    );
}

#[test]
fn change_is_listed_at_its_host() {
    let screen = stdout(&["192.0.2.1"], &["hosts-nat.pcap"]);
    for text in ["Windows now, Linux before", "Windows and Linux share the address"] {
        assert_eq!(screen.matches(text).count(), if text.contains("share") { 2 } else { 1 }, "{screen}");
    }
    let peer = stdout(&["192.0.2.2"], &["hosts-nat.pcap"]);
    assert!(!peer.contains("host change") && !peer.contains("ip sharing"), "{peer}");
}

#[test]
fn host_has_its_findings() {
    let screen = stdout(&["192.0.2.1"], &["hosts-plain.pcap"]);
    assert!(screen.contains("beacon: polls 192.0.2.2 every 72.0 s"), "{screen}");
    let all = lines(&["192.0.2.1"], &["hosts-plain.pcap"]);
    let beacons: Vec<&Value> = all.iter().filter(|line| line["finding"] == "beacon").collect();
    // One for each of its servers.
    let [beacon, _, _] = &*beacons else { panic!("{all:?}") };
    assert_eq!((&beacon["event"], &beacon["contacts"]), (&"finding".into(), &10.into()));
    assert!(!stdout(&["192.0.2.2"], &["hosts-plain.pcap"]).contains("beacon:"));
}

#[test]
fn json_is_host_then_connections_by_start_then_findings() {
    let all = lines(&["192.0.2.1"], &["hosts-ua.pcap"]);
    let kinds: Vec<&str> = all.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], &kinds[1..13], kinds[13]), ("host", &["connection"; 12][..], "mismatch"));
    assert_eq!(all[0]["peers"][0]["count"], 12);
    let starts: Vec<&str> = all[1..13].iter().map(|line| line["start"].as_str().unwrap()).collect();
    assert!(starts.is_sorted(), "{starts:?}");
    let agents = all.iter().filter(|line| line["kind"] == "user_agent").count();
    assert_eq!(agents, 3);
}

#[test]
fn host_has_key_shares_and_encrypted_hellos() {
    let screen = stdout(&["192.0.2.1"], &["tls-ech.pcap"]);
    let row = |words: &[&str]| screen.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(row(&["X25519MLKEM768 (1216), x25519 (32) ", " yes ", " outer or GREASE ", " 3 "]), "{screen}");
    assert!(row(&["secp384r1 (97) ", " without key share ", " outer or GREASE ", " 1 "]), "{screen}");
    let offers: Vec<_> = lines(&["192.0.2.1"], &["tls-clients.pcap"])
        .into_iter()
        .filter(|line| line["event"] == "tls_offer")
        .collect();
    assert!(!offers.is_empty() && offers.iter().all(|offer| offer["post_quantum"] == "no"), "{offers:?}");
    assert_eq!(offers.iter().map(|offer| offer["count"].as_u64().unwrap()).sum::<u64>(), 4);
}

/// Alerts and certificates: tshark 4.0.17 (`tls.alert_message.desc`) and `openssl x509`.
#[test]
fn host_has_failed_handshakes_and_certificates() {
    let screen = stdout(&["192.0.2.1"], &["tls-alerts.pcap"]);
    for text in [
        "handshake failed, unknown_ca of the client",
        "handshake failed, internal_error of the server",
        "handshake failed, encrypted alert of the client",
    ] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    assert!(!screen.contains("handshake completed") && !screen.contains("no certificate"), "{screen}");
    let screen = stdout(&["192.0.2.1"], &["tls-certificates.pcap"]);
    assert!(screen.contains(", not for the server name"), "{screen}");
    let of = |address, event, file: &[&str]| -> Vec<Value> {
        lines(&[address], file).into_iter().filter(|line| line["event"] == event).collect()
    };
    // Packets 40 and 53 say the same of the same server: the first of its kind is listed.
    let packets =
        |found: Vec<Value>| -> Vec<u64> { found.iter().filter_map(|line| line["packet"].as_u64()).collect() };
    let failed = of("192.0.2.1", "tls_handshake", &["tls-alerts.pcap"]);
    assert!(failed.iter().all(|line| line["completed"] == false), "{failed:?}");
    assert_eq!(packets(failed), [6, 16, 40, 67, 80, 94, 122]);
    // A server has all its certificates, a client those with remarks.
    let of_server = of("192.0.2.2", "tls_certificates", &["tls-certificates.pcap"]);
    assert!(of_server.len() >= 6, "{of_server:?}");
    let of_client = of("192.0.2.1", "tls_certificates", &["tls-openssl.pcap"]);
    assert_eq!(packets(of_client), [34, 41]);
    assert!(stdout(&["192.0.2.1"], &["tls-openssl.pcap"]).contains("self-issued"));
}

#[test]
fn name_lists_clients_of_all_servers_and_address_of_server_too() {
    let named = lines(&["WWW.example.test"], &["tls-clients.pcap"]);
    let asked = lines(&["--server", "www.example.test"], &["tls-clients.pcap"]);
    assert_eq!(named, asked);
    let with_port = lines(&["--server", "www.example.test:443"], &["tls-clients.pcap"]);
    assert_eq!(named, with_port);
    assert_eq!(named.len(), 2, "{named:?}");
    assert_eq!((&named[0]["event"], &named[0]["ip"]), (&"sender".into(), &"192.0.2.1".into()));
    assert!(named.iter().all(|line| line["system"].as_str().unwrap().starts_with("Linux")), "{named:?}");
    let of_server = lines(&["--server", "192.0.2.2"], &["tls-clients.pcap"]);
    assert_eq!(of_server.len(), 1);
    assert!(of_server[0]["count"].as_u64() > named[0]["count"].as_u64());
}

#[test]
fn fingerprint_lists_senders_with_packet_and_file() {
    let events = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["pcap", "-q", "--format", "json", "--events", "tls_client"])
        .arg(captures::path("tls-clients.pcap"))
        .output()
        .unwrap();
    let events: Vec<Value> = String::from_utf8(events.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ja4 = events[0]["ja4"].as_str().unwrap();
    let from = |event: &&Value| event["ja4"] == ja4 && event["client"]["ip"] == events[0]["client"]["ip"];
    let senders = lines(&["--ja4", ja4], &["curl-nginx.pcap", "tls-clients.pcap"]);
    let sender = senders.iter().find(|line| line["ip"] == events[0]["client"]["ip"]).unwrap();
    assert_eq!(sender["packet"], events[0]["packet"]);
    assert_eq!(sender["count"], events.iter().filter(from).count());
    assert!(sender["file"].as_str().unwrap().ends_with("tls-clients.pcap"));
}

#[test]
fn nothing_found_is_message_and_status_0() {
    for (args, message) in [
        (&["192.0.2.99"][..], "No packet of a host 192.0.2.99"),
        (&["no.such.test"], "No client asked for the name no.such.test"),
        (&["--server", "192.0.2.99"], "No client asked a server 192.0.2.99"),
        (&["--fingerprint", "t13"], "No host sent t13"),
    ] {
        let output = run(args, &["curl-nginx.pcap"]);
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]), "{args:?}");
        let found = String::from_utf8(output.stderr).unwrap();
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn other_texts_than_addresses_and_names_have_advice() {
    let file = captures::path("curl-nginx.pcap").display().to_string();
    for (args, message) in [
        (&["192.0.2.0/24", &*file][..], "'192.0.2.0/24' is a network"),
        (&["192.0.2.1:443", &file], "'192.0.2.1:443' has a port: write '192.0.2.1'"),
        (&["[2001:db8::1]:443", &file], "has a port: write '2001:db8::1'"),
        (&["--server", "192.0.2.1:443", &file], "has a port: write '192.0.2.1'"),
        (
            &["t13d1516h2_8daaf6152771_02713d6af862", &file],
            "is a fingerprint: write --fingerprint t13d1516h2_8daaf6152771_02713d6af862",
        ),
        (&["767cd7645936b7916bcb8d106c29f99e", &file], "is a fingerprint"),
        (&["*.test", &file], "'*.test' is several names"),
        (&[".test", &file], "--where \"sni ~ '*.test'\""),
        (&["https://www.example.test/x", &file], "is a URL: write 'www.example.test'"),
        (&["www.example[.]test", &file], "is not a name: write 'www.example.test'"),
        (&["a b", &file], "'a b' is neither an address nor the name of a server"),
        (&[&file, "192.0.2.1"], "name the host or server before the captures"),
        (&[&file], "name a host or a server before the capture"),
        (&["10.0.0.1"], "name a capture, too: 'huginn-net follow 10.0.0.1 FILE'"),
    ] {
        let output = run(args, &[]);
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{args:?}");
        let found = String::from_utf8(output.stderr).unwrap();
        assert!(found.contains(message), "{args:?}: {found}");
    }
}

#[test]
fn time_and_condition_select_connections() {
    let all = stdout(&["192.0.2.1", "--from", "2030-01-01"], &["hosts-ua.pcap"]);
    assert!(all.contains("no connections"), "{all}");
    let some = lines(&["192.0.2.1", "--where", "mismatch != null"], &["hosts-ua.pcap"]);
    let connections = some.iter().filter(|line| line["event"] == "connection").count();
    assert_eq!(connections, 8);
    let output = run(&["192.0.2.1", "--where", "event == 'match'"], &["hosts-ua.pcap"]);
    let found = String::from_utf8(output.stderr).unwrap();
    assert!(found.contains("--where: follow does not show the event 'match'"), "{found}");
}

#[test]
fn connections_of_several_files_are_joined() {
    let screen = stdout(&["192.0.2.1"], &["hosts-ua.pcap", "hosts-nat.pcap"]);
    assert!(screen.contains("connections: 36"), "{screen}");
    let all = lines(&["192.0.2.1"], &["hosts-ua.pcap", "hosts-nat.pcap"]);
    let of = |file: &str| {
        let connections = all.iter().filter(|line| line["event"] == "connection");
        connections.filter(|line| line["file"].as_str().unwrap().ends_with(file)).count()
    };
    assert_eq!((of("hosts-ua.pcap"), of("hosts-nat.pcap")), (12, 24));
    let one = stdout(&["192.0.2.1"], &["hosts-ua.pcap"]);
    assert!(!one.contains("hosts-ua.pcap"), "{one}");
}

#[test]
fn hostile_texts_are_printable() {
    let path = capture("follow.pcap", &payloads("=x"));
    let path = path.to_str().unwrap();
    for host in ["192.0.2.10", "192.0.2.11", "192.0.2.12", "192.0.2.2"] {
        check(stdout(&[host], &[path]).as_bytes(), host);
    }
    check(stdout(&["--server", "192.0.2.2"], &[path]).as_bytes(), "server");
    let nothing = run(&["\u{1b}[2J\u{202e}"], &[path]);
    check(&nothing.stderr, "a name");
}

#[test]
fn number_of_workers_does_not_change_output() {
    let with = |workers| stdout(&["--format", "json", "-w", workers, "192.0.2.2"], &["tls-clients.pcap"]);
    assert_eq!(with("1"), with("3"));
}

#[test]
fn equal_connections_of_two_networks_keep_their_packets() {
    let bytes = std::fs::read(captures::path("tls-curl.pcap")).unwrap();
    let mut both = bytes.clone();
    let (mut at, mut count) = (24, 0);
    // The same packets in a VLAN.
    while let Some(header) = bytes.get(at..at + 16) {
        let number = |from: usize| u32::from_le_bytes(header[from..from + 4].try_into().unwrap());
        let end = at + 16 + number(8) as usize;
        let frame = &bytes[at + 16..end];
        both.extend(&header[..8]);
        both.extend([number(8) + 4, number(12) + 4].map(u32::to_le_bytes).concat());
        both.extend([&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat());
        (at, count) = (end, count + 1);
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("two-networks.pcap");
    std::fs::write(&path, both).unwrap();
    let screen = stdout(&["-q", "192.0.2.1"], &[path.to_str().unwrap()]);
    let rows = screen.lines().filter(|line| line.contains("192.0.2.2:443"));
    let packets: Vec<u32> = rows.map(|row| row.split_whitespace().last().unwrap().parse().unwrap()).collect();
    let (pairs, _) = packets.as_chunks::<2>();
    assert!(pairs.len() == 5 && pairs.iter().all(|[one, other]| *other == one + count), "{screen}");
}
