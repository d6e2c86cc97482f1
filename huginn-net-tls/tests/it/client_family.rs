//! Client families of the hellos in `captures/`.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use huginn_net_capture::CaptureReader;
use huginn_net_core::Event;
use huginn_net_tls::{ClientFamily, HuginnNetTls, TlsEvent};

/// Counts the hellos of a capture by family.
fn families(capture: &str) -> BTreeMap<Option<String>, usize> {
    let path = crate::captures::path(capture);
    let mut events: Vec<Event<TlsEvent>> = Vec::new();
    HuginnNetTls::builder()
        .build()
        .analyze(CaptureReader::open(path).unwrap(), |event| events.push(event))
        .unwrap();
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
fn extension_order_identifies_library() {
    for (capture, family) in [
        ("tls-curl.pcap", "OpenSSL"),
        ("tls-python.pcap", "OpenSSL"),
        ("tls-node.pcap", "OpenSSL"),
        ("tls-resumption.pcap", "OpenSSL"),
        ("tls-openvpn.pcap", "OpenSSL"),
        ("starttls-postgres.pcap", "OpenSSL"),
        ("tls-gnutls.pcap", "GnuTLS"),
        ("dtls-gnutls.pcap", "GnuTLS"),
        ("tls-java.pcap", "JSSE"),
        ("tls-go.pcap", "Go crypto/tls"),
        ("quic-go.pcap", "Go crypto/tls"),
        ("tls-rustls.pcap", "rustls"),
    ] {
        let found = families(capture);
        let names: Vec<Option<&str>> = found.keys().map(Option::as_deref).collect();
        assert_eq!(names, [Some(family)], "{capture}");
    }
}

#[test]
fn unusual_hellos_have_no_family() {
    for capture in ["quic-aioquic.pcap", "tls-made-sslv2.pcap", "quic-reserved.pcap"] {
        let found = families(capture);
        assert!(found.keys().all(Option::is_none) && !found.is_empty(), "{capture}: {found:?}");
    }
}
