//! Exchanges in TCP connections with any segmentation, order and start.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../../huginn-net-core/tests/packet/mod.rs"]
mod packet;

use self::packet::Endpoint;
use huginn_net_core::{Event, Side, TcpFlags};
use huginn_net_http::{HttpEvent, HuginnNetHttp};
use proptest::prelude::*;

const CLIENT: Endpoint = ([10, 0, 0, 1], 40_000);
const SERVER: Endpoint = ([192, 0, 2, 1], 8123);

/// A TCP connection that sends its segments to an analyzer, in any order.
struct Connection {
    analyzer: HuginnNetHttp,
    events: Vec<Event<HttpEvent>>,
    /// Bytes that the client and the server have sent.
    sent_bytes: [usize; 2],
}

impl Connection {
    /// Opens a connection with SYN and SYN+ACK. Both sequence numbers wrap after 50 bytes.
    fn open() -> Self {
        let mut connection = Self::midstream();
        connection.send(Side::Client, TcpFlags::SYN, INITIAL_SEQ, 0, b"");
        connection.send(
            Side::Server,
            TcpFlags::SYN | TcpFlags::ACK,
            INITIAL_SEQ,
            INITIAL_SEQ.wrapping_add(1),
            b"",
        );
        connection
    }

    fn midstream() -> Self {
        Self { analyzer: HuginnNetHttp::builder().build(), events: Vec::new(), sent_bytes: [0, 0] }
    }

    /// Sends a segment at this stream offset, which acknowledges all bytes of the peer.
    fn segment(&mut self, side: Side, offset: usize, payload: &[u8]) {
        let at = |offset: usize| INITIAL_SEQ.wrapping_add(1).wrapping_add(offset as u32);
        let peer_bytes = self.sent_bytes[index(side.peer())];
        self.send(side, TcpFlags::ACK, at(offset), at(peer_bytes), payload);
    }

    fn send_data(&mut self, side: Side, bytes: &[u8]) {
        for piece in bytes.chunks(1400) {
            self.segment(side, self.sent_bytes[index(side)], piece);
            self.sent_bytes[index(side)] += piece.len();
        }
    }

    /// Sends a segment to the analyzer.
    fn send(&mut self, side: Side, flags: TcpFlags, seq: u32, ack: u32, payload: &[u8]) {
        let (src, dst) = if side == Side::Client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let packet = packet::tcp(src, dst, flags, [seq, ack], &[], payload);
        assert!(
            self.analyzer.push(&packet::frame(1, &packet), |event| self.events.push(event)).is_continue()
        );
    }

    /// Describes the events: `C` or `S`, the number of the exchange, the target or status, and the version.
    fn found(&self) -> Vec<String> {
        let describe = |event: &Event<HttpEvent>| {
            let side = if event.subject == Side::Client { 'C' } else { 'S' };
            match &event.kind {
                HttpEvent::Request(found) => {
                    let target = String::from_utf8(found.request.target().to_vec()).unwrap();
                    format!("{side}{} {target} {}", found.exchange, found.request.version())
                }
                HttpEvent::Response(found) => {
                    format!(
                        "{side}{} {} {}",
                        found.exchange,
                        found.response.status().unwrap(),
                        found.response.version()
                    )
                }
                other => panic!("{other:?}"),
            }
        };
        self.events.iter().map(describe).collect()
    }
}

const INITIAL_SEQ: u32 = u32::MAX - 50;

fn index(side: Side) -> usize {
    usize::from(side == Side::Server)
}

const REQUESTS: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n\
    POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\nGET /fake HTTP/1.1\r\nHost: x\r\n\r\n\r\n0\r\n\r\n\
    HEAD /c HTTP/1.1\r\nHost: h\r\n\r\n";
const RESPONSES: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\nHTTP/1.1 500 Fake\r\n\
    HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n\0\xff\n\r\n0\r\nT: v\r\n\r\n\
    HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n";

fn requests() -> Vec<String> {
    ["C0 /a 1.1", "C1 /b 1.1", "C2 /c 1.1"].map(str::to_owned).to_vec()
}

fn responses() -> Vec<String> {
    ["S0 200 1.1", "S1 100 1.1", "S1 201 1.1", "S2 304 1.1"].map(str::to_owned).to_vec()
}

