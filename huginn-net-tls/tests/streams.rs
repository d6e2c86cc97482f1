//! Hellos in TCP streams, however those are cut, ordered and begun.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_core::{Counters, Event, FlowLimits, Frame, LinkType, Side, TcpFlags, Timestamp};
use huginn_net_tls::{HuginnNetTls, TlsCounters, TlsEvent};
use proptest::prelude::*;

/// What curl 7.88.1 with OpenSSL 3.0 sends, from `captures/tls-curl.pcap`.
const CURL: &[u8] = include_bytes!("../hellos/curl-openssl.bin");
/// By the definition, from tshark's account of it (`captures/tls-curl.ja4`).
const CURL_JA4: &str = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6";

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);

/// A TCP connection of which segments are shown to an analyzer, in any order.
struct Connection {
    analyzer: HuginnNetTls,
    events: Vec<Event<TlsEvent>>,
    client: ([u8; 4], u16),
    /// The sequence numbers of the SYNs of client and server.
    first: [u32; 2],
}

impl Connection {
    /// A connection whose SYN and SYN+ACK are seen.
    fn open(first: [u32; 2]) -> Self {
        let mut connection = Self::in_the_middle(first);
        connection.syns();
        connection
    }

    fn in_the_middle(first: [u32; 2]) -> Self {
        let analyzer = HuginnNetTls::builder().build();
        Self { analyzer, events: Vec::new(), client: CLIENT, first }
    }

    fn syns(&mut self) {
        let [client, server] = self.first;
        self.send(Side::Client, TcpFlags::SYN, client, 0, b"");
        self.send(Side::Server, TcpFlags::SYN | TcpFlags::ACK, server, client.wrapping_add(1), b"");
    }

    /// A segment at this offset of what a side sends, with an acknowledgement up to another.
    fn segment(&mut self, side: Side, offset: usize, acknowledged: usize, payload: &[u8]) {
        let [client, server] = self.first.map(|first| first.wrapping_add(1));
        let (seq, ack) = match side {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let (seq, ack) = (seq.wrapping_add(offset as u32), ack.wrapping_add(acknowledged as u32));
        self.send(side, TcpFlags::ACK, seq, ack, payload);
    }

    /// An IPv4 packet with a TCP segment (RFC 791, RFC 9293).
    fn send(&mut self, side: Side, flags: TcpFlags, seq: u32, ack: u32, payload: &[u8]) {
        let (src, dst) = match side {
            Side::Client => (self.client, SERVER),
            Side::Server => (SERVER, self.client),
        };
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0];
        packet.extend([src.0, dst.0].concat());
        packet.extend([src.1.to_be_bytes(), dst.1.to_be_bytes()].concat());
        packet.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
        packet.extend([0x50, flags.bits() as u8, 0x20, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        let frame = Frame {
            ts: Timestamp::new(1, 0, 6),
            link: LinkType::RAW,
            data: &packet,
            wire_len: u32::from(length),
        };
        assert!(self.analyzer.push(&frame, &mut self.events).is_continue());
    }

    /// Sends all of it in segments of 1,400 bytes.
    fn say(&mut self, side: Side, offset: usize, acknowledged: usize, bytes: &[u8]) {
        for (n, piece) in bytes.chunks(1400).enumerate() {
            self.segment(side, offset + n * 1400, acknowledged, piece);
        }
    }

    /// What was found: by whom, its JA4 or cipher, and whether it is a second hello.
    fn found(&self) -> Vec<(Side, String, bool)> {
        let describe = |event: &Event<TlsEvent>| match &event.kind {
            TlsEvent::Client(client) => (event.subject, client.hello.ja4().to_string(), client.retry),
            TlsEvent::Server(server) => (
                event.subject,
                format!("{:04x}", server.hello.cipher_suite()),
                server.hello.is_retry_request(),
            ),
            other => panic!("{other:?}"),
        };
        self.events.iter().map(describe).collect()
    }

    fn counters(&self) -> (Counters, TlsCounters) {
        (self.analyzer.counters(), self.analyzer.protocol().counters())
    }
}

fn one_client() -> Vec<(Side, String, bool)> {
    vec![(Side::Client, CURL_JA4.to_owned(), false)]
}

/// A handshake message in records of `step` bytes.
fn records(message: &[u8], step: usize) -> Vec<u8> {
    message
        .chunks(step)
        .flat_map(|part| [&[22, 3, 3][..], &(part.len() as u16).to_be_bytes(), part].concat())
        .collect()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32).to_be_bytes()[1..], body].concat()
}

