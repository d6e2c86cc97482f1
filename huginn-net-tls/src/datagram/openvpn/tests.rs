use huginn_net_wire::Side;
use proptest::prelude::*;

use super::*;
use crate::datagram::flow::tests::{FoundHello, dialogue, fingerprint};
use crate::record::{Item, Probe};

/// Recorded on loopback from OpenVPN 2.6.14: `--tls-client --proto tcp-client`.
const TCP: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/openvpn-tcp.bin"));
/// The client's JA3, from tshark.
const CLIENT: &str = "b0ec87ac7424dc3b841dacb72db22a21";

/// Lengths of HMAC, packet id and time: without authentication, with tls-auth by SHA-1 and by SHA-512.
const AUTH: [usize; 3] = [0, 28, 72];

fn packet(opcode: u8, session: u8, auth_len: usize, acks: &[u32], id: u32, tls: &[u8]) -> Vec<u8> {
    let mut bytes = vec![opcode << 3];
    bytes.extend([session; 8]);
    bytes.extend(vec![0xa5; auth_len]);
    bytes.push(u8::try_from(acks.len()).unwrap());
    bytes.extend(acks.iter().flat_map(|id| id.to_be_bytes()));
    if !acks.is_empty() {
        bytes.extend([0xee; 8]);
    }
    bytes.extend(id.to_be_bytes());
    bytes.extend_from_slice(tls);
    bytes
}

/// Returns the client's TLS record of the recorded dialogue.
fn hello() -> Vec<u8> {
    let stream: Vec<u8> = dialogue(TCP)
        .iter()
        .filter(|(side, _)| *side == Side::Client)
        .flat_map(|(_, bytes)| *bytes)
        .copied()
        .collect();
    let start = stream.windows(3).position(|bytes| bytes == [22, 3, 1]).unwrap();
    let len = usize::from(u16::from_be_bytes([stream[start + 3], stream[start + 4]]));
    stream[start..start + 5 + len].to_vec()
}

struct TestFlow {
    flow: OpenVpnFlow,
    counters: DatagramCounters,
    found: Vec<FoundHello>,
}

impl Default for TestFlow {
    fn default() -> Self {
        Self { flow: OpenVpnFlow::new(Follow::No), counters: DatagramCounters::default(), found: Vec::new() }
    }
}

impl TestFlow {
    fn push(&mut self, sender: Side, datagram: &[u8]) {
        let Self { flow, counters, found } = self;
        flow.on_datagram(datagram, sender, counters, &mut |sender, part| {
            let Found::Hello { hello, retry } = part else { panic!("no handshake is followed") };
            found.push(fingerprint(sender, &hello, retry));
        });
    }

    fn client(&mut self, datagram: &[u8]) {
        self.push(Side::Client, datagram);
    }
}

#[test]
fn finds_reordered_hello_with_any_authentication() {
    let hello = hello();
    for auth_len in AUTH {
        let reset = packet(7, 1, auth_len, &[], 0, &[]);
        assert_eq!(session_initiator(&reset), Some(Side::Client));
        let parts: Vec<Vec<u8>> =
            (1..).zip(hello.chunks(100)).map(|(id, part)| packet(4, 1, auth_len, &[0], id, part)).collect();
        let mut flow_under_test = TestFlow::default();
        flow_under_test.client(&reset);
        flow_under_test.client(&reset);
        for part in parts.iter().rev().chain(&parts) {
            flow_under_test.client(part);
        }
        assert_eq!(flow_under_test.found, [(Side::Client, CLIENT.to_owned(), false)]);
        assert_eq!(flow_under_test.counters, DatagramCounters::default());
    }
}

/// MikroTik's client sends a second reset with the next packet number.
#[test]
fn resets_are_numbered() {
    let hello = hello();
    let mut flow_under_test = TestFlow::default();
    flow_under_test.client(&packet(7, 1, 0, &[], 0, &[]));
    flow_under_test.client(&packet(4, 1, 0, &[], 2, &hello));
    assert_eq!(flow_under_test.found, []);
    flow_under_test.client(&packet(7, 1, 0, &[0], 1, &[]));
    assert_eq!(flow_under_test.found.len(), 1);
}

