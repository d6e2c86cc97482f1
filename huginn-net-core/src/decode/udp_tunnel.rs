//! Tunnels over UDP. The port does not suffice: a datagram without a valid tunnel header is an ordinary segment.
//!
//! Receivers ignore reserved bits (RFC 7348, section 5; RFC 8926, section 3.4; 3GPP TS 29.281, section 5.1). A header in
//! which some are set is accepted if a packet that fits follows it.

use super::counters::SkipReason;
use super::numbers::{self, ProtocolNumber, Registry};
use super::transport::Datagram;
use super::{HeaderResult, NextHeader, ethertype, fit, ip_tunnel, ppp, wifi};
use crate::{Cursor, TunnelLayer, UdpHeader};

/// A recognised tunnel with its layer, if it has one of its own, and its payload.
pub(super) type Recognised<'a> = Option<(Option<TunnelLayer>, HeaderResult<'a>)>;

/// A datagram from or to the port of a tunnel.
pub(super) struct TunnelDatagram<'a> {
    port: u16,
    is_destination: bool,
    payload: &'a [u8],
    /// Length of the payload on the wire; the snap length may have cut it.
    len: usize,
}

impl TunnelDatagram<'_> {
    /// Bytes on the wire from `rest`, the last part of the payload.
    fn room(&self, rest: &[u8]) -> usize {
        self.len.saturating_sub(self.payload.len().saturating_sub(rest.len()))
    }
}

/// Recognises a tunnel header in a datagram from or to a tunnel's port.
#[inline]
pub(super) fn recognise<'a>(datagram: &Datagram<'a, UdpHeader>) -> Recognised<'a> {
    let UdpHeader { src_port, dst_port } = datagram.header;
    // Most tunnels have their port in one place only.
    [(dst_port, true), (src_port, false)].into_iter().find_map(|(port, is_destination)| {
        if port < MIN_PORT {
            return None;
        }
        let payload = datagram.payload;
        let len = payload.len().saturating_add(usize::try_from(datagram.missing).unwrap_or(usize::MAX));
        numbers::udp(port, &TunnelDatagram { port, is_destination, payload, len }).flatten()
    })
}

/// The least port of a tunnel: fewer comparisons for DNS and QUIC.
const MIN_PORT: u16 = 1701;

/// VXLAN (RFC 7348, section 5), with the group policy of draft-smith-vxlan-group-policy, and VXLAN-GPE
/// (draft-ietf-nvo3-vxlan-gpe, section 3): the I flag, and the next protocol if the P flag is set.
pub(super) fn vxlan<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const HAS_NETWORK: u8 = 0x08;
    const HAS_PROTOCOL: u8 = 0x04;
    const IS_CONTROL: u8 = 0x01;
    const GPE: u16 = 4790;
    let [flags, high, low, protocol, a, b, c, last, rest @ ..] = datagram.payload else { return None };
    if flags & HAS_NETWORK == 0 {
        return None;
    }
    let layer = Some(TunnelLayer::Vxlan(u32::from_be_bytes([0, *a, *b, *c])));
    let is_strict = (*high, *low, *last) == (0, 0, 0);
    let is_gpe = datagram.port == GPE;
    if (*flags, *protocol) == (HAS_NETWORK, 0) && is_strict || fit::ethernet_frame(rest, datagram.room(rest))
    {
        // The next protocol of a frame is 3.
        if flags & HAS_PROTOCOL == 0 || !is_gpe || *protocol == 3 {
            return Some((layer, Ok(NextHeader::Ethertype(ethertype::ETHERNET, rest))));
        }
    }
    if flags & HAS_PROTOCOL == 0 {
        return None;
    }
    if is_gpe && is_strict && flags & IS_CONTROL != 0 {
        return Some((layer, Err(SkipReason::not_data(Registry::UdpPort, GPE))));
    }
    Some((layer, next_protocol(*protocol, rest, datagram.room(rest), is_gpe && is_strict)?))
}

