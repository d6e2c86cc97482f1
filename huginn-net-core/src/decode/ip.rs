//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, with the extension headers up to the transport or a fragment.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::checksum::Sum;
use super::error::{DecodeError, Layer};
use crate::IpHeader;

/// How many IPv6 extension headers are followed.
const MAX_EXTENSIONS: usize = 16;

/// Numbers of IANA's registry "Protocol Numbers".
pub(super) mod protocol {
    pub(crate) const HOP_BY_HOP: u8 = 0;
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const IPV4: u8 = 4;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const IPV6: u8 = 41;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const GRE: u8 = 47;
    pub(crate) const ESP: u8 = 50;
    pub(crate) const AUTHENTICATION: u8 = 51;
    pub(crate) const ICMPV6: u8 = 58;
    pub(crate) const DESTINATION_OPTIONS: u8 = 60;
    pub(crate) const ETHERIP: u8 = 97;
    pub(crate) const MOBILITY: u8 = 135;
    pub(crate) const MPLS_IN_IP: u8 = 137;
    pub(crate) const HIP: u8 = 139;
    pub(crate) const SHIM6: u8 = 140;
}

/// An IP header with what it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPacket<'a> {
    pub(super) header: IpHeader,
    /// What the payload is.
    pub(super) protocol: u8,
    /// What comes after the headers, bounded by the IP length and by what was captured.
    pub(super) payload: &'a [u8],
    /// Where the payload starts, in bytes from the start of the packet.
    pub(super) offset: usize,
    /// Payload bytes that the IP length announces and the capture does not hold.
    pub(super) missing: u32,
    /// Set if the payload is but a fragment.
    pub(super) fragment: Option<Fragment>,
    /// IPv4: whether the header checksum is right.
    pub(super) checksum_is_correct: bool,
}

/// Which part of a datagram's payload a fragment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) id: u32,
    /// In bytes.
    pub(super) start: u16,
    pub(super) more: bool,
}

/// Reads the headers of an IP packet; the version is the one that the first nibble tells.
#[inline]
pub(super) fn packet(data: &[u8]) -> Result<IpPacket<'_>, DecodeError> {
    match data.first().map(|first| first >> 4) {
        Some(4) => ipv4(data),
        Some(6) => ipv6(data),
        Some(version) => Err(bad_field(Layer::Ip, 0, "version", version.into())),
        None => Err(truncated(Layer::Ip, 0, 1, 0)),
    }
}

#[inline]
fn ipv4(data: &[u8]) -> Result<IpPacket<'_>, DecodeError> {
    const FIXED: usize = 20;
    let Some(fixed) = data.first_chunk::<FIXED>() else {
        return Err(truncated(Layer::Ipv4, 0, FIXED, data.len()));
    };
    let header_len = usize::from(fixed[0] & 0x0f) << 2;
    let Some(options_len) = header_len.checked_sub(FIXED) else {
        return Err(bad_field(Layer::Ipv4, 0, "IHL", u32::from(fixed[0] & 0x0f)));
    };
    let Some((header, rest)) = data.split_at_checked(header_len) else {
        return Err(truncated(Layer::Ipv4, 0, header_len, data.len()));
    };
    let total_len = u16::from_be_bytes([fixed[2], fixed[3]]);
    let announced = match usize::from(total_len).checked_sub(header_len) {
        Some(announced) => announced,
        // Left to the network card, which cuts what is larger than a packet (segmentation offload).
        None if total_len == 0 => rest.len(),
        None => return Err(bad_field(Layer::Ipv4, 0, "Total Length", total_len.into())),
    };
    let (payload, missing) = bound(rest, announced);
    let id = u16::from_be_bytes([fixed[4], fixed[5]]);
    let flags_and_offset = u16::from_be_bytes([fixed[6], fixed[7]]);
    let start = (flags_and_offset & 0x1fff) << 3;
    let more = flags_and_offset & 0x2000 != 0;
    let checksum = match options_len {
        // The usual length is known to the compiler, which then needs no loop.
        0 => Sum::default().add(fixed),
        _ => Sum::default().add(header),
    };
    let packet = IpPacket {
        header: IpHeader {
            src: IpAddr::V4(Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15])),
            dst: IpAddr::V4(Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19])),
            ttl: fixed[8],
            traffic_class: fixed[1],
            header_len: short(header_len),
            options_len: short(options_len),
            id,
            dont_fragment: flags_and_offset & 0x4000 != 0,
            reserved_flag: flags_and_offset & 0x8000 != 0,
            flow_label: 0,
            reassembled: false,
        },
        protocol: fixed[9],
        payload,
        offset: header_len,
        missing,
        fragment: (more || start != 0).then_some(Fragment { id: id.into(), start, more }),
        checksum_is_correct: checksum.is_correct(),
    };
    if packet.protocol == protocol::AUTHENTICATION && packet.fragment.is_none() {
        return packet.behind_extensions();
    }
    Ok(packet)
}

