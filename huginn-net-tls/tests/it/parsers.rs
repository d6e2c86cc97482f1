//! Parsers from bytes: mutated inputs, and time by the length of the input.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_tls::{
    ClientHello, HelloReader, Ja3Hash, Ja4, Ja4Head, Ja4Raw, Progress, ServerHello, TlsError, Transport,
    Version,
};

use crate::parser_tests::{assert_linear, mutated};

const HELLO: &[u8] = include_bytes!("../../hellos/curl-openssl.bin");

/// A record with a ServerHello of TLS 1.2 without extensions.
fn server_hello() -> Vec<u8> {
    let mut bytes = vec![22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3];
    bytes.extend([7; 32]);
    bytes.extend([0, 0xc0, 0x2f, 0]);
    bytes
}

/// A ClientHello with `len` bytes of padding (RFC 7685), in records of `step` bytes.
fn padded_hello(len: usize, step: usize) -> Vec<u8> {
    let [padding, extensions] = [len, len + 4].map(|len| u16::try_from(len).unwrap().to_be_bytes());
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(extensions);
    body.extend([0, 21]);
    body.extend(padding);
    body.resize(body.len() + len, 0);
    let message = [&[1, 0][..], &u16::try_from(body.len()).unwrap().to_be_bytes(), &body].concat();
    let records = message
        .chunks(step)
        .flat_map(|part| [&[22, 3, 3][..], &u16::try_from(part.len()).unwrap().to_be_bytes(), part].concat());
    records.collect()
}

#[test]
fn hello_reader_is_linear() {
    for step in [1, 1000] {
        assert_linear(
            "client",
            4000,
            |len| padded_hello(len, step),
            |bytes| {
                let mut reader = HelloReader::client();
                let hello = bytes.chunks(1).find_map(|piece| reader.push(piece).unwrap().value());
                assert!(hello.is_some());
            },
        );
    }
    // An SSL 2.0 record of the client, of which half is missing.
    let sslv2 = |len: usize| {
        let [high, low] = u16::try_from(2 * len).unwrap().to_be_bytes();
        [&[0x80 | high, low, 1, 3, 1][..], &vec![0; len]].concat()
    };
    assert_linear("SSL 2.0", 1000, sslv2, |bytes| {
        let mut reader = HelloReader::client();
        assert!(bytes.chunks(1).all(|piece| reader.push(piece).unwrap().needs_more()));
    });
    // A record of the server that never ends its message.
    let endless = |len: usize| [&[22, 3, 3, 0, 4, 2, 1, 0, 0][..], &[22, 3, 3, 0, 1, 0].repeat(len)].concat();
    assert_linear("server", 4000, endless, |bytes| {
        let mut reader = HelloReader::server();
        assert!(bytes.chunks(1).all(|piece| reader.push(piece).unwrap().needs_more()));
    });
}

/// The outcome of a reader for these bytes in pieces of `step`, without the bytes of an invalid record.
fn pushed(bytes: &[u8], step: usize) -> Result<Option<ClientHello<'static>>, ()> {
    let mut reader = HelloReader::client();
    for piece in bytes.chunks(step) {
        if let Progress::Done(parsed) = reader.push(piece).map_err(drop)? {
            return Ok(Some(parsed.value));
        }
    }
    Ok(None)
}

#[test]
fn mutated_hellos_are_read_alike_in_pieces() {
    mutated(&[HELLO, &padded_hello(500, 7), &[HELLO, &[20, 3, 3, 0, 1, 1], HELLO].concat()], |bytes| {
        let whole = ClientHello::from_records(bytes);
        let whole = whole.map(|hello| hello.map(|parsed| parsed.value.into_owned())).map_err(drop);
        for step in [1, 64] {
            assert_eq!(pushed(bytes, step), whole);
        }
        let message = bytes.get(5..).unwrap_or_default();
        for transport in [Transport::Tls, Transport::Quic, Transport::Dtls] {
            if let Ok(Some(parsed)) = ClientHello::from_message(message, transport) {
                let hello = parsed.value;
                assert_eq!(hello.ja4_r().ja4(), hello.ja4());
                let _ = (hello.ja3_hash(), hello.family(), hello.ech(), hello.server_name());
            }
        }
        let mut reader = HelloReader::client();
        reader.next_hello();
        let _ = bytes.chunks(3).try_for_each(|piece| reader.push(piece).map(drop));
    });
}