#[test]
fn new_session_id_resets_state() {
    let hello = hello();
    let mut flow_under_test = TestFlow::default();
    for session in [1, 1, 2] {
        flow_under_test.client(&packet(7, session, 0, &[], 0, &[]));
        flow_under_test.client(&packet(4, 3, 0, &[], 1, b"of no session"));
        flow_under_test.client(&packet(4, session, 0, &[], 1, &hello));
    }
    assert_eq!(
        flow_under_test.found,
        [(Side::Client, CLIENT.to_owned(), false), (Side::Client, CLIENT.to_owned(), false)]
    );
}

/// The flow skips all data after the hellos.
#[test]
fn skips_data_until_next_session() {
    let mut flow_under_test = TestFlow::default();
    let data = [9 << 3, 0, 0, 1, 0x5a, 0x5a];
    for session in [1, 2] {
        flow_under_test.client(&packet(7, session, 0, &[], 0, &[]));
        flow_under_test.client(&data);
        flow_under_test.client(&packet(4, session, 0, &[], 1, &hello()));
        for id in 2..100 {
            flow_under_test.client(&data);
            flow_under_test.client(&packet(4, session, 0, &[], id, b"\x17\x03\x03\x00\x02ab"));
        }
        assert_eq!(flow_under_test.found.len(), usize::from(session));
    }
    assert_eq!(
        (flow_under_test.flow.buffered_bytes(), flow_under_test.counters),
        (0, DatagramCounters::default())
    );
}

/// Sends the client's hello twice in separate packets, with a server packet between them.
#[test]
fn second_hello_is_retry_unless_server_answered() {
    const SERVER: u8 = 8;
    let hello = hello();
    let retry_request = crate::datagram::flow::tests::retry_request_record();
    for (server_message, retry) in [(None, true), (Some(&b""[..]), false), (Some(&retry_request[..]), true)] {
        let mut flow_under_test = TestFlow::default();
        flow_under_test.client(&packet(7, 1, 0, &[], 0, &[]));
        flow_under_test.client(&packet(4, 1, 0, &[], 1, &hello));
        if let Some(tls) = server_message {
            flow_under_test.push(Side::Server, &packet(SERVER, 9, 0, &[0], 0, &[]));
            flow_under_test.push(Side::Server, &packet(4, 9, 0, &[1], 1, tls));
        }
        flow_under_test.client(&packet(4, 1, 0, &[], 2, &hello));
        flow_under_test.client(&packet(4, 1, 0, &[], 3, &hello));
        let client_hellos = flow_under_test.found.iter().filter(|(side, ..)| *side == Side::Client);
        assert_eq!(client_hellos.map(|(_, _, retry)| *retry).collect::<Vec<_>>(), [false, retry]);
        assert!(flow_under_test.found.iter().all(|(side, _, retry)| *side == Side::Client || !*retry));
    }
}

#[test]
fn counts_other_data_instead_of_hello() {
    let mut flow_under_test = TestFlow::default();
    flow_under_test.client(&packet(7, 1, 0, &[], 0, &[]));
    flow_under_test.client(&packet(4, 1, 0, &[], 1, b"\x16\x03\x01\x00\x04\x0b\x00\x00\x00"));
    flow_under_test.client(&packet(4, 1, 0, &[], 2, &hello()));
    assert_eq!(flow_under_test.counters, DatagramCounters { malformed: 1, ..DatagramCounters::default() });
    assert_eq!(flow_under_test.found, []);
}

#[test]
fn invalid_packets_start_no_session() {
    let hello = hello();
    let soft_reset = packet(3, 1, 0, &[], 0, &[]);
    let acks = packet(4, 1, 0, &[0; 9], 1, &hello);
    let no_hello = packet(4, 1, 0, &[], 1, b"\x17\x03\x03\x00\x20");
    let no_session = packet(7, 0, 0, &[], 0, &[]);
    let key = [&[7 << 3 | 1][..], &packet(7, 1, 0, &[], 0, &[])[1..]].concat();
    let trailer = packet(7, 1, 0, &[], 0, b"?");
    for packet in [soft_reset, acks, no_hello, no_session, key, trailer] {
        assert_eq!(session_initiator(&packet), None, "{packet:02x?}");
    }
    assert_eq!(session_initiator(&packet(4, 1, 0, &[3, 4], 1, &hello)), Some(Side::Client));
    assert_eq!(session_initiator(&packet(8, 1, 36, &[0], 0, &[])), Some(Side::Server));
}

