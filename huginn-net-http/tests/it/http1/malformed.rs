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
            assert_eq!(recorder.counters.heads_too_long, 1);
            recorder.requests(NEXT);
            assert_eq!(recorder.heads.last().map(String::as_str), Some("1 GET /next"));
            assert_eq!(recorder.heads.len(), if std::ptr::eq(bomb, &target) { 1 } else { 2 });
        }
    }
    let head = |count| format!("GET / HTTP/1.1\r\n{}\r\n", "A:\r\n".repeat(count));
    assert_eq!(request_heads(head(256).as_bytes()), ["0 GET /"]);
    let mut recorder = new_recorder();
    recorder.requests(head(10_000)).requests(NEXT);
    assert_eq!((recorder.counters.heads_with_too_many_headers, recorder.heads.len()), (1, 2));
    assert_eq!(Response::parse(b"HTTP/1.1 200"), Ok(None));
    let long = Request::parse(format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(MAX_HEAD)).as_bytes());
    assert_eq!(long, Err(HttpError::HeadTooLong { max: MAX_HEAD }));
    assert_eq!(Response::parse(b"HTTP/2 200\r\n\r\n"), Err(HttpError::NotHttp1));
}

/// Known headers count after the limit, too: they name the software and end the body.
#[test]
fn head_with_too_many_headers_keeps_known_ones() {
    for lines in ["A: b\r\n", "A : b\r\n c\r\n"] {
        let head = format!(
            "POST / HTTP/1.1\r\n{}Host: a\r\nUser-Agent: b\r\nContent-Length: 2\r\n\r\n",
            lines.repeat(300)
        );
        let request = Request::parse(head.as_bytes()).unwrap().unwrap().value;
        assert!(request.headers().is_cut());
        assert_eq!(request.headers().len(), 256 + 3);
        assert_eq!((request.host(), request.user_agent()), (Some(&b"a"[..]), Some(&b"b"[..])));
        let mut recorder = new_recorder();
        recorder.requests(format!("{head}hi{NEXT_TEXT}"));
        assert_eq!(recorder.heads, ["0 POST /", "1 GET /next"]);
    }
    let known = format!("GET / HTTP/1.1\r\n{}\r\n", "Via: a\r\n".repeat(1000));
    assert_eq!(Request::parse(known.as_bytes()).unwrap().unwrap().value.headers().len(), 256 + 64);
    let fits = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(256));
    assert!(!Request::parse(fits.as_bytes()).unwrap().unwrap().value.headers().is_cut());
}

/// The rest of the head is skipped, and the next request follows it or the body.
#[test]
fn head_that_is_too_long_is_reported_cut() {
    for (framing, body) in
        [("", ""), ("Content-Length: 2\r\n", "hi"), ("Transfer-Encoding: chunked\r\n", "0\r\n\r\n")]
    {
        let lines = "A: b\r\n".repeat(MAX_HEAD / 6 + 100);
        let bytes = format!("POST /long HTTP/1.1\r\nHost: a\r\n{framing}{lines}\r\n{body}{NEXT_TEXT}");
        for piece in [1, 1460, 65_535, usize::MAX] {
            let mut recorder = new_recorder();
            for piece in bytes.as_bytes().chunks(piece.min(bytes.len())) {
                recorder.requests(piece);
            }
            assert_eq!(recorder.heads, ["0 POST /long", "1 GET /next"], "{framing}");
            assert_eq!((recorder.counters.heads_too_long, recorder.counters.times_lost), (1, 0));
        }
    }
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

#[test]
fn status_that_is_not_three_digits_is_none() {
    for (line, status, reason) in [
        ("HTTP/1.1foobar", None, ""),
        ("HTTP/1.1", None, ""),
        ("HTTP/1.1 20x OK", None, "20x OK"),
        ("HTTP/1.1 99", None, "99"),
        ("HTTP/1.1 2000 OK", None, "2000 OK"),
        ("HTTP/1.1 200 OK", Some(200), "OK"),
    ] {
        let head = format!("{line}\r\nServer: a\r\n\r\n");
        let response = Response::parse(head.as_bytes()).unwrap().unwrap().value;
        assert_eq!((response.status(), response.reason()), (status, reason.as_bytes()), "{line}");
    }
}
