//! Feeds any bytes as the start of a client and as a PROXY header: pieces change nothing, and memory stays bounded.
#![no_main]

use huginn_net::consistency::ClientBytes;
use huginn_net_proxy::{Fingerprinter, MAX_RECORDED_BYTES, ProxyHeader, Recording, RecordingStatus};
use libfuzzer_sys::fuzz_target;

// The first byte is the length of pieces.
fuzz_target!(|data: &[u8]| {
    let Some((&step, bytes)) = data.split_first() else { return };
    let mut client = ClientBytes::default();
    let recordings = [Recording::tls(), Recording::http()].map(|new| {
        let (mut whole, mut pieces) = (new.clone(), new);
        let taken = whole.push(bytes);
        let sum: usize = bytes.chunks(usize::from(step).max(1)).map(|piece| pieces.push(piece)).sum();
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
    assert_eq!(
        serde_json::from_str::<huginn_net_proxy::ClientFingerprint>(&json).expect("its JSON"),
        fingerprint
    );

    if let Ok(Some(parsed)) = ProxyHeader::parse(bytes) {
        assert!(parsed.consumed <= bytes.len());
        if let Ok(again) = parsed.value.to_bytes() {
            assert_eq!(ProxyHeader::parse(&again).expect("valid").expect("complete").value, parsed.value);
        }
    }
});
