//! Parses any bytes as the QUIC transport parameters of a hello: values lie within the bytes, and both forms of the
//! fingerprint are bounded and have the same parameters.
#![no_main]

use huginn_net_tls::{QuicFingerprint, QuicVersion, TransportParameters};
use libfuzzer_sys::fuzz_target;

/// 64 parameters with an id of 16 digits and a value of 32 bytes or 16 versions, and the version before them.
const MAX_LEN: usize = 64 * (16 + 16 * 11 + 16) + 16;

fuzz_target!(|data: &[u8]| {
    let Some((version, data)) = data.split_first_chunk() else { return };
    let version = QuicVersion(u32::from_be_bytes(*version));
    for parameters in [TransportParameters::from_bytes(data), TransportParameters::from_draft_bytes(data)] {
        let inside = data.as_ptr_range();
        let mut len = 0;
        for parameter in parameters {
            assert!(
                inside.start <= parameter.value.as_ptr() && parameter.value.as_ptr_range().end <= inside.end
            );
            assert!(parameter.integer().is_none() || parameter.versions().is_none());
            assert!(!parameter.is_reserved() || parameter.name() == Some("reserved"));
            assert!(parameter.value_text().to_string().len() <= parameter.value.len() * 3 + 20);
            len += parameter.value.len() + 2;
        }
        assert!(len <= data.len());
        let sorted = QuicFingerprint::sorted(version, parameters);
        let original = QuicFingerprint::original(version, parameters);
        assert!(sorted.as_str().len() <= MAX_LEN && original.as_str().len() <= MAX_LEN);
        assert!(sorted.as_str().len() <= original.as_str().len());
        assert_eq!(sorted.as_str().ends_with('+'), original.as_str().ends_with('+'));
    }
});
