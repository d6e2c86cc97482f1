//! The decoder does not allocate for packets that are not fragments. The test needs its own process, because the
//! counting allocator is process-wide.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "in a test, a panic is a failure")]

use allocation_counter::measure;
use huginn_net_core::{DecodeConfig, Decoder, Frame, LinkType, Timestamp};

/// Frames with their number of segments: a TCP/IPv4 packet; the same packet in VXLAN with a VLAN tag; ARP.
const FRAMES: [(&str, u64); 3] = [
    (
        "0200000000020200000000010800 4500002800004000400600000a0000010a000002 \
      9c4001bb00000001000000025010ffff00000000",
        1,
    ),
    (
        "0200000000020200000000010800 4500005e00004000401100000a0000010a000002 c35012b5004a0000 0800000000002a00 \
      0200000000020200000000018100000c0800 4500002800004000400600000a0000010a000002 \
      9c4001bb00000001000000025010ffff00000000",
        1,
    ),
    ("0200000000020200000000010806 0001080006040001", 0),
];

#[test]
fn decode_does_not_allocate() {
    let mut decoder = Decoder::new(DecodeConfig::default());
    for (text, want) in FRAMES {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        let data: Vec<u8> =
            digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect();
        let wire_len = u32::try_from(data.len()).unwrap();
        let frame = Frame { ts: Timestamp::default(), link: LinkType::ETHERNET, data: &data, wire_len };
        let mut segments = 0;
        let allocations = measure(|| decoder.decode(&frame, &mut |_| segments += 1));
        assert_eq!((allocations.count_total, segments), (0, want));
    }
}
