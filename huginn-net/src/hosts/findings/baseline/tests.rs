use std::net::SocketAddr;

use huginn_net_core::{Event, FlowId, Side, Timestamp, TransportKind};

use super::*;
use crate::alert::{Alert, AlertKind};
use crate::hosts::observed::{Observed, Unnamed, authority};
use crate::{CaptureReader, Configure, HuginnNet, Observation, Observers};

const HEADER: &str = r#"{"huginn_net_baseline":2,"first":null,"last":null}"#;

fn parsed(values: &[(BaselineType, &str)]) -> Baseline {
    let lines =
        values.iter().map(|(kind, value)| format!("{{\"type\":\"{}\",\"value\":{value:?}}}\n", kind.name()));
    let text = format!("{HEADER}\n{}", lines.collect::<String>());
    Baseline::parse("base.jsonl", text.as_bytes()).unwrap()
}

/// The findings of events, each with the values of a flow to this server.
fn findings(learner: &mut Learner, events: &[(&str, &[(BaselineType, &str)])]) -> Vec<String> {
    let mut found = Vec::new();
    for (number, (server, values)) in (1..).zip(events) {
        let client: SocketAddr = "192.0.2.1:50000".parse().unwrap();
        let (server, transport) = match server.strip_suffix("/udp") {
            Some(server) => (server, TransportKind::Udp),
            None => (*server, TransportKind::Tcp),
        };
        let flow = FlowId::new(client, server.parse().unwrap(), transport, None);
        let event = Event::new(Timestamp::new(number, 0, 6), number, flow, Side::Client, ());
        let values = values.iter().map(|(kind, value)| BaselineValue { kind: *kind, value: (*value).into() });
        learner.on_values(
            &event,
            &Observed { values: values.collect(), unnamed: None },
            &mut |event: Event<Observation>| {
                let alert = Alert::of(&event).unwrap();
                let reason = alert.reason().to_string();
                let reason = reason.trim_end_matches("; the address may be forged").to_owned();
                found.push(format!("{} {}: {reason}", alert.kind().name(), alert.host()));
            },
        );
    }
    found
}

#[test]
fn server_without_a_name_is_reported_once_over_tcp() {
    let mut learner = Learner::new(parsed(&[(BaselineType::Server, "192.0.2.9:443")]));
    let hello = [(BaselineType::Server, "")];
    let events: Vec<(&str, &[_])> =
        ["192.0.2.9:443", "192.0.2.9:8443", "192.0.2.9:8443", "192.0.2.9:53/udp", "[2001:db8::1]:443"]
            .map(|server| (server, &hello[..]))
            .to_vec();
    assert_eq!(
        findings(&mut learner, &events),
        [
            "new_server 192.0.2.9: server 192.0.2.9:8443 is not in base.jsonl: 1 known",
            "new_server 2001:db8::1: server [2001:db8::1]:443 is not in base.jsonl: 1 known",
        ]
    );
    assert_eq!(learner.add_to(Default::default()).new_servers, 2);
}

#[test]
fn server_without_a_name_is_compared_once_its_handshake_completed() {
    let compared = |steps: &[(u16, Unnamed)]| {
        let mut learner = Learner::new(parsed(&[]));
        for (number, (port, step)) in (1..).zip(steps) {
            let (client, server) =
                (SocketAddr::from(([192, 0, 2, 1], *port)), "192.0.2.9:443".parse().unwrap());
            let flow = FlowId::new(client, server, TransportKind::Tcp, None);
            let event = Event::new(Timestamp::new(number, 0, 6), number, flow, Side::Client, ());
            learner.on_values(&event, &Observed { values: Vec::new(), unnamed: Some(*step) }, &mut |_| {});
        }
        learner.add_to(Default::default()).new_servers
    };
    use Unnamed::{Asked, Certified, Completed};
    assert_eq!(compared(&[(1, Asked), (1, Completed), (2, Asked), (2, Completed)]), 1);
    assert_eq!(compared(&[(1, Asked), (1, Certified), (1, Completed)]), 0);
    assert_eq!(compared(&[(1, Asked), (2, Completed), (1, Completed)]), 1);
    assert_eq!(compared(&[(1, Asked), (2, Asked), (3, Completed)]), 0);
    let flood: Vec<_> = (0..=u16::MAX).map(|port| (port, Asked)).collect();
    assert_eq!(compared(&[&flood[..], &[(0, Completed), (u16::MAX, Completed)]].concat()), 1);
}

