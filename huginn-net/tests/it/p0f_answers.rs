//! Compares answers to p0f's API with those of p0f 3.09b after the same packets. `tests/hosts/query.py` recorded them.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::captures;
use huginn_net::core::FlowLimits;
use huginn_net::db::Database;
use huginn_net::hosts::HostProfile;
use huginn_net::observers::Scope;
use huginn_net::p0f::{P0fAnswer, P0fHost};
use huginn_net::tcp::Handshake;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation, Observers};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name)
}

/// Builds an analyzer with host profiles and the signatures of the golden.
fn analyzer(scope: Scope) -> HuginnNet {
    let database: Database = fs::read_to_string(file("signatures.fp")).unwrap().parse().unwrap();
    let observers = Observers::new(Arc::new(database)).scope(scope).profiles(true);
    let limits = FlowLimits::default().syn_lifetime(Duration::from_secs(30)).syn_lifetime_as_p0f(true);
    HuginnNet::builder_with(observers).flow_limits(limits).build()
}

/// Returns the fields of an answer, in the order of a golden line.
fn fields(answer: &P0fAnswer) -> Vec<String> {
    let P0fAnswer::Found(host) = answer else { return vec!["no match".to_owned()] };
    let P0fHost { first_seen, last_seen, total_conn, uptime_min, up_mod_days, last_nat, last_chg, .. } = host;
    let numbers = [first_seen, last_seen, total_conn, uptime_min, up_mod_days, last_nat, last_chg];
    // p0f answers 255 for an unknown distance; its README documents -1, which this project answers.
    let distance = if host.distance == -1 { 255 } else { host.distance };
    let texts =
        [host.os_name, host.os_flavor, host.http_name, host.http_flavor, host.link_type, host.language];
    let numbers = numbers.iter().map(ToString::to_string);
    let marks = [distance.to_string(), host.bad_sw.to_string(), host.os_match_q.to_string()];
    numbers.chain(marks).chain(texts.map(|text| text.as_str().to_owned())).collect()
}

/// The SYNs of one address so far.
#[derive(Default)]
struct SynCounts {
    /// SYNs to and from the address.
    syns: u32,
    /// SYNs to the address without a SYN+ACK.
    unanswered: u32,
    /// Times of the first and the last SYN, in seconds since 1970.
    first_last: (u64, u64),
}

#[derive(Default)]
struct SynCounter(BTreeMap<IpAddr, SynCounts>);

impl SynCounter {
    fn add(&mut self, event: &Event) {
        let Observation::Tcp(found) = &event.kind else { return };
        let server = event.flow.server.ip();
        if found.signature.handshake == Handshake::SynAck {
            self.0.get_mut(&server).unwrap().unanswered -= 1;
            return;
        }
        for ip in [event.flow.client.ip(), server] {
            let host = self.0.entry(ip).or_default();
            host.syns += 1;
            host.unanswered += u32::from(ip == server);
            let now = event.ts.as_secs();
            host.first_last = (if host.syns == 1 { now } else { host.first_last.0 }, now);
        }
    }
}

/// Times and counts differ, because p0f counts only SYNs, including SYNs that the host does not answer.
#[test]
fn answers_equal_p0f() {
    let golden = fs::read_to_string(file("query.p0f")).unwrap();
    let mut capture = CaptureReader::open(file("query.pcap")).unwrap();
    let mut analyzer = analyzer(Scope::P0f);
    let mut syns = SynCounter::default();
    let (mut pushed, mut unanswered) = (0, 0);
    for line in golden.lines() {
        let expected: Vec<&str> = line.split('|').collect();
        let packets: u64 = expected[0].parse().unwrap();
        while pushed < packets {
            let frame = capture.read_frame().unwrap().unwrap();
            let _ = analyzer.push(&frame, |event| syns.add(&event));
            pushed += 1;
        }
        let ip: IpAddr = expected[1].parse().unwrap();
        let mut ours = fields(&P0fAnswer::from_profile(analyzer.shared_state().profile(ip)));
        if ours.len() > 1 {
            let seen = &syns.0[&ip];
            let (first, last) = seen.first_last;
            let [our_first, our_last, our_count] = [0, 1, 2].map(|n| ours[n].parse::<u64>().unwrap());
            assert!(first <= our_first && our_first <= our_last, "{line}");
            assert!(seen.unanswered > 0 || last <= our_last, "{line}");
            assert_eq!(our_count, u64::from(seen.syns - seen.unanswered), "{line}");
            ours.splice(..3, [first, last, seen.syns.into()].map(|number| number.to_string()));
            unanswered += seen.unanswered;
        }
        assert_eq!(ours, expected[2..], "after {packets} packets of {ip}");
    }
    assert!(golden.lines().count() > 300 && unanswered > 0);
}

