//! Recognises a packet that the system passes from one interface to another.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use huginn_net_core::LinkType;

use crate::limits::{COPY_SETS, COPY_WINDOW};

/// Number of packets of a set.
const WAYS: usize = 4;

const ETHERTYPES_OF_IP: [u16; 2] = [0x0800, 0x86dd];
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const PPPOE_SESSION: u16 = 0x8864;
const PPP_IP: [u16; 2] = [0x0021, 0x0057];
/// Maximum number of VLAN tags.
const MAX_TAGS: usize = 4;

/// Bytes that contain all [changing fields](clear_changing_fields): the longest IPv4 header, and the checksum of TCP.
const HEAD_LEN: usize = 60 + 18;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The packets of the last [`COPY_WINDOW`], and the number of their copies.
///
/// A copy is an IP packet with the same bytes on another interface. What routers, bridges and cards change does not count: traffic class, TTL,
/// and the checksums of IPv4, TCP and UDP. A packet that comes again on the interface of the first one is not a copy: it was sent again.
pub(super) struct Copies {
    hasher: RandomState,
    sets: Box<[[Seen; WAYS]]>,
    found: u64,
}

/// A packet.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// 0 without a packet.
    hash: u64,
    /// In nanoseconds since the Unix epoch.
    at: u64,
    /// The index of the interface that had it first.
    interface: u32,
}

impl Copies {
    pub(super) fn new() -> Self {
        let sets = vec![[Seen::default(); WAYS]; COPY_SETS].into_boxed_slice();
        Self { hasher: RandomState::default(), sets, found: 0 }
    }

    /// Returns the number of copies found.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Whether a frame has a packet that another interface had. `nanos`: its time since the Unix epoch.
    #[inline]
    pub(super) fn has(&mut self, interface: u32, nanos: u64, link: LinkType, frame: &[u8]) -> bool {
        let Some(packet) = ip_packet(link, frame) else { return false };
        let hash = self.hash(packet);
        let Some(set) = self.sets.get_mut(set_of(hash)) else { return false };
        let window = u64::try_from(COPY_WINDOW.as_nanos()).unwrap_or(u64::MAX);
        // Processors stamp frames, and the clock may be set.
        let age = |seen: &Seen| nanos.abs_diff(seen.at);
        let seen = match set.iter_mut().find(|seen| seen.hash == hash && age(seen) <= window) {
            Some(seen) if seen.interface != interface => {
                self.found = self.found.saturating_add(1);
                return true;
            }
            Some(seen) => Some(seen),
            None => set.iter_mut().max_by_key(|seen| age(seen)),
        };
        if let Some(seen) = seen {
            *seen = Seen { hash, at: nanos, interface };
        }
        false
    }

    /// Hashes what is the same in all copies; never 0.
    #[inline]
    fn hash(&self, packet: &[u8]) -> u64 {
        // All of the packet: one whose end alone differs may hide what it brings.
        let mut hasher = self.hasher.build_hasher();
        if let Some((head, rest)) = packet.split_first_chunk::<HEAD_LEN>() {
            let mut head = *head;
            clear_changing_fields(&mut head);
            hasher.write(&head);
            hasher.write(rest);
        } else {
            let mut bytes = [0; HEAD_LEN];
            if let Some(head) = bytes.get_mut(..packet.len()) {
                head.copy_from_slice(packet);
                clear_changing_fields(head);
                hasher.write(head);
            }
        }
        hasher.finish() | 1
    }
}

/// Returns the set of a hash.
#[inline]
fn set_of(hash: u64) -> usize {
    // The upper half: the last bit is always set.
    usize::try_from(hash >> 32).unwrap_or(0) % COPY_SETS
}