/// Reads the payload of a next protocol. `is_strict`: whether a payload that cannot be checked is accepted.
fn next_protocol(protocol: u8, rest: &[u8], room: usize, is_strict: bool) -> Option<HeaderResult<'_>> {
    let fits = match protocol {
        1 | 2 => fit::ip_packet(rest, room),
        3 => fit::ethernet_frame(rest, room),
        _ => is_strict,
    };
    fits.then(|| ethertype::next_protocol(protocol, rest))
}

/// Geneve (RFC 8926, section 3.4): version 0, options that fit, and a payload that fits. A payload of an unknown type
/// cannot be checked; then the reserved bits must be zero, and the port the destination.
pub(super) fn geneve<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const RESERVED: u8 = 0x3f;
    const IS_CONTROL: u8 = 0x80;
    const MIN_ETHERTYPE: u16 = 0x0600;
    let [version_and_len, flags, high, low, a, b, c, last, rest @ ..] = datagram.payload else { return None };
    if version_and_len >> 6 != 0 {
        return None;
    }
    let layer = Some(TunnelLayer::Geneve(u32::from_be_bytes([0, *a, *b, *c])));
    let options_len = usize::from(version_and_len & 0x3f) << 2;
    let (options, rest) = rest.split_at_checked(options_len)?;
    let inner = u16::from_be_bytes([*high, *low]);
    let is_strict = flags & RESERVED == 0 && *last == 0;
    let is_known = inner == ethertype::ETHERNET || ethertype::is_network(inner);
    if is_strict && flags & IS_CONTROL != 0 && is_known {
        return Some((layer, Err(SkipReason::not_data(Registry::UdpPort, datagram.port))));
    }
    let is_valid = match inner {
        _ if is_strict && is_known => true,
        _ if is_strict && datagram.is_destination && inner >= MIN_ETHERTYPE => geneve_options_fit(options),
        ethertype::ETHERNET => fit::ethernet_frame(rest, datagram.room(rest)),
        ethertype::IPV4 | ethertype::IPV6 => fit::ip_packet(rest, datagram.room(rest)),
        _ => false,
    };
    is_valid.then_some((layer, Ok(NextHeader::Ethertype(inner, rest))))
}

/// Whether the lengths of Geneve's options (RFC 8926, section 3.5) add up.
fn geneve_options_fit(mut options: &[u8]) -> bool {
    loop {
        match options {
            [] => return true,
            [_, _, _, len, rest @ ..] => match rest.get(usize::from(len & 0x1f) << 2..) {
                Some(rest) => options = rest,
                None => return false,
            },
            _ => return false,
        }
    }
}

/// GTP-U (3GPP TS 29.281, section 5): version 1, GTP rather than GTP', a G-PDU that fits, an IP packet inside, or an
/// Ethernet frame that fits.
pub(super) fn gtpu<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const HEADER: usize = 8;
    const G_PDU: u8 = 255;
    const VERSION_AND_TYPE: u8 = 0xf0;
    const SPARE: u8 = 0x08;
    const OPTIONAL_FIELDS: u8 = 0x07;
    const EXTENSION: u8 = 0x04;
    let mut cursor = Cursor::new(datagram.payload);
    let [flags, kind] = cursor.array().ok()?;
    let len = usize::from(cursor.u16_be().ok()?);
    let endpoint = cursor.u32_be().ok()?;
    if flags & VERSION_AND_TYPE != 0x30 || kind != G_PDU || len.saturating_add(HEADER) > datagram.len {
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
    let room = len.saturating_sub(cursor.position());
    let is_ip = match flags & SPARE {
        0 => matches!(packet.first()? >> 4, 4 | 6),
        _ => fit::ip_packet(packet, room),
    };
    let next = if is_ip {
        NextHeader::Ip(packet)
    } else {
        fit::ethernet_frame(packet, room).then_some(NextHeader::Ethertype(ethertype::ETHERNET, packet))?
    };
    Some((Some(TunnelLayer::Gtpu(endpoint)), Ok(next)))
}

