//! Parsers from bytes: mutated inputs, and time by the length of the input.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_http::http1::{HeadReader, Http1Connection, Http1Counters};
use huginn_net_http::http2::{Akamai, AkamaiHash, AkamaiReader, Http2Reader};
use huginn_net_http::http3::Http3Connection;
use huginn_net_http::{HttpError, HttpSignature, HttpVersion, Progress, Request, Response, Role, language};

use crate::parser_tests::{assert_linear, mutated};

const HTTP2: [&[u8]; 3] = [
    include_bytes!("../../http2/curl.bin"),
    include_bytes!("../../http2/chromium.bin"),
    include_bytes!("../../http2/firefox.bin"),
];
const REQUESTS: [&[u8]; 3] = [
    b"GET /a?b HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\nContent-Length: 3\nA: b\n c\n\nabcGET / HTTP/1.0\n\n",
    b"GET /\r\n",
];
const RESPONSES: [&[u8]; 2] = [
    b"HTTP/1.1 200 OK\r\nServer: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"HTTP/1.0 404\n\nabc",
];

#[test]
fn head_reader_is_linear() {
    let target = |len: usize| [b"GET /", "a".repeat(len).as_bytes(), b" HTTP/1.1\r\nH: a\r\n\r\n"].concat();
    let fields =
        |len: usize| [b"GET / HTTP/1.1\r\n", "A: b\r\n".repeat(len / 6).as_bytes(), b"\r\n"].concat();
    let value = |len: usize| [b"GET / HTTP/1.1\r\nA: ", "b".repeat(len).as_bytes(), b"\r\n\r\n"].concat();
    let read = |bytes: &[u8]| {
        let mut reader = HeadReader::request();
        assert!(bytes.chunks(1).any(|piece| !reader.push(piece).unwrap().needs_more()));
    };
    assert_linear("target", 4000, target, read);
    assert_linear("fields", 4000, fields, read);
    assert_linear("value", 4000, value, read);
    let status = |len: usize| [b"HTTP/1.1 200 ", "a".repeat(len).as_bytes(), b"\r\n\r\n"].concat();
    assert_linear("response", 4000, status, |bytes| {
        let mut reader = HeadReader::response();
        assert!(bytes.chunks(1).any(|piece| !reader.push(piece).unwrap().needs_more()));
    });
}

#[test]
fn akamai_reader_is_linear() {
    // Frames of an unknown type, and a long frame of one.
    let preface = |frames: Vec<u8>| [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frames[..]].concat();
    let frames = |len: usize| preface([0, 0, 1, 0x40, 0, 0, 0, 0, 0, 7].repeat(len / 10));
    let priorities = |len: usize| preface([0, 0, 5, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 7].repeat(len / 14));
    let fragment = |len: usize| {
        let [_, length @ ..] = u32::try_from(len).unwrap().to_be_bytes();
        preface([&length[..], &[1, 0, 0, 0, 0, 1], &vec![0x82; len - 1]].concat())
    };
    let read = |bytes: &[u8]| {
        let mut reader = AkamaiReader::new();
        assert!(bytes.chunks(1).all(|piece| reader.push(piece).unwrap().needs_more()));
    };
    assert_linear("frames", 40_000, frames, read);
    assert_linear("priorities", 40_000, priorities, read);
    assert_linear("fragment", 4000, fragment, read);
}

#[test]
fn connections_are_linear() {
    let requests = |len: usize| REQUESTS[0].repeat(len);
    assert_linear("HTTP/1", 40, requests, |bytes| {
        let (mut connection, mut counters) = (Http1Connection::new(), Http1Counters::default());
        bytes
            .chunks(1)
            .for_each(|piece| connection.push(Role::Request, piece, &mut counters, &mut |_, _| {}));
    });
    let bodies = |len: usize| [HTTP2[0], &[0, 0, 1, 0, 0, 0, 0, 0, 1, 7].repeat(len)].concat();
    assert_linear("HTTP/2", 1000, bodies, |bytes| {
        let mut reader = Http2Reader::client();
        bytes.chunks(1).for_each(|piece| reader.push(piece, &mut |_| {}).unwrap());
    });
    // The control stream with SETTINGS, and frames of an unknown type.
    let control = |len: usize| [&[0, 4, 0][..], &[0x21, 1, 7].repeat(len)].concat();
    assert_linear("HTTP/3", 1000, control, |bytes| {
        let mut connection = Http3Connection::new();
        bytes.chunks(1).for_each(|piece| connection.push(Role::Request, 2, piece, &mut |_| {}));
    });
}

