//! UDP flows: the datagrams that start a flow, and the choice of the client.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

use huginn_net_capture::CaptureReader;
use huginn_net_core::{Event, Frame, LinkType, Side, Timestamp};
use huginn_net_tls::{HuginnNetTls, TlsEvent, Transport};

/// RFC 9001, appendix A.2: a client's Initial packet with a hello for `example.com`.
const QUIC: &[u8] = include_bytes!("../../hellos/rfc9001-a2-client-initial.bin");
/// Recorded from OpenSSL: each datagram follows its sender (0: the client) and its length.
const DTLS: &[u8] = include_bytes!("../../hellos/dtls-openssl-fragments.bin");
/// A malformed packet with the length of an OpenVPN hard reset.
const FALSE_RESET: [u8; 14] = [0x38, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0];

/// Returns the transport, subject and client port of each hello reported between two ports.
fn reported(datagrams: &[(Side, &[u8])], client: u16, server: u16) -> Vec<(Transport, Side, u16)> {
    let mut analyzer = HuginnNetTls::builder().build();
    let mut events: Vec<Event<TlsEvent>> = Vec::new();
    for (sender, datagram) in datagrams {
        let (ports, addresses) = match sender {
            Side::Client => ([client, server], [10, 0, 0, 1, 192, 0, 2, 1]),
            Side::Server => ([server, client], [192, 0, 2, 1, 10, 0, 0, 1]),
        };
        let packet = packet(ports, addresses, datagram);
        let wire_len = packet.len() as u32;
        let frame = Frame { ts: Timestamp::new(1, 0, 6), link: LinkType::RAW, data: &packet, wire_len };
        assert!(analyzer.push(&frame, |event| events.push(event)).is_continue());
    }
    let counters = analyzer.protocol().counters().parser.hellos;
    assert_eq!(counters.client + counters.server, events.len() as u64);
    events
        .iter()
        .map(|event| {
            let transport = match &event.kind {
                TlsEvent::Client(client) => client.hello.transport(),
                TlsEvent::Server(server) => server.hello.transport(),
                other => panic!("{other:?}"),
            };
            (transport, event.subject, event.flow.client.port())
        })
        .collect()
}

/// Builds an IPv4 packet with a UDP datagram (RFC 791, RFC 768).
fn packet(ports: [u16; 2], addresses: [u8; 8], payload: &[u8]) -> Vec<u8> {
    let len = |header: usize| ((header + payload.len()) as u16).to_be_bytes();
    let ip = [&[0x45, 0][..], &len(28), &[0, 1, 0x40, 0, 64, 17, 0, 0], &addresses].concat();
    [&ip[..], &ports.map(u16::to_be_bytes).concat(), &len(8), &[0, 0], payload].concat()
}

/// Splits a recorded dialogue into datagrams.
fn dialogue(mut bytes: &[u8]) -> Vec<(Side, &[u8])> {
    let mut datagrams = Vec::new();
    while let [sender, high, low, rest @ ..] = bytes {
        let (datagram, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        datagrams.push((if *sender == 0 { Side::Client } else { Side::Server }, datagram));
        bytes = rest;
    }
    datagrams
}

/// Any host can send datagrams with a spoofed source address.
#[test]
fn misdetected_datagram_does_not_hide_other_carrier() {
    let (quic, dtls) = ((Side::Client, QUIC), dialogue(DTLS));
    let quic_hellos = reported(&[quic], 50_000, 443);
    assert_eq!(quic_hellos, [(Transport::Quic, Side::Client, 50_000)]);
    assert_eq!(reported(&[(Side::Client, &FALSE_RESET[..]), quic], 50_000, 443), quic_hellos);

    let dtls_hellos = reported(&dtls, 50_000, 443);
    assert_eq!(dtls_hellos.len(), 3);
    let mut sealed = QUIC.to_vec();
    if let Some(byte) = sealed.last_mut() {
        *byte ^= 1;
    }
    for junk in [&sealed[..], &FALSE_RESET] {
        let datagrams = [&[(Side::Client, junk)][..], &dtls].concat();
        assert_eq!(reported(&datagrams, 50_000, 443), dtls_hellos);
    }
    for datagrams in [[&dtls[..], &[quic]].concat(), [&[quic], &dtls[..]].concat()] {
        let mut hellos = reported(&datagrams, 50_000, 443);
        hellos.sort_by_key(|(transport, ..)| *transport == Transport::Quic);
        assert_eq!(hellos, [&dtls_hellos[..], &quic_hellos].concat());
    }
}

/// A capture that starts in the middle of a flow may begin with a datagram from the server.
#[test]
fn well_known_port_is_server() {
    for (client, server) in [(50_000, 443), (443, 500), (50_000, 8443), (443, 50_000)] {
        // The flow mistakes a client on a well-known port for the server.
        let swapped = client < 1024 && server >= 1024;
        let found = reported(&[(Side::Client, QUIC)], client, server);
        let (sender, port) = if swapped { (Side::Server, server) } else { (Side::Client, client) };
        assert_eq!(found, [(Transport::Quic, sender, port)], "{client} to {server}");
    }
}

/// The payloads of UDP packets with these numbers, from 1, in a capture of Ethernet and IPv4.
fn payloads(capture: &str, numbers: &[usize]) -> Vec<u8> {
    const HEADERS: usize = 14 + 20 + 8;
    let mut reader = CaptureReader::open(crate::captures::path(capture)).expect("a capture");
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_frame().expect("a frame") {
        frames.push(frame.data[HEADERS..].to_vec());
    }
    numbers.iter().flat_map(|number| frames[number - 1].clone()).collect()
}

/// Datagrams of real clients as segmentation offload of the sender joins them. aioquic pads the datagram after its packet, so
/// that tshark finds only the first of its hellos; Chromium pads within the packet, and sends its hello in two datagrams.
#[test]
fn datagrams_in_one_frame_are_divided() {
    let aioquic = payloads("quic-aioquic.pcap", &[1, 5]);
    let chromium = payloads("quic-chromium.pcap", &[1, 2]);
    assert_eq!((aioquic.len(), chromium.len()), (2400, 2500));
    let quic = (Transport::Quic, Side::Client, 50_000);
    assert_eq!(reported(&[(Side::Client, &aioquic)], 50_000, 443), [quic, quic]);
    assert_eq!(reported(&[(Side::Client, &chromium)], 50_000, 443), [quic]);
}
