//! The vectors of docs/quic-vectors.jsonl, which `captures/tools/quic_vectors.py` computes from the specification.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_tls::{QuicFingerprint, QuicVersion, TransportParameters};
use serde_json::Value;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn fingerprints_are_those_of_the_vectors() {
    let lines = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/quic-vectors.jsonl")).lines();
    let mut count = 0;
    for line in lines {
        let vector: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| vector[name].as_str().unwrap();
        let data = unhex(text("parameters"));
        let parameters = TransportParameters::from_bytes(&data);
        let version = QuicVersion(u32::from_str_radix(text("version"), 16).unwrap());
        assert_eq!(QuicFingerprint::sorted(version, parameters).as_str(), text("sorted"), "{}", text("name"));
        assert_eq!(
            QuicFingerprint::original(version, parameters).as_str(),
            text("original"),
            "{}",
            text("name")
        );
        count += 1;
    }
    assert!(count >= 40, "{count} vectors");
}
