//! Compares hellos and TLS handshakes with what tshark shows of them: the goldens `NAME.hellos` and `NAME.handshakes`, which
//! `captures/tools/tls_fields.py` describes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use huginn_net::core::FlowId;
use huginn_net::observation::TlsHandshakeObservation;
use huginn_net::record::EventRecord;
use huginn_net::tls::{
    Certificate, ClientHello, Ech, KeyExchange, Resumption, ServerHello, TlsCertificates, TlsHandshake,
    Version, names,
};
use huginn_net::{CaptureReader, Configure, Event, Frame, HuginnNet, Observation, Side};
use serde_json::{Map, Value, json};

use crate::captures;
use crate::goldens::goldens;

/// The fields that tshark 4.0.17 cannot show of a line: those in which it knows no extension of this number. It knows ALPS only by
/// the number of earlier drafts, 17513.
fn excused(line: &Map<String, Value>) -> Option<&'static str> {
    const APPLICATION_SETTINGS: u16 = 17613;
    let extensions = line.get("extensions")?.as_array()?;
    extensions.iter().any(|extension| extension[0] == APPLICATION_SETTINGS).then_some("alps")
}

fn events(capture: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    let mut analyzer = HuginnNet::builder().handshakes(true).build();
    analyzer.analyze(CaptureReader::open(capture).unwrap(), |event| events.push(event)).unwrap();
    events
}

/// The fields of each hello of a capture, as in the golden.
fn hellos(capture: &Path) -> Vec<Value> {
    let line = |event: &Event| {
        let mut line = match &event.kind {
            Observation::TlsClient(observation) => client(&observation.client.hello),
            Observation::TlsServer(observation) => server(&observation.server.hello),
            _ => return None,
        };
        line["source"] = json!(text(event.subject_addr()));
        Some(line)
    };
    events(capture).iter().filter_map(line).collect()
}

fn client(hello: &ClientHello<'_>) -> Value {
    let extensions: Vec<_> =
        hello.extensions().map(|extension| (extension.kind, extension.data.len())).collect();
    let key_shares: Vec<_> = hello.key_shares().map(|share| (share.group, share.key.len())).collect();
    json!({
        "hello": "client",
        "extensions": extensions,
        "key_shares": key_shares,
        "session_id": hello.session_id().len(),
        "signature_algorithms": hello.signature_algorithms().collect::<Vec<_>>(),
        "psk_identities": hello.psk_identities().map(|psk| psk.identity.len()).collect::<Vec<_>>(),
        "compress_certificate": hello.certificate_compression().collect::<Vec<_>>(),
        "record_size_limit": hello.record_size_limit(),
        "alps": hello.alps().map(String::from_utf8_lossy).collect::<Vec<_>>(),
    })
}

fn server(hello: &ServerHello<'_>) -> Value {
    let extensions: Vec<_> =
        hello.extensions().map(|extension| (extension.kind, extension.data.len())).collect();
    let key_share: Vec<_> =
        hello.group().map(|group| (group, hello.key_share().map(<[u8]>::len))).into_iter().collect();
    json!({
        "hello": "server",
        "extensions": extensions,
        "key_shares": key_share,
        "session_id": hello.session_id().len(),
        "version": hello.version().0,
        "cipher": hello.cipher_suite(),
        "selected_psk": hello.selected_psk(),
    })
}

