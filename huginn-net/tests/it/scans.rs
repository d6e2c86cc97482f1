//! Checks scans, scanners and their proof over packets.

use huginn_net::alert::{Alert, AlertKind, Severity};
use huginn_net::core::Frames;
use huginn_net::hosts::FindingSettings;
use huginn_net::{Configure, Event, Frame, HuginnNet, LinkType, Timestamp};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;

const SCANNER: [u8; 4] = [192, 0, 2, 66];
const TARGET: [u8; 4] = [192, 0, 2, 100];

/// IPv4 packets with TCP segments, a millisecond apart.
#[derive(Default)]
struct Packets(Vec<(u64, Vec<u8>)>);

/// A segment: addresses and ports, flags, sequence and acknowledgement number, options, payload.
struct Segment<'a> {
    from: ([u8; 4], u16),
    to: ([u8; 4], u16),
    flags: u8,
    seq: u32,
    ack: u32,
    window: u16,
    options: &'a [u8],
    payload: &'a [u8],
}

impl Packets {
    /// Time passes, until another host sends a SYN.
    fn pause(&mut self, millis: u64) {
        let at = self.0.last().map_or(0, |(at, _)| *at);
        let (from, to) = (([192, 0, 2, 1], 50_000), ([192, 0, 2, 2], 80));
        self.add(&Segment { from, to, flags: SYN, seq: 1, ack: 0, window: 8000, options: &[], payload: &[] });
        if let Some((last, _)) = self.0.last_mut() {
            *last = at + millis;
        }
    }

    fn add(&mut self, segment: &Segment<'_>) {
        let Segment { from, to, flags, seq, ack, window, options, payload } = segment;
        let header_len = 20 + options.len();
        let len = (20 + header_len + payload.len()) as u16;
        let mut data = vec![0x45, 0];
        data.extend(len.to_be_bytes());
        data.extend([0, 1, 0, 0, 64, 6, 0, 0]);
        data.extend(from.0.iter().chain(&to.0));
        data.extend(from.1.to_be_bytes());
        data.extend(to.1.to_be_bytes());
        data.extend(seq.to_be_bytes());
        data.extend(ack.to_be_bytes());
        data.extend([(header_len as u8 / 4) << 4, *flags]);
        data.extend(window.to_be_bytes());
        data.extend([0, 0, 0, 0]);
        data.extend(options.iter().chain(*payload));
        let at = self.0.last().map_or(0, |(at, _)| at + 1);
        self.0.push((at, data));
    }

    /// A segment of the scanner, without options and payload.
    fn probe(&mut self, port: u16, flags: u8, seq: u32, ack: u32) {
        let (from, to) = ((SCANNER, 45_000), (TARGET, port));
        self.add(&Segment { from, to, flags, seq, ack, window: 1024, options: &[], payload: &[] });
    }

    fn answer(&mut self, port: u16, flags: u8, seq: u32, ack: u32) {
        let (from, to) = ((TARGET, port), (SCANNER, 45_000));
        self.add(&Segment { from, to, flags, seq, ack, window: 0, options: &[], payload: &[] });
    }

    /// The alerts of these packets, which do not depend on the number of workers.
    fn alerts(&self) -> Vec<(AlertKind, Severity, bool, String)> {
        let analyze = |workers: usize| {
            let frames = self.0.iter().map(|(at, data)| Frame {
                ts: Timestamp::from_nanos(1_790_000_000_000_000_000 + at * 1_000_000, 6),
                link: LinkType::RAW,
                data,
                wire_len: data.len() as u32,
            });
            let mut rows = Vec::new();
            let builder = HuginnNet::builder().findings(Some(FindingSettings::default()));
            let builder = builder.workers(workers).block_bytes(4096);
            let sink = &mut |event: Event| {
                if let Some(alert) = Alert::of(&event) {
                    let reason = alert.reason().to_string();
                    rows.push((alert.kind(), alert.severity(), alert.is_proven(), reason));
                }
            };
            builder.build().analyze(Frames::new(frames), sink).unwrap();
            rows
        };
        let rows = analyze(1);
        assert_eq!(analyze(3), rows, "three workers");
        rows
    }

    fn reasons(&self) -> Vec<String> {
        self.alerts().into_iter().map(|(.., reason)| reason).collect()
    }
}

#[test]
fn segments_without_connection_are_scans() {
    for (flags, words, reset) in [
        (FIN, "FIN alone", RST | ACK),
        (FIN | PSH | URG, "FIN, PSH and URG", RST | ACK),
        (ACK, "ACK alone", RST),
        (FIN | ACK, "FIN and ACK", RST),
    ] {
        let mut packets = Packets::default();
        for port in 1..=150 {
            packets.probe(port, flags, 7, 9);
            packets.answer(port, reset, 9, 8);
        }
        packets.pause(2000);
        let scan = format!(
            "sends segments with {words} to 150 ports of 192.0.2.100 in 298 ms, 150 answer with RST; the address may be forged"
        );
        assert_eq!(packets.reasons(), [scan]);
    }
}

