//! The SSH observer on TCP segments.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_core::{Event, Frame, Frames, LinkType, Side, TcpFlags, Timestamp};
use huginn_net_ssh::{HuginnNetSsh, Identification, KexGuess, Negotiation, SshCounters, SshEvent, SshPeer};
use proptest::prelude::*;

const CLIENT: &[u8] = include_bytes!("../../streams/openssh-client.bin");
const DROPBEAR: &[u8] = include_bytes!("../../streams/dropbear-client.bin");
const SERVER: &[u8] = include_bytes!("../../streams/openssh-server.bin");
const CLIENT_HASSH: &str = "472b5de333ad665af5cbf10ff892c4df";
const SERVER_HASSH: &str = "425d29fe50d8e4f5e37efb6e24bcf660";

/// Initial sequence number of each side, near the end of the number range.
const INITIAL_SEQ: [u32; 2] = [u32::MAX - 500, u32::MAX - 2];

/// A segment: sender, flags, offset of the payload in the sender's stream, acknowledged bytes of the peer, payload.
type Segment<'a> = (Side, TcpFlags, usize, usize, &'a [u8]);

/// What is reported of segments.
struct Observed {
    peers: Vec<SshPeer>,
    negotiations: Vec<Negotiation<'static>>,
    counters: SshCounters,
}

/// Returns the peers reported for these segments, after a handshake or not, and the counters.
fn observe<'a>(
    handshake: bool,
    segments: impl IntoIterator<Item = Segment<'a>>,
) -> (Vec<SshPeer>, SshCounters) {
    let Observed { peers, counters, .. } = observe_all(handshake, segments);
    (peers, counters)
}

/// Returns everything reported for these segments, after a handshake or not.
fn observe_all<'a>(handshake: bool, segments: impl IntoIterator<Item = Segment<'a>>) -> Observed {
    let mut analyzer = HuginnNetSsh::builder().build();
    let (mut peers, mut negotiations) = (Vec::new(), Vec::new());
    let mut sink = |event: Event<SshEvent>| {
        let (side, peer) = match event.kind {
            SshEvent::Client(peer) => (Side::Client, peer),
            SshEvent::Server(peer) => (Side::Server, peer),
            SshEvent::Handshake(negotiation) => {
                assert_eq!((event.subject, peers.len() > 1), (Side::Server, true), "after both sides");
                return negotiations.push(*negotiation);
            }
            _ => panic!("another event"),
        };
        assert_eq!((side, event.subject), (peer.side, side));
        peers.push(peer);
    };
    let mut seconds = 0;
    let mut push = |sender: Side, flags: TcpFlags, seq: u32, ack: u32, payload: &[u8]| {
        let packet = packet(sender, flags, seq, ack, payload);
        seconds += 1;
        let wire_len = u32::try_from(packet.len()).unwrap();
        let ts = Timestamp::new(seconds / 1000, 0, 6);
        let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: &packet, wire_len }, &mut sink);
    };
    if handshake {
        push(Side::Client, TcpFlags::SYN, INITIAL_SEQ[0], 0, b"");
        push(
            Side::Server,
            TcpFlags::SYN | TcpFlags::ACK,
            INITIAL_SEQ[1],
            INITIAL_SEQ[0].wrapping_add(1),
            b"",
        );
    }
    for (sender, flags, offset, acknowledged, payload) in segments {
        let (own, peer) = sender.choose((INITIAL_SEQ[0], INITIAL_SEQ[1]), (INITIAL_SEQ[1], INITIAL_SEQ[0]));
        let at = |syn: u32, offset: usize| syn.wrapping_add(1).wrapping_add(u32::try_from(offset).unwrap());
        push(sender, flags | TcpFlags::ACK, at(own, offset), at(peer, acknowledged), payload);
    }
    let counters = analyzer.protocol().counters().parser;
    Observed { peers, negotiations, counters }
}

