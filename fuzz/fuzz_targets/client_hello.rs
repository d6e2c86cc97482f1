//! Parses any bytes as a handshake message of each transport and as TLS records: each hello has fingerprints whose
//! texts parse back, and owned hellos equal borrowed ones.
#![no_main]

use huginn_net_tls::{
    ClientHello, Ech, Ja4, Ja4Form, Ja4Raw, Parsed, ServerHello, Transport, is_grease, names,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for transport in [Transport::Tls, Transport::Quic, Transport::Dtls] {
        if let Ok(Some(parsed)) = ClientHello::from_message(data, transport) {
            client(&parsed.value);
        }
        if let Ok(Some(parsed)) = ServerHello::from_message(data, transport) {
            server(&parsed.value);
        }
    }
    if let Ok(Some(parsed)) = ClientHello::from_records(data) {
        assert_eq!(ClientHello::from_records(&data[..parsed.consumed]), Ok(Some(parsed.clone())));
        client(&parsed.value);
    }
});

fn client(hello: &ClientHello<'_>) {
    let message = hello.message();
    let parsed = Parsed::new(hello.clone(), message.len());
    assert_eq!(ClientHello::from_message(message, hello.transport()), Ok(Some(parsed)));
    assert_eq!(&hello.clone().into_owned(), hello);
    let inside = message.as_ptr_range();
    for extension in hello.extensions() {
        assert!(inside.start <= extension.data.as_ptr() && extension.data.as_ptr_range().end <= inside.end);
    }
    for form in [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable] {
        let raw = hello.ja4_raw(form);
        assert_eq!(raw.to_string().parse::<Ja4Raw>().as_ref(), Ok(&raw));
        assert_eq!(raw.ja4().to_string().parse::<Ja4>(), Ok(raw.ja4()));
    }
    assert_eq!(hello.ja4_ro().sorted(), hello.ja4_r());
    assert_eq!(hello.ja3().to_string().matches(',').count(), 4);
    assert_eq!(hello.ja3_hash(), hello.ja3().hash());
    assert!(hello.alpn().map(|name| name.len() + 1).sum::<usize>() <= message.len());
    assert!(hello.server_name().is_none() || hello.has_server_name());
    assert!(!hello.version().ja4().is_empty());
    offers(hello);
}

/// What a hello offers beside its fingerprints lies inside of it.
fn offers(hello: &ClientHello<'_>) {
    let len = hello.message().len();
    let inside = hello.message().as_ptr_range();
    let is_inside = |part: &[u8]| {
        let part = part.as_ptr_range();
        part.is_empty() || inside.start <= part.start && part.end <= inside.end
    };
    assert_eq!(hello.ech().is_some(), hello.has_ech());
    if let Some(Ech::Outer(outer)) = hello.ech() {
        assert!(is_inside(outer.enc) && is_inside(outer.payload));
    }
    assert!(hello.psk_identities().all(|key| is_inside(key.identity)));
    assert!(hello.session_ticket().is_none_or(is_inside));
    assert!(hello.alps().map(|name| name.len() + 1).sum::<usize>() <= len);
    for anchor in hello.trust_anchors().into_iter().flatten() {
        assert!(anchor.to_string().len() <= 4 * len);
    }
    for extension in hello.unknown_extensions() {
        assert!(!is_grease(extension.kind) && names::extension(extension.kind).is_none());
    }
    assert!(hello.grease().all(|place| place.index < len && place.to_string().ends_with(']')));
    let numbers = [
        hello.certificate_compression(),
        hello.supported_groups(),
        hello.signature_algorithms(),
        hello.signature_algorithms_cert(),
    ];
    assert!(numbers.map(|list| 2 * list.count()).into_iter().all(|bytes| bytes <= len));
    let _ = hello.record_size_limit();
}

fn server(hello: &ServerHello<'_>) {
    assert_eq!(&hello.clone().into_owned(), hello);
    assert_eq!(hello.ja3s().to_string().matches(',').count(), 2);
    assert_eq!(hello.ja3s_hash(), hello.ja3s().hash());
    assert!(!hello.version().ja4().is_empty());
}
