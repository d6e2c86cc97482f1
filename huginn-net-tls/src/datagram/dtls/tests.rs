use huginn_net_wire::Side;
use proptest::prelude::*;

use super::*;
use crate::TlsEvent;
use crate::datagram::flow::tests::{DTLS, dialogue};

/// A hello: its sender, the message, and whether it is a client's second hello.
type FoundHello = (Side, Vec<u8>, bool);

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Builds the body of a ClientHello with one cipher suite.
fn client_hello(random: u8, cookie: &[u8]) -> Vec<u8> {
    let cookie_len = [u8::try_from(cookie.len()).unwrap()];
    [&[0xfe, 0xfd][..], &[random; 32], &[0], &cookie_len, cookie, &[0, 2, 0xc0, 0x2b, 1, 0]].concat()
}

fn server_hello(random: [u8; 32]) -> Vec<u8> {
    [&[0xfe, 0xfd][..], &random, &[0, 0xc0, 0x2b, 0]].concat()
}

/// The SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
const RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, //
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Builds the message with the handshake header of TLS.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &u24(body.len())[..], body].concat()
}

fn u24(number: usize) -> [u8; 3] {
    let [_, low @ ..] = u32::try_from(number).unwrap().to_be_bytes();
    low
}

/// Builds a fragment with the bytes from `start` to `end` of a body.
fn fragment(kind: u8, seq: u16, body: &[u8], start: usize, end: usize) -> Vec<u8> {
    let head = [&[kind][..], &u24(body.len()), &seq.to_be_bytes(), &u24(start), &u24(end - start)].concat();
    [&head, &body[start..end]].concat()
}

fn record(kind: u8, epoch: u16, bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[kind, 0xfe, 0xfd][..], &epoch.to_be_bytes(), &[0; 6], &len, bytes].concat()
}

/// A datagram with an unfragmented message.
fn unfragmented(kind: u8, seq: u16, body: &[u8]) -> Vec<u8> {
    record(22, 0, &fragment(kind, seq, body, 0, body.len()))
}

#[derive(Default)]
struct TestFlow {
    flow: DtlsFlow,
    counters: DatagramCounters,
    found: Vec<FoundHello>,
    followed: Vec<(Side, TlsEvent)>,
    conflicts: usize,
}

impl TestFlow {
    fn push(&mut self, sender: Side, datagram: &[u8]) {
        let Self { flow, counters, found, followed, conflicts } = self;
        flow.on_datagram(datagram, sender, counters, &mut |origin, part| {
            let (hello, retry) = match part {
                Found::Hello { hello, retry } => (hello, retry),
                Found::Followed(event) => return followed.push((origin.subject, event)),
            };
            *conflicts += usize::from(origin.conflict.is_some());
            let message = match hello {
                Hello::Client(hello) => hello.message().to_vec(),
                Hello::Server(hello) => hello.message().to_vec(),
            };
            found.push((origin.subject, message, retry));
        });
    }

    fn client(&mut self, datagram: &[u8]) {
        self.push(Side::Client, datagram);
    }

    fn server(&mut self, datagram: &[u8]) {
        self.push(Side::Server, datagram);
    }
}

#[test]
fn retransmission_is_ignored_and_new_handshake_reported() {
    let (first, cookie, other) = (client_hello(1, b""), client_hello(1, b"cookie"), client_hello(2, b""));
    let mut flow_under_test = TestFlow::default();
    for (seq, hello) in [(0, &first), (0, &first), (1, &cookie), (0, &first), (1, &cookie), (0, &other)] {
        flow_under_test.client(&unfragmented(CLIENT_HELLO, seq, hello));
    }
    let found = [(&first, false), (&cookie, true), (&other, false)]
        .map(|(hello, retry)| (Side::Client, message(CLIENT_HELLO, hello), retry));
    assert_eq!(flow_under_test.found, found);
}