#[inline]
fn ipv6(data: &[u8]) -> Result<IpPacket<'_>, DecodeError> {
    const FIXED: usize = 40;
    let Some((first, src, dst, rest)) = split_ipv6(data) else {
        return Err(truncated(Layer::Ipv6, 0, FIXED, data.len()));
    };
    let version_class_label = u32::from_be_bytes([first[0], first[1], first[2], first[3]]);
    let announced = match u16::from_be_bytes([first[4], first[5]]) {
        // As in IPv4: left to the network card.
        0 => rest.len(),
        payload_len => usize::from(payload_len),
    };
    let (payload, missing) = bound(rest, announced);
    let [_, traffic_class, _, _] = (version_class_label >> 4).to_be_bytes();
    let packet = IpPacket {
        header: IpHeader {
            src: IpAddr::V6(Ipv6Addr::from(*src)),
            dst: IpAddr::V6(Ipv6Addr::from(*dst)),
            ttl: first[7],
            traffic_class,
            header_len: short(FIXED),
            options_len: 0,
            id: 0,
            dont_fragment: false,
            reserved_flag: false,
            flow_label: version_class_label & 0x000f_ffff,
            reassembled: false,
        },
        protocol: first[6],
        payload,
        offset: FIXED,
        missing,
        fragment: None,
        checksum_is_correct: true,
    };
    if packet.protocol != protocol::TCP && packet.protocol != protocol::UDP {
        return packet.behind_extensions();
    }
    Ok(packet)
}

type Ipv6Parts<'a> = (&'a [u8; 8], &'a [u8; 16], &'a [u8; 16], &'a [u8]);

#[inline]
fn split_ipv6(data: &[u8]) -> Option<Ipv6Parts<'_>> {
    let (first, rest) = data.split_first_chunk()?;
    let (src, rest) = rest.split_first_chunk()?;
    let (dst, rest) = rest.split_first_chunk()?;
    Some((first, src, dst, rest))
}

impl IpPacket<'_> {
    /// The packet behind its extension headers: at the transport, or at the part of it that a fragment holds.
    ///
    /// The fragment header is not counted in the header's length: the datagram does not have it once it is whole
    /// (RFC 8200, section 4.5), and one that was whole all along (an atomic fragment, RFC 6946) is treated alike.
    /// Neither is the authentication header in IPv4, where it is no option.
    #[inline(never)]
    pub(super) fn behind_extensions(mut self) -> Result<Self, DecodeError> {
        let is_ipv6 = self.header.src.is_ipv6();
        for _ in 0..MAX_EXTENSIONS {
            let kind = self.protocol;
            let layer = match kind {
                protocol::AUTHENTICATION => Layer::Authentication,
                protocol::FRAGMENT if is_ipv6 => Layer::Ipv6Extension,
                kind if is_ipv6 && is_extension(kind) => Layer::Ipv6Extension,
                _ => return Ok(self),
            };
            let too_short = |needed| truncated(layer, self.offset, needed, self.payload.len());
            let Some(head) = self.payload.first_chunk::<8>() else { return Err(too_short(8)) };
            let len = match kind {
                protocol::FRAGMENT => 8,
                protocol::AUTHENTICATION => usize::from(head[1]).saturating_add(2) << 2,
                _ => usize::from(head[1]).saturating_add(1) << 3,
            };
            let Some((_, payload)) = self.payload.split_at_checked(len) else { return Err(too_short(len)) };
            self.protocol = head[0];
            self.payload = payload;
            self.offset = self.offset.saturating_add(len);
            if kind == protocol::FRAGMENT {
                let offset_and_more = u16::from_be_bytes([head[2], head[3]]);
                let (start, more) = (offset_and_more & 0xfff8, offset_and_more & 1 != 0);
                if more || start != 0 {
                    let id = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
                    self.fragment = Some(Fragment { id, start, more });
                    return Ok(self);
                }
            } else if is_ipv6 {
                self.header.header_len = self.header.header_len.saturating_add(short(len));
                self.header.options_len = self.header.options_len.saturating_add(short(len));
            }
        }
        Err(DecodeError::TooManyExtensions { limit: MAX_EXTENSIONS })
    }
}

/// Extension headers of the common format (RFC 6564, section 4).
fn is_extension(kind: u8) -> bool {
    use protocol::{DESTINATION_OPTIONS, HIP, HOP_BY_HOP, MOBILITY, ROUTING, SHIM6};
    matches!(kind, HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HIP | SHIM6)
}

/// The announced part of what is there, and how much is not.
#[inline]
pub(super) fn bound(rest: &[u8], announced: usize) -> (&[u8], u32) {
    match rest.get(..announced) {
        Some(payload) => (payload, 0),
        None => (rest, u32::try_from(announced.saturating_sub(rest.len())).unwrap_or(u32::MAX)),
    }
}

/// A header length: at most 2,048 bytes.
#[inline]
fn short(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

#[cold]
pub(super) fn truncated(layer: Layer, offset: usize, needed: usize, had: usize) -> DecodeError {
    DecodeError::Truncated { layer, offset, needed, had }
}

#[cold]
pub(super) fn bad_field(layer: Layer, offset: usize, field: &'static str, value: u32) -> DecodeError {
    DecodeError::BadField { layer, offset, field, value }
}