#[test]
fn mutated_server_hellos_are_read_alike_in_pieces() {
    mutated(&[&server_hello(), HELLO], |bytes| {
        let whole =
            ServerHello::from_records(bytes).map(|hello| hello.map(|parsed| parsed.value.into_owned()));
        let mut reader = HelloReader::server();
        let pieces = bytes.chunks(1).map(|piece| reader.push(piece).map(Progress::value));
        let first: Result<Option<_>, TlsError> =
            pieces.map(Result::transpose).find_map(|outcome| outcome).transpose();
        assert_eq!(first.map_err(drop), whole.map_err(drop));
    });
}

#[cfg(feature = "quic")]
#[test]
fn mutated_datagrams_never_panic() {
    use huginn_net_tls::quic::ClientInitials;

    const QUIC: &[u8] = include_bytes!("../../hellos/rfc9001-a2-client-initial.bin");
    mutated(&[QUIC], |bytes| {
        let mut initials = ClientInitials::new();
        let _ = (initials.push(bytes), initials.push(QUIC), initials.push(bytes));
    });
}

#[cfg(feature = "quic")]
#[test]
fn datagrams_are_read_in_linear_time() {
    use huginn_net_tls::quic::ClientInitials;

    const QUIC: &[u8] = include_bytes!("../../hellos/rfc9001-a2-client-initial.bin");
    let copies = |len: usize| QUIC.repeat(len);
    assert_linear("datagrams", 8, copies, |bytes| {
        let mut initials = ClientInitials::new();
        bytes.chunks(QUIC.len()).for_each(|datagram| drop(initials.push(datagram)));
    });
}

#[cfg(feature = "certificates")]
#[test]
fn mutated_certificates_never_panic() {
    use huginn_net_tls::{Certificate, CertificateMessage, CertificateRequest};

    let der: [&[u8]; 3] = [
        include_bytes!("../../certificates/rsa2048.der"),
        include_bytes!("../../certificates/p256.der"),
        include_bytes!("../../certificates/escapes.der"),
    ];
    mutated(&der, |bytes| {
        let certificate = Certificate::from_der(bytes);
        let _ = (format!("{:?}", certificate.fields()), certificate.matches_name(b"www.example.org"));
        let len = u32::try_from(bytes.len()).unwrap();
        let [_, len @ ..] = len.to_be_bytes();
        let [_, total @ ..] = (u32::try_from(bytes.len()).unwrap() + 3).to_be_bytes();
        let _ = CertificateMessage::from_body(&[&total[..], &len, bytes].concat());
        let _ = CertificateMessage::from_tls13_body(bytes);
        let _ = CertificateRequest::from_body(bytes, Version::TLS_1_2);
    });
}

/// One input in 16: a verification takes milliseconds without optimisation.
#[cfg(feature = "self-signed")]
#[test]
fn mutated_certificate_is_not_self_signed() {
    use huginn_net_tls::Certificate;

    let whole: [&[u8]; 5] = [
        include_bytes!("../../certificates/authority.der"),
        include_bytes!("../../certificates/rsa-pss.der"),
        include_bytes!("../../certificates/p256.der"),
        include_bytes!("../../certificates/p384.der"),
        include_bytes!("../../certificates/ed25519.der"),
    ];
    let mut inputs = 0_u64;
    mutated(&whole, |bytes| {
        inputs += 1;
        if inputs.is_multiple_of(16) && Certificate::from_kept_der(bytes).is_self_signed() == Some(true) {
            assert!(whole.contains(&bytes));
        }
    });
    assert!(inputs > 0);
}

#[test]
fn mutated_fingerprints_are_parsed_or_refused() {
    let hello = ClientHello::from_records(HELLO).unwrap().unwrap().value;
    let texts = [hello.ja4().to_string(), hello.ja4_r().to_string(), hello.ja3_hash().to_string()];
    mutated(&texts.each_ref().map(|text| text.as_bytes()), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(ja4) = text.parse::<Ja4>() {
            assert_eq!(ja4.to_string(), text);
        }
        let _ = (
            text.parse::<Ja4Raw>(),
            text.parse::<Ja4Head>(),
            text.parse::<Ja3Hash>(),
            text.parse::<Version>(),
        );
    });
}
