//! Payloads by ethertype: IP, tags and encapsulations.

use super::counters::SkipReason;
use super::{HeaderResult, NextHeader, ethernet, mpls, ppp, push_layer};
use crate::{Cursor, TunnelLayer, TunnelPath};

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const MPLS: u16 = 0x8847;
pub(super) const MPLS_MULTICAST: u16 = 0x8848;
/// Transparent Ethernet bridging (RFC 1701): a complete Ethernet frame.
pub(super) const ETHERNET: u16 = 0x6558;
/// PPP in GRE (RFC 2637).
pub(super) const PPP: u16 = 0x880b;

const ARP: u16 = 0x0806;
const REVERSE_ARP: u16 = 0x8035;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
const QINQ_9100: u16 = 0x9100;
const QINQ_9200: u16 = 0x9200;
const PPPOE_DISCOVERY: u16 = 0x8863;
const PPPOE_SESSION: u16 = 0x8864;
const BACKBONE_SERVICE: u16 = 0x88e7;
const FABRIC_PATH: u16 = 0x8903;
const CISCO_METADATA: u16 = 0x8909;
const VN_TAG: u16 = 0x8926;
const E_TAG: u16 = 0x893f;
const NSH: u16 = 0x894f;

/// Reads the payload of an ethertype.
pub(super) fn payload<'a>(ethertype: u16, data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    match ethertype {
        IPV4 | IPV6 => Ok(NextHeader::Ip(data)),
        VLAN | PROVIDER_VLAN | QINQ_9100 | QINQ_9200 => vlan(data, path),
        MPLS | MPLS_MULTICAST => mpls::stack(data, path),
        PPPOE_SESSION => ppp::pppoe(data, path),
        ETHERNET => ethernet::frame(data),
        ARP | REVERSE_ARP => Err(SkipReason::Arp),
        PPPOE_DISCOVERY => Err(SkipReason::NotData),
        NSH => service_header(data),
        other => switch_tag(other, data),
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
fn vlan<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    let mut cursor = Cursor::new(data);
    let id = cursor.u16_be()? & 0x0fff;
    let type_or_length = cursor.u16_be()?;
    if id != 0 {
        push_layer(path, TunnelLayer::Vlan(id))?;
    }
    ethernet::type_or_length(type_or_length, cursor.rest())
}

/// Skips tags that switches use for ports or paths. These tags do not separate networks.
fn switch_tag(ethertype: u16, data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    match ethertype {
        // The service tag of IEEE 802.1ah; then a frame without preamble.
        BACKBONE_SERVICE => cursor.skip(4)?,
        // The forwarding tag and time to live; then a frame.
        FABRIC_PATH => cursor.skip(2)?,
        // Version, length, and a security group option.
        CISCO_METADATA => return after_tag(cursor, 6),
        VN_TAG => return after_tag(cursor, 4),
        // IEEE 802.1BR, clause 7.5.
        E_TAG => return after_tag(cursor, 6),
        _ => return Err(SkipReason::UnknownEthertype),
    }
    ethernet::frame(cursor.rest())
}

fn after_tag(mut cursor: Cursor<'_>, len: usize) -> HeaderResult<'_> {
    cursor.skip(len)?;
    let type_or_length = cursor.u16_be()?;
    ethernet::type_or_length(type_or_length, cursor.rest())
}

/// The network service header (RFC 8300, section 2).
fn service_header(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let flags_and_len = cursor.u16_be()?;
    cursor.skip(1)?;
    let protocol = cursor.u8()?;
    let (is_oam, len) = (flags_and_len & 0x2000 != 0, usize::from(flags_and_len & 0x3f) << 2);
    let Some(rest) = data.get(len.max(4)..) else { return Err(SkipReason::Short) };
    match protocol {
        _ if is_oam => Err(SkipReason::NotData),
        1 | 2 => Ok(NextHeader::Ip(rest)),
        3 => Ok(NextHeader::Ethertype(ETHERNET, rest)),
        4 => Ok(NextHeader::Ethertype(NSH, rest)),
        5 => Ok(NextHeader::Ethertype(MPLS, rest)),
        _ => Err(SkipReason::UnknownEthertype),
    }
}