#[test]
fn number_or_cookie_marks_second_hello() {
    let (first, second) = (client_hello(1, b""), client_hello(1, b"cookie"));
    let mut flow_under_test = TestFlow::default();
    for hello in [&first, &second, &first, &second] {
        flow_under_test.client(&unfragmented(CLIENT_HELLO, 0, hello));
    }
    let found = [(&first, false), (&second, true)];
    let found = found.map(|(hello, retry)| (Side::Client, message(CLIENT_HELLO, hello), retry));
    assert_eq!(flow_under_test.found, found, "a retransmission with either number is ignored");
}

#[test]
fn fragments_of_two_hellos_may_interleave() {
    let (first, second) = (client_hello(1, b""), client_hello(1, b"cookie"));
    let half = |hello: &[u8], seq, start, end| record(22, 0, &fragment(CLIENT_HELLO, seq, hello, start, end));
    let mut flow_under_test = TestFlow::default();
    flow_under_test.client(&half(&first, 0, 0, 20));
    flow_under_test.client(&half(&second, 1, 0, 20));
    flow_under_test.client(&half(&first, 0, 20, first.len()));
    flow_under_test.client(&half(&second, 1, 20, second.len()));
    let found = [(&first, false), (&second, true)];
    let found = found.map(|(hello, retry)| (Side::Client, message(CLIENT_HELLO, hello), retry));
    assert_eq!(flow_under_test.found, found);
}

#[test]
fn finds_all_handshakes_of_flow() {
    let unified = |epoch: u8| vec![0x2c | epoch, 1, 2, 0, 3, 4, 5, 6];
    let mut flow_under_test = TestFlow::default();
    flow_under_test.server(&record(23, 1, b"of an earlier association"));
    for handshake in 1..=10 {
        flow_under_test.client(&unfragmented(CLIENT_HELLO, 0, &client_hello(handshake, b"")));
        flow_under_test.client(&unified(1));
        flow_under_test.server(&unfragmented(SERVER_HELLO, 0, &server_hello(RETRY_REQUEST)));
        flow_under_test.client(&unfragmented(CLIENT_HELLO, 1, &client_hello(handshake, b"?")));
        flow_under_test
            .server(&[unfragmented(SERVER_HELLO, 1, &server_hello([handshake; 32])), unified(2)].concat());
        for encrypted in [record(22, 1, b"Finished"), unified(2), record(23, 1, b"data")] {
            flow_under_test.client(&encrypted);
            flow_under_test.server(&encrypted);
        }
        assert_eq!(flow_under_test.found.len(), usize::from(handshake) * 4);
        let client = flow_under_test.found.iter().rev().filter(|(side, ..)| *side == Side::Client);
        assert_eq!(client.take(2).map(|(_, _, retry)| *retry).collect::<Vec<_>>(), [true, false]);
    }
    assert_eq!(
        (flow_under_test.flow.buffered_bytes(), flow_under_test.counters),
        (0, DatagramCounters::default())
    );
}

#[test]
fn counts_malformed_hellos() {
    let mut flow_under_test = TestFlow::default();
    let mut hello = client_hello(1, b"");
    // A session id that exceeds the message.
    hello[34] = 200;
    for _ in 0..3 {
        flow_under_test.client(&unfragmented(CLIENT_HELLO, 0, &hello));
    }
    assert_eq!(flow_under_test.counters.malformed, 1);
    let mut long = fragment(CLIENT_HELLO, 1, &client_hello(2, b""), 0, 20);
    long[1] = 3;
    flow_under_test.client(&record(22, 0, &long));
    assert_eq!(flow_under_test.counters, DatagramCounters { malformed: 2, ..DatagramCounters::default() });
}

#[test]
fn datagram_may_have_several_records() {
    let hello = server_hello([9; 32]);
    let certificate = vec![0; 300];
    let fragments =
        [fragment(SERVER_HELLO, 1, &hello, 0, hello.len()), fragment(11, 2, &certificate, 0, 90)].concat();
    let datagram = [record(21, 0, &[1, 0]), record(22, 0, &fragments)].concat();
    let mut flow_under_test = TestFlow::default();
    flow_under_test.server(&datagram);
    assert_eq!(flow_under_test.found, [(Side::Server, message(SERVER_HELLO, &hello), false)]);
}