/// What is found of each handshake of a capture, as in the golden.
fn handshakes(capture: &Path) -> Vec<Value> {
    let mut found: Vec<(FlowId, Value)> = Vec::new();
    for event in events(capture) {
        if let Observation::TlsClient(observation) = &event.kind {
            // The client is the sender of the ClientHello, which need not have opened the connection.
            if !observation.client.retry {
                let server = event.subject.peer().choose(event.flow.client, event.flow.server);
                let ends =
                    json!({"client": text(event.subject_addr()), "server": text(server), "certificates": []});
                found.push((event.flow.clone(), ends));
            }
            continue;
        }
        let is_own = |(flow, _): &&mut (FlowId, Value)| *flow == event.flow;
        match &event.kind {
            Observation::TlsCertificates(observation) => {
                let (_, line) = found.iter_mut().rev().find(is_own).unwrap();
                let role = if line["client"] == text(event.subject_addr()) { "client" } else { "server" };
                let count = observation.certificates.certificates.len();
                line["certificates"].as_array_mut().unwrap().push(json!([role, count]));
            }
            Observation::TlsHandshake(observation) => {
                let (_, line) = found.iter_mut().rev().find(is_own).unwrap();
                line.as_object_mut().unwrap().extend(end(&event, observation));
            }
            _ => {}
        }
    }
    let lines = found.into_iter().map(|(_, line)| line);
    lines.filter(|line| !line["end"].is_null() || line["certificates"] != json!([])).collect()
}

fn end(event: &Event, observation: &TlsHandshakeObservation) -> Map<String, Value> {
    let found = &observation.handshake;
    let (group, dh_bits) = match found.key_exchange {
        Some(KeyExchange::Group(group)) => (Some(group), None),
        Some(KeyExchange::FiniteField(bits)) => (None, Some(bits)),
        _ => (None, None),
    };
    let alerts: Vec<Value> = found
        .alerts
        .iter()
        .map(|alert| {
            let role = if alert.sender == event.subject { "server" } else { "client" };
            alert.code.map_or_else(|| json!([role]), |(level, description)| json!([role, level, description]))
        })
        .collect();
    let authorities = observation.certificate_request().map(|request| {
        request.authorities().map(|name| name.text().unwrap().into_string()).collect::<Vec<_>>()
    });
    let line = json!({
        "end": event.packet_number,
        "completed": found.completed,
        "version": found.version.map(|version| version.0),
        "resumed": found.resumption.map(Resumption::name),
        "retry": found.version.map(|_| found.retry).or(found.retry.then_some(true)),
        "group": group,
        "dh_bits": dh_bits,
        "certificate_requested": observation.requests_certificate(),
        "certificate_authorities": authorities,
        "alerts": alerts,
    });
    let Value::Object(line) = line else { panic!("{line}") };
    line
}

/// Address and port as the goldens have them.
fn text(address: SocketAddr) -> String {
    format!("{}:{}", address.ip(), address.port())
}

/// Compares the lines of a capture with its golden, in any order, except excused fields. Returns the number of compared
/// fields that are not empty, and that of excused fields.
fn compare(capture: &Path, lines: Vec<Value>, golden: &[String]) -> [usize; 2] {
    let name = capture.file_name().unwrap().to_str().unwrap();
    let mut counts = [0; 2];
    let mut prepare = |line: Value, count: bool| {
        let Value::Object(mut line) = line else { panic!("{name}: {line}") };
        if let Some(field) = excused(&line) {
            line.remove(field);
            counts[1] += usize::from(count);
        }
        let is_filled = |value: &&Value| !matches!(value, Value::Null) && **value != json!([]);
        counts[0] += if count { line.values().filter(is_filled).count() } else { 0 };
        Value::Object(line).to_string()
    };
    let mut lines: Vec<String> = lines.into_iter().map(|line| prepare(line, false)).collect();
    let mut wanted: Vec<String> =
        golden.iter().map(|line| prepare(serde_json::from_str(line).unwrap(), true)).collect();
    lines.sort();
    wanted.sort();
    let (missing, unknown) = (difference(&wanted, &lines), difference(&lines, &wanted));
    assert!(missing.is_empty() && unknown.is_empty(), "{name}\ntshark: {missing:#?}\nfound: {unknown:#?}");
    counts
}

fn difference<'a>(one: &'a [String], other: &[String]) -> Vec<&'a String> {
    let count = |lines: &[String], line: &String| lines.iter().filter(|other| *other == line).count();
    one.iter().filter(|line| count(one, line) != count(other, line)).collect()
}

