//! Each view shows a kind of event, or leaves it out deliberately.

use std::collections::{BTreeMap, BTreeSet};

use huginn_net::hosts::FindingSettings;
use huginn_net::hosts::{HostLimits, JoinedHosts};
use huginn_net::record::{EVENT_NAMES, EventKind};
use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{CaptureReader, Configure, Event, HuginnNet};

use super::diff::COMPARED_EVENTS;
use super::follow::{Context, Followed, Subject};
use super::store::{Part, Store, ValueKind};
use crate::output::{Lines, Zone};

/// Captures with events of every kind.
const CAPTURES: [&str; 10] = [
    "attacks/attack-tls-c2-server/attack-tls-c2-server.pcap",
    "evasion/decoy-syn-rest-http6.pcap",
    "hosts/hosts-nat/hosts-nat.pcap",
    "hosts/hosts-uptime/hosts-uptime.pcap",
    "http/http-forged/http-forged.pcap",
    "http/h2c/h2c.pcap",
    "ssh/ssh-go/ssh-go.pcap",
    "tcp/nmap-syn/nmap-syn.pcap",
    "tls/tls-alerts/tls-alerts.pcap",
    "tls/tls-curl/tls-curl.pcap",
];

/// The views that show each kind beside its number, its time and its host; all others leave it out.
const SHOWN: [(EventKind, &[&str]); EVENT_NAMES.len()] = [
    (EventKind::TcpSyn, &["diff", "fingerprints", "follow", "hosts", "line", "names", "steps"]),
    (EventKind::TcpSynAck, &["diff", "fingerprints", "follow", "hosts", "line", "names", "steps"]),
    (EventKind::Uptime, &["line"]),
    (EventKind::HostChange, &["alarm", "follow", "line", "steps"]),
    (EventKind::IpSharing, &["alarm", "follow", "line", "steps"]),
    (EventKind::Tool, &["alarm", "alerts", "follow", "hosts", "line", "steps"]),
    (EventKind::Mismatch, &["alarm", "fingerprints", "follow", "hosts", "line", "names", "steps"]),
    (EventKind::Finding, &["alarm", "alerts", "follow", "line", "steps"]),
    (EventKind::Connection, &["follow", "line"]),
    (
        EventKind::HttpRequest,
        &["diff", "fingerprints", "follow", "hosts", "line", "names", "servers", "steps"],
    ),
    (
        EventKind::HttpResponse,
        &["diff", "fingerprints", "follow", "hosts", "line", "names", "servers", "steps"],
    ),
    (
        EventKind::TlsClient,
        &["cryptography", "diff", "fingerprints", "follow", "hosts", "line", "names", "servers", "steps"],
    ),
    (EventKind::TlsServer, &["cryptography", "diff", "fingerprints", "follow", "line", "servers", "steps"]),
    (EventKind::TlsHandshake, &["cryptography", "follow", "line", "remarks", "steps"]),
    (EventKind::TlsCertificates, &["cryptography", "follow", "line", "remarks", "servers", "steps"]),
    (EventKind::SshClient, &["cryptography", "diff", "fingerprints", "follow", "line", "names", "steps"]),
    (EventKind::SshServer, &["cryptography", "diff", "fingerprints", "follow", "line", "servers", "steps"]),
    (EventKind::SshHandshake, &["cryptography", "line"]),
    (EventKind::Match, &["alarm", "alerts", "line", "steps"]),
];

/// What a view shows of events, as text.
type View = fn(&Store) -> String;

/// The views that a part of the store fills.
const OF_STORE: [(&str, Part, View); 8] = [
    ("names", Part::Names, values),
    ("fingerprints", Part::Fingerprints, values),
    ("hosts", Part::HostNames, |store| {
        let mut hosts: Vec<_> = store.hosts.iter().collect();
        hosts.sort_unstable_by_key(|(id, _)| *id);
        let names = hosts.iter().map(|(_, host)| {
            format!("{}{}{}{}", host.system, host.software, host.tls_client, host.tool)
                + if host.is_mismatch { "mismatch" } else { "" }
        });
        names.filter(|names| !names.is_empty()).collect::<Vec<_>>().join("\n")
    }),
    ("steps", Part::Activity, |store| format!("{:?}", store.activity).matches("Step {").count().to_string()),
    ("alerts", Part::Alerts, |store| format!("{:?}", store.alerts)),
    ("remarks", Part::Remarks, |store| format!("{:?}", store.remarks)),
    ("servers", Part::Servers, |store| format!("{:?}", store.servers)),
    ("cryptography", Part::Cryptography, |store| format!("{:?}", store.cryptography)),
];

fn values(store: &Store) -> String {
    let tops = ValueKind::ALL.iter().map(|&kind| store.values.of(kind).top(usize::MAX));
    format!("{:?}", tops.collect::<Vec<_>>())
}

fn events(capture: &str) -> Vec<Event> {
    let mut lists = WatchLists::default();
    lists.add("list", b"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6,curl\n").unwrap();
    let path = format!("{}/../captures/{capture}", env!("CARGO_MANIFEST_DIR"));
    let mut events = Vec::new();
    let analyzer = HuginnNet::builder().connections(true).handshakes(true);
    let analyzer =
        analyzer.findings(Some(FindingSettings::default())).watch_lists(WatchListHandle::new(lists));
    let outcome = analyzer.build().analyze(CaptureReader::open(&path).unwrap(), |event| events.push(event));
    outcome.unwrap();
    events
}

/// Whether the view of a host shows an event.
fn is_followed(event: &Event) -> bool {
    let mut followed = Followed::new(Subject::Host(event.subject_addr().ip()));
    followed.add(event.clone());
    let hosts = JoinedHosts::new(&HostLimits::default());
    let context = Context { hosts: &hosts, file_name: &|_| None, width: None, zone: &Zone::new(false) };
    let mut text = Vec::new();
    followed.write_json(&mut text, &context).unwrap();
    !text.is_empty()
}

#[test]
fn each_view_lists_each_kind() {
    let lines = Lines::new(false, Zone::new(false));
    let mut found: BTreeMap<EventKind, BTreeSet<&str>> = BTreeMap::new();
    for capture in CAPTURES {
        let events = events(capture);
        for event in &events {
            let views = found.entry(EventKind::of(&event.kind)).or_default();
            let mut line = Vec::new();
            lines.write_comment(&mut line, event);
            let others = [
                ("line", !line.starts_with(b"other") && !line.ends_with(b": ")),
                ("alarm", Lines::is_alarm(event)),
                ("diff", COMPARED_EVENTS.contains(&EventKind::of(&event.kind).name())),
                ("follow", is_followed(event)),
            ];
            views.extend(others.iter().filter(|(_, is_shown)| *is_shown).map(|(name, _)| *name));
        }
        for (name, part, view) in OF_STORE {
            let mut store = Store::new(&[part]);
            let mut before = view(&store);
            for event in &events {
                store.add(event);
                let after = view(&store);
                // An earlier event may have shown the same.
                let mut alone = Store::new(&[part]);
                let empty = view(&alone);
                alone.add(event);
                if after != before || view(&alone) != empty {
                    found.entry(EventKind::of(&event.kind)).or_default().insert(name);
                }
                before = after;
            }
        }
    }
    let listed = SHOWN.iter().map(|(kind, views)| (*kind, views.iter().copied().collect()));
    assert_eq!(found, listed.collect());
    assert_eq!(found.len(), EVENT_NAMES.len(), "a capture has each kind");
}
