//! Fingerprints of the bytes of real clients.

use huginn_net::consistency::ClientBytes;
use huginn_net::http::http2::Akamai;
use huginn_net::tls::ClientHello;
use huginn_net::{ClientDatabase, Database};
use huginn_net_proxy::{
    ClientFingerprint, ConnectionFingerprint, ConnectionParts, Fingerprinter, MAX_TEXT_LEN, Recorder,
    Recording,
};

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
    let found = fingerprint(&ClientBytes {
        syn: Some(&SYN),
        tls: Some(HELLO),
        http: Some(HTTP2),
        ..ClientBytes::default()
    });
    let (tcp, tls, http) =
        (found.tcp.as_ref().unwrap(), found.tls.as_ref().unwrap(), found.http.as_ref().unwrap());
    assert_eq!(tcp.sig, "4:61+3:0:1460:64240,7:mss,sok,ts,nop,ws:df,id+:0".replace("64240", "mss*44"));
    assert_eq!((tcp.system.as_deref(), tcp.distance, tcp.fuzzy), (Some("Linux 4.20 or newer"), 3, false));

    let hello = ClientHello::from_records(HELLO).unwrap().unwrap().value;
    assert_eq!(tls.ja4, hello.ja4().to_string());
    assert_eq!(tls.ja4_r, Some(hello.ja4_r().to_string()));
    assert_eq!(tls.ja4_o, hello.ja4_o().to_string());
    assert_eq!(tls.ja4_ro, Some(hello.ja4_ro().to_string()));
    assert_eq!(tls.ja4_s1, hello.ja4_s1().to_string());
    assert_eq!(tls.ja4_s1r, Some(hello.ja4_s1r().to_string()));
    assert_eq!(
        (tls.ja3.as_deref(), &tls.ja3_hash),
        (Some(hello.ja3().as_str()), &hello.ja3_hash().to_string())
    );
    assert_eq!((tls.sni.as_deref(), tls.alpn.as_deref()), (Some("www.example.test"), Some("h2,http/1.1")));
    assert_eq!((&*tls.version, tls.software.as_deref()), ("13", Some("libcurl 7.88")));

    let akamai = Akamai::from_client_bytes(HTTP2).unwrap().unwrap().value;
    assert_eq!(http.akamai, Some(akamai.to_string()));
    assert_eq!(http.akamai_hash, Some(akamai.hash().to_string()));
    assert_eq!((&*http.version, http.header_order.as_deref()), ("2", Some("user-agent,accept")));
    assert_eq!(found.client_name(), http.software.as_deref());
    assert_eq!(found.consistency.as_ref().unwrap().outcome, "unknown");
}

#[test]
fn http1_has_order_and_signature() {
    for bytes in [HTTP1.to_vec(), [b"\r\n", HTTP1].concat()] {
        let http = fingerprint(&ClientBytes { http: Some(&bytes), ..ClientBytes::default() }).http.unwrap();
        assert_eq!(http.header_order.as_deref(), Some("Host,User-Agent,Accept"));
        assert!(http.sig.unwrap().starts_with("1:Host,User-Agent,Accept=[*/*]:"));
        assert_eq!((&*http.version, http.akamai), ("1.1", None));
    }
}

#[test]
fn verdict_is_that_of_consistency() {
    for http in [IMITATION, HTTP1, HTTP2] {
        let client =
            ClientBytes { syn: Some(&SYN), tls: Some(HELLO), http: Some(http), ..ClientBytes::default() };
        let expected = client.check(&Database::builtin(), ClientDatabase::builtin()).unwrap();
        let found = fingerprint(&client).consistency.unwrap();
        assert_eq!(found.outcome, expected.outcome.name());
        assert_eq!(found.reasons.unwrap_or_default(), expected.reasons.join("; "));
    }
    let client = ClientBytes { tls: Some(HELLO), http: Some(IMITATION), ..ClientBytes::default() };
    assert_eq!(fingerprint(&client).consistency.unwrap().outcome, "imitation");
}

