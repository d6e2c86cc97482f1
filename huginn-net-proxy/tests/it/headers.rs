//! Headers of fingerprints, and forged ones.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderValue};
use huginn_net_consistency::ClientBytes;
use huginn_net_proxy::{ClientFingerprint, FingerprintField, FingerprintHeaders, Fingerprinter};

use crate::{HELLO, HTTP1, HTTP2};

fn fingerprint() -> ClientFingerprint {
    let client = ClientBytes::default().tls(HELLO).http(HTTP2);
    Fingerprinter::default().fingerprint(&client)
}

#[test]
fn chosen_fields_are_written() {
    let mut headers = HeaderMap::new();
    FingerprintHeaders::new("X-Client-").unwrap().apply(&fingerprint(), &mut headers);
    assert_eq!(headers["x-client-ja4"], "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
    assert_eq!(headers["x-client-akamai"], "3:100;4:33554432;2:0|33488897|0|m,p,s,a");
    assert_eq!(headers["x-client-verdict"], "unknown");
    assert!(!headers.contains_key("x-client-tcp-sig"), "no SYN is known");
    assert!(!headers.contains_key("x-client-ja4-r"), "not a default field");

    let mut headers = HeaderMap::new();
    let fields = [FingerprintField::Ja4R, FingerprintField::HeaderOrder];
    FingerprintHeaders::new("f-").unwrap().with_fields(&fields).apply(&fingerprint(), &mut headers);
    assert_eq!(headers.len(), 2);
    assert_eq!(headers["f-header-order"], "user-agent,accept");
    assert!(headers["f-ja4-r"].to_str().unwrap().starts_with("t13d3112h2_002f,"));
}

#[test]
fn names_of_fields_are_distinct() {
    let names: BTreeSet<&str> = FingerprintField::ALL.iter().map(|field| field.name()).collect();
    assert_eq!(names.len(), FingerprintField::ALL.len());
    assert!(FingerprintField::DEFAULT.iter().all(|field| FingerprintField::ALL.contains(field)));
}

#[test]
fn invalid_prefixes_are_errors() {
    for prefix in ["", "x client-", "x:", "x-\u{e9}"] {
        assert!(FingerprintHeaders::new(prefix).is_err(), "{prefix:?}");
    }
}

#[test]
fn forged_headers_are_removed() {
    let mut headers = HeaderMap::new();
    for name in [
        "x-client-ja4",
        "x-client-other",
        "x_client_ja4",
        "x-client.ja4",
        "x!client~ja4",
        "X-CLIENT-VERDICT",
        "x-client-",
    ] {
        headers.append(name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_static("forged"));
        headers.append(name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_static("forged again"));
    }
    for name in ["x-clien", "x-clients", "accept", "ja4"] {
        headers.insert(name, HeaderValue::from_static("kept"));
    }
    FingerprintHeaders::new("x-client-").unwrap().apply(&ClientFingerprint::default(), &mut headers);
    let names: BTreeSet<&str> = headers.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["accept", "ja4", "x-clien", "x-clients"]));
}

#[test]
fn lists_cannot_name_written_headers() {
    let stripped = |list: &'static str, values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(list, HeaderValue::from_static(value));
        }
        FingerprintHeaders::new("x-client-").unwrap().strip(&mut headers);
        headers.get_all(list).iter().map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for list in ["connection", "trailer"] {
        assert_eq!(stripped(list, &["keep-alive, X-Client-JA4 ,upgrade"]), ["keep-alive,upgrade"]);
        assert_eq!(stripped(list, &["x-client-ja4", "x_client_ja4", "upgrade"]), ["upgrade"]);
        let other = ["keep-alive, upgrade"];
        assert_eq!(stripped(list, &other), other, "kept as it is");
    }
}

#[test]
fn values_are_visible_ascii() {
    let head = String::from_utf8(HTTP1.to_vec()).unwrap().replace("Accept", "Acc\u{e9}\u{7}pt");
    let client = ClientBytes::default().http(head.as_bytes());
    let fingerprint = Fingerprinter::default().fingerprint(&client);
    let mut headers = HeaderMap::new();
    let fields = [FingerprintField::HeaderOrder, FingerprintField::HttpSig];
    FingerprintHeaders::new("x-").unwrap().with_fields(&fields).apply(&fingerprint, &mut headers);
    assert_eq!(headers["x-header-order"], r"Host,User-Agent,Acc\xc3\xa9\x07pt");
    assert!(headers["x-http-sig"].to_str().unwrap().contains(r"Acc\xc3\xa9"));
}