#[test]
fn hellos_equal_tshark() {
    let counts =
        goldens("hellos").into_iter().map(|(capture, golden)| compare(&capture, hellos(&capture), &golden));
    let counts = counts.reduce(|one, other| [one[0] + other[0], one[1] + other[1]]).unwrap();
    assert!(counts[0] > 2000, "{counts:?}");
}

/// Also over all captures of TCP without a golden: those have no handshake that ends, and no certificates. The ends of DTLS and
/// OpenVPN have a test of their own.
#[test]
fn handshakes_equal_tshark() {
    let mut counts = [0; 2];
    for (capture, golden) in goldens("handshakes") {
        let [compared, excused] = compare(&capture, handshakes(&capture), &golden);
        counts = [counts[0] + compared, counts[1] + excused];
    }
    assert!(counts[0] > 500, "{counts:?}");
    for (capture, _) in goldens("hellos") {
        let is_other = ["dtls/", "tls-openvpn"].iter().any(|name| capture.to_str().unwrap().contains(name));
        if !is_other && !capture.with_extension("handshakes").exists() {
            assert_eq!(handshakes(&capture), Vec::<Value>::new(), "{}", capture.display());
        }
    }
}

/// Each packet of the capture is left out once.
#[test]
fn missing_packets_of_openvpn_change_no_handshake() {
    let capture = captures::path("tls-openvpn-certificates.pcap");
    let mut frames = Vec::new();
    let mut reader = CaptureReader::open(&capture).unwrap();
    while let Some(frame) = reader.read_frame().unwrap() {
        frames.push((frame.ts, frame.link, frame.data.to_vec()));
    }
    let found_without = |left_out: Option<usize>| {
        let mut analyzer = HuginnNet::builder().handshakes(true).build();
        let mut found = Vec::new();
        let mut sink = |event: Event| {
            if matches!(event.kind, Observation::TlsHandshake(_) | Observation::TlsCertificates(_)) {
                found.push((event.flow, format!("{:?}", event.kind)));
            }
        };
        for (index, (ts, link, data)) in frames.iter().enumerate() {
            if left_out != Some(index) {
                let frame = Frame { ts: *ts, link: *link, data, wire_len: data.len().try_into().unwrap() };
                let _ = analyzer.push(&frame, &mut sink);
            }
        }
        analyzer.finish(&mut sink);
        found
    };
    let whole = found_without(None);
    assert_eq!(whole.len(), 10);
    let mut fewer = 0;
    for left_out in 0..frames.len() {
        let found = found_without(Some(left_out));
        fewer += usize::from(found.len() < whole.len());
        let unknown: Vec<_> = found.iter().filter(|event| !whole.contains(event)).collect();
        assert!(unknown.is_empty(), "without packet {}: {unknown:#?}", left_out + 1);
    }
    assert!(fewer > 10, "{fewer}");
}

/// The clients ask for secret.example.test, with ECHConfigs of public.example.test whose numbers are 1 and 2. The server accepts the
/// first two connections and rejects the last one, which an observer cannot tell.
#[test]
fn only_outer_hellos_of_ech_are_visible() {
    let events = events(&captures::path("tls-ech.pcap"));
    let offered = events.iter().filter_map(|event| {
        let Observation::TlsClient(observation) = &event.kind else { return None };
        let hello = &observation.client.hello;
        let Some(Ech::Outer(ech)) = hello.ech() else { panic!("{hello:?}") };
        let name = String::from_utf8_lossy(hello.server_name().unwrap()).into_owned();
        Some((name, observation.client.retry, ech.config_id, ech.kdf, ech.aead, ech.enc.len()))
    });
    let public = |retry, config, enc| ("public.example.test".to_owned(), retry, config, 1, 1, enc);
    let wanted = [public(false, 1, 32), public(false, 1, 32), public(true, 1, 0), public(false, 2, 32)];
    assert_eq!(offered.collect::<Vec<_>>(), wanted);
    let completed = events.iter().filter_map(|event| match &event.kind {
        Observation::TlsHandshake(observation) => {
            Some((observation.handshake.completed, observation.handshake.retry))
        }
        _ => None,
    });
    assert_eq!(completed.collect::<Vec<_>>(), [(true, false), (true, true), (true, false)]);
}

