#![allow(clippy::arithmetic_side_effects, reason = "a test may panic")]

use std::collections::BTreeMap;

use aes::Aes128Enc;
use aes::cipher::BlockCipherEncrypt;
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use proptest::prelude::*;
use zeroize::Zeroizing;

use super::keys::Open;
use super::*;
use crate::limits::{MAX_PENDING_STREAM_BYTES, MAX_STREAMS};
use crate::secrets::Secret;
use crate::tls::derive::expand_label;
use crate::tls::suite::Hash;

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

const CLIENT_ID: [u8; 4] = [9; 4];
const SERVER_ID: [u8; 5] = [8; 5];

/// Encrypts a packet with TLS_AES_128_GCM_SHA256, version 1. The header ends before the packet number.
fn seal(header: &[u8], number: u32, payload: &[u8], secret: u8) -> Vec<u8> {
    let secret = [secret; 32];
    let (mut key, mut hp, mut nonce) = ([0; 16], [0; 16], [0; 12]);
    for (label, out) in [(&b"quic key"[..], &mut key[..]), (b"quic iv", &mut nonce), (b"quic hp", &mut hp)] {
        expand_label(Hash::Sha256, &secret, label, out).unwrap();
    }
    let mut packet = [header, &number.to_be_bytes()].concat();
    nonce.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(byte, number)| *byte ^= number);
    let mut sealed = payload.to_vec();
    let cipher = Aes128Gcm::new(&key.into());
    let tag = cipher.encrypt_inout_detached(&nonce.into(), &packet, sealed.as_mut_slice().into()).unwrap();
    packet.extend(sealed);
    packet.extend(tag);
    let offset = header.len();
    let mut mask: [u8; 16] = packet[offset..][4..20].try_into().unwrap();
    let mut block = mask.into();
    Aes128Enc::new(&hp.into()).encrypt_block(&mut block);
    mask = block.into();
    packet[0] ^= mask[0] & if header[0] & 0x80 == 0 { 0x1f } else { 0x0f };
    packet[offset..].iter_mut().zip(&mask[1..5]).for_each(|(byte, mask)| *byte ^= mask);
    packet
}

/// A Handshake packet of the server.
fn handshake(id: &[u8], number: u32) -> Vec<u8> {
    let payload = [&[0x06, 0x00, 0x04, 0x08, 0, 0, 0][..], &[0; 20]].concat();
    let len = u8::try_from(payload.len().saturating_add(4 + 16)).unwrap();
    let id_len = u8::try_from(id.len()).unwrap();
    let header = [&[0xe3, 0, 0, 0, 1, 4][..], &CLIENT_ID, &[id_len], id, &[0x40, len]].concat();
    seal(&header, number, &payload, 1)
}

/// A packet of 1-RTT to a side, with the bytes of a stream.
fn short(receiver: Side, number: u32, offset: u8, data: &[u8]) -> Vec<u8> {
    let (id, secret) = receiver.choose((&CLIENT_ID[..], 2), (&SERVER_ID, 3));
    let frame = [&[0x0c, 0, offset][..], data, &[]].concat();
    seal(&[&[0x43], id].concat(), number, &frame, secret)
}

fn secrets_of(connection: [SecretLabel; 3]) -> Secrets {
    let secrets = Secrets::new();
    for (label, secret) in connection.into_iter().zip(1..) {
        secrets.insert(label, &[7; 32], &[secret; 32]);
    }
    secrets
}

const LABELS: [SecretLabel; 3] =
    [SecretLabel::ServerHandshake, SecretLabel::ServerApplication, SecretLabel::ClientApplication];

#[test]
fn forged_packets_change_nothing() {
    let secrets = secrets_of(LABELS);
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    let mut reader = Reader::default();
    let mut push = |connection: &mut QuicDecryptor, side, packet: &[u8]| {
        connection.push(side, packet, &secrets, &mut reader);
    };
    let mut forged = handshake(&[1; 3], 0);
    *forged.last_mut().unwrap() ^= 1;
    let mut other_version = handshake(&[2; 6], 0);
    other_version[1..5].copy_from_slice(&0x6b33_43cf_u32.to_be_bytes());
    let forge = |connection: &mut QuicDecryptor, push: &mut dyn FnMut(&mut QuicDecryptor, Side, &[u8])| {
        for _ in 0..100 {
            push(connection, Side::Server, &forged);
            push(connection, Side::Server, &other_version);
        }
    };
    forge(&mut connection, &mut push);
    push(&mut connection, Side::Server, &handshake(&SERVER_ID, 1));
    assert_eq!((connection.packets(), connection.has_lost_track()), (1, false));
    forge(&mut connection, &mut push);
    push(&mut connection, Side::Client, &short(Side::Server, 0, 0, b"abc"));
    push(&mut connection, Side::Server, &short(Side::Client, 0, 0, b"uvw"));
    // To the ids of the connection.
    for number in 0..1000 {
        for receiver in [Side::Client, Side::Server] {
            let mut wrong = short(receiver, number, 0, b"xxx");
            *wrong.last_mut().unwrap() ^= 1;
            push(&mut connection, receiver.peer(), &wrong);
        }
    }
    assert!(connection.has_lost_track() && connection.stopped().is_none());
    push(&mut connection, Side::Client, &short(Side::Server, 1, 3, b"def"));
    push(&mut connection, Side::Server, &short(Side::Client, 1, 3, b"xyz"));
    assert_eq!(reader.streams[&(Side::Client, 0)], b"abcdef");
    assert_eq!(reader.streams[&(Side::Server, 0)], b"uvwxyz");
    assert!(connection.owns(Side::Server, &forged) && !connection.owns(Side::Server, &INITIAL));
}

