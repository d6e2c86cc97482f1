//! Scanners and packet makers in all views.

use std::process::Command;

use crate::captures;

fn stdout(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(args)
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

const SCAN: &str = "Nmap SYN scan: 20 SYNs to 20 ports of 1 host in 2 s";

#[test]
fn events_and_totals_have_tool_first() {
    let text = stdout(&["pcap", &capture("nmap-scan.pcap")]);
    let tools: Vec<&str> = text.lines().filter(|line| line.contains(" tool: ")).collect();
    assert_eq!(tools.len(), 1, "{text}");
    assert!(
        tools[0].ends_with(&format!("alert     medium tool: {SCAN}; the address may be forged")),
        "{text}"
    );
    let (_, totals) = text.split_once("\ntotal ").unwrap();
    assert_eq!(totals.lines().nth(2), Some(&*format!("tools       192.0.2.1: {SCAN}")), "{text}");
    let blocks = stdout(&["pcap", "-v", "--events", "tool", &capture("nmap-scan.pcap")]);
    assert!(
        blocks.contains("  tool       Nmap SYN scan\n  sent       20 SYNs to 20 ports of 1 host in 2 s\n"),
        "{blocks}"
    );
}

#[test]
fn hosts_with_tools_come_first() {
    let text = stdout(&["hosts", "-q", &capture("nmap-syn.pcap")]);
    let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).skip(2).collect();
    let addresses: Vec<&str> = rows.iter().filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(addresses, ["192.0.2.1", "2001:db8::1", "192.0.2.2", "2001:db8::2"], "{text}");
    assert!(rows[0].contains("Nmap SYN scan: 3 SYNs to 3 ports of 1 host in "), "{text}");
    let alone = stdout(&["hosts", "-q", &capture("nmap-scan.pcap")]);
    assert!(alone.contains("unknown") && !alone.contains("behind"), "{alone}");
}

#[test]
fn json_of_host_has_its_tools() {
    let text = stdout(&["hosts", "--format", "json", &capture("nmap-scan.pcap")]);
    let hosts: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tool = &hosts[0]["tools"][0];
    assert_eq!(tool["text"], SCAN);
    assert_eq!(
        (&tool["name"], &tool["syns"], &tool["ports"]),
        (&"Nmap SYN scan".into(), &20.into(), &20.into())
    );
    assert_eq!((&tool["hosts"], &tool["has_more_hosts"]), (&1.into(), &false.into()));
    assert_eq!(hosts[1]["tools"], serde_json::json!([]));
}

#[test]
fn tool_has_columns() {
    let fields = "event,name,ports";
    let text = stdout(&[
        "pcap",
        "--format",
        "csv",
        "--events",
        "tool",
        "--fields",
        fields,
        &capture("nmap-scan.pcap"),
    ]);
    assert_eq!(text.lines().collect::<Vec<_>>(), [fields, "tool,Nmap SYN scan,20"]);
}

#[test]
fn report_begins_what_stands_out_with_tool() {
    let page = stdout(&["report", "-o", "-", &capture("nmap-scan.pcap")]);
    let (_, after) = page.split_once("What stands out").unwrap();
    let (_, first) = after.split_once("<li").unwrap();
    let (first, _) = first.split_once("</li>").unwrap();
    for text in ["#host=192.0.2.1", SCAN, "packet 42 of nmap-scan.pcap"] {
        assert!(first.contains(text), "{text}: {first}");
    }
}
