//! What the headers of Initial packets show, and datagrams that offload joined.

use huginn_net_core::Side;

use super::seal::{Packet, crypto};
use super::{QuicClose, Run, message, read};
use crate::QuicVersion;
use crate::quic::{ClientInitials, QuicClient};

const V1: u32 = 1;
const V2: u32 = 0x6b33_43cf;
const ID: [u8; 8] = *b"original";
const CLIENT: [u8; 3] = *b"cli";
const SERVER: [u8; 5] = *b"serve";

fn hello() -> Vec<u8> {
    message(1, 300)
}

/// A client's packet in a datagram of this size, padded within the packet.
fn padded(packet: &Packet, frames: &[u8], size: usize) -> Vec<u8> {
    let mut frames = frames.to_vec();
    let rest = packet.seal(&frames).len();
    frames.resize(frames.len() + size - rest, 0);
    packet.seal(&frames)
}

fn first() -> Packet {
    Packet { source: CLIENT.to_vec(), ..Packet::client(V1, &ID) }
}

fn client(run: &Run, nth: usize) -> QuicClient {
    run.peers[nth].client.expect("a client")
}

#[test]
fn client_has_what_its_first_packet_has() {
    let begin = Packet { token: vec![7; 70], number: 21, ..first() };
    let end = Packet { token: vec![], number: 22, source: CLIENT.to_vec(), ..begin.clone() };
    let datagrams = [
        padded(&begin, &crypto(0, &hello()[..200]), 1250),
        padded(&end, &crypto(200, &hello()[200..]), 1300),
        padded(&Packet { number: 23, ..first() }, &[1], 1200),
    ];
    let mut run = Run::default();
    let mut initials = ClientInitials::new();
    for datagram in &datagrams {
        run.client(datagram);
        initials.push(datagram).unwrap();
    }
    let client = client(&run, 0);
    assert_eq!(client.version, QuicVersion::V1);
    assert_eq!((client.source_connection_id_len, client.destination_connection_id_len), (3, 8));
    assert_eq!((client.token_len, client.packet_number), (70, 21));
    assert_eq!(client.datagram_sizes(), [1250, 1300]);
    assert!(!client.after_retry && !client.after_version_negotiation);
    assert_eq!(initials.client(), Some(&client));
}

#[test]
fn server_has_what_the_packet_of_its_hello_has() {
    let mut run = Run::default();
    run.client(&padded(&first(), &crypto(0, &hello()), 1200));
    let server = Packet { destination: CLIENT.to_vec(), source: SERVER.to_vec(), ..Packet::server(V2, &ID) };
    run.server(&padded(&server, &crypto(0, &message(2, 86)), 1250));
    let server = run.peers[1].server.unwrap();
    assert_eq!(server.version, QuicVersion::V2);
    assert_eq!((server.source_connection_id_len, server.destination_connection_id_len), (5, 3));
    assert_eq!((server.retry_token_len, server.datagram_sizes()), (None, &[1250_u16][..]));
}

#[test]
fn sizes_are_those_of_the_first_datagrams() {
    let mut run = Run::default();
    for (number, byte) in (0..20).zip(hello()) {
        let packet = Packet { number, ..first() };
        run.client(&padded(&packet, &crypto(number.into(), &[byte]), 1200 + number as usize));
    }
    run.client(&padded(&Packet { number: 20, ..first() }, &crypto(20, &hello()[20..]), 1200));
    assert_eq!(client(&run, 0).datagram_sizes(), [1200, 1201, 1202, 1203, 1204, 1205, 1206, 1207]);
}

#[test]
fn datagram_with_two_packets_counts_once() {
    let begin = first().seal(&crypto(0, &hello()[..200]));
    let end = padded(&Packet { number: 1, ..first() }, &crypto(200, &hello()[200..]), 1200 - begin.len());
    let mut run = Run::default();
    run.client(&[begin, end].concat());
    assert_eq!(client(&run, 0).datagram_sizes(), [1200]);
}

/// RFC 9000, section 17.2.5: a Retry with the server's connection id, and a token of four bytes.
fn retry_packet(source: &[u8]) -> Vec<u8> {
    let ids = [&[3][..], &CLIENT, &[u8::try_from(source.len()).unwrap()], source].concat();
    [&[0xf0, 0, 0, 0, 1][..], &ids, b"toke", &[0; 16]].concat()
}

#[test]
fn hello_that_a_retry_interrupts_follows_it() {
    let mut run = Run::default();
    run.client(&padded(&first(), &crypto(0, &hello()[..200]), 1200));
    run.server(&retry_packet(&SERVER));
    let again = Packet {
        destination: SERVER.to_vec(),
        keys_from: SERVER.to_vec(),
        token: b"toke".to_vec(),
        number: 1,
        ..first()
    };
    run.client(&padded(&again, &crypto(0, &hello()), 1200));
    let client = client(&run, 0);
    assert!(client.after_retry && !client.after_version_negotiation);
    assert_eq!((client.token_len, client.destination_connection_id_len), (4, 5));
    let server = Packet { destination: CLIENT.to_vec(), ..Packet::server(V1, &SERVER) };
    run.server(&padded(&Packet { number: 0, ..server.clone() }, &[1, 0, 0, 0], 1200));
    run.server(&padded(&Packet { number: 1, ..server }, &crypto(0, &message(2, 86)), 1300));
    let server = run.peers[1].server.unwrap();
    assert_eq!((server.retry_token_len, server.datagram_sizes()), (Some(4), &[1200_u16, 1300][..]));
}