/// Builds a raw IPv4 packet.
fn packet(sender: Side, flags: TcpFlags, seq: u32, ack: u32, payload: &[u8]) -> Vec<u8> {
    let (client, server) = (([192, 0, 2, 1], 40_000_u16), ([192, 0, 2, 2], 22_u16));
    let ((source, source_port), (destination, destination_port)) =
        sender.choose((client, server), (server, client));
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(40 + payload.len()).unwrap().to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    packet.extend(source);
    packet.extend(destination);
    packet.extend(source_port.to_be_bytes());
    packet.extend(destination_port.to_be_bytes());
    packet.extend(seq.to_be_bytes());
    packet.extend(ack.to_be_bytes());
    packet.extend([0x50, u8::try_from(flags.bits()).unwrap(), 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

const DATA: TcpFlags = TcpFlags::PSH;

fn client(offset: usize, payload: &[u8]) -> Segment<'_> {
    (Side::Client, DATA, offset, 0, payload)
}

fn server(offset: usize, payload: &[u8]) -> Segment<'_> {
    (Side::Server, DATA, offset, 0, payload)
}

/// Builds a segment without payload that ends the data of a side.
fn end(sender: Side, flags: TcpFlags, offset: usize, acknowledged: usize) -> Segment<'static> {
    (sender, flags, offset, acknowledged, b"")
}

/// Returns side, software and fingerprint of each peer.
fn described(peers: &[SshPeer]) -> Vec<(Side, String, Option<String>)> {
    let software =
        |peer: &SshPeer| String::from_utf8_lossy(peer.identification.software_version()).into_owned();
    peers
        .iter()
        .map(|peer| (peer.side, software(peer), peer.hassh().map(|hassh| hassh.to_string())))
        .collect()
}

fn openssh(side: Side) -> (Side, String, Option<String>) {
    let hassh = side.choose(CLIENT_HASSH, SERVER_HASSH);
    (side, "OpenSSH_9.2p1".to_owned(), Some(hassh.to_owned()))
}

/// Returns the length of the first line.
fn line_len(bytes: &[u8]) -> usize {
    Identification::parse(bytes).unwrap().unwrap().consumed
}

#[test]
fn reports_each_side_once() {
    let twice = [client(0, CLIENT), server(0, SERVER), client(0, CLIENT), server(0, SERVER)];
    let after = [client(CLIENT.len(), CLIENT), server(SERVER.len(), SERVER)];
    let (peers, counters) = observe(true, twice.into_iter().chain(after));
    assert_eq!(described(&peers), [openssh(Side::Client), openssh(Side::Server)]);
    assert_eq!((counters.parser.identifications, counters.peers.clients, counters.peers.servers), (2, 1, 1));
    assert_eq!((counters.peers.without_kex_init, counters.parser.malformed), (0, 0));
}

/// The names are those that tshark shows first in both lists.
#[test]
fn reports_agreed_algorithms_once_after_both_sides() {
    let start = [client(0, CLIENT), server(0, SERVER)];
    let after = [client(0, CLIENT), server(SERVER.len(), SERVER), client(CLIENT.len(), CLIENT)];
    for order in [start, [start[1], start[0]]] {
        let observed = observe_all(true, order.into_iter().chain(after));
        let [negotiation] = observed.negotiations.as_slice() else { panic!("{:?}", observed.negotiations) };
        assert_eq!(negotiation.kex(), Some(&b"sntrup761x25519-sha512"[..]));
        assert_eq!(negotiation.cipher(Side::Server), Some(&b"chacha20-poly1305@openssh.com"[..]));
        assert!(negotiation.is_strict_kex() && negotiation.unmatched().is_none());
    }
}