#[test]
fn named_server_with_private_issuer_is_reported_unless_name_certificate_or_issuer_explain_it() {
    let sha = ["a", "b", "c", "d"].map(|digit| digit.repeat(64));
    let base = [
        (BaselineType::Name, "old.example"),
        (BaselineType::Certificate, &*sha[0]),
        (BaselineType::Issuer, "CN=Corp"),
    ];
    let mut learner = Learner::new(parsed(&base));
    let private = |sha, issuer, name| {
        [(BaselineType::Certificate, sha), (BaselineType::Issuer, issuer), (BaselineType::Server, name)]
    };
    let found = findings(
        &mut learner,
        &[
            ("192.0.2.9:443", &private(&*sha[1], "CN=Corp", "old.example")),
            ("192.0.2.10:443", &private(&*sha[0], "CN=Corp", "moved.example")),
            // The hello of the same connection has the name, too: it is learned, and does not explain the server.
            ("192.0.2.11:8443", &[(BaselineType::Name, "new.example")]),
            ("192.0.2.11:8443", &private(&*sha[2], "CN=Corp", "new.example")),
            ("192.0.2.12:443", &private(&*sha[3], "CN=Other", "c2.example")),
            ("192.0.2.12:443", &private(&*sha[3], "CN=Other", "c2.example")),
        ],
    );
    assert_eq!(
        found,
        [
            "new_server 192.0.2.11: server new.example:8443 is not in base.jsonl: 0 known",
            "new_issuer 192.0.2.12: issuer CN=Other is not in base.jsonl: 1 known",
        ]
    );
}

#[test]
fn client_is_reported_of_hosts_that_the_baseline_had() {
    let of_host = [(BaselineType::Client, "192.0.2.1 8daaf6152771")];
    let hellos: [(&str, &[_]); 3] = [
        ("192.0.2.9:443", &[(BaselineType::Client, "8daaf6152771")]),
        ("192.0.2.9:443", &[(BaselineType::Client, "0c4ab5f3f0a1")]),
        ("192.0.2.9:443", &[(BaselineType::Client, "0c4ab5f3f0a1")]),
    ];
    let reason = "TLS client of 192.0.2.1 with the cipher suites 0c4ab5f3f0a1 is not in base.jsonl: 1 known";
    assert_eq!(
        findings(&mut Learner::new(parsed(&of_host)), &hellos),
        [format!("new_client_of_host 192.0.2.1: {reason}")]
    );
    // A host without clients in the baseline has none that are new.
    let other = [(BaselineType::Client, "192.0.2.2 8daaf6152771")];
    let mut learner = Learner::new(parsed(&other));
    assert_eq!(findings(&mut learner, &hellos), [""; 0]);
    assert_eq!(learner.learned.len(), 2);
}

#[test]
fn names_certificates_and_user_agents_are_learned_without_a_report() {
    let mut learner = Learner::new(parsed(&[]));
    let sha = "a".repeat(64);
    let values = [
        (BaselineType::Name, "x.example"),
        (BaselineType::Certificate, &*sha),
        (BaselineType::UserAgent, "x/1"),
    ];
    assert_eq!(findings(&mut learner, &[("192.0.2.9:443", &values)]), [""; 0]);
    assert_eq!(learner.baseline.len(), 3);
    let tool = [(BaselineType::Tool, "Nmap SYN scan")];
    assert_eq!(
        findings(&mut learner, &[("192.0.2.9:443", &tool)]),
        ["new_fingerprint 192.0.2.1: tool Nmap SYN scan is not in base.jsonl: 0 known"]
    );
}

