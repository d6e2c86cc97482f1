//! Regular QUIC flows.

use huginn_net_core::Side;
use proptest::prelude::*;

use super::seal::{Packet, crypto, other, version_negotiation};
use super::{Run, likely_sender, looks_like_initial, message, read, retry_request};
use crate::TlsError;
use crate::quic::packet::{self, Packets};
use crate::quic::version::{LongType, RESERVED};
use crate::quic::{ClientInitials, QuicCounters, QuicError};

const V1: u32 = 1;
const V2: u32 = 0x6b33_43cf;
const ID: [u8; 8] = *b"original";

fn hello() -> Vec<u8> {
    message(1, 300)
}

fn server_hello() -> Vec<u8> {
    message(2, 86)
}

/// Counters of one connection with a hello, besides others without.
fn counted(opened: u64, others: u64) -> QuicCounters {
    QuicCounters { opened, connections: 1 + others, complete: 1, ..QuicCounters::default() }
}

#[test]
fn finds_both_hellos_in_every_version() {
    let drafts = 0xff00_0016..=0xff00_0022;
    let others = [
        V1,
        V2,
        0xff02_0000,
        0x709a_50c4,
        0xface_b000,
        0xface_b001,
        0xface_b002,
        0xface_b003,
        0xface_b00e,
        0xface_b00f,
        0xface_b010,
        0xabcd_0000,
        0x1a2a_3a4a,
    ];
    for version in drafts.chain(others) {
        let mut run = Run::default();
        let datagram = Packet::client(version, &ID).seal(&crypto(0, &hello()));
        assert!(looks_like_initial(&datagram), "{version:#x}");
        run.client(&datagram);
        run.server(&Packet::server(version, &ID).seal(&crypto(0, &server_hello())));
        assert_eq!(
            run.found,
            [(Side::Client, hello(), false), (Side::Server, server_hello(), false)],
            "{version:#x}"
        );
        assert!(run.flow.buffered_bytes < 300, "{} bytes buffered", run.flow.buffered_bytes);
    }
}

const RESERVED_VERSION: u32 = 0x1a2a_3a4a;

#[test]
fn reserved_version_is_decrypted_with_each_key() {
    for (place, protection) in RESERVED.into_iter().enumerate() {
        let client = Packet { protection, ..Packet::client(RESERVED_VERSION, &ID) };
        let server = Packet { protection, ..Packet::server(RESERVED_VERSION, &ID) };
        let (begin, end) = (hello()[..200].to_vec(), hello()[200..].to_vec());
        let mut run = Run::default();
        let first = client.seal(&crypto(0, &begin));
        assert!(looks_like_initial(&first));
        run.client(&first);
        run.client(&Packet { number: 1, ..client }.seal(&crypto(200, &end)));
        run.server(&server.seal(&crypto(0, &server_hello())));
        assert_eq!(
            run.found,
            [(Side::Client, hello(), false), (Side::Server, server_hello(), false)],
            "protection {place}"
        );
        assert_eq!(run.counters, counted(3, 0));
    }
}

#[test]
fn reserved_version_with_unknown_keys_is_undecryptable() {
    let mut packet = Packet::client(RESERVED_VERSION, &ID);
    packet.keys_from = b"elsewhere".to_vec();
    let mut run = Run::default();
    run.client(&packet.seal(&crypto(0, &hello())));
    assert_eq!(run.counters, QuicCounters { sealed: 1, ..QuicCounters::default() });
}

#[test]
fn reserved_version_does_not_enter_open_connection() {
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello()[..200])));
    let mut packet = Packet::client(RESERVED_VERSION, b"another");
    packet.keys_from = ID.to_vec();
    run.client(&packet.seal(&crypto(200, &hello()[200..])));
    let counters = QuicCounters { opened: 1, sealed: 1, connections: 1, ..QuicCounters::default() };
    assert_eq!(run.counters, counters);
    assert!(run.found.is_empty());
}

#[test]
fn zero_rtt_of_reserved_version_is_no_initial() {
    let zero_rtt = other(RESERVED_VERSION, LongType::ZeroRtt);
    assert!(matches!(Packets::new(&zero_rtt).next(), Some(Ok(packet::Packet::ZeroRtt))));
}

