//! Tests over updates of synthetic traffic.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are short")]

use std::net::{Ipv4Addr, SocketAddr};

use huginn_net_core::{FlowId, Timestamp, TransportKind};
use huginn_net_db::{Database, TcpMatch};
use huginn_net_tcp::TcpSignature;

use super::*;
use crate::hosts::{HttpUpdate, ProgressUpdate, RequestFacts, ServerFacts, SshLogin, StrayKind};
use crate::limits::{MAX_BEACON_CANDIDATES, MAX_BEACON_SERIES, MAX_BROWSER_CLIENTS, MAX_SERVERS};
use crate::observation::{BeaconService, BeaconTarget, ImitationFinding, ScanTarget};

const DAY: u64 = 86_400_000;
const START: u64 = 1_790_000_000_000;
const SIGNATURE: &str = "4:64+0:0:1460:64240,7:mss,sok,ts,nop,ws:df,id+:0";

/// Updates with their times, in milliseconds.
#[derive(Default)]
struct Traffic {
    updates: Vec<(u64, Event<HostUpdate>)>,
    /// The initial sequence number of all connections; without one, each has another.
    isn: Option<u32>,
}

fn address(host: u32, port: u16) -> SocketAddr {
    (Ipv4Addr::from(host), port).into()
}

/// A server of a name, or of a number.
fn server(number: u32, port: u16) -> SocketAddr {
    address(0xc633_6400 + number, port)
}

fn client(number: u32) -> u32 {
    0x0a00_0000 + number
}

impl Traffic {
    fn add(&mut self, at: u64, client: u32, server: SocketAddr, side: Side, update: Update) {
        let flow = FlowId::new(address(client, 40_000), server, TransportKind::Tcp, None);
        let ts = Timestamp::from_nanos((START + at) * 1_000_000, 6);
        let number = self.updates.len() as u64 + 1;
        self.updates.push((at, Event::new(ts, number, flow, side, update.into())));
    }

    fn handshake(&mut self, at: u64, client: u32, server: SocketAddr, handshake: Handshake) {
        self.handshake_of(at, client, server, handshake, None);
    }

    fn handshake_of(
        &mut self,
        at: u64,
        client: u32,
        server: SocketAddr,
        handshake: Handshake,
        matched: Option<TcpMatch>,
    ) {
        let mut signature: TcpSignature = SIGNATURE.parse().unwrap();
        signature.handshake = handshake;
        let side = if handshake == Handshake::Syn { Side::Client } else { Side::Server };
        let isn = self.isn.unwrap_or((at as u32).wrapping_mul(0x9e37_79b9) ^ self.updates.len() as u32);
        let update = TcpUpdate { signature, matched, clock: None, isn };
        self.add(at, client, server, side, Update::Tcp(update));
    }

    fn syn(&mut self, at: u64, client: u32, server: SocketAddr) {
        self.handshake(at, client, server, Handshake::Syn);
    }

    /// A SYN with the label of a tool.
    fn syn_of(&mut self, at: u64, client: u32, server: SocketAddr, tool: &TcpMatch) {
        self.handshake_of(at, client, server, Handshake::Syn, Some(tool.clone()));
    }

    fn answer(&mut self, at: u64, client: u32, server: SocketAddr) {
        self.handshake(at, client, server, Handshake::SynAck);
    }

    /// What follows a SYN.
    fn step(&mut self, at: u64, client: u32, server: SocketAddr, step: Progress) {
        let update = Update::Progress(ProgressUpdate { step, by_tool: false });
        self.add(at, client, server, Side::Client, update);
        if let Some((_, event)) = self.updates.last_mut() {
            event.kind.set_proven(true);
        }
    }

    /// A connection that the server accepts, with payload.
    fn connection(&mut self, at: u64, client: u32, server: SocketAddr) {
        self.syn(at, client, server);
        self.answer(at + 20, client, server);
        self.step(at + 21, client, server, Progress::Continues { has_data: false });
        self.step(at + 22, client, server, Progress::Data);
    }

    /// A segment without connection that the server answers with RST.
    fn probe(&mut self, at: u64, client: u32, server: SocketAddr, kind: StrayKind) {
        self.step(at, client, server, Progress::Stray(kind));
        let flow = FlowId::new(server, address(client, 40_000), TransportKind::Tcp, None);
        let update =
            Update::Progress(ProgressUpdate { step: Progress::Stray(StrayKind::Reset), by_tool: false });
        let ts = Timestamp::from_nanos((START + at + 1) * 1_000_000, 6);
        let number = self.updates.len() as u64 + 1;
        self.updates.push((at + 1, Event::new(ts, number, flow, Side::Client, update.into())));
    }

    /// A connection that is answered, with a ClientHello or a request.
    fn contact(&mut self, at: u64, client: u32, server: SocketAddr, contact: &RequestFacts) {
        self.syn(at, client, server);
        self.answer(at + 20, client, server);
        self.add(at + 40, client, server, Side::Client, Update::Request(Box::new(contact.clone())));
    }

    /// Returns the findings, at the end of the capture, too.
    fn findings(mut self, settings: FindingSettings) -> Vec<Event<Observation>> {
        self.updates.sort_by_key(|(at, _)| *at);
        let mut findings = Findings::new(&settings);
        let mut found = Vec::new();
        for (_, update) in &self.updates {
            findings.on_update(update, &mut |event| found.push(event));
        }
        findings.on_end(&mut |event| found.push(event));
        found
    }

    fn texts(self) -> Vec<String> {
        let of = |event: Event<Observation>| match event.kind {
            Observation::Finding(finding) => format!("{}: {finding}", finding.kind.alert().name()),
            other => panic!("{other:?}"),
        };
        self.findings(FindingSettings::default()).into_iter().map(of).collect()
    }
}

/// The match of a tool's SYN.
fn tool(name: &str) -> TcpMatch {
    let text = format!(
        "classes = unix\n[tcp:request]\nlabel = s:!:{name}:\nsys = @unix\nsig = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0\n"
    );
    let database: Database = text.parse().unwrap();
    database.match_syn(&SIGNATURE.parse().unwrap()).unwrap()
}

fn named(name: &str) -> RequestFacts {
    RequestFacts {
        name: Some(name.as_bytes().into()),
        user_agent: None,
        software: None,
        library: None,
        imitation: None,
        random: None,
        is_browser: false,
        is_nameless: false,
    }
}

/// Pseudorandom numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The time to the next event of a Poisson process, in milliseconds.
    fn exponential(&mut self, mean: f64) -> u64 {
        (-mean * (1.0 - self.uniform()).ln()) as u64
    }

    fn between(&mut self, from: f64, to: f64) -> u64 {
        (from + (to - from) * self.uniform()) as u64
    }
}

#[test]
fn ports_of_a_host_without_answers_are_a_scan() {
    let mut traffic = Traffic::default();
    for port in 1..=100 {
        traffic.syn(u64::from(port) * 20, client(1), server(1, port));
    }
    traffic.answer(450, client(1), server(1, 22));
    // The next packet shows that the servers had time to answer.
    traffic.syn(4000, client(2), server(2, 80));
    let texts = traffic.texts();
    assert_eq!(texts, ["scan: sends SYNs to 100 ports of 198.51.100.1 in 1 s, 1 accepts"]);
}

