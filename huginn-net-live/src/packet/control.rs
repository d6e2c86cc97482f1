//! Control messages, which the kernel hands over beside a frame.

use huginn_net_core::Timestamp;

/// `SOL_SOCKET`, `SO_TIMESTAMPNS`: the time of capture (`socket(7)`).
const TIMESTAMP: (i32, i32) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
/// `SOL_PACKET`, `PACKET_AUXDATA`: length and VLAN tag (`packet(7)`).
const AUXDATA: (i32, i32) = (libc::SOL_PACKET, libc::PACKET_AUXDATA);

/// The length of `struct cmsghdr`, and what control messages are aligned to.
const HEADER: usize = WORD + 8;
const WORD: usize = size_of::<usize>();

/// What the control messages of a frame say (`cmsg(3)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlMessages {
    /// When the frame was captured.
    pub timestamp: Option<Timestamp>,
    /// How long the frame was, in bytes, without the tag.
    pub wire_len: Option<u32>,
    /// The VLAN tag that was taken off the frame: ethertype (TPID) and tag (TCI), as IEEE 802.1Q has them.
    pub vlan: Option<[u16; 2]>,
}

impl ControlMessages {
    /// Reads control messages as the kernel wrote them. Unknown ones are passed over; what is cut ends them.
    pub fn parse(mut bytes: &[u8]) -> Self {
        let mut messages = Self::default();
        while let Some((len, rest)) = bytes.split_first_chunk() {
            let len = usize::from_ne_bytes(*len);
            let (Some(level), Some(kind)) = (i32_at(rest, 0), i32_at(rest, 4)) else { break };
            let Some(data) = bytes.get(HEADER..len) else { break };
            match (level, kind) {
                TIMESTAMP => messages.timestamp = timestamp(data),
                AUXDATA => messages.auxdata(data),
                _ => {}
            }
            let Some(behind) = len.checked_next_multiple_of(WORD).and_then(|end| bytes.get(end..)) else {
                break;
            };
            bytes = behind;
        }
        messages
    }

    /// `struct tpacket_auxdata` of `linux/if_packet.h`: status, length, captured length, two offsets, TCI, TPID.
    fn auxdata(&mut self, data: &[u8]) {
        let (Some(status), Some(len)) = (u32_at(data, 0), u32_at(data, 4)) else { return };
        self.wire_len = Some(len);
        let (Some(tci), Some(tpid)) = (u16_at(data, 16), u16_at(data, 18)) else { return };
        // Kernels before 3.0 tell of a tag only by its not being 0, those before 3.14 nothing of its type.
        if status & libc::TP_STATUS_VLAN_VALID != 0 || tci != 0 {
            let has_tpid = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            self.vlan = Some([if has_tpid { tpid } else { DOT1Q }, tci]);
        }
    }
}

/// The ethertype of 802.1Q.
const DOT1Q: u16 = 0x8100;

/// `struct timespec`: seconds and nanoseconds, each of the machine's word or, of 64 bits, on a 32-bit one.
fn timestamp(data: &[u8]) -> Option<Timestamp> {
    let (seconds, nanos) = if data.len() >= 16 {
        (i64_at(data, 0)?, i64_at(data, 8)?)
    } else {
        (i64::from(i32_at(data, 0)?), i64::from(i32_at(data, 4)?))
    };
    Some(Timestamp::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?, 9))
}

fn array_at<const N: usize>(data: &[u8], start: usize) -> Option<[u8; N]> {
    data.get(start..)?.first_chunk().copied()
}

fn u16_at(data: &[u8], start: usize) -> Option<u16> {
    array_at(data, start).map(u16::from_ne_bytes)
}

fn u32_at(data: &[u8], start: usize) -> Option<u32> {
    array_at(data, start).map(u32::from_ne_bytes)
}

fn i32_at(data: &[u8], start: usize) -> Option<i32> {
    array_at(data, start).map(i32::from_ne_bytes)
}

