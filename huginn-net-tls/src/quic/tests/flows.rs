//! Regular QUIC flows.

use huginn_net_core::{Interest, Side};
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
        assert!(run.flow.buffered_bytes() < 200, "{} bytes buffered", run.flow.buffered_bytes());
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
        assert_eq!(run.counters, QuicCounters { opened: 3, ..QuicCounters::default() });
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
    assert_eq!(run.counters, QuicCounters { opened: 1, sealed: 1, ..QuicCounters::default() });
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
    let counters = QuicCounters { opened: 2, ..QuicCounters::default() };
    assert_eq!(run.counters, counters);
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
fn changed_hello_after_retry_is_not_reported() {
    let mut changed = hello();
    changed[10] = 1;
    // `other` gives the server this id.
    for (id, hellos) in [(&[0xcc][..], 1), (b"another", 2)] {
        let mut run = Run::default();
        run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello())));
        run.server(&other(V1, LongType::Retry));
        run.client(&Packet::client(V1, id).seal(&crypto(0, &changed)));
        assert_eq!(run.found.len(), hellos);
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
    assert_eq!((run.found.len(), run.flow.has_found_hello()), (0, false));
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
        let buffered = run.flow.buffered_bytes();
        assert!((1..200).contains(&buffered), "{buffered} bytes buffered");
        for _ in 0..20 {
            for late in [&request[..], &acknowledged, &[0x41; 60]] {
                assert_eq!(run.client(late), Interest::More);
            }
            run.server(&answered);
        }
        assert_eq!(run.found.len(), usize::from(nth) * 2);
        assert_eq!(run.found[run.found.len() - 2], (Side::Client, hello, false));
        assert_eq!(run.flow.buffered_bytes(), buffered);
    }
    assert_eq!(run.counters, QuicCounters { opened: 40, ..QuicCounters::default() });
}

#[test]
fn reported_hellos_are_limited() {
    let mut run = Run::default();
    for nth in 0..200 {
        let mut hello = hello();
        hello[10] = nth;
        let interest = run.client(&Packet::client(V1, &[nth; 8]).seal(&crypto(0, &hello)));
        assert_eq!(interest == Interest::Done, nth >= 63, "{nth}");
    }
    assert_eq!(run.found.len(), 64);
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
fn other_packets_release_hello_buffers() {
    let mut run = Run::default();
    run.client(&Packet::client(V1, &ID).seal(&crypto(0, &hello())));
    let buffered = run.flow.buffered_bytes();
    for _ in 0..40 {
        run.client(&other(V1, LongType::ZeroRtt));
    }
    assert_eq!(run.flow.buffered_bytes(), buffered, "buffered until the server answers");
    for _ in 0..16 {
        assert_eq!(run.server(&[0x41; 60]), Interest::More);
    }
    assert!(run.flow.buffered_bytes() < 200 && run.counters.given_up == 0);

    let (mut run, halves) = (Run::default(), hello());
    let half = |number, from: usize, to| {
        Packet { number, ..Packet::client(V1, &ID) }.seal(&crypto(from as u64, &halves[from..to]))
    };
    run.client(&half(0, 0, 100));
    for _ in 0..100 {
        run.server(&[0x41; 60]);
    }
    run.client(&half(1, 100, 304));
    assert_eq!(run.found.len(), 1);
    run.client(&Packet::client(V1, b"another").seal(&crypto(0, &halves[..100])));
    for _ in 0..300 {
        run.server(&[0x41; 60]);
    }
    assert!(run.flow.buffered_bytes() < 200 && run.counters.given_up == 1, "an incomplete hello is dropped");
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