#[test]
fn unordered_packets_are_bounded() {
    let mut flow_under_test = TestFlow::default();
    flow_under_test.client(&packet(7, 1, 0, &[], 0, &[]));
    for id in 2..5000 {
        flow_under_test.client(&packet(4, 1, 0, &[], id, &[0x16; 1300]));
    }
    assert!(flow_under_test.flow.buffered_bytes() < 70_000, "{}", flow_under_test.flow.buffered_bytes());
    assert!(flow_under_test.counters.refused > 4900);
}

#[test]
fn first_packet_identifies_stream() {
    let first = dialogue(TCP)[0].1;
    assert_eq!(stream_probe(first), Probe::Yes);
    for len in 0..first.len() {
        assert_eq!(stream_probe(&first[..len]), Probe::Unsure, "{len} bytes");
    }
    for bytes in
        [&b"GET / HTTP/1.1"[..], b"\x16\x03\x01", b"\x00\x0e\x39", b"\x00\x01\x38\x00", b"\xff", &[0; 20]]
    {
        assert_eq!(stream_probe(bytes), Probe::No, "{bytes:02x?}");
    }
}

/// A SOCKS 4 request to these ports resembles a length and an opcode; a ClientHello follows it.
#[test]
fn rejects_other_stream_before_full_packet() {
    let hello = hello();
    for port in [2083_u16, 4099, 8333, 8443, 14443, 16443] {
        let request = [&[4, 1][..], &port.to_be_bytes(), &[192, 0, 2, 1, 0]].concat();
        let stream = [&request[..], &hello].concat();
        let rejected_len = (0..stream.len()).find(|len| stream_probe(&stream[..*len]) == Probe::No);
        assert!(rejected_len.is_some_and(|len| len < 140), "port {port}: {rejected_len:?}");
    }
}

/// Probes every truncation of each kind of first packet.
#[test]
fn probe_decides_at_last_byte() {
    let hello = hello();
    for auth_len in AUTH {
        for packet in [
            packet(7, 1, auth_len, &[], 0, &[]),
            packet(8, 1, auth_len, &[0], 0, &[]),
            packet(4, 1, auth_len, &[0, 1], 1, &hello),
        ] {
            let stream = [&u16::try_from(packet.len()).unwrap().to_be_bytes()[..], &packet].concat();
            for len in 0..stream.len() {
                assert_eq!(stream_probe(&stream[..len]), Probe::Unsure, "{len} bytes");
            }
            assert_eq!(stream_probe(&stream), Probe::Yes);
        }
    }
}

#[test]
fn segmentation_changes_no_hello() {
    let stream: Vec<u8> = dialogue(TCP)
        .iter()
        .filter(|(side, _)| *side == Side::Client)
        .flat_map(|(_, bytes)| *bytes)
        .copied()
        .collect();
    for step in 1..stream.len() {
        let (mut reader, mut found) = (OpenVpnStream::new(false), Vec::new());
        for piece in stream.chunks(step) {
            reader.push(piece, &mut |item| {
                let Item::Hello(hello) = item else { panic!("no handshake is followed") };
                found.push(fingerprint(Side::Client, &hello, false));
            });
        }
        assert_eq!(found, [(Side::Client, CLIENT.to_owned(), false)], "in steps of {step}");
    }
}

proptest! {
    #[test]
    fn arbitrary_stream_is_bounded_and_never_panics(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        corrupted in any::<prop::sample::Index>(),
    ) {
        let (mut reader, mut start) = (OpenVpnStream::new(false), dialogue(TCP)[0].1.to_vec());
        *corrupted.get_mut(&mut start[..]) ^= 1;
        let _ = stream_probe(&start);
        for piece in [start].iter().chain(&pieces) {
            reader.push(piece, &mut |_| {});
            prop_assert!(reader.buffered_bytes() < 1 << 18);
        }
    }
}
