//! The examples of the library.

use huginn_net::core::FlowId;
use huginn_net::hosts::{HostProfile, Hosts, JsonHost};
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation, Side};

use crate::captures;

#[path = "../../../examples/merge_hosts.rs"]
mod merge_hosts;
#[cfg(feature = "stream")]
#[path = "../../../examples/own_ring.rs"]
mod own_ring;
#[path = "../../../examples/watch_rule.rs"]
mod watch_rule;

fn path(capture: &str) -> String {
    captures::path(capture).into_os_string().into_string().unwrap()
}

fn analyze(capture: &str, mut analyzer: HuginnNet) -> (Vec<Event>, HuginnNet) {
    let mut events = Vec::new();
    analyzer
        .analyze(CaptureReader::open(captures::path(capture)).unwrap(), |event| events.push(event))
        .unwrap();
    (events, analyzer)
}

#[cfg(feature = "stream")]
#[tokio::test]
async fn own_ring_loses_nothing_of_a_short_capture() {
    let (events, analyzer) = analyze("curl-nginx.pcap", HuginnNet::builder().build());
    let capture = CaptureReader::open(captures::path("curl-nginx.pcap")).unwrap();
    let (counters, lost) = own_ring::analyse(capture).await.unwrap();
    assert_eq!((counters.frames, lost), (analyzer.counters().frames, 0));
    assert_eq!(counters.events, events.len() as u64);
}

#[test]
fn watch_rule_joins_hello_and_certificate() {
    const CAPTURE: &str = "tls-certificates.pcap";
    let (events, _) = analyze(CAPTURE, HuginnNet::builder().handshakes(true).build());
    let subjects: Vec<(FlowId, String)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            Observation::TlsCertificates(found) if event.subject == Side::Server => {
                let subject = found.certificates.certificates[0].fields()?.subject.as_ref()?;
                Some((event.flow.clone(), subject.to_string()))
            }
            _ => None,
        })
        .collect();
    assert!(!subjects.is_empty());
    for (flow, subject) in subjects {
        let hello = events
            .iter()
            .filter(|event| event.flow == flow)
            .find_map(|event| match &event.kind {
                Observation::TlsClient(found) => {
                    Some((event.packet_number, found.client.hello.ja4().to_string()))
                }
                _ => None,
            })
            .unwrap();
        let found = watch_rule::matches(&path(CAPTURE), std::slice::from_ref(&hello.1)).unwrap();
        assert!(found.contains(&(hello.0, hello.1, subject)), "{found:?}");
    }
    assert_eq!(watch_rule::matches(&path(CAPTURE), &["other".to_owned()]).unwrap(), []);
}

#[test]
fn merged_hosts_are_those_of_one_analysis() {
    const IN_ORDER: [&str; 2] = ["curl-nginx.pcap", "hosts-nat.pcap"];
    fn json(host: &HostProfile) -> String {
        JsonHost::new(host).to_string()
    }
    let [first, second] = IN_ORDER.map(path);
    let merged = merge_hosts::merge(&[second, first]).unwrap();
    let mut analyzer = HuginnNet::builder().profiles(true).build();
    for capture in IN_ORDER {
        analyzer = analyze(capture, analyzer).1;
    }
    let of = |hosts: &Hosts| {
        let mut profiles: Vec<String> = hosts.profiles().map(json).collect();
        profiles.sort_unstable();
        profiles
    };
    assert_eq!(of(&merged), of(analyzer.shared_state()));
    assert!(merged.profiles().count() >= 2);
}
