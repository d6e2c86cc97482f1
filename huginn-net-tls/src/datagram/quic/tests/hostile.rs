//! Malformed and hostile QUIC flows.

use huginn_net_core::Side;
use proptest::prelude::*;

use super::seal::{Packet, crypto, varint};
use super::{Run, message, read};
use crate::quic::{ClientInitials, QuicCounters, QuicError};
use crate::{ClientHello, TlsError};

const ID: [u8; 8] = *b"original";

fn packet(number: u32) -> Packet {
    Packet { number, number_len: 2, ..Packet::client(1, &ID) }
}

#[test]
fn packets_without_hello_are_bounded_and_counted() {
    let mut run = Run::default();
    let mut most = 0;
    for number in 0..1000 {
        // The first byte of the stream is never sent.
        run.client(&packet(number).seal(&crypto(1 + u64::from(number) * 1000, &[1; 1000])));
        most = most.max(run.flow.buffered_bytes);
    }
    assert!((60_000..80_000).contains(&most), "{most} bytes buffered");
    let counters =
        QuicCounters { opened: 65, crypto_refused: 935, connections: 1, ..QuicCounters::default() };
    assert_eq!(run.counters, counters);
}

#[test]
fn hello_may_have_a_packet_for_each_byte() {
    let hello = message(1, 1000);
    for reversed in [false, true] {
        let mut run = Run::default();
        let mut bytes: Vec<(u32, &u8)> = (0..).zip(&hello).collect();
        if reversed {
            bytes.reverse();
        }
        for (number, byte) in bytes {
            run.client(&packet(number).seal(&crypto(number.into(), &[*byte])));
        }
        assert_eq!(run.found, [(Side::Client, hello.clone(), false)]);
    }
}

#[test]
fn undecryptable_packets_are_counted_and_hide_nothing() {
    let hello = message(1, 100);
    for known in [false, true] {
        let mut run = Run::default();
        if known {
            run.client(&packet(0).seal(&crypto(0, &hello[..50])));
        }
        let mut damaged = packet(1).seal(&crypto(50, &hello[50..]));
        *damaged.last_mut().unwrap() ^= 1;
        for sealed in 1..=1000 {
            run.client(&damaged);
            assert_eq!(run.counters.sealed, sealed);
        }
        assert!(run.flow.buffered_bytes < 2000);
        run.client(&packet(2).seal(&crypto(0, &hello)));
        assert_eq!(run.found, [(Side::Client, hello.clone(), false)]);
    }
}

/// Each packet needs other keys; a frame may hold datagrams that offload joined, or pretend to.
#[test]
fn undecryptable_packets_of_one_datagram_are_bounded() {
    for datagrams in [1, 40] {
        let packets = (0..30 * datagrams).flat_map(|nth: u32| {
            let mut damaged = Packet::client(1, &[&nth.to_be_bytes()[..], &[0; 4]].concat()).seal(&[1]);
            damaged[25] ^= 1;
            damaged
        });
        let payload: Vec<u8> = packets.collect();
        let mut run = Run::default();
        run.client(&payload);
        let (sealed, limit) = (run.counters.sealed, 7 * (payload.len() as u64).div_ceil(1200));
        assert!((1..=limit).contains(&sealed), "{sealed} of at most {limit}");
    }
    let mut damaged = packet(1).seal(&[1]);
    damaged[20] ^= 1;
    // As many as fit in a datagram of 1200 bytes.
    let hello = packet(2).seal(&crypto(0, &message(1, 100)));
    let mut run = Run::default();
    run.client(&[damaged.repeat(1000 / damaged.len()), hello].concat());
    assert_eq!(run.found.len(), 1);
}

/// An attacker sends packets with the address of the server.
#[test]
fn spoofed_connection_hides_nothing() {
    let mut run = Run::default();
    run.server(&Packet::client(1, b"spoofed!").seal(&crypto(0, &message(1, 90))));
    run.client(&packet(0).seal(&crypto(0, &message(1, 100))));
    assert_eq!(run.found[1], (Side::Client, message(1, 100), false));
}