#[test]
fn reports_pipelined_exchanges_and_skips_bodies() {
    let mut connection = Connection::open();
    connection.send_data(Side::Client, REQUESTS);
    connection.send_data(Side::Server, RESPONSES);
    assert_eq!(connection.found(), [requests(), responses()].concat());
    let counters = connection.analyzer.protocol().counters().parser;
    assert_eq!((counters.requests, counters.responses), (3, 4));
}

proptest! {
    #[test]
    fn segmentation_order_and_repetition_change_nothing(
        step in 1..60_usize,
        extra in prop::collection::vec((any::<prop::sample::Index>(), 1..40_usize), 0..8),
        order in prop::collection::vec(any::<u32>(), 300),
    ) {
        let mut pieces: Vec<(usize, &[u8])> =
            REQUESTS.chunks(step).enumerate().map(|(n, piece)| (n * step, piece)).collect();
        pieces.extend(extra.iter().map(|(start, len)| {
            let start = start.index(REQUESTS.len());
            (start, &REQUESTS[start..REQUESTS.len().min(start + len)])
        }));
        let mut keyed: Vec<_> = pieces.into_iter().zip(order).collect();
        keyed.sort_by_key(|(_, key)| *key);
        let mut connection = Connection::open();
        for ((offset, piece), _) in keyed {
            connection.segment(Side::Client, offset, piece);
        }
        connection.sent_bytes[0] = REQUESTS.len();
        connection.send_data(Side::Server, RESPONSES);
        prop_assert_eq!(connection.found(), [requests(), responses()].concat());
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        segments in prop::collection::vec(
            (any::<bool>(), 0..200_000_usize, prop::collection::vec(any::<u8>(), 0..200)), 0..60
        ),
        head in prop::sample::select(vec![&b""[..], b"GET / HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x05\x01\0"]),
    ) {
        let mut connection = Connection::open();
        connection.send_data(Side::Client, head);
        for (server, offset, bytes) in segments {
            connection.segment(if server { Side::Server } else { Side::Client }, offset, &bytes);
        }
        prop_assert!(connection.analyzer.counters().flows.buffered_bytes < 1 << 20);
    }
}

/// Builds an HTTP/2 frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream][..], payload].concat()
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Builds the request `GET http /` on a stream, from the static table (RFC 7541, appendix A).
fn h2_request(stream: u8) -> Vec<u8> {
    frame(1, 5, stream, &[0x82, 0x86, 0x84])
}

/// Builds a response with `:status: 200`.
fn h2_response(stream: u8) -> Vec<u8> {
    frame(1, 5, stream, &[0x88])
}

#[test]
fn http2_prior_knowledge_with_server_first() {
    for step in [1, 5, 1400] {
        let mut connection = Connection::open();
        connection.send_data(Side::Server, &frame(4, 0, 0, b""));
        let client =
            [PREFACE, &frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]), &h2_request(1), &h2_request(3)].concat();
        for piece in client.chunks(step) {
            connection.send_data(Side::Client, piece);
        }
        connection.send_data(Side::Server, &[h2_response(3), h2_response(1)].concat());
        assert_eq!(connection.found(), ["C1 / 2", "C3 / 2", "S3 200 2", "S1 200 2"], "in steps of {step}");
        for event in &connection.events[..2] {
            let HttpEvent::Request(found) = &event.kind else { panic!("{event:?}") };
            assert_eq!(found.akamai.as_ref().unwrap().to_string(), "3:100|00|0|m,s,p");
        }
    }
}

/// The client's side is not captured: with the server's SYN+ACK, or without.
#[test]
fn http2_server_is_read_without_its_client() {
    for has_handshake in [true, false] {
        let mut connection = Connection::midstream();
        if has_handshake {
            connection.send(Side::Server, TcpFlags::SYN | TcpFlags::ACK, INITIAL_SEQ, 1, b"");
        }
        connection.send_data(Side::Server, &frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]));
        connection.send_data(Side::Server, &[h2_response(1), h2_response(3)].concat());
        assert_eq!(connection.found(), ["S1 200 2", "S3 200 2"]);
    }
    let mut without_settings = Connection::midstream();
    without_settings.send(Side::Server, TcpFlags::SYN | TcpFlags::ACK, INITIAL_SEQ, 1, b"");
    for data in [frame(4, 0, 0, b""), frame(4, 1, 0, b""), h2_response(1)] {
        without_settings.send_data(Side::Server, &data);
    }
    assert_eq!(without_settings.found(), ["S1 200 2"]);
}

