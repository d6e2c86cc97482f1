//! Tunnels directly over IP: IP in IP, Ethernet in IP, L2TPv3, ESP without encryption.

use super::counters::SkipReason;
use super::ip::{IpPacket, protocol};
use super::numbers::{ProtocolNumber, Registry};
use super::{HeaderResult, NextHeader, ethernet, fit, ppp, push_layer, transport};
use crate::{TunnelLayer, TunnelPath};

/// IP in IP (RFC 2003, RFC 2473, RFC 4213).
pub(super) fn ip<'a>(packet: &IpPacket<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let layer = match (packet.protocol, packet.header.is_ipv4()) {
        (protocol::IPV4, true) => TunnelLayer::IpInIp,
        (protocol::IPV4, false) => TunnelLayer::FourInSix,
        (_, true) => TunnelLayer::SixInFour,
        (_, false) => TunnelLayer::SixInSix,
    };
    push_layer(path, layer)?;
    Ok(NextHeader::Ip(packet.payload))
}

/// Ethernet in IP (RFC 3378): version 3 and twelve reserved bits, which are ignored if a frame follows. EoIP of MikroTik
/// over IPv6 has its tunnel identifier there; some implementations swap the halves of the first byte.
pub(super) fn ether_ip<'a>(packet: &IpPacket<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let [first, second, rest @ ..] = packet.payload else { return Err(SkipReason::Short) };
    let is_valid = (*first, *second) == (0x30, 0)
        || (first >> 4 == 3 || first & 0x0f == 3) && fit::ethernet_frame(rest, room(packet, rest));
    if !is_valid {
        return Err(SkipReason::BadHeader);
    }
    push_layer(path, TunnelLayer::EtherIp)?;
    ethernet::frame(rest)
}

/// ESP (RFC 4303) in tunnel mode with null encryption (RFC 2410). Other ESP is encrypted.
pub(super) fn esp<'a>(packet: &IpPacket<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let found =
        (packet.missing == 0).then(|| null_esp(packet.payload).find_map(|found| found.ip_packet())).flatten();
    let Some(inner) = found else {
        return Err(SkipReason::Encrypted(ProtocolNumber::new(Registry::IpProtocol, packet.protocol)));
    };
    push_layer(path, TunnelLayer::Esp)?;
    Ok(NextHeader::Ip(inner))
}

/// The segment in a packet of ESP in transport mode with null encryption, if its checksum is correct.
pub(super) fn null_esp_transport<'a>(packet: &IpPacket<'a>) -> Option<IpPacket<'a>> {
    if packet.protocol != protocol::ESP || packet.missing > 0 || packet.header.options_len > 0 {
        return None;
    }
    null_esp(packet.payload)
        .filter(|found| matches!(found.protocol, protocol::TCP | protocol::UDP))
        .map(|NullEsp { protocol, payload }| IpPacket {
            header: packet.header,
            protocol,
            payload,
            offset: packet.offset.saturating_add(ESP_HEADER),
            missing: 0,
            fragment: None,
        })
        .find(|inner| transport::has_correct_checksum(inner))
}

/// Length of the fields before the payload of ESP, in bytes.
const ESP_HEADER: usize = 8;

/// What a packet of ESP holds if it is not encrypted.
pub(super) struct NullEsp<'a> {
    protocol: u8,
    payload: &'a [u8],
}

impl<'a> NullEsp<'a> {
    /// The IP packet, if it fills the payload.
    pub(super) fn ip_packet(&self) -> Option<&'a [u8]> {
        let is_ip = matches!(self.protocol, protocol::IPV4 | protocol::IPV6);
        (is_ip && fit::filling_ip_packet(self.payload, self.payload.len())).then_some(self.payload)
    }
}

/// Reads a packet of ESP for each algorithm that it may have, as RFC 5879 describes: the packet does not name it. The padding must be that of
/// RFC 4303, section 2.4, and align the fields after it to four bytes, as the vectors and checksums are.
pub(super) fn null_esp(data: &[u8]) -> impl Iterator<Item = NullEsp<'_>> {
    /// Lengths of the initialization vector and of the checksum: HMAC of 96, 128, 192 and 256 bits, none, and AES-GMAC (RFC 4543).
    const LENGTHS: [(usize, usize); 6] = [(0, 12), (0, 16), (0, 24), (0, 32), (0, 0), (8, 16)];
    let lengths: &[_] = if data.len().is_multiple_of(4) { &LENGTHS } else { &[] };
    lengths.iter().filter_map(move |&(vector, checksum)| {
        let end = data.len().checked_sub(checksum)?;
        let [payload @ .., padding_len, protocol] = data.get(ESP_HEADER.saturating_add(vector)..end)? else {
            return None;
        };
        let (payload, padding) =
            payload.split_at_checked(payload.len().checked_sub((*padding_len).into())?)?;
        let is_padding = padding.iter().zip(1..=u8::MAX).all(|(byte, number)| *byte == number);
        is_padding.then_some(NullEsp { protocol: *protocol, payload })
    })
}

/// L2TPv3 over IP (RFC 3931, section 4.1.1): the session identifier; 0 for control messages.
pub(super) fn l2tp_v3<'a>(packet: &IpPacket<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let Some((session, rest)) = packet.payload.split_first_chunk() else { return Err(SkipReason::Short) };
    let session = u32::from_be_bytes(*session);
    push_layer(path, TunnelLayer::L2tp(session))?;
    if session == 0 {
        return Err(SkipReason::not_data(Registry::IpProtocol, 115_u8));
    }
    l2tp_v3_payload(rest, room(packet, rest))
        .unwrap_or_else(|| Err(SkipReason::unknown(Registry::IpProtocol, 115_u8)))
}

/// Finds the payload of an L2TPv3 session. Only the control connection says whether a cookie of 4 or 8 bytes and a
/// sublayer of 4 bytes precede it (RFC 3931, section 4.1), and what it is.
pub(super) fn l2tp_v3_payload(data: &[u8], room: usize) -> Option<HeaderResult<'_>> {
    [0_usize, 4, 8, 12].into_iter().find_map(|skipped| {
        let (rest, room) = (data.get(skipped..)?, room.saturating_sub(skipped));
        if fit::ethernet_frame(rest, room) {
            return Some(ethernet::frame(rest));
        }
        if fit::ip_packet(rest, room) {
            return Some(Ok(NextHeader::Ip(rest)));
        }
        ppp::is_ip(rest, room).then_some(Ok(NextHeader::Ppp(rest)))
    })
}

/// Bytes on the wire from `rest`, the last part of the payload.
fn room(packet: &IpPacket<'_>, rest: &[u8]) -> usize {
    rest.len().saturating_add(usize::try_from(packet.missing).unwrap_or(usize::MAX))
}
