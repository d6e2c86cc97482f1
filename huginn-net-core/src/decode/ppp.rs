//! PPP (RFC 1661) with its HDLC-like framing (RFC 1662), Cisco's HDLC, and PPP over Ethernet (RFC 2516).

use super::counters::SkipReason;
use super::numbers::{self, Registry};
use super::{HeaderResult, NextHeader, ethernet, fit, push_layer};
use crate::{Cursor, TunnelLayer, TunnelPath};

/// Reads a PPP frame. The address and control bytes and the high byte of the protocol are optional.
pub(super) fn frame(data: &[u8]) -> HeaderResult<'_> {
    /// The least number of the network and link control protocols.
    const MIN_CONTROL: u16 = 0x8000;
    let data = data.strip_prefix(&[0xff, 0x03]).unwrap_or(data);
    let (protocol, rest) = match data {
        // The low byte of a protocol is odd, the high one even (RFC 1661, section 2).
        [low, rest @ ..] if low & 1 == 1 => (u16::from(*low), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return Err(SkipReason::Short),
    };
    match numbers::ppp(protocol, rest) {
        Some(next) => next,
        None if protocol >= MIN_CONTROL => Err(SkipReason::not_data(Registry::PppProtocol, protocol)),
        None => Err(SkipReason::unknown(Registry::PppProtocol, protocol)),
    }
}

/// Whether a PPP frame with an IP packet that fits starts here. `room`: bytes from here on the wire.
pub(super) fn is_ip(data: &[u8], room: usize) -> bool {
    match frame(data) {
        Ok(NextHeader::Ip(packet)) => {
            fit::ip_packet(packet, room.saturating_sub(data.len().saturating_sub(packet.len())))
        }
        _ => false,
    }
}

/// Multilink (RFC 1990, section 3.1): begin and end flags with a sequence number of 24 or 12 bits, whichever fits what
/// follows. A frame that is a fragment is not reassembled.
pub(super) fn multilink(data: &[u8]) -> HeaderResult<'_> {
    const BEGIN_AND_END: u8 = 0xc0;
    let Some(flags) = data.first() else { return Err(SkipReason::Short) };
    if flags & BEGIN_AND_END != BEGIN_AND_END {
        return Err(SkipReason::LinkFragment);
    }
    let (long, short) = (data.get(4..), data.get(2..));
    match (long, short) {
        (_, Some(short)) if is_ip(short, short.len()) => Ok(NextHeader::Ppp(short)),
        (Some(long), _) => Ok(NextHeader::Ppp(long)),
        _ => Err(SkipReason::Short),
    }
}

/// A bridged frame (RFC 3518, section 4.2): flags with the length of the padding, the kind of frame.
pub(super) fn bridged(data: &[u8]) -> HeaderResult<'_> {
    const HAS_LAN_ID: u8 = 0x40;
    const ETHERNET: u8 = 1;
    let mut cursor = Cursor::new(data);
    let [flags, kind] = cursor.array()?;
    if flags & HAS_LAN_ID != 0 {
        cursor.skip(4)?;
    }
    match kind {
        ETHERNET => ethernet::frame(cursor.rest()),
        _ => Err(SkipReason::unknown(Registry::PppProtocol, 0x31_u16)),
    }
}

/// Reads a frame of a serial line: Cisco HDLC, recognised by its address byte, or PPP.
pub(super) fn hdlc(data: &[u8]) -> HeaderResult<'_> {
    match data {
        [0x0f | 0x8f, _, high, low, rest @ ..] => {
            Ok(NextHeader::Ethertype(u16::from_be_bytes([*high, *low]), rest))
        }
        _ => frame(data),
    }
}

/// Reads a PPPoE session packet (RFC 2516, section 4).
pub(super) fn pppoe<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    let mut cursor = Cursor::new(data);
    let [version_and_type, code] = cursor.array()?;
    let session = cursor.u16_be()?;
    let len = usize::from(cursor.u16_be()?);
    match (version_and_type, code) {
        (0x11, 0) => {}
        (0x11, _) => return Err(SkipReason::not_data(Registry::Ethertype, 0x8864_u16)),
        _ => return Err(SkipReason::BadHeader),
    }
    push_layer(path, TunnelLayer::Pppoe(session))?;
    let rest = cursor.rest();
    frame(rest.get(..len).unwrap_or(rest))
}