#[test]
fn reads_google_quic_frames() {
    for version in [0x5430_3530, 0x5430_3531] {
        let mut run = Run::default();
        let frame = |message: &[u8]| [&[8, 0, 0x40, u8::try_from(message.len()).unwrap()], message].concat();
        let hello = message(1, 200);
        run.client(&Packet::client(version, &ID).seal(&[&[7][..], &frame(&hello), &[0; 50]].concat()));
        // Acknowledged: number 1, two blocks, two time stamps.
        let ack = [0x60, 1, 0, 0, 1, 1, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        run.server(&Packet::server(version, &ID).seal(&[&ack[..], &frame(&server_hello())].concat()));
        assert_eq!(run.found, [(Side::Client, hello, false), (Side::Server, server_hello(), false)]);
    }
}

#[test]
fn first_bytes_reject_other_traffic() {
    let packet = Packet::client(V1, &ID).seal(&crypto(0, &hello()));
    assert!(looks_like_initial(&packet));
    assert!(looks_like_initial(&other(V1, LongType::ZeroRtt)));
    for not in [
        &[][..],
        &packet[..5],
        &other(V1, LongType::Handshake),
        &version_negotiation(8),
        &[0x40; 1200],
        &[0xff; 1200],
        &[0xc0, 0, 0, 0, 1, 21],
        b"\xc3Q050\x08",
    ] {
        assert!(!looks_like_initial(not), "{not:02x?}");
    }
}

#[test]
fn keys_outlive_connection_id_change() {
    let mut run = Run::default();
    let hello = message(1, 2000);
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello[..1000])));
    let later = Packet { destination: b"the server's".to_vec(), number: 1, ..Packet::client(V1, &ID) };
    run.client(&later.seal(&crypto(1000, &hello[1000..])));
    assert_eq!(run.found, [(Side::Client, hello, false)]);
}

#[test]
fn connection_ids_have_up_to_20_bytes() {
    for len in [0, 1, 20] {
        let mut run = Run::default();
        let packet = Packet { source: vec![7; len], ..Packet::client(V1, &vec![3; len]) };
        run.client(&packet.seal(&crypto(0, &hello())));
        assert_eq!(run.found.len(), 1, "{len}");
    }
    for len in [21, 255] {
        let packet = Packet { source: vec![7; len], ..Packet::client(V1, &ID) };
        let outcome = read(&mut ClientInitials::new(), &packet.seal(&crypto(0, &hello())));
        assert_eq!(outcome.unwrap_err(), TlsError::Quic(QuicError::ConnectionId { len }));
    }
}

#[test]
fn packets_of_one_datagram_are_all_read() {
    let hello = message(1, 600);
    let packet = |number, from: usize, to: usize| {
        Packet { number, ..Packet::client(V1, &ID) }.seal(&crypto(from as u64, &hello[from..to]))
    };
    let first = other(V1, LongType::ZeroRtt);
    let handshake = other(V1, LongType::Handshake);
    let datagram = [first, packet(0, 300, 604), handshake, packet(1, 0, 300), vec![0; 400]].concat();
    let mut run = Run::default();
    run.client(&datagram);
    assert_eq!(run.found, [(Side::Client, hello.clone(), false)]);
    assert_eq!(run.counters, counted(2, 0));
}

#[test]
fn frames_around_the_hello_are_skipped() {
    let hello = hello();
    let ack = [2, 0x40, 9, 0, 1, 3, 0, 2];
    let ack_ecn = [3, 5, 0, 0, 1, 1, 2, 3];
    let close = [0x1c, 0x41, 0, 6, 2, b'n', b'o'];
    let application_close = [0x1d, 1, 2, b'n', b'o'];
    let payload = [
        &[0; 70][..],
        &[1],
        &ack,
        &crypto(100, &hello[100..]),
        &ack_ecn,
        &[1, 0],
        &crypto(50, &[]),
        &close,
        &application_close,
        &crypto(0, &hello[..100]),
        &[0; 33],
    ];
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&payload.concat()));
    assert_eq!(run.found, [(Side::Client, hello, false)]);
}

#[test]
fn retry_changes_keys_without_second_report() {
    let retried = Packet { token: vec![9; 300], number: 1, ..Packet::client(V1, b"of the retry") };
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello())));
    run.server(&other(V1, LongType::Retry));
    run.client(&retried.seal(&crypto(0, &hello())));
    run.server(&Packet::server(V1, b"of the retry").seal(&crypto(0, &server_hello())));
    assert_eq!(run.found, [(Side::Client, hello(), false), (Side::Server, server_hello(), false)]);

    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello()[..100])));
    run.client(&retried.seal(&crypto(0, &hello())));
    assert_eq!(run.found, [(Side::Client, hello(), false)], "incomplete before the Retry");
}