/// A client's packets; a server accepts only some of them. Both contents are reported, the second one as a conflict.
#[test]
fn other_content_of_same_connection_is_conflict() {
    let hello = |content: u8, len| {
        let mut hello = message(1, len);
        hello[38] = 0;
        hello[10] = content;
        hello
    };
    let (decoy, real) = (hello(1, 700), hello(2, 700));
    let half = |number: u32, hello: &[u8], second: bool| {
        let (from, to) = if second { (400, 704) } else { (0, 400) };
        packet(number).seal(&crypto(from as u64, &hello[from..to]))
    };
    let whole = |number: u32, hello: &[u8]| packet(number).seal(&crypto(0, hello));
    let answer = Packet::server(1, &ID).seal(&crypto(0, &message(2, 90)));
    for datagrams in [
        vec![whole(0, &decoy), whole(0, &real)],
        vec![whole(0, &decoy), whole(1, &real)],
        vec![[whole(0, &decoy), whole(0, &real)].concat()],
        vec![half(0, &decoy, false), half(0, &real, false), half(1, &decoy, true), half(1, &real, true)],
        vec![half(0, &decoy, true), half(0, &real, false), half(1, &real, true), half(1, &decoy, false)],
        vec![packet(0).seal(&[crypto(0, &decoy), crypto(0, &real)].concat())],
        // After the server's answer, and after the state of the connection was released.
        vec![whole(0, &decoy), answer.clone(), whole(0, &real)],
        [vec![whole(0, &decoy)], vec![vec![0x41; 60]; 300], vec![whole(0, &real)]].concat(),
        vec![whole(0, &decoy), answer, half(0, &real, false), half(1, &real, true)],
    ] {
        let mut run = Run::default();
        for datagram in &datagrams {
            let by_server = datagram.len() < 300;
            run.push(if by_server { Side::Server } else { Side::Client }, datagram);
        }
        for hello in [&decoy, &real] {
            assert!(
                run.found.iter().any(|(_, message, _)| message == hello),
                "{} datagrams",
                datagrams.len()
            );
        }
        let clients = run.found.iter().filter(|(side, ..)| *side == Side::Client).count();
        assert_eq!(run.conflicts.len(), clients - 1);
    }
}

/// Who is near the client can answer in the server's name: the id that the server chose tells the answers apart.
#[test]
fn answer_of_another_server_is_conflict() {
    let answer = |source: &[u8], len| {
        let packet = Packet { source: source.into(), ..Packet::server(1, &ID) };
        packet.seal(&crypto(0, &message(2, len)))
    };
    let (forged, real) = (answer(b"forged", 90), answer(b"real", 91));
    let mut run = Run::default();
    run.client(&packet(0).seal(&crypto(0, &message(1, 700))));
    for datagram in [&forged, &forged, &real, &real, &forged] {
        run.server(datagram);
    }
    let lengths: Vec<usize> = run.found.iter().map(|(_, message, _)| message.len()).collect();
    assert_eq!(lengths, [704, 94, 95]);
    assert_eq!(run.conflicts, [2]);
}