/// Clears what may differ between copies, in the head of an IP packet.
#[inline]
fn clear_changing_fields(packet: &mut [u8]) {
    let byte = |at: usize| packet.get(at).copied().unwrap_or(0);
    let (protocol, payload) = match byte(0) >> 4 {
        4 => (byte(9), usize::from(byte(0) & 0xf) << 2),
        // Extension headers stay: the checksum after them, too.
        _ => (byte(6), 40),
    };
    let is_v4 = byte(0) >> 4 == 4;
    let mut clear = |at: usize, len: usize| {
        if let Some(bytes) = packet.get_mut(at..at.saturating_add(len)) {
            bytes.fill(0);
        }
    };
    if is_v4 {
        // Traffic class, TTL, and the checksum of the header (RFC 791, section 3.1).
        clear(1, 1);
        clear(8, 1);
        clear(10, 2);
    } else {
        // Version, traffic class and flow label; hop limit (RFC 8200, section 3).
        clear(0, 4);
        clear(7, 1);
    }
    // A card may fill in the checksum, after the frame was captured on the way out.
    match protocol {
        TCP => clear(payload.saturating_add(16), 2),
        UDP => clear(payload.saturating_add(6), 2),
        _ => {}
    }
}

/// Returns the IP packet of a frame, without the padding after it; `None` if it has none, or one that this module does not look for.
#[inline]
fn ip_packet(link: LinkType, frame: &[u8]) -> Option<&[u8]> {
    let packet = match link {
        LinkType::RAW => frame,
        LinkType::ETHERNET => after_ethernet(frame)?,
        _ => return None,
    };
    let len = match packet.first()? >> 4 {
        4 => usize::from(u16_at(packet, 2)?),
        6 => usize::from(u16_at(packet, 4)?).checked_add(40).filter(|len| *len > 40)?,
        _ => return None,
    };
    // The kernel cuts frames that a block does not hold, and the length of a jumbogram is elsewhere.
    Some(packet.get(..len).filter(|_| len > 0).unwrap_or(packet))
}