#[test]
fn keys_derive_once_for_packets_that_are_not_authentic() {
    let mut keys = Keys::<PacketKeys>::default();
    let derivations = std::cell::Cell::new(0);
    for number in 0..1000 {
        let version = if number % 2 == 0 { Version::V1 } else { Version::V2 };
        let secret = || {
            derivations.set(derivations.get() + 1);
            Some(Zeroizing::new([1; 32].into()))
        };
        let origin = Origin { version, suite: None, secret, may_wait: false, largest: None };
        let outcome = keys.open(&[0x43; 60], 5, origin, &mut Vec::new());
        assert!(matches!(outcome, Outcome::NotAuthentic));
    }
    assert_eq!(derivations.get(), 2, "one for each version");
}

#[test]
fn secrets_that_come_later_serve_buffered_packets() {
    let packets = [
        (Side::Server, handshake(&SERVER_ID, 0)),
        (Side::Client, short(Side::Server, 0, 0, b"abc")),
        (Side::Server, short(Side::Client, 0, 0, b"uvw")),
        (Side::Client, short(Side::Server, 1, 3, b"def")),
    ];
    // The number of packets before each secret.
    for pauses in [[4, 0, 0], [1, 1, 1], [2, 0, 1], [4, 1, 1]] {
        let (secrets, mut reader) = (Secrets::new(), Reader::default());
        secrets.set_growing(true);
        let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
        let mut packets = packets.iter();
        for ((label, secret), pause) in LABELS.into_iter().zip(1..).zip(pauses) {
            for (side, packet) in packets.by_ref().take(pause) {
                connection.push(*side, packet, &secrets, &mut reader);
            }
            secrets.insert(label, &[7; 32], &[secret; 32]);
        }
        for (side, packet) in packets {
            connection.push(*side, packet, &secrets, &mut reader);
        }
        connection.finish(&secrets, &mut reader);
        assert_eq!(reader.streams[&(Side::Client, 0)], b"abcdef", "{pauses:?}");
        assert_eq!(reader.streams[&(Side::Server, 0)], b"uvw", "{pauses:?}");
        assert_eq!((connection.stopped(), secrets.waiting_bytes()), (None, 0));
    }
}

/// The packet that announces an id waits for its secret, and so do those that go to the id.
#[test]
fn packets_to_new_ids_wait_with_those_that_announce_them() {
    let (secrets, mut reader) = (Secrets::new(), Reader::default());
    secrets.set_growing(true);
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    let new_id = [6; 5];
    let announcement = [&[0x18, 1, 0, 5][..], &new_id, &[0; 16]].concat();
    let announcement = seal(&[&[0x43][..], &CLIENT_ID].concat(), 0, &announcement, 2);
    let request = seal(&[&[0x43][..], &new_id].concat(), 0, b"\x0c\0\0abc", 3);
    let foreign = seal(&[&[0x43][..], &[5; 5]].concat(), 0, b"\x0c\0\0xyz", 77);
    connection.push(Side::Server, &handshake(&SERVER_ID, 0), &secrets, &mut reader);
    connection.push(Side::Server, &announcement, &secrets, &mut reader);
    connection.push(Side::Client, &request, &secrets, &mut reader);
    assert!(!connection.push(Side::Client, &foreign, &secrets, &mut reader), "of another connection");
    for (label, secret) in LABELS.into_iter().zip(1..) {
        secrets.insert(label, &[7; 32], &[secret; 32]);
    }
    connection.finish(&secrets, &mut reader);
    assert_eq!(reader.streams[&(Side::Client, 0)], b"abc");
    assert_eq!((connection.packets(), connection.has_lost_track(), secrets.waiting_bytes()), (3, false, 0));
}

#[test]
fn waiting_packets_are_read_after_own_secret_or_last_secret() {
    let (secrets, mut reader) = (Secrets::new(), Reader::default());
    secrets.set_growing(true);
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    connection.push(Side::Server, &handshake(&SERVER_ID, 0), &secrets, &mut reader);
    let before = secrets.version();
    secrets.add_key_log(b"# a comment\n");
    assert_eq!(secrets.version(), before);
    assert!(!connection.may_read_pending(&secrets));
    secrets.insert(SecretLabel::ServerHandshake, &[8; 32], &[1; 32]);
    assert_ne!(secrets.version(), before);
    assert!(!connection.may_read_pending(&secrets), "the secret of another connection");
    secrets.insert(SecretLabel::ServerHandshake, &[7; 32], &[1; 32]);
    assert!(connection.may_read_pending(&secrets));
    assert!(!connection.may_read_pending(&secrets), "once for each secret");
    secrets.set_growing(false);
    assert!(connection.may_read_pending(&secrets));
}

#[test]
fn waiting_for_secrets_is_bounded() {
    let (secrets, mut reader) = (Secrets::new(), Reader::default());
    secrets.set_growing(true);
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    for number in 0..10_000 {
        connection.push(Side::Server, &handshake(&SERVER_ID, number), &secrets, &mut reader);
        assert!(connection.buffered_bytes() < 100_000);
    }
    assert_eq!((connection.stopped(), connection.has_given_up()), (Some(Stop::NoSecret), true));
    assert_eq!(secrets.waiting_bytes(), 0);
    // Nothing came, and nothing comes.
    let mut connection = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]).unwrap();
    connection.push(Side::Server, &handshake(&SERVER_ID, 0), &secrets, &mut reader);
    assert!(connection.waits_for_secret() && connection.stopped().is_none());
    connection.finish(&secrets, &mut reader);
    assert_eq!(connection.stopped(), Some(Stop::NoSecret));
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