/// aioquic changes its hello after a Retry. A captured Retry distinguishes this case from another connection.
#[test]
fn changed_numbers_after_retry_are_not_reported() {
    let (mut numbers, mut offer) = (hello(), hello());
    numbers[10] = 1;
    // The second byte of the cipher suite.
    offer[4 + 2 + 32 + 4] = 2;
    // `other` gives the server this id.
    for (id, changed, hellos) in [(&[0xcc][..], &numbers, 1), (&[0xcc], &offer, 2), (b"another", &numbers, 2)]
    {
        let mut run = Run::default();
        run.client(
            &Packet { source: vec![0xaa, 0xbb], ..Packet::client(V1, &ID) }.seal(&crypto(0, &hello())),
        );
        run.server(&other(V1, LongType::Retry));
        run.client(&Packet::client(V1, id).seal(&crypto(0, changed)));
        assert_eq!((run.found.len(), run.conflicts.len()), (hellos, 0));
        assert_eq!(run.counters.connections, if id.len() > 1 { 2 } else { 1 });
        assert_eq!(run.counters.complete, run.counters.connections);
    }
}

#[test]
fn reports_new_connection_and_version_negotiation() {
    let first = Packet::client(0x1a2a_3a4a, &ID).seal(&crypto(0, &hello()));
    let mut run = Run::default();
    run.client(&first);
    run.server(&version_negotiation(200));
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &message(1, 310))));
    assert_eq!(run.found, [(Side::Client, hello(), false), (Side::Client, message(1, 310), false)]);

    let mut run = Run::default();
    run.client(&first);
    run.client(&Packet::client(V1, b"another").seal(&crypto(0, &message(1, 310))));
    assert_eq!(run.found[1], (Side::Client, message(1, 310), false));
}

/// RFC 9368, section 2.3: the server answers in another version, with keys from the same connection id.
#[test]
fn compatible_version_continues_streams() {
    let hello = message(1, 1500);
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello[..1000])));
    run.server(&Packet::server(V2, &ID).seal(&crypto(0, &server_hello())));
    let later = Packet {
        destination: b"server".to_vec(),
        keys_from: ID.to_vec(),
        number: 1,
        ..Packet::client(V2, &ID)
    };
    run.client(&later.seal(&crypto(1000, &hello[1000..])));
    assert_eq!(run.found, [(Side::Server, server_hello(), false), (Side::Client, hello, false)]);
}

#[test]
fn hello_retry_request_allows_two_more_hellos() {
    let (first, second) = (hello(), message(1, 330));
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &first)));
    run.server(&Packet::server(V1, &ID).seal(&crypto(0, &retry_request())));
    let packet = Packet { number: 1, ..Packet::client(V1, &ID) };
    run.client(&packet.seal(&crypto(first.len() as u64, &second)));
    let packet = Packet { number: 1, ..Packet::server(V1, &ID) };
    run.server(&packet.seal(&crypto(retry_request().len() as u64, &server_hello())));
    let hellos = [
        (Side::Client, first, false),
        (Side::Server, retry_request(), false),
        (Side::Client, second, true),
        (Side::Server, server_hello(), false),
    ];
    assert_eq!(run.found, hellos);
}

/// The server's packet arrives first, so that the flow mistakes the server for the client.
#[test]
fn keys_identify_client_after_early_answer() {
    let mut run = Run::default();
    run.client(&Packet::server(V1, &ID).seal(&crypto(0, &server_hello())));
    assert_eq!((run.found.len(), run.flow.has_found_hello), (0, false));
    run.server(&Packet::client(V1, &ID).seal(&crypto(0, &hello())));
    assert_eq!(run.found, [(Side::Server, hello(), false), (Side::Client, server_hello(), false)]);
    assert_eq!((run.counters.opened, run.counters.sealed), (2, 1));
}

