//! HTTP/1 connections from their bytes: which heads are found in them.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_http::http1::{Head, Http1Connection, Http1Counters, MAX_HEAD, Upgrade};
use huginn_net_http::{Error, Request, Response, Role};
use proptest::collection::vec;
use proptest::prelude::*;

/// A connection and what was found in it.
struct Seen {
    connection: Http1Connection,
    counters: Http1Counters,
    heads: Vec<String>,
}

impl Seen {
    fn new(connection: Http1Connection) -> Self {
        Self { connection, counters: Http1Counters::default(), heads: Vec::new() }
    }

    fn push(&mut self, direction: Role, bytes: &[u8]) {
        let heads = &mut self.heads;
        self.connection.push(direction, bytes, &mut self.counters, &mut |exchange, head| {
            heads.push(format!("{exchange} {}", summary(&head)));
        });
    }

    fn requests(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.push(Role::Request, bytes.as_ref());
        self
    }

    fn responses(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.push(Role::Response, bytes.as_ref());
        self
    }
}

fn summary(head: &Head) -> String {
    match head {
        Head::Request(request) => {
            format!("{} {}", request.method().escape_ascii(), request.target().escape_ascii())
        }
        Head::Response(response) => response.status().to_string(),
    }
}

fn connection() -> Seen {
    Seen::new(Http1Connection::new())
}

/// The heads of requests alone, or of responses alone.
fn heads_of(direction: Role, bytes: &[u8]) -> Vec<String> {
    let mut seen = connection();
    seen.push(direction, bytes);
    seen.heads
}

fn requests_of(bytes: &[u8]) -> Vec<String> {
    heads_of(Role::Request, bytes)
}

fn responses_of(bytes: &[u8]) -> Vec<String> {
    heads_of(Role::Response, bytes)
}

const NEXT: &[u8] = b"GET /next HTTP/1.1\r\n\r\n";
const NEXT_RESPONSE: &[u8] = b"HTTP/1.1 299 next\r\nContent-Length: 0\r\n\r\n";

/// RFC 9112, section 6.3, on where requests end: the request that follows is found.
#[test]
fn the_next_request_is_found_behind_any_body() {
    let bodies: &[&str] = &[
        "\r\n",
        "Content-Length: 0\r\n\r\n",
        "Content-Length: 5\r\n\r\nhello",
        "content-length:5 \r\n\r\nGET /",
        "Content-Length: 5, 5\r\nContent-Length: 05\r\n\r\nhello",
        "Content-Length: 23\r\n\r\nGET /body HTTP/1.1\r\n\r\n\0",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // RFC 9112, section 7.1: extensions and trailers.
        "Transfer-Encoding: chunked\r\n\r\n5;name=\"val\"\r\nhello\r\nA \r\n0123456789\r\n000\r\nDigest: x\r\nA: b\r\n\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: , CHUNKED \r\n\r\n1\nx\n0\n\n",
        // A transfer coding counts before a length.
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n16\r\nGET /body HTTP/1.1\r\n\r\n\r\n0\r\n\r\n",
        "Content-Length: 5\r\n\r\nhello\r\n\r\n",
    ];
    for body in bodies {
        let bytes = [b"POST /first HTTP/1.1\r\n", body.as_bytes(), NEXT].concat();
        assert_eq!(requests_of(&bytes), ["0 POST /first", "1 GET /next"], "{body:?}");
    }
}

#[test]
fn where_a_body_ends_cannot_be_known_the_next_piece_that_begins_with_a_head_counts() {
    let heads = [
        "Content-Length: 5, 6\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length:\r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nGET /no HTTP/1.1\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nab",
    ];
    for head in heads {
        let mut seen = connection();
        seen.requests(format!("POST /first HTTP/1.1\r\n{head}GET /unsure HTTP/1.1\r\n\r\n")).requests(NEXT);
        assert_eq!(seen.heads, ["0 POST /first", "1 GET /next"], "{head:?}");
        assert_eq!(seen.counters.times_lost, 1);
    }
}

