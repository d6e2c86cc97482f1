//! Checks the host profiles of captures with documented hosts (`captures/README.md`).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::captures;
use huginn_net::hosts::{HostCounters, HostId, HostLimits, HostProfile, JoinedHosts, JsonHost};
use huginn_net::observation::ChangeObservation;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation, Observers, Side};

fn hosts(capture: &Path, observers: Observers, workers: usize) -> Vec<HostProfile> {
    let mut analyzer = HuginnNet::builder_with(observers).workers(workers).build();
    analyzer.analyze(CaptureReader::open(capture).unwrap(), &mut |_: Event| ()).unwrap();
    analyzer.shared_state().profiles().cloned().collect()
}

/// Returns the host with an address in a capture.
fn host(capture: &str, ip: &str) -> HostProfile {
    let all = hosts(&captures::path(capture), Observers::default().profiles(true), 1);
    all.into_iter().find(|host| host.ip.to_string() == ip).unwrap()
}

fn contradictions(host: &HostProfile) -> Vec<String> {
    host.verdict().contradictions.iter().map(ToString::to_string).collect()
}

#[test]
fn no_profiles_by_default() {
    assert!(hosts(&captures::path("curl-nginx.pcap"), Observers::default(), 1).is_empty());
}

#[test]
fn hosts_are_iterated_by_id() {
    for capture in ["curl-nginx.pcap", "made-erspan.pcap"] {
        let source = CaptureReader::open(captures::path(capture)).unwrap();
        let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(true)).build();
        analyzer.analyze(source, &mut |_: Event| ()).unwrap();
        let hosts = analyzer.shared_state();
        let mut ids: Vec<HostId> = hosts.ids().collect();
        ids.sort_unstable();
        let each: Vec<&HostProfile> = ids.iter().filter_map(|id| hosts.profile_of(*id)).collect();
        let all: Vec<&HostProfile> = hosts.profiles().collect();
        assert!(!all.is_empty() && all.len() == ids.len());
        assert!(each.into_iter().map(std::ptr::from_ref).eq(all.into_iter().map(std::ptr::from_ref)));
    }
}

/// Joins the hosts of captures, each analysed on its own.
fn joined(names: &[&str], limits: &HostLimits) -> JoinedHosts {
    let mut joined = JoinedHosts::new(limits);
    for name in names {
        let source = CaptureReader::open(captures::path(name)).unwrap();
        let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(true)).build();
        analyzer.analyze(source, &mut |_: Event| ()).unwrap();
        joined.add(analyzer.shared_state(), None);
    }
    joined
}

#[test]
fn hosts_of_one_capture_join_unchanged() {
    for name in ["curl-nginx.pcap", "hosts-nat.pcap", "made-erspan.pcap"] {
        let text = |host: &HostProfile| JsonHost::new(host).to_string();
        let alone = hosts(&captures::path(name), Observers::default().profiles(true), 1);
        let joined = joined(&[name], &HostLimits::default());
        assert!(!alone.is_empty());
        assert!(joined.profiles().map(text).eq(alone.iter().map(text)), "{name}");
    }
}

#[test]
fn joined_hosts_have_counts_of_both_captures() {
    let names = ["curl-nginx.pcap", "hosts-nat.pcap"];
    let ip = |host: &&HostProfile| host.ip.to_string() == "192.0.2.1";
    let joined = joined(&names, &HostLimits::default());
    let both = joined.profiles().find(ip).unwrap();
    assert_eq!(joined.profiles_of(both.ip).map(|host| host.ip).collect::<Vec<_>>(), [both.ip]);
    let [one, other] = names.map(|name| host(name, "192.0.2.1"));
    assert_eq!(both.as_client.handshakes, one.as_client.handshakes + other.as_client.handshakes);
    assert_eq!(both.sharings.count, other.sharings.count);
    assert_eq!(both.first_seen.as_nanos(), one.first_seen.as_nanos().min(other.first_seen.as_nanos()));
    assert_eq!(both.last_seen.as_nanos(), one.last_seen.as_nanos().max(other.last_seen.as_nanos()));
    let claims = |host: &HostProfile| host.user_agents.iter().map(|seen| seen.count).sum::<u32>();
    assert_eq!(claims(both), claims(&one) + claims(&other));
    assert!(both.user_agents.iter().any(|seen| &*seen.value.text == b"curl/7.88.1"));
}

#[test]
fn joined_hosts_are_limited_in_number_and_bytes() {
    let one = HostLimits::default().max_hosts(1);
    let none = HostLimits::default().max_buffered_bytes(0);
    for (limits, kept) in [(one, 1), (none, 0)] {
        let joined = joined(&["curl-nginx.pcap", "curl-nginx.pcap"], &limits);
        assert_eq!((joined.profiles().count(), joined.left_out()), (kept, 2 * (2 - kept as u64)));
    }
}

