//! Shows the results of `tls-parser` and of this project for unusual and damaged ClientHellos.

use huginn_net_tls::{ClientHello, Parsed, Transport};
use tls_parser::{
    TlsExtension, TlsExtensionType, TlsMessage, TlsMessageHandshake, parse_tls_client_hello_extensions,
    parse_tls_message_handshake,
};

fn main() {
    for (name, message) in hellos() {
        println!("{name}\n  own         {}\n  tls-parser  {}", own(&message), tls_parser(&message));
    }
}

fn hellos() -> Vec<(&'static str, Vec<u8>)> {
    let name = of(0, &prefixed(2, &[&[0][..], &prefixed(2, b"a.example")].concat()));
    let versions = of(43, &[4, 3, 4, 3, 3]);
    let with = |odd: &[u8]| hello(&[3; 32], &[0x13, 1], &prefixed(2, &[&name[..], odd, &versions].concat()));
    let mut cut = with(&[]);
    cut.truncate(cut.len() - 2);
    cut[3] -= 2;
    vec![
        ("well-formed", with(&[])),
        ("extended_master_secret with a byte in it", with(&of(23, &[0]))),
        ("supported_groups with half a number", with(&of(10, &[0, 3, 0, 29, 0]))),
        ("signature_algorithms longer than its extension", with(&of(13, &[0, 9, 4, 3]))),
        ("renegotiation_info without its length", with(&of(0xff01, &[]))),
        ("extension 0a1a, which is no GREASE", with(&of(0x0a1a, &[]))),
        ("block of extensions cut off", cut),
        (
            "session id of 33 bytes",
            hello(&[3; 33], &[0x13, 1], &prefixed(2, &[&name[..], &versions].concat())),
        ),
        (
            "odd length of cipher suites",
            hello(&[], &[0x13, 1, 0x13], &prefixed(2, &[&name[..], &versions].concat())),
        ),
    ]
}

/// The types of the extensions; GREASE in brackets.
fn own(message: &[u8]) -> String {
    match ClientHello::from_message(message, Transport::Tcp) {
        Ok(Some(Parsed { value: hello, .. })) => {
            let kinds = hello.extensions().map(|extension| extension.kind);
            let form = if hello.is_well_formed() { "" } else { ", not well-formed" };
            let kinds: Vec<_> = kinds.map(|kind| text(kind, huginn_net_tls::is_grease(kind))).collect();
            format!("{} suites, extensions {}{form}", hello.cipher_suites().len(), kinds.join(" "))
        }
        Ok(None) => "cut".into(),
        Err(error) => error.to_string(),
    }
}

fn tls_parser(message: &[u8]) -> String {
    let contents = match parse_tls_message_handshake(message) {
        Ok((_, TlsMessage::Handshake(TlsMessageHandshake::ClientHello(contents)))) => contents,
        other => return format!("{:?}", other.map(|_| ()).map_err(|error| error.map(|error| error.code))),
    };
    let Some(block) = contents.ext else {
        return format!("{} suites, no extensions", contents.ciphers.len());
    };
    let (rest, extensions) = parse_tls_client_hello_extensions(block).expect("it never fails");
    let kinds: Vec<_> = extensions
        .iter()
        .map(|extension| match extension {
            TlsExtension::Grease(kind, _) => text(*kind, true),
            other => text(TlsExtensionType::from(other).0, false),
        })
        .collect();
    format!("{} suites, extensions {}, {} bytes left", contents.ciphers.len(), kinds.join(" "), rest.len())
}

fn text(kind: u16, grease: bool) -> String {
    if grease { format!("({kind:04x})") } else { format!("{kind:04x}") }
}

/// A ClientHello (RFC 8446, section 4.1.2).
fn hello(session_id: &[u8], suites: &[u8], extensions: &[u8]) -> Vec<u8> {
    let lists = [&prefixed(1, session_id), &prefixed(2, suites), &[1, 0][..], extensions].concat();
    let body = [&[3, 3][..], &[7; 32], &lists].concat();
    [vec![1], prefixed(3, &body)].concat()
}

fn of(kind: u16, data: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), prefixed(2, data)].concat()
}

/// Prefixes bytes with their length in `width` bytes.
fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[4 - width..], bytes].concat()
}