/// Sends consecutive connections on the same ports, each with delayed packets.
#[test]
fn reports_each_connection_once_per_flow() {
    let mut run = Run::default();
    for nth in 1..=20 {
        let mut hello = hello();
        hello[10] = nth;
        let destination = vec![nth; 8];
        let client = Packet {
            source: b"client".to_vec(),
            token: vec![9; usize::from(nth) * 3],
            ..Packet::client(V1, &destination)
        };
        let server = Packet {
            destination: b"client".to_vec(),
            source: b"server".to_vec(),
            ..Packet::server(V1, &destination)
        };
        let (request, answered) = (client.seal(&crypto(0, &hello)), server.seal(&crypto(0, &server_hello())));
        let acknowledged =
            Packet { number: 1, destination: b"server".to_vec(), ..client }.seal(&[2, 0, 0, 0, 0]);
        run.client(&request);
        run.server(&answered);
        let buffered = run.flow.buffered_bytes;
        assert!((1..800).contains(&buffered), "{buffered} bytes buffered");
        for _ in 0..20 {
            for late in [&request[..], &acknowledged, &[0x41; 60]] {
                run.client(late);
            }
            run.server(&answered);
        }
        assert_eq!(run.found.len(), usize::from(nth) * 2);
        assert_eq!(run.found[run.found.len() - 2], (Side::Client, hello, false));
        assert_eq!(run.flow.buffered_bytes, buffered);
    }
    assert!(run.conflicts.is_empty());
    let counters = QuicCounters { opened: 40, connections: 20, complete: 20, ..QuicCounters::default() };
    assert_eq!(run.counters, counters);
}

/// Two connections with ids of each length, whose packets alternate (RFC 9000, section 5.2).
#[test]
fn interleaved_connections_are_kept_apart() {
    let (first, second) = (message(1, 700), message(1, 800));
    for (ids, server_ids) in [([&b"one"[..], b"two"], [&b"s1"[..], b"s2"]), ([b"", b""], [b"", b""])] {
        let packets = |nth: usize, hello: &[u8]| {
            let client = Packet {
                source: ids[nth].to_vec(),
                ..Packet::client(V1, &[b'0' + u8::try_from(nth).unwrap(); 8])
            };
            let server = Packet {
                destination: ids[nth].to_vec(),
                source: server_ids[nth].to_vec(),
                ..Packet::server(V1, &client.destination)
            };
            let answer = message(2, 86 + nth);
            [
                (Side::Client, client.seal(&crypto(0, &hello[..400]))),
                (Side::Client, Packet { number: 1, ..client }.seal(&crypto(400, &hello[400..]))),
                (Side::Server, server.seal(&crypto(0, &answer))),
            ]
        };
        let pairs = packets(0, &first).into_iter().zip(packets(1, &second));
        for reversed in [false, true] {
            let mut run = Run::default();
            for (one, two) in pairs.clone() {
                let both = if reversed { [two, one] } else { [one, two] };
                both.iter().for_each(|(side, datagram)| run.push(*side, datagram));
            }
            let mut found = run.found;
            found.sort_by_key(|(side, message, _)| (*side == Side::Server, message.len()));
            let expected = [
                (Side::Client, first.clone(), false),
                (Side::Client, second.clone(), false),
                (Side::Server, message(2, 86), false),
                (Side::Server, message(2, 87), false),
            ];
            assert_eq!(found, expected, "{ids:?}");
            assert!(run.conflicts.is_empty());
            let counters = QuicCounters { opened: 6, connections: 2, complete: 2, ..QuicCounters::default() };
            assert_eq!(run.counters, counters);
        }
    }
}

/// RFC 9287, section 3.
#[test]
fn fixed_bit_may_be_zero() {
    let mut datagram = Packet::client(V1, &ID).seal_with(&crypto(0, &hello()), 0x80);
    assert!(looks_like_initial(&datagram));
    let mut run = Run::default();
    run.client(&datagram);
    assert_eq!(run.found, [(Side::Client, hello(), false)]);
    datagram[1..5].copy_from_slice(&RESERVED_VERSION.to_be_bytes());
    assert!(!looks_like_initial(&datagram));
}

#[test]
fn cut_packet_of_client_opens_answer() {
    let client = Packet { source: b"c".to_vec(), ..Packet::client(V1, &ID) };
    let server = Packet { destination: b"c".to_vec(), ..Packet::server(V1, &ID) };
    let (request, answer) = (client.seal(&crypto(0, &hello())), server.seal(&crypto(0, &server_hello())));
    for len in [17, 18, 20, 200, request.len() - 1] {
        for swapped in [false, true] {
            let mut run = Run::default();
            if swapped {
                run.server(&answer);
                run.client(&request[..len]);
            } else {
                run.client(&request[..len]);
                run.server(&answer);
            }
            assert_eq!(run.found, [(Side::Server, server_hello(), false)], "{len}");
            let counters =
                QuicCounters { opened: 1, cut: 1, sealed: swapped.into(), ..QuicCounters::default() };
            assert_eq!(run.counters, counters);
            run.client(&request);
            assert_eq!(run.found[1..], [(Side::Client, hello(), false)]);
        }
    }
}