#[test]
fn client_and_server_roles_are_profiled() {
    let client = host("curl-nginx.pcap", "192.0.2.1");
    let verdict = client.verdict();
    assert_eq!(verdict.system.as_deref(), Some("Linux"));
    assert!(verdict.contradictions.is_empty());
    assert_eq!(client.browsers.most().unwrap().label.name.as_ref(), "curl");
    assert_eq!(&*client.user_agents.most().unwrap().text, b"curl/7.88.1");
    assert_eq!(client.links.most().unwrap().link.as_deref(), Some("Ethernet"));
    assert_eq!(client.distances.most().unwrap().hops, 0);
    assert_eq!((client.as_client.handshakes, client.as_server.handshakes), (3, 0));
    assert_eq!((client.as_client.heads, client.as_server.heads), (4, 0));

    let server = host("curl-nginx.pcap", "192.0.2.2");
    assert_eq!(server.verdict().evidence[0].to_string(), "TCP says Linux (Linux 4.20 or newer, 3 SYN+ACKs)");
    assert_eq!(&*server.server_headers.most().unwrap().text, b"nginx/1.22.1");
    assert_eq!((server.as_client.handshakes, server.as_server.handshakes), (0, 3));
    assert_eq!((server.as_client.heads, server.as_server.heads), (0, 4));
    assert!(server.browsers.is_empty() && server.user_agents.is_empty());
}

#[test]
fn peers_and_names_are_counted_for_both_sides() {
    let contacts = |ip| {
        let host = host("curl-nginx.pcap", ip);
        let peers: Vec<_> =
            host.peers().by_count().map(|peer| (peer.value.to_string(), peer.role, peer.count)).collect();
        let names = host.names().by_count();
        let names: Vec<_> =
            names.map(|name| (String::from_utf8_lossy(&name.value).into_owned(), name.role)).collect();
        (peers, names)
    };
    let (peers, names) = contacts("192.0.2.1");
    assert_eq!(peers, [("192.0.2.2".to_owned(), Side::Client, 3)]);
    let (server_peers, server_names) = contacts("192.0.2.2");
    assert_eq!(server_peers, [("192.0.2.1".to_owned(), Side::Server, 3)]);
    let of_server: Vec<_> = names.into_iter().map(|(name, _)| (name, Side::Server)).collect();
    assert_eq!(server_names, of_server);
}

#[test]
fn names_of_hellos_are_those_of_reference() {
    let client = host("tls-firefox.pcap", "192.0.2.1");
    let asked: u32 = client.names().by_count().map(|name| name.count).sum();
    assert!(asked > 0 && asked <= client.as_client.hellos, "{:?}", client.names());
    assert!(client.names().by_count().all(|name| name.value.ends_with(b".test")), "{:?}", client.names());
}

#[test]
fn two_systems_behind_address_are_several_hosts() {
    let host = host("hosts-nat.pcap", "192.0.2.1");
    let verdict = host.verdict();
    assert_eq!(verdict.system, None);
    let several: Vec<&str> = verdict.several.iter().map(|system| &**system).collect();
    assert_eq!(several, ["Linux", "Windows"]);
    assert_eq!(contradictions(&host), [""; 0], "the findings of each connection agree");
    assert!(host.sharings.count > 0 && host.changes.count > 0);
}

#[test]
fn headers_of_other_system_contradict_handshakes() {
    let host = host("hosts-ua.pcap", "192.0.2.1");
    assert_eq!(host.verdict().system.as_deref(), Some("Linux"));
    assert_eq!(
        contradictions(&host),
        [
            "TCP says Linux, User-Agent says Windows, 4 times: unexplained (NAT, a proxy or a forgery)",
            "TCP says Linux, User-Agent says macOS or iOS (iPhone), 4 times: unexplained (NAT, a proxy or a forgery)",
        ]
    );
}

#[test]
fn forwarded_headers_do_not_describe_proxy() {
    let proxy = host("hosts-proxy.pcap", "192.0.2.1");
    let verdict = proxy.verdict();
    assert_eq!(verdict.system.as_deref(), Some("Linux"));
    assert_eq!(proxy.as_client.forwarded, proxy.as_client.heads);
    let forwarded: Vec<String> = verdict
        .evidence
        .iter()
        .map(ToString::to_string)
        .filter(|sentence| sentence.ends_with(", forwarded)"))
        .collect();
    assert_eq!(forwarded.len(), 2, "{forwarded:?}");
    assert_eq!(contradictions(&proxy), [""; 0]);
    assert_eq!(host("hosts-proxy.pcap", "203.0.113.1").verdict().system.as_deref(), Some("Windows"));
}