#[test]
fn scan_has_its_numbers_and_the_flow_of_its_last_packet() {
    let mut traffic = Traffic::default();
    for host in 1..=100 {
        traffic.syn(u64::from(host) * 20, client(1), server(host, 445));
        traffic.syn(u64::from(host) * 20 + 5, client(1), server(host, 445));
    }
    traffic.answer(450, client(1), server(7, 445));
    traffic.syn(4000, client(2), server(2, 80));
    let found = traffic.findings(FindingSettings::default());
    let [event] = &*found else { panic!("{found:?}") };
    let Observation::Finding(finding) = &event.kind else { panic!("{event:?}") };
    let FindingKind::Scan(scan) = &finding.kind else { panic!("{finding:?}") };
    assert_eq!(finding.packets, [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(scan.target, ScanTarget::Ports([445].into()));
    assert_eq!((scan.targets, scan.answered, scan.syns), (100, 1, 200));
    assert_eq!((event.packet_number, event.flow.server), (199, server(100, 445)));
    assert_eq!((event.subject, finding.kind.alert().page()), (Side::Client, "docs/findings.md#scan"));
    let reason = "sends SYNs to 100 hosts on port 445 in 1 s, 1 accepts";
    assert_eq!(finding.to_string(), reason);
}

#[test]
fn scan_is_reported_again_at_powers_of_ten() {
    let mut traffic = Traffic::default();
    for port in 1..=5000 {
        traffic.syn(u64::from(port) * 20, client(1), server(1, port));
    }
    traffic.answer(30, client(1), server(1, 1));
    let texts = traffic.texts();
    let [_, thousand, last] = &*texts else { panic!("{texts:?}") };
    assert!(thousand.contains("to 1000 ports of 198.51.100.1 in 19 s"), "{texts:?}");
    assert!(last.contains("to 5000 ports of 198.51.100.1 in 1 min, "), "{texts:?}");
}

#[test]
fn scan_is_reported_with_its_last_numbers_after_a_minute() {
    let mut traffic = Traffic::default();
    traffic.answer(30, client(1), server(1, 1));
    // Between two powers of ten; then nothing; then more, which end with the capture.
    for port in 1..=500 {
        traffic.syn(u64::from(port) * 20, client(1), server(1, port));
    }
    traffic.syn(60_000, client(2), server(2, 80));
    traffic.syn(75_000, client(2), server(2, 80));
    // 10 % more: the next ones, a few a minute, are not worth a report each.
    for port in 501..=550 {
        traffic.syn(76_000, client(1), server(1, port));
    }
    for port in 551..=570 {
        traffic.syn(u64::from(port - 550) * 100_000, client(1), server(1, port));
    }
    for at in (140_000..2_000_000).step_by(30_000) {
        traffic.syn(at, client(2), server(at as u32 / 30_000, 80));
    }
    let found = traffic.findings(FindingSettings::default());
    let numbers = found.iter().map(|event| match &event.kind {
        Observation::Finding(finding) => match &finding.kind {
            FindingKind::Scan(scan) => (scan.targets, scan.syns, scan.last_seen == event.ts),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    let numbers: Vec<_> = numbers.collect();
    let [(first, ..), second, third] = numbers[..] else { panic!("{numbers:?}") };
    assert!((100..200).contains(&first), "{first}");
    assert_eq!((second, third), ((500, 500, true), (551, 551, true)));
}

#[test]
fn scan_is_reported_after_a_pause_of_any_length() {
    for (ports, expected) in [(120, &["120 ports"] as &[&str]), (450, &["100 ports", "450 ports"])] {
        let mut traffic = Traffic::default();
        traffic.answer(150, client(1), server(1, 1));
        let interval = if ports == 120 { 5 } else { 100 };
        for port in 1..=ports {
            traffic.syn(u64::from(port) * interval, client(1), server(1, port));
        }
        traffic.syn(500_000, client(2), server(2, 80));
        let texts = traffic.texts();
        assert_eq!(texts.len(), expected.len(), "{texts:?}");
        assert!(texts.iter().zip(expected).all(|(text, numbers)| text.contains(numbers)), "{texts:?}");
    }
}

#[test]
fn scan_names_the_tool_of_its_own_packets() {
    let (nmap, zmap) = (tool("Nmap"), tool("ZMap"));
    let mut traffic = Traffic::default();
    for port in 1..=120 {
        traffic.syn_of(u64::from(port) * 20, client(1), server(1, port), &nmap);
    }
    traffic.syn_of(2500, client(1), server(9, 8080), &zmap);
    traffic.syn(9000, client(2), server(2, 80));
    assert_eq!(
        traffic.texts(),
        [
            "scan: sends SYNs to 120 ports of 198.51.100.1 in 2 s, none accepts; the capture has no answers; the packets are those of Nmap"
        ]
    );
}

#[test]
fn scan_names_a_tool_for_nine_tenths_of_its_targets_only() {
    for (others, end) in [(10, "; the packets to 110 of them are those of Nmap"), (20, "")] {
        let (nmap, zmap) = (tool("Nmap"), tool("ZMap"));
        let mut traffic = Traffic::default();
        traffic.answer(30, client(1), server(2, 80));
        for port in 1..=120 {
            let tool = if port <= others { &zmap } else { &nmap };
            traffic.syn_of(u64::from(port) * 20, client(1), server(1, port), tool);
        }
        traffic.syn(9000, client(2), server(2, 80));
        let text = format!("scan: sends SYNs to 120 ports of 198.51.100.1 in 2 s, none accepts{end}");
        assert_eq!(traffic.texts(), [text], "{others}");
    }
}

/// 110 hosts get packets of a tool; the others are asked by ordinary connections.
fn scan_that_grows(answers: bool) -> Vec<String> {
    let nmap = tool("Nmap");
    let mut traffic = Traffic::default();
    traffic.answer(30, client(1), server(2000, 80));
    for host in 0..110 {
        traffic.syn_of(u64::from(host) * 20, client(1), server(host, 443), &nmap);
    }
    for host in 110..1000 {
        let at = 5000 + u64::from(host) * 40;
        traffic.syn(at, client(1), server(host, 443));
        if answers {
            traffic.answer(at + 20, client(1), server(host, 443));
        }
    }
    traffic.texts()
}

#[test]
fn scan_of_a_tool_does_not_grow_with_ordinary_connections() {
    let texts = scan_that_grows(true);
    let [text] = &*texts else { panic!("{texts:?}") };
    assert!(text.contains("to 110 hosts on port 443") && text.ends_with("those of Nmap"), "{text}");
}

#[test]
fn scan_that_others_outgrow_names_no_tool() {
    let texts = scan_that_grows(false);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[1].contains("to 1000 hosts on port 443") && texts[1].ends_with("none accepts"),
        "{texts:?}"
    );
}

fn stray(kind: StrayKind) -> Update {
    Update::Progress(ProgressUpdate { step: Progress::Stray(kind), by_tool: false })
}

#[test]
fn refused_ports_are_a_scan_without_any_that_accepts() {
    let mut traffic = Traffic::default();
    for port in 1..=300 {
        traffic.syn(u64::from(port) * 10, client(1), server(1, port));
        traffic.step(u64::from(port) * 10 + 1, client(1), server(1, port), Progress::Refused);
    }
    assert_eq!(
        traffic.texts(),
        [
            "scan: sends SYNs to 199 ports of 198.51.100.1 in 1 s, none accepts",
            "scan: sends SYNs to 300 ports of 198.51.100.1 in 2 s, none accepts"
        ]
    );
}

/// A client with connections that the server accepts, before and during the scan.
#[test]
fn scan_has_the_time_and_the_targets_of_its_own() {
    let mut traffic = Traffic::default();
    traffic.connection(0, client(1), server(1, 8080));
    for port in 1..=150 {
        traffic.syn(50_000 + u64::from(port) * 10, client(1), server(1, port));
    }
    traffic.connection(55_000, client(2), server(2, 80));
    assert_eq!(traffic.texts(), ["scan: sends SYNs to 150 ports of 198.51.100.1 in 1 s, none accepts"]);
}

#[test]
fn hosts_on_a_few_ports_are_one_scan() {
    let mut traffic = Traffic::default();
    traffic.connection(0, client(2), server(2, 80));
    for host in 1..=260 {
        let port = [23, 2323, 8080][host as usize % 3];
        traffic.syn(u64::from(host) * 450, client(1), server(host, port));
    }
    // What else the client does is not part of it.
    for host in 1..=20 {
        traffic.connection(u64::from(host) * 2000, client(1), server(1000 + host, 443));
    }
    let texts = traffic.texts();
    assert!(
        texts[0].starts_with("scan: sends SYNs to 102 hosts on ports 23, 2323, 8080 in 45 s"),
        "{texts:?}"
    );
    assert!(
        texts[1].starts_with("scan: sends SYNs to 260 hosts on ports 23, 2323, 8080 in 1 min"),
        "{texts:?}"
    );
}

/// 55 hosts a minute, a third of them on random ports.
#[test]
fn slow_scan_is_counted_over_ten_minutes() {
    let mut traffic = Traffic::default();
    for host in 1..=400_u32 {
        let port = if host % 3 == 0 { 10_000 + host as u16 } else { [23, 2323, 8080][host as usize % 7 % 3] };
        traffic.syn(u64::from(host) * 1090, client(1), server(host, port));
    }
    let texts = traffic.texts();
    assert!(texts[0].starts_with("scan: sends SYNs to 200 hosts on ports 23, 2323, 8080 in 5 min, none accepts; the capture has no answers"), "{texts:?}");
}

#[test]
fn hosts_that_accept_and_get_no_data_are_a_scan() {
    for has_data in [false, true] {
        let mut traffic = Traffic::default();
        for host in 1..=150 {
            let (at, server) = (u64::from(host) * 10, server(host, 3389));
            traffic.syn(at, client(1), server);
            traffic.answer(at + 5, client(1), server);
            traffic.step(at + 6, client(1), server, Progress::Continues { has_data });
        }
        traffic.syn(9000, client(2), server(2, 80));
        let text = "scan: sends SYNs to 150 hosts on port 3389 in 1 s, 150 accept; no data follows";
        let expected: &[&str] = if has_data { &[] } else { &[text] };
        assert_eq!(traffic.texts(), expected, "{has_data}");
    }
}

/// 200 targets that do not answer, among those that exchange data with the client.
fn with_accomplices(accomplices: u32, target: impl Fn(u32) -> SocketAddr) -> Vec<String> {
    let mut traffic = Traffic::default();
    for n in 0..200 {
        traffic.syn(u64::from(n) * 100, client(1), target(n));
    }
    for n in 0..accomplices {
        let own = target(0);
        let accomplice = match own.ip() {
            IpAddr::V4(ip) => address(u32::from(ip) + 0x0100_0000 + n, own.port()),
            other => panic!("{other}"),
        };
        traffic.connection(u64::from(n) * 150 + 50, client(1), accomplice);
    }
    traffic.syn(30_000, client(9), server(9, 80));
    traffic.texts()
}

#[test]
fn accomplices_that_answer_hide_no_scan_of_a_network() {
    let near = |n| server(n + 1, 22);
    for accomplices in [20, 24, 85] {
        let texts = with_accomplices(accomplices, near);
        let is_found = texts.first().is_some_and(|text| text.contains(" hosts on port 22 in "));
        assert!(is_found, "{accomplices}: {texts:?}");
    }
    assert_eq!(with_accomplices(86, near), [""; 0], "more than 30 %");
    assert_eq!(with_accomplices(24, |n| server(n + 1, 443)), [""; 0], "hosts on a busy port");
    // As the peers of a peer-to-peer program.
    assert_eq!(with_accomplices(24, |n| address(0x5000_0000 + (n << 16), 8333)), [""; 0]);
}

/// Accomplices that accept first, as the servers of a client that loses its network.
#[test]
fn accomplices_that_accept_first_hide_no_scan_of_a_network() {
    let texts = |port: u16, is_near: bool| {
        let mut traffic = Traffic::default();
        for n in 0..200 {
            let at = u64::from(n) * 100;
            let target = if is_near { server(n + 1, port) } else { address(0x5000_0000 + (n << 16), port) };
            traffic.syn(at, client(1), target);
            if n < 24 {
                let accomplice = address(0x2d00_0000 + n, port);
                traffic.syn(at + 10, client(1), accomplice);
                traffic.answer(at + 20, client(1), accomplice);
            }
        }
        traffic.syn(30_000, client(9), server(9, 80));
        traffic.texts()
    };
    let found = texts(22, true);
    assert!(
        found.last().is_some_and(|last| last.starts_with("scan: sends SYNs to 224 hosts on port 22")),
        "{found:?}"
    );
    assert_eq!(texts(443, true), [""; 0]);
    assert_eq!(texts(22, false), [""; 0]);
}

#[test]
fn ports_that_answer_hide_no_scan_of_a_host() {
    let mut traffic = Traffic::default();
    for port in 1..=200 {
        let at = u64::from(port) * 100;
        if port % 8 == 0 {
            traffic.connection(at, client(1), server(1, port));
        } else {
            traffic.syn(at, client(1), server(1, port));
        }
    }
    traffic.syn(30_000, client(9), server(9, 80));
    let texts = traffic.texts();
    assert!(
        texts[0].starts_with("scan: sends SYNs to 121 ports of 198.51.100.1 in 12 s, 16 accept"),
        "{texts:?}"
    );
}

#[test]
fn segments_with_other_flags_are_a_scan() {
    for (kind, words) in [
        (StrayKind::Fin, "FIN alone"),
        (StrayKind::Xmas, "FIN, PSH and URG"),
        (StrayKind::Ack, "ACK alone"),
        (StrayKind::Maimon, "FIN and ACK"),
    ] {
        let mut traffic = Traffic::default();
        (1..=150).for_each(|port| traffic.probe(u64::from(port) * 10, client(1), server(1, port), kind));
        traffic.syn(9000, client(2), server(2, 80));
        let text = format!(
            "scan: sends segments with {words} to 150 ports of 198.51.100.1 in 1 s, 150 answer with RST"
        );
        assert_eq!(traffic.texts(), [text]);
    }
    let mut traffic = Traffic::default();
    for host in 1..=150 {
        traffic.add(u64::from(host) * 10, client(1), server(host, 80), Side::Client, stray(StrayKind::Null));
    }
    traffic.syn(9000, client(2), server(2, 80));
    assert_eq!(
        traffic.texts(),
        ["scan: sends segments without flags to 150 hosts on port 80 in 1 s, none answers"]
    );
}

/// Whether scans are proven, and whether they are updates.
fn proofs(traffic: Traffic) -> Vec<(bool, bool)> {
    let found = traffic.findings(FindingSettings::default());
    let of = |event: Event<Observation>| match event.kind {
        Observation::Finding(finding) => (finding.is_proven, finding.is_update),
        other => panic!("{other:?}"),
    };
    found.into_iter().map(of).collect()
}

/// SYNs to closed ports that anybody may have sent, and connections of the host itself.
fn forged_scan(own: impl FnOnce(&mut Traffic)) -> Traffic {
    let mut traffic = Traffic::default();
    for port in 1..=150 {
        traffic.syn(u64::from(port) * 10, client(1), server(1, port));
    }
    own(&mut traffic);
    traffic.syn(9000, client(2), server(2, 80));
    traffic
}

#[test]
fn connections_with_data_do_not_prove_a_scan() {
    assert_eq!(proofs(forged_scan(|_| {})), [(false, false)]);
    assert_eq!(
        proofs(forged_scan(|traffic| traffic.connection(700, client(1), server(1, 443)))),
        [(false, false)]
    );
    let elsewhere = |traffic: &mut Traffic| {
        traffic.syn(700, client(1), server(2, 443));
        traffic.step(750, client(1), server(2, 443), Progress::Continues { has_data: false });
    };
    assert_eq!(proofs(forged_scan(elsewhere)), [(false, false)]);
}

/// nmap -sT: the capture ends right after the scan.
#[test]
fn handshake_at_the_end_of_the_capture_proves_a_scan() {
    let mut traffic = Traffic::default();
    for port in 1..=150 {
        traffic.syn(port, client(1), server(1, port as u16));
        traffic.step(port, client(1), server(1, port as u16), Progress::Refused);
    }
    traffic.syn(151, client(1), server(1, 200));
    traffic.answer(152, client(1), server(1, 200));
    traffic.step(153, client(1), server(1, 200), Progress::Continues { has_data: false });
    assert_eq!(proofs(traffic), [(true, false)]);
}

#[test]
fn handshake_without_data_proves_a_scan() {
    let probe = |traffic: &mut Traffic| {
        traffic.answer(550, client(1), server(1, 50));
        traffic.step(551, client(1), server(1, 50), Progress::Continues { has_data: false });
    };
    assert_eq!(proofs(forged_scan(probe)), [(true, false)]);
}

#[test]
fn later_reports_of_a_scan_are_updates() {
    let mut traffic = Traffic::default();
    (1..=1500).for_each(|port| traffic.syn(u64::from(port) * 10, client(1), server(1, port)));
    assert_eq!(proofs(traffic), [(false, false), (false, true), (false, true)]);
}

impl Traffic {
    /// The end of an SSH login.
    fn login(&mut self, at: u64, is_failed: bool) {
        let login = SshLogin { client_bytes: 189, server_bytes: 464, is_failed };
        self.step(at, client(1), server(1, 22), Progress::Login(login));
    }
}

#[test]
fn ten_failed_logins_in_a_minute_are_brute_force() {
    let mut traffic = Traffic::default();
    (0..10).for_each(|n| traffic.login(n * 5000, true));
    assert_eq!(traffic.texts(), ["brute_force: 10 SSH logins at 198.51.100.1:22 fail in 45 s"]);
    let mut traffic = Traffic::default();
    (0..100).for_each(|n| traffic.login(n * 7000, true));
    assert_eq!(traffic.texts(), [""; 0], "nine a minute");
    let mut traffic = Traffic::default();
    (0..100).for_each(|n| traffic.login(n * 500, false));
    assert_eq!(traffic.texts(), [""; 0], "commands that succeed");
}

#[test]
fn brute_force_is_proven_by_five_logins() {
    for (proven, expected) in [(4, false), (5, true)] {
        let mut traffic = Traffic::default();
        for n in 0..10 {
            traffic.login(n * 5000, true);
            let (_, event) = traffic.updates.last_mut().unwrap();
            event.kind.set_proven(n < proven);
        }
        assert_eq!(proofs(traffic), [(expected, false)], "{proven}");
    }
}

#[test]
fn login_after_brute_force_is_an_update() {
    let mut traffic = Traffic::default();
    (0..50).for_each(|n| traffic.login(n * 3000, true));
    traffic.login(160_000, false);
    traffic.login(170_000, false);
    let found = traffic.findings(FindingSettings::default());
    let rows: Vec<_> = found
        .iter()
        .map(|event| match &event.kind {
            Observation::Finding(finding) => (finding.to_string(), finding.is_proven, finding.is_update),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("10 SSH logins at 198.51.100.1:22 fail in 27 s".to_owned(), true, false),
            (
                "50 SSH logins at 198.51.100.1:22 fail in 2 min, then one probably succeeds".to_owned(),
                true,
                true
            ),
        ]
    );
}

/// Connections that look like a scan in one respect only.
#[test]
fn other_traffic_is_not_a_scan() {
    let mut rows: Vec<(&str, Traffic)> = Vec::new();
    let mut with = |name, make: &dyn Fn(&mut Traffic)| {
        let mut traffic = Traffic::default();
        make(&mut traffic);
        traffic.syn(200_000, client(9), server(9, 80));
        rows.push((name, traffic));
    };
    with("99 ports", &|traffic| {
        traffic.answer(30, client(1), server(1, 1));
        (1..=99).for_each(|port| traffic.syn(u64::from(port), client(1), server(1, port)));
    });
    with("ports that answer, as of FTP in passive mode", &|traffic| {
        for port in 50_000..50_500 {
            let at = u64::from(port - 50_000) * 50;
            traffic.syn(at, client(1), server(1, port));
            traffic.answer(at + 30, client(1), server(1, port));
        }
    });
    with("SYNs alone of a busy client", &|traffic| {
        (1..=500).for_each(|host| traffic.syn(u64::from(host) * 100, client(1), server(host, 443)));
    });
    with("a mail server most of whose connections carry data", &|traffic| {
        traffic.answer(30, client(9), server(9, 80));
        for host in 0..500 {
            let at = u64::from(host) * 100;
            if host % 4 == 0 {
                traffic.connection(at, client(1), server(host, 25));
            } else {
                traffic.syn(at, client(1), server(host, 25));
            }
        }
    });
    with("connections that are older than the capture", &|traffic| {
        for host in 0..300 {
            let (at, client, peer) = (u64::from(host) * 100, client(1), server(host, 443));
            traffic.step(at, client, peer, Progress::Stray(StrayKind::Ack));
            let server = u32::from(match peer.ip() {
                IpAddr::V4(ip) => ip,
                other => panic!("{other}"),
            });
            let back = address(client, 40_000);
            traffic.add(at + 5, server, back, Side::Client, stray(StrayKind::Ack));
        }
    });
    with("ends of connections without an answer", &|traffic| {
        for host in 0..300 {
            traffic.step(
                u64::from(host) * 100,
                client(1),
                server(host, 443),
                Progress::Stray(StrayKind::Maimon),
            );
        }
    });
    with("keep-alives that servers reset", &|traffic| {
        for host in 0..150 {
            (0..3).for_each(|n| {
                traffic.probe(u64::from(host) * 100 + n * 10, client(1), server(host, 443), StrayKind::Ack)
            });
        }
    });
    with("a crawler whose servers answer after 800 ms", &|traffic| {
        for host in 0..250 {
            traffic.syn(u64::from(host), client(1), server(host, 443));
            traffic.answer(u64::from(host) + 800, client(1), server(host, 443));
        }
    });
    with("a peer-to-peer program with many ports", &|traffic| {
        traffic.answer(30, client(1), server(1, 6881));
        for peer in 0..900 {
            let port = if peer % 5 == 0 { 6881 } else { 10_000 + peer as u16 };
            traffic.syn(u64::from(peer) * 10, client(1), server(peer, port));
        }
    });
    with("a client that lost its network", &|traffic| {
        for host in 0..100 {
            traffic.syn(u64::from(host) * 500, client(1), server(host, 443));
            traffic.answer(u64::from(host) * 500 + 30, client(1), server(host, 443));
        }
        (100..250).for_each(|host| traffic.syn(61_000 + u64::from(host), client(1), server(host, 443)));
    });
    with("slow connections", &|traffic| {
        traffic.answer(1530, client(1), server(1, 1));
        (1..=100).for_each(|port| traffic.syn(u64::from(port) * 1500, client(1), server(1, port)));
    });
    for (name, traffic) in rows {
        assert_eq!(traffic.texts(), [""; 0], "{name}");
    }
}

/// The end of a capture may cut off answers.
#[test]
fn servers_without_time_to_answer_are_not_counted_at_the_end() {
    let mut traffic = Traffic::default();
    traffic.answer(30, client(1), server(1, 1));
    (1..=150).for_each(|port| traffic.syn(u64::from(port), client(1), server(1, port)));
    assert_eq!(traffic.texts(), [""; 0]);
}

/// Contacts of a client to one name, at these times.
fn contacts(times: impl IntoIterator<Item = u64>, contact: &RequestFacts) -> Traffic {
    let mut traffic = Traffic::default();
    times.into_iter().for_each(|at| traffic.contact(at, client(1), server(1, 443), contact));
    traffic
}

#[test]
fn regular_contacts_are_a_beacon_with_what_is_known() {
    let regular = || (0..40).map(|n| n * 60_000);
    let text = |contact: &RequestFacts| contacts(regular(), contact).texts();
    let mut contact = named("c2.example");
    assert_eq!(
        text(&contact),
        ["beacon: contacts c2.example every 60.0 s (jitter 0.0 %), 10 times: software unknown"]
    );
    contact.library = Some("OpenSSL".into());
    assert_eq!(
        text(&contact),
        [
            "beacon: contacts c2.example every 60.0 s (jitter 0.0 %), 10 times: software unknown (TLS library OpenSSL)"
        ]
    );
    contact.user_agent = Some((*b"check_http/v2.3").into());
    assert_eq!(
        text(&contact),
        [
            "beacon: contacts c2.example every 60.0 s (jitter 0.0 %), 10 times: User-Agent says check_http/v2.3 (monitoring)"
        ]
    );
    contact.software = Some("curl".into());
    contact.name = Some((*b"mtalk.google.com").into());
    assert_eq!(
        text(&contact),
        [
            "beacon: polls mtalk.google.com every 60.0 s (jitter 0.0 %), 10 times: software curl, name of push messages"
        ]
    );
}

#[test]
fn connections_without_a_name_are_a_beacon_to_their_address() {
    let mut traffic = Traffic::default();
    (0..30).for_each(|n| traffic.syn(n * 90_000, client(1), server(3, 4444)));
    let found = traffic.findings(FindingSettings {
        beacon_contacts: NonZeroU32::new(12).unwrap(),
        ..FindingSettings::default()
    });
    let [event] = &*found else { panic!("{found:?}") };
    let Observation::Finding(finding) = &event.kind else { panic!("{event:?}") };
    assert_eq!(finding.packets, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(event.packet_number, 10);
    let reason =
        "contacts 198.51.100.3:4444 every 90.0 s (jitter 0.0 %), 10 times, no answer seen: software unknown";
    assert_eq!(finding.to_string(), reason);
}

#[test]
fn beacon_has_the_numbers_of_its_regular_contacts() {
    let mut random = Random(3);
    let mut at = 0;
    let mut times: Vec<u64> = (0..57)
        .map(|_| {
            at += 3_000 + random.exponential(200_000.0);
            at
        })
        .collect();
    let last = at;
    times.extend((0..20).map(|n| last + 500_000 + n * 60_000));
    let found = contacts(times, &named("c2.example")).findings(FindingSettings::default());
    let [event] = &*found else { panic!("{found:?}") };
    let Observation::Finding(finding) = &event.kind else { panic!("{event:?}") };
    let FindingKind::Beacon(beacon) = &finding.kind else { panic!("{finding:?}") };
    assert_eq!((beacon.contacts, beacon.period_millis), (10, 60_000));
    assert_eq!((beacon.first_seen.as_millis() - START, finding.packets[0]), (last + 500_040, 58 * 3));
    assert_eq!(finding.packets.len(), 8);
}

/// Contacts each minute, whose facts depend on their number.
fn beacon_of(contact: impl Fn(u64) -> RequestFacts) -> Vec<String> {
    let mut traffic = Traffic::default();
    (0..10).for_each(|n| traffic.contact(n * 60_000, client(1), server(1, 443), &contact(n)));
    traffic.texts()
}

#[test]
fn beacon_states_only_what_all_of_its_contacts_say() {
    let says = |text: &str| RequestFacts { user_agent: Some(text.as_bytes().into()), ..named("c2.example") };
    let is = |name: &str, library: &str| RequestFacts {
        software: Some(name.into()),
        library: Some(library.into()),
        ..named("c2.example")
    };
    let end = |texts: Vec<String>| match &*texts {
        [text] => text.split_once("10 times: ").unwrap().1.to_owned(),
        texts => panic!("{texts:?}"),
    };
    for other in [0, 1, 2, 5, 9] {
        let text = end(beacon_of(|n| says(if n == other { "check_http" } else { "evil" })));
        assert_eq!(text, "software unknown", "{other}");
        let text = end(beacon_of(|n| is(if n == other { "curl" } else { "Firefox" }, "NSS")));
        assert_eq!(text, "software unknown (TLS library NSS)", "{other}");
        let text = end(beacon_of(|n| if n == other { named("c2.example") } else { says("check_http") }));
        assert_eq!(text, "software unknown", "{other}");
    }
    assert_eq!(end(beacon_of(|_| says("check_http"))), "User-Agent says check_http");
    assert_eq!(end(beacon_of(|_| is("curl", "NSS"))), "software curl");
}

#[test]
fn beacon_states_nothing_that_requests_of_one_contact_deny() {
    let says = |text: &str| RequestFacts { user_agent: Some(text.as_bytes().into()), ..named("c2.example") };
    let mut traffic = contacts((0..20).map(|n| n * 60_000), &says("check_http"));
    traffic.contact(300_500, client(1), server(1, 443), &says("evil"));
    assert_eq!(
        traffic.texts(),
        ["beacon: contacts c2.example every 60.0 s (jitter 0.0 %), 10 times: software unknown"]
    );
}

/// The last SYN is reported, before its hello.
#[test]
fn beacon_to_an_address_states_what_all_hellos_say() {
    let is = |name: Option<&str>| RequestFacts { name: None, software: name.map(Into::into), ..named("") };
    assert!(beacon_of(|_| is(Some("curl")))[0].ends_with("10 times: software curl"));
    for other in [0, 1, 2, 5, 8] {
        let texts = beacon_of(|n| is((n != other).then_some("curl")));
        assert!(texts[0].ends_with("10 times: software unknown"), "{other}: {texts:?}");
    }
}

#[test]
fn port_of_a_service_is_not_its_software() {
    let mut traffic = Traffic::default();
    (0..20).for_each(|n| traffic.syn(n * 60_000, client(1), server(9, 53)));
    assert_eq!(
        traffic.texts(),
        [
            "beacon: contacts 198.51.100.9:53 every 60.0 s (jitter 0.0 %), 10 times, no answer seen: software unknown, port of dns"
        ]
    );
}

#[test]
fn beacons_with_jitter_are_found() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let period = random.between(12_000.0, 1_800_000.0) as f64;
        let jitter = f64::from((seed % 5) as u32) * 0.05;
        // Cobalt Strike shortens its sleep, others vary it in both directions.
        let longest = if seed % 2 == 0 { 1.0 } else { 1.0 + jitter };
        let mut at = 0;
        let times: Vec<u64> = (0..80)
            .map(|_| {
                at += random.between(period * (1.0 - jitter), period * longest);
                at
            })
            .collect();
        let texts = contacts(times, &named("c2.example")).texts();
        assert_eq!(texts.len(), 1, "seed {seed}, jitter {jitter}: {texts:?}");
    }
}

#[test]
fn lost_contacts_do_not_hide_a_beacon() {
    let times = (0..60).filter(|n| n % 15 != 7).map(|n| n * 60_000);
    assert_eq!(contacts(times, &named("c2.example")).texts().len(), 1);
}

#[test]
fn random_contacts_are_not_a_beacon() {
    for seed in 0..1000 {
        let mut random = Random(seed);
        let mean = if seed % 2 == 0 {
            random.between(3_000.0, 600_000.0) as f64
        } else {
            random.between(500.0, 20_000.0) as f64
        };
        let mut at = 0;
        let times: Vec<u64> = (0..400)
            .map(|_| {
                at += random.exponential(mean);
                at
            })
            .collect();
        let texts = contacts(times, &named("www.example")).texts();
        assert_eq!(texts, [""; 0], "seed {seed}, mean {mean} ms");
    }
}

#[test]
fn regular_contacts_need_fewer() {
    // The deviations of the intervals in thousandths, and the contacts that make a beacon.
    for (deviation, contacts) in [(0, 10), (40, 10), (80, 14), (120, 17), (240, 20)] {
        let mut at = 0;
        let times = (0..60).map(|n| {
            at += 60_000 + [0, 60 * deviation, 0, 0][n % 4] - [0, 0, 0, 60 * deviation][n % 4];
            at
        });
        let texts = contacts_of(times.collect());
        assert!(texts[0].contains(&format!(", {contacts} times: ")), "{deviation}: {texts:?}");
    }
}

fn contacts_of(times: Vec<u64>) -> Vec<String> {
    contacts(times, &named("c2.example")).texts()
}

#[test]
fn higher_number_of_contacts_raises_all_of_them() {
    for (number, expected) in [(5, 5), (12, 10), (20, 10), (40, 20), (1000, 500)] {
        let times = (0..1200).map(|n| n * 60_000);
        let settings =
            FindingSettings { beacon_contacts: NonZeroU32::new(number).unwrap(), ..Default::default() };
        let found = contacts(times, &named("c2.example")).findings(settings);
        let [event] = &*found else { panic!("{found:?}") };
        assert_eq!(event.packet_number, expected * 3, "{number}");
    }
}

#[test]
fn reconnection_every_few_seconds_is_a_beacon() {
    for (period, is_found) in [(500, false), (1900, false), (2200, true), (3500, true), (9900, true)] {
        let texts = contacts_of((0..200).map(|n| n * period).collect());
        assert_eq!(texts.len(), usize::from(is_found), "{period} ms: {texts:?}");
        let mut traffic = Traffic::default();
        (0..200).for_each(|n| traffic.syn(n * period, client(1), server(1, 4444)));
        let texts = traffic.texts();
        assert_eq!(texts.len(), usize::from(is_found), "{period} ms: {texts:?}");
    }
}

/// Requests and other data within a connection that ends two tenths of a second before the next one begins.
#[test]
fn activity_within_connections_does_not_hide_a_beacon_of_connections() {
    let mut traffic = Traffic::default();
    for n in 0..20 {
        traffic.contact(n * 2200, client(1), server(1, 443), &named("c2.example"));
        let data = Update::Http(Box::new(request(named("c2.example"))));
        traffic.add(n * 2200 + 2000, client(1), server(1, 443), Side::Client, data);
    }
    let texts = traffic.texts();
    assert_eq!(texts, ["beacon: contacts c2.example every 2.2 s (jitter 0.0 %), 10 times: software unknown"]);
}

/// A request that is not the first one of its connection.
fn request(contact: RequestFacts) -> HttpUpdate {
    HttpUpdate {
        role: huginn_net_http::Role::Request,
        forwarded: false,
        date: None,
        matched: None,
        system: crate::observation::SystemCheck::default(),
        is_imitation: false,
        counts: false,
        software: None,
        language: None,
        name: None,
        tcp: None,
        contact: Some(Box::new(contact)),
    }
}

#[test]
fn quick_requests_of_one_connection_are_not_a_beacon() {
    let mut traffic = Traffic::default();
    traffic.syn(0, client(1), server(1, 80));
    for n in 0..200 {
        let update = Update::Http(Box::new(request(named("www.example"))));
        traffic.add(n * 5000, client(1), server(1, 80), Side::Client, update);
    }
    assert_eq!(traffic.texts(), [""; 0]);
}

/// Each round has the same initial sequence numbers, and the same randoms.
#[test]
fn capture_that_is_replayed_in_a_loop_is_not_a_beacon() {
    let with_random = RequestFacts { random: Some(7), ..named("www.example") };
    for (isn, random) in [(Some(7), None), (None, Some(7)), (Some(7), Some(7))] {
        let facts = RequestFacts { random, ..named("www.example") };
        let mut traffic = Traffic { isn, ..Traffic::default() };
        for n in 0..40 {
            traffic.contact(n * 60_000, client(1), server(1, 443), &facts);
            if isn.is_some() {
                traffic.syn(n * 60_000 + 5000, client(1), server(2, 4444));
            }
        }
        let texts = traffic.texts();
        // Without SYNs, the random alone shows it.
        let expected = usize::from(isn.is_none());
        assert_eq!(texts.len(), expected, "{isn:?} {random:?}: {texts:?}");
    }
    let mut traffic = Traffic::default();
    for n in 0..40 {
        let hello = Update::Request(Box::new(with_random.clone()));
        traffic.add(n * 60_000, client(1), server(1, 443), Side::Client, hello);
    }
    assert_eq!(traffic.texts(), [""; 0]);
}

/// A server may take longer than the gap between connections to ask for a second hello.
#[test]
fn second_hello_of_a_handshake_is_not_a_replay() {
    let mut traffic = Traffic::default();
    for n in 0..20 {
        let facts = RequestFacts { random: Some(n), ..named("c2.example") };
        traffic.contact(n * 60_000, client(1), server(1, 443), &facts);
        traffic.add(
            n * 60_000 + 900,
            client(1),
            server(1, 443),
            Side::Client,
            Update::Request(Box::new(facts)),
        );
    }
    assert_eq!(traffic.texts().len(), 1);
}

#[test]
fn retries_of_a_server_that_does_not_answer_say_so() {
    let mut traffic = Traffic::default();
    (0..20).for_each(|n| traffic.syn(n * 3000, client(1), server(1, 4444)));
    let found = traffic.findings(FindingSettings::default());
    let alerts: Vec<_> = found.iter().filter_map(crate::alert::Alert::of).collect();
    let [alert] = &*alerts else { panic!("{found:?}") };
    assert_eq!(alert.severity(), crate::alert::Severity::Low);
    assert!(alert.reason().to_string().contains(", no answer seen: "), "{}", alert.reason());
}

#[test]
fn beacon_to_an_unknown_server_outside_matters_more() {
    use crate::alert::{Alert, Severity};
    let rows = [
        (server(1, 4444), None, Severity::Medium),
        (server(1, 993), None, Severity::Low),
        (address(0x0a00_00fe, 4444), None, Severity::Low),
        (server(1, 80), Some("Prometheus/2.53.0"), Severity::Low),
        (server(1, 80), Some("Mozilla/5.0"), Severity::Medium),
    ];
    for (server, user_agent, expected) in rows {
        let mut traffic = Traffic::default();
        let user_agent = user_agent.map(|text| text.as_bytes().into());
        let facts = RequestFacts { name: None, user_agent, ..named("") };
        (0..20).for_each(|n| traffic.contact(n * 15_000, client(1), server, &facts));
        let found = traffic.findings(FindingSettings::default());
        let [event] = &*found else { panic!("{found:?}") };
        assert_eq!(Alert::of(event).unwrap().severity(), expected, "{server}: {event:?}");
    }
}

/// Ten days of two clients that browse, update, fetch mail and are monitored.
#[test]
fn ten_days_of_normal_traffic_have_named_pollers_only() {
    let mut random = Random(7);
    let mut traffic = Traffic::default();
    let browser = |name: &str| RequestFacts { software: Some("Chromium".into()), ..named(name) };
    for number in 1..=2 {
        let (client, start) = (client(number), random.between(0.0, 60_000.0));
        // Browsing: visits at random, each to some of 200 names at once.
        let mut at = start;
        while at < 10 * DAY {
            at += random.exponential(90_000.0);
            for _ in 0..random.between(1.0, 15.0) {
                let site = random.between(0.0, 200.0) as u32;
                let when = at + random.between(0.0, 5_000.0);
                traffic.contact(when, client, server(site, 443), &browser(&format!("site{site}.example")));
            }
        }
        // Updates of packages: each hour, and at most half an hour later.
        let apt =
            RequestFacts { user_agent: Some((*b"Debian APT-HTTP/1.3").into()), ..named("deb.debian.org") };
        for hour in 0..240 {
            let when = start + hour * 3_600_000 + random.between(0.0, 1_800_000.0);
            traffic.contact(when, client, server(230, 80), &apt);
        }
        // Updates of the browser: every five hours.
        let update = named("update.googleapis.com");
        (0..48).for_each(|n| traffic.contact(start + n * 18_000_000, client, server(231, 443), &update));
        // Mail: every five minutes, and a second connection half a second later.
        for n in 0..2880 {
            let when = start + n * 300_000 + random.between(0.0, 3_000.0);
            traffic.contact(when, client, server(232, 993), &named("imap.example"));
            traffic.contact(when + 500, client, server(232, 993), &named("imap.example"));
        }
        // A page that asks for news, eight hours on a day.
        for (day, n) in (0..10).flat_map(|day| (0..960).map(move |n| (day, n))) {
            let when = start + day * DAY + n * 30_000 + random.between(0.0, 500.0);
            traffic.contact(when, client, server(233, 443), &browser("app.example"));
        }
    }
    // Monitoring of five servers: requests each minute, and of a database without any name.
    let check =
        RequestFacts { user_agent: Some((*b"check_http/v2.3.5").into()), ..named("intranet.example") };
    for n in 0..14_400 {
        traffic.contact(n * 60_000 + random.between(0.0, 1_000.0), client(100), server(240, 80), &check);
        let when = n * 60_000 + 30_000;
        traffic.syn(when, client(100), server(241, 5432));
        traffic.answer(when + 1, client(100), server(241, 5432));
    }
    let mut targets: Vec<String> = Vec::new();
    for event in traffic.findings(FindingSettings::default()) {
        let Observation::Finding(finding) = &event.kind else { panic!("{event:?}") };
        let FindingKind::Beacon(beacon) = &finding.kind else { panic!("{finding}") };
        let has_reason = beacon.software.is_some() || beacon.user_agent.is_some() || beacon.service.is_some();
        assert!(has_reason, "{finding}");
        assert_eq!(finding.to_string().starts_with("polls "), beacon.software.is_some(), "{finding}");
        // An update within half an hour after each hour is regular by chance at times.
        if beacon.service != Some(BeaconService::Name("software updates"))
            || !matches!(&beacon.target, BeaconTarget::Name(name) if **name == *b"deb.debian.org")
        {
            targets.push(beacon.target.to_string());
        }
    }
    targets.sort();
    let of_each = ["app.example", "imap.example", "intranet.example", "update.googleapis.com"];
    let expected: Vec<&str> = ["198.51.100.241:5432"]
        .into_iter()
        .chain(of_each.into_iter().flat_map(|name| {
            let clients = if name == "intranet.example" { 1 } else { 2 };
            std::iter::repeat_n(name, clients)
        }))
        .collect();
    assert_eq!(targets, expected);
}

#[test]
fn a_million_pairs_have_bounded_memory_and_hide_no_beacon() {
    let mut findings = Findings::new(&FindingSettings::default());
    let mut found = Vec::new();
    for second in 0..1000_u64 {
        let mut traffic = Traffic::default();
        for n in 0..1000_u32 {
            let pair = second as u32 * 1000 + n;
            traffic.syn(second * 1000, client(pair % 50_000), address(0x2000_0000 + pair, 80));
        }
        if second % 30 == 0 {
            traffic.contact(second * 1000 + 500, client(60_000), server(1, 443), &named("c2.example"));
        }
        for (_, update) in &traffic.updates {
            findings.on_update(update, &mut |event| found.push(event));
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    let (candidates, series) = findings.beacons.entries();
    assert!(candidates <= MAX_BEACON_CANDIDATES as u64 && series <= MAX_BEACON_SERIES as u64);
    assert!(findings.counters().evicted > 900_000, "{:?}", findings.counters());
}

/// Contacts by address, a minute apart. `has_proof`: whether the handshake of a contact proves the client.
fn contacts_with_proofs(numbers: std::ops::Range<u64>, has_proof: impl Fn(u64) -> bool) -> Traffic {
    let mut traffic = Traffic::default();
    for n in numbers {
        traffic.syn(n * 60_000, client(1), server(1, 8443));
        traffic.answer(n * 60_000 + 20, client(1), server(1, 8443));
        if has_proof(n) {
            let step = Progress::Continues { has_data: false };
            traffic.step(n * 60_000 + 21, client(1), server(1, 8443), step);
        }
    }
    traffic
}

#[test]
fn beacon_is_proven_if_half_of_its_contacts_are() {
    assert_eq!(proofs(contacts_with_proofs(0..12, |_| true)), [(true, false)]);
    assert_eq!(proofs(contacts_with_proofs(0..12, |n| n % 2 == 0)), [(true, false)]);
    assert_eq!(
        proofs(contacts_with_proofs(0..12, |n| n == 3 || n == 8)),
        [(false, false)],
        "forged around two"
    );
    assert_eq!(
        proofs(contacts_with_proofs(0..40, |n| n > 12)),
        [(false, false), (true, true)],
        "forged before"
    );
    // A connection of the client between forged contacts proves none of them.
    let mut traffic = contacts_with_proofs(0..12, |_| false);
    for n in 0..12 {
        let (at, client, server) = (n * 60_000 + 1000, client(1), server(1, 8443));
        let flow = FlowId::new(address(client, 50_000), server, TransportKind::Tcp, None);
        let step = Update::Progress(ProgressUpdate {
            step: Progress::Continues { has_data: false },
            by_tool: false,
        });
        let ts = Timestamp::from_nanos((START + at) * 1_000_000, 6);
        let mut event = Event::new(ts, 1000 + n, flow, Side::Client, HostUpdate::from(step));
        event.kind.set_proven(true);
        traffic.updates.push((at, event));
    }
    assert_eq!(proofs(traffic), [(false, false)]);
}

#[test]
fn flood_of_pairs_evicts_no_proven_beacon() {
    for proven in 1..=4 {
        let mut findings = Findings::new(&FindingSettings::default());
        let mut found = Vec::new();
        let mut add = |findings: &mut Findings, traffic: Traffic| {
            for (_, update) in &traffic.updates {
                findings.on_update(update, &mut |event| found.push(event));
            }
        };
        add(&mut findings, contacts_with_proofs(0..proven, |_| true));
        for contact in 0..3 {
            let mut flood = Traffic::default();
            for pair in 0..70_000 {
                let at = (proven - 1) * 60_000 + 1000 + contact * 3000;
                flood.syn(at, client(1000 + pair), server(2, 443));
            }
            add(&mut findings, flood);
        }
        add(&mut findings, contacts_with_proofs(proven..10, |_| true));
        assert_eq!(found.len(), 1, "{proven} contacts before the flood");
    }
}

#[test]
fn imitation_is_reported_again_with_proof() {
    let imitation = ImitationFinding {
        claim: "TLS imitates Firefox".to_owned(),
        contradicts: vec!["TCP says Linux".to_owned()],
    };
    let facts = RequestFacts { imitation: Some(Box::new(imitation)), ..named("www.example") };
    let mut traffic = Traffic::default();
    for (at, is_proven) in [(0, false), (1000, false), (2000, true), (3000, true), (4000, false)] {
        traffic.contact(at, client(1), server(1, 443), &facts);
        let (_, event) = traffic.updates.last_mut().unwrap();
        event.kind.set_proven(is_proven);
    }
    assert_eq!(proofs(traffic), [(false, false), (true, true)]);
}

#[test]
fn imitation_is_reported_once_for_each_claim() {
    let imitating = |claim: &str| RequestFacts {
        imitation: Some(Box::new(ImitationFinding {
            claim: claim.to_owned(),
            contradicts: vec!["TCP says Linux".to_owned()],
        })),
        ..named("www.example")
    };
    let mut traffic = Traffic::default();
    for n in 0..10 {
        traffic.contact(n * 1000, client(1), server(1, 443), &imitating("User-Agent says Firefox 133"));
    }
    traffic.contact(20_000, client(1), server(1, 443), &imitating("User-Agent says Chromium 131"));
    traffic.contact(30_000, client(2), server(1, 443), &imitating("User-Agent says Chromium 131"));
    let texts = traffic.texts();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert_eq!(texts[0], "imitation: User-Agent says Firefox 133; TCP says Linux");
}

#[test]
fn cleared_state_reports_again_and_keeps_its_counters() {
    let mut findings = Findings::new(&FindingSettings::default());
    for _ in 0..2 {
        let traffic = contacts((0..20).map(|n| n * 60_000), &named("c2.example"));
        let mut found = 0;
        traffic.updates.iter().for_each(|(_, update)| findings.on_update(update, &mut |_| found += 1));
        assert_eq!(found, 1);
        findings.clear();
    }
    assert_eq!(findings.counters().beacons, 2);
}

#[test]
fn a_hundred_thousand_servers_have_bounded_memory() {
    let mut findings = Findings::new(&FindingSettings::default());
    let nameless = RequestFacts { name: None, is_nameless: true, ..named("") };
    let facts = ServerFacts { is_nameless: true, hides_certificate: true, ..ServerFacts::default() };
    let mut found = 0;
    for number in 0..100_000_u32 {
        let mut traffic = Traffic::default();
        let (client, server) = (client(number % 90_000), address(0x2000_0000 + number, 7084));
        let hello = RequestFacts { is_browser: true, ..named("www.example") };
        traffic.add(u64::from(number), client, server, Side::Client, Update::Request(Box::new(hello)));
        let hello = Update::Request(Box::new(nameless.clone()));
        traffic.add(u64::from(number), client, server, Side::Client, hello);
        traffic.add(u64::from(number), client, server, Side::Server, Update::Server(Box::new(facts.clone())));
        traffic.updates.iter().for_each(|(_, update)| findings.on_update(update, &mut |_| found += 1));
    }
    let (servers, clients) = findings.servers.entries();
    assert!(servers <= MAX_SERVERS as u64 && clients <= MAX_BROWSER_CLIENTS as u64);
    assert_eq!((found, findings.counters().unusual_servers), (100_000, 100_000));
    assert!(findings.counters().evicted > 80_000, "{:?}", findings.counters());
}
