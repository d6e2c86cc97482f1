//! Checks that scanners and packet makers are findings about their hosts.

use crate::captures;
use crate::packet::{self, Packet};
use huginn_net::core::Frames;
use huginn_net::hosts::HostProfile;
use huginn_net::observation::ToolObservation;
use huginn_net::observers::Scope;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation};

/// The tools that events report, and the profiles.
fn analyze(capture: &str, profiles: bool) -> (Vec<ToolObservation>, Vec<HostProfile>) {
    let mut found = Vec::new();
    let mut analyzer = HuginnNet::builder().profiles(profiles).build();
    let sink = &mut |event: Event| {
        if let Observation::Tool(tool) = event.kind {
            assert_eq!(event.flow.client.ip().to_string(), "192.0.2.1");
            found.push(*tool);
        }
    };
    analyzer.analyze(CaptureReader::open(captures::path(capture)).unwrap(), sink).unwrap();
    (found, analyzer.shared_state().profiles().cloned().collect())
}

#[test]
fn scan_is_reported_once_with_and_without_profiles() {
    let (found, hosts) = analyze("nmap-scan.pcap", true);
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["Nmap SYN scan: 20 SYNs to 20 ports of 1 host in 2 s"]);
    assert_eq!(analyze("nmap-scan.pcap", false).0, found);
    let tools =
        |host: &HostProfile| host.tools.observations().map(|found| found.to_string()).collect::<Vec<_>>();
    let of_hosts: Vec<(String, Vec<String>)> =
        hosts.iter().map(|host| (host.ip.to_string(), tools(host))).collect();
    let all = "Nmap SYN scan: 20 SYNs to 20 ports of 1 host in 2 s".to_owned();
    assert_eq!(of_hosts, [("192.0.2.1".to_owned(), vec![all]), ("192.0.2.2".to_owned(), vec![])]);
}

/// To p0f, each SYN of the tool contradicts the system before, which the tool does not run on.
#[test]
fn tool_is_reported_beside_changes() {
    let database: huginn_net::db::Database = "classes = unix,other
[tcp:request]
label = s:other:Device:
sig = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0
label = s:!:Nmap:SYN scan
sys = @unix
sig = 4:64-:0:1460:1024,0:mss::*
"
    .parse()
    .unwrap();
    let scan = packet::read(&captures::path("nmap-scan.pcap")).unwrap().0;
    let mut packets = packet::read(&captures::path("curl-nginx.pcap")).unwrap().0;
    packets.truncate(1);
    packets[0].ts = scan[0].ts;
    packets.extend(scan);
    let mut analyzer = HuginnNet::builder().database(database.into()).scope(Scope::P0f).build();
    let (mut changes, mut tools) = (0, 0);
    let sink = &mut |event: Event| match event.kind {
        Observation::HostChange(_) | Observation::IpSharing(_) => changes += 1,
        Observation::Tool(_) => tools += 1,
        _ => {}
    };
    analyzer.analyze(Frames::new(packets.iter().map(Packet::frame)), sink).unwrap();
    assert_eq!(tools, 1, "at the end");
    assert!(changes > 10, "{changes} changes");
}

#[test]
fn system_of_host_with_tool_stays_unknown() {
    let verdict = analyze("masscan.pcap", true).1[0].verdict();
    assert_eq!((verdict.system, verdict.behind, verdict.evidence.len()), (None, None, 0));
}

#[test]
fn hosts_without_tools_have_no_finding() {
    let (found, hosts) = analyze("curl-nginx.pcap", true);
    assert!(found.is_empty() && !hosts.is_empty() && hosts.iter().all(|host| host.tools.is_empty()));
}
