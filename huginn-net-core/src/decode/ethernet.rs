//! Ethernet II, and IEEE 802.3 with the LLC and SNAP headers of IEEE 802.2.

use super::counters::SkipReason;
use super::numbers::Registry;
use super::{HeaderResult, NextHeader, atm, ethertype};

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

/// Reads an LLC header (IEEE 802.2), and the SNAP header if there is one (RFC 1042).
pub(super) fn llc(data: &[u8]) -> HeaderResult<'_> {
    match data {
        [0xaa, 0xaa, 0x03, rest @ ..] => snap(rest),
        [] | [_] | [_, _] => Err(SkipReason::Short),
        [0x06, 0x06, 0x03, rest @ ..] => Ok(NextHeader::Ip(rest)),
        [0xfe, 0xfe, 0x03, rest @ ..] => atm::nlpid(rest),
        [service, ..] => Err(SkipReason::unknown(Registry::LlcSap, *service)),
    }
}

/// Reads an organisation code and a protocol.
pub(super) fn snap(data: &[u8]) -> HeaderResult<'_> {
    match data {
        // The organisation codes of RFC 1042 and of IEEE 802.1H: an ethertype follows.
        [0, 0, 0 | 0xf8, high, low, rest @ ..] => {
            Ok(NextHeader::Ethertype(u16::from_be_bytes([*high, *low]), rest))
        }
        [a, b, c, _, _, ..] => {
            Err(SkipReason::unknown(Registry::SnapOrganization, u32::from_be_bytes([0, *a, *b, *c])))
        }
        _ => Err(SkipReason::Short),
    }
}