#[test]
fn damaged_and_missing_layers_are_absent() {
    assert_eq!(fingerprint(&ClientBytes::default()), ClientFingerprint::default());
    let damaged =
        ClientBytes { syn: Some(HELLO), tls: Some(HTTP1), http: Some(HELLO), ..ClientBytes::default() };
    assert_eq!(fingerprint(&damaged), ClientFingerprint::default());
    let cut = ClientBytes {
        syn: Some(&SYN[..30]),
        tls: Some(&HELLO[..90]),
        http: Some(&HTTP2[..40]),
        ..ClientBytes::default()
    };
    assert_eq!(fingerprint(&cut), ClientFingerprint::default());
}

#[test]
fn unknown_layers_are_taken_from_other_fingerprint() {
    let edge = fingerprint(&ClientBytes { syn: Some(&SYN), tls: Some(HELLO), ..ClientBytes::default() });
    let inner = fingerprint(&ClientBytes { http: Some(HTTP1), ..ClientBytes::default() });
    let joined = inner.clone().or(edge.clone());
    assert_eq!((joined.tcp, joined.tls, joined.http), (edge.tcp, edge.tls, inner.http));
}

#[test]
fn verdict_compares_own_layers_only() {
    let mut edge =
        fingerprint(&ClientBytes { tls: Some(HELLO), http: Some(HTTP2), ..ClientBytes::default() });
    edge.consistency.as_mut().unwrap().outcome = "imitation".to_owned();
    let connection = |http: Option<&[u8]>| {
        let http = http.map(|bytes| {
            let mut recorder = Recorder::new(bytes, Recording::http());
            recorder.peek().unwrap();
            recorder.handle()
        });
        let parts = ConnectionParts { http, known: Some(edge.clone()), ..ConnectionParts::default() };
        ConnectionFingerprint::new(Fingerprinter::default(), parts).fingerprint()
    };
    assert_eq!(*connection(None), edge);
    let with_request = connection(Some(HTTP1));
    assert_eq!(with_request.consistency.as_ref().unwrap().outcome, "unknown");
    assert_eq!((&with_request.tls, with_request.http == edge.http), (&edge.tls, false));
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
    let tls =
        fingerprint(&ClientBytes { tls: Some(&in_tls_records(&message, 1 << 14)), ..ClientBytes::default() });
    let tls = tls.tls.unwrap();
    assert!(tls.ja4.starts_with("t12d990100_"), "{}", tls.ja4);
    assert_eq!(tls.ja3_hash.len(), 32);
    assert_eq!([tls.ja4_r, tls.ja4_ro, tls.ja4_s1r, tls.ja3, tls.sni], [const { None }; 5]);

    let names = "A-Header-Name: x\r\n".repeat(250);
    let head = format!("GET / HTTP/1.1\r\n{names}\r\n");
    let http =
        fingerprint(&ClientBytes { http: Some(head.as_bytes()), ..ClientBytes::default() }).http.unwrap();
    assert!(http.header_order.is_some_and(|order| order.len() <= MAX_TEXT_LEN));
    let names = "A-Longer-Header-Name: x\r\n".repeat(250);
    let head = format!("GET / HTTP/1.1\r\n{names}\r\n");
    let http =
        fingerprint(&ClientBytes { http: Some(head.as_bytes()), ..ClientBytes::default() }).http.unwrap();
    assert_eq!(http.header_order, None);
}

#[cfg(feature = "serde")]
#[test]
fn json_is_read_back() {
    let client =
        ClientBytes { syn: Some(&SYN), tls: Some(HELLO), http: Some(HTTP2), ..ClientBytes::default() };
    for found in
        [fingerprint(&client), fingerprint(&ClientBytes { tls: Some(HELLO), ..ClientBytes::default() })]
    {
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<ClientFingerprint>(&json).unwrap(), found, "{json}");
    }
    let json = serde_json::to_value(fingerprint(&client)).unwrap();
    assert_eq!(json["tls"]["ja4"], "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
    assert_eq!(json["tcp"]["system"], "Linux 4.20 or newer");
    // A newer version may add values.
    let newer = r#"{"tls":{"ja4":"x","ja5":"y"},"quic":{}}"#;
    assert_eq!(serde_json::from_str::<ClientFingerprint>(newer).unwrap().tls.unwrap().ja4, "x");
}
