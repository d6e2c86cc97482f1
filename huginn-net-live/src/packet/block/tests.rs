#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use proptest::prelude::*;

use super::*;

/// Header lengths of `linux/if_packet.h`: of a block (`BLK_HDR_LEN` of the kernel's `af_packet.c`) and of a frame.
const BLOCK_HEADER: usize = 48;
const HEADER: usize = 48;

/// A frame from which the tests build a block.
#[derive(Clone, Debug)]
struct TestFrame {
    data: Vec<u8>,
    wire_len: u32,
    status: u32,
    tci: u32,
    tpid: u16,
    packet_type: u8,
}

/// Builds a frame with its header in the layout of Linux 6.18, which aligns the packet after the first 14 bytes.
fn entry(test_frame: &TestFrame, is_last: bool) -> Vec<u8> {
    const MAC: usize = 82;
    let len = (MAC + test_frame.data.len()).next_multiple_of(16);
    let next = if is_last { 0 } else { len as u32 };
    // tp_next_offset, tp_sec, tp_nsec, tp_snaplen, tp_len, tp_status
    let mut bytes = [
        next,
        1_700_000_000,
        123_456_789,
        test_frame.data.len() as u32,
        test_frame.wire_len,
        test_frame.status,
    ]
    .map(u32::to_ne_bytes)
    .concat();
    // tp_mac, tp_net, tp_rxhash (of 32 bits)
    bytes.extend([MAC as u16, MAC as u16 + 14, 0, 0].map(u16::to_ne_bytes).concat());
    bytes.extend(test_frame.tci.to_ne_bytes());
    bytes.extend([test_frame.tpid, 0].map(u16::to_ne_bytes).concat());
    bytes.resize(HEADER, 0);
    // sll_family, sll_protocol, sll_ifindex, sll_hatype, sll_pkttype
    bytes.extend([17, 0x0300, 2, 0, 1].map(u16::to_ne_bytes).concat());
    bytes.push(test_frame.packet_type);
    bytes.resize(MAC, 0);
    bytes.extend(&test_frame.data);
    bytes.resize(len, 0);
    bytes
}

fn block(frames: &[TestFrame]) -> Vec<u8> {
    // version, offset_to_priv, block_status, num_pkts, offset_to_first_pkt
    let mut bytes = [1, 48, 1, frames.len() as u32, 48].map(u32::to_ne_bytes).concat();
    bytes.resize(BLOCK_HEADER, 0);
    for (number, frame) in frames.iter().enumerate() {
        bytes.extend(entry(frame, number + 1 == frames.len()));
    }
    bytes
}

fn test_frame(data: &[u8], status: u32, tci: u32, tpid: u16) -> TestFrame {
    TestFrame { data: data.to_vec(), wire_len: 1514, status, tci, tpid, packet_type: 4 }
}

fn matches_input(frame: &BlockFrame<'_>, test_frame: &TestFrame) -> bool {
    frame.data == test_frame.data
        && (frame.wire_len, frame.packet_type) == (test_frame.wire_len, test_frame.packet_type)
        && frame.ts == Timestamp::new(1_700_000_000, 123_456_789, 9)
}

fn any_test_frame() -> impl Strategy<Value = TestFrame> {
    let data = prop::collection::vec(any::<u8>(), 0..100);
    (data, any::<(u32, u32, u32, u16, u8)>()).prop_map(
        |(data, (wire_len, status, tci, tpid, packet_type))| TestFrame {
            data,
            wire_len,
            status,
            tci,
            tpid,
            packet_type,
        },
    )
}

#[test]
fn reads_vlan_tags() {
    // TP_STATUS_USER 1, TP_STATUS_VLAN_VALID 0x10, TP_STATUS_VLAN_TPID_VALID 0x40 of linux/if_packet.h.
    for (status, tci, tpid, want) in [
        (0x51, 0x2005, 0x88a8, Some([0x88a8, 0x2005])),
        (0x51, 0, 0x8100, Some([0x8100, 0])),
        (0x11, 5, 0, Some([0x8100, 5])),
        (0x51, 0x1_0000, 0x8100, None),
        (1, 7, 0x8100, None),
    ] {
        let bytes = block(&[test_frame(b"0123456789abcdef", status, tci, tpid)]);
        let frames: Vec<_> = BlockFrames::new(&bytes).collect();
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0].vlan, want);
    }
}

#[test]
fn reads_no_more_frames_than_present() {
    let frames = [test_frame(b"one", 0, 0, 0), test_frame(b"two", 0, 0, 0)];
    let mut bytes = block(&frames);
    for count in [0, 1, 2, 3, u32::MAX] {
        bytes[12..16].copy_from_slice(&count.to_ne_bytes());
        assert_eq!(BlockFrames::new(&bytes).count(), count.min(2) as usize);
    }
}

#[test]
fn invalid_offsets_end_iteration() {
    let frames = [test_frame(b"one", 0, 0, 0), test_frame(b"two", 0, 0, 0)];
    let first = BLOCK_HEADER;
    // Fields of the first frame: offset of the next frame, offset of the data, length of the data.
    for (at, value, want) in [
        (16, u32::MAX, 0),
        (16, 1 << 20, 0),
        (first, u32::MAX, 1),
        (first, 1, 1),
        (first, 47, 1),
        (first + 24, 0xffff_ffff, 0),
        (first + 12, u32::MAX, 0),
        (first + 12, 1 << 16, 0),
    ] {
        let mut bytes = block(&frames);
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        let mut read = BlockFrames::new(&bytes);
        assert_eq!(read.by_ref().count(), want, "{value} at {at}");
        assert_eq!(read.next(), None);
    }
}

proptest! {
    #[test]
    fn block_frames_round_trip(frames in prop::collection::vec(any_test_frame(), 0..8)) {
        let bytes = block(&frames);
        let read: Vec<_> = BlockFrames::new(&bytes).collect();
        prop_assert_eq!(read.len(), frames.len());
        for (read, test_frame) in read.iter().zip(&frames) {
            prop_assert!(matches_input(read, test_frame));
        }
    }

    #[test]
    fn arbitrary_bytes_terminate_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(BlockFrames::new(&bytes).count() <= bytes.len() / HEADER);
    }

    #[test]
    fn damaged_frames_lie_within_the_block(
        frames in prop::collection::vec(any_test_frame(), 1..6),
        at in any::<prop::sample::Index>(),
        value in any::<u32>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = block(&frames);
        let at = at.index(bytes.len() - 4);
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        let bytes = &bytes[..cut.index(bytes.len() + 1)];
        let complete: Vec<_> = BlockFrames::new(bytes).collect();
        prop_assert!(complete.len() <= bytes.len() / HEADER);
        for frame in &complete {
            prop_assert_eq!(bytes.get(frame.start..frame.start + frame.data.len()), Some(frame.data));
        }
    }
}
