//! Fingerprints of the bytes of real clients.

use huginn_net_consistency::{ClientBytes, Outcome};
use huginn_net_db::{ClientDatabase, Database};
use huginn_net_http::HttpVersion;
use huginn_net_http::http2::Akamai;
use huginn_net_proxy::{
    ClientFingerprint, ConnectionFingerprint, ConnectionParts, Fingerprinter, JoinedNames, MAX_TEXT_LEN,
    Recorder, Recording,
};
use huginn_net_tls::{ClientHello, Version};

use crate::{HELLO, HTTP1, HTTP2, in_tls_records};

/// The SYN of a Linux system.
const SYN: [u8; 60] = [
    0x45, 0, 0, 60, 0x1c, 0x46, 0x40, 0, 61, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
    0xdc, 0xe2, 0, 80, 0x52, 0x4d, 0x98, 0x43, 0, 0, 0, 0, 0xa0, 2, 0xfa, 0xf0, 0, 0, 0, 0, // TCP
    2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0x2e, 0x6b, 0xc4, 0, 0, 0, 0, 1, 3, 3, 7, // options
];

/// A request of curl that claims to be Chromium.
const IMITATION: &[u8] = b"GET / HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36\r\nAccept: */*\r\n\r\n";

fn fingerprint(client: &ClientBytes<'_>) -> ClientFingerprint {
    Fingerprinter::default().fingerprint(client)
}

#[test]
fn all_layers_have_values_of_their_parsers() {
    let found = fingerprint(&ClientBytes::default().syn(&SYN).tls(HELLO).http(HTTP2));
    let (tcp, tls, http) =
        (found.tcp.as_ref().unwrap(), found.tls.as_ref().unwrap(), found.http.as_ref().unwrap());
    assert_eq!(tcp.sig, "4:61+3:0:1460:64240,7:mss,sok,ts,nop,ws:df,id+:0".replace("64240", "mss*44"));
    assert_eq!((tcp.system.as_deref(), tcp.distance, tcp.fuzzy), (Some("Linux 4.20 or newer"), 3, false));

    let hello = ClientHello::from_records(HELLO).unwrap().unwrap().value;
    assert_eq!(tls.ja4, hello.ja4());
    assert_eq!(tls.ja4_r, Some(hello.ja4_r()));
    assert_eq!(tls.ja4_o, hello.ja4_o());
    assert_eq!(tls.ja4_ro, Some(hello.ja4_ro()));
    assert_eq!(tls.ja4_stable, hello.ja4_stable());
    assert_eq!(tls.ja4_stable_r, Some(hello.ja4_stable_r()));
    assert_eq!((tls.ja3.as_deref(), tls.ja3_hash), (Some(hello.ja3().as_str()), hello.ja3_hash()));
    assert_eq!(
        (tls.sni.as_deref(), tls.alpn.as_ref().unwrap().as_str()),
        (Some("www.example.test"), "h2,http/1.1")
    );
    assert_eq!((tls.version, tls.software.as_deref()), (Version::TLS_1_3, Some("libcurl 7.88 and older")));
    assert_eq!(tls.key_shares.as_ref().map(JoinedNames::as_str), Some("x25519:32"));
    assert_eq!((tls.ech.as_deref(), tls.quic.as_deref()), (None, None));

    let akamai = Akamai::from_client_bytes(HTTP2).unwrap().unwrap().value;
    assert_eq!(http.akamai, Some(akamai.to_string()));
    assert_eq!(http.akamai_hash, Some(akamai.hash()));
    assert_eq!(http.version, HttpVersion::Http2);
    assert!(http.header_order.as_ref().unwrap().iter().eq(["user-agent", "accept"]));
    assert_eq!(found.client_name(), http.software.as_deref());
    assert_eq!(found.consistency.as_ref().unwrap().outcome, Outcome::Unknown);
}

/// The first ClientHello of `captures/tls/tls-ech/tls-ech.pcap`, of Go.
#[test]
fn encrypted_client_hello_has_its_form() {
    let hello = include_bytes!("../../../huginn-net-tls/hellos/go-ech.bin");
    let tls = fingerprint(&ClientBytes::default().tls(hello)).tls.unwrap();
    assert_eq!(tls.ech.as_deref(), Some("outer"));
}