fn i64_at(data: &[u8], start: usize) -> Option<i64> {
    array_at(data, start).map(i64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A control message, padded as `CMSG_SPACE` of `cmsg(3)` says.
    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = HEADER.saturating_add(data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
        bytes
    }

    fn timestamp_message(seconds: i64, nanos: i64) -> Vec<u8> {
        // SCM_TIMESTAMPNS of asm-generic/socket.h, SOL_SOCKET.
        message(1, 35, &[seconds.to_ne_bytes(), nanos.to_ne_bytes()].concat())
    }

    fn auxdata_message(status: u32, len: u32, tci: u16, tpid: u16) -> Vec<u8> {
        let mut data = [status, len, 60].map(u32::to_ne_bytes).concat();
        data.extend([0, 14, tci, tpid].map(u16::to_ne_bytes).concat());
        // PACKET_AUXDATA of linux/if_packet.h, SOL_PACKET of linux/socket.h.
        message(263, 8, &data)
    }

    #[test]
    fn time_length_and_tag_are_read() {
        // TP_STATUS_VLAN_VALID 0x10, TP_STATUS_VLAN_TPID_VALID 0x40 of linux/if_packet.h.
        for (status, tci, tpid, want) in [
            (0x50, 0x2005, 0x88a8, Some([0x88a8, 0x2005])),
            (0x10, 5, 0, Some([0x8100, 5])),
            (0x50, 0, 0x8100, Some([0x8100, 0])),
            (0, 7, 0, Some([0x8100, 7])),
            (1, 0, 0, None),
        ] {
            let bytes =
                [timestamp_message(1_700_000_000, 123_456_789), auxdata_message(status, 1514, tci, tpid)];
            let want = ControlMessages {
                timestamp: Some(Timestamp::new(1_700_000_000, 123_456_789, 9)),
                wire_len: Some(1514),
                vlan: want,
            };
            assert_eq!(ControlMessages::parse(&bytes.concat()), want);
        }
    }

    #[test]
    fn unknown_messages_are_passed_over() {
        let bytes = [message(1, 2, b"xyz"), auxdata_message(0, 99, 0, 0), message(1, 40, &[0; 4])].concat();
        assert_eq!(ControlMessages::parse(&bytes).wire_len, Some(99));
    }

    #[test]
    fn a_time_of_two_words_of_32_bits_is_read() {
        let bytes = message(1, 35, &[7_i32.to_ne_bytes(), 9_i32.to_ne_bytes()].concat());
        assert_eq!(ControlMessages::parse(&bytes).timestamp, Some(Timestamp::new(7, 9, 9)));
    }

    #[test]
    fn impossible_values_are_none() {
        for bytes in [timestamp_message(-1, 0), timestamp_message(0, -1), message(263, 8, &[0; 7])] {
            assert_eq!(ControlMessages::parse(&bytes), ControlMessages::default());
        }
        // Lengths below that of the header, and beyond what is there.
        for len in [0_usize, 1, HEADER - 1, usize::MAX] {
            let mut bytes = auxdata_message(0, 1, 0, 0);
            bytes[..WORD].copy_from_slice(&len.to_ne_bytes());
            assert_eq!(ControlMessages::parse(&bytes), ControlMessages::default());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            let _ = ControlMessages::parse(&bytes);
        }

        #[test]
        fn what_is_cut_is_not_made_up(at in 0_usize..72) {
            let bytes = [timestamp_message(1, 2), auxdata_message(0x50, 3, 4, 5)].concat();
            let all = ControlMessages::parse(&bytes);
            let cut = ControlMessages::parse(&bytes[..at.min(bytes.len())]);
            prop_assert!(cut.timestamp.is_none() || cut.timestamp == all.timestamp);
            prop_assert!(cut.wire_len.is_none() || cut.wire_len == all.wire_len);
            prop_assert!(cut.vlan.is_none() || cut.vlan == all.vlan);
        }
    }
}
