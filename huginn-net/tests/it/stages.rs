//! Checks that shards of a capture together give the events of one analysis, and that hosts can be a stage of their own.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::captures;
use huginn_net::core::{self, Analyzer, Filter, Route, SharedState, TunnelPath};
use huginn_net::hosts::{HostUpdate, HostUpdateRecord, Hosts, JsonHost};
use huginn_net::observers::WithoutHosts;
use huginn_net::record::{EventKind, JsonEvent};
use huginn_net::{CaptureReader, Configure, Database, Event, HuginnNet, Observation, Observers};

/// Returns captures with events of every kind.
fn captures() -> Vec<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let made = made.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let made = made.filter(|path| path.extension().is_some_and(|kind| kind == "pcap"));
    let captures: Vec<_> = captures::with_extension(&["pcap", "pcapng"]).into_iter().chain(made).collect();
    assert!(captures.len() > 100, "the captures are missing");
    captures
}

fn is_of_host(observation: &Observation) -> bool {
    matches!(
        observation,
        Observation::Uptime(_)
            | Observation::HostChange(_)
            | Observation::IpSharing(_)
            | Observation::Tool(_)
    )
}

fn observers() -> Observers {
    Observers::default().profiles(true).connections(true)
}

/// Events of an analysis in one process, and its hosts.
struct Whole {
    of_flows: Vec<String>,
    of_hosts: Vec<String>,
    profiles: Vec<String>,
}

fn line(event: &Event) -> String {
    JsonEvent::new(event).to_string()
}

fn profiles(hosts: &Hosts) -> Vec<String> {
    hosts.profiles().map(|host| JsonHost::new(host).to_string()).collect()
}

/// Analyses a capture in one process. `None` if it cannot be read; damaged ones end with an error.
fn whole(path: &Path) -> Option<Whole> {
    let mut events: Vec<Event> = Vec::new();
    let mut analyzer = HuginnNet::builder_with(observers()).build();
    let _ = analyzer.analyze(CaptureReader::open(path).ok()?, |event| events.push(event));
    let (of_hosts, of_flows) = events.iter().partition::<Vec<_>, _>(|event| is_of_host(&event.kind));
    let [of_hosts, of_flows] = [of_hosts, of_flows].map(|events| events.into_iter().map(line).collect());
    Some(Whole { of_flows, of_hosts, profiles: profiles(analyzer.shared_state()) })
}

/// The first stage of one shard.
#[derive(Default)]
struct Shard {
    of_flows: Vec<Event>,
    updates: Vec<core::Event<HostUpdate>>,
}

fn shard(path: &Path, index: u32, shards: NonZeroU32) -> Shard {
    let mut shard = Shard::default();
    let filter = Filter::new().shard(index, shards);
    let mut analyzer = Analyzer::builder_with(WithoutHosts::new(observers())).filter(filter).build();
    let capture = CaptureReader::open(path).unwrap();
    let _ = analyzer.analyze(capture, &mut |event: core::Event<Route<Observation, HostUpdate>>| match event
        .into_route()
    {
        Route::Report(event) => shard.of_flows.push(event),
        Route::Update(update) => shard.updates.push(update),
    });
    shard
}

/// The second stage: events and profiles of hosts from records that went through JSON.
fn hosts_of(updates: &[core::Event<HostUpdate>]) -> (Vec<String>, Vec<String>) {
    let database = Database::builtin();
    let mut hosts = observers().host_table();
    let mut events = Vec::new();
    for update in updates {
        let record = HostUpdateRecord::new(update).unwrap();
        assert_eq!(record.packet_number(), update.packet_number);
        assert_eq!(record.host(), update.subject_addr());
        let stored = serde_json::to_string(&record).unwrap();
        let read: HostUpdateRecord = serde_json::from_str(&stored).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        let update = read.into_event(database).unwrap();
        hosts.on_update(update, &mut |event| events.push(line(&event)));
    }
    hosts.on_end(&mut |event| events.push(line(&event)));
    (events, profiles(&hosts))
}

/// Events and profiles of a host table, and those of two tables: one takes the first `split` updates, and the other continues it.
fn with_restart(updates: &[core::Event<HostUpdate>], split: usize) -> (Vec<String>, Vec<String>) {
    let mut events = Vec::new();
    let mut hosts = observers().host_table();
    let (before, after) = updates.split_at(split);
    for updates in [before, after] {
        hosts = restarted(&hosts, |record| record);
        for update in updates {
            hosts.on_update(update.clone(), &mut |event| events.push(line(&event)));
        }
    }
    (events, profiles(&hosts))
}