/// A second SSH_MSG_KEXINIT before SSH_MSG_NEWKEYS is forbidden (RFC 4253, section 7.1): the first one counts, with its guess.
/// That of a later exchange (section 9) is encrypted, and so are all bytes after SSH_MSG_NEWKEYS.
#[test]
fn second_kex_init_changes_no_agreement() {
    const NEWKEYS: &[u8] = &[0, 0, 0, 12, 10, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let guesses = [CLIENT, DROPBEAR].map(|first| {
        let expected = observe_all(true, [client(0, first), server(0, SERVER)]).negotiations;
        assert_eq!(expected.len(), 1);
        // The other one has other lists, and Dropbear guesses the first packet.
        let other = if first == CLIENT { DROPBEAR } else { CLIENT };
        let (_, second) = other.split_at(line_len(other));
        for between in [&[][..], NEWKEYS, b"encrypted"] {
            let rest = [between, second, NEWKEYS, second].concat();
            let whole = [first, &rest].concat();
            for segments in [
                vec![client(0, &whole), server(0, SERVER)],
                vec![client(0, first), client(first.len(), &rest), server(0, SERVER)],
                vec![client(0, first), server(0, SERVER), client(first.len(), &rest)],
                vec![server(0, SERVER), client(first.len(), &rest), client(0, first)],
            ] {
                let observed = observe_all(true, segments);
                assert_eq!((observed.peers.len(), &observed.negotiations), (2, &expected));
                assert_eq!(observed.counters.parser.malformed, 0);
            }
        }
        expected[0].guess()
    });
    assert_eq!(guesses, [None, Some(KexGuess::Wrong)]);
}

#[test]
fn reports_no_agreement_without_both_kex_inits() {
    let (line, kex_init) = SERVER.split_at(line_len(SERVER));
    let late = server(line.len(), kex_init);
    for (segments, peers) in [
        (vec![client(0, CLIENT), server(0, line)], 1),
        (vec![client(0, CLIENT), server(0, line), end(Side::Client, TcpFlags::RST, CLIENT.len(), 0)], 2),
        (vec![server(0, b"SSH-1.5-a\n"), client(0, CLIENT)], 2),
        (vec![client(0, CLIENT), server(0, line), server(line.len(), b"no packet of SSH"), late], 2),
    ] {
        let observed = observe_all(true, segments);
        assert_eq!((observed.peers.len(), observed.negotiations.len()), (peers, 0));
    }
}

/// The receiver ignores a forged RST or FIN, and the connection goes on.
#[test]
fn kex_init_after_an_end_is_reported_with_the_agreement() {
    let (line, kex_init) = SERVER.split_at(line_len(SERVER));
    let (start, late) = ([client(0, CLIENT), server(0, line)], server(line.len(), kex_init));
    let names = |peers: &[SshPeer]| {
        described(peers).into_iter().map(|(side, _, hassh)| (side, hassh.is_some())).collect::<Vec<_>>()
    };
    let finish = end(Side::Server, TcpFlags::FIN, line.len(), 0);
    let acknowledgement = end(Side::Client, TcpFlags::ACK, CLIENT.len(), line.len() + 1);
    for forged in [
        vec![end(Side::Client, TcpFlags::RST, CLIENT.len(), 0)],
        vec![
            end(Side::Server, TcpFlags::RST, line.len(), 0),
            end(Side::Server, TcpFlags::RST, line.len(), 0),
        ],
        vec![finish, acknowledgement],
    ] {
        let observed = observe_all(true, start.into_iter().chain(forged).chain([late]));
        let expected = [(Side::Client, true), (Side::Server, false), (Side::Server, true)];
        assert_eq!(names(&observed.peers), expected);
        assert_eq!(observed.negotiations.len(), 1);
    }
}

#[test]
fn one_direction_is_enough() {
    for handshake in [true, false] {
        assert_eq!(described(&observe(handshake, [client(0, CLIENT)]).0), [openssh(Side::Client)]);
        assert_eq!(described(&observe(handshake, [server(0, SERVER)]).0), [openssh(Side::Server)]);
    }
}

#[test]
fn reports_side_without_kex_init_at_end() {
    let (client_line, server_line) = (&CLIENT[..line_len(CLIENT)], &SERVER[..line_len(SERVER)]);
    let start = [client(0, client_line), server(0, server_line)];
    assert_eq!(observe(true, start).0, []);
    let names = |peers: &[SshPeer]| {
        described(peers).into_iter().map(|(side, _, hassh)| (side, hassh)).collect::<Vec<_>>()
    };
    let reset = end(Side::Server, TcpFlags::RST, server_line.len(), 0);
    let (peers, counters) = observe(true, start.into_iter().chain([reset]));
    assert_eq!(names(&peers), [(Side::Client, None), (Side::Server, None)]);
    assert_eq!(counters.peers.without_kex_init, 2);
    let finish = end(Side::Client, TcpFlags::FIN, client_line.len(), 0);
    let kex_init = &SERVER[server_line.len()..];
    let rest = [finish, (Side::Server, DATA, server_line.len(), client_line.len() + 1, kex_init)];
    let (peers, _) = observe(true, start.into_iter().chain(rest));
    assert_eq!(names(&peers), [(Side::Server, Some(SERVER_HASSH.to_owned())), (Side::Client, None)]);
}

/// The capture ends, or data follows a reset that was captured too early.
#[test]
fn reports_side_without_kex_init_at_end_of_capture() {
    let line = &SERVER[..line_len(SERVER)];
    let len = u32::try_from(line.len()).unwrap();
    let (number, flags) = (INITIAL_SEQ[1], TcpFlags::SYN | TcpFlags::ACK);
    let syn_ack = packet(Side::Server, flags, number, 1, b"");
    let banner = packet(Side::Server, TcpFlags::ACK, number.wrapping_add(1), 1, line);
    let reset = packet(Side::Server, TcpFlags::RST, number.wrapping_add(1).wrapping_add(len), 1, b"");
    for packets in [[&syn_ack, &banner, &banner], [&syn_ack, &reset, &banner]] {
        let frames = packets.into_iter().map(|data| Frame {
            ts: Timestamp::new(1, 0, 6),
            link: LinkType::RAW,
            data,
            wire_len: u32::try_from(data.len()).unwrap(),
        });
        let first = packets.iter().position(|packet| **packet == banner).unwrap() as u64 + 1;
        let mut events: Vec<Event<SshEvent>> = Vec::new();
        HuginnNetSsh::builder().build().analyze(Frames::new(frames), |event| events.push(event)).unwrap();
        let [event] = events.as_slice() else { panic!("{events:?}") };
        let SshEvent::Server(peer) = &event.kind else { panic!("{event:?}") };
        assert_eq!((event.packet_number, event.subject), (first, Side::Server));
        assert_eq!((peer.identification.software_version(), &peer.kex_init), (&b"OpenSSH_9.2p1"[..], &None));
    }
}

#[test]
fn fin_ends_a_side_once_it_is_acknowledged() {
    let (client_line, kex_init) = CLIENT.split_at(line_len(CLIENT));
    let finish = end(Side::Client, TcpFlags::FIN, CLIENT.len(), 0);
    let acknowledged = end(Side::Server, TcpFlags::ACK, 0, CLIENT.len() + 1);
    let other = end(Side::Server, TcpFlags::ACK, 0, client_line.len());
    let (start, late) = (client(0, client_line), client(client_line.len(), kex_init));
    assert_eq!(
        described(&observe(true, [start, other, finish, late, acknowledged]).0),
        [openssh(Side::Client)]
    );
    let named = (Side::Client, "OpenSSH_9.2p1".to_owned(), None);
    assert_eq!(
        described(&observe(true, [start, other, finish, acknowledged, late]).0),
        [named.clone(), openssh(Side::Client)]
    );
    assert_eq!(described(&observe(true, [start, finish]).0), [named], "the other direction is missing");
}

#[test]
fn gap_drops_only_kex_init() {
    let (start, rest) = CLIENT.split_at(line_len(CLIENT));
    let behind = client(start.len() + 10, &rest[10..]);
    let acknowledged = end(Side::Server, DATA, 0, CLIENT.len());
    let (peers, _) = observe(true, [client(0, start), behind, acknowledged, server(0, SERVER)]);
    let named = (Side::Client, "OpenSSH_9.2p1".to_owned(), None);
    assert_eq!(described(&peers), [named, openssh(Side::Server)]);
}

#[test]
fn malformed_packets_are_counted() {
    let bytes = [&SERVER[..line_len(SERVER)], b"Invalid SSH identification string.\r\n"].concat();
    let (peers, counters) = observe(true, [client(0, b"GET / HTTP/1.0\r\n\r\n"), server(0, &bytes)]);
    assert_eq!(described(&peers), [(Side::Server, "OpenSSH_9.2p1".to_owned(), None)]);
    assert_eq!((counters.parser.malformed, counters.peers.clients), (1, 0));
}

#[test]
fn version_1_of_one_side_ends_both() {
    let line = &SERVER[..line_len(SERVER)];
    let (peers, _) = observe(true, [server(0, line), client(0, b"SSH-1.5-a\n")]);
    let named = [(Side::Client, "a".to_owned(), None), (Side::Server, "OpenSSH_9.2p1".to_owned(), None)];
    assert_eq!(described(&peers), named);
}

#[test]
fn server_lines_require_ssh_client() {
    let bytes = [b"Authorised use only.\r\n", SERVER].concat();
    let sides = |segments: [Segment<'_>; 2]| described(&observe(true, segments).0).len();
    assert_eq!(sides([server(0, &bytes), client(0, CLIENT)]), 2);
    assert_eq!(sides([client(0, CLIENT), server(0, &bytes)]), 2);
    assert_eq!(sides([client(0, b"EHLO\r\n"), server(0, &bytes)]), 0);
    assert_eq!(sides([client(0, &bytes), server(0, SERVER)]), 1);
    assert_eq!(sides([server(0, SERVER), client(0, &bytes)]), 1);
    assert_eq!(sides([client(0, b"S"), client(1, b"TARTTLS\r\n")]), 0);
}

#[test]
fn other_protocols_use_no_memory_once_acknowledged() {
    let mut analyzer = HuginnNetSsh::builder().build();
    let mut none = |_: Event<SshEvent>| -> () { panic!("an event") };
    let request = b"GET / HTTP/1.1\r\nHost: www.example.test\r\n\r\n";
    for (sender, flags, payload) in [
        (Side::Client, TcpFlags::SYN, &b""[..]),
        (Side::Client, TcpFlags::ACK, request),
        (Side::Server, TcpFlags::ACK, b"HTTP/1.1 200 OK\r\n"),
    ] {
        let packet =
            packet(sender, flags, sender.choose(99, 499) + u32::from(!payload.is_empty()), 500, payload);
        let wire_len = u32::try_from(packet.len()).unwrap();
        let ts = Timestamp::new(1, 0, 6);
        let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: &packet, wire_len }, &mut none);
        let unacknowledged = if payload == request { request.len() } else { 0 };
        assert_eq!(analyzer.counters().flows.buffered_bytes, unacknowledged as u64);
    }
}

