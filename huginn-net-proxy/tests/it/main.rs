//! Tests of the public API.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod documentation;
mod fingerprint;
#[cfg(feature = "http")]
mod headers;
#[cfg(feature = "proxy-protocol")]
mod proxy_header;
#[cfg(feature = "quinn")]
mod quic;
mod recorder;
mod recording;
#[cfg(target_os = "linux")]
mod saved_syn;
#[cfg(all(feature = "proxy-protocol", feature = "rustls", feature = "tower", target_os = "linux"))]
mod servers;
mod sni_routes;

/// The ClientHello of curl 7.88.1 with OpenSSL 3.0, in one record.
const HELLO: &[u8] = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin");

/// The first bytes of curl 7.88.1 over HTTP/2, decrypted: preface, SETTINGS, WINDOW_UPDATE, HEADERS.
const HTTP2: &[u8] = include_bytes!("../../../huginn-net-http/http2/curl.bin");

/// The head of an HTTP/1.1 request.
const HTTP1: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";

/// A ClientHello with padding (extension 21) to a message of `len` bytes, in records of at most `in_records` bytes.
fn padded_hello(len: usize, in_records: usize) -> Vec<u8> {
    let message = &HELLO[5..];
    let padding = len - message.len() - 4;
    let mut message =
        [message, &[0, 21], &u16::try_from(padding).unwrap().to_be_bytes(), &vec![0; padding]].concat();
    let body = u32::try_from(message.len() - 4).unwrap().to_be_bytes();
    message[1..4].copy_from_slice(&body[1..]);
    // The length of the extensions follows version, random, session id, cipher suites and compression methods.
    let suites = 4 + 34 + 1 + usize::from(message[38]);
    let compression = suites + 2 + usize::from(u16::from_be_bytes([message[suites], message[suites + 1]]));
    let extensions = compression + 1 + usize::from(message[compression]);
    let block = u16::try_from(message.len() - extensions - 2).unwrap().to_be_bytes();
    message[extensions..extensions + 2].copy_from_slice(&block);
    in_tls_records(&message, in_records)
}

/// Bytes in handshake records of at most `len` bytes.
fn in_tls_records(bytes: &[u8], len: usize) -> Vec<u8> {
    let record =
        |part: &[u8]| [&[22, 3, 1][..], &u16::try_from(part.len()).unwrap().to_be_bytes(), part].concat();
    bytes.chunks(len).flat_map(record).collect()
}