#[test]
fn http2_upgrade_keeps_request_settings() {
    let mut connection = Connection::open();
    connection.send_data(
        Side::Client,
        b"GET /up HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
          HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
    );
    let server =
        [&b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"[..], &frame(4, 0, 0, b"")].concat();
    connection.send_data(Side::Server, &server);
    connection.send_data(Side::Client, &[PREFACE, &frame(4, 0, 0, b""), &h2_request(3)].concat());
    connection.send_data(Side::Server, &[h2_response(1), h2_response(3)].concat());
    assert_eq!(connection.found(), ["C0 /up 1.1", "S0 101 1.1", "C3 / 2", "S1 200 2", "S3 200 2"]);
}

#[test]
fn http2_upgrade_does_not_depend_on_segments() {
    let request = b"GET /up HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\n\r\n";
    let answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
    let settings = frame(4, 0, 0, b"");
    let client = [PREFACE, &settings, &h2_request(3)].concat();
    let server = [&answer[..], &settings, &h2_response(1), &h2_response(3)].concat();
    for cut in 1..server.len() {
        for is_client_first in [false, true] {
            if is_client_first && cut + 1 < answer.len() {
                continue; // Clients wait for the answer.
            }
            let mut connection = Connection::open();
            connection.send_data(Side::Client, request);
            connection.send_data(Side::Server, &server[..cut]);
            let (client, server) = ((Side::Client, &*client), (Side::Server, &server[cut..]));
            let rest = if is_client_first { [client, server] } else { [server, client] };
            rest.into_iter().for_each(|(side, bytes)| connection.send_data(side, bytes));
            let mut found = connection.found();
            found.sort_unstable();
            assert_eq!(found, ["C0 /up 1.1", "C3 / 2", "S0 101 1.1", "S1 200 2", "S3 200 2"], "{cut}");
        }
    }
}

/// HTTP/2 with prior knowledge (RFC 9113, section 3.3) may follow a proxy prefix or start in a tunnel.
#[test]
fn http2_prior_knowledge_after_first_bytes() {
    type SentData = &'static [(Side, &'static [u8])];
    let starts: &[(SentData, &[&str])] = &[
        (&[(Side::Client, b"PROXY TCP4 192.0.2.7 192.0.2.8 1025 80\r\n")], &[]),
        (&[(Side::Client, b"\x04\x01\0\x50\x01\x01\x01\x01u\0"), (Side::Server, b"\0\x5a\0\0\0\0\0\0")], &[]),
        (
            &[
                (Side::Client, &[5, 1, 0]),
                (Side::Server, &[5, 0]),
                (Side::Client, &[5, 1, 0, 1, 1, 1, 1, 1, 0, 80]),
                (Side::Server, &[5, 0, 0, 1, 1, 1, 1, 1, 0, 80]),
            ],
            &[],
        ),
        (
            &[(Side::Client, b"CONNECT a:80 HTTP/1.1\r\n\r\n"), (Side::Server, b"HTTP/1.1 200 OK\r\n\r\n")],
            &["C0 a:80 1.1", "S0 200 1.1"],
        ),
    ];
    let client = [PREFACE, &frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]), &h2_request(1)].concat();
    let settings = frame(4, 0, 0, b"");
    for (start, before) in starts {
        for (step, server_first) in [(1, false), (1400, false), (3, true)] {
            let mut connection = Connection::open();
            start.iter().for_each(|(side, bytes)| connection.send_data(*side, bytes));
            if server_first {
                connection.send_data(Side::Server, &settings);
            }
            client.chunks(step).for_each(|piece| connection.send_data(Side::Client, piece));
            if !server_first {
                connection.send_data(Side::Server, &settings);
            }
            connection.send_data(Side::Server, &h2_response(1));
            connection.send_data(Side::Client, &h2_request(3));
            let expected = [before, &["C1 / 2", "S1 200 2", "C3 / 2"][..]].concat();
            assert_eq!(connection.found(), expected, "{start:?} in steps of {step}");
            let HttpEvent::Request(found) = &connection.events.last().unwrap().kind else { panic!() };
            assert_eq!(found.akamai.as_ref().unwrap().to_string(), "3:100|00|0|m,s,p");
            assert_eq!(connection.analyzer.protocol().counters().parser.http2_given_up, 0);
        }
    }
}

