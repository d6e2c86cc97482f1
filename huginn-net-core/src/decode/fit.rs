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
    let stated = match data {
        [0x45..=0x4f, _, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
        [0x60..=0x6f, _, _, _, high, low, ..] => {
            usize::from(u16::from_be_bytes([*high, *low])).saturating_add(ip::IPV6_HEADER)
        }
        _ => return false,
    };
    stated == room && ip_packet(data, room)
}

/// Whether an Ethernet frame starts here, with a payload that fits: IP, ARP, LLC, or another known ethertype.
pub(super) fn ethernet_frame(data: &[u8], room: usize) -> bool {
    const ADDRESSES: usize = 12;
    const MAX_TAGS: usize = 3;
    let Some(mut rest) = data.get(ADDRESSES..) else { return false };
    let mut room = room.saturating_sub(ADDRESSES);
    for _ in 0..=MAX_TAGS {
        let Some((kind, payload)) = rest.split_first_chunk() else { return false };
        room = room.saturating_sub(2);
        match u16::from_be_bytes(*kind) {
            kind @ (ethertype::IPV4 | ethertype::IPV6) => {
                let version = if kind == ethertype::IPV4 { 4 } else { 6 };
                return payload.first().is_some_and(|first| first >> 4 == version)
                    && ip_packet(payload, room);
            }
            // Ethernet and IPv4 addresses.
            ethertype::ARP => return payload.starts_with(&[0, 1, 8, 0, 6, 4]),
            ethertype::VLAN | ethertype::PROVIDER_VLAN => {
                rest = payload.get(2..).unwrap_or_default();
                room = room.saturating_sub(2);
            }
            len @ ..0x0600 => {
                let is_llc =
                    matches!(payload, [0xaa, 0xaa, 3, ..] | [0x42, 0x42, 3, ..] | [0xfe, 0xfe, 3, ..]);
                return is_llc && usize::from(len) <= room;
            }
            kind => return numbers::ethertype_name(kind).is_some(),
        }
    }
    false
}
