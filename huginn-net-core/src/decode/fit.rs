//! Checks whether a header fits where a tunnel's header says that one follows.
//!
//! `room` is the number of bytes from there to the end of the enclosing packet on the wire; the snap length may have cut
//! some of them.

use super::{ethertype, ip, numbers};

/// Whether an IP packet starts here whose length fits.
pub(super) fn ip_packet(data: &[u8], room: usize) -> bool {
    match data {
        [first @ 0x45..=0x4f, _, high, low, ..] => {
            let header_len = usize::from(first & 0x0f) << 2;
            let total_len = usize::from(u16::from_be_bytes([*high, *low]));
            // Zero with segmentation offload.
            total_len == 0 || (header_len..=room).contains(&total_len)
        }
        [0x60..=0x6f, _, _, _, high, low, ..] => {
            let payload_len = usize::from(u16::from_be_bytes([*high, *low]));
            payload_len.saturating_add(ip::IPV6_HEADER) <= room
        }
        _ => false,
    }
}

/// Whether an IP packet fills the room exactly.
pub(super) fn filling_ip_packet(data: &[u8], room: usize) -> bool {
    stated_len(data) == Some(room) && ip_packet(data, room)
}

/// The length that the header of an IP packet states.
fn stated_len(data: &[u8]) -> Option<usize> {
    match data {
        [0x45..=0x4f, _, high, low, ..] => Some(u16::from_be_bytes([*high, *low]).into()),
        [0x60..=0x6f, _, _, _, high, low, ..] => {
            Some(usize::from(u16::from_be_bytes([*high, *low])).saturating_add(ip::IPV6_HEADER))
        }
        _ => None,
    }
}

/// Whether an IP packet is sent to a group (RFC 1112, section 4; RFC 4291, section 2.7).
pub(super) fn has_multicast_destination(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => matches!(packet.get(16), Some(0xe0..=0xef)),
        Some(6) => packet.get(24) == Some(&0xff),
        _ => false,
    }
}

/// Whether an Ethernet frame starts here, with a payload that fits: IP, ARP, LLC, or another known ethertype.
pub(super) fn ethernet_frame(data: &[u8], room: usize) -> bool {
    let Some((kind, payload, room)) = ethernet_payload(data, room) else { return false };
    match kind {
        ethertype::IPV4 | ethertype::IPV6 => is_version_of(kind, payload) && ip_packet(payload, room),
        // Ethernet and IPv4 addresses.
        ethertype::ARP => payload.starts_with(&[0, 1, 8, 0, 6, 4]),
        len @ ..0x0600 => {
            let is_llc = matches!(payload, [0xaa, 0xaa, 3, ..] | [0x42, 0x42, 3, ..] | [0xfe, 0xfe, 3, ..]);
            is_llc && usize::from(len) <= room
        }
        kind => numbers::ethertype_name(kind).is_some(),
    }
}

/// Whether an Ethernet frame with an IP packet starts here that fills the room, perhaps with padding and a frame check sequence.
pub(super) fn filling_ethernet_frame(data: &[u8], room: usize) -> bool {
    const MIN_PAYLOAD: usize = 46;
    const CHECK_SEQUENCE: usize = 4;
    let Some((kind, packet, room)) = ethernet_payload(data, room) else { return false };
    let is_padded = room <= MIN_PAYLOAD.saturating_add(CHECK_SEQUENCE);
    let fills = |len| len > 0 && (is_padded || room.saturating_sub(len) <= CHECK_SEQUENCE);
    is_version_of(kind, packet) && ip_packet(packet, room) && stated_len(packet).is_some_and(fills)
}

/// Returns the ethertype after the tags of an Ethernet frame, its payload, and the room for it.
fn ethernet_payload(data: &[u8], room: usize) -> Option<(u16, &[u8], usize)> {
    const ADDRESSES: usize = 12;
    const MAX_TAGS: usize = 3;
    let mut rest = data.get(ADDRESSES..)?;
    for _ in 0..=MAX_TAGS {
        let (kind, payload) = rest.split_first_chunk()?;
        match u16::from_be_bytes(*kind) {
            ethertype::VLAN | ethertype::PROVIDER_VLAN => rest = payload.get(2..).unwrap_or_default(),
            kind => {
                let header_len = data.len().saturating_sub(payload.len());
                return Some((kind, payload, room.saturating_sub(header_len)));
            }
        }
    }
    None
}

/// Whether a packet begins with the version that an ethertype of IP names.
fn is_version_of(kind: u16, packet: &[u8]) -> bool {
    matches!((kind, packet), (ethertype::IPV4, [0x40..=0x4f, ..]) | (ethertype::IPV6, [0x60..=0x6f, ..]))
}
