//! Tunnels over UDP. The port does not suffice: a datagram without a strictly valid tunnel header is an ordinary
//! segment.

use super::counters::SkipReason;
use super::transport::Datagram;
use super::{HeaderResult, NextHeader, ethertype, wifi};
use crate::{Cursor, TunnelLayer, UdpHeader};

const GTPU: u16 = 2152;
const TEREDO: u16 = 3544;
const VXLAN: u16 = 4789;
const CAPWAP_DATA: u16 = 5247;
const GENEVE: u16 = 6081;
/// The VXLAN port of Linux before IANA assigned one.
const VXLAN_LINUX: u16 = 8472;

/// A recognised tunnel with its payload.
pub(super) type Recognised<'a> = Option<(TunnelLayer, HeaderResult<'a>)>;

/// Recognises a tunnel header in a datagram from or to a tunnel's port.
#[inline]
pub(super) fn recognise<'a>(datagram: &Datagram<'a, UdpHeader>) -> Recognised<'a> {
    let by_port = |port| match port {
        GTPU | TEREDO | VXLAN | CAPWAP_DATA | GENEVE | VXLAN_LINUX => by_header(port, datagram),
        _ => None,
    };
    by_port(datagram.header.dst_port).or_else(|| by_port(datagram.header.src_port))
}

#[inline(never)]
fn by_header<'a>(port: u16, datagram: &Datagram<'a, UdpHeader>) -> Recognised<'a> {
    let payload = datagram.payload;
    // Length of the payload on the wire; the snap length may have cut it.
    let stated_len = payload.len().saturating_add(usize::try_from(datagram.missing).unwrap_or(usize::MAX));
    match port {
        GTPU => gtpu(payload, stated_len),
        TEREDO => teredo(payload, stated_len),
        CAPWAP_DATA => capwap(payload),
        GENEVE => geneve(payload),
        _ => vxlan(payload),
    }
}

/// VXLAN (RFC 7348, section 5): only the I flag set, reserved fields zero.
fn vxlan(payload: &[u8]) -> Recognised<'_> {
    let [0x08, 0, 0, 0, a, b, c, 0, frame @ ..] = payload else { return None };
    let network = u32::from_be_bytes([0, *a, *b, *c]);
    Some((TunnelLayer::Vxlan(network), Ok(NextHeader::Ethertype(ethertype::ETHERNET, frame))))
}

/// Geneve (RFC 8926, section 3.4): version 0, reserved fields zero, options that fit, a known payload type.
fn geneve(payload: &[u8]) -> Recognised<'_> {
    const RESERVED: u8 = 0x3f;
    const IS_CONTROL: u8 = 0x80;
    let [version_and_len, flags, high, low, a, b, c, 0, rest @ ..] = payload else { return None };
    let inner = u16::from_be_bytes([*high, *low]);
    let is_known = inner == ethertype::ETHERNET || ethertype::is_network(inner);
    if version_and_len >> 6 != 0 || flags & RESERVED != 0 || !is_known {
        return None;
    }
    let options_len = usize::from(version_and_len & 0x3f) << 2;
    let step = match rest.get(options_len..)? {
        _ if flags & IS_CONTROL != 0 => Err(SkipReason::NotData),
        rest => Ok(NextHeader::Ethertype(inner, rest)),
    };
    Some((TunnelLayer::Geneve(u32::from_be_bytes([0, *a, *b, *c])), step))
}