/// RFC 9000, section 19.19: type, error code, type of the frame at fault, length of the reason, reason.
#[test]
fn close_before_the_server_hello_ends_the_handshake() {
    let close = |code: u16| [&[0x1c][..], &(0x4000 | code).to_be_bytes(), &[6, 4], b"text"].concat();
    let server = Packet { destination: CLIENT.to_vec(), ..Packet::server(V1, &ID) };
    let server_hello = crypto(0, &message(2, 86));
    for (frames, code) in [
        (close(0x128), Some(0x128)),
        ([close(2), close(0x128)].concat(), Some(2)),
        ([&server_hello[..], &close(0x128)].concat(), None),
        (close(0x128)[..5].to_vec(), None),
        ([&[0x1d, 0x41, 0x28, 0][..], &server_hello].concat(), None),
    ] {
        let mut run = Run::default();
        run.client(&padded(&first(), &crypto(0, &hello()), 1200));
        run.server(&server.seal(&frames));
        run.server(&Packet { number: 1, ..server.clone() }.seal(&close(0x100)));
        let expected =
            code.map(|code| QuicClose { server: Side::Server, sender: Side::Server, code, retry: false });
        let found = run.closes.first().copied();
        assert!(run.closes.len() < 2, "{frames:?}");
        assert_eq!(found.filter(|close| close.code != 0x100), expected, "{frames:?}");
    }
    // Without a ClientHello there is no handshake.
    let mut run = Run::default();
    run.client(&padded(&first(), &close(0x100), 1200));
    assert_eq!(run.closes, []);
}

/// RFC 9000, section 17.2.1: the connection ids of the client's packet in the other order, then versions.
fn version_negotiation(destination: &[u8], source: &[u8]) -> Vec<u8> {
    let id = |id: &[u8]| [&[u8::try_from(id.len()).unwrap()], id].concat();
    [&[0x80, 0, 0, 0, 0][..], &id(destination), &id(source), &V2.to_be_bytes()].concat()
}

#[test]
fn next_version_follows_version_negotiation() {
    for (source, expected) in [(ID, true), (*b"elsewher", false)] {
        let mut run = Run::default();
        run.client(&padded(&first(), &crypto(0, &hello()), 1200));
        run.server(&version_negotiation(&CLIENT, &source));
        let mut other = hello();
        other[10] ^= 1;
        for (nth, id) in [*b"second 1", *b"second 2"].iter().enumerate() {
            other[11] ^= 1;
            let next = Packet { source: CLIENT.to_vec(), ..Packet::client(V2, id) };
            run.client(&padded(&next, &crypto(0, &other), 1200));
            let client = client(&run, nth + 1);
            assert_eq!(client.version, QuicVersion::V2);
            assert_eq!(client.after_version_negotiation, expected && nth == 0);
        }
        assert!(!client(&run, 0).after_version_negotiation);
    }
}

/// Two datagrams in one frame: the first one ends with a packet whose header has no length.
#[test]
fn hello_after_a_short_header_in_one_frame_is_found() {
    let short = |len| [&[0x45][..], &vec![0x5a; len - 1]].concat();
    let begin = first().seal(&crypto(0, &hello()[..200]));
    let begin = [&begin[..], &short(1252 - begin.len())].concat();
    let end = padded(&Packet { number: 1, ..first() }, &crypto(200, &hello()[200..]), 1252);
    let mut run = Run::default();
    run.client(&[&begin[..], &end].concat());
    assert_eq!(run.found, [(Side::Client, hello(), false)]);
    assert_eq!(client(&run, 0).datagram_sizes(), [1252, 1252]);

    // In a datagram that Ethernet carries, they are one packet.
    let mut run = Run::default();
    run.client(&[&begin[..begin.len() - 800], &end[..]].concat()[..1472]);
    assert_eq!(run.found, []);
}

#[test]
fn connections_in_one_frame_are_all_found() {
    let datagrams: Vec<Vec<u8>> = (0..4_u8)
        .map(|nth| {
            let mut hello = hello();
            hello[10] = nth;
            let sealed = Packet::client(V1, &[nth; 9]).seal(&crypto(0, &hello));
            // Padding after the packet hides where the next datagram begins.
            [&sealed[..], &vec![0; 1350 - sealed.len()]].concat()
        })
        .collect();
    let mut run = Run::default();
    run.client(&datagrams.concat());
    assert_eq!(run.found.len(), 4);
    assert!((0..4).all(|nth| client(&run, nth).datagram_sizes() == [1350]));
}

#[test]
fn reader_has_no_client_before_a_packet() {
    let mut initials = ClientInitials::new();
    assert_eq!(initials.client(), None);
    assert!(read(&mut initials, &[0x5a; 40]).is_ok());
    assert_eq!(initials.client(), None);
}
