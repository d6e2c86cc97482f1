//! Other protocols before TLS in a stream.

use huginn_net_core::Side;

use super::connection::{CLIENT, CURL, Connection, one_client, records, server_hello};

/// Dialogues before TLS: the messages of client and server alternate. An empty first message means that the server
/// begins.
const DIALOGUES: [(&str, &[&[u8]]); 18] = [
    (
        "CONNECT (RFC 9110, section 9.3.6)",
        &[b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
    ),
    ("SOCKS4", &[&[4, 1, 1, 0xbb, 192, 0, 2, 1, b'u', 0], &[0, 90, 1, 0xbb, 192, 0, 2, 1]]),
    (
        "SOCKS4 to a port that resembles a length of OpenVPN",
        &[&[4, 1, 0x20, 0xfb, 192, 0, 2, 1, b'u', 0], &[0, 90, 0x20, 0xfb, 192, 0, 2, 1]],
    ),
    ("SOCKS4A", &[b"\x04\x01\x01\xbb\0\0\0\x01u\0a.example\0", &[0, 90, 0, 0, 0, 0, 0, 0]]),
    (
        "SOCKS5 (RFC 1928)",
        &[&[5, 1, 0], &[5, 0], b"\x05\x01\0\x03\x09a.example\x01\xbb", &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]],
    ),
    ("PROXY protocol 1", &[b"PROXY TCP4 192.0.2.1 192.0.2.2 22 443\r\n"]),
    (
        "PROXY protocol 2",
        &[b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x16\x03\x01\xbb"],
    ),
    (
        "PROXY protocol 2 from 22.3.1.64 to 1.1.0.8",
        &[b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x16\x03\x01\x40\x01\x01\0\x08\xc0\0\x01\xbb"],
    ),
    (
        "SMTP (RFC 3207)",
        &[b"", b"220 a\r\n", b"EHLO b\r\n", b"250-a\r\n250 STARTTLS\r\n", b"STARTTLS\r\n", b"220 go\r\n"],
    ),
    ("IMAP (RFC 9051)", &[b"", b"* OK\r\n", b"a1 STARTTLS\r\n", b"a1 OK\r\n"]),
    ("POP3 (RFC 2595)", &[b"", b"+OK\r\n", b"STLS\r\n", b"+OK\r\n"]),
    ("FTP (RFC 4217)", &[b"", b"220 a\r\n", b"AUTH TLS\r\n", b"234 go\r\n"]),
    (
        "LDAP (RFC 4511, section 4.14)",
        &[
            b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037",
            b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\0\x04\0\x04\0",
        ],
    ),
    ("PostgreSQL, SSLRequest", &[&[0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f], b"S"]),
    (
        "MySQL, SSLRequest",
        &[
            b"",
            b"\x4a\0\0\x0a8.0.16\0\x03\x01\0\0",
            &[
                32, 0, 0, 1, 5, 0xae, 3, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0,
            ],
        ],
    ),
    (
        "XMPP (RFC 6120, section 5)",
        &[
            b"<stream:stream>",
            b"<stream:features><starttls/></stream:features>",
            b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
            b"<proceed/>",
        ],
    ),
    (
        "RDP (MS-RDPBCGR, section 2.2.1.1)",
        &[
            b"\x03\0\0\x13\x0e\xe0\0\0\0\0\0\x01\0\x08\0\x03\0\0\0",
            b"\x03\0\0\x13\x0e\xd0\0\0\x12\x34\0\x02\0\x08\0\x02\0\0\0",
        ],
    ),
    ("a false record header", &[&[22, 3, 1, 0, 4, 1, 22, 3, 1, 0, 22, 22, 3]]),
];

#[test]
fn finds_hello_after_any_dialogue() {
    for (name, turns) in DIALOGUES {
        for step in [1, 3, 1400] {
            let mut connection = Connection::open([99, u32::MAX]);
            let mut sent = [0, 0];
            let mut send = |side: Side, bytes: &[u8]| {
                let [mine, theirs] = match side {
                    Side::Client => [0, 1],
                    Side::Server => [1, 0],
                };
                for piece in bytes.chunks(step) {
                    connection.segment(side, sent[mine], sent[theirs], piece);
                    sent[mine] += piece.len();
                }
            };
            for (turn, side) in turns.iter().zip([Side::Client, Side::Server].into_iter().cycle()) {
                send(side, turn);
            }
            send(Side::Client, CURL);
            send(Side::Server, &server_hello([5; 32]));
            let expected = [one_client(), vec![(Side::Server, "1301".to_owned(), false)]].concat();
            assert_eq!(connection.found(), expected, "{name} in steps of {step}");
        }
    }
}

#[test]
fn midstream_connection_is_parsed() {
    let mut connection = Connection::midstream([500, 600]);
    connection.segment(Side::Client, 2000, 70, b"NOOP\r\n");
    assert_eq!(connection.counters().0.flows.opened, 0);
    connection.segment(Side::Client, 3000, 70, CURL);
    // The client has acknowledged the server's data: its second half is captured first.
    let hello = server_hello([5; 32]);
    connection.segment(Side::Server, 70 + 30, 0, &hello[30..]);
    connection.segment(Side::Server, 70, 0, &hello[..30]);
    assert_eq!(connection.found(), [one_client(), vec![(Side::Server, "1301".to_owned(), false)]].concat());

    let mut connection = Connection::midstream([500, 600]);
    connection.segment(Side::Server, 0, 70, &server_hello([5; 32]));
    assert_eq!(connection.found(), [(Side::Server, "1301".to_owned(), false)]);
    assert_eq!(connection.events[0].flow.client.port(), CLIENT.1);
}

#[test]
fn midstream_finds_hello_after_proxy_header() {
    let server = vec![(Side::Server, "1301".to_owned(), false)];
    for header in [&b"PROXY TCP4 192.0.2.1 192.0.2.2 22 443\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
        let mut connection = Connection::midstream([500, 600]);
        connection.segment(Side::Client, 0, 0, &[header, CURL].concat());
        connection.segment(Side::Server, 0, header.len() + CURL.len(), &server_hello([5; 32]));
        assert_eq!(connection.found(), [one_client(), server.clone()].concat());
    }
    let mut connection = Connection::midstream([500, 600]);
    let hello = server_hello([5; 32]);
    connection.segment(Side::Server, 0, CURL.len(), &hello);
    connection.segment(Side::Client, 0, 0, CURL);
    assert_eq!(connection.found(), [server, one_client()].concat());
}

#[test]
fn gap_in_dialogue_does_not_hide_tls() {
    let mut connection = Connection::open([0, 0]);
    let connect = b"CONNECT a.example:443 HTTP/1.1\r\n\r\n";
    connection.segment(Side::Client, 0, 0, connect);
    // The answer of 95 bytes is not captured, but the client acknowledges it.
    connection.segment(Side::Client, connect.len(), 95, CURL);
    connection.segment(Side::Server, 95, connect.len() + CURL.len(), &server_hello([5; 32]));
    assert_eq!(connection.found().len(), 2);
    assert_eq!(connection.counters().1.streams.gaps, 1);
}

/// A line of a dialogue may have a complete hello, or claim to be a long one. Neither hides the hello that the server answers.
#[test]
fn hello_in_dialogue_does_not_hide_later_hello() {
    let expected = [one_client(), vec![(Side::Server, "1301".to_owned(), false)]].concat();
    for (decoy, hellos) in [
        (records(&CURL[5..], 1 << 14), 1),
        (records(&CURL[5..], 1 << 14).repeat(10), 10),
        ([&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3][..], &[7; 20]].concat(), 0),
        ([&[22, 3, 1, 0x40, 0, 1, 1, 0xff, 0xfc, 3][..], &[7; 20]].concat(), 0),
    ] {
        for step in [1, 100, 1400] {
            let mut connection = Connection::open([0, 0]);
            connection.segment(Side::Server, 0, 0, b"220 a\r\n");
            let mut sent = 0;
            let line = [&b"NOOP "[..], &decoy, b"\r\n"].concat();
            let pieces = line.chunks(step).chain([&b"STARTTLS\r\n"[..]]).chain(CURL.chunks(step));
            for piece in pieces {
                connection.segment(Side::Client, sent, 0, piece);
                sent += piece.len();
            }
            connection.segment(Side::Server, 7, sent, b"220 go\r\n");
            connection.segment(Side::Server, 15, sent, &server_hello([5; 32]));
            let mut found = connection.found();
            found.sort_by_key(|(side, ..)| *side == Side::Server);
            assert_eq!(found.len(), hellos + 2, "{decoy:02x?} in steps of {step}");
            assert_eq!(found[hellos..], expected);
        }
    }
}

/// Bytes that resemble the start of a record with a hello, without a hello.
const FALSE_START: [u8; 10] = [22, 3, 1, 0, 40, 1, 0, 0, 36, 3];

#[test]
fn false_start_does_not_hide_later_hello() {
    for between in [0, 1, 30, 36, 100] {
        let stream = [&FALSE_START[..], &vec![7; between], CURL].concat();
        let mut connection = Connection::open([0, 0]);
        connection.send_data(Side::Client, 0, 0, &stream);
        assert_eq!(connection.found(), one_client(), "{between} bytes between");
    }
    // One false start per piece; the last one shares its piece with the hello.
    let mut connection = Connection::open([0, 0]);
    let data = [&FALSE_START[..], &[7; 50]].concat();
    for n in 0..10 {
        connection.segment(Side::Client, n * 60, 0, &data);
    }
    connection.segment(Side::Client, 600, 0, &[&data, CURL].concat());
    assert_eq!(connection.found(), one_client());
}
