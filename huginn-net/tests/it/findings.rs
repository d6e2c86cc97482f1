//! Checks findings over captures; tests over synthetic traffic are beside the code.

use std::num::NonZeroU32;

use huginn_net::alert::Alert;
use huginn_net::core::{Analyzer, Frames, Route, SharedState};
use huginn_net::hosts::{Baseline, FindingSettings, HostUpdate, HostUpdateRecord};
use huginn_net::observation::Finding;
use huginn_net::observers::{Scope, WithoutHosts};
use huginn_net::record::JsonEvent;
use huginn_net::{
    CaptureReader, Configure, Database, Event, Frame, HuginnNet, LinkType, Observation, Observers, Timestamp,
};

use crate::captures;

fn of(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// Thresholds that the short captures reach.
fn low() -> FindingSettings {
    FindingSettings::default().scan_ports(of(10)).scan_hosts(of(10)).beacon_contacts(of(12))
}

fn findings(capture: &str, analyzer: &mut HuginnNet) -> Vec<Finding> {
    let mut found = Vec::new();
    let sink = &mut |event: Event| {
        if let Observation::Finding(finding) = event.kind {
            found.push(*finding);
        }
    };
    analyzer.analyze(CaptureReader::open(captures::path(capture)).unwrap(), sink).unwrap();
    found
}

fn texts(capture: &str, settings: FindingSettings) -> Vec<String> {
    let mut analyzer = HuginnNet::builder().findings(Some(settings)).build();
    let found = findings(capture, &mut analyzer);
    found.iter().map(|finding| format!("{}: {finding}", finding.kind.alert().name())).collect()
}

#[test]
fn scan_of_a_tool_is_found_and_names_it() {
    assert_eq!(
        texts("nmap-scan.pcap", low()),
        [
            "scan: sends SYNs to 18 ports of 192.0.2.2 in 2 s, 3 accept; the packets are those of Nmap SYN scan",
            "scan: sends SYNs to 20 ports of 192.0.2.2 in 2 s, 3 accept; the packets are those of Nmap SYN scan"
        ],
        "the second one has the last numbers"
    );
    assert_eq!(texts("nmap-scan.pcap", FindingSettings::default()), [""; 0], "20 SYNs are few");
}

#[test]
fn single_probes_are_not_a_scan() {
    for capture in ["masscan.pcap", "zmap.pcap", "nmap-syn.pcap"] {
        assert_eq!(texts(capture, low()), [""; 0], "{capture}");
    }
}

#[test]
fn imitations_and_contradictions_are_reported_once() {
    assert_eq!(
        texts("http-imitation.pcap", FindingSettings::default()),
        [
            "imitation: User-Agent says Chromium 131 on Windows; the headers are those of Python urllib; TCP says Linux",
            "imitation: User-Agent says Chromium 131 on Linux; the headers are those of curl",
            "imitation: User-Agent says Firefox 133 on Windows; the headers are those of Wget; TCP says Linux",
            "contradiction: TCP says Linux, User-Agent says Windows: unexplained (NAT, a proxy or a forgery)",
        ]
    );
    assert_eq!(
        texts("hosts-ua.pcap", FindingSettings::default()),
        ["contradiction: TCP says Linux, User-Agent says Windows: unexplained (NAT, a proxy or a forgery)"]
    );
}

#[test]
fn poller_is_named() {
    let found = texts("hosts-plain.pcap", FindingSettings::default());
    assert_eq!(found.len(), 3);
    assert_eq!(found[0], "beacon: polls 192.0.2.2 every 72.0 s (jitter 0.0 %), 10 times: software Firefox");
}

/// Severity, kind and reason of each alert of a capture.
fn alerts(capture: &str) -> Vec<String> {
    let mut found = Vec::new();
    let sink = &mut |event: Event| {
        if let Some(alert) = Alert::of(&event) {
            found.push(format!("{:?} {}: {}", alert.severity(), alert.kind().name(), alert.reason()));
        }
    };
    let mut analyzer = HuginnNet::builder().findings(Some(FindingSettings::default())).build();
    analyzer.analyze(CaptureReader::open(captures::path(capture)).unwrap(), sink).unwrap();
    found
}

#[test]
fn brute_force_is_high_once_a_login_succeeds() {
    assert_eq!(
        alerts("attack-ssh-brute-force.pcap"),
        [
            "Medium brute_force: 10 SSH logins at 10.0.0.10:22 fail in 924 ms",
            "High brute_force: 12 SSH logins at 10.0.0.10:22 fail in 1 s, then one probably succeeds",
        ]
    );
}

#[test]
fn self_issued_server_at_a_port_without_service_is_unusual() {
    assert_eq!(
        alerts("attack-tls-c2-server.pcap"),
        [
            "Medium unusual_server: contacts 203.0.113.66:7084 by TLS without a server name: port without a TLS service, private \
             issuer, names of an example, RSA of 1024 bits or less, valid for ten years or longer; certificate CN=localhost, self-issued"
        ]
    );
}

#[test]
fn findings_are_those_of_one_worker_and_need_to_be_enabled() {
    for capture in ["nmap-scan.pcap", "hosts-plain.pcap", "http-imitation.pcap", "hosts-ua.pcap"] {
        let builder = || HuginnNet::builder().findings(Some(low()));
        let expected = findings(capture, &mut builder().build());
        let workers = 3;
        let mut parallel = builder().workers(workers).block_bytes(4096).build();
        assert_eq!(findings(capture, &mut parallel), expected, "{capture}");
        let counters = parallel.shared_state().findings();
        let sum = counters.scans + counters.beacons + counters.contradictions + counters.imitations;
        assert_eq!((sum, expected.is_empty()), (expected.len() as u64, false), "{capture}");
        assert_eq!(findings(capture, &mut HuginnNet::builder().build()), [], "{capture}");
        assert_eq!(findings(capture, &mut builder().scope(Scope::P0f).build()), [], "{capture}");
    }
}

#[test]
fn second_capture_begins_anew() {
    let mut analyzer = HuginnNet::builder().findings(Some(low())).build();
    let first = findings("nmap-scan.pcap", &mut analyzer);
    analyzer.shared_state_mut().clear();
    assert_eq!(findings("nmap-scan.pcap", &mut analyzer), first);
}

#[test]
fn json_has_reason_numbers_packets_and_page() {
    let mut lines = Vec::new();
    let mut analyzer = HuginnNet::builder().findings(Some(low())).build();
    let mut sink = |event: Event| {
        if let Observation::Finding(_) = event.kind {
            let line = JsonEvent::new(&event).to_string();
            lines.push(serde_json::from_str::<serde_json::Value>(&line).unwrap());
        }
    };
    for capture in ["nmap-scan.pcap", "hosts-plain.pcap"] {
        analyzer.analyze(CaptureReader::open(captures::path(capture)).unwrap(), &mut sink).unwrap();
    }
    let scan = &lines[0];
    assert_eq!((&scan["event"], &scan["finding"]), (&"finding".into(), &"scan".into()));
    assert_eq!((&scan["scanned"], &scan["target"]), (&"ports".into(), &"192.0.2.2".into()));
    assert_eq!((&scan["targets"], &scan["answered"], &scan["syns"]), (&18.into(), &3.into(), &18.into()));
    assert_eq!(scan["packets"], serde_json::json!([1, 3, 5, 7, 9, 12, 14, 16]));
    assert_eq!(scan["page"], "docs/findings.md#scan");
    let beacon = &lines[2];
    assert_eq!(beacon["contacts"], 10);
    assert!((beacon["period"].as_f64().unwrap() - 72.0).abs() < 0.1, "{beacon}");
    assert!(beacon["jitter"].as_f64().unwrap() < 0.1, "{beacon}");
    assert_eq!((&beacon["application"], &beacon["scanned"]), (&"Firefox".into(), &serde_json::Value::Null));
}

/// NTP polls every 64 s to 1024 s over UDP, which has no handshake and no name.
#[test]
fn ten_days_of_ntp_yield_nothing() {
    let mut packets = Vec::new();
    for client in 1_u8..=5 {
        let period = 64_u64 << client;
        for n in 0..864_000 / period {
            let mut data = vec![0; 12];
            data.extend([8, 0, 0x45, 0, 0, 76, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, client, 198, 51, 100, 7]);
            data.extend([0, 123, 0, 123, 0, 56, 0, 0, 0x23]);
            data.resize(90, 0);
            packets.push((Timestamp::from_nanos((1_790_000_000 + n * period) * 1_000_000_000, 6), data));
        }
    }
    packets.sort_by_key(|(ts, _)| ts.as_nanos());
    let frames = packets.iter().map(|(ts, data)| Frame {
        ts: *ts,
        link: LinkType::ETHERNET,
        data,
        wire_len: data.len() as u32,
    });
    let mut analyzer = HuginnNet::builder().findings(Some(low())).build();
    let mut events: Vec<Event> = Vec::new();
    let counters = analyzer.analyze(Frames::new(frames), |event| events.push(event)).unwrap();
    assert!(events.is_empty() && counters.frames > 10_000, "{events:?}");
}

const HEADER: &str = "{\"huginn_net_baseline\":2,\"first\":null,\"last\":null}\n";

fn written(baseline: &Baseline) -> String {
    let mut text = Vec::new();
    baseline.write_to(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn new_fingerprints_are_those_of_one_worker() {
    let empty = || Some(Baseline::parse("empty.jsonl", HEADER.as_bytes()).unwrap());
    for capture in ["tls-clients.pcap", "ssh-openssh.pcap", "http-chromium.pcap", "nmap-scan.pcap"] {
        let mut one = HuginnNet::builder().baseline(empty()).build();
        let expected = findings(capture, &mut one);
        let workers = 3;
        let mut parallel = HuginnNet::builder().baseline(empty()).workers(workers).block_bytes(4096).build();
        assert_eq!(findings(capture, &mut parallel), expected, "{capture}");
        let hosts = parallel.shared_state();
        assert_eq!(hosts.baseline(), one.shared_state().baseline(), "{capture}");
        let found = hosts.findings();
        // Names and User-Agents are learned, and clients of hosts that the baseline does not have.
        assert_eq!(found.new_fingerprints + found.new_servers, expected.len() as u64, "{capture}");
        assert!(hosts.baseline().unwrap().len() >= expected.len() && !expected.is_empty(), "{capture}");
        let mut p0f = HuginnNet::builder().baseline(empty()).scope(Scope::P0f).build();
        assert_eq!(findings(capture, &mut p0f), [], "{capture}");
    }
}

#[test]
fn new_fingerprints_are_reported_once_in_several_captures() {
    let baseline = Baseline::parse("empty.jsonl", HEADER.as_bytes()).unwrap();
    let mut analyzer = HuginnNet::builder().baseline(Some(baseline)).build();
    assert!(!findings("ssh-openssh.pcap", &mut analyzer).is_empty());
    analyzer.shared_state_mut().clear();
    assert_eq!(findings("ssh-openssh.pcap", &mut analyzer), []);
}

#[test]
fn written_baseline_is_read_and_new_baseline_reports_nothing() {
    let mut analyzer = HuginnNet::builder().baseline(Some(Baseline::new())).build();
    assert_eq!(findings("tls-clients.pcap", &mut analyzer), []);
    let text = written(analyzer.shared_state().baseline().unwrap());
    let read = Baseline::parse("clients.jsonl", text.as_bytes()).unwrap();
    assert_eq!((written(&read), read.is_empty()), (text, false));
    assert_eq!(findings("tls-clients.pcap", &mut HuginnNet::builder().baseline(Some(read)).build()), []);
}

#[test]
fn second_stage_reports_new_fingerprints() {
    let baseline = Baseline::parse("empty.jsonl", HEADER.as_bytes()).unwrap();
    let observers = || Observers::default().baseline(Some(baseline.clone()));
    let mut first = Analyzer::builder_with(WithoutHosts::new(observers())).build();
    let mut updates = Vec::new();
    let sink = &mut |event: huginn_net::core::Event<Route<Observation, HostUpdate>>| {
        if let Route::Update(update) = event.into_route() {
            updates.push(HostUpdateRecord::new(&update).unwrap());
        }
    };
    first.analyze(CaptureReader::open(captures::path("ssh-openssh.pcap")).unwrap(), sink).unwrap();
    let mut hosts = observers().host_table();
    let mut found = Vec::new();
    for update in updates {
        let update =
            serde_json::from_str::<HostUpdateRecord>(&serde_json::to_string(&update).unwrap()).unwrap();
        hosts.on_update(update.into_event(Database::builtin()).unwrap(), &mut |event| {
            if let Observation::Finding(finding) = event.kind {
                found.push(*finding);
            }
        });
    }
    let mut whole = HuginnNet::builder().baseline(Some(baseline)).build();
    assert_eq!(found, findings("ssh-openssh.pcap", &mut whole));
    assert!(!found.is_empty());
}
