//! Messages after one that cannot be read or is missing: they are found, numbered and paired.

use huginn_net_http::http1::Http1Counters;
use huginn_net_http::{Request, Role};

use super::recorder::*;

fn ok(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length))
}

#[test]
fn next_request_is_found_after_unreadable_one() {
    for unreadable in [
        "GET /a HTTP/1.0.8\r\nHost: a\r\n\r\n",
        "GET /a HTTP/2.0\r\nHost: a\r\n\r\n",
        "POST /a HTTP/9.9\r\nContent-Length: 5\r\n\r\nhello",
        "GET /a HTTP/\r\n\r\n",
    ] {
        for together in [false, true] {
            let mut recorder = new_recorder();
            if together {
                recorder.requests(format!("{unreadable}\r\n{NEXT_TEXT}"));
                recorder.responses(ok(0)).responses(ok(2));
            } else {
                recorder.requests(unreadable).responses(ok(0)).requests(NEXT).responses(ok(2));
            }
            recorder.heads.sort();
            assert_eq!(recorder.heads, ["0 200", "1 200", "1 GET /next"], "{unreadable:?}");
            assert_eq!((recorder.counters.requests_unreadable, recorder.counters.times_lost), (1, 0));
            // Without the server's side.
            let mut recorder = new_recorder();
            recorder.requests(unreadable).requests(NEXT);
            assert_eq!(
                (&*recorder.heads, recorder.counters.requests_unreadable),
                (&["1 GET /next".to_owned()][..], 1)
            );
        }
    }
}

#[test]
fn unreadable_requests_between_readable_ones_are_counted() {
    let mut recorder = new_recorder();
    recorder.requests(format!(
        "{NEXT_TEXT}GET /x HTTP/1.0.8\r\n\r\nGET /y HTTP/7\r\nA: b\r\n\r\n{NEXT_TEXT}{NEXT_TEXT}"
    ));
    recorder.responses([ok(1), ok(2), ok(3), ok(4)].concat());
    assert_eq!(recorder.counters.requests_unreadable, 2);
    assert_eq!(recorder.heads[..3], ["0 GET /next", "3 GET /next", "4 GET /next"]);
    assert_eq!(recorder.heads[3..], ["0 200", "1 200", "2 200", "3 200"]);
}

/// The answer shows that the bytes before it were a request.
#[test]
fn response_shows_that_unknown_bytes_were_request() {
    let mut recorder = new_recorder();
    recorder.requests("\x01\x02 hello\r\n").responses(ok(0)).requests(NEXT).responses(ok(0));
    assert_eq!(recorder.heads, ["0 200", "1 GET /next", "1 200"]);
    assert_eq!(recorder.counters.requests_unreadable, 1);
}

#[test]
fn next_response_is_found_after_unreadable_one() {
    for unreadable in ["HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n", "ICY 200 OK\r\n\r\n", "\0\x01\x02"] {
        let mut recorder = new_recorder();
        recorder.requests(NEXT).responses(unreadable).requests(NEXT).responses(ok(0));
        assert_eq!(recorder.heads, ["0 GET /next", "1 GET /next", "1 200"], "{unreadable:?}");
        assert_eq!(recorder.counters.responses_unreadable, 1);
        recorder.requests(NEXT).responses(unreadable).requests(NEXT).responses(ok(0));
        assert_eq!(recorder.heads[3..], ["2 GET /next", "3 GET /next", "3 200"], "{unreadable:?}");
    }
}

/// Responses of one direction only.
#[test]
fn responses_without_requests_keep_their_numbers() {
    let mut recorder = new_recorder();
    recorder.responses(ok(0)).responses("HTTP/3.0 200 OK\r\n\r\n").responses(ok(0));
    assert_eq!(recorder.heads, ["0 200", "2 200"]);
}

#[test]
fn exchanges_stay_paired_after_lost_request() {
    for gap_first in [true, false] {
        let mut recorder = new_recorder();
        recorder.requests(NEXT).responses(ok(1));
        if gap_first {
            recorder.gap(Role::Request, 50);
        }
        recorder.responses(ok(2));
        if !gap_first {
            recorder.gap(Role::Request, 50);
        }
        recorder.requests(NEXT).responses(ok(3));
        assert_eq!(recorder.heads, ["0 GET /next", "0 200", "1 200", "2 GET /next", "2 200"], "{gap_first}");
    }
}