#[test]
fn request_of_http09_ends_with_its_line() {
    for rest in ["", "\r", "\r\n", "\n", "Host: a"] {
        let bytes = format!("GET /\n{rest}");
        let parsed = Request::parse(bytes.as_bytes()).unwrap().unwrap();
        assert_eq!((parsed.value.target(), parsed.value.headers().len()), (&b"/"[..], 0), "{rest:?}");
    }
}

#[test]
fn mutated_heads_are_read_alike_in_pieces() {
    mutated(&REQUESTS, |bytes| {
        let whole = Request::parse(bytes);
        let mut reader = HeadReader::request();
        let mut pieces = bytes.chunks(1).map(|piece| reader.push(piece).map(Progress::value));
        let first = pieces.find_map(Result::transpose).transpose();
        // A control character after an unknown method is refused at once, but not if the line is complete.
        let is_control = |byte: &u8| *byte < b' ' && !b"\t\r\n".contains(byte);
        let has_control =
            bytes.split(|byte| *byte == b'\n').next().is_some_and(|line| line.iter().any(is_control));
        if first != Err(HttpError::NotHttp1) || !has_control {
            assert_eq!(
                first,
                whole.clone().map(|parsed| parsed.map(|parsed| parsed.value)),
                "{}",
                bytes.escape_ascii()
            );
        }
        if let Ok(Some(parsed)) = whole {
            let request = parsed.value;
            let _ = (HttpSignature::from_request(&request), request.host(), request.path());
            let _ = request.header("accept").map(language::preferred);
        }
    });
    mutated(&RESPONSES, |bytes| {
        let mut reader = HeadReader::response();
        let mut pieces = bytes.chunks(1).map(|piece| reader.push(piece).map(Progress::value));
        let first = pieces.find_map(Result::transpose).transpose();
        assert_eq!(first, Response::parse(bytes).map(|parsed| parsed.map(|parsed| parsed.value)));
    });
}

#[test]
fn mutated_http2_is_read_alike_in_pieces() {
    mutated(&HTTP2, |bytes| {
        let mut reader = AkamaiReader::new();
        let mut pieces = bytes.chunks(1).map(|piece| reader.push(piece).map(Progress::value));
        let first = pieces.find_map(Result::transpose).transpose();
        assert_eq!(first, Akamai::from_client_bytes(bytes).map(|parsed| parsed.map(|parsed| parsed.value)));
        let _ = Http2Reader::server().push(bytes, &mut |_| {});
        let _ = Http2Reader::upgraded_client(bytes).push(bytes, &mut |_| {});
    });
}

#[test]
fn mutated_connections_never_panic() {
    mutated(&[REQUESTS[0], REQUESTS[1], RESPONSES[0], RESPONSES[1], HTTP2[0]], |bytes| {
        let (mut connection, mut counters) = (Http1Connection::new(), Http1Counters::default());
        for role in [Role::Request, Role::Response, Role::Request] {
            connection.push(role, bytes, &mut counters, &mut |_, _| {});
        }
    });
    let streams: [&[u8]; 3] = [
        &[0, 4, 2, 1, 0x20, 0x21, 1, 7],
        &[1, 7, 0, 0, 0xd1, 0xd7, 0x50, 1, b'a', 0xc1],
        &[2, 0x3f, 0xe1, 0x1f, 0x41, b'a', 1, b'b'],
    ];
    mutated(&streams, |bytes| {
        let mut connection = Http3Connection::new();
        for (role, stream) in
            [(Role::Request, 2), (Role::Request, 6), (Role::Request, 0), (Role::Response, 0)]
        {
            connection.push(role, stream, bytes, &mut |_| {});
        }
    });
}

#[test]
fn mutated_texts_are_parsed_or_refused() {
    let signature = "1:Host,User-Agent,Accept=[*/*]:Accept-Encoding:curl/8.5.0";
    mutated(
        &[signature.as_bytes(), b"fd07c74c4990fc43ef9f4b3277cf3cf2", b"HTTP/1.1", b"en-US,en;q=0.5"],
        |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let _ = HttpSignature::from_raw_sig(Role::Request, &text);
            let _ = (text.parse::<AkamaiHash>(), text.parse::<HttpVersion>(), AkamaiHash::from_text(&text));
        },
    );
}
