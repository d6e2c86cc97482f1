//! `huginn-net hosts`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::long_capture;

use crate::captures;

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

fn scratch(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name).display().to_string()
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("hosts").args(args).env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn hosts(args: &[&str]) -> Vec<serde_json::Value> {
    let output = run(&[&["--format", "json"], args].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn host_is_one_event_with_all_fields() {
    let all = hosts(&[&capture("hosts-ua.pcap")]);
    let addresses: Vec<&str> = all.iter().map(|host| host["ip"].as_str().unwrap()).collect();
    assert_eq!(addresses, ["192.0.2.1", "192.0.2.2"]);
    let client = all[0].as_object().unwrap();
    for field in [
        "ts",
        "event",
        "ip",
        "first_seen",
        "last_seen",
        "as_client",
        "as_server",
        "tools",
        "one_device",
        "link",
        "mtu",
        "distance",
        "uptime",
        "systems",
        "browsers",
        "user_agents",
        "servers",
        "server_headers",
        "tls_clients",
        "languages",
        "left_out",
        "peers",
        "peers_left_out",
        "names",
        "names_left_out",
        "changes",
        "shared",
        "verdict",
    ] {
        assert!(client.contains_key(field), "{field} is missing");
    }
    assert_eq!(client.len(), 29, "the event has no tunnel and no file");
    assert_eq!((&client["event"], &client["ts"]), (&"host".into(), &client["last_seen"]));
    assert_eq!((&client["link"], &client["mtu"]), (&"Ethernet".into(), &1500.into()));
    assert_eq!((&client["shared"], &client["uptime"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(client["systems"][0]["label"]["name"], "Linux");
    assert_eq!(client["systems"][0]["count"], 12);
    assert_eq!(client["verdict"]["system"], "Linux");
    assert_eq!(client["verdict"]["evidence"][0]["supports"], true);
    assert_eq!(client["verdict"]["contradictions"][0]["other"]["says"], "Windows");
}

#[test]
fn human_format_is_table_with_sentences() {
    let output = program(&["--quiet", &capture("hosts-ua.pcap")]).env("COLUMNS", "120").output().unwrap();
    let table = text(&output.stdout);
    assert_eq!(table.matches("192.0.2.1").count(), 2, "{table}");
    assert!(table.contains("Linux 4.20 or newer") && table.contains("contradiction: see"), "{table}");
    let sentence =
        "  TCP says Linux, User-Agent says Windows, 4 times: unexplained (NAT, a proxy or a forgery)";
    assert!(table.lines().any(|line| line == sentence), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    assert!(!table.contains("TLS client"), "an empty column is omitted");
}

#[test]
fn each_file_has_its_own_hosts() {
    let (nat, ua) = (capture("hosts-nat.pcap"), capture("hosts-ua.pcap"));
    let all = hosts(&[&nat, &ua]);
    let files: Vec<&str> = all.iter().map(|host| host["file"].as_str().unwrap()).collect();
    assert_eq!(files, [&nat, &nat, &ua, &ua]);
    assert_eq!(all[0]["as_client"]["handshakes"], 24);
    let tables = run(&[&nat, &ua]).stdout;
    let names: Vec<&str> = text(&tables).lines().filter(|line| line.ends_with(".pcap")).collect();
    assert_eq!(names, [nat, ua]);
}

#[test]
fn hosts_equal_for_any_worker_count() {
    let path = scratch("long.pcap");
    long_capture::write(&path, &["http-tools.pcap", "hosts-nat.pcap"]);
    let args = ["--format", "json", &path];
    assert_eq!(text(&run(&[&["-w", "3"], &args[..]].concat()).stdout), text(&run(&args).stdout));
}

#[test]
fn hosts_are_written_to_file_with_counters() {
    let (path, out) = (capture("hosts-uptime.pcap"), scratch("hosts.json"));
    let output = run(&["--format", "json", "-o", &out, "--stats", &path]);
    assert!(output.stdout.is_empty());
    assert_eq!(fs::read(&out).unwrap(), run(&["--format", "json", &path]).stdout);
    let counters: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&counters["hosts"]["seen"], &counters["hosts"]["active"]), (&4.into(), &4.into()));
}

#[test]
fn damaged_capture_yields_hosts_before_damage() {
    let complete = fs::read(capture("curl-nginx.pcap")).unwrap();
    let path = scratch("cut.pcap");
    fs::write(&path, &complete[..complete.len() - 1]).unwrap();
    let output = run(&["--format", "json", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert!(text(&output.stderr).contains("cut.pcap: packet "), "{}", text(&output.stderr));
}

#[test]
fn unreadable_file_is_left_out() {
    let output = run(&[&scratch("absent.pcap"), &capture("curl-nginx.pcap")]);
    assert_eq!(output.status.code(), Some(1));
    let table = text(&output.stdout);
    assert!(!table.contains("absent.pcap") && !table.contains("No hosts found."), "{table}");
    assert!(table.contains("curl-nginx.pcap"), "{table}");
}

#[test]
fn capture_without_hosts_says_why() {
    let output = run(&["--port", "1", &capture("curl-nginx.pcap")]);
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stdout);
    assert!(
        printed.starts_with("No hosts found.\n\ntotal       32 packets")
            && printed.contains("\ntime        ")
            && printed.contains("\nno events   "),
        "{printed}"
    );
    assert!(hosts(&["--port", "1", &capture("curl-nginx.pcap")]).is_empty());
}

#[test]
fn totals_count_hosts_of_table_and_report() {
    // One address inside and outside of tunnels, among others.
    for name in ["made-gtpu.pcap", "made-nested.pcap", "curl-nginx.pcap", "hosts-nat.pcap"] {
        let (path, page) = (capture(name), scratch("hosts.html"));
        let listed = hosts(&[&path]).len();
        let totals = run(&[&path]);
        assert!(
            text(&totals.stdout).contains(&format!(" flows, {listed} hosts, "))
                || text(&totals.stdout).contains(&format!(" flow, {listed} hosts, ")),
            "{name}: {}",
            text(&totals.stdout)
        );
        let report = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["report", "-q", "-o", &page, &path])
            .output()
            .unwrap();
        assert!(report.status.success(), "{name}: {}", text(&report.stderr));
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("<span>{listed} hosts</span>")), "{name}");
    }
}

#[test]
fn closed_pipe_exits_quietly() {
    let path = capture("hosts-proxy.pcap");
    let mut child =
        program(&vec![path.as_str(); 100]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}