/// Packets that a server discards, or takes for others, do not change how later ones are read.
#[test]
fn discarded_packets_hide_no_hello() {
    let hello = message(1, 700);
    let (start, end) =
        (packet(0).seal(&crypto(0, &hello[..400])), packet(1).seal(&crypto(400, &hello[400..])));
    let short = |number: u32| Packet { number, number_len: 4, ..packet(0) }.seal(&[1]);
    let one_byte = Packet { number_len: 1, ..packet(1) }.seal(&crypto(400, &hello[400..]));
    let other = Packet { version: 0x6b33_43cf, ..packet(0) };
    let other = Packet { protection: Packet::client(0x6b33_43cf, &ID).protection, ..other };
    let unknown = Packet { keys_from: b"unknown".to_vec(), ..packet(0) };
    // A server reads all packets of a datagram with the keys of the first one.
    let of_first = |packet: Packet, payload: &[u8]| {
        let packet = Packet { keys_from: b"unfamil.".to_vec(), ..packet };
        let first = Packet { keys_from: b"?".to_vec(), ..Packet::client(1, b"unfamil.") }.seal(&[1]);
        [first, packet.seal(payload)].concat()
    };
    for datagrams in [
        // Packet numbers far ahead.
        vec![start.clone(), short(0xffff_fff0), end.clone()],
        vec![start.clone(), short(0x0fff_0000), one_byte.clone()],
        vec![short(0xffff_fff0), start.clone(), one_byte],
        // Another version, another source, no keys.
        vec![start.clone(), other.seal(&crypto(400, &[7; 304])), end.clone()],
        vec![start.clone(), Packet { source: b"other".to_vec(), ..packet(1) }.seal(&[1]), end.clone()],
        vec![
            start.clone(),
            [unknown.seal(&[1]), unknown.seal(&[1]), unknown.seal(&[1]), end.clone()].concat(),
        ],
        [
            vec![unknown.seal(&[1]); 300],
            vec![start.clone()],
            vec![unknown.seal(&[1]); 300],
            vec![end.clone()],
        ]
        .concat(),
        // Packets without CRYPTO frames.
        [vec![start.clone()], (2..500).map(|number| packet(number).seal(&[1])).collect(), vec![end.clone()]]
            .concat(),
        // Other messages.
        vec![packet(0).seal(&crypto(0, &[4; 400])), start.clone(), end.clone()],
        vec![packet(0).seal(&crypto(300, &[4; 404])), start.clone(), end.clone()],
        vec![
            of_first(packet(0), &crypto(0, &hello[..400])),
            of_first(packet(1), &crypto(400, &hello[400..])),
        ],
        // Fifteen other connections.
        [
            vec![start.clone()],
            (0..15).map(|id| Packet::client(1, &[id; 8]).seal(&crypto(0, &hello[..400]))).collect(),
            vec![end.clone()],
        ]
        .concat(),
    ] {
        let mut run = Run::default();
        for datagram in &datagrams {
            run.client(datagram);
        }
        assert!(run.found.iter().any(|(_, message, _)| message == &hello), "{:?}", run.counters);
    }
}

#[test]
fn too_many_open_connections_are_counted() {
    let mut run = Run::default();
    let mut most = 0;
    for id in 0..100_u8 {
        run.client(
            &Packet::client(1, &[id; 8])
                .seal(&[&crypto(0, &message(1, 700)[..600])[..], &[0; 1200]].concat()),
        );
        most = most.max(run.flow.buffered_bytes);
    }
    let counters = QuicCounters { opened: 100, connections: 100, given_up: 84, ..QuicCounters::default() };
    assert_eq!(run.counters, counters);
    assert!(most < 40_000, "{most} bytes buffered");
    // Connections in short datagrams, which a server discards, replace one another.
    for id in 100..200_u8 {
        run.client(&Packet::client(1, &[id; 8]).seal(&crypto(0, &message(1, 700)[..600])));
    }
    let last = Packet { number: 1, ..Packet::client(1, &[99; 8]) };
    run.client(&last.seal(&crypto(600, &message(1, 700)[600..])));
    assert_eq!(run.found.len(), 1);
}

#[test]
fn rejects_offsets_beyond_crypto_window() {
    for offset in [(1 << 62) - 1, (1 << 62) - 10, 1 << 40, 64 << 10] {
        let outcome = read(&mut ClientInitials::new(), &packet(0).seal(&crypto(offset, &[1; 100])));
        let error = QuicError::Crypto { offset, position: 0, window: 64 << 10 };
        assert_eq!(outcome.unwrap_err(), TlsError::Quic(error));

        let mut run = Run::default();
        let hello = message(1, 100);
        run.client(&packet(0).seal(&[crypto(offset, &[1; 100]), crypto(0, &hello)].concat()));
        assert_eq!(run.found, [(Side::Client, hello, false)], "the rest of the packet is valid");
    }
}

