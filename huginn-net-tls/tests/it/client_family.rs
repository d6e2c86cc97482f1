//! Client families of the hellos in `captures/`: two browsers have a family, other programs have none.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use huginn_net_capture::CaptureReader;
use huginn_net_core::Event;
use huginn_net_tls::{ClientFamily, HuginnNetTls, TlsEvent};

/// Counts the hellos of a capture by family.
fn families(capture: &str) -> BTreeMap<Option<String>, usize> {
    let path = crate::captures::path(capture);
    let mut events: Vec<Event<TlsEvent>> = Vec::new();
    HuginnNetTls::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut events).unwrap();
    let mut found = BTreeMap::new();
    for event in events {
        if let TlsEvent::Client(client) = event.kind {
            *found.entry(client.hello.family().as_ref().map(ClientFamily::to_string)).or_default() += 1;
        }
    }
    found
}

#[test]
fn extensions_identify_browsers() {
    for (capture, family) in [
        ("tls-chromium.pcap", "Chromium"),
        ("quic-chromium.pcap", "Chromium"),
        ("tls-firefox.pcap", "Firefox"),
        ("quic-firefox.pcap", "Firefox"),
    ] {
        let found = families(capture);
        let names: Vec<Option<&str>> = found.keys().map(Option::as_deref).collect();
        assert_eq!(names, [Some(family)], "{capture}");
    }
}

#[test]
fn other_programs_have_no_family() {
    for capture in [
        "tls-curl.pcap",
        "tls-gnutls.pcap",
        "tls-openssl.pcap",
        "tls-python.pcap",
        "tls-java.pcap",
        "tls-node.pcap",
        "tls-go.pcap",
        "tls-rustls.pcap",
        "tls-resumption.pcap",
        "tls-openvpn.pcap",
        "quic-go.pcap",
        "quic-aioquic.pcap",
        "dtls-openssl.pcap",
        "dtls-gnutls.pcap",
        "starttls-mysql.pcap",
        "starttls-postgres.pcap",
    ] {
        let found = families(capture);
        let names: Vec<Option<&str>> = found.keys().map(Option::as_deref).collect();
        assert_eq!(names, [None], "{capture}");
    }
}