#[test]
fn websocket_ends_http() {
    let mut connection = Connection::open();
    connection
        .send_data(Side::Client, b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n");
    connection.send_data(Side::Client, b"GET /fake HTTP/1.1\r\n\r\n");
    assert_eq!(connection.found(), ["C0 /ws 1.1", "S0 101 1.1"]);
}

#[test]
fn finds_heads_in_tunnel_and_after_prefix() {
    let mut connection = Connection::open();
    connection.send_data(Side::Client, b"CONNECT a.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 200 Connected\r\n\r\n");
    connection.send_data(Side::Client, b"GET /in HTTP/1.1\r\n\r\n");
    assert_eq!(connection.found(), ["C0 a.example:80 1.1", "S0 200 1.1", "C1 /in 1.1"]);

    let mut connection = Connection::open();
    connection.send_data(Side::Client, &[5, 1, 0]);
    connection.send_data(Side::Server, &[5, 0]);
    connection.send_data(Side::Client, b"\x05\x01\0\x03\x09a.example\0\x50");
    connection.send_data(Side::Server, &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    connection.send_data(Side::Client, b"GET /in HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 204 None\r\n\r\n");
    assert_eq!(connection.found(), ["C0 /in 1.1", "S0 204 1.1"]);
}

/// mitmproxy answers 502 after its ServerHello if the handshake fails, nginx 400 after an alert.
#[test]
fn answer_in_the_clear_after_tls_is_found() {
    let hello = [&[22, 3, 1, 0, 200][..], &[1; 200]].concat();
    let record = |kind: u8, len: u8| [&[kind, 3, 3, 0, len][..], &vec![b'H'; usize::from(len)]].concat();
    let answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    for (before, alert) in [
        (vec![record(22, 90)], vec![]),
        (vec![record(22, 90), record(22, 200), record(22, 4)], record(21, 2)),
        (vec![record(22, 90), record(20, 1), record(23, 250)], record(23, 19)),
        (vec![record(21, 2)], vec![]),
    ] {
        for step in [1, 7, 1000] {
            let mut connection = Connection::open();
            connection.send_data(Side::Client, &hello);
            before.concat().chunks(step).for_each(|piece| connection.send_data(Side::Server, piece));
            if !alert.is_empty() {
                connection.send_data(Side::Client, &alert);
            }
            answer.chunks(step).for_each(|piece| connection.send_data(Side::Server, piece));
            assert_eq!(connection.found(), ["S0 502 1.1"], "{before:?} in steps of {step}");
        }
    }
    // Data after an answer of the client end the search, and the parser.
    let mut connection = Connection::open();
    connection.send_data(Side::Client, &hello);
    connection.send_data(Side::Server, &[record(22, 90), record(20, 1), record(23, 250)].concat());
    connection.send_data(Side::Client, &record(23, 60));
    connection.send_data(Side::Server, &[&record(23, 100)[..], answer].concat());
    assert_eq!(connection.found(), [""; 0]);
}

#[test]
fn midstream_connection_is_parsed() {
    let mut connection = Connection::midstream();
    connection.send_data(Side::Client, b"half of a body");
    assert_eq!(connection.analyzer.counters().flows.opened, 0);
    connection.send_data(Side::Client, b"GET /late HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.0 200 OK\r\n\r\n");
    assert_eq!(connection.found(), ["C0 /late 1.1", "S0 200 1.0"]);

    let mut connection = Connection::midstream();
    connection.send_data(Side::Server, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(connection.found(), ["S0 404 1.1"]);
    assert_eq!(connection.events[0].flow.client.port(), CLIENT.1);

    let mut connection = Connection::midstream();
    connection.send_data(Side::Server, &exchange(0)[1].1);
    for (side, bytes) in (1..4).flat_map(exchange) {
        connection.send_data(side, &bytes);
    }
    assert_eq!(
        connection.found(),
        ["S0 200 1.1", "C1 /1 1.1", "S1 200 1.1", "C2 /2 1.1", "S2 200 1.1", "C3 /3 1.1", "S3 200 1.1"]
    );
}

#[test]
fn ignores_heads_in_body_after_gap() {
    let mut connection = Connection::open();
    connection.send_data(Side::Client, b"GET /a HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.sent_bytes[1] += 8; // the lost segment has the chunk size
    for _ in 0..5 {
        connection.send_data(Side::Server, b"HTTP/1.1 299 Fake\r\nContent-Length: 0\r\n\r\n");
    }
    connection.send_data(Side::Client, b"GET /b HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 404 Not Found\r\n\r\n");
    assert_eq!(connection.found(), ["C0 /a 1.1", "S0 200 1.1", "C1 /b 1.1", "S1 404 1.1"]);
}

/// The capture lacks the first response and the second request. The second response acknowledges the latter, so that it does not answer the
/// first request.
#[test]
fn response_to_a_lost_request_is_not_that_of_the_first() {
    let mut connection = Connection::open();
    connection.send_data(Side::Client, b"GET /0 HTTP/1.1\r\n\r\n");
    connection.sent_bytes[1] += 60;
    connection.sent_bytes[0] += 19;
    connection.send_data(Side::Server, b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
    connection.send_data(Side::Client, b"GET /2 HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(connection.found(), ["C0 /0 1.1", "S1 404 1.1", "C2 /2 1.1", "S2 200 1.1"]);
}

#[test]
fn gap_in_body_hides_no_later_head() {
    let mut connection = Connection::open();
    connection.send_data(Side::Client, b"GET /a HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    connection.sent_bytes[1] += 5000; // the capture misses the body
    connection.send_data(Side::Client, b"GET /b HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"HTTP/1.1 404 Not Found\r\n\r\n");
    assert_eq!(connection.found(), ["C0 /a 1.1", "S0 200 1.1", "C1 /b 1.1", "S1 404 1.1"]);
    assert_eq!(connection.analyzer.protocol().counters().streams.gaps, 1);
}

/// Builds the request with this number and its response. Request 3 is a HEAD.
fn exchange(number: usize) -> [(Side, Vec<u8>); 2] {
    let (method, body) = if number == 3 { ("HEAD", "") } else { ("GET", "hi") };
    let request = format!("{method} /{number} HTTP/1.1\r\nHost: a\r\n\r\n");
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}");
    [(Side::Client, request.into_bytes()), (Side::Server, response.into_bytes())]
}

/// Sends requests and responses alternately. `+` stands for a captured message, `-` for a missing one.
fn exchanges(connection: &mut Connection, captured: &str) {
    for (message, mark) in (0..).flat_map(exchange).zip(captured.bytes()) {
        let (side, bytes) = message;
        match mark {
            b'+' => connection.send_data(side, &bytes),
            _ => connection.sent_bytes[index(side)] += bytes.len(),
        }
    }
}

#[test]
fn matches_responses_to_requests_after_gap() {
    let table: &[(&str, &[&str])] = &[
        // The capture misses the second response, then the second request.
        (
            "+++-++++++",
            &[
                "C0 /0 1.1",
                "S0 200 1.1",
                "C1 /1 1.1",
                "C2 /2 1.1",
                "S2 200 1.1",
                "C3 /3 1.1",
                "S3 200 1.1",
                "C4 /4 1.1",
                "S4 200 1.1",
            ],
        ),
        (
            "++-+++++",
            &["C0 /0 1.1", "S0 200 1.1", "S1 200 1.1", "C2 /2 1.1", "S2 200 1.1", "C3 /3 1.1", "S3 200 1.1"],
        ),
    ];
    for (captured, expected) in table {
        let mut connection = Connection::open();
        exchanges(&mut connection, captured);
        assert_eq!(connection.found(), *expected, "{captured}");
    }
}

#[test]
fn drops_other_protocols_after_first_bytes() {
    let mut connection = Connection::open();
    connection.send_data(Side::Server, b"220 mail\r\n");
    connection.send_data(Side::Client, b"EHLO x\r\n");
    connection.send_data(Side::Client, b"GET / HTTP/1.1\r\n\r\n");
    connection.send_data(Side::Server, b"500 what\r\n");
    assert_eq!(connection.found(), [""; 0]);
    assert_eq!(connection.analyzer.counters().flows.buffered_bytes, 0);
}