/// A ServerHello of TLS 1.3 that chose cipher suite 1301 (RFC 8446, section 4.1.3), in a record.
fn server_hello(random: [u8; 32]) -> Vec<u8> {
    let body = [&[3, 3][..], &random, &[0, 0x13, 0x01, 0, 0, 6, 0, 0x2b, 0, 2, 3, 4]].concat();
    records(&message(2, &body), 1 << 14)
}

/// The random of a HelloRetryRequest (RFC 8446, section 4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

#[test]
fn cut_at_every_byte_and_in_both_orders() {
    for cut in 1..CURL.len() {
        for swapped in [false, true] {
            let mut connection = Connection::open([u32::MAX - 100, 7]);
            let mut pieces = [(0, &CURL[..cut]), (cut, &CURL[cut..])];
            if swapped {
                pieces.reverse();
            }
            for (offset, piece) in pieces {
                connection.segment(Side::Client, offset, 0, piece);
            }
            assert_eq!(connection.found(), one_client(), "cut at {cut}, swapped: {swapped}");
        }
    }
}

proptest! {
    /// Any cuts, any order, pieces twice and pieces that overlap; sequence numbers that may wrap; behind a preamble.
    #[test]
    fn however_it_is_cut_ordered_and_repeated(
        first in any::<u32>(),
        step in 1..1600_usize,
        in_records in 1..700_usize,
        preamble in prop::sample::select(vec![&b""[..], b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", b"PROXY UNKNOWN\r\n"]),
        extra in prop::collection::vec((any::<prop::sample::Index>(), 1..300_usize), 0..12),
        order in prop::collection::vec(any::<u32>(), 1200),
    ) {
        let stream = [preamble, &records(&CURL[5..], in_records)].concat();
        let mut pieces: Vec<(usize, &[u8])> =
            stream.chunks(step).enumerate().map(|(n, piece)| (n * step, piece)).collect();
        pieces.extend(extra.iter().map(|(start, len)| {
            let start = start.index(stream.len());
            (start, &stream[start..stream.len().min(start + len)])
        }));
        let mut keyed: Vec<_> = pieces.into_iter().zip(order.into_iter().cycle()).collect();
        keyed.sort_by_key(|(_, key)| *key);
        let mut connection = Connection::open([first, 0]);
        for ((offset, piece), _) in keyed {
            connection.segment(Side::Client, offset, 0, piece);
        }
        prop_assert_eq!(connection.found(), one_client());
    }

    /// Whatever both sides say, nothing breaks, and what is held has a limit.
    #[test]
    fn any_bytes_do_no_harm(
        segments in prop::collection::vec(
            (any::<bool>(), 0..300_000_usize, 0..300_000_usize, prop::collection::vec(any::<u8>(), 0..200)), 0..60
        ),
        head in prop::sample::select(vec![&b""[..], &[22, 3, 1, 2, 0, 1, 0], &[0x80, 0x2e, 1, 3, 1], &[22, 3, 3, 0, 1]]),
    ) {
        let mut connection = Connection::open([1, 2]);
        connection.segment(Side::Client, 0, 0, head);
        for (server, offset, acknowledged, bytes) in segments {
            let side = if server { Side::Server } else { Side::Client };
            connection.segment(side, offset, acknowledged, &bytes);
        }
        prop_assert!(connection.counters().0.flows.held_bytes < 1 << 20);
    }
}

/// Dialogues after which TLS begins: what is said in turn, the client first unless it says nothing.
const DIALOGUES: [(&str, &[&[u8]]); 16] = [
    (
        "CONNECT (RFC 9110, section 9.3.6)",
        &[b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
    ),
    ("SOCKS4", &[&[4, 1, 1, 0xbb, 192, 0, 2, 1, b'u', 0], &[0, 90, 1, 0xbb, 192, 0, 2, 1]]),
    ("SOCKS4A", &[b"\x04\x01\x01\xbb\0\0\0\x01u\0a.example\0", &[0, 90, 0, 0, 0, 0, 0, 0]]),
    (
        "SOCKS5 (RFC 1928)",
        &[&[5, 1, 0], &[5, 0], b"\x05\x01\0\x03\x09a.example\x01\xbb", &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]],
    ),
    ("PROXY protocol 1", &[b"PROXY TCP4 192.0.2.1 192.0.2.2 22 443\r\n"]),
    (
        "PROXY protocol 2",
        &[b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x16\x03\x01\xbb"],
    ),
    (
        "SMTP (RFC 3207)",
        &[b"", b"220 a\r\n", b"EHLO b\r\n", b"250-a\r\n250 STARTTLS\r\n", b"STARTTLS\r\n", b"220 go\r\n"],
    ),
    ("IMAP (RFC 9051)", &[b"", b"* OK\r\n", b"a1 STARTTLS\r\n", b"a1 OK\r\n"]),
    ("POP3 (RFC 2595)", &[b"", b"+OK\r\n", b"STLS\r\n", b"+OK\r\n"]),
    ("FTP (RFC 4217)", &[b"", b"220 a\r\n", b"AUTH TLS\r\n", b"234 go\r\n"]),
    (
        "LDAP (RFC 4511, section 4.14)",
        &[
            b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037",
            b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\0\x04\0\x04\0",
        ],
    ),
    ("PostgreSQL, SSLRequest", &[&[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f], b"S"]),
    (
        "MySQL, SSLRequest",
        &[
            b"",
            b"\x4a\0\0\x0a8.0.16\0\x03\x01\0\0",
            &[
                32, 0, 0, 1, 5, 0xae, 3, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0,
            ],
        ],
    ),
    (
        "XMPP (RFC 6120, section 5)",
        &[
            b"<stream:stream>",
            b"<stream:features><starttls/></stream:features>",
            b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
            b"<proceed/>",
        ],
    ),
    (
        "RDP (MS-RDPBCGR, section 2.2.1.1)",
        &[
            b"\x03\0\0\x13\x0e\xe0\0\0\0\0\0\x01\0\x08\0\x03\0\0\0",
            b"\x03\0\0\x13\x0e\xd0\0\0\x12\x34\0\x02\0\x08\0\x02\0\0\0",
        ],
    ),
    ("a record header that is none", &[&[22, 3, 1, 0, 4, 1, 22, 3, 1, 0, 22, 22, 3]]),
];

#[test]
fn after_any_dialogue_that_leads_to_tls() {
    for (name, turns) in DIALOGUES {
        for step in [1, 3, 1400] {
            let mut connection = Connection::open([99, u32::MAX]);
            let mut sent = [0, 0];
            let mut say = |side: Side, bytes: &[u8]| {
                let [mine, theirs] = match side {
                    Side::Client => [0, 1],
                    Side::Server => [1, 0],
                };
                for piece in bytes.chunks(step) {
                    connection.segment(side, sent[mine], sent[theirs], piece);
                    sent[mine] += piece.len();
                }
            };
            for (turn, side) in turns.iter().zip([Side::Client, Side::Server].into_iter().cycle()) {
                say(side, turn);
            }
            say(Side::Client, CURL);
            say(Side::Server, &server_hello([5; 32]));
            let expected = [one_client(), vec![(Side::Server, "1301".to_owned(), false)]].concat();
            assert_eq!(connection.found(), expected, "{name} in steps of {step}");
        }
    }
}

/// A ClientHello with `len` bytes of padding in extensions (RFC 7685) of at most 60,000, and nothing else.
fn long_hello(len: usize) -> Vec<u8> {
    let mut body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 0x01, 1, 0]].concat();
    body.extend((len as u16 + 4).to_be_bytes());
    body.extend([0, 21]);
    body.extend((len as u16).to_be_bytes());
    body.resize(body.len() + len, 0);
    message(1, &body)
}

#[test]
fn a_hello_of_more_than_one_record_and_one_in_records_of_a_byte() {
    for (len, step) in [(20_000, 1 << 14), (65_000, 1 << 14), (2_000, 1)] {
        let mut connection = Connection::open([0, 0]);
        connection.say(Side::Client, 0, 0, &records(&long_hello(len), step));
        assert_eq!(connection.found().len(), 1, "{len} bytes in records of {step}");
    }
}

#[test]
fn a_second_hello_is_one_that_the_server_asked_for() {
    let mut connection = Connection::open([0, 0]);
    let ccs = [20, 3, 3, 0, 1, 1];
    connection.segment(Side::Client, 0, 0, CURL);
    let retry = server_hello(RETRY);
    connection.segment(Side::Server, 0, CURL.len(), &retry);
    connection.segment(Side::Client, CURL.len(), retry.len(), &ccs);
    connection.segment(Side::Client, CURL.len() + ccs.len(), retry.len(), CURL);
    connection.segment(Side::Server, retry.len(), 0, &server_hello([5; 32]));
    let [client, server] = [CURL_JA4, "1301"].map(str::to_owned);
    let expected = [
        (Side::Client, client.clone(), false),
        (Side::Server, server.clone(), true),
        (Side::Client, client, true),
        (Side::Server, server, false),
    ];
    assert_eq!(connection.found(), expected);
}

/// A hello with the extension early_data (RFC 8446, section 4.2.10).
fn early_hello() -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 0x01, 1, 0, 0, 4, 0, 42, 0, 0]].concat();
    records(&message(1, &body), 1 << 14)
}