#[test]
fn finds_hellos_in_turn_and_capwap() {
    let datagram = unfragmented(CLIENT_HELLO, 0, &client_hello(1, b""));
    let len = u16::try_from(datagram.len()).unwrap().to_be_bytes();
    let channel = [&[0x40, 0][..], &len, &datagram, &[0; 3]].concat();
    let capwap = [&[1, 0, 0, 0][..], &datagram].concat();
    let indication = |kind: u8| {
        let peer = [0, 0x12, 0, 8, 0, 1, 0x21, 0x12, 1, 2, 3, 4, 0, 0x1a, 0, 0, 0x80, 0x22, 0, 1, 7, 0, 0, 0];
        let header = [0, kind, 0, 0, 0x21, 0x12, 0xa4, 0x42];
        [&header[..], &[9; 12], &peer, &[0, 0x13], &len, &datagram, &[0; 3]].concat()
    };
    for datagram in [indication(0x16), indication(0x17), datagram.clone(), channel, capwap] {
        assert_eq!(hello_sender(&datagram), Some(Side::Client));
        let mut flow_under_test = TestFlow::default();
        flow_under_test.client(&datagram);
        assert_eq!(flow_under_test.found.len(), 1);
    }
}

#[test]
fn message_type_identifies_sender() {
    let body = client_hello(1, b"");
    let first = unfragmented(CLIENT_HELLO, 0, &body);
    let with = |position: usize, byte: u8| {
        let mut datagram = first.clone();
        datagram[position] = byte;
        datagram
    };
    let cases = [
        (first.clone(), Some(Side::Client)),
        (record(22, 0, &fragment(CLIENT_HELLO, 0, &body, 20, 30)), Some(Side::Client)),
        (unfragmented(SERVER_HELLO, 0, &server_hello([9; 32])), Some(Side::Server)),
        (unfragmented(3, 0, b"\xfe\xff\x04cook"), Some(Side::Server)),
        (with(2, 0xff), Some(Side::Client)),
        (with(0, 23), None),
        (with(1, 3), None),
        (with(4, 1), None),
        (with(13, 11), None),
        (first[..20].to_vec(), None),
    ];
    for (datagram, sender) in cases {
        assert_eq!(hello_sender(&datagram), sender, "{datagram:02x?}");
    }
}

#[test]
fn ignores_contradictory_lengths() {
    let body = client_hello(1, b"");
    let good = fragment(CLIENT_HELLO, 0, &body, 0, body.len());
    let with = |position: usize, bytes: &[u8]| {
        let mut fragment = good.clone();
        fragment[position..position + bytes.len()].copy_from_slice(bytes);
        record(22, 0, &fragment)
    };
    let malformed = [
        with(1, &[0xff; 3]),
        with(1, &[0, 0, 33]),
        with(1, &[2, 0, 0]),
        with(6, &[0, 0, 1]),
        with(6, &[0xff; 3]),
        with(9, &[0xff; 3]),
        with(9, &[0, 0, 0]),
        record(22, 0, &good)[..13].to_vec(),
    ];
    for datagram in malformed {
        let mut flow_under_test = TestFlow::default();
        flow_under_test.client(&datagram);
        assert_eq!(flow_under_test.found.len(), 0, "{datagram:02x?}");
        flow_under_test.client(&record(22, 0, &good));
        assert_eq!(flow_under_test.found.len(), 1, "after {datagram:02x?}");
    }
}