/// CAPWAP (RFC 5415, section 4.3): version 0, no DTLS, a header that fits.
pub(super) fn capwap<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const IS_NATIVE: u32 = 0x100;
    const IS_FRAGMENT: u32 = 0x80;
    const IS_KEEP_ALIVE: u32 = 0x08;
    const RESERVED: u32 = 0x07;
    const BINDING_802_11: u32 = 1;
    let mut cursor = Cursor::new(datagram.payload);
    let preamble = cursor.u8().ok()?;
    let fields = cursor.u24_be().ok()?;
    cursor.skip(2).ok()?;
    let fragment_offset = cursor.u16_be().ok()?;
    let header_len = usize::try_from(fields >> 19).ok()? << 2;
    if preamble != 0 || header_len < cursor.position() {
        return None;
    }
    let frame = datagram.payload.get(header_len..)?;
    let step = if fields & IS_KEEP_ALIVE != 0 {
        Err(SkipReason::not_data(Registry::UdpPort, datagram.port))
    } else if fields & IS_FRAGMENT != 0 {
        Err(SkipReason::LinkFragment)
    } else if fields & IS_NATIVE == 0 {
        Ok(NextHeader::Ethertype(ethertype::ETHERNET, frame))
    } else if fields >> 9 & 0x1f == BINDING_802_11 {
        wifi::capwap_frame(frame)
    } else {
        Err(SkipReason::unknown(Registry::UdpPort, datagram.port))
    };
    let is_strict = fields & RESERVED == 0 && fragment_offset & 7 == 0;
    let fits = || match step {
        Ok(NextHeader::Ethertype(ethertype::ETHERNET, frame)) => {
            fit::ethernet_frame(frame, datagram.room(frame))
        }
        Ok(NextHeader::Ethertype(kind, _)) => ethertype::is_network(kind),
        Ok(NextHeader::Ip(packet)) => fit::ip_packet(packet, datagram.room(packet)),
        _ => false,
    };
    (is_strict || fits()).then_some((Some(TunnelLayer::Capwap), step))
}

/// L2TP (RFC 2661, section 3.1; RFC 3931, section 4.1.2): version 2 with PPP, version 3 with its session.
pub(super) fn l2tp<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const IS_CONTROL: u16 = 0x8000;
    const HAS_LENGTH: u16 = 0x4000;
    const HAS_SEQUENCE: u16 = 0x0800;
    const HAS_OFFSET: u16 = 0x0200;
    const CONTROL_HEADER: usize = 12;
    let mut cursor = Cursor::new(datagram.payload);
    let flags = cursor.u16_be().ok()?;
    let control = || Err(SkipReason::not_data(Registry::UdpPort, datagram.port));
    let version = flags & 0x0f;
    if flags & IS_CONTROL != 0 {
        let len = usize::from(cursor.u16_be().ok()?);
        let has_both = flags & (HAS_LENGTH | HAS_SEQUENCE) == HAS_LENGTH | HAS_SEQUENCE;
        let is_valid = matches!(version, 2 | 3) && has_both && (CONTROL_HEADER..=datagram.len).contains(&len);
        return is_valid.then(|| (Some(TunnelLayer::L2tp(0)), control()));
    }
    match version {
        2 => {}
        3 => {
            cursor.skip(2).ok()?;
            let session = cursor.u32_be().ok()?;
            let rest = cursor.rest();
            let step = ip_tunnel::l2tp_v3_payload(rest, datagram.room(rest))?;
            return Some((Some(TunnelLayer::L2tp(session)), step));
        }
        _ => return None,
    }
    let mut len = datagram.len;
    if flags & HAS_LENGTH != 0 {
        len = usize::from(cursor.u16_be().ok()?);
        if len > datagram.len {
            return None;
        }
    }
    cursor.skip(2).ok()?;
    let session = cursor.u16_be().ok()?;
    if flags & HAS_SEQUENCE != 0 {
        cursor.skip(4).ok()?;
    }
    if flags & HAS_OFFSET != 0 {
        let offset = cursor.u16_be().ok()?;
        cursor.skip(offset.into()).ok()?;
    }
    let room = len.checked_sub(cursor.position())?;
    let rest = cursor.rest();
    let rest = rest.get(..room).unwrap_or(rest);
    let is_known = |number: ProtocolNumber| number.name().is_some();
    let is_valid = ppp::is_ip(rest, room)
        || match ppp::frame(rest) {
            Ok(NextHeader::Ip(_)) | Err(SkipReason::Short) => false,
            Err(SkipReason::NotData(number) | SkipReason::UnknownEthertype(number)) => is_known(number),
            _ => true,
        };
    is_valid.then_some((Some(TunnelLayer::L2tp(session.into())), Ok(NextHeader::Ppp(rest))))
}