/// RFC 9112, section 6.3, on where responses end, by what was asked.
#[test]
fn the_next_response_is_found_behind_any_body() {
    let exchanges: &[(&str, &str, &[&str])] = &[
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nHTTP", &["200"]),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", &["200"]),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &["200"]),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n", &["204"]),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n", &["304"]),
        (
            "GET",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            &["100", "103", "200"],
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nHTTP\r\n0\r\nX: y\r\n\r\n",
            &["200"],
        ),
        ("CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 1\r\n\r\nx", &["407"]),
        ("GET", "HTTP/1.1 500\r\nContent-Length: 0\r\n\r\n", &["500"]),
        ("GET", "HTTP/1.1 ???\r\nContent-Length: 0\r\n\r\n", &["0"]),
    ];
    for (method, response, statuses) in exchanges {
        let mut seen = connection();
        seen.requests(format!("{method} /a HTTP/1.1\r\n\r\n")).requests(NEXT);
        seen.heads.clear();
        seen.responses([response.as_bytes(), NEXT_RESPONSE].concat());
        let expected: Vec<String> =
            statuses.iter().map(|status| format!("0 {status}")).chain(["1 299".into()]).collect();
        assert_eq!(seen.heads, expected, "{method} {response}");
    }
}

#[test]
fn a_response_without_a_length_goes_on_until_the_connection_ends() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"] {
        let mut seen = connection();
        seen.requests(NEXT).responses(head).responses(NEXT_RESPONSE).requests(NEXT);
        assert_eq!(seen.heads, ["0 GET /next", "0 200", "1 GET /next"]);
        assert!(!seen.connection.is_done(), "requests may follow");
    }
}

#[test]
fn heads_as_lenient_as_they_are_found() {
    let request = |text: &str| Request::parse(text.as_bytes()).unwrap().unwrap();
    // RFC 9112, section 2.2: a bare LF; section 5.2: folding.
    let folded = request("GET / HTTP/1.1\nA: b\r\n\t c\n d\nHost:\te \n\n");
    assert_eq!(folded.header("a").map(<[u8]>::escape_ascii).unwrap().to_string(), r"b  \t c  d");
    assert_eq!(folded.host(), Some(&b"e"[..]));
    // What httparse refuses, by lines.
    let odd = request(
        "GET /a b\u{e9} HTTP/1.1\r\n first: 1\r\nno colon\r\nbad name : 2\r\n: 3\r\nctl: \u{1}\r\nX: \r4\r\n\r\n",
    );
    let fields: Vec<_> = odd.headers().iter().map(|header| (header.name, header.value())).collect();
    let expected: &[(&[u8], &[u8])] =
        &[(b"first", b"1"), (b"bad name", b"2"), (b"ctl", b"\x01"), (b"X", b"4")];
    assert_eq!(fields, expected);
    assert_eq!(odd.target(), "/a b\u{e9}".as_bytes());
    // A line that begins with CR is the empty one.
    assert_eq!(request("GET / HTTP/1.1\r\nA: b\r\n\rHost: c\r\n\r\n").headers().len(), 1);
}

/// RFC 9112, sections 3.2 and 3.3.
#[test]
fn host_and_path_of_all_forms_of_target() {
    let table: &[(&str, Option<&str>, Option<&str>)] = &[
        (
            "GET /where?q=now HTTP/1.1\r\nHost: www.example.org\r\n",
            Some("www.example.org"),
            Some("/where?q=now"),
        ),
        (
            "GET http://www.example.org/pub/a.html HTTP/1.1\r\nHost: other\r\n",
            Some("www.example.org"),
            Some("/pub/a.html"),
        ),
        ("GET http://user:pw@[::1]:8080 HTTP/1.1\r\n", Some("[::1]:8080"), Some("/")),
        ("GET http://h?q@x HTTP/1.1\r\n", Some("h"), Some("?q@x")),
        (
            "CONNECT www.example.com:80 HTTP/1.1\r\nHost: www.example.com\r\n",
            Some("www.example.com:80"),
            None,
        ),
        ("OPTIONS * HTTP/1.1\r\n", None, Some("*")),
        ("GET /http://x/ HTTP/1.0\r\n", None, Some("/http://x/")),
    ];
    for (head, host, path) in table {
        let request = Request::parse(format!("{head}\r\n").as_bytes()).unwrap().unwrap();
        assert_eq!(
            (request.host(), request.path()),
            (host.map(str::as_bytes), path.map(str::as_bytes)),
            "{head}"
        );
    }
}

#[test]
fn what_is_not_http_1_is_let_go_with_its_first_bytes() {
    let table: &[&[u8]] = &[
        b"\x16\x03\x01\x02\x00\x01",
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"EHLO client.example\r\n",
        b"DESCRIBE rtsp://host/ RTSP/1.0\r\n",
        b"GET /\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"OPTIONS sip:a@b SIP/2.0\r\n",
        b"\0\0\0\x18\xffSMB",
        b" GET / HTTP/1.1\r\n",
        b"GET /\0 HTTP/1.1\r\n",
        b"AMethodLongerThanAllOthers / HTTP/1.1\r\n",
        b"\r\n\r\n\r\n\r\n\r\n\r\n",
        b"\x05\x01\x00\x05\x02\x00\x01",
        b"\x04\x02\x00\x50\x01\x02\x03\x04u\0",
    ];
    for bytes in table {
        let mut seen = connection();
        seen.requests(bytes);
        assert!(seen.connection.is_done() && !seen.connection.is_http1(), "{}", bytes.escape_ascii());
        assert_eq!((seen.heads.len(), seen.connection.held()), (0, 0), "{}", bytes.escape_ascii());
    }
    for bytes in [&b"220 mail.example ESMTP\r\n"[..], b"ICY 200 OK\r\n", b"\x05\xff", b"\0\x5b\0\0\0\0\0\0"] {
        assert_eq!(responses_of(bytes), [""; 0]);
    }
}