#[test]
fn incomplete_hellos_are_bounded() {
    let body = vec![7; 100_000];
    let mut flow_under_test = TestFlow::default();
    for round in 0..3000_u16 {
        let start = 100 + usize::from(round) * 30;
        flow_under_test.client(&record(22, 0, &fragment(CLIENT_HELLO, 0, &body, start, start + 1)));
    }
    assert!(flow_under_test.flow.buffered_bytes() < 80_000, "{}", flow_under_test.flow.buffered_bytes());
    assert!(flow_under_test.counters.refused > 800, "{:?}", flow_under_test.counters);
    for seq in 1..3000 {
        flow_under_test.client(&record(22, 0, &fragment(CLIENT_HELLO, seq, &body, 0, 60)));
    }
    assert!(flow_under_test.flow.buffered_bytes() < 1000, "{}", flow_under_test.flow.buffered_bytes());
    assert!(flow_under_test.found.is_empty());
}

/// Fragments for the same bytes; a server may read either.
#[test]
fn other_content_of_same_bytes_is_conflict() {
    let (decoy, real) = (client_hello(7, &[1; 60]), client_hello(7, &[2; 60]));
    let part = |body: &[u8], start, end| record(22, 0, &fragment(CLIENT_HELLO, 0, body, start, end));
    let end = decoy.len();
    let whole = |body: &[u8]| part(body, 0, end);
    for datagrams in [
        vec![whole(&decoy), whole(&real)],
        vec![[whole(&decoy), whole(&real)].concat()],
        vec![part(&decoy, 0, 50), part(&real, 0, 50), part(&decoy, 50, end), part(&real, 50, end)],
        vec![part(&decoy, 50, end), part(&real, 0, 60), part(&real, 50, end), part(&decoy, 0, 60)],
    ] {
        let mut run = TestFlow::default();
        datagrams.iter().for_each(|datagram| run.client(datagram));
        for body in [&decoy, &real] {
            let hello = (Side::Client, message(CLIENT_HELLO, body), true);
            assert!(run.found.contains(&hello), "{} datagrams", datagrams.len());
        }
        assert_eq!(run.conflicts, run.found.len() - 1);
    }
}

/// A server discards records that it cannot decrypt.
#[test]
fn encrypted_record_does_not_hide_next_record() {
    let hello = client_hello(7, &[]);
    for (kind, epoch) in [(23, 0), (23, 1), (22, 1)] {
        let mut run = TestFlow::default();
        run.client(&[record(kind, epoch, &[0; 40]), unfragmented(CLIENT_HELLO, 0, &hello)].concat());
        assert_eq!(run.found.len(), 1, "{kind} {epoch}");
    }
}

proptest! {
    /// Splits the hello of a recorded dialogue into overlapping and repeated fragments in any order, several per
    /// datagram.
    #[test]
    fn overlapping_fragments_yield_hello_once(
        cuts in prop::collection::vec((0..215_usize, 1..60_usize), 0..20),
        order in Just((0..43_usize).collect::<Vec<_>>()).prop_shuffle(),
        in_a_record in 1..4_usize,
    ) {
        let body: Vec<u8> = dialogue(DTLS)[..2].iter().flat_map(|(_, datagram)| datagram[25..].to_vec()).collect();
        prop_assert_eq!(body.len(), 0xdf);
        let mut pieces: Vec<_> = cuts.iter().map(|(start, len)| (*start, (start + len).min(body.len()))).collect();
        pieces.extend(order.iter().map(|n| (n * 5, n * 5 + 5)));
        pieces.extend([(215, body.len())]);
        let mut flow_under_test = TestFlow::default();
        for pieces in pieces.chunks(in_a_record) {
            let fragments: Vec<u8> = pieces
                .iter()
                .flat_map(|(start, end)| fragment(CLIENT_HELLO, 0, &body, *start, *end))
                .collect();
            flow_under_test.client(&record(22, 0, &fragments));
        }
        prop_assert_eq!(&flow_under_test.found, &[(Side::Client, message(CLIENT_HELLO, &body), false)]);
        prop_assert_eq!(flow_under_test.counters, DatagramCounters::default());
        prop_assert!(flow_under_test.flow.buffered_bytes() < 2 * body.len() + 300, "until the server answers");
        flow_under_test.server(&unfragmented(SERVER_HELLO, 0, &server_hello([5; 32])));
        prop_assert_eq!(flow_under_test.flow.buffered_bytes(), 0);
    }
}
