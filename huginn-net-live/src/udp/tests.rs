use std::net::UdpSocket;
use std::time::{Duration, Instant};

use huginn_net_core::{Frame, NextFrame, Source};

use super::*;
use crate::LiveSource;

/// A VXLAN header of network 7, then an Ethernet frame with an ethertype for experiments.
const DATAGRAM: [u8; 24] = [8, 0, 0, 0, 0, 0, 7, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 1, 2];

/// Opens a socket at an address, on a port of a tunnel that nothing else uses.
fn open(address: &str, options: &LiveOptions) -> (u16, LiveSource) {
    let ports = [6635, 5247, 3544, 4341, 6080, 2152, 48879];
    let open = |port| Some((port, LiveSource::open(&[format!("udp:{address}{port}")], options).ok()?));
    ports.into_iter().find_map(open).expect("a free port")
}

/// Returns the first frames of a source.
fn frames(source: &mut LiveSource, count: usize) -> Vec<Vec<u8>> {
    let (mut found, start_time) = (Vec::new(), Instant::now());
    while found.len() < count {
        assert!(start_time.elapsed() < Duration::from_secs(10), "{found:?}");
        if let NextFrame::Frame(Frame { data, link, wire_len, .. }) = source.next_frame().unwrap() {
            assert_eq!(link, LinkType::RAW);
            assert_eq!(wire_len as usize, data.len());
            found.push(data.to_vec());
        }
    }
    found
}

/// The sum of the words of a header with its checksum: all ones if it is correct (RFC 1071).
fn sum(header: &[u8]) -> u32 {
    let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    (sum >> 16).wrapping_add(sum & 0xffff)
}

#[test]
fn datagrams_become_packets_with_their_addresses() {
    let (port_of_source, mut source) = open("127.0.0.1:", &LiveOptions::default());
    let target = ("127.0.0.1", port_of_source);
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = sender.local_addr().unwrap().port();
    for length in [DATAGRAM.len(), 0, 3] {
        sender.send_to(&DATAGRAM[..length], target).unwrap();
    }
    let found = frames(&mut source, 3);
    for (frame, length) in found.iter().zip([DATAGRAM.len(), 0, 3]) {
        let (ip, rest) = frame.split_at(20);
        assert_eq!((ip[0], ip[9], sum(ip)), (0x45, UDP, 0xffff));
        assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), frame.len());
        assert_eq!((&ip[12..16], &ip[16..20]), (&[127, 0, 0, 1][..], &[127, 0, 0, 1][..]));
        let (udp, payload) = rest.split_at(8);
        assert_eq!(udp[..2], port.to_be_bytes());
        assert_eq!(udp[2..4], port_of_source.to_be_bytes());
        assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), rest.len());
        assert_eq!(payload, &DATAGRAM[..length]);
    }
    source.stopper().stop();
    while !matches!(source.next_frame().unwrap(), NextFrame::End) {}
    let stats = source.stats().interfaces();
    assert_eq!(
        (stats[0].name.as_str(), stats[0].received, stats[0].kernel_dropped),
        (&*format!("udp:127.0.0.1:{port_of_source}"), 3, 0)
    );
}

#[test]
fn both_families_are_received_on_all_addresses() {
    let (port, mut source) = open("", &LiveOptions::default());
    let mut received = 0_u64;
    for (from, to) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1")] {
        // A machine may lack IPv6.
        let Ok(sender) = UdpSocket::bind(from) else { continue };
        sender.send_to(&DATAGRAM, (to, port)).unwrap();
        let version = frames(&mut source, 1)[0][0] >> 4;
        assert_eq!(version, if from.starts_with('[') { 6 } else { 4 });
        received = received.saturating_add(1);
    }
    source.stopper().stop();
    while !matches!(source.next_frame().unwrap(), NextFrame::End) {}
    assert_eq!(source.stats().interfaces()[0].received, received);
}

#[test]
fn losses_of_full_buffer_are_counted() {
    let options = LiveOptions { buffer_bytes: 16 << 10, ..LiveOptions::default() };
    let (port, mut source) = open("", &options);
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sent = 2000_u64;
    for _ in 0..sent {
        sender.send_to(&[0; 1000], ("127.0.0.1", port)).unwrap();
    }
    let mut received = 0_u64;
    let start_time = Instant::now();
    loop {
        assert!(start_time.elapsed() < Duration::from_secs(10));
        match source.next_frame().unwrap() {
            NextFrame::Frame(_) => received = received.saturating_add(1),
            NextFrame::Idle if received > 0 => break,
            _ => {}
        }
    }
    source.stopper().stop();
    while !matches!(source.next_frame().unwrap(), NextFrame::End) {}
    let stats = &source.stats().interfaces()[0];
    assert_eq!(stats.received, received);
    assert!(stats.kernel_dropped > 0);
    assert_eq!(received.saturating_add(stats.kernel_dropped), sent);
}

#[test]
fn names_without_a_tunnel_port_are_refused() {
    let error = |name: &str| LiveSource::open(&[name], &LiveOptions::default()).unwrap_err().to_string();
    for name in ["udp:", "udp:x", "udp:+4789", "udp:04789", "udp:4789:1", "udp:::1", "udp:70000"] {
        assert!(error(name).contains("expected udp:PORT or udp:ADDRESS:PORT"), "{name}: {}", error(name));
    }
    assert!(error("udp:53").contains("53 is not the port of a tunnel"), "{}", error("udp:53"));
    assert!(error("udp:[::1]:80").contains("80 is not the port of a tunnel"));
    assert!(error("udp:192.0.2.1:4789").contains("cannot be opened"), "{}", error("udp:192.0.2.1:4789"));
}