/// ACKs of connections whose SYNs were sent before the capture, with and without an end.
#[test]
fn connections_older_than_the_capture_are_not_scans() {
    let mut packets = Packets::default();
    for host in 1..=200 {
        let (from, to) = ((SCANNER, 40_000 + u16::from(host)), ([198, 51, 100, host], 443));
        let segment = |from, to, flags| Segment {
            from,
            to,
            flags,
            seq: 5,
            ack: 6,
            window: 1024,
            options: &[],
            payload: &[],
        };
        packets.add(&segment(from, to, ACK));
        packets.add(&segment(to, from, ACK));
        packets.add(&segment(from, to, FIN | ACK));
        packets.add(&segment(to, from, RST));
    }
    packets.pause(2000);
    assert_eq!(packets.reasons(), [""; 0]);
}

/// 150 SYNs to closed ports, and what else happens.
fn scan(more: impl FnOnce(&mut Packets)) -> Vec<(AlertKind, Severity, bool, String)> {
    let mut packets = Packets::default();
    for port in 1..=150 {
        let (from, to) = ((SCANNER, 45_000), (TARGET, port));
        packets.add(&Segment {
            from,
            to,
            flags: SYN,
            seq: 7,
            ack: 0,
            window: 8000,
            options: &[],
            payload: &[],
        });
        packets.answer(port, RST | ACK, 0, 8);
    }
    more(&mut packets);
    packets.pause(3000);
    packets.alerts()
}

/// A connection of the scanner to an open port: the number that it acknowledges, and payload.
fn connection(packets: &mut Packets, ack: u32, payload: &[u8]) {
    let (from, to) = ((SCANNER, 46_000), (TARGET, 8080));
    let segment = |from, to, flags, seq, ack, payload| Segment {
        from,
        to,
        flags,
        seq,
        ack,
        window: 8000,
        options: &[],
        payload,
    };
    packets.add(&segment(from, to, SYN, 7, 0, &[]));
    packets.add(&segment(to, from, SYN | ACK, 499, 8, &[]));
    packets.add(&segment(from, to, ACK, 8, ack, &[]));
    if !payload.is_empty() {
        packets.add(&segment(from, to, ACK | PSH, 8, ack, payload));
    }
}

#[test]
fn forged_syns_make_no_high_alert_about_an_innocent_host() {
    let forged = |more: fn(&mut Packets)| {
        let alerts = scan(more);
        let [(kind, severity, is_proven, _)] = alerts[..] else { panic!("{alerts:?}") };
        (kind, severity, is_proven)
    };
    let unproven = (AlertKind::Scan, Severity::Medium, false);
    assert_eq!(forged(|_| {}), unproven);
    assert_eq!(forged(|packets| connection(packets, 500, b"GET / HTTP/1.1\r\n")), unproven, "its own");
    assert_eq!(forged(|packets| connection(packets, 499, b"")), unproven, "a guess");
    let proven = (AlertKind::Scan, Severity::High, true);
    assert_eq!(forged(|packets| connection(packets, 500, b"")), proven);
}

/// SYNs with the signature of Nmap, from a port each.
fn nmap_syn(packets: &mut Packets, port: u16, client_port: u16) {
    let (from, to) = ((SCANNER, client_port), (TARGET, port));
    let options = &[2, 4, 5, 180];
    packets.add(&Segment { from, to, flags: SYN, seq: 7, ack: 0, window: 3072, options, payload: &[] });
}

fn after_syns(make: impl FnOnce(&mut Packets)) -> Vec<String> {
    let mut packets = Packets::default();
    make(&mut packets);
    packets.pause(30_000);
    packets.reasons()
}

#[test]
fn stack_with_syns_of_a_scanner_is_not_called_one() {
    let resembles = "resembles Nmap SYN scan: 1 SYN to 1 port of 1 host; the address may be forged";
    assert_eq!(after_syns(|packets| nmap_syn(packets, 5000, 1025)), [resembles]);
    let router = |packets: &mut Packets| {
        nmap_syn(packets, 5000, 1025);
        let (client, server) = ((SCANNER, 1025), (TARGET, 5000));
        let segment = |from, to, flags, seq, ack| Segment {
            from,
            to,
            flags,
            seq,
            ack,
            window: 3072,
            options: &[],
            payload: &[],
        };
        packets.add(&segment(server, client, SYN | ACK, 499, 8));
        packets.add(&segment(client, server, ACK, 8, 500));
    };
    assert_eq!(after_syns(router), [""; 0], "the connection goes on");
    let plc = |packets: &mut Packets| {
        nmap_syn(packets, 102, 49_196);
        packets.pause(6000);
        nmap_syn(packets, 102, 49_196);
    };
    assert_eq!(after_syns(plc), [""; 0], "the SYN is repeated");
    let scanner = |packets: &mut Packets| (1..=5).for_each(|port| nmap_syn(packets, port, 40_000));
    let named = "Nmap SYN scan: 5 SYNs to 5 ports of 1 host in 4 ms; the address may be forged";
    assert_eq!(after_syns(scanner), [named]);
}