/// GTP-U (3GPP TS 29.281, section 5): version 1, GTP rather than GTP', a G-PDU that fits, an IP packet inside.
fn gtpu(payload: &[u8], stated_len: usize) -> Recognised<'_> {
    const HEADER: usize = 8;
    const G_PDU: u8 = 255;
    const OPTIONAL_FIELDS: u8 = 0x07;
    const EXTENSION: u8 = 0x04;
    let mut cursor = Cursor::new(payload);
    let [flags, kind] = cursor.array().ok()?;
    let len = usize::from(cursor.u16_be().ok()?);
    let endpoint = cursor.u32_be().ok()?;
    if flags & 0xf8 != 0x30 || kind != G_PDU || len.saturating_add(HEADER) > stated_len {
        return None;
    }
    let rest = cursor.rest();
    let mut cursor = Cursor::new(rest.get(..len).unwrap_or(rest));
    if flags & OPTIONAL_FIELDS != 0 {
        cursor.skip(3).ok()?;
        let mut next = cursor.u8().ok()?;
        while next != 0 && flags & EXTENSION != 0 {
            // The length counts units of four bytes, including the length and the next type (section 5.2.1).
            let len = usize::from(cursor.u8().ok()?) << 2;
            cursor.skip(len.checked_sub(2)?).ok()?;
            next = cursor.u8().ok()?;
        }
    }
    let packet = cursor.rest();
    matches!(packet.first()? >> 4, 4 | 6).then_some((TunnelLayer::Gtpu(endpoint), Ok(NextHeader::Ip(packet))))
}

/// CAPWAP (RFC 5415, section 4.3): version 0, no DTLS, reserved fields zero, a header that fits.
fn capwap(payload: &[u8]) -> Recognised<'_> {
    const IS_NATIVE: u32 = 0x100;
    const IS_FRAGMENT: u32 = 0x80;
    const IS_KEEP_ALIVE: u32 = 0x08;
    const RESERVED: u32 = 0x07;
    const BINDING_802_11: u32 = 1;
    let mut cursor = Cursor::new(payload);
    let preamble = cursor.u8().ok()?;
    let fields = cursor.u24_be().ok()?;
    cursor.skip(2).ok()?;
    let fragment_offset = cursor.u16_be().ok()?;
    let header_len = usize::try_from(fields >> 19).ok()? << 2;
    if preamble != 0 || header_len < cursor.position() || fields & RESERVED != 0 || fragment_offset & 7 != 0 {
        return None;
    }
    let frame = payload.get(header_len..)?;
    let step = if fields & IS_KEEP_ALIVE != 0 {
        Err(SkipReason::NotData)
    } else if fields & IS_FRAGMENT != 0 {
        Err(SkipReason::LinkFragment)
    } else if fields & IS_NATIVE == 0 {
        Ok(NextHeader::Ethertype(ethertype::ETHERNET, frame))
    } else if fields >> 9 & 0x1f == BINDING_802_11 {
        wifi::capwap_frame(frame)
    } else {
        Err(SkipReason::UnknownEthertype)
    };
    Some((TunnelLayer::Capwap, step))
}

/// Teredo (RFC 4380, section 5.1.1): an optional authentication header, an optional origin indication, then IPv6 that
/// fills the datagram exactly.
fn teredo(payload: &[u8], stated_len: usize) -> Recognised<'_> {
    const IPV6_HEADER: usize = 40;
    let mut cursor = Cursor::new(payload);
    if payload.starts_with(&[0, 1]) {
        cursor.skip(2).ok()?;
        let [id_len, authentication_len] = cursor.array().ok()?;
        cursor.skip(usize::from(id_len)).ok()?;
        cursor.skip(usize::from(authentication_len)).ok()?;
        // Nonce and confirmation.
        cursor.skip(9).ok()?;
    }
    if cursor.rest().starts_with(&[0, 0]) {
        cursor.skip(8).ok()?;
    }
    let packet = cursor.rest();
    let stated_len = stated_len.saturating_sub(cursor.position());
    let [first, _, _, _, high, low, ..] = packet else { return None };
    let payload_len = usize::from(u16::from_be_bytes([*high, *low]));
    let is_ipv6 = first >> 4 == 6 && payload_len.saturating_add(IPV6_HEADER) == stated_len;
    is_ipv6.then_some((TunnelLayer::Teredo, Ok(NextHeader::Ip(packet))))
}
