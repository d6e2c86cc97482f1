//! Link layers of local networks other than Ethernet and 802.11.

use super::counters::SkipReason;
use super::numbers::Registry;
use super::{HeaderResult, NextHeader, ethernet};
use crate::Cursor;

/// Token Ring (IEEE 802.5): access and frame control, two addresses, routing information if the source says so.
pub(super) fn token_ring(data: &[u8]) -> HeaderResult<'_> {
    const IS_LLC: u8 = 0x40;
    const HAS_ROUTE: u8 = 0x80;
    let mut cursor = Cursor::new(data);
    let [_, frame_control] = cursor.array()?;
    cursor.skip(6)?;
    let [first, ..] = cursor.array::<6>()?;
    if frame_control & 0xc0 != IS_LLC {
        return Err(SkipReason::not_data(Registry::LinkType, 6_u8));
    }
    if first & HAS_ROUTE != 0 {
        let len = cursor.peek().map_or(0, |first| usize::from(first & 0x1f));
        cursor.skip(len)?;
    }
    ethernet::llc(cursor.rest())
}

/// FDDI (ISO 9314-2): frame control and two addresses.
pub(super) fn fddi(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let frame_control = cursor.u8()?;
    cursor.skip(12)?;
    // Asynchronous and synchronous LLC frames.
    if !matches!(frame_control & 0x70, 0x50 | 0x10) {
        return Err(SkipReason::not_data(Registry::LinkType, 10_u8));
    }
    ethernet::llc(cursor.rest())
}

/// ARCNET as the BSDs capture it: addresses and system code, then the fields of RFC 1201.
pub(super) fn arcnet(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(2)?;
    arcnet_system(cursor, 7)
}

/// ARCNET as Linux captures it: two more bytes before the system code.
pub(super) fn arcnet_linux(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(4)?;
    arcnet_system(cursor, 129)
}

fn arcnet_system(mut cursor: Cursor<'_>, link: u8) -> HeaderResult<'_> {
    const EXCEPTION: u8 = 0xff;
    match cursor.u8()? {
        // RFC 1051.
        0xf0 => return Ok(NextHeader::Ip(cursor.rest())),
        0xf1 | 0xd5 | 0xd6 => return Err(SkipReason::Arp),
        // IPv4 (RFC 1201), IPv6 (RFC 2497).
        0xd4 | 0xc4 => {}
        _ => return Err(SkipReason::unknown(Registry::LinkType, link)),
    }
    let split = cursor.u8()?;
    cursor.skip(2)?;
    match split {
        0 => {}
        // A padded frame (RFC 1201, section 3): the fields follow again.
        EXCEPTION => cursor.skip(4)?,
        _ => return Err(SkipReason::LinkFragment),
    }
    Ok(NextHeader::Ip(cursor.rest()))
}

/// IP over Fibre Channel (RFC 2625): two addresses of eight bytes, then LLC.
pub(super) fn fibre_channel(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(16)?;
    ethernet::llc(cursor.rest())
}

/// IP over InfiniBand (RFC 4391, section 6): the global route header, then ethertype and two reserved bytes.
pub(super) fn ip_over_infiniband(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(40)?;
    encapsulation(cursor)
}

/// InfiniBand: local route header, global route header if the first says so, base transport header; then IP in
/// unreliable datagrams or, in connected mode, in messages of one packet.
pub(super) fn infiniband(data: &[u8]) -> HeaderResult<'_> {
    const RC_SEND_ONLY: u8 = 0x04;
    const UD_SEND_ONLY: u8 = 0x64;
    let unknown = SkipReason::unknown(Registry::LinkType, 247_u8);
    let mut cursor = Cursor::new(data);
    let [_, next, ..] = cursor.array::<8>()?;
    match next & 3 {
        2 => {}
        3 => cursor.skip(40)?,
        _ => return Err(unknown),
    }
    let [opcode, ..] = cursor.array::<12>()?;
    match opcode {
        UD_SEND_ONLY => cursor.skip(8)?,
        RC_SEND_ONLY => {}
        _ => return Err(unknown),
    }
    encapsulation(cursor)
}

fn encapsulation(mut cursor: Cursor<'_>) -> HeaderResult<'_> {
    let ethertype = cursor.u16_be()?;
    cursor.skip(2)?;
    Ok(NextHeader::Ethertype(ethertype, cursor.rest()))
}

/// DOCSIS (CableLabs CM-SP-MULPI, section 6.2): frame control, length, extended header, check sequence; then a frame.
pub(super) fn docsis(data: &[u8]) -> HeaderResult<'_> {
    const TYPE: u8 = 0xc0;
    const HAS_EXTENSION: u8 = 0x01;
    let mut cursor = Cursor::new(data);
    let [control, extension_len] = cursor.array()?;
    cursor.skip(2)?;
    if control & TYPE != 0 {
        return Err(SkipReason::not_data(Registry::LinkType, 143_u8));
    }
    if control & HAS_EXTENSION != 0 {
        cursor.skip(extension_len.into())?;
    }
    cursor.skip(2)?;
    ethernet::frame(cursor.rest())
}
