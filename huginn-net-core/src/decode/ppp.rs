//! PPP (RFC 1661) with its HDLC-like framing (RFC 1662), Cisco's HDLC, and PPP over Ethernet (RFC 2516).

use super::counters::SkipReason;
use super::{HeaderResult, NextHeader, ethertype, push_layer};
use crate::{Cursor, TunnelLayer, TunnelPath};

/// Reads a PPP frame. The address and control bytes and the high byte of the protocol are optional.
pub(super) fn frame(data: &[u8]) -> HeaderResult<'_> {
    let data = data.strip_prefix(&[0xff, 0x03]).unwrap_or(data);
    let (protocol, rest) = match data {
        // The low byte of a protocol is odd, the high one even (RFC 1661, section 2).
        [low, rest @ ..] if low & 1 == 1 => (u16::from(*low), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return Err(SkipReason::Short),
    };
    match protocol {
        0x0021 | 0x0057 => Ok(NextHeader::Ip(rest)),
        0x0281 => Ok(NextHeader::Ethertype(ethertype::MPLS, rest)),
        0x0283 => Ok(NextHeader::Ethertype(ethertype::MPLS_MULTICAST, rest)),
        // Encryption (RFC 1968).
        0x0053 | 0x0055 => Err(SkipReason::Encrypted),
        // Network and link control protocols.
        0x8000.. => Err(SkipReason::NotData),
        _ => Err(SkipReason::UnknownEthertype),
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
        (0x11, _) => return Err(SkipReason::NotData),
        _ => return Err(SkipReason::BadHeader),
    }
    push_layer(path, TunnelLayer::Pppoe(session))?;
    let rest = cursor.rest();
    frame(rest.get(..len).unwrap_or(rest))
}
