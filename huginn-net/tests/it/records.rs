//! Checks that records are the JSON of the program, can be read again, and describe every field.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::captures;
use huginn_net::hosts::{FindingSettings, HostRecord, JsonHost, fields_of_host};
use huginn_net::record::{
    EVENT_NAMES, EventGroup, EventKind, EventRecord, FieldInfo, JsonEvent, Kind, events_schema,
    fields_of_event,
};
use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observers};
use serde_json::Value;

/// Returns captures with events of every kind.
fn captures() -> Vec<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let made = made.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let made = made.filter(|path| path.extension().is_some_and(|kind| kind == "pcap"));
    let conflict = captures::folder().join("evasion/decoy-low-ttl-each-tls4.pcap");
    captures::with_extension(&["pcap", "pcapng"]).into_iter().chain(made).chain([conflict]).collect()
}

/// Returns the events and hosts of a capture. Damaged captures end with an error.
fn analyze(path: &Path, observers: Observers, mut on_event: impl FnMut(&Event)) -> HuginnNet {
    let mut analyzer = HuginnNet::builder_with(observers).build();
    if let Ok(capture) = CaptureReader::open(path) {
        let _ = analyzer.analyze(capture, &mut |event: Event| on_event(&event));
    }
    analyzer
}

fn all() -> Observers {
    let mut lists = WatchLists::default();
    lists.add("list", b"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6,curl\n").unwrap();
    let of = |number| NonZeroU32::new(number).unwrap();
    // Thresholds that short captures reach.
    let findings = FindingSettings::default().scan_ports(of(10)).scan_hosts(of(10)).beacon_contacts(of(3));
    let observers = Observers::default().connections(true).handshakes(true).profiles(true);
    observers.findings(Some(findings)).watch_lists(WatchListHandle::new(lists))
}

/// Converts every number to `f64`, so that `1` equals `1.0`.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64()),
        Value::Array(values) => values.into_iter().map(normal).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, normal(value))).collect(),
        other => other,
    }
}

fn parse(text: &str) -> Value {
    normal(serde_json::from_str(text).unwrap())
}

/// Removes the fields of an object from those that are described, in their order.
fn check_fields(value: &Value, described: &[FieldInfo], place: &str) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| check_fields(value, described, place)),
        Value::Object(fields) => {
            for field in described {
                let value = fields.get(field.name);
                assert!(value.is_some() || field.is_optional, "{place}.{} is left out", field.name);
                assert!(value != Some(&Value::Null) || field.is_nullable, "{place}.{} is null", field.name);
            }
            for (key, value) in fields {
                let field = described.iter().find(|field| field.name == key);
                let field = field.unwrap_or_else(|| panic!("{place}.{key} is not described"));
                assert!(field.meaning.starts_with(|first: char| !first.is_whitespace()), "{place}.{key}");
                check_fields(value, field.value_type.fields(), &format!("{place}.{key}"));
            }
        }
        _ => assert!(described.is_empty() || value.is_null(), "{place}"),
    }
}

#[test]
fn events_are_records() {
    let mut kinds = BTreeSet::new();
    for path in captures() {
        analyze(&path, all(), |event| {
            let text = JsonEvent::new(event).file(Some("a")).to_string();
            let record: EventRecord<'_> = serde_json::from_str(&text).unwrap();
            let name = record.kind.name();
            // What was read is written as before, by another serializer too.
            assert_eq!(parse(&serde_json::to_string(&record).unwrap()), parse(&text), "{}", path.display());
            let mut unnamed = parse(&text);
            unnamed.as_object_mut().unwrap().remove("file");
            assert_eq!(unnamed, parse(&serde_json::to_string(&EventRecord::from_event(event)).unwrap()));
            check_fields(&unnamed, &fields_of_event(name).unwrap(), name);
            kinds.insert(name);
        });
    }
    assert_eq!(kinds, EVENT_NAMES.iter().copied().collect());
    assert_eq!(fields_of_event("no_event"), None);
}

