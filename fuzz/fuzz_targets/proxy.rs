//! Feeds any bytes as the start of a client, as a PROXY header and as headers: pieces change nothing, memory stays bounded,
//! and no forged header stays.
#![no_main]

use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, TRAILER};
use huginn_net::consistency::ClientBytes;
use huginn_net_proxy::{
    FingerprintHeaders, Fingerprinter, MAX_RECORDED_BYTES, ProxyHeader, Recording, RecordingStatus,
};
use libfuzzer_sys::fuzz_target;

// The first byte is the length of pieces.
fuzz_target!(|data: &[u8]| {
    let Some((&step, bytes)) = data.split_first() else { return };
    let mut client = ClientBytes::default();
    let recordings = [Recording::tls(), Recording::http()].map(|new| {
        let (mut whole, mut pieces) = (new.clone(), new);
        let taken = whole.push(bytes).consumed_of(bytes.len());
        let sum: usize = bytes
            .chunks(usize::from(step).max(1))
            .map(|piece| pieces.push(piece).consumed_of(piece.len()))
            .sum();
        assert_eq!((whole.status(), whole.complete()), (pieces.status(), pieces.complete()));
        if whole.status() == RecordingStatus::Complete {
            assert_eq!(taken, sum);
            assert_eq!(whole.bytes(), &bytes[..taken]);
            assert!(whole.complete().is_some_and(|complete| bytes[..taken].ends_with(complete)));
        }
        assert!(whole.buffered_bytes().max(pieces.buffered_bytes()) <= MAX_RECORDED_BYTES);
        whole
    });
    let [hello, http] = &recordings;
    (client.tls, client.http) = (hello.complete(), http.complete());
    let fingerprint = Fingerprinter::default().fingerprint(&client);
    let json = serde_json::to_string(&fingerprint).expect("a fingerprint is JSON");
    // Numbers of versions that JA4 writes as 00 are not in the text.
    let again: huginn_net_proxy::ClientFingerprint = serde_json::from_str(&json).expect("its JSON");
    assert_eq!(serde_json::to_string(&again).expect("a fingerprint is JSON"), json);

    // Each line is the name of a header, and an element of Connection and of Trailer.
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(100) {
        if let Ok(name) = HeaderName::from_bytes(line) {
            headers.append(name, HeaderValue::from_static(""));
        }
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(CONNECTION, value.clone());
            headers.append(TRAILER, value);
        }
    }
    FingerprintHeaders::new("x-").expect("a valid prefix").strip(&mut headers);
    let listed = [CONNECTION, TRAILER].map(|list| headers.get_all(list)).into_iter().flatten();
    let listed = listed.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let names = headers.keys().map(|name| name.as_str().as_bytes()).chain(listed.map(<[u8]>::trim_ascii));
    for name in names {
        let is_forged = matches!(name, [b'x' | b'X', sign, ..] if !sign.is_ascii_alphanumeric());
        assert!(!is_forged || str::from_utf8(name).is_err(), "{}", name.escape_ascii());
    }

    if let Ok(Some(parsed)) = ProxyHeader::parse(bytes) {
        assert!(parsed.consumed <= bytes.len());
        if let Ok(again) = parsed.value.to_bytes() {
            assert_eq!(ProxyHeader::parse(&again).expect("valid").expect("complete").value, parsed.value);
        }
    }
});
