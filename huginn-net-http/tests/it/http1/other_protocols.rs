//! Protocols before, after and instead of HTTP/1.

use huginn_net_http::Role;
use huginn_net_http::http1::Upgrade;

use super::recorder::*;

#[test]
fn rejects_other_protocols_by_first_bytes() {
    let table: &[&[u8]] = &[
        b"\x16\x03\x01\x02\x00\x01",
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"EHLO client.example\r\n",
        b"DESCRIBE rtsp://host/ RTSP/1.0\r\n",
        b"GET key\r\n",
        b"OPTIONS sip:a@b SIP/2.0\r\n",
        b"\0\0\0\x18\xffSMB",
        b" GET / HTTP/1.1\r\n",
        b"GEX /\0 HTTP/1.1",
        b"\x05\x01\x00\x05\x02\x00\x01",
        b"\x04\x02\x00\x50\x01\x02\x03\x04u\0",
    ];
    for bytes in table {
        let mut recorder = new_recorder();
        recorder.requests(bytes);
        assert!(!recorder.connection.is_done(), "the server may answer in HTTP");
        recorder.responses(b"\x17\x03\x03");
        assert!(recorder.connection.is_done() && !recorder.connection.is_http1(), "{}", bytes.escape_ascii());
        assert_eq!(
            (recorder.heads.len(), recorder.connection.buffered_bytes()),
            (0, 0),
            "{}",
            bytes.escape_ascii()
        );
    }
    let mut recorder = new_recorder();
    recorder.requests([0; 1000]).responses("HTTP/1.0 400 Bad Request\r\n\r\n").requests([0; 65_000]);
    assert_eq!(recorder.heads, ["0 400"]);
    assert!(recorder.connection.is_done());
    for bytes in [&b"220 mail.example ESMTP\r\n"[..], b"ICY 200 OK\r\n", b"\x05\xff", b"\0\x5b\0\0\0\0\0\0"] {
        assert_eq!(response_heads(bytes), [""; 0]);
    }
}

/// RFC 1928, RFC 1929; HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
#[test]
fn skips_proxy_prefixes() {
    let prefixes: &[(&[u8], &[u8])] = &[
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
    for (client, server) in prefixes {
        let mut recorder = new_recorder();
        for byte in [client, NEXT].concat() {
            recorder.requests([byte]);
        }
        recorder.responses([server, NEXT_RESPONSE].concat());
        assert_eq!(recorder.heads, ["0 GET /next", "0 299"], "{}", client.escape_ascii());
    }
}

#[test]
fn detects_http2_preface() {
    let mut recorder = new_recorder();
    recorder.responses(b"\0\0\0\x04\0\0\0\0\0");
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        recorder.requests([*byte]);
    }
    assert_eq!(recorder.connection.upgrade(), Some(Upgrade::PriorKnowledge));
    assert_eq!(recorder.connection.take_switched_bytes(Role::Request), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert_eq!(recorder.connection.take_switched_bytes(Role::Response), b"\0\0\0\x04\0\0\0\0\0");

    let mut recorder = new_recorder();
    recorder.requests("PRI * HTTP/2.0\r\n");
    assert!(
        recorder.connection.has_switched_protocols(Role::Response),
        "the client alone selects the protocol"
    );

    let mut recorder = new_recorder();
    recorder.requests(NEXT).requests("PRI * HTTP/2.0\r\n\r\n").requests(NEXT);
    assert_eq!((recorder.connection.upgrade(), recorder.heads.len()), (None, 2));
}

#[test]
fn parses_tunnel_as_new_connection() {
    let mut recorder = new_recorder();
    recorder
        .requests("CONNECT a:80 HTTP/1.1\r\n\r\n")
        .responses("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    assert!(!recorder.connection.is_done());
    recorder.requests(NEXT).responses(NEXT_RESPONSE);
    assert_eq!(recorder.heads, ["0 CONNECT a:80", "0 200", "1 GET /next", "1 299"]);

    let mut recorder = new_recorder();
    recorder.requests("CONNECT a:443 HTTP/1.1\r\n\r\n").responses("HTTP/1.0 200 OK\r\n\r\n");
    recorder.requests(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").responses(b"\x16\x03\x03\0\x01\x02");
    assert!(!recorder.connection.is_done(), "an answer in the clear may follow");
    recorder.requests(b"\x17").responses(b"\x17\x03\x03\0\x01");
    assert!(recorder.connection.is_done());
}

/// RFC 7540, section 3.2; RFC 6455, section 1.2.
#[test]
fn upgrade_ends_both_directions() {
    let mut recorder = new_recorder();
    let upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    recorder.requests(format!("POST / HTTP/1.1\r\n{upgrade}Content-Length: 4\r\n\r\nbo"));
    assert_eq!(recorder.connection.upgrade(), None);
    recorder.responses(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n\0\0\x12\x04",
    );
    assert_eq!(recorder.connection.upgrade(), Some(Upgrade::Http2));
    assert_eq!(recorder.connection.take_switched_bytes(Role::Response), b"\0\0\x12\x04");
    assert!(
        recorder.connection.has_switched_protocols(Role::Response)
            && !recorder.connection.has_switched_protocols(Role::Request)
    );
    recorder.requests("dyPRI * HTTP/2.0\r\n\r\nSM");
    assert_eq!(recorder.connection.take_switched_bytes(Role::Request), b"PRI * HTTP/2.0\r\n\r\nSM");
    recorder.responses("x").responses("y");
    assert_eq!(recorder.connection.take_switched_bytes(Role::Response), b"xy");
    assert_eq!(recorder.heads, ["0 POST /", "0 101"]);

    let mut recorder = new_recorder();
    recorder.requests("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\nPRI * HT");
    recorder.responses("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\n\n");
    assert_eq!(recorder.connection.upgrade(), Some(Upgrade::Other));
    assert_eq!(recorder.connection.take_switched_bytes(Role::Request), b"PRI * HT");
    assert!(recorder.connection.is_done());
}