#[test]
fn http1_has_order_and_signature() {
    for bytes in [HTTP1.to_vec(), [b"\r\n", HTTP1].concat()] {
        let http = fingerprint(&ClientBytes::default().http(&bytes)).http.unwrap();
        assert_eq!(http.header_order.unwrap().as_str(), "Host,User-Agent,Accept");
        assert!(http.sig.unwrap().starts_with("1:Host,User-Agent,Accept=[*/*]:"));
        assert_eq!((http.version, http.akamai), (HttpVersion::Http11, None));
    }
}

#[test]
fn verdict_is_that_of_consistency() {
    for http in [IMITATION, HTTP1, HTTP2] {
        let client = ClientBytes::default().syn(&SYN).tls(HELLO).http(http);
        let expected = client.check(Database::builtin(), ClientDatabase::builtin()).unwrap();
        let found = fingerprint(&client).consistency.unwrap();
        assert_eq!(found.outcome, expected.outcome);
        let reasons: Vec<String> = expected.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(found.reasons.iter().collect::<Vec<_>>(), reasons);
    }
    let client = ClientBytes::default().tls(HELLO).http(IMITATION);
    assert_eq!(fingerprint(&client).consistency.unwrap().outcome, Outcome::Imitation);
}

/// A request as a server parses it.
#[cfg(feature = "http")]
fn parsed(head: &[u8]) -> http::Request<()> {
    let head = std::str::from_utf8(head).unwrap();
    let mut request = http::Request::get("/");
    for line in head.lines().skip(1).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    request.body(()).unwrap()
}

#[cfg(feature = "http")]
#[test]
fn requests_of_a_connection_have_own_verdicts() {
    let mut recorder = Recorder::new(HTTP1, Recording::http());
    recorder.peek().unwrap();
    let mut hello = Recording::tls();
    hello.push(HELLO);
    let parts = ConnectionParts::default().hello(hello).http(recorder.handle());
    let connection = ConnectionFingerprint::new(Fingerprinter::default(), parts);
    let first = connection.fingerprint_of(&parsed(HTTP1));
    assert!(
        std::sync::Arc::ptr_eq(&first, &connection.fingerprint()),
        "the first request has the verdict of its bytes"
    );
    let second = connection.fingerprint_of(&parsed(IMITATION));
    assert_eq!(second.consistency.as_ref().unwrap().outcome, Outcome::Imitation);
    assert_eq!((&second.tls, &second.http), (&first.tls, &first.http));
    // The signature of the first request says nothing of others.
    let layers = connection.layers();
    let request = huginn_net_http::Request::parse(IMITATION).unwrap().unwrap().value;
    assert!(layers.with_request(layers.request.as_ref().unwrap()).http1 == layers.http1.as_ref());
    assert!(layers.with_request(&request).http1.is_none());
}

#[cfg(feature = "http")]
#[test]
fn requests_without_recording_are_not_judged() {
    let connection = ConnectionFingerprint::new(Fingerprinter::default(), ConnectionParts::default());
    assert_eq!(connection.fingerprint_of(&parsed(IMITATION)).consistency, None);
}

#[test]
fn damaged_and_missing_layers_are_absent() {
    assert_eq!(fingerprint(&ClientBytes::default()), ClientFingerprint::default());
    let damaged = ClientBytes::default().syn(HELLO).tls(HTTP1).http(HELLO);
    assert_eq!(fingerprint(&damaged), ClientFingerprint::default());
    let cut = ClientBytes::default().syn(&SYN[..30]).tls(&HELLO[..90]).http(&HTTP2[..40]);
    assert_eq!(fingerprint(&cut), ClientFingerprint::default());
}

#[test]
fn unknown_layers_are_taken_from_other_fingerprint() {
    let edge = fingerprint(&ClientBytes::default().syn(&SYN).tls(HELLO));
    let inner = fingerprint(&ClientBytes::default().http(HTTP1));
    let joined = inner.clone().or(edge.clone());
    assert_eq!((joined.tcp, joined.tls, joined.http), (edge.tcp, edge.tls, inner.http));
}