#[test]
fn accepted_uptime_is_reported() {
    let minutes =
        |capture| host(capture, "192.0.2.1").uptime.map(|uptime: huginn_net::tcp::Uptime| uptime.minutes);
    assert!(matches!(minutes("hosts-uptime.pcap"), Some(376..=379)), "{:?}", minutes("hosts-uptime.pcap"));
    assert_eq!(minutes("hosts-random-offset.pcap"), None);
}

/// Returns the conclusions about the hosts of a capture, and the counters.
fn conclusions(capture: &str) -> (Vec<Observation>, HostCounters) {
    let mut analyzer = HuginnNet::builder().build();
    let mut found = Vec::new();
    let mut sink = |event: Event| {
        if matches!(
            event.kind,
            Observation::HostChange(_) | Observation::IpSharing(_) | Observation::Uptime(_)
        ) {
            found.push(event.kind);
        }
    };
    analyzer.analyze(CaptureReader::open(captures::path(capture)).unwrap(), &mut sink).unwrap();
    (found, analyzer.shared_state().counters())
}

#[test]
fn unchanged_host_has_no_conclusions() {
    let (found, counters) = conclusions("hosts-plain.pcap");
    assert_eq!(found, []);
    assert_eq!((counters.changes, counters.sharings, counters.uptimes), (0, 0, 0));
}

/// The captures alternate between Linux and Windows.
#[test]
fn two_systems_that_alternate_are_one_sharing() {
    let (found, counters) = conclusions("hosts-nat.pcap");
    let [linux, windows] = ["Linux", "Windows"].map(Arc::<str>::from);
    let systems = |from: &Arc<str>, to: &Arc<str>| ChangeObservation::Systems {
        from: Arc::clone(from),
        to: Arc::clone(to),
    };
    assert_eq!(
        found,
        [
            Observation::HostChange(systems(&linux, &windows)),
            Observation::IpSharing(systems(&windows, &linux))
        ]
    );
    assert_eq!((counters.changes, counters.sharings), (1, 1));
}

#[test]
fn random_clock_offsets_give_no_uptime() {
    let (found, counters) = conclusions("hosts-random-offset.pcap");
    assert!(!found.iter().any(|observation| matches!(observation, Observation::Uptime(_))), "{found:?}");
    assert_eq!((counters.uptimes, counters.random_clocks), (0, 1));
}

#[test]
fn cleared_hosts_are_counted() {
    let mut analyzer = HuginnNet::builder().build();
    for _ in 0..2 {
        analyzer.shared_state_mut().clear();
        let capture = CaptureReader::open(captures::path("curl-nginx.pcap")).unwrap();
        analyzer.analyze(capture, &mut |_: Event| ()).unwrap();
    }
    let counters = analyzer.shared_state().counters();
    assert_eq!((counters.seen, counters.cleared, counters.active), (4, 2, 2));
}

#[test]
fn languages_and_tls_clients_are_counted() {
    let browser = host("http-firefox.pcap", "192.0.2.1");
    assert!(browser.languages.iter().count() >= 2, "{:?}", browser.languages);
    let client = host("tls-firefox.pcap", "192.0.2.1");
    let golden = fs::read_to_string(captures::path("tls-firefox.ja4")).unwrap();
    let golden: Vec<&str> = golden.lines().filter_map(|line| line.split('\t').nth(2)).collect();
    assert!(client.tls_clients.iter().all(|seen| golden.contains(&seen.value.ja4.to_string().as_str())));
    let counted: u32 = client.tls_clients.iter().map(|seen| seen.count).sum();
    assert_eq!((counted as usize, client.as_client.hellos as usize), (golden.len(), golden.len()));
}

#[test]
fn address_in_two_tunnels_is_two_hosts() {
    let all = hosts(&captures::path("made-erspan.pcap"), Observers::default().profiles(true), 1);
    let tunnels: Vec<String> = all
        .iter()
        .filter(|host| host.ip.to_string() == "192.0.2.1")
        .map(|host| format!("{:?}", host.tunnel.as_ref().unwrap()))
        .collect();
    assert_eq!(tunnels, [r#"["gre", "erspan:77"]"#, r#"["gre", "erspan:0"]"#]);
}

#[test]
fn profiles_are_equal_for_any_worker_count() {
    let json = |host: &HostProfile| JsonHost::new(host).to_string();
    for path in captures::with_extension(&["pcap", "pcapng"]) {
        let of = |workers| -> Vec<String> {
            hosts(&path, Observers::default().profiles(true), workers).iter().map(json).collect()
        };
        let one = of(1);
        assert!(one.iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
        for workers in [2, 3, 8] {
            assert_eq!(of(workers), one, "{} with {workers} workers", path.display());
        }
    }
}