#[test]
fn sessions_are_resumed_as_recorded() {
    let wanted = [
        (Version::TLS_1_0, Resumption::No),
        (Version::TLS_1_0, Resumption::SessionId),
        (Version::TLS_1_1, Resumption::No),
        (Version::TLS_1_1, Resumption::SessionId),
        (Version::TLS_1_2, Resumption::No),
        (Version::TLS_1_2, Resumption::SessionId),
        (Version::TLS_1_2, Resumption::No),
        (Version::TLS_1_2, Resumption::Ticket),
        (Version::TLS_1_3, Resumption::No),
        (Version::TLS_1_3, Resumption::Psk),
        // Early data.
        (Version::TLS_1_3, Resumption::No),
        (Version::TLS_1_3, Resumption::Psk),
        // RSA, a Diffie-Hellman group with and without certificates, external pre-shared keys.
        (Version::TLS_1_2, Resumption::No),
        (Version::TLS_1_2, Resumption::No),
        (Version::TLS_1_2, Resumption::No),
        (Version::TLS_1_2, Resumption::No),
        (Version::TLS_1_3, Resumption::Psk),
    ];
    let found = completed("tls-sessions.pcap");
    assert_eq!(
        found.iter().map(|found| (found.version.unwrap(), found.resumption.unwrap())).collect::<Vec<_>>(),
        wanted
    );
    let primes = found.iter().filter_map(|found| match found.key_exchange {
        Some(KeyExchange::FiniteField(bits)) => Some(bits),
        _ => None,
    });
    assert_eq!(primes.collect::<Vec<_>>(), [1024, 1024]);
}

#[test]
fn post_quantum_groups_are_those_recorded() {
    let found = completed("tls-post-quantum.pcap");
    let groups = found.iter().map(|found| match found.key_exchange {
        Some(KeyExchange::Group(group)) => (names::group(group).unwrap(), found.retry),
        _ => panic!("{found:?}"),
    });
    let wanted = [
        ("X25519MLKEM768", false),
        ("SecP256r1MLKEM768", false),
        ("SecP384r1MLKEM1024", false),
        ("MLKEM768", false),
        ("X25519MLKEM768", true),
        ("x25519", false),
    ];
    assert_eq!(groups.collect::<Vec<_>>(), wanted);
}

