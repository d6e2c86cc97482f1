//! Tunnels directly over IP: IP in IP, Ethernet in IP, L2TPv3.

use super::counters::SkipReason;
use super::ip::{IpPacket, protocol};
use super::numbers::Registry;
use super::{HeaderResult, NextHeader, ethernet, fit, ppp, push_layer};
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