#[test]
fn errors_name_the_fault() {
    let wrong = |payload: &[u8]| read(&mut ClientInitials::new(), &packet(0).seal(payload)).unwrap_err();
    let frame = |kind, offset| TlsError::Quic(QuicError::Frame { kind, offset });
    assert_eq!(wrong(&[1, 0, 0, 8, 0, 0]), frame(8, 3), "STREAM");
    assert_eq!(wrong(&[0x40, 0x04]), frame(4, 0), "RESET_STREAM, in a longer encoding");
    for cut in [&[1, 6, 0, 0x40][..], &[6, 0, 100, 1, 2, 3], &[1, 2, 0, 0], &[0x1c, 0, 0, 100]] {
        assert!(matches!(wrong(cut), TlsError::Quic(QuicError::Truncated(_))), "{cut:?}");
    }
    let ranges = [&[2, 0, 0][..], &varint((1 << 62) - 1), &[0; 1000]].concat();
    assert!(matches!(wrong(&ranges), TlsError::Quic(QuicError::Truncated(_))));
    assert_eq!(wrong(&crypto(0, b"CHLO....")), TlsError::NotHello(b'C'));
    assert_eq!(wrong(&crypto(0, &message(2, 90))), TlsError::NotHello(2), "a ServerHello from a client");

    let damaged = [&[0xc0, 0, 0, 0, 1, 0, 0, 0, 0x14][..], &[0x55; 20]].concat();
    assert_eq!(read(&mut ClientInitials::new(), &damaged).unwrap_err(), TlsError::Quic(QuicError::Sealed));
    let unknown = TlsError::Quic(QuicError::UnknownVersion { version: 0x5130_3530 });
    assert_eq!(read(&mut ClientInitials::new(), b"\xc0Q050").unwrap_err(), unknown);
    let long = packet(0).seal(&crypto(0, &message(1, 1300)));
    for len in 1200..long.len() {
        assert!(ClientInitials::new().push(&long[..len]).is_err(), "cut after {len}");
    }
    assert!(ClientInitials::new().push(&[]).unwrap().needs_more());
}

#[test]
fn client_hellos_are_limited_to_two() {
    let mut run = Run::default();
    run.client(&packet(0).seal(&crypto(0, &message(1, 60).repeat(10))));
    assert_eq!(run.found.len(), 2);

    let mut initials = ClientInitials::new();
    let both = [crypto(0, &message(1, 60)), crypto(64, &message(1, 60))].concat();
    assert!(read(&mut initials, &packet(0).seal(&both)).unwrap().is_some());
    assert!(!initials.push(&[]).unwrap().needs_more(), "the second hello of the datagram");
    assert!(initials.push(&[]).unwrap().needs_more());
}

#[test]
fn reader_reports_giving_up_once() {
    let mut initials = ClientInitials::new();
    let mut failures = (0..300).map(|number| {
        let outcome = read(&mut initials, &packet(number).seal(&crypto(1 + u64::from(number), &[1])));
        (outcome.err(), initials.has_given_up())
    });
    assert!(failures.by_ref().take(255).all(|outcome| outcome == (None, false)));
    let error = QuicError::GivenUp { packets: 256, sealed: 0 };
    assert_eq!(failures.next(), Some((Some(error.into()), true)));
    assert!(failures.all(|outcome| outcome == (None, true)));
    let another = Packet::client(1, b"another").seal(&crypto(0, &message(1, 60)));
    assert!(read(&mut initials, &another).unwrap().is_none());
}