#[test]
fn exchanges_stay_paired_after_lost_response() {
    let mut recorder = new_recorder();
    recorder.requests(NEXT);
    recorder.gap(Role::Response, 50);
    recorder.requests(NEXT).responses(ok(3));
    assert_eq!(recorder.heads, ["0 GET /next", "1 GET /next", "1 200"]);
}

#[test]
fn heads_after_unreadable_ones_do_not_depend_on_pieces() {
    let requests = format!(
        "GET /a HTTP/1.0.8\r\nHost: a\r\n\r\n{NEXT_TEXT}GET /b HTTP/7\r\nA: HTTP/\r\n\r\nPUT /c HTTP/2.0\r\n\r\n\
         OTHER /d HTTP/1.1\r\n\r\n{NEXT_TEXT}"
    );
    let responses = format!(
        "HTTP/3.0 200 OK\r\nServer: a\r\n\r\n{}HTTP/9 200\r\nA: HTTP/1.1\r\n\r\nHTTP/1.1 \r\nHTTP/1.1 404 \r\n\r\n",
        ok(9)
    );
    let whole = |request: usize, response: usize| {
        let mut recorder = new_recorder();
        requests.as_bytes().chunks(request).for_each(|piece| _ = recorder.requests(piece));
        responses.as_bytes().chunks(response).for_each(|piece| _ = recorder.responses(piece));
        (recorder.heads, recorder.counters)
    };
    let expected = whole(requests.len(), responses.len());
    assert_eq!(expected.0, ["1 GET /next", "4 OTHER /d", "5 GET /next", "1 200", "3 404"]);
    for len in 1..requests.len().max(responses.len()) {
        assert_eq!(whole(len, responses.len()), expected, "requests in pieces of {len} bytes");
        assert_eq!(whole(requests.len(), len), expected, "responses in pieces of {len} bytes");
    }
}

/// The blank line before the answer is not empty.
#[test]
fn answer_after_an_unreadable_line_is_found_in_any_piece() {
    let answer = " \r\n\t\r\nHTTP/1.1 200 ok\r\nContent-Length: 0\r\n\r\n";
    for len in 1..=answer.len() {
        let mut recorder = new_recorder();
        recorder.requests(NEXT);
        answer.as_bytes().chunks(len).for_each(|piece| _ = recorder.responses(piece));
        recorder.requests(NEXT).responses(ok(0));
        assert_eq!(recorder.heads, ["0 GET /next", "0 200", "1 GET /next", "1 200"], "{len}");
    }
}

#[test]
fn late_answer_to_a_head_request_has_no_body() {
    let mut recorder = new_recorder();
    recorder.requests("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").responses(" \r\n");
    recorder.responses("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    recorder.requests(NEXT).responses(ok(0));
    assert_eq!(recorder.heads, ["0 HEAD /", "0 200", "1 GET /next", "1 200"]);
}

#[test]
fn request_line_that_is_too_long_in_a_search_is_counted() {
    let line = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(70_000));
    for len in [1_000, 100_000] {
        let mut recorder = new_recorder();
        recorder.requests("GET / HTTP/1.0.8\r\n\r\n");
        line.as_bytes().chunks(len).for_each(|piece| _ = recorder.requests(piece));
        recorder.requests(NEXT);
        assert_eq!(recorder.heads, ["2 GET /next"], "{len}");
        assert_eq!(recorder.counters.heads_too_long, 1, "{len}");
    }
}

/// The end of a body of unknown length need not be that of a line.
#[test]
fn head_at_the_start_of_a_piece_follows_an_open_line() {
    for body in ["text", "two words", "GE"] {
        let mut recorder = new_recorder();
        recorder.requests("GET / HTTP/1.0.8\r\n\r\n").requests(body).requests(NEXT);
        assert_eq!(recorder.heads, ["1 GET /next"], "{body:?}");
    }
}