#[test]
fn early_data_does_not_hide_the_second_hello() {
    let data = [&[23, 3, 3, 0x3e, 0x80][..], &[0xaa; 16_000]].concat();
    for (hello, hellos) in [(early_hello(), 2), (CURL.to_vec(), 1)] {
        let mut connection = Connection::open([0, 0]);
        connection.say(Side::Client, 0, 0, &[&hello[..], &data, &hello].concat());
        assert_eq!(connection.found().len(), hellos);
    }
}

#[test]
fn a_connection_may_be_met_in_the_middle() {
    let mut connection = Connection::in_the_middle([500, 600]);
    connection.segment(Side::Client, 2000, 70, b"NOOP\r\n");
    assert_eq!(connection.counters().0.flows.opened, 0);
    connection.segment(Side::Client, 3000, 70, CURL);
    // The client said what it has of the server: the second half comes first.
    let hello = server_hello([5; 32]);
    connection.segment(Side::Server, 70 + 30, 0, &hello[30..]);
    connection.segment(Side::Server, 70, 0, &hello[..30]);
    assert_eq!(connection.found(), [one_client(), vec![(Side::Server, "1301".to_owned(), false)]].concat());

    let mut connection = Connection::in_the_middle([500, 600]);
    connection.segment(Side::Server, 0, 70, &server_hello([5; 32]));
    assert_eq!(connection.found(), [(Side::Server, "1301".to_owned(), false)]);
    assert_eq!(connection.events[0].flow.client.port(), CLIENT.1);
}

