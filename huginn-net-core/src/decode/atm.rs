//! Multiprotocol encapsulation over ATM (RFC 2684) and Frame Relay (RFC 2427), and SunATM.

use super::counters::SkipReason;
use super::numbers::{self, Registry};
use super::{HeaderResult, NextHeader, ethernet, ethertype, fit, ppp};
use crate::Cursor;

/// Reads an AAL5 frame: LLC, or a payload without a header that is recognised by its first bytes.
pub(super) fn aal5(data: &[u8]) -> HeaderResult<'_> {
    match data {
        // A bridged frame after two bytes of padding (RFC 2684, section 5.2).
        [0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 1 | 7, _, _, frame @ ..] => ethernet::frame(frame),
        [0xaa | 0xfe, 0xaa | 0xfe, 3, ..] => ethernet::llc(data),
        _ if fit::ip_packet(data, data.len()) => Ok(NextHeader::Ip(data)),
        _ if ppp::is_ip(data, data.len()) => Ok(NextHeader::Ppp(data)),
        [0, 0, frame @ ..] => ethernet::frame(frame),
        _ => ethernet::llc(data),
    }
}

/// SunATM: flags with the kind of payload, virtual path and circuit.
pub(super) fn sun(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let flags = cursor.u8()?;
    cursor.skip(3)?;
    match flags & 0x0f {
        // LAN emulation: two bytes before the frame.
        1 => {
            cursor.skip(2)?;
            ethernet::frame(cursor.rest())
        }
        0 | 2 => aal5(cursor.rest()),
        _ => Err(SkipReason::not_data(Registry::LinkType, 123_u8)),
    }
}

/// Frame Relay: an address of two to four bytes; then a control byte and a protocol identifier, or Cisco's ethertype.
pub(super) fn frame_relay(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(1)?;
    for _ in 0..3 {
        if cursor.u8()? & 1 == 1 {
            break;
        }
    }
    let rest = cursor.rest();
    match rest {
        // An optional byte of padding aligns what follows.
        [3, 0, rest @ ..] | [3, rest @ ..] => nlpid(rest),
        _ => ethertype::before_type(rest, 0),
    }
}

/// Reads a network layer protocol identifier and its payload.
pub(super) fn nlpid(data: &[u8]) -> HeaderResult<'_> {
    let [number, rest @ ..] = data else { return Err(SkipReason::Short) };
    numbers::nlpid((*number).into(), rest)
        .unwrap_or_else(|| Err(SkipReason::unknown(Registry::Nlpid, *number)))
}

/// Reads an organisation code and a protocol after the identifier of SNAP.
pub(super) fn snap(data: &[u8]) -> HeaderResult<'_> {
    match data {
        [0, 0x80, 0xc2, 0, 1 | 7, frame @ ..] => ethernet::frame(frame),
        _ => ethernet::snap(data),
    }
}