/// A search that scanned the rest of a piece for each line would take minutes.
#[test]
fn search_is_linear() {
    let mut recorder = new_recorder();
    for line in
        ["GET \n", "GET / HTTP/1.0.8\n", "GET / HTTP/1.1\n \n", "HTTP/1.1 \n", "A HTTP/HTTP/\n", "GET /\n"]
    {
        recorder.requests("GET / HTTP/1.0.8\r\n").requests(line.repeat(1_000_000));
        recorder.responses(line.repeat(100_000));
    }
    for byte in ["A", "A ", "GET "] {
        for piece in byte.repeat(100_000).as_bytes().chunks(1) {
            recorder.requests(piece);
        }
        recorder.requests("\n");
    }
    assert!(recorder.connection.buffered_bytes() < 1 << 20);
}

#[test]
fn blank_lines_before_request_are_skipped() {
    for blank in ["\r\n".repeat(5), "\n".repeat(20), "\r".repeat(20), "\r\n".repeat(100_000)] {
        for piece in [1, 7, usize::MAX] {
            let mut recorder = new_recorder();
            let bytes = format!("{blank}{NEXT_TEXT}{blank}{NEXT_TEXT}");
            for piece in bytes.as_bytes().chunks(piece.min(bytes.len())) {
                recorder.requests(piece);
            }
            assert_eq!(recorder.heads, ["0 GET /next", "1 GET /next"]);
            assert_eq!(recorder.counters, Http1Counters::default());
        }
    }
}

#[test]
fn long_methods_are_read() {
    for len in [24, 300, 8000] {
        let method = "A".repeat(len);
        let request = format!("{method} /next HTTP/1.1\r\n\r\n");
        for piece in [1, 30, usize::MAX] {
            let mut recorder = new_recorder();
            for piece in request.as_bytes().chunks(piece.min(request.len())) {
                recorder.requests(piece);
            }
            assert_eq!(recorder.heads, [format!("0 {method} /next")]);
        }
    }
}

#[test]
fn minor_versions_are_read_as_nginx_does() {
    let version = |text: &str| {
        let parsed = Request::parse(format!("GET / HTTP/{text}\r\n\r\n").as_bytes());
        parsed.ok().flatten().map(|parsed| parsed.value.version().to_string())
    };
    for (text, wanted) in [
        ("1.0", Some("1.0")),
        ("1.00", Some("1.0")),
        ("1.1", Some("1.1")),
        ("1.2", Some("1.1")),
        ("1.9", Some("1.1")),
        ("1.01", Some("1.1")),
        ("1.10", Some("1.1")),
        ("1.100", Some("1.1")),
        ("1.0.8", None),
        ("2.0", None),
        ("1.", None),
        ("", None),
    ] {
        assert_eq!(version(text).as_deref(), wanted, "{text}");
    }
}

#[test]
fn http09_request_is_read() {
    for request in
        ["GET /next\r\n", "GET /next\n", "\r\nGET   /next  \r\n", "GET http://a/next\r\nHost: b\r\n\r\n"]
    {
        for piece in [1, usize::MAX] {
            let mut recorder = new_recorder();
            for piece in request.as_bytes().chunks(piece.min(request.len())) {
                recorder.requests(piece);
            }
            recorder.responses("<html>").responses("HTTP/1.1 200 OK\r\n\r\n");
            assert_eq!(
                (recorder.heads.len(), recorder.counters),
                (1, Http1Counters::default()),
                "{request:?}"
            );
            assert!(recorder.heads[0].starts_with("0 GET "), "{request:?} {piece} {:?}", recorder.heads);
        }
    }
    for other in ["GET key\r\n", "PUT /a\r\n", "GET /a b\r\n", "GET \r\n"] {
        assert!(request_heads(other.as_bytes()).is_empty(), "{other:?}");
    }
    let request = Request::parse(b"GET /a\r\nHost: b\r\n\r\n").unwrap().unwrap().value;
    assert_eq!((request.version().to_string().as_str(), request.headers().len()), ("0.9", 0));
}
