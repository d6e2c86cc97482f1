//! The software that findings name, on captures of known clients.

use std::sync::Arc;

use huginn_net::db::MatchKind;
use huginn_net::observation::SshClientObservation;
use huginn_net::{CaptureReader, ClientDatabase, Configure, Event, HuginnNet, Observation, Observers};

fn findings(capture: &str, observers: Observers) -> Vec<Observation> {
    let mut events: Vec<Event> = Vec::new();
    let reader = CaptureReader::open(crate::captures::path(capture)).unwrap();
    HuginnNet::builder_with(observers).build().analyze(reader, |event| events.push(event)).unwrap();
    events.into_iter().map(|event| event.kind).collect()
}

/// The library and the application of each ClientHello; `-` if there is none.
fn tls_names(capture: &str) -> Vec<String> {
    let names = findings(capture, Observers::default()).into_iter().filter_map(|observation| {
        let Observation::TlsClient(client) = observation else { return None };
        let Some(found) = client.software() else { return Some("-".to_owned()) };
        let [library, application] =
            [&found.software.library, &found.software.application].map(|name| name.as_deref().unwrap_or("-"));
        Some(format!("{library}, {application}"))
    });
    names.collect()
}

#[test]
fn tls_clients_have_names() {
    let captures = [
        ("tls-chromium.pcap", "BoringSSL, Chromium"),
        ("tls-firefox.pcap", "NSS, Firefox"),
        ("tls-node.pcap", "OpenSSL, Node.js"),
        ("tls-python.pcap", "OpenSSL, -"),
        ("tls-gnutls.pcap", "GnuTLS, -"),
        ("tls-rustls.pcap", "rustls, -"),
        ("quic-chromium.pcap", "BoringSSL, Chromium"),
        ("quic-firefox.pcap", "NSS, -"),
        ("dtls-gnutls.pcap", "GnuTLS, -"),
    ];
    for (capture, want) in captures {
        let names = tls_names(capture);
        assert!(!names.is_empty() && names.iter().all(|name| name == want), "{capture}: {names:?}");
    }
    let libraries = |capture: &str| -> Vec<String> {
        tls_names(capture).iter().map(|name| name.split(',').next().unwrap().to_owned()).collect()
    };
    for (capture, want) in
        [("tls-go.pcap", "Go crypto/tls"), ("tls-java.pcap", "JSSE"), ("tls-curl.pcap", "OpenSSL")]
    {
        let libraries = libraries(capture);
        assert!(
            libraries.len() > 1 && libraries.iter().all(|library| library == want),
            "{capture}: {libraries:?}"
        );
    }
}

#[test]
fn resumed_session_keeps_its_name() {
    let names = tls_names("tls-resumption.pcap");
    assert!(names.len() > 2 && names.iter().all(|name| name == "OpenSSL, -"), "{names:?}");
}

#[test]
fn hosts_have_the_names_of_their_hellos() {
    for capture in [
        "tls-chromium.pcap",
        "tls-java.pcap",
        "tls-resumption.pcap",
        "quic-firefox.pcap",
        "dtls-firefox.pcap",
    ] {
        let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(true)).build();
        let mut events: Vec<Event> = Vec::new();
        analyzer
            .analyze(CaptureReader::open(crate::captures::path(capture)).unwrap(), |event| events.push(event))
            .unwrap();
        let mut hellos = 0;
        for event in &events {
            let Observation::TlsClient(client) = &event.kind else { continue };
            let name = client.software().map(|found| found.software.to_string());
            let host = analyzer.shared_state().profile(event.subject_addr().ip()).unwrap();
            let seen =
                host.tls_clients.iter().find(|seen| seen.value.ja4 == client.client.hello.ja4()).unwrap();
            assert_eq!(seen.value.software.as_deref(), name.as_deref(), "{capture}");
            hellos += 1;
        }
        assert!(hellos > 0, "{capture}");
    }
}

/// One client has one name, whether the hello is known or its JA4 alone.
#[test]
fn ja4_alone_names_what_its_hello_names() {
    let (clients, mut named) = (ClientDatabase::builtin(), 0);
    for path in crate::captures::with_extension(&["ja4"]) {
        let capture = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for observation in findings(&format!("{capture}.pcap"), Observers::default()) {
            let Observation::TlsClient(client) = observation else { continue };
            let ja4 = client.client.hello.ja4();
            let Some(by_hash) = clients.match_ja4(ja4) else { continue };
            let by_hello = client.software().unwrap();
            if by_hello.kind == MatchKind::Structural {
                assert_eq!(by_hash.software.library, by_hello.software.library, "{capture}: {ja4}");
            } else {
                assert_eq!(
                    (by_hash.kind, by_hash.software),
                    (by_hello.kind, by_hello.software),
                    "{capture}: {ja4}"
                );
            }
            named += 1;
        }
    }
    assert!(named > 100, "{named}");
}

#[test]
fn ssh_clients_have_names() {
    let names: Vec<String> = findings("ssh-dropbear.pcap", Observers::default())
        .iter()
        .filter_map(|observation| match observation {
            Observation::SshClient(client @ SshClientObservation { .. }) => {
                Some(client.software().map_or_else(|| "-".to_owned(), |found| found.software.to_string()))
            }
            _ => None,
        })
        .collect();
    assert!(
        !names.is_empty()
            && names.iter().all(|name| name.starts_with("Dropbear") || name.starts_with("OpenSSH")),
        "{names:?}"
    );
}

#[test]
fn another_database_replaces_builtin() {
    let observers = || Observers::default().clients(Arc::new(ClientDatabase::default()));
    let known = |observers| {
        let findings = findings("tls-node.pcap", observers);
        let mut clients = findings.iter().filter_map(|observation| match observation {
            Observation::TlsClient(client) => Some(client.software()),
            _ => None,
        });
        clients.next().unwrap().unwrap().software.application.is_some()
    };
    assert!(known(Observers::default()));
    assert!(!known(observers()));
}