#[test]
fn each_type_has_its_limit_and_its_counter() {
    let mut baseline = Baseline::new();
    for number in 0..crate::limits::MAX_BASELINE_LONG_VALUES + 3 {
        if baseline.insert(BaselineType::UserAgent, &number.to_string()) == Inserted::Full {
            baseline.count_left_out(BaselineType::UserAgent);
        }
    }
    assert_eq!(baseline.left_out_of(BaselineType::UserAgent), 3);
    assert_eq!((baseline.left_out_of(BaselineType::Issuer), baseline.left_out()), (0, 3));
    // Another type still has room, and so has a baseline that is joined.
    let mut learner = Learner::new(baseline.clone());
    let values = [(BaselineType::UserAgent, "full"), (BaselineType::Issuer, "CN=Corp")];
    findings(&mut learner, &[("192.0.2.9:443", &values)]);
    assert_eq!(learner.baseline.left_out_of(BaselineType::UserAgent), 4);
    assert_eq!(learner.learned.len(), 2, "a run has room of its own");
    baseline.join(&parsed(&[(BaselineType::UserAgent, "y"), (BaselineType::Issuer, "CN=Corp")]));
    assert_eq!((baseline.left_out(), baseline.contains(BaselineType::Issuer, "CN=Corp")), (4, true));
}

/// Adds a stable JA4 that is not one, from a connection with or without an answer. Returns whether it is reported.
fn reports_hello(learner: &mut Learner, number: usize, is_answered: bool) -> bool {
    let (client, server) = ("192.0.2.1:50000".parse().unwrap(), "192.0.2.9:443".parse().unwrap());
    let flow = FlowId::new(client, server, TransportKind::Tcp, None);
    let mut event = Event::new(Timestamp::new(1, 0, 6), 1, flow, Side::Client, ());
    event.is_answered = is_answered;
    let value = BaselineValue { kind: BaselineType::Ja4Stable, value: format!("{number:08}").into() };
    let mut count = 0;
    let observed = Observed { values: vec![value], unnamed: None };
    learner.on_values(&event, &observed, &mut |event: Event<Observation>| {
        count += u32::from(Alert::of(&event).is_some_and(|alert| alert.kind() != AlertKind::FullBaseline));
    });
    count > 0
}

#[test]
fn full_baseline_is_an_alert_once_for_each_type() {
    let limit = BaselineType::Issuer.limit();
    let mut learner = Learner::new(parsed(&[]));
    (0..limit).for_each(|number| _ = learner.learned.insert(BaselineType::Issuer, &number.to_string()));
    let found = findings(
        &mut learner,
        &[
            ("192.0.2.9:443", &[(BaselineType::Issuer, "CN=First"), (BaselineType::Tool, "Nmap")]),
            ("192.0.2.9:443", &[(BaselineType::Issuer, "CN=Second")]),
        ],
    );
    let reason = "issuer CN=First is not in base.jsonl, and there is no room: later new ones of its type are not reported";
    let new = "new_fingerprint 192.0.2.1: tool Nmap is not in base.jsonl: 0 known";
    assert_eq!(found, [format!("full_baseline 192.0.2.9: {reason}"), new.to_owned()]);
    let counters = learner.add_to(Default::default());
    assert_eq!((counters.full_baselines, counters.baseline_left_out), (1, 2));
}

#[test]
fn flood_without_answers_leaves_room_for_others() {
    let limit = BaselineType::Ja4Stable.limit();
    let mut learner = Learner::new(parsed(&[]));
    assert!(reports_hello(&mut learner, 0, true));
    let reported = (1..limit + 5000).filter(|number| reports_hello(&mut learner, *number, false)).count();
    let full_baselines = learner.add_to(Default::default()).full_baselines;
    assert_eq!((reported, full_baselines), (limit / 4, 0), "there is room for others");
    assert!(reports_hello(&mut learner, limit * 2, true));
    assert!(!reports_hello(&mut learner, limit * 2, true), "each is reported once");

    // Nothing was answered before, as with one direction.
    let mut learner = Learner::new(parsed(&[]));
    let reported = (1..limit + 5000).filter(|number| reports_hello(&mut learner, *number, false)).count();
    assert_eq!((reported, learner.learned.len()), (limit, limit));
    assert!(reports_hello(&mut learner, limit * 2, true));
    assert_eq!(learner.learned.len(), limit / 4 + 1);
    let answered = (limit * 3..limit * 5).filter(|number| reports_hello(&mut learner, *number, true)).count();
    assert_eq!((answered, learner.learned.len()), (limit - 1, limit));
}