/// A server discards all of these packets.
#[test]
fn reader_skips_packets_of_other_connections_and_versions() {
    let hello = message(1, 600);
    let (start, end) =
        (packet(0).seal(&crypto(0, &hello[..300])), packet(1).seal(&crypto(300, &hello[300..])));
    let decoy = |number, from: usize, to: usize| {
        let bytes = &message(1, 500)[from..to];
        Packet { number, ..Packet::client(1, b"another") }.seal(&crypto(from as u64, bytes))
    };
    // The rest of another hello, with the keys of the connection.
    let forged = |packet: Packet| packet.seal(&crypto(300, &[7; 304]));
    for (before, between) in [
        (vec![], vec![forged(packet(0))]),
        (vec![], vec![forged(Packet { source: b"other".to_vec(), ..packet(2) })]),
        (vec![], vec![forged(Packet { number: 2, ..Packet::client(0x6b33_43cf, &ID) })]),
        (vec![], vec![forged(Packet { number: 2, ..Packet::client(0xff00_001d, &ID) })]),
        // A packet with another connection id, alone or behind one of the connection.
        (vec![], vec![decoy(0, 0, 504)]),
        (vec![], vec![[&end[..], &decoy(0, 0, 504)].concat()]),
        // Many of them.
        (vec![], vec![decoy(0, 0, 504); 100]),
        // A packet that does not begin its datagram, which is therefore of another connection.
        (
            vec![
                [Packet { keys_from: b"unknown".to_vec(), ..packet(0) }.seal(&[0; 20]), decoy(0, 0, 504)]
                    .concat(),
            ],
            vec![],
        ),
    ] {
        let mut initials = ClientInitials::new();
        let datagrams = before.iter().chain([&start]).chain(&between).chain([&end]);
        let found: Vec<_> =
            datagrams.filter_map(|datagram| read(&mut initials, datagram).ok().flatten()).collect();
        assert_eq!(found.iter().map(ClientHello::message).collect::<Vec<_>>(), [&hello]);
    }

    // A datagram that is too short.
    let mut initials = ClientInitials::new();
    let short = decoy(0, 0, 504);
    assert!(short.len() < 1200 && initials.push(&short).unwrap().needs_more());
    assert!(read(&mut initials, &short).unwrap().is_some());
}

#[test]
fn malformed_hello_is_counted_and_hides_nothing() {
    let mut hello = message(1, 60);
    // A session id that is longer than the message.
    hello[38] = 200;
    let mut run = Run::default();
    run.client(&packet(0).seal(&crypto(0, &hello)));
    assert_eq!(run.counters, QuicCounters { not_hello: 1, connections: 1, ..QuicCounters::default() });
    assert_eq!((run.found.len(), run.flow.has_found_hello), (0, false));
    run.client(&Packet::client(1, b"another").seal(&crypto(0, &message(1, 60))));
    assert_eq!(run.found.len(), 1);
}

/// Generates bytes that are often frame types.
fn frame_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![0_u8..10, any::<u8>()], 0..200)
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        datagrams in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)), 0..20)
    ) {
        let mut run = Run::default();
        for (by_client, datagram) in datagrams {
            run.push(if by_client { Side::Client } else { Side::Server }, &datagram);
        }
    }

    #[test]
    fn arbitrary_headers_never_panic(
        first in 0xc0_u8..,
        ids in 0_u8..30,
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for version in [1_u32, 0x6b33_43cf, 0x5430_3530] {
            let datagram = [&[first][..], &version.to_be_bytes(), &[ids], &rest].concat();
            let mut run = Run::default();
            run.client(&datagram);
            run.server(&datagram);
        }
    }

    #[test]
    fn arbitrary_frames_keep_packets_decryptable(
        payloads in prop::collection::vec((any::<bool>(), frame_bytes()), 0..10),
        google in any::<bool>(),
    ) {
        let version = if google { 0x5430_3530 } else { 1 };
        let mut run = Run::default();
        run.client(&Packet::client(version, &ID).seal(&[0]));
        for (number, (by_client, payload)) in (1..).zip(payloads) {
            if by_client {
                run.client(&Packet { number, ..Packet::client(version, &ID) }.seal(&payload));
            } else {
                run.server(&Packet { number, ..Packet::server(version, &ID) }.seal(&payload));
            }
            prop_assert_eq!(run.counters.sealed, 0);
        }
    }
}
