//! Payloads by ethertype: IP, tags and encapsulations.

use super::counters::SkipReason;
use super::numbers::{self, Registry};
use super::{HeaderResult, NextHeader, ethernet, push_layer};
use crate::{Cursor, TunnelLayer, TunnelPath};

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const MPLS: u16 = 0x8847;
pub(super) const MPLS_MULTICAST: u16 = 0x8848;
/// Transparent Ethernet bridging (RFC 1701): a complete Ethernet frame.
pub(super) const ETHERNET: u16 = 0x6558;
/// PPP in GRE (RFC 2637).
pub(super) const PPP: u16 = 0x880b;
pub(super) const ARP: u16 = 0x0806;
pub(super) const VLAN: u16 = 0x8100;
pub(super) const PROVIDER_VLAN: u16 = 0x88a8;
pub(super) const NSH: u16 = 0x894f;
const QINQ_9100: u16 = 0x9100;
const QINQ_9200: u16 = 0x9200;
const PPPOE_SESSION: u16 = 0x8864;

/// Reads the payload of an ethertype.
pub(super) fn payload<'a>(ethertype: u16, data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    match ethertype {
        IPV4 | IPV6 => Ok(NextHeader::Ip(data)),
        _ => numbers::ethertype(ethertype, data, path)
            .unwrap_or_else(|| Err(SkipReason::unknown(Registry::Ethertype, ethertype))),
    }
}

/// Whether an IP network uses this ethertype: IP, ARP or a tag before them.
pub(super) fn is_network(ethertype: u16) -> bool {
    matches!(
        ethertype,
        IPV4 | IPV6
            | ARP
            | VLAN
            | PROVIDER_VLAN
            | QINQ_9100
            | QINQ_9200
            | MPLS
            | MPLS_MULTICAST
            | PPPOE_SESSION
    )
}

/// Reads a VLAN tag (IEEE 802.1Q, clause 9.6). Identifier 0 is a priority tag without a VLAN, and is not recorded.
pub(super) fn vlan<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    let mut cursor = Cursor::new(data);
    let id = cursor.u16_be()? & 0x0fff;
    let type_or_length = cursor.u16_be()?;
    if id != 0 {
        push_layer(path, TunnelLayer::Vlan(id))?;
    }
    ethernet::type_or_length(type_or_length, cursor.rest())
}

/// Skips a header of a switch or fabric before a frame. It does not separate networks.
pub(super) fn before_frame(data: &[u8], len: usize) -> HeaderResult<'_> {
    data.get(len..).ok_or(SkipReason::Short).and_then(ethernet::frame)
}

/// Skips a tag before an ethertype or length. It does not separate networks.
pub(super) fn before_type(data: &[u8], len: usize) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(len)?;
    let type_or_length = cursor.u16_be()?;
    ethernet::type_or_length(type_or_length, cursor.rest())
}

/// The network service header (RFC 8300, section 2).
pub(super) fn service_header(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let flags_and_len = cursor.u16_be()?;
    cursor.skip(1)?;
    let protocol = cursor.u8()?;
    let (is_oam, len) = (flags_and_len & 0x2000 != 0, usize::from(flags_and_len & 0x3f) << 2);
    let Some(rest) = data.get(len.max(4)..) else { return Err(SkipReason::Short) };
    if is_oam {
        return Err(SkipReason::not_data(Registry::Ethertype, NSH));
    }
    next_protocol(protocol, rest)
}

/// Reads the payload of a next protocol of NSH, VXLAN-GPE or LISP-GPE.
pub(super) fn next_protocol(protocol: u8, data: &[u8]) -> HeaderResult<'_> {
    numbers::next(protocol.into(), data)
        .unwrap_or_else(|| Err(SkipReason::unknown(Registry::NextProtocol, protocol)))
}
