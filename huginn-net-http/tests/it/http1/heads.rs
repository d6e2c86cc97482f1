//! Fields, target, host and path of heads.

use huginn_net_http::{Headers, HttpVersion, Request};

use super::recorder::*;

#[test]
fn parses_lenient_heads() {
    let request = |text: &str| Request::parse(text.as_bytes()).unwrap().unwrap().value;
    // A bare LF (RFC 9112, section 2.2) and line folding (section 5.2).
    let folded = request("GET / HTTP/1.1\nA: b\r\n\t c\n d\nHost:\te \n\n");
    assert_eq!(folded.header("a").map(<[u8]>::escape_ascii).unwrap().to_string(), r"b  \t c  d");
    assert_eq!(folded.host(), Some(&b"e"[..]));
    // RFC 9112 forbids these lines, but servers accept them.
    let odd = request(
        "GET /a b\u{e9} HTTP/1.1\r\n first: 1\r\nno colon\r\nbad name : 2\r\n: 3\r\nctl: \u{1}\r\nX: \r4\r\n\r\n",
    );
    let fields: Vec<_> = odd.headers().iter().map(|header| (header.name, header.value())).collect();
    let expected: &[(&[u8], &[u8])] =
        &[(b"first", b"1"), (b"bad name", b"2"), (b"ctl", b"\x01"), (b"X", b"4")];
    assert_eq!(fields, expected);
    assert_eq!(odd.target(), "/a b\u{e9}".as_bytes());
    // A line that begins with CR ends the head, like an empty line.
    assert_eq!(request("GET / HTTP/1.1\r\nA: b\r\n\rHost: c\r\n\r\n").headers().len(), 1);
}

#[test]
fn target_may_contain_controls() {
    for step in [1, 2, 7, 100] {
        let mut recorder = new_recorder();
        for piece in b"GET /a\x01b HTTP/1.1\r\n\r\nUNSUBSCRIBE \0 HTTP/1.1\r\n\r\n".chunks(step) {
            recorder.requests(piece);
        }
        recorder.requests(NEXT);
        assert_eq!(
            recorder.heads,
            [r"0 GET /a\x01b", r"1 UNSUBSCRIBE \x00", "2 GET /next"],
            "in steps of {step}"
        );
    }
}

/// RFC 8441, section 4; RFC 9113, section 8.5.
#[test]
fn http2_connect_may_have_path() {
    let request = |target: &[u8]| {
        Request::new(HttpVersion::Http2, b"CONNECT", target, Headers::default()).with_authority(b"a:443")
    };
    assert_eq!(request(b"/chat").path(), Some(&b"/chat"[..]));
    assert_eq!(request(b"/chat").host(), Some(&b"a:443"[..]));
    assert_eq!(request(b"").path(), None);
}

/// RFC 9112, sections 3.2 and 3.3.
#[test]
fn host_and_path_of_all_target_forms() {
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
        ("GET http://h?q@x HTTP/1.1\r\n", Some("h"), Some("/?q@x")),
        ("GET http://h?x#f HTTP/1.1\r\n", Some("h"), Some("/?x")),
        ("GET http://h#f HTTP/1.1\r\n", Some("h"), Some("/")),
        ("GET http://h/a?b#c#d HTTP/1.1\r\n", Some("h"), Some("/a?b")),
        (
            "CONNECT www.example.com:80 HTTP/1.1\r\nHost: www.example.com\r\n",
            Some("www.example.com:80"),
            None,
        ),
        ("OPTIONS * HTTP/1.1\r\n", None, Some("*")),
        ("GET /http://x/ HTTP/1.0\r\n", None, Some("/http://x/")),
    ];
    for (head, host, path) in table {
        let request = Request::parse(format!("{head}\r\n").as_bytes()).unwrap().unwrap().value;
        assert_eq!(
            (request.host(), request.path()),
            (host.map(str::as_bytes), path.map(str::as_bytes)),
            "{head}"
        );
    }
}
