use std::collections::BTreeMap;

use proptest::prelude::*;
use zeroize::Zeroizing;

use super::*;
use crate::limits::{MAX_PENDING_STREAM_BYTES, MAX_STREAMS};
use crate::secrets::Secret;

fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<_> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.as_chunks::<2>().0.iter().map(|[high, low]| u8::try_from(high << 4 | low).unwrap()).collect()
}

/// RFC 9001, appendix A.5, and RFC 9369, appendix A.5: a PING with ChaCha20-Poly1305.
#[test]
fn short_header_packets_of_the_rfcs() {
    let secret = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";
    let packets = [
        (Version::V1, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"),
        (Version::V2, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba"),
    ];
    for (version, packet) in packets {
        let secret: Secret = Zeroizing::new(unhex(secret).into());
        let suite = Suite::from_number(0x1303).unwrap();
        let mut keys = PacketKeys::new(suite, version, &secret).unwrap();
        keys.set_largest(Some(654_360_563));
        let (packet, mut out) = (unhex(packet), Vec::new());
        let frames = keys.open(&packet, 1, &mut out).unwrap();
        assert_eq!((&out[frames], keys.largest()), (&[1][..], Some(654_360_564)));
        let mut wrong = packet.clone();
        *wrong.last_mut().unwrap() ^= 1;
        assert_eq!(keys.open(&wrong, 1, &mut out), None);
    }
}

#[test]
fn frames_are_read_up_to_an_unknown_one() {
    let payload = [
        &[0, 0, 1, 2, 5, 0, 1, 2, 3, 4][..], // PADDING, PING, ACK with one range
        &[6, 2, 3, b'a', b'b', b'c'],
        &[0x18, 1, 0, 4, 9, 9, 9, 9],
        &[7; 16],
        &[0x0e, 4, 8, 2, b'x', b'y'],
        &[0x09, 8, b'z'],
    ];
    let payload = payload.concat();
    let found: Vec<_> = Frames::new(&payload).collect();
    assert_eq!(
        found,
        [
            Frame::Crypto { offset: 2, data: b"abc" },
            Frame::NewConnectionId(&[9; 4]),
            Frame::Stream { id: 4, offset: 8, data: b"xy", is_last: false },
            Frame::Stream { id: 8, offset: 0, data: b"z", is_last: true },
        ]
    );
    assert_eq!(Frames::new(&[0x40, 0xaa, 0x0a, 0, 1, 1]).count(), 0, "of unknown length");
}

/// Collects what it reads.
#[derive(Default)]
struct Reader {
    streams: BTreeMap<(Side, u64), Vec<u8>>,
    ends: usize,
}

impl QuicReader for Reader {
    fn on_stream(&mut self, side: Side, stream: u64, bytes: &[u8]) {
        self.streams.entry((side, stream)).or_default().extend_from_slice(bytes);
    }

    fn on_stream_end(&mut self, _: Side, _: u64) {
        self.ends = self.ends.saturating_add(1);
    }
}

#[test]
fn streams_are_bounded() {
    let (mut streams, mut reader) = (Streams::default(), Reader::default());
    for n in 0..10_000_u64 {
        streams.on_frame((Side::Client, n.saturating_mul(4)), 1, &[1; 1000], false, &mut reader);
        assert!(streams.buffered_bytes() < 2 * MAX_PENDING_STREAM_BYTES);
    }
    assert_eq!(streams.open.len(), MAX_STREAMS);
    assert!(reader.streams.is_empty() && reader.ends > 9000);
    // A stream that was given up does not begin again.
    streams.on_frame((Side::Client, 20_000), 0, &[1], false, &mut reader);
    assert!(reader.streams.is_empty());
    streams.on_frame((Side::Client, 0), 0, &[1], false, &mut reader);
    assert_eq!(reader.streams[&(Side::Client, 0)].len(), 1001, "one that waits goes on");
}

/// The first datagram of a client with version 1, whose Initial packet is not read.
const INITIAL: [u8; 24] = [0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 4, 9, 9, 9, 9, 0, 3, 0, 0, 0];

#[test]
fn connection_without_secret_stops() {
    let secrets = Secrets::new();
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    let handshake = [&[0xe0, 0, 0, 0, 1, 4, 9, 9, 9, 9, 1, 5, 0x14][..], &[0; 20]].concat();
    assert!(!connection.push(Side::Server, &[0x40; 40], &secrets, &mut Reader::default()));
    assert!(connection.push(Side::Server, &handshake, &secrets, &mut Reader::default()));
    assert_eq!(connection.stopped(), Some(Stop::NoSecret));
    assert!(
        connection.push(Side::Server, &handshake, &secrets, &mut Reader::default()),
        "it still belongs to it"
    );
}

#[test]
fn wrong_secrets_end_the_decryption() {
    let secrets = Secrets::new();
    secrets.insert(SecretLabel::ServerHandshake, &[7; 32], &[1; 32]);
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    let handshake = [&[0xe0, 0, 0, 0, 1, 4, 9, 9, 9, 9, 1, 5, 0x14][..], &[0; 20]].concat();
    let mut packets = 0;
    while connection.stopped().is_none() {
        connection.push(Side::Server, &handshake, &secrets, &mut Reader::default());
        packets += 1;
    }
    assert_eq!((connection.stopped(), packets), (Some(Stop::NotAuthentic), MAX_REFUSED_PACKETS));
    assert_eq!(connection.packets(), 0);
}

proptest! {
    #[test]
    fn arbitrary_datagrams_are_bounded_and_never_panic(
        datagrams in prop::collection::vec(
            (any::<bool>(), prop::sample::select(&[0xc0_u8, 0xd0, 0xe0, 0xf0, 0x40][..]), prop::collection::vec(any::<u8>(), 0..80)),
            0..30),
    ) {
        let secrets = Secrets::new();
        for label in [SecretLabel::ClientEarly, SecretLabel::ServerHandshake, SecretLabel::ClientApplication] {
            secrets.insert(label, &[7; 32], &[1; 32]);
        }
        let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
        for (by_client, first, rest) in datagrams {
            let datagram = [&[first, 0, 0, 0, 1, 4, 9, 9, 9, 9, 4, 9, 9, 9, 9][..], &rest].concat();
            let side = if by_client { Side::Client } else { Side::Server };
            connection.push(side, &datagram, &secrets, &mut Reader::default());
            connection.push(side, &rest, &secrets, &mut Reader::default());
            let _ = Frames::new(&rest).count();
        }
        prop_assert!(connection.buffered_bytes() < 100_000);
    }
}
