//! Compares host changes, IP sharing and uptime with p0f 3.09b. `tests/hosts/craft.py` made the packets and the golden.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use huginn_net::db::Database;
use huginn_net::observers::Scope;
use huginn_net::p0f::P0fLine;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation, Observers};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name)
}

/// Returns the host lines of a capture in the log format of p0f.
fn host_lines(capture: &str, signatures: &str) -> Vec<String> {
    let database: Database = fs::read_to_string(file(signatures)).unwrap().parse().unwrap();
    let observers = Observers::new(Arc::new(database)).scope(Scope::P0f);
    let mut lines = Vec::new();
    let mut sink = |event: Event| {
        if matches!(
            event.kind,
            Observation::HostChange(_) | Observation::IpSharing(_) | Observation::Uptime(_)
        ) {
            lines.extend(P0fLine::lines_from_event(&event).map(|line| line.to_string()));
        }
    };
    let capture = CaptureReader::open(file(capture)).unwrap();
    HuginnNet::builder_with(observers).build().analyze(capture, &mut sink).unwrap();
    lines
}

#[test]
fn host_changes_and_sharing_follow_p0f() {
    let golden = fs::read_to_string(file("rules.p0f")).unwrap();
    let lines = host_lines("rules.pcap", "signatures.fp");
    let differ = lines.iter().map(String::as_str).zip(golden.lines()).find(|(ours, theirs)| ours != theirs);
    assert_eq!(differ, None);
    assert_eq!(lines.len(), golden.lines().count());
}

#[test]
fn every_p0f_reason_occurs() {
    let golden = fs::read_to_string(file("rules.p0f")).unwrap();
    let mut reasons: BTreeMap<&str, u32> = BTreeMap::new();
    for line in golden.lines() {
        let Some((_, rest)) = line.split_once("|reason=") else { continue };
        let (names, _) = rest.split_once('|').unwrap();
        for name in names.split(' ') {
            *reasons.entry(name).or_default() += 1;
        }
    }
    assert_eq!(reasons.len(), 13, "{reasons:?}");
    assert!(reasons.values().all(|count| *count > 2), "{reasons:?}");
}