/// The names of all groups that resist quantum computers have ML-KEM or Kyber, but for CECPQ2.
#[test]
fn post_quantum_is_that_of_group_or_suite() {
    let mut seen = BTreeSet::new();
    for path in captures::with_extension(&["pcap", "pcapng"]) {
        let Ok(capture) = CaptureReader::open(&path) else { continue };
        let mut of_servers = BTreeMap::new();
        let _ = HuginnNet::builder().handshakes(true).build().analyze(capture, |event: Event| {
            let json = serde_json::to_value(EventRecord::from_event(&event)).unwrap();
            let flow = format!("{} {}", json["client"], json["server"]);
            let Some(found) = json.get("post_quantum").filter(|_| json["event"] != "ssh_handshake") else {
                return;
            };
            let expected = match (json["group"].as_str(), json["dh_bits"].as_u64()) {
                (Some(group), _) => {
                    Some(["MLKEM", "Kyber", "CECPQ2"].iter().any(|part| group.contains(part)))
                }
                // Suites of TLS 1.2 name their key exchange.
                (None, None) if json["event"] == "tls_server" => {
                    let suite = json["cipher_name"].as_str().unwrap_or_default();
                    ["_RSA_WITH", "_ECDHE_", "_DHE_", "_ECDSA_WITH", "_anon_", "_RSA_EXPORT", "_SRP_"]
                        .iter()
                        .any(|part| suite.contains(part))
                        .then_some(false)
                }
                (None, Some(_)) => Some(false),
                // The ServerHello has the suite, and was before.
                (None, None) => of_servers.get(&flow).copied().flatten(),
            };
            assert_eq!(found.as_bool(), expected, "{json}");
            if json["event"] == "tls_server" && json["retry"] == false {
                of_servers.insert(flow, expected);
            }
            seen.insert((json["event"].to_string(), expected));
        });
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// A client that lacks a certificate which the server requires completes a handshake of TLS 1.3: the alert comes later, encrypted.
#[test]
fn alerts_end_handshakes() {
    let ends = events(&captures::path("tls-alerts.pcap")).into_iter().filter_map(|event| {
        let Observation::TlsHandshake(observation) = event.kind else { return None };
        let found = observation.handshake;
        let alert = found.alerts.last().map(|alert| (alert.sender, alert.name().unwrap_or("encrypted")));
        assert_eq!(alert.is_none(), found.completed);
        Some((found.version.and_then(Version::name), alert))
    });
    let (client, server) = (|name| Some((Side::Client, name)), |name| Some((Side::Server, name)));
    let (old, new) = (Some("TLS 1.2"), Some("TLS 1.3"));
    let wanted = [
        (None, server("internal_error")),
        (None, server("handshake_failure")),
        (None, server("handshake_failure")),
        (old, client("unknown_ca")),
        (new, client("unknown_ca")),
        (new, client("encrypted")),
        (old, client("bad_certificate")),
        (old, server("handshake_failure")),
        (new, None),
        (old, server("unknown_ca")),
        (new, None),
        (new, None),
    ];
    assert_eq!(ends.collect::<Vec<_>>(), wanted);
}

/// The handshakes of a capture in which all complete.
fn completed(capture: &str) -> Vec<TlsHandshake> {
    let found = events(&captures::path(capture)).into_iter().filter_map(|event| match event.kind {
        Observation::TlsHandshake(observation) => Some(observation.handshake),
        _ => None,
    });
    let found: Vec<TlsHandshake> = found.collect();
    assert!(found.iter().all(|found| found.completed && found.alerts.is_empty()), "{found:?}");
    found
}

/// The certificates of a capture.
fn certificates(capture: &Path, keep: bool) -> Vec<TlsCertificates> {
    let builder = HuginnNet::builder().handshakes(true).certificate_bytes(keep);
    let mut found = Vec::new();
    let counters = builder.build().analyze(CaptureReader::open(capture).unwrap(), |event| {
        if let Observation::TlsCertificates(observed) = event.kind {
            found.push(observed.certificates);
        }
    });
    counters.unwrap();
    found
}

#[test]
fn certificates_have_their_bytes_if_they_are_kept() {
    let mut seen = 0;
    for capture in captures::with_extension(&["pcap", "pcapng"]) {
        let (kept, others) = (certificates(&capture, true), certificates(&capture, false));
        assert_eq!(kept, others, "{capture:?}");
        for certificate in kept.iter().flat_map(|found| &found.certificates) {
            assert_eq!(Certificate::from_der(certificate.der().unwrap()), *certificate);
            seen += 1;
        }
        assert!(others.iter().flat_map(|found| &found.certificates).all(|one| one.der().is_none()));
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn chain_follows_issuers_in_any_order() {
    let found = certificates(&captures::path("tls-certificates.pcap"), false);
    let mut found = found.into_iter().find(|found| found.certificates.len() == 3).unwrap();
    let sent = found.certificates.clone();
    assert!(found.chain().eq(&sent));
    found.certificates.swap(1, 2);
    assert!(found.chain().eq(&sent));
    // The root names itself, and what it did not issue is not of its chain.
    found.certificates = vec![sent[2].clone(), sent[1].clone(), sent[2].clone()];
    assert!(found.chain().eq([&sent[2]]));
    found.certificates = vec![sent[0].clone(), sent[2].clone(), sent[0].clone()];
    assert!(found.chain().eq([&sent[0]]));
    found.certificates.clear();
    assert_eq!(found.chain().count(), 0);
}
