//! Decodes frames of any link type with one decoder. The input is two bytes of link type, then frames with two bytes
//! of length before each (little-endian), so that fragments can be reassembled.
#![no_main]

use huginn_net_core::{DecodeConfig, Decoder, Frame, LinkType, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((link, mut rest)) = data.split_first_chunk() else { return };
    let link = LinkType(u16::from_le_bytes(*link));
    let config = DecodeConfig::default().verify_checksums(true);
    let mut decoder = Decoder::new(config);
    let mut seconds = 0;
    while let Some((len, after)) = rest.split_first_chunk() {
        let (frame, after) = after.split_at(after.len().min(u16::from_le_bytes(*len).into()));
        rest = after;
        seconds += 1;
        let ts = Timestamp::new(seconds, 0, 6);
        let wire_len = frame.len() as u32;
        decoder.decode(&Frame { ts, link, data: frame, wire_len }, &mut |segment| {
            assert_eq!(segment.source().is_ipv4(), segment.destination().is_ipv4());
            assert_eq!(segment.ts, ts);
        });
    }
    decoder.finish();
});
