//! PROXY protocol headers.

use std::io;
use std::net::SocketAddr;

use huginn_net_consistency::ClientBytes;
use huginn_net_proxy::{
    ClientFingerprint, FINGERPRINT_TLV, Fingerprinter, MAX_TEXT_LEN, MAX_TLV_LEN, ProxyHeader,
};
use proptest::prelude::*;

use crate::{HELLO, HTTP1, HTTP2};

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

fn header() -> ProxyHeader {
    let client = ClientBytes::default().tls(HELLO).http(HTTP2);
    ProxyHeader::new("192.0.2.1:41658".parse().unwrap(), "192.0.2.2:443".parse().unwrap())
        .with_fingerprint(Fingerprinter::default().fingerprint(&client))
}

/// A header with this command and family, and this rest.
fn bytes(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    [&SIGNATURE[..], &[command, family], &u16::try_from(rest.len()).unwrap().to_be_bytes(), rest].concat()
}

#[test]
fn wire_format_is_that_of_specification() {
    let plain = ProxyHeader::new("192.0.2.1:41658".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
    let rest = [192, 0, 2, 1, 192, 0, 2, 2, 0xa2, 0xba, 1, 0xbb];
    assert_eq!(plain.to_bytes().unwrap(), bytes(0x21, 0x11, &rest));
    assert_eq!(ProxyHeader::default().to_bytes().unwrap(), bytes(0x20, 0, &[]));
    let with_tlv = header().to_bytes().unwrap();
    assert_eq!((with_tlv[28], &with_tlv[31..39]), (FINGERPRINT_TLV, &br#"{"tls":{"#[..]));
}

#[test]
fn addresses_of_all_families_are_read_back() {
    for (client, server, read) in [
        ("192.0.2.1:1", "192.0.2.2:2", ["192.0.2.1:1", "192.0.2.2:2"]),
        ("[2001:db8::1]:1", "[2001:db8::2]:2", ["[2001:db8::1]:1", "[2001:db8::2]:2"]),
        ("192.0.2.1:1", "[2001:db8::2]:2", ["[::ffff:192.0.2.1]:1", "[2001:db8::2]:2"]),
    ] {
        let header = ProxyHeader::new(client.parse().unwrap(), server.parse().unwrap());
        let parsed = ProxyHeader::parse(&header.to_bytes().unwrap()).unwrap().unwrap();
        let expected = read.map(|address| address.parse::<SocketAddr>().unwrap());
        assert_eq!(parsed.value.addresses, Some(expected));
    }
}

#[test]
fn reading_takes_header_only() {
    let header = header();
    let sent = [header.to_bytes().unwrap(), b"the rest".to_vec()].concat();
    let mut stream = &sent[..];
    assert_eq!(ProxyHeader::read(&mut stream).unwrap(), header);
    assert_eq!(stream, b"the rest");
    for len in 0..sent.len() - 8 {
        assert!(ProxyHeader::parse(&sent[..len]).unwrap().is_none(), "{len} bytes");
        assert_eq!(ProxyHeader::read(&mut &sent[..len]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn header_without_client_says_nothing() {
    let ips = [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2];
    let unix = [b'/'; 216];
    let tlv = [FINGERPRINT_TLV, 0, 2, b'{', b'}'];
    for bytes in [
        bytes(0x20, 0x11, &ips),
        bytes(0x20, 0x11, &[&ips[..], &tlv].concat()),
        bytes(0x20, 0, &tlv),
        bytes(0x21, 0, &tlv),
        bytes(0x21, 0x31, &[&unix[..], &tlv].concat()),
    ] {
        let parsed = ProxyHeader::parse(&bytes).unwrap().unwrap();
        assert_eq!((parsed.value, parsed.consumed), (ProxyHeader::default(), bytes.len()));
    }
}

#[test]
fn foreign_tlvs_are_ignored() {
    let ips = [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2];
    for tlvs in
        [&[0xea, 0, 1, 7][..], &[FINGERPRINT_TLV, 0, 2, b'{', b'x'], &[FINGERPRINT_TLV, 0, 0, 4, 0, 0]]
    {
        let parsed = ProxyHeader::parse(&bytes(0x21, 0x11, &[&ips, tlvs].concat())).unwrap().unwrap();
        assert_eq!((parsed.value.addresses.is_some(), parsed.value.fingerprint), (true, None));
    }
}

#[test]
fn invalid_headers_are_errors() {
    let ips = [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2];
    for bytes in [
        bytes(0x11, 0x11, &ips),
        bytes(0x22, 0x11, &ips),
        bytes(0x21, 0x41, &ips),
        bytes(0x21, 0x11, &ips[..8]),
        bytes(0x21, 0x11, &[&ips[..], &[4, 0, 9, 0]].concat()),
        bytes(0x21, 0x11, &[&ips[..], &[4, 0]].concat()),
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n".to_vec(),
        HELLO.to_vec(),
    ] {
        assert!(ProxyHeader::parse(&bytes).is_err(), "{bytes:02x?}");
        assert_eq!(ProxyHeader::read(&mut &bytes[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

/// The fingerprint in a header that was sent, and the length of its TLV.
fn sent(fingerprint: ClientFingerprint) -> (ClientFingerprint, usize) {
    let bytes = header().with_fingerprint(fingerprint).to_bytes().unwrap();
    let len = usize::from(u16::from_be_bytes([bytes[29], bytes[30]]));
    (ProxyHeader::parse(&bytes).unwrap().unwrap().value.fingerprint.unwrap(), len)
}

#[test]
fn long_texts_are_left_out() {
    let client = ClientBytes::default().tls(HELLO).http(HTTP2);
    let whole = Fingerprinter::default().fingerprint(&client);
    let (short, len) = sent(whole.clone());
    assert!(len <= MAX_TLV_LEN, "{len}");
    let [tls, whole_tls] = [short.tls.unwrap(), whole.tls.clone().unwrap()];
    assert_eq!((&tls.ja4, &tls.ja3_hash, &tls.sni), (&whole_tls.ja4, &whole_tls.ja3_hash, &whole_tls.sni));
    assert_eq!((tls.ja4_r, tls.ja3, short.http), (None, None, whole.http.clone()));

    // Every text has the greatest length.
    let long = "x".repeat(MAX_TEXT_LEN);
    let mut longest = whole;
    let (tls, http) = (longest.tls.as_mut().unwrap(), longest.http.as_mut().unwrap());
    for text in [&mut tls.sni, &mut tls.ja3, &mut http.akamai, &mut http.sig] {
        *text = Some(long.clone());
    }
    for names in [&mut tls.alpn, &mut http.header_order] {
        *names = long.parse().ok();
    }
    longest.consistency.as_mut().unwrap().reasons = long.parse().unwrap();
    let (short, len) = sent(longest.clone());
    assert!(len <= MAX_TLV_LEN, "{len}");
    assert_eq!(short.tls.unwrap().ja4, longest.tls.unwrap().ja4);
    assert_eq!(short.http.unwrap().akamai_hash, longest.http.unwrap().akamai_hash);

    // A short one stays whole.
    let syn = Fingerprinter::default().fingerprint(&ClientBytes::default().http(HTTP1));
    assert_eq!(sent(syn.clone()).0, syn);
}

#[test]
fn oversized_fingerprint_is_error() {
    let mut header = header();
    header.fingerprint.as_mut().unwrap().tls.as_mut().unwrap().sni = Some("x".repeat(70_000));
    assert_eq!(header.to_bytes().unwrap_err().kind(), io::ErrorKind::WriteZero);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        command in 0x1f..0x23_u8,
        family in prop::sample::select(vec![0_u8, 0x11, 0x12, 0x21, 0x31, 0x33]),
        rest in prop::collection::vec(prop_oneof![Just(0), Just(FINGERPRINT_TLV), any::<u8>()], 0..300),
        cut in 0..300_usize,
    ) {
        let bytes = bytes(command, family, &rest);
        let bytes = &bytes[..bytes.len().saturating_sub(cut)];
        if let Ok(Some(parsed)) = ProxyHeader::parse(bytes) {
            prop_assert!(parsed.consumed <= bytes.len());
            let again = parsed.value.to_bytes().unwrap();
            prop_assert_eq!(ProxyHeader::parse(&again).unwrap().unwrap().value, parsed.value);
        }
    }
}
