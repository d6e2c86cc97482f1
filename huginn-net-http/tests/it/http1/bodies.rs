//! The length of message bodies.

use huginn_net_http::Role;
use huginn_net_http::http1::Http1Connection;

use super::recorder::*;

/// RFC 9112, section 6.3, defines the length of a request body. The parser finds the next request after the body.
#[test]
fn finds_request_after_any_body() {
    let bodies: &[&str] = &[
        "\r\n",
        "Content-Length: 0\r\n\r\n",
        "Content-Length: 5\r\n\r\nhello",
        "content-length:5 \r\n\r\nGET /",
        "Content-Length: 5, 5\r\nContent-Length: 05\r\n\r\nhello",
        "Content-Length: 23\r\n\r\nGET /body HTTP/1.1\r\n\r\n\0",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // Chunk extensions and trailers (RFC 9112, section 7.1).
        "Transfer-Encoding: chunked\r\n\r\n5;name=\"val\"\r\nhello\r\nA \r\n0123456789\r\n000\r\nDigest: x\r\nA: b\r\n\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: , CHUNKED \r\n\r\n1\nx\n0\n\n",
        "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: , identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: Identity\r\nContent-Length: 2\r\n\r\nhi",
        "Transfer-Encoding: ,\r\nContent-Length: 2\r\n\r\nhi",
        // Transfer-Encoding overrides Content-Length.
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n16\r\nGET /body HTTP/1.1\r\n\r\n\r\n0\r\n\r\n",
        "Content-Length: 5\r\n\r\nhello\r\n\r\n",
    ];
    for body in bodies {
        let bytes = [b"POST /first HTTP/1.1\r\n", body.as_bytes(), NEXT].concat();
        assert_eq!(request_heads(&bytes), ["0 POST /first", "1 GET /next"], "{body:?}");
    }
}

#[test]
fn resyncs_at_next_head_after_unknown_body() {
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
        let mut recorder = new_recorder();
        recorder
            .requests(format!("POST /first HTTP/1.1\r\n{head}GET /unsure HTTP/1.1\r\n\r\n"))
            .requests(NEXT);
        // What looks like a request in the body may be one.
        let targets: Vec<_> = recorder.heads.iter().filter_map(|head| head.split(' ').nth(2)).collect();
        let targets: Vec<_> = targets.into_iter().filter(|target| *target != "/no").collect();
        assert_eq!(targets, ["/first", "/unsure", "/next"], "{head:?}");
        assert_eq!(recorder.counters.times_lost, 1);
    }
}

/// RFC 9112, section 6.3: the length of a response body depends on the request method.
#[test]
fn finds_response_after_any_body() {
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
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nx", &["200"]),
        ("CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 1\r\n\r\nx", &["407"]),
        ("GET", "HTTP/1.1 500\r\nContent-Length: 0\r\n\r\n", &["500"]),
        ("GET", "HTTP/1.00 \t200\tok\r\nContent-Length: 0\r\n\r\n", &["200"]),
        ("GET", "HTTP/1.1 ???\r\nContent-Length: 0\r\n\r\n", &["-"]),
    ];
    for (method, response, statuses) in exchanges {
        let mut recorder = new_recorder();
        recorder.requests(format!("{method} /a HTTP/1.1\r\n\r\n")).requests(NEXT);
        recorder.heads.clear();
        recorder.responses([response.as_bytes(), NEXT_RESPONSE].concat());
        let expected: Vec<String> =
            statuses.iter().map(|status| format!("0 {status}")).chain(["1 299".into()]).collect();
        assert_eq!(recorder.heads, expected, "{method} {response}");
    }
}

#[test]
fn response_without_length_ends_at_close() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"] {
        let mut recorder = new_recorder();
        recorder.requests(NEXT).responses(head).responses(NEXT_RESPONSE).requests(NEXT);
        assert_eq!(recorder.heads, ["0 GET /next", "0 200", "1 GET /next"]);
        assert!(!recorder.connection.is_done(), "the client may send more requests");
    }
}

#[test]
fn gap_in_body_is_harmless() {
    let mut recorder = new_recorder();
    recorder.requests("POST /a HTTP/1.1\r\nContent-Length: 100\r\n\r\n0123456789");
    recorder.connection.gap(Role::Request, 90, &mut recorder.counters);
    recorder.requests("POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n0123456789");
    recorder.connection.gap(Role::Request, 90, &mut recorder.counters);
    recorder.requests("\r\n0\r\n\r\nGET /c HTTP/1.1\r\nHo");
    assert_eq!(recorder.counters.times_lost, 0);
    recorder.connection.gap(Role::Request, u64::MAX, &mut recorder.counters);
    recorder.requests("st: x\r\n\r\n").requests("body GET /").requests(NEXT);
    assert_eq!(recorder.heads, ["0 POST /a", "1 POST /b", "2 GET /next"]);
    assert_eq!(recorder.counters.times_lost, 1);
}

#[test]
fn midstream_starts_at_next_head() {
    let mut recorder = HeadRecorder::new(Http1Connection::midstream());
    recorder.requests("some body text\r\n").responses(b"\0binary").requests(NEXT).responses(NEXT_RESPONSE);
    assert_eq!(recorder.heads, ["0 GET /next", "0 299"]);
    let mut recorder = HeadRecorder::new(Http1Connection::midstream());
    for _ in 0..100 {
        recorder.requests([b'x'; 1000]);
    }
    assert!(recorder.connection.is_done());
}