/// TZSP: version 1, the type of the packet, the link type of the frame; then tags up to the end tag.
pub(super) fn tzsp<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const KEEP_ALIVE_LEN: usize = 4;
    let mut cursor = Cursor::new(datagram.payload);
    let [version, kind] = cursor.array().ok()?;
    let encapsulation = cursor.u16_be().ok()?;
    if version != 1 {
        return None;
    }
    match kind {
        0 | 1 => {}
        // Configuration, keep-alive, port opener.
        3..=5 => {
            let is_valid = kind == 3 || datagram.len == KEEP_ALIVE_LEN || encapsulation == 0;
            let control = Err(SkipReason::not_data(Registry::UdpPort, datagram.port));
            return is_valid.then_some((Some(TunnelLayer::Tzsp), control));
        }
        _ => return None,
    }
    loop {
        match cursor.u8().ok()? {
            0 => {}
            1 => break,
            _ => {
                let len = cursor.u8().ok()?;
                cursor.skip(len.into()).ok()?;
            }
        }
    }
    let rest = cursor.rest();
    let step = match encapsulation {
        1 => Ok(NextHeader::Ethertype(ethertype::ETHERNET, rest)),
        18 => Ok(NextHeader::Link(105, rest)),
        119 => Ok(NextHeader::Link(119, rest)),
        127 => Ok(NextHeader::Link(163, rest)),
        _ => Err(SkipReason::unknown(Registry::UdpPort, datagram.port)),
    };
    Some((Some(TunnelLayer::Tzsp), step))
}

/// LISP (RFC 9300, section 5.3) with an IP packet, and LISP-GPE (RFC 9305) with a next protocol. The instance is part of
/// the path if the I flag is set.
pub(super) fn lisp<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const HAS_INSTANCE: u8 = 0x08;
    const HAS_PROTOCOL: u8 = 0x04;
    let [flags, _, _, protocol, a, b, c, _, rest @ ..] = datagram.payload else { return None };
    let instance = if flags & HAS_INSTANCE == 0 { 0 } else { u32::from_be_bytes([0, *a, *b, *c]) };
    let room = datagram.room(rest);
    let step = if fit::ip_packet(rest, room) {
        Ok(NextHeader::Ip(rest))
    } else if flags & HAS_PROTOCOL != 0 {
        next_protocol(*protocol, rest, room, false)?
    } else {
        return None;
    };
    Some((Some(TunnelLayer::Lisp(instance)), step))
}

/// MPLS over UDP (RFC 7510): a label stack, and a packet or frame that fits.
pub(super) fn mpls<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const BOTTOM: u8 = 1;
    const CONTROL_WORD: usize = 4;
    let mut rest = datagram.payload;
    loop {
        let ([_, _, label_and_bottom, _], after) = rest.split_first_chunk()?;
        rest = after;
        if label_and_bottom & BOTTOM != 0 {
            break;
        }
    }
    let room = datagram.room(rest);
    let fits = fit::ip_packet(rest, room)
        || fit::ethernet_frame(rest, room)
        || rest
            .get(CONTROL_WORD..)
            .is_some_and(|frame| fit::ethernet_frame(frame, room.saturating_sub(CONTROL_WORD)));
    fits.then_some((None, Ok(NextHeader::Ethertype(ethertype::MPLS, datagram.payload))))
}