#[inline]
fn after_ethernet(frame: &[u8]) -> Option<&[u8]> {
    let mut at: usize = 12;
    for _ in 0..=MAX_TAGS {
        let ethertype = u16_at(frame, at)?;
        let after = at.saturating_add(2);
        if ETHERTYPES_OF_IP.contains(&ethertype) {
            return frame.get(after..);
        }
        if ethertype == PPPOE_SESSION {
            // Six bytes of PPPoE and the protocol of PPP (RFC 2516, section 4).
            let protocol = u16_at(frame, after.saturating_add(6))?;
            return frame.get(after.saturating_add(8)..).filter(|_| PPP_IP.contains(&protocol));
        }
        if !VLAN_TAGS.contains(&ethertype) {
            return None;
        }
        at = at.saturating_add(4);
    }
    None
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    /// An Ethernet frame with an IPv4 packet of TCP: TTL, checksum of TCP, and number.
    fn frame(tags: &[u8], ttl: u8, checksum: u8, number: u32) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(tags);
        frame.extend([8, 0, 0x45, 0, 0, 44, 0, 1, 0x40, 0, ttl, 6, ttl, ttl, 192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend([
            0x30, 0x39, 1, 0xbb, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, checksum, checksum, 0, 0,
        ]);
        frame.extend(number.to_be_bytes());
        frame
    }

    fn has(copies: &mut Copies, interface: u32, millis: u64, frame: &[u8]) -> bool {
        copies.has(
            interface,
            1_700_000_000_000 * MILLISECOND + millis * MILLISECOND,
            LinkType::ETHERNET,
            frame,
        )
    }

    #[test]
    fn packet_on_another_interface_is_a_copy() {
        let mut copies = Copies::new();
        let plain = frame(&[], 64, 7, 1);
        assert!(!has(&mut copies, 2, 0, &plain));
        // Routed, tagged, padded, and with a checksum that a card filled in.
        assert!(has(&mut copies, 3, 1, &frame(&[], 63, 7, 1)));
        assert!(has(&mut copies, 4, 1, &frame(&[0x81, 0, 0, 5], 64, 9, 1)));
        assert!(has(&mut copies, 5, 2, &[&plain[..], &[0; 6]].concat()));
        // In raw IP.
        let at = 1_700_000_000_002 * MILLISECOND;
        assert!(copies.has(6, at, LinkType::RAW, &plain[14..]));
        assert!(!has(&mut copies, 3, 3, &frame(&[], 64, 7, 2)), "another packet");
        assert_eq!(copies.found(), 4);
    }

    #[test]
    fn packet_that_differs_in_any_byte_is_no_copy() {
        for len in [80_u8, 255] {
            // Without the fields that may change.
            let mut packet = vec![1; len.into()];
            packet[0] = 0x45;
            packet[2..4].copy_from_slice(&[0, len]);
            packet[9] = UDP;
            for at in (12..packet.len()).filter(|at| !(26..28).contains(at)) {
                let mut copies = Copies::new();
                let mut other = packet.clone();
                other[at] ^= 1;
                assert!(!copies.has(2, 0, LinkType::RAW, &packet));
                assert!(!copies.has(3, 0, LinkType::RAW, &other), "byte {at} of {len}");
                assert!(copies.has(3, 0, LinkType::RAW, &packet));
            }
        }
        let mut copies = Copies::new();
        let mut packet = vec![7; 1500];
        packet[..10].copy_from_slice(&[0x45, 0, 0x05, 0xdc, 0, 0, 0, 0, 64, TCP]);
        assert!(!copies.has(2, 0, LinkType::RAW, &packet));
        packet[1499] = 8;
        assert!(!copies.has(3, 0, LinkType::RAW, &packet), "the last byte");
    }

    #[test]
    fn longest_header_of_ipv4_is_in_the_head() {
        let packet = |checksum: u8| {
            let mut packet = vec![9; 90];
            packet[..10].copy_from_slice(&[0x4f, 0, 0, 90, 0, 0, 0, 0, 64, TCP]);
            packet[76..78].fill(checksum);
            packet
        };
        let mut copies = Copies::new();
        assert!(!copies.has(2, 0, LinkType::RAW, &packet(1)));
        assert!(copies.has(3, 0, LinkType::RAW, &packet(2)));
    }

    #[test]
    fn packet_of_ipv6_with_another_hop_limit_is_a_copy() {
        let packet = |hops: u8, payload: u8| {
            let head = [0x60, 0, 0, 0, 0, 9, UDP, hops];
            [&head[..], &[1; 32], &[0, 53, 0, 53, 0, 9, hops, hops, payload]].concat()
        };
        let mut copies = Copies::new();
        assert!(!copies.has(2, 0, LinkType::RAW, &packet(64, 1)));
        assert!(copies.has(3, 0, LinkType::RAW, &packet(63, 1)));
        assert!(!copies.has(3, 0, LinkType::RAW, &packet(63, 2)));
    }

    #[test]
    fn packet_sent_again_is_no_copy() {
        let mut copies = Copies::new();
        let frame = frame(&[], 64, 7, 1);
        for millis in [0, 1, 30, 60, 500] {
            assert!(!has(&mut copies, 2, millis, &frame), "on the same interface");
            assert!(has(&mut copies, 3, millis, &frame), "its copy");
        }
        assert!(!has(&mut copies, 3, 551, &frame), "later than the window");
        // A clock that is set back.
        assert!(!has(&mut copies, 2, 0, &frame));
    }

    #[test]
    fn full_set_forgets_the_oldest_packet() {
        let mut copies = Copies::new();
        copies.sets = vec![[Seen::default(); WAYS]].into_boxed_slice();
        let of_first_set = (0..).filter(|number| set_of(copies.hash(&frame(&[], 64, 7, *number)[14..])) == 0);
        let numbers: Vec<u32> = of_first_set.take(WAYS + 1).collect();
        for (millis, number) in (0..).zip(&numbers) {
            assert!(!has(&mut copies, 2, millis, &frame(&[], 64, 7, *number)));
        }
        let mut is_copy = |number: u32| has(&mut copies, 3, 5, &frame(&[], 64, 7, number));
        assert!(is_copy(numbers[WAYS]) && is_copy(numbers[1]));
        assert!(!is_copy(numbers[0]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame(link in 0_u16..300, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut copies = Copies::new();
            let is_known = ip_packet(LinkType(link), &bytes).is_some();
            prop_assert!(!copies.has(1, 0, LinkType(link), &bytes));
            prop_assert_eq!(copies.has(2, 0, LinkType(link), &bytes), is_known);
        }
    }
}
