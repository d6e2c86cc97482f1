use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::Server;

/// Sends bytes to the cleartext port and returns all that comes back until the server closes.
fn exchange(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.clear)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

fn get(server: &Server, target: &str) -> (String, String) {
    let text = exchange(server, &format!("GET {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"));
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn response_has_the_size_status_and_timing_that_the_request_wants() {
    let server = Server::start(&[]);
    let start = Instant::now();
    let (head, body) = get(&server, "/?s=100k&r=404&t=200&c=0");
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(head.starts_with("http/1.1 404 "), "{head}");
    assert_eq!(body.len(), 102_400);
    for line in ["content-length: 102400", "x-size: 102400", "x-wait: 200", "cache-control: no-store"] {
        assert!(head.lines().any(|found| found == line), "{line}: {head}");
    }
    let timing =
        head.lines().find_map(|line| line.strip_prefix("server-timing: wait;dur=200, server;dur=")).unwrap();
    let took: f64 = timing.parse().unwrap();
    assert!((0.0..200.0).contains(&took), "{took}");
}

#[test]
fn each_response_has_its_own_id() {
    let server = Server::start(&[]);
    let id =
        |head: &str| head.lines().find_map(|line| line.strip_prefix("x-id: ").map(str::to_owned)).unwrap();
    assert_ne!(id(&get(&server, "/").0), id(&get(&server, "/").0));
}

#[test]
fn chunked_body_has_no_announced_length() {
    let server = Server::start(&["--buffer", "1k"]);
    let (head, body) = get(&server, "/?s=2k&k=1&R=1");
    assert!(head.contains("transfer-encoding: chunked") && !head.contains("content-length"), "{head}");
    assert!(body.starts_with("400\r\n") && body.ends_with("0\r\n\r\n"), "{body}");
}

#[test]
fn request_can_close_its_connection() {
    let server = Server::start(&[]);
    let text = exchange(&server, "GET /?s=3&C=1 HTTP/1.1\r\nHost: test\r\n\r\n");
    assert!(text.to_ascii_lowercase().contains("connection: close"), "{text}");
    assert!(text.ends_with("\r\n\r\n000"), "{text}");
}

#[test]
fn help_and_malformed_requests_have_text() {
    let server = Server::start(&[]);
    assert!(get(&server, "/?").1.contains("/?s=SIZE"));
    let (head, body) = get(&server, "/?s=many");
    assert!(head.starts_with("http/1.1 400 "), "{head}");
    assert_eq!(body, "malformed request; see /?\n");
}

#[test]
fn response_can_precede_the_body_of_its_request() {
    let server = Server::start(&[]);
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.clear)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"POST /?s=5&A=1 HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n").unwrap();
    let mut text = Vec::new();
    while !text.ends_with(b"00000") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    // The rest of the body is read, so the connection serves the next request.
    stream.write_all(b"0123456789GET /?s=7&C=1 HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("HTTP/1.1 200 OK\r\n") && rest.ends_with("\r\n\r\n0000000"), "{rest}");
}