/// Returns a table with the hosts of another one, from records that went through JSON.
fn restarted(hosts: &Hosts, change: impl Fn(String) -> String) -> Hosts {
    let database = Database::builtin();
    let mut next = observers().host_table();
    for id in hosts.ids_by_age() {
        let Some(saved) = hosts.saved(id) else { continue };
        let stored = change(serde_json::to_string(&saved).unwrap());
        next.restore(serde_json::from_str(&stored).unwrap(), database).unwrap();
    }
    next
}

#[test]
fn table_that_continues_another_one_says_the_same() {
    let mut hosts = 0;
    for path in captures() {
        if CaptureReader::open(&path).is_err() {
            continue;
        }
        let updates = shard(&path, 0, NonZeroU32::MIN).updates;
        let want = with_restart(&updates, 0);
        hosts += want.1.len();
        for split in [updates.len() / 3, updates.len() / 2, updates.len().saturating_sub(1)] {
            assert_eq!(with_restart(&updates, split), want, "{}, after {split} updates", path.display());
        }
    }
    assert!(hosts > 400, "{hosts} hosts");
}

#[test]
fn shards_and_host_stage_give_events_of_one_analysis() {
    let mut host_events = 0;
    let mut kinds = std::collections::BTreeSet::new();
    for path in captures() {
        let Some(want) = whole(&path) else { continue };
        host_events += want.of_hosts.len();
        for shards in [1, 2, 8].map(|shards| NonZeroU32::new(shards).unwrap()) {
            let parts: Vec<_> = (0..shards.get()).map(|index| shard(&path, index, shards)).collect();
            let mut updates = Vec::new();
            let mut of_flows = Vec::new();
            for part in parts {
                updates.extend(part.updates);
                of_flows.extend(part.of_flows);
            }
            kinds.extend(of_flows.iter().map(|event| EventKind::of(&event.kind).name()));
            // The packets of a flow are in one shard, so that the order is complete.
            updates.sort_by_key(|update| update.packet_number);
            let (of_hosts, profiles) = hosts_of(&updates);
            assert_eq!(of_hosts, want.of_hosts, "{} in {shards} shards", path.display());
            assert_eq!(profiles, want.profiles, "{} in {shards} shards", path.display());
            let mut got: Vec<_> = of_flows.iter().map(line).collect();
            let mut want = want.of_flows.clone();
            got.sort_unstable();
            want.sort_unstable();
            assert_eq!(got, want, "{} in {shards} shards", path.display());
        }
    }
    assert!(host_events > 20, "{host_events} events of hosts");
    assert_eq!(kinds.len(), 11, "{kinds:?}");
}

#[test]
fn record_of_other_database_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/http/http-pages/http-pages.pcap");
    let part = shard(&path, 0, NonZeroU32::MIN);
    let other: Database =
        "classes = unix\n[tcp:request]\nlabel = s:unix:Other:\nsig = *:64:0:*:1,0:mss:df:0\n"
            .parse()
            .unwrap();
    let records = part.updates.iter().map(|update| HostUpdateRecord::new(update).unwrap());
    let errors: Vec<_> = records.filter_map(|record| record.into_event(&other).err()).collect();
    assert!(!errors.is_empty());
    let text = errors[0].to_string();
    assert!(text.contains("the record comes from another one"), "{text}");
}

#[test]
fn record_of_impossible_clock_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/hosts/hosts-uptime/hosts-uptime.pcap");
    let mut clocks = 0;
    for update in &shard(&path, 0, NonZeroU32::MIN).updates {
        let mut record = serde_json::to_value(HostUpdateRecord::new(update).unwrap()).unwrap();
        let Some(ticks) = record.pointer_mut("/update/update/Clock/ticks") else { continue };
        *ticks = 0.into();
        assert!(serde_json::from_value::<HostUpdateRecord>(record).is_err());
        clocks += 1;
    }
    assert!(clocks > 0);
}

#[test]
fn tunnel_of_record_keeps_its_key() {
    let path = TunnelPath::with_key_word(&["vlan:7".parse().unwrap(), "gre".parse().unwrap()], 99).unwrap();
    assert_eq!((path.layers().len(), path.key_word()), (2, 99));
    let layers = vec!["gre".parse().unwrap(); 64];
    assert!(TunnelPath::with_key_word(&layers, 1).is_none());
}