#[test]
fn hosts_are_records() {
    let mut hosts = 0;
    for path in captures() {
        let analyzer = analyze(&path, all(), |_| ());
        for host in analyzer.shared_state().profiles() {
            let text = JsonHost::new(host).to_string();
            let record: HostRecord<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!(parse(&serde_json::to_string(&record).unwrap()), parse(&text), "{}", path.display());
            assert_eq!(parse(&serde_json::to_string(&HostRecord::from_profile(host)).unwrap()), parse(&text));
            check_fields(&parse(&text), fields_of_host(), "host");
            hosts += 1;
        }
    }
    assert!(hosts > 100, "{hosts}");
}

#[test]
fn lines_of_other_kinds_are_own_events() {
    let read = |text: &str| serde_json::from_str::<EventRecord<'_>>(text).unwrap_err().to_string();
    assert!(read("{}").contains("missing field"), "{}", read("{}"));
    let mut texts = Vec::new();
    analyze(&captures::path("tls-curl.pcap"), Observers::default(), |event| {
        texts.push(JsonEvent::new(event).to_string());
    });
    let other = texts[0].replace("\"event\":\"tcp_syn\"", "\"event\":\"dns\"");
    let record: EventRecord<'_> = serde_json::from_str(&other).unwrap();
    let Kind::Own(own) = &record.kind else { panic!("{record:?}") };
    assert_eq!(
        (record.head.event.to_string(), own.fields["fuzzy"].clone()),
        ("dns".to_owned(), false.into())
    );
    let mistyped = texts[0].replace("\"fuzzy\":false", "\"fuzzy\":7");
    assert!(read(&mistyped).contains("expected a boolean"), "{}", read(&mistyped));
}

/// CI validates all events of all captures against the schema.
#[test]
fn schema_is_current() {
    let schema: Value = serde_json::from_str(include_str!("../../../docs/events.schema.json")).unwrap();
    let write = "write it: cargo run -p huginn-net --example events_schema > docs/events.schema.json";
    assert!(schema == events_schema(fields_of_host()), "{write}");
    let client = &schema["$defs"]["tls_client"]["properties"];
    assert_eq!(client["sni"]["anyOf"][1]["type"], "null");
    assert_eq!(client["key_share_lengths"]["items"]["maximum"], 65_535);
    assert_eq!(client["event"]["const"], "tls_client");
}

/// The page has every field in the section of its kind, with its meaning or the section that has it.
#[test]
fn page_explains_every_field() {
    let page = include_str!("../../../docs/events.md");
    let section = |name: &str| {
        let after =
            page.split(&format!("\n## {name}\n")).nth(1).unwrap_or_else(|| panic!("no section {name}"));
        after.split("\n## ").next().unwrap().to_owned()
    };
    let names = |text: &str| -> BTreeSet<String> {
        let first_cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        first_cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned()).collect()
    };
    let common = names(&section("Common fields"));
    for &event in EVENT_NAMES {
        let text = section(event);
        let explained: BTreeSet<String> = names(&text).union(&common).cloned().collect();
        for field in fields_of_event(event).unwrap() {
            assert!(explained.contains(field.name), "docs/events.md: {event} has no {}", field.name);
        }
    }
    let explained = names(&section("host"));
    for field in fields_of_host() {
        let is_common = ["v", "event", "ip", "tunnel", "file"].contains(&field.name);
        assert!(is_common || explained.contains(field.name), "docs/events.md: host has no {}", field.name);
    }
}

#[test]
fn kinds_of_the_group_alerts_have_the_fields_of_an_alert() {
    for &kind in EventKind::ALL {
        let fields = fields_of_event(kind.name()).unwrap();
        let has_severity = fields.iter().any(|field| field.name == "severity");
        assert_eq!(kind.group() == EventGroup::Alerts, has_severity, "{}", kind.name());
        let name = EVENT_NAMES.get(kind.number()).copied().unwrap_or("own");
        assert_eq!(name, kind.name());
    }
}