proptest! {
    /// Splits the streams into segments of any length, in any order within a window, some of them repeated.
    #[test]
    fn order_and_segmentation_change_nothing(
        lens in prop::collection::vec(1_usize..400, 2..40), order in any::<u64>(), both in any::<bool>(),
    ) {
        let mut segments = Vec::new();
        let sides = [(Side::Client, CLIENT), (Side::Server, SERVER)];
        for (side, bytes) in sides.into_iter().take(if both { 2 } else { 1 }) {
            let (mut offset, mut lens) = (0, lens.iter().cycle());
            while offset < bytes.len() {
                let end = bytes.len().min(offset + lens.next().unwrap());
                segments.push((side, DATA, offset, 0, &bytes[offset..end]));
                offset = end;
            }
        }
        let mut state = order | 1;
        let mut chance = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for last in (1..segments.len()).rev() {
            segments.swap(last, chance(last + 1));
        }
        let again: Vec<_> = segments.iter().copied().filter(|_| chance(4) == 0).collect();
        for segment in again {
            segments.insert(chance(segments.len()), segment);
        }
        let Observed { peers, negotiations, .. } = observe_all(true, segments);
        prop_assert_eq!(negotiations.len(), usize::from(both));
        let mut found = described(&peers);
        found.sort_by_key(|(side, ..)| side.choose(0, 1));
        let wanted: Vec<_> = sides.iter().take(if both { 2 } else { 1 }).map(|(side, _)| openssh(*side)).collect();
        prop_assert_eq!(found, wanted);
    }
}