/// RFC 1928, RFC 1929; HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
#[test]
fn greetings_that_come_before_http() {
    let greetings: &[(&[u8], &[u8])] = &[
        (b"\x05\x01\x00\x05\x01\x00\x01\x7f\0\0\x01\0\x50", b"\x05\x00\x05\x00\x00\x01\0\0\0\0\0\0"),
        (
            b"\x05\x02\x00\x02\x01\x01u\x02pw\x05\x01\x00\x03\x03a.b\0\x50",
            b"\x05\x02\x01\x00\x05\0\0\x03\x01x\0\0",
        ),
        (
            b"\x05\x01\x00\x05\x01\x00\x04abcdefghijklmnop\0\x50",
            b"\x05\x00\x05\x00\x00\x04abcdefghijklmnop\0\0",
        ),
        (b"\x04\x01\0\x50\x7f\0\0\x01user\0", b"\0\x5a\0\0\0\0\0\0"),
        (b"\x04\x01\0\x50\0\0\0\x01\0host.example\0", b"\0\x5a\0\0\0\0\0\0"),
        (b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 80\r\n", b""),
        (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0cabcdefghijkl", b""),
        (b"\r\n", b""),
    ];
    for (client, server) in greetings {
        let mut seen = connection();
        for byte in [client, NEXT].concat() {
            seen.requests([byte]);
        }
        seen.responses([server, NEXT_RESPONSE].concat());
        assert_eq!(seen.heads, ["0 GET /next", "0 299"], "{}", client.escape_ascii());
    }
}

#[test]
fn a_tunnel_is_a_connection_of_its_own() {
    let mut seen = connection();
    seen.requests("CONNECT a:80 HTTP/1.1\r\n\r\n").responses("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    assert!(!seen.connection.is_done());
    seen.requests(NEXT).responses(NEXT_RESPONSE);
    assert_eq!(seen.heads, ["0 CONNECT a:80", "0 200", "1 GET /next", "1 299"]);

    let mut seen = connection();
    seen.requests("CONNECT a:443 HTTP/1.1\r\n\r\n").responses("HTTP/1.0 200 OK\r\n\r\n");
    seen.requests(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
    assert!(seen.connection.is_done());
}

/// RFC 7540, section 3.2; RFC 6455, section 1.2.
#[test]
fn an_upgrade_ends_http_1_in_both_directions() {
    let mut seen = connection();
    let upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    seen.requests(format!("POST / HTTP/1.1\r\n{upgrade}Content-Length: 4\r\n\r\nbo"));
    assert_eq!(seen.connection.upgrade(), None);
    seen.responses(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n\0\0\x12\x04",
    );
    assert_eq!(seen.connection.upgrade(), Some(Upgrade::Http2));
    assert_eq!(seen.connection.take_rest(Role::Response), b"\0\0\x12\x04");
    assert!(seen.connection.is_over(Role::Response) && !seen.connection.is_over(Role::Request));
    seen.requests("dyPRI * HTTP/2.0\r\n\r\nSM");
    assert_eq!(seen.connection.take_rest(Role::Request), b"PRI * HTTP/2.0\r\n\r\nSM");
    seen.responses("x").responses("y");
    assert_eq!(seen.connection.take_rest(Role::Response), b"xy");
    assert_eq!(seen.heads, ["0 POST /", "0 101"]);

    let mut seen = connection();
    seen.requests("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\nPRI * HT");
    seen.responses("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\n\n");
    assert_eq!(seen.connection.upgrade(), Some(Upgrade::Other));
    assert_eq!(seen.connection.take_rest(Role::Request), b"PRI * HT");
    assert!(seen.connection.is_done());
}

#[test]
fn many_requests_may_wait_for_their_responses() {
    let mut seen = connection();
    let requests = "HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n".repeat(2000);
    let responses =
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nHTTP"
            .repeat(2000);
    seen.requests(requests).responses(responses);
    assert_eq!(seen.heads.len(), 8000);
    assert_eq!(seen.heads[7999], "3999 200");
    seen.requests("GET / HTTP/1.1\r\n\r\n".repeat(100_000));
    assert!(seen.connection.held() <= 8192, "{}", seen.connection.held());
}

#[test]
fn missing_bytes_of_a_body_do_no_harm_and_others_lose_little() {
    let mut seen = connection();
    seen.requests("POST /a HTTP/1.1\r\nContent-Length: 100\r\n\r\n0123456789");
    seen.connection.gap(Role::Request, 90, &mut seen.counters);
    seen.requests("POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n0123456789");
    seen.connection.gap(Role::Request, 89, &mut seen.counters);
    seen.requests("x\r\n0\r\n\r\nGET /c HTTP/1.1\r\nHo");
    assert_eq!(seen.counters.times_lost, 0);
    seen.connection.gap(Role::Request, u64::MAX, &mut seen.counters);
    seen.requests("st: x\r\n\r\n").requests("body GET /").requests(NEXT);
    assert_eq!(seen.heads, ["0 POST /a", "1 POST /b", "2 GET /next"]);
    assert_eq!(seen.counters.times_lost, 1);
}

#[test]
fn a_connection_that_was_open_before_is_read_from_the_next_head() {
    let mut seen = Seen::new(Http1Connection::midstream());
    seen.requests("some body text\r\n").responses(b"\0binary").requests(NEXT).responses(NEXT_RESPONSE);
    assert_eq!(seen.heads, ["0 GET /next", "0 299"]);
    let mut seen = Seen::new(Http1Connection::midstream());
    for _ in 0..100 {
        seen.requests([b'x'; 1000]);
    }
    assert!(seen.connection.is_done());
}

#[test]
fn bombs_are_counted_and_held_within_bounds() {
    // A head of 10 MB: one line, many lines, one target.
    let line = [b"GET / HTTP/1.1\r\nA: ", vec![b'a'; 10_000_000].as_slice(), b"\r\n\r\n"].concat();
    let lines = [b"GET / HTTP/1.1\r\n", "A: b\r\n".repeat(1_700_000).as_bytes(), b"\r\n"].concat();
    let target = [b"GET /", vec![b'a'; 10_000_000].as_slice(), b" HTTP/1.1\r\n\r\n"].concat();
    for bomb in [&line, &lines, &target] {
        for piece in [100, 65_535, usize::MAX] {
            let mut seen = connection();
            let mut most = 0;
            for piece in bomb.chunks(piece.min(bomb.len())) {
                seen.requests(piece);
                most = most.max(seen.connection.held());
            }
            assert!(most <= 4 * MAX_HEAD, "{most}");
            assert_eq!((seen.counters.heads_too_long, seen.counters.times_lost), (1, 1));
            seen.requests(NEXT);
            assert_eq!(seen.heads, ["0 GET /next"]);
        }
    }
    let head = |count| format!("GET / HTTP/1.1\r\n{}\r\n", "A:\r\n".repeat(count));
    assert_eq!(requests_of(head(256).as_bytes()), ["0 GET /"]);
    let mut seen = connection();
    seen.requests(head(10_000)).requests(NEXT);
    assert_eq!((seen.counters.heads_with_too_many_headers, seen.heads.len()), (1, 1));
    assert_eq!(Request::parse(head(257).as_bytes()), Err(Error::TooManyHeaders { max: 256 }));
    let odd = head(257).replace("A:", "A :");
    assert_eq!(Response::parse(b"HTTP/1.1 200"), Ok(None));
    assert_eq!(Request::parse(odd.as_bytes()), Err(Error::TooManyHeaders { max: 256 }));
    assert_eq!(Response::parse(b"HTTP/2 200\r\n\r\n"), Err(Error::NotHttp1));
}

/// A reader that looked at a head anew with every piece would take hours.
#[test]
fn a_head_may_come_byte_by_byte() {
    let head = format!(
        "GET /{} HTTP/1.1\r\n{}\r\n",
        "a".repeat(30_000),
        format!("A: {}\r\n", "b".repeat(115)).repeat(256)
    );
    let response = format!(
        "HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n",
        format!("A: {}\r\n", "b".repeat(245)).repeat(255)
    );
    let mut seen = connection();
    for _ in 0..10 {
        head.as_bytes().chunks(1).for_each(|byte| {
            seen.requests(byte);
        });
        response.as_bytes().chunks(1).for_each(|byte| {
            seen.responses(byte);
        });
    }
    assert_eq!((seen.heads.len(), seen.counters), (20, Http1Counters::default()));
}

/// A stream of exchanges, and its heads.
fn exchanges() -> impl Strategy<Value = (Vec<u8>, Vec<String>)> {
    let line_end = prop_oneof![Just("\r\n"), Just("\n")];
    let body = vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'0'), any::<u8>()], 0..60);
    let exchange = (line_end, body, 0..3, vec("[A-Z]{1,9}: ?[ -~]{0,20}", 0..5)).prop_map(
        |(end, body, framing, headers)| {
            let mut bytes = format!("POST /{} HTTP/1.1{end}", body.len()).into_bytes();
            headers.iter().for_each(|header| bytes.extend(format!("{header}{end}").bytes()));
            match framing {
                0 => bytes
                    .extend([format!("Content-Length: {}{end}{end}", body.len()).as_bytes(), &body].concat()),
                1 => {
                    bytes.extend(format!("Transfer-Encoding: chunked{end}{end}").bytes());
                    for chunk in body.chunks(7) {
                        bytes.extend(
                            [format!("{:x};x{end}", chunk.len()).as_bytes(), chunk, end.as_bytes()].concat(),
                        );
                    }
                    bytes.extend(format!("0{end}A: b{end}{end}").bytes());
                }
                _ => bytes.extend(end.bytes()),
            }
            (bytes, body.len())
        },
    );
    vec(exchange, 1..6).prop_map(|exchanges| {
        let heads =
            exchanges.iter().enumerate().map(|(n, (_, length))| format!("{n} POST /{length}")).collect();
        (exchanges.into_iter().flat_map(|(bytes, _)| bytes).collect(), heads)
    })
}

proptest! {
    #[test]
    fn a_stream_cut_anywhere_gives_the_same_heads(
        (bytes, heads) in exchanges(),
        cuts in vec(any::<prop::sample::Index>(), 0..40),
        bytewise in any::<bool>(),
    ) {
        let mut seen = connection();
        let mut start = 0;
        for end in cuts.iter().map(|cut| cut.index(bytes.len())).collect::<std::collections::BTreeSet<_>>() {
            seen.requests(&bytes[start..end]);
            start = end;
        }
        let step = if bytewise { 1 } else { bytes.len() };
        bytes[start..].chunks(step).for_each(|piece| { seen.requests(piece); });
        prop_assert_eq!(&seen.heads, &heads);
        prop_assert_eq!(seen.counters, Http1Counters::default());
    }

    #[test]
    fn any_bytes_do_no_harm(
        pieces in vec((any::<bool>(), prop_oneof![
            vec(any::<u8>(), 0..40),
            "(GET|CONNECT|HEAD) /[ -~]{0,5} HTTP/1.1\r?\n".prop_map(String::into_bytes),
            "HTTP/1.1 (101|200|204|[?]) x\r?\n".prop_map(String::into_bytes),
            "(Content-Length|Transfer-Encoding|Upgrade|A|): ?([0-9]{1,3}|chunked|h2c)\r?\n".prop_map(String::into_bytes),
            "\r?\n[0-9a-f]{0,2}(\r\n)?".prop_map(String::into_bytes),
        ]), 0..60),
        midstream in any::<bool>(),
    ) {
        let mut seen = Seen::new(if midstream { Http1Connection::midstream() } else { Http1Connection::new() });
        for (is_request, bytes) in &pieces {
            let direction = if *is_request { Role::Request } else { Role::Response };
            if bytes.len() == 39 {
                seen.connection.gap(direction, 5, &mut seen.counters);
            }
            seen.push(direction, bytes);
            let _ = (Request::parse(bytes), Response::parse(bytes));
        }
        prop_assert!(seen.connection.held() <= 20_000);
    }

    /// What httparse takes is read as httparse reads it.
    #[test]
    fn strict_heads_are_read_as_httparse_reads_them(
        head in "[A-Z]{1,8} [!-~]{1,12} HTTP/1\\.[01](\r\n[!-~]{1,6}:[ \t]{0,2}[ -~]{0,9}){0,4}\r\n\r\n"
    ) {
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut strict = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(_)) = strict.parse(head.as_bytes()) {
            let request = Request::parse(head.as_bytes()).unwrap().unwrap();
            prop_assert_eq!(request.method(), strict.method.unwrap().as_bytes());
            prop_assert_eq!(request.target(), strict.path.unwrap().as_bytes());
            prop_assert_eq!(request.version().to_string(), format!("1.{}", strict.version.unwrap()));
            let fields: Vec<_> = request.headers().iter().map(|header| (header.name, header.value())).collect();
            let expected: Vec<_> = strict.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
            prop_assert_eq!(fields, expected);
        }
    }
}