#[test]
fn no_number_of_hellos_hides_another() {
    let mut run = Run::default();
    for nth in 0..1000_u32 {
        let mut hello = hello();
        hello[10..14].copy_from_slice(&nth.to_be_bytes());
        run.client(&Packet::client(V1, &nth.to_be_bytes()).seal(&crypto(0, &hello)));
        assert!(run.flow.buffered_bytes < 30_000, "{} bytes buffered", run.flow.buffered_bytes);
    }
    assert_eq!((run.found.len(), run.conflicts.len(), run.counters.given_up), (1000, 0, 0));
}

#[test]
fn connection_id_length_suggests_sender() {
    let seal = |packet: Packet| packet.seal(&crypto(0, &hello()));
    assert_eq!(likely_sender(&seal(Packet::client(V1, &ID))), Side::Client);
    for version in [V1, V2] {
        assert_eq!(likely_sender(&seal(Packet::server(version, &ID))), Side::Server);
        assert_eq!(likely_sender(&other(version, LongType::ZeroRtt)), Side::Client);
    }
}

#[test]
fn packet_numbers_expand_from_previous() {
    let hello = message(1, 700);
    let mut run = Run::default();
    for (number, number_len) in
        [(0, 1), (100, 1), (220, 1), (300, 1), (0x1_0000, 4), (0x1_0123, 2), (0x1_0124, 3)]
    {
        let start = usize::try_from(run.counters.opened).unwrap() * 101;
        let piece = &hello[start..hello.len().min(start + 101)];
        run.client(
            &Packet { number, number_len, ..Packet::client(V1, &ID) }.seal(&crypto(start as u64, piece)),
        );
    }
    assert_eq!(run.found, [(Side::Client, hello, false)]);
}

#[test]
fn other_packets_hide_no_hello() {
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello())));
    for _ in 0..40 {
        run.client(&other(V1, LongType::ZeroRtt));
    }
    let buffered = run.flow.buffered_bytes;
    for _ in 0..300 {
        run.server(&[0x41; 60]);
    }
    assert!(run.flow.buffered_bytes < buffered - 300, "the hello is no longer buffered");
    run.client(&Packet { number: 1, ..Packet::client(V1, &ID) }.seal(&crypto(0, &hello())));
    run.server(&Packet::server(V1, &ID).seal(&crypto(0, &server_hello())));
    assert_eq!(run.found, [(Side::Client, hello(), false), (Side::Server, server_hello(), false)]);
    assert!(run.conflicts.is_empty());

    let (mut run, halves) = (Run::default(), hello());
    let half = |number, from: usize, to| {
        Packet { number, ..Packet::client(V1, &ID) }.seal(&crypto(from as u64, &halves[from..to]))
    };
    run.client(&half(0, 0, 100));
    for _ in 0..1000 {
        run.server(&[0x41; 60]);
    }
    run.client(&half(1, 100, 304));
    assert_eq!(run.found.len(), 1);
}

proptest! {
    /// Splits a hello into frames, packets and datagrams in any way, with repetitions.
    #[test]
    fn frame_order_changes_no_hello(
        len in 41_usize..5000,
        cuts in prop::collection::vec((0_usize..5004, 1_usize..900, any::<bool>(), any::<bool>()), 0..20),
        order in any::<u64>(),
    ) {
        let hello = message(1, len);
        let even = (0..hello.len()).step_by(600).map(|start| (start, 600, true, true));
        let mut pieces: Vec<_> =
            cuts.into_iter().chain(even).filter(|(start, ..)| *start < hello.len()).collect();
        let mut seed = order;
        pieces.sort_by_cached_key(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        });
        let mut run = Run::default();
        let (mut payload, mut datagram, mut number) = (Vec::new(), Vec::new(), 0);
        for (start, len, ends_packet, ends_datagram) in pieces {
            payload.extend(crypto(start as u64, &hello[start..hello.len().min(start + len)]));
            if ends_packet || ends_datagram {
                datagram.extend(Packet { number, ..Packet::client(V1, &ID) }.seal(&payload));
                payload.clear();
                number += 1;
            }
            if ends_datagram {
                run.client(&datagram);
                datagram.clear();
            }
        }
        run.client(&[datagram, Packet { number, ..Packet::client(V1, &ID) }.seal(&payload)].concat());
        prop_assert_eq!(run.found, [(Side::Client, hello, false)]);
    }
}