fn capture(name: &str) -> HuginnNet {
    let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(true)).build();
    let path = captures::path(name);
    analyzer.analyze(CaptureReader::open(path).unwrap(), &mut |_: Event| ()).unwrap();
    analyzer
}

fn p0f_host(analyzer: &HuginnNet, ip: &str) -> Option<P0fHost> {
    match P0fAnswer::from_profile(analyzer.shared_state().profile(ip.parse().unwrap())) {
        P0fAnswer::Found(host) => Some(host),
        _ => None,
    }
}

#[test]
fn answers_with_latest_findings() {
    let analyzer = capture("curl-nginx.pcap");
    let client = p0f_host(&analyzer, "192.0.2.1").unwrap();
    let texts = [client.os_name, client.http_name, client.link_type, client.language];
    assert_eq!(texts.map(|text| text.as_str().to_owned()), ["Linux", "curl", "Ethernet", "German"]);
    assert_eq!((client.total_conn, client.distance, client.bad_sw, client.os_match_q), (3, 0, 0, 0));
    assert_eq!(p0f_host(&analyzer, "192.0.2.9"), None);
    // A User-Agent and TCP identify different systems (captures/README.md).
    let liar = p0f_host(&capture("hosts-ua.pcap"), "192.0.2.1").unwrap();
    assert_eq!((liar.os_name.as_str(), liar.bad_sw), ("Linux", 1));
    let shared = p0f_host(&capture("hosts-nat.pcap"), "192.0.2.1").unwrap();
    assert!(shared.first_seen <= shared.last_nat && shared.last_nat <= shared.last_chg);
    let up = p0f_host(&capture("hosts-uptime.pcap"), "192.0.2.1").unwrap();
    assert_eq!(up.up_mod_days, 49);
    assert!((376..=379).contains(&up.uptime_min), "{up:?}");
    let unknown = p0f_host(&capture("hosts-random-offset.pcap"), "192.0.2.1").unwrap();
    assert_eq!((unknown.uptime_min, unknown.up_mod_days), (0, 0));
}

#[test]
fn prefers_host_outside_tunnels_then_latest_tunnel() {
    let ip: IpAddr = "192.0.2.1".parse().unwrap();
    // The host occurs in two tunnels, the second time a second later.
    let analyzer = capture("made-erspan.pcap");
    let hosts: Vec<&HostProfile> = analyzer.shared_state().profiles().filter(|host| host.ip == ip).collect();
    let last = hosts.iter().max_by_key(|host| host.last_seen.as_nanos()).unwrap();
    assert!(hosts.len() == 2 && hosts.iter().all(|host| host.tunnel.is_some()));
    let found = analyzer.shared_state().profile(ip).unwrap();
    assert_eq!((found.last_seen, &found.tunnel), (last.last_seen, &last.tunnel));

    // The host outside tunnels has priority, although it occurred earlier.
    let mut analyzer = capture("curl-nginx.pcap");
    let tunneled = captures::path("made-erspan.pcap");
    analyzer.analyze(CaptureReader::open(tunneled).unwrap(), &mut |_: Event| ()).unwrap();
    assert_eq!(analyzer.shared_state().profiles().filter(|host| host.ip == ip).count(), 3);
    assert!(analyzer.shared_state().profile(ip).unwrap().tunnel.is_none());

    analyzer.shared_state_mut().clear();
    assert!(analyzer.shared_state().profile(ip).is_none());
}

#[test]
fn answers_are_equal_for_any_worker_count() {
    for name in
        ["hosts-nat.pcap", "hosts-ua.pcap", "hosts-proxy.pcap", "http-firefox.pcap", "made-erspan.pcap"]
    {
        let answers = |workers| -> Vec<P0fAnswer> {
            let observers = Observers::default().profiles(true);
            let mut analyzer = HuginnNet::builder_with(observers).workers(workers).build();
            let capture = CaptureReader::open(captures::path(name)).unwrap();
            analyzer.analyze(capture, &mut |_: Event| ()).unwrap();
            let hosts = analyzer.shared_state();
            hosts.profiles().map(|host| P0fAnswer::from_profile(hosts.profile(host.ip))).collect()
        };
        let one = answers(1);
        assert!(!one.is_empty() && !one.contains(&P0fAnswer::NoMatch));
        assert!([2, 3].into_iter().all(|workers| answers(workers) == one), "{name}");
    }
}

#[test]
fn no_answer_without_profiles() {
    let mut analyzer = HuginnNet::builder().build();
    let path = captures::path("curl-nginx.pcap");
    analyzer.analyze(CaptureReader::open(path).unwrap(), &mut |_: Event| ()).unwrap();
    assert_eq!(p0f_host(&analyzer, "192.0.2.1"), None);
}