/// Generic UDP Encapsulation (draft-ietf-intarea-gue): variant 0 with a header, variant 1 without; IP that fits.
pub(super) fn gue<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const HEADER: usize = 4;
    let [first, protocol, ..] = datagram.payload else { return None };
    let rest = match first >> 5 {
        // Variant 0 without the control flag.
        0 if matches!(protocol, 4 | 41) => {
            let fields_len = usize::from(first & 0x1f) << 2;
            datagram.payload.get(HEADER.saturating_add(fields_len)..)?
        }
        2 | 3 => datagram.payload,
        _ => return None,
    };
    fit::ip_packet(rest, datagram.room(rest)).then_some((Some(TunnelLayer::Gue), Ok(NextHeader::Ip(rest))))
}

/// Foo over UDP of Linux: an IPv4 or IPv6 packet that fills the datagram exactly.
pub(super) fn fou<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    let TunnelDatagram { payload, len, .. } = *datagram;
    fit::filling_ip_packet(payload, len).then_some((Some(TunnelLayer::Fou), Ok(NextHeader::Ip(payload))))
}

/// AMT (RFC 7450, section 5.1.6): a message of type 6 with a packet to a group. Other messages keep the tunnel up.
pub(super) fn amt<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    let [6, 0, rest @ ..] = datagram.payload else { return None };
    let is_valid = fit::has_multicast_destination(rest) && fit::filling_ip_packet(rest, datagram.room(rest));
    is_valid.then_some((Some(TunnelLayer::Amt), Ok(NextHeader::Ip(rest))))
}

/// ESP in UDP (RFC 3948, section 2.1) with null encryption in tunnel mode.
pub(super) fn esp<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    if datagram.len > datagram.payload.len() {
        return None;
    }
    let packet = ip_tunnel::null_esp(datagram.payload).find_map(|found| found.ip_packet())?;
    Some((Some(TunnelLayer::Esp), Ok(NextHeader::Ip(packet))))
}

/// Encapsulated remote mirroring of HP ProCurve switches: twelve bytes, of which the last four have a VLAN, then an Ethernet frame with an IP
/// packet that fills the datagram. Frames without one have no segment, and nothing tells them from other data.
pub(super) fn hp_erm<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const HEADER: usize = 12;
    let frame = datagram.payload.get(HEADER..)?;
    fit::filling_ethernet_frame(frame, datagram.room(frame))
        .then_some((Some(TunnelLayer::HpErm), Ok(NextHeader::Ethertype(ethertype::ETHERNET, frame))))
}

/// Packet mirroring of Juniper's JUNOSe: identifiers of the mirror and of the session, then IP, or PPP with IP, that fits.
pub(super) fn juniper_mirror<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    const HEADER: usize = 8;
    let packet = datagram.payload.get(HEADER..)?;
    let room = datagram.room(packet);
    let step = if fit::ip_packet(packet, room) {
        NextHeader::Ip(packet)
    } else if ppp::is_ip(packet, room) {
        NextHeader::Ppp(packet)
    } else {
        return None;
    };
    Some((Some(TunnelLayer::JuniperMirror), Ok(step)))
}

/// Teredo (RFC 4380, section 5.1.1): an optional authentication header, an optional origin indication, then IPv6 that
/// fills the datagram exactly.
pub(super) fn teredo<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a> {
    let TunnelDatagram { payload, len: stated_len, .. } = *datagram;
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
    is_ipv6.then_some((Some(TunnelLayer::Teredo), Ok(NextHeader::Ip(packet))))
}
