//! Oversized heads, pending requests and unparsed bytes stay within their limits.

use huginn_net_http::http1::{Http1Counters, MAX_HEAD};
use huginn_net_http::{HttpError, Request, Response, Role};

use super::recorder::*;

#[test]
fn tracks_many_pending_requests() {
    let mut recorder = new_recorder();
    let requests = "HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n".repeat(2000);
    let responses =
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nHTTP"
            .repeat(2000);
    recorder.requests(requests).responses(responses);
    assert_eq!(recorder.heads.len(), 8000);
    assert_eq!(recorder.heads[7999], "3999 200");
    recorder.requests("GET / HTTP/1.1\r\n\r\n".repeat(100_000));
    assert!(recorder.connection.buffered_bytes() <= 8192, "{}", recorder.connection.buffered_bytes());
}

#[test]
fn oversized_heads_are_counted_and_bounded() {
    // Each head has 10 MB: in one line, in many lines, in the target.
    let line = [b"GET / HTTP/1.1\r\nA: ", vec![b'a'; 10_000_000].as_slice(), b"\r\n\r\n"].concat();
    let lines = [b"GET / HTTP/1.1\r\n", "A: b\r\n".repeat(1_700_000).as_bytes(), b"\r\n"].concat();
    let target = [b"GET /", vec![b'a'; 10_000_000].as_slice(), b" HTTP/1.1\r\n\r\n"].concat();
    for bomb in [&line, &lines, &target] {
        for piece in [100, 65_535, usize::MAX] {
            let mut recorder = new_recorder();
            let mut peak_bytes = 0;
            for piece in bomb.chunks(piece.min(bomb.len())) {
                recorder.requests(piece);
                peak_bytes = peak_bytes.max(recorder.connection.buffered_bytes());
            }
            assert!(peak_bytes <= 4 * MAX_HEAD, "{peak_bytes}");
            assert_eq!((recorder.counters.heads_too_long, recorder.counters.times_lost), (1, 1));
            recorder.requests(NEXT);
            assert_eq!(recorder.heads, ["0 GET /next"]);
        }
    }
    let head = |count| format!("GET / HTTP/1.1\r\n{}\r\n", "A:\r\n".repeat(count));
    assert_eq!(request_heads(head(256).as_bytes()), ["0 GET /"]);
    let mut recorder = new_recorder();
    recorder.requests(head(10_000)).requests(NEXT);
    assert_eq!((recorder.counters.heads_with_too_many_headers, recorder.heads.len()), (1, 1));
    assert_eq!(Request::parse(head(257).as_bytes()), Err(HttpError::TooManyHeaders { max: 256 }));
    let odd = head(257).replace("A:", "A :");
    assert_eq!(Response::parse(b"HTTP/1.1 200"), Ok(None));
    assert_eq!(Request::parse(odd.as_bytes()), Err(HttpError::TooManyHeaders { max: 256 }));
    assert_eq!(Response::parse(b"HTTP/2 200\r\n\r\n"), Err(HttpError::NotHttp1));
}

#[test]
fn truncated_head_needs_more_bytes() {
    for end in ["\r\n\r\n", "\n\n", "\n\r\n"] {
        let head = format!("GET / HTTP/1.1\r\nHost: a{end}");
        for len in 0..head.len() {
            assert_eq!(Request::parse(&head.as_bytes()[..len]), Ok(None), "{len} bytes of {head:?}");
        }
        for suffix in ["", "\n", "\r\n", "GET "] {
            let bytes = format!("{head}{suffix}");
            assert_eq!(Request::parse(bytes.as_bytes()).unwrap().unwrap().consumed, head.len(), "{bytes:?}");
        }
    }
}

/// The test would take hours if the reader scanned a head again for every byte.
#[test]
fn parses_head_byte_by_byte() {
    let head = format!(
        "GET /{} HTTP/1.1\r\n{}\r\n",
        "a".repeat(30_000),
        format!("A: {}\r\n", "b".repeat(115)).repeat(256)
    );
    let response = format!(
        "HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n",
        format!("A: {}\r\n", "b".repeat(245)).repeat(255)
    );
    let mut recorder = new_recorder();
    for _ in 0..10 {
        head.as_bytes().chunks(1).for_each(|byte| {
            recorder.requests(byte);
        });
        response.as_bytes().chunks(1).for_each(|byte| {
            recorder.responses(byte);
        });
    }
    assert_eq!((recorder.heads.len(), recorder.counters), (20, Http1Counters::default()));
}

#[test]
fn bytes_after_upgrade_are_bounded() {
    let mut recorder = new_recorder();
    recorder.requests("POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n");
    recorder.responses("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n");
    for _ in 0..1000 {
        recorder.responses([0; 1400]);
        assert!(recorder.connection.buffered_bytes() < 300_000, "{}", recorder.connection.buffered_bytes());
    }
    assert!(!recorder.connection.has_switched_protocols(Role::Response));
    assert_eq!(
        (recorder.connection.buffered_bytes(), recorder.counters.times_lost),
        (recorder.connection.buffered_bytes().min(64), 1)
    );
}
