//! Analyses `captures/evasion`: names that a client hides from an observer, and that a real server accepted.

use std::collections::HashSet;
use std::fs;

use huginn_net::blind_spots::BlindSpot;
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observers};
use serde_json::Value;

use crate::captures;
use crate::event_limits::{CLIENT, Capture, Connection, SERVER, client_hello};

/// What the analysis says of a capture: its events as JSON Lines, and its blind spots.
fn analyze(file: &str) -> (String, Vec<BlindSpot>) {
    let mut analyzer = HuginnNet::builder_with(Observers::default().connections(true)).build();
    let reader = CaptureReader::open(captures::folder().join("evasion").join(file)).unwrap();
    let mut lines = String::new();
    analyzer
        .analyze(reader, &mut |event: Event| {
            lines += &JsonEvent::new(&event).to_string();
            lines.push('\n');
        })
        .unwrap();
    (lines, BlindSpot::of_analyzer(&analyzer))
}

/// The attempts of `truth.jsonl`: file, kind, and the names that the server accepted.
fn attempts() -> Vec<(String, String, Vec<String>)> {
    let text = fs::read_to_string(captures::folder().join("evasion/truth.jsonl")).unwrap();
    let attempts: Vec<_> = text
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let accepted =
                line["accepted"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
            let field = |name: &str| line[name].as_str().unwrap().to_owned();
            (field("file"), field("kind"), accepted.collect())
        })
        .collect();
    assert!(attempts.len() > 100, "the captures are missing");
    attempts
}

/// A name that is not reported is flagged on its connection: by a conflict, or by a blind spot of the connection. Fragments have no ports: they
/// name both addresses. `hidden.txt` lists those that are neither.
#[test]
fn accepted_names_are_reported_or_flagged_on_their_connection() {
    let listed = fs::read_to_string(captures::folder().join("evasion/hidden.txt")).unwrap_or_default();
    let listed: HashSet<&str> = listed.lines().collect();
    let mut hidden = Vec::new();
    for (file, _, accepted) in attempts() {
        let (lines, blind_spots) = analyze(&file);
        let is_reported = accepted.iter().all(|name| lines.contains(name.as_str()));
        // Others are normal.
        let hiding = |line: &str| {
            let spots = line.split_once("\"blind_spots\":[").and_then(|(_, rest)| rest.split_once(']'));
            spots.is_some_and(|(names, _)| {
                names
                    .split(',')
                    .any(|name| !["\"midstream\"", "\"tls_not_searched\"", "\"ech\""].contains(&name))
            })
        };
        let is_on_connection = lines.contains("\"conflict\":") || lines.lines().any(hiding);
        let example_has_addresses =
            |spot: &BlindSpot| spot.example.as_ref().is_some_and(|example| example.addresses.is_some());
        if !is_reported && !is_on_connection && !blind_spots.iter().any(example_has_addresses) {
            hidden.push(file);
        }
    }
    hidden.retain(|file| !listed.contains(file.as_str()));
    assert!(hidden.is_empty(), "hidden: {hidden:#?}");
}

