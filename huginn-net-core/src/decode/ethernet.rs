//! Ethernet II, and IEEE 802.3 with the LLC and SNAP headers of IEEE 802.2.

use super::counters::SkipReason;
use super::ethertype;
use super::{HeaderResult, NextHeader, push_layer};
use crate::{TunnelLayer, TunnelPath};

/// Length of the header in bytes: two addresses and the ethertype or length.
pub(super) const HEADER: usize = 14;

/// The smallest ethertype; smaller values are 802.3 lengths (IEEE 802.3, clause 3.2.6).
const MIN_ETHERTYPE: u16 = 0x0600;

/// Reads an Ethernet frame.
#[inline]
pub(super) fn frame(data: &[u8]) -> HeaderResult<'_> {
    let Some((header, rest)) = data.split_first_chunk::<HEADER>() else { return Err(SkipReason::Short) };
    type_or_length(u16::from_be_bytes([header[12], header[13]]), rest)
}

/// Reads the payload after an ethertype or length field, of a frame or of a tag.
#[inline]
pub(super) fn type_or_length(value: u16, rest: &[u8]) -> HeaderResult<'_> {
    match value {
        ethertype::IPV4 | ethertype::IPV6 => Ok(NextHeader::Ip(rest)),
        MIN_ETHERTYPE.. => Ok(NextHeader::Ethertype(value, rest)),
        _ => llc(rest.get(..usize::from(value)).unwrap_or(rest)),
    }
}

/// Reads Ethernet in IP (RFC 3378): version 3 and a reserved field of zero, then a frame.
pub(super) fn in_ip<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    match data {
        [0x30, 0x00, rest @ ..] => {
            push_layer(path, TunnelLayer::EtherIp)?;
            frame(rest)
        }
        [] | [_] => Err(SkipReason::Short),
        _ => Err(SkipReason::BadHeader),
    }
}

/// Reads an LLC header (IEEE 802.2), and the SNAP header if there is one (RFC 1042).
pub(super) fn llc(data: &[u8]) -> HeaderResult<'_> {
    match data {
        // The organisation codes of RFC 1042 and of IEEE 802.1H: an ethertype follows.
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, high, low, rest @ ..] => {
            Ok(NextHeader::Ethertype(u16::from_be_bytes([*high, *low]), rest))
        }
        [0xaa, 0xaa, 0x03, _, _, _, _, _, ..] => Err(SkipReason::UnknownEthertype),
        [0xaa, 0xaa, 0x03, ..] | [] | [_] | [_, _] => Err(SkipReason::Short),
        [0x06, 0x06, 0x03, rest @ ..] => Ok(NextHeader::Ip(rest)),
        _ => Err(SkipReason::UnknownEthertype),
    }
}