/// What proxies put before SSH, by client and server: CONNECT, SOCKS 4a, SOCKS 5 with and without a password, and both PROXY headers.
#[test]
fn reads_ssh_after_every_proxy_prefix() {
    let v2 = [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[0x21, 0x11, 0, 12], &[1; 12]].concat();
    let connect: &[u8] = b"CONNECT a.example:22 HTTP/1.1\r\nHost: a.example:22\r\n\r\n";
    let prefixes: [(&[u8], &[u8]); 7] = [
        (connect, b"HTTP/1.1 200 Connection established\r\n\r\n"),
        (b"\x04\x01\0\x16\0\0\0\x01u\0a.example\0", b"\0\x5a\0\0\0\0\0\0"),
        (b"\x05\x01\0\x05\x01\0\x03\x09a.example\0\x16", b"\x05\0\x05\0\0\x01\0\0\0\0\0\0"),
        (
            b"\x05\x01\x02\x01\x01u\x01p\x05\x01\0\x01\xc0\0\x02\x02\0\x16",
            b"\x05\x02\x01\0\x05\0\0\x01\0\0\0\0\0\0",
        ),
        (b"PROXY TCP4 192.0.2.7 192.0.2.2 40000 22\r\n", b""),
        (&v2, b""),
        // A second try with a password.
        (
            b"CONNECT a:22 HTTP/1.1\r\n\r\nCONNECT a:22 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\n",
            b"HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nno\nHTTP/1.1 200 OK\r\n\r\n",
        ),
    ];
    for (from_client, from_server) in prefixes {
        let (to_server, to_client) = ([from_client, CLIENT].concat(), [from_server, SERVER].concat());
        for step in [1, 5, 1400] {
            let (client_end, server_end) = (from_client.len(), from_server.len());
            let pieces = |bytes: &'_ [u8], start: usize| -> Vec<(usize, Vec<u8>)> {
                bytes
                    .chunks(step)
                    .enumerate()
                    .map(|(index, piece)| (start + index * step, piece.to_vec()))
                    .collect()
            };
            let all = [
                (Side::Client, pieces(from_client, 0)),
                (Side::Server, pieces(from_server, 0)),
                (Side::Client, pieces(&to_server[client_end..], client_end)),
                (Side::Server, pieces(&to_client[server_end..], server_end)),
            ];
            let segments = all.iter().flat_map(|(side, pieces)| {
                pieces.iter().map(move |(offset, piece)| (*side, DATA, *offset, 0, &piece[..]))
            });
            let (peers, _) = observe(true, segments);
            assert_eq!(
                described(&peers),
                [openssh(Side::Client), openssh(Side::Server)],
                "{from_client:?}, {step}"
            );
        }
        // In one segment, with which the capture begins, only a client is certain.
        let segments = [client(0, &to_server), server(0, &to_client)];
        let (peers, _) = observe(false, segments);
        assert_eq!(described(&peers), [openssh(Side::Client), openssh(Side::Server)], "{from_client:?}");
    }
}