#[test]
fn what_the_capture_lacks_of_a_dialogue_does_not_hide_tls() {
    let mut connection = Connection::open([0, 0]);
    let connect = b"CONNECT a.example:443 HTTP/1.1\r\n\r\n";
    connection.segment(Side::Client, 0, 0, connect);
    // The answer, 95 bytes, is not in the capture; the client has it.
    connection.segment(Side::Client, connect.len(), 95, CURL);
    connection.segment(Side::Server, 95, connect.len() + CURL.len(), &server_hello([5; 32]));
    assert_eq!(connection.found().len(), 2);
    assert_eq!(connection.counters().1.tcp.gaps, 1);
}

#[test]
fn a_gap_before_more_than_can_be_held_is_given_up() {
    let mut connection = Connection::open([0, 0]);
    let data = vec![0; 130_000];
    connection.say(Side::Client, 10, 0, &data);
    assert_eq!(connection.counters().1.tcp.gaps, 1);
    assert!(connection.counters().0.flows.held_bytes < 1 << 18);
}

#[test]
fn hellos_that_are_never_whole_are_held_within_the_limit() {
    let mut connection = Connection::in_the_middle([0, 0]);
    let limits = FlowLimits { max_held_bytes: 1 << 20, ..FlowLimits::default() };
    connection.analyzer = HuginnNetTls::builder().flow_limits(limits).build();
    for n in 0..5000_u16 {
        connection.client = ([10, 0, (n >> 8) as u8, n as u8], 40_000);
        connection.syns();
        connection.segment(Side::Client, 0, 0, &records(&long_hello(60_000), 1 << 14)[..1400]);
    }
    let counters = connection.counters().0;
    assert!(counters.flows.held_bytes <= 1 << 20, "{counters:?}");
    assert!(counters.flows.evicted_for_memory > 4000, "{counters:?}");
    connection.segment(Side::Client, 1400, 0, &records(&long_hello(60_000), 1 << 14)[1400..2800]);
    assert_eq!(connection.found(), []);
}

#[test]
fn what_is_not_tls_is_left_alone_after_a_while() {
    let mut connection = Connection::open([0, 0]);
    for side in [Side::Client, Side::Server] {
        connection.say(side, 0, 0, &[0x16; 40_000]);
    }
    connection.segment(Side::Client, 40_000, 40_000, CURL);
    assert_eq!(connection.found(), []);
    assert_eq!(connection.counters().0.flows.held_bytes, 0);
}