#[test]
fn full_file_hides_no_new_value() {
    let limit = BaselineType::Ja4Stable.limit();
    let mut full = parsed(&[]);
    (0..limit).for_each(|number| _ = full.insert(BaselineType::Ja4Stable, &format!("{number:08}")));
    let mut learner = Learner::new(full);
    assert!(!reports_hello(&mut learner, 7, false));
    for is_answered in [false, true] {
        let number = limit + usize::from(is_answered);
        assert!(reports_hello(&mut learner, number, is_answered));
        assert!(!reports_hello(&mut learner, number, is_answered));
    }
    assert_eq!((learner.baseline.left_out(), learner.baseline.len()), (2, limit));
}

#[test]
fn join_has_the_values_names_and_the_whole_period_of_both() {
    let of = |name, first, last, value| {
        let header = format!(r#"{{"huginn_net_baseline":2,"first":"{first}","last":"{last}"}}"#);
        let line = format!(r#"{{"type":"name","value":"{value}"}}"#);
        Baseline::parse(name, format!("{header}\n{line}\n").as_bytes()).unwrap()
    };
    let mut joined = of("b.jsonl", "2024-02-01T00:00:00Z", "2024-02-02T00:00:00Z", "b.example");
    joined.join(&of("a.jsonl", "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "a.example"));
    let mut written = Vec::new();
    joined.write_to(&mut written).unwrap();
    let expected = r#"{"huginn_net_baseline":2,"first":"2024-01-01T00:00:00Z","last":"2024-02-02T00:00:00Z"}
{"type":"name","value":"a.example"}
{"type":"name","value":"b.example"}
"#;
    assert_eq!(String::from_utf8(written).unwrap(), expected);
    assert_eq!(joined.name.as_deref(), Some("b.jsonl, a.jsonl"));
}

#[test]
fn issuers_of_public_authorities_are_their_organizations() {
    for (issuer, expected) in [
        ("CN=R10,O=Let's Encrypt,C=US", Some("O=Let's Encrypt,C=US")),
        (r"C=BE,O=Global\, Sign nv-sa,CN=GCC", Some(r"O=Global\, Sign nv-sa,C=BE")),
        ("CN=x+O=Y,C=DE", Some("O=Y,C=DE")),
        (r"CN=\,O=fake,C=DE", None),
        ("CN=DcRat Server,OU=q,L=SH,C=CN", None),
        ("CN=Corp Root", None),
        ("", None),
    ] {
        assert_eq!(authority(issuer).as_deref(), expected, "{issuer}");
    }
}

/// The baseline of a capture, and what an analysis with it reports of another one.
fn of_captures(learned: &str, analyzed: &str) -> (Baseline, Vec<String>) {
    let run = |capture: &str, baseline| {
        let mut found = Vec::new();
        let path = crate::captures::with_extension(&["pcap", "pcapng"])
            .into_iter()
            .find(|path| path.file_stem().is_some_and(|name| name == capture))
            .unwrap();
        let mut analyzer =
            HuginnNet::builder_with(Observers::default().tcp(false).baseline(Some(baseline))).build();
        let add = &mut |event: Event<Observation>| {
            if let Observation::Finding(finding) = &event.kind {
                found.push(format!("{}: {finding}", finding.kind.alert().name()));
            }
        };
        analyzer.analyze(CaptureReader::open(path).unwrap(), add).unwrap();
        (analyzer.shared_state().baseline().unwrap().clone(), found)
    };
    let (baseline, found) = run(learned, Baseline::new());
    assert_eq!(found, [""; 0]);
    let mut text = Vec::new();
    baseline.write_to(&mut text).unwrap();
    let parsed = Baseline::parse("base.jsonl", &text).unwrap();
    let (_, found) = run(analyzed, parsed);
    (baseline, found)
}

#[test]
fn resumed_sessions_have_nothing_new() {
    let (baseline, _) = of_captures("tls-certificates", "tls-certificates");
    assert!(BaselineType::ALL.iter().copied().all(|kind| kind.alert().is_some() || {
        kind == BaselineType::UserAgent || baseline.values().any(|(found, _)| found == kind)
    }));
    for capture in ["tls-sessions", "tls-resumption", "tls-certificates", "http-decrypted-tls13"] {
        let (_, again) = of_captures(capture, capture);
        assert_eq!(again, [""; 0], "{capture}");
    }
}