#[test]
fn plain_connections_have_no_conflict() {
    for (file, _, accepted) in attempts().iter().filter(|(_, kind, _)| kind == "control") {
        let (lines, blind_spots) = analyze(file);
        assert!(accepted.iter().all(|name| lines.contains(name.as_str())), "{file}: {lines}");
        assert!(!lines.contains("\"conflict\":"), "{file}: {lines}");
        assert!(blind_spots.is_empty() && !lines.contains("blind_spots"), "{file}: {blind_spots:?}");
    }
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Returns the paths of all requests of a connection, and the reasons of their conflicts.
fn paths(send: impl Fn(&mut Connection<'_>)) -> Vec<(String, bool)> {
    let mut capture = Capture::default();
    send(&mut capture.connect(40_000, false, b""));
    let [one, three] = [1, 3].map(|workers| capture.analyze(Observers::default(), workers).0);
    assert_eq!(one, three);
    let events = one.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let requests = events.filter(|event| event["event"] == "http_request");
    requests
        .map(|event| (event["path"].as_str().unwrap().to_owned(), event["conflict"].is_string()))
        .collect()
}

fn request(start: &str, path: &str, len: usize) -> Vec<u8> {
    let head = format!("{start} {path} HTTP/1.1\r\nHost: example.org\r\nX: ");
    format!("{head}{}\r\n\r\n", "x".repeat(len - head.len() - 4)).into_bytes()
}

#[test]
fn requests_after_a_conflict_are_reported() {
    let decoys = [
        "POST /decoy HTTP/1.1\r\nContent-Length: 90000000",
        "POST /decoy HTTP/1.1\r\nTransfer-Encoding: chunked",
        "GET /decoy",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        "GET /decoy HTTP/1.1\r\nX: incomplete",
    ];
    for decoy in decoys {
        let decoy = format!("{decoy}{}", if decoy.ends_with("incomplete") { "" } else { "\r\n\r\n" });
        let found = paths(|connection| {
            connection.send_at(CLIENT, 0, decoy.as_bytes());
            connection.send(CLIENT, &request("GET", "/real", decoy.len().max(60)));
            for path in ["/second", "/third"] {
                connection.send(SERVER, ANSWER);
                connection.send(CLIENT, &request("GET", path, 80));
            }
            connection.send(SERVER, ANSWER);
        });
        for (path, has_conflict) in [("/real", true), ("/second", false), ("/third", false)] {
            assert!(found.contains(&(path.to_owned(), has_conflict)), "{decoy}: {found:?}");
        }
    }
}

#[test]
fn every_content_of_the_same_bytes_is_reported() {
    let found = paths(|connection| {
        (0..20).for_each(|n| connection.send_at(CLIENT, 0, &request("GET", &format!("/decoy{n:02}"), 100)));
        connection.send(CLIENT, &request("GET", "/reality", 100));
        connection.send(SERVER, ANSWER);
    });
    assert_eq!(found.len(), 21, "{found:?}");
    assert!(found.contains(&("/reality".to_owned(), true)), "{found:?}");
}

#[test]
fn zeros_before_a_hello_conflict() {
    let hello = client_hello(b"real.example", b"\x02h2", 0);
    for (zeros, piece) in [(1, 50), (5, 1), (6, 1), (7, 1), (60, 5), (60, 20), (200, 50), (200, 1_400)] {
        let mut capture = Capture::default();
        let mut connection = capture.connect(40_000, false, b"");
        connection.send_at(CLIENT, 0, &vec![0; zeros]);
        hello.chunks(piece).for_each(|piece| connection.send(CLIENT, piece));
        connection.send_at(SERVER, 0, b"");
        let lines = capture.analyze(Observers::default(), 1).0;
        let is_flagged = |line: &String| line.contains("\"conflict\":\"content\"");
        assert!(lines.iter().any(is_flagged), "{zeros} zeros, pieces of {piece} bytes: {lines:#?}");
        let hellos = lines.iter().filter(|line| line.contains("\"tls_client\""));
        assert!(hellos.clone().all(is_flagged), "{zeros} zeros, pieces of {piece} bytes: {lines:#?}");
    }
}

#[test]
fn heads_of_many_segments_are_compared() {
    let [decoy, real] = ["/fake", "/real"].map(|path| request("GET", path, 20_000));
    let found = paths(|connection| {
        connection.send_at(CLIENT, 0, &decoy[..1000]);
        connection.send(CLIENT, &real[..1000]);
        real[1000..].chunks(1000).for_each(|part| connection.send(CLIENT, part));
        connection.send(SERVER, ANSWER);
    });
    assert_eq!(found, [("/fake".to_owned(), false), ("/real".to_owned(), true)]);
}

#[test]
fn head_before_bodies_is_compared() {
    let [decoy, real] = ["/decoy", "/real!"]
        .map(|path| format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n").into_bytes());
    let found = paths(|connection| {
        connection.send(CLIENT, &decoy);
        (0..5).for_each(|_| connection.send(CLIENT, &[b'b'; 1000]));
        connection.send(CLIENT, &request("GET", "/second", 80));
        connection.send_at(CLIENT, 80 + 5000 + real.len(), &real);
        connection.send(SERVER, ANSWER);
    });
    assert!(found.contains(&("/real!".to_owned(), true)), "{found:?}");
}

#[test]
fn byte_that_segments_call_urgent_and_not_is_read_both_ways() {
    for decoy_len in [1, 10] {
        let head = request("GET", "/real", 80);
        let found = paths(|connection| {
            connection.send_urgent(CLIENT, 7, &head[..decoy_len]);
            connection.send(CLIENT, &head);
            connection.send(SERVER, ANSWER);
        });
        assert!(found.contains(&("/real".to_owned(), true)), "{found:?}");
        assert!(found.contains(&("/ral".to_owned(), false)), "{found:?}");
    }
}

/// Analyses a connection to which `first` was sent, and then the packets of `rest`. The result does not depend on workers.
fn lines_after(first: &[u8], is_v6: bool, rest: impl Fn(&mut Connection<'_>)) -> Vec<String> {
    let mut capture = Capture::default();
    let mut connection = capture.connect(1, is_v6, b"");
    connection.send(CLIENT, first);
    rest(&mut connection);
    let lines = capture.analyze(Observers::default().connections(true), 1).0;
    assert_eq!(capture.analyze(Observers::default().connections(true), 3).0, lines);
    lines
}

fn count(lines: &[String], kind: &str) -> usize {
    lines.iter().filter(|line| line.contains(&format!("\"event\":\"{kind}\""))).count()
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: real.example\r\n\r\n";

/// The SYNs have a number far away, the next of the client, one just before, and that of the first SYN.
fn assert_survives_syn(message: &[u8], kind: &str) {
    for (cut, is_v6) in [(0, false), (1, true), (30, false)] {
        for seq in [0x4000_0000, 1000 + cut.max(1) as u32, 999, 998] {
            let (first, rest) = message.split_at(cut);
            let lines = lines_after(first, is_v6, |connection| {
                connection.other_syn(seq, false);
                connection.other_syn(seq, false);
                connection.send(CLIENT, rest);
            });
            assert_eq!(count(&lines, kind), 1, "{cut} {seq}: {lines:#?}");
            assert_eq!(count(&lines, "tcp_syn"), 2, "{cut} {seq}: {lines:#?}");
        }
    }
}

#[test]
fn hello_survives_syn_in_connection() {
    assert_survives_syn(&client_hello(b"real.example", b"\x02h2", 0), "tls_client");
}

#[test]
fn request_survives_syn_in_connection() {
    assert_survives_syn(REQUEST, "http_request");
}

#[test]
fn answered_syn_starts_connection() {
    let hello = client_hello(b"other.example", b"\x02h2", 0);
    for seq in [0x4000_0000, 1030, 900] {
        let lines = lines_after(&REQUEST[..30], false, |connection| {
            connection.other_syn(0x7000_0000, false);
            connection.other_syn(seq, true);
            connection.syn_ack();
            connection.send(CLIENT, &hello);
        });
        assert_eq!(count(&lines, "tls_client"), 1, "{lines:#?}");
        assert_eq!(count(&lines, "tcp_syn_ack"), 2, "{lines:#?}");
        assert_eq!(count(&lines, "connection"), 3, "{lines:#?}");
    }
}

/// The SYN+ACK was lost, or the server is not captured.
#[test]
fn continued_syn_starts_connection() {
    let hello = client_hello(b"other.example", b"\x02h2", 0);
    for acks in [0, 1] {
        let lines = lines_after(&REQUEST[..30], true, |connection| {
            connection.other_syn(0x4000_0000, true);
            connection.send(CLIENT, &hello[..20]);
            (0..acks).for_each(|_| connection.send(SERVER, b"a"));
            connection.send(CLIENT, &hello[20..]);
        });
        assert_eq!(count(&lines, "tls_client"), 1, "{lines:#?}");
    }
}

/// The values of a field in the server's messages of one kind, each with its conflict. No handshake may be reported.
fn answers(kind: &str, field: &str, send: impl Fn(&mut Connection<'_>)) -> Vec<(String, Value)> {
    let mut capture = Capture::default();
    send(&mut capture.connect(40_000, false, b""));
    let [one, three] = [1, 3].map(|workers| capture.analyze(Observers::default(), workers).0);
    assert_eq!(one, three);
    let events: Vec<Value> = one.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["event"] != "tls_handshake"), "{events:#?}");
    let of_kind = events.iter().filter(|event| event["event"] == kind);
    of_kind.map(|event| (event[field].as_str().unwrap().to_owned(), event["conflict"].clone())).collect()
}

fn server_hello(cipher: u16) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, cipher.to_be_bytes()[0], cipher.to_be_bytes()[1], 0, 0, 5, 0xff, 1, 0, 1, 0]);
    let len = u8::try_from(body.len()).unwrap();
    [&[22, 3, 3, 0, len + 4, 2, 0, 0, len][..], &body].concat()
}

/// Who is near the client can answer in the server's name before the server does: the real answer follows.
#[test]
fn each_answer_to_the_same_request_is_reported() {
    let answer = |name: &str, len: usize| {
        format!("HTTP/1.1 200 OK\r\nServer: {name}\r\nContent-Length: 0\r\nX: {}\r\n\r\n", "x".repeat(len))
    };
    for (forged, real) in [(5, 5), (5, 90), (90, 5)] {
        let [forged, real] = [answer("forged", forged), answer("real", real)];
        let found = answers("http_response", "server_header", |connection| {
            connection.send(CLIENT, &request("GET", "/first", 80));
            connection.send_at(SERVER, 0, forged.as_bytes());
            connection.send(SERVER, real.as_bytes());
            connection.send(CLIENT, &request("GET", "/second", 80));
        });
        let expected = [("forged".to_owned(), Value::Null), ("real".to_owned(), "content".into())];
        assert_eq!(found, expected, "{} and {} bytes", forged.len(), real.len());
    }
}

#[test]
fn each_server_hello_is_reported_and_the_handshake_is_not() {
    let found = answers("tls_server", "cipher", |connection| {
        connection.send(CLIENT, &client_hello(b"real.example", b"\x02h2", 0));
        connection.send_at(SERVER, 0, &server_hello(0x000a));
        connection.send(SERVER, &server_hello(0xc02f));
        connection.send(SERVER, &[20, 3, 3, 0, 1, 1]);
        connection.send(CLIENT, &[20, 3, 3, 0, 1, 1]);
        for side in [SERVER, CLIENT] {
            connection.send(side, &[22, 3, 3, 0, 4, 9, 9, 9, 9]);
        }
    });
    assert_eq!(found, [("000a".to_owned(), Value::Null), ("c02f".to_owned(), "content".into())]);
}

#[test]
fn repeated_answer_is_no_conflict() {
    let found = answers("tls_server", "cipher", |connection| {
        connection.send(CLIENT, &client_hello(b"real.example", b"\x02h2", 0));
        connection.send_at(SERVER, 0, &server_hello(0xc02f));
        connection.send(SERVER, &server_hello(0xc02f));
        connection.send(CLIENT, &[21, 3, 3, 0, 2, 1, 0]);
    });
    assert_eq!(found, [("c02f".to_owned(), Value::Null)]);
}

/// What follows the first acknowledged message cannot be read, but the conflict is said.
#[test]
fn other_bytes_after_a_server_hello_are_flagged() {
    let mut capture = Capture::default();
    let mut connection = capture.connect(40_000, false, b"");
    connection.send(CLIENT, &client_hello(b"real.example", b"\x02h2", 0));
    connection.send(SERVER, &server_hello(0xc02f));
    connection.send(CLIENT, b"");
    connection.send_at(SERVER, 0, &[0x99; 50]);
    connection.send(SERVER, &[22, 3, 3, 0, 10, 11, 0, 0, 6, 0, 0, 3, 0, 0, 0]);
    connection.send(CLIENT, &[20, 3, 3, 0, 1, 1]);
    let lines = capture.analyze(Observers::default().handshakes(true), 1).0;
    let conflict = lines.iter().find(|line| line.contains("\"finding\":\"conflict\"")).expect("a conflict");
    assert!(conflict.contains("\"subject\":\"server\""), "{conflict}");
}

/// A response that begins behind the end of a body.
#[test]
fn each_response_behind_a_body_is_reported() {
    let head = "HTTP/1.1 200 OK\r\nServer: first\r\nContent-Length: 2000\r\n\r\n";
    let behind = |name: &str| {
        format!("{}HTTP/1.1 200 OK\r\nServer: {name}\r\nContent-Length: 0\r\n\r\n", "b".repeat(1000))
    };
    let found = answers("http_response", "server_header", |connection| {
        connection.send(CLIENT, &request("GET", "/first", 80));
        connection.send(CLIENT, &request("GET", "/second", 80));
        connection.send(SERVER, head.as_bytes());
        connection.send(SERVER, &[b'b'; 1000]);
        connection.send_at(SERVER, 0, behind("forged").as_bytes());
        connection.send(SERVER, behind("realer").as_bytes());
        connection.send(CLIENT, &request("GET", "/third", 80));
    });
    assert!(found.contains(&("forged".to_owned(), Value::Null)), "{found:?}");
}

/// Synthetic captures and local proxies of telephones repeat numbers of a server whose protocol no parser reads.
#[test]
fn other_bytes_of_an_unknown_server_are_no_conflict() {
    let mut capture = Capture::default();
    let mut connection = capture.connect(40_000, false, b"");
    connection.send(CLIENT, b"\x05\0\x0b\x03 binary");
    connection.send_at(SERVER, 0, b"\x80\0\x0f one");
    connection.send(SERVER, b"\x80\0\x2f other");
    connection.send(CLIENT, b"\x05\0\0\x03 more");
    let lines = capture.analyze(Observers::default(), 1).0;
    assert!(!lines.iter().any(|line| line.contains("\"conflict\"")), "{lines:#?}");
}