#[test]
fn verdict_compares_own_layers_only() {
    let mut edge = fingerprint(&ClientBytes::default().tls(HELLO).http(HTTP2));
    edge.consistency.as_mut().unwrap().outcome = Outcome::Imitation;
    let connection = |http: Option<&[u8]>| {
        let http = http.map(|bytes| {
            let mut recorder = Recorder::new(bytes, Recording::http());
            recorder.peek().unwrap();
            recorder.handle()
        });
        let parts = ConnectionParts::default().http(http).known(edge.clone());
        ConnectionFingerprint::new(Fingerprinter::default(), parts).fingerprint()
    };
    assert_eq!(*connection(None), edge);
    let with_request = connection(Some(HTTP1));
    assert_eq!(with_request.consistency.as_ref().unwrap().outcome, Outcome::Unknown);
    assert_eq!((&with_request.tls, with_request.http == edge.http), (&edge.tls, false));
}

#[test]
fn commas_in_names_are_escaped() {
    let head = b"GET / HTTP/1.1\r\nHost: a\r\nAccept: b\r\n\r\n";
    let http = fingerprint(&ClientBytes::default().http(head)).http.unwrap();
    assert_eq!(http.header_order.unwrap().iter().count(), 2);
    // ALPN of the hello: h2 becomes `a,`.
    let mut hello = HELLO.to_vec();
    let h2 = hello.windows(3).position(|bytes| bytes == b"\x02h2").unwrap();
    hello[h2 + 1..h2 + 3].copy_from_slice(b"a,");
    let tls = fingerprint(&ClientBytes::default().tls(&hello)).tls.unwrap();
    assert!(tls.alpn.unwrap().iter().eq([r"a\x2c", "http/1.1"]));
}

#[test]
fn long_texts_are_left_out() {
    // A hello with 30,000 cipher suites, and a name of 9,000 bytes.
    let suites: Vec<u8> = (0..30_000_u16).flat_map(u16::to_be_bytes).collect();
    let name = vec![b'a'; 9000];
    let len = |len: usize| u16::try_from(len).unwrap().to_be_bytes();
    let server_name = [&len(name.len() + 3)[..], &[0], &len(name.len()), &name].concat();
    let extension = [&[0, 0][..], &len(server_name.len()), &server_name].concat();
    let mut body = [&[3, 3][..], &[7; 32], &[0], &len(suites.len()), &suites].concat();
    body.extend([&[1, 0][..], &len(extension.len()), &extension].concat());
    let message = [&[1][..], &u32::try_from(body.len()).unwrap().to_be_bytes()[1..], &body].concat();
    let tls = fingerprint(&ClientBytes::default().tls(&in_tls_records(&message, 1 << 14)));
    let tls = tls.tls.unwrap();
    assert!(tls.ja4.to_string().starts_with("t12d990100_"), "{}", tls.ja4);
    assert_eq!([tls.ja4_r, tls.ja4_ro, tls.ja4_stable_r], [const { None }; 3]);
    assert_eq!([tls.ja3, tls.sni], [const { None }; 2]);

    let names = "A-Header-Name: x\r\n".repeat(250);
    let head = format!("GET / HTTP/1.1\r\n{names}\r\n");
    let http = fingerprint(&ClientBytes::default().http(head.as_bytes())).http.unwrap();
    assert!(http.header_order.is_some_and(|order| order.as_str().len() <= MAX_TEXT_LEN));
    let names = "A-Longer-Header-Name: x\r\n".repeat(250);
    let head = format!("GET / HTTP/1.1\r\n{names}\r\n");
    let http = fingerprint(&ClientBytes::default().http(head.as_bytes())).http.unwrap();
    assert_eq!(http.header_order, None);
}

#[cfg(feature = "serde")]
#[test]
fn json_is_read_back() {
    let client = ClientBytes::default().syn(&SYN).tls(HELLO).http(HTTP2);
    for found in [fingerprint(&client), fingerprint(&ClientBytes::default().tls(HELLO))] {
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<ClientFingerprint>(&json).unwrap(), found, "{json}");
    }
    let json = serde_json::to_value(fingerprint(&client)).unwrap();
    assert_eq!(json["tls"]["ja4"], "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
    assert_eq!(json["tcp"]["system"], "Linux 4.20 or newer");
    // A newer version may add values.
    let newer = r#"{"http":{"version":"2","version_of_library":"y"},"quic":{}}"#;
    let newer = serde_json::from_str::<ClientFingerprint>(newer).unwrap();
    assert_eq!(newer.http.unwrap().version, HttpVersion::Http2);
    let wrong = r#"{"http":{"version":"9"}}"#;
    let error = serde_json::from_str::<ClientFingerprint>(wrong).unwrap_err().to_string();
    assert!(error.starts_with("not an HTTP version: expected"), "{error}");
}
