//! Encapsulations between Ethernet and its payload: mesh and fabric headers, MACsec without encryption, time stamps.

use super::counters::SkipReason;
use super::numbers::{ProtocolNumber, Registry};
use super::{HeaderResult, ethernet, ethertype};
use crate::Cursor;

/// TRILL (RFC 6325, section 3): version, options length, hop count, two nicknames; then a frame.
pub(super) fn trill(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let flags = cursor.u16_be()?;
    if flags >> 14 != 0 {
        return Err(SkipReason::unknown(Registry::Ethertype, 0x22f3_u16));
    }
    let options_len = usize::from(flags >> 6 & 0x1f) << 2;
    cursor.skip(4)?;
    cursor.skip(options_len)?;
    ethernet::frame(cursor.rest())
}

/// B.A.T.M.A.N. advanced (`uapi/linux/batadv_packet.h` of Linux), versions 14 and 15.
pub(super) fn batman(data: &[u8]) -> HeaderResult<'_> {
    const UNICAST: usize = 10;
    const UNICAST_4ADDR: usize = 18;
    const BROADCAST: usize = 14;
    const MULTICAST: usize = 6;
    let [kind, version, ..] = data else { return Err(SkipReason::Short) };
    let header_len = match (version, kind) {
        (14, 0x03) | (15, 0x40) => UNICAST,
        (14, 0x0a) | (15, 0x42) => UNICAST_4ADDR,
        (14, 0x04) | (15, 0x01) => BROADCAST,
        (15, 0x05) => {
            let Some(len) = data.get(4..).and_then(|rest| rest.first_chunk()) else {
                return Err(SkipReason::Short);
            };
            MULTICAST.saturating_add(u16::from_be_bytes(*len).into())
        }
        (14, 0x06) | (15, 0x41) => return Err(SkipReason::LinkFragment),
        (14, 0x01 | 0x02 | 0x05 | 0x07..=0x09) | (15, 0x00 | 0x03 | 0x04 | 0x43 | 0x44) => {
            return Err(SkipReason::not_data(Registry::Ethertype, 0x4305_u16));
        }
        _ => return Err(SkipReason::unknown(Registry::Ethertype, 0x4305_u16)),
    };
    data.get(header_len..).ok_or(SkipReason::Short).and_then(ethernet::frame)
}

/// MACsec (IEEE 802.1AE, clause 9): the security tag, then the ethertype and payload, then the integrity check value.
/// They are in the clear if neither "encrypted" nor "changed" is set.
pub(super) fn macsec(data: &[u8]) -> HeaderResult<'_> {
    const VERSION: u8 = 0x80;
    const HAS_CHANNEL: u8 = 0x20;
    const ENCRYPTED: u8 = 0x08;
    const CHANGED: u8 = 0x04;
    let number = ProtocolNumber::new(Registry::Ethertype, 0x88e5_u16);
    let mut cursor = Cursor::new(data);
    let [flags, short_len] = cursor.array()?;
    cursor.skip(if flags & HAS_CHANNEL == 0 { 4 } else { 12 })?;
    if flags & VERSION != 0 {
        return Err(SkipReason::UnknownEthertype(number));
    }
    if flags & (ENCRYPTED | CHANGED) != 0 {
        return Err(SkipReason::Encrypted(number));
    }
    // A payload shorter than 48 bytes states its length.
    let rest = cursor.rest();
    let secured = match usize::from(short_len & 0x3f) {
        0 => rest,
        len => rest.get(..len).unwrap_or(rest),
    };
    ethertype::before_type(secured, 0)
}

/// Time stamps of Arista switches: subtype 1 with 64 or 48 bits of time.
pub(super) fn arista(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let subtype = cursor.u16_be()?;
    let version = cursor.u16_be()?;
    match (subtype, version & 0xff) {
        (1, 0x10) => ethertype::before_type(cursor.rest(), 8),
        (1, 0x20) => ethertype::before_type(cursor.rest(), 6),
        _ => Err(SkipReason::unknown(Registry::Ethertype, 0xd28b_u16)),
    }
}
