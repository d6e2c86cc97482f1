//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, with the extension headers up to the transport or a fragment.

use std::net::Ipv4Addr;

use super::checksum::Sum;
use super::error::{DecodeError, Layer};
use crate::{Addresses, IpHeader};

/// Numbers of IANA's registry "Protocol Numbers".
pub(super) mod protocol {
    pub(crate) const HOP_BY_HOP: u8 = 0;
    pub(crate) const IPV4: u8 = 4;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const IPV6: u8 = 41;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const ESP: u8 = 50;
    pub(crate) const AUTHENTICATION: u8 = 51;
    pub(crate) const DESTINATION_OPTIONS: u8 = 60;
    pub(crate) const MOBILITY: u8 = 135;
    pub(crate) const HIP: u8 = 139;
    pub(crate) const SHIM6: u8 = 140;
}

/// An IP packet: header and payload.
///
/// `H` is [`IpHeader`], or the raw bytes that it is read from on demand. On the fast path a packet passes through
/// several functions. Copying a header right after writing its fields costs nearly as much as the rest of decoding,
/// because the loads wait for the store buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPacket<'a, H = IpHeader> {
    pub(super) header: H,
    /// IP protocol number of the payload.
    pub(super) protocol: u8,
    /// Bytes after the headers, bounded by the IP length and by the captured length.
    pub(super) payload: &'a [u8],
    /// Offset of the payload in the packet, in bytes.
    pub(super) offset: usize,
    /// Payload bytes that the IP length states and the capture lacks.
    pub(super) missing: u32,
    /// Set if the payload is a fragment.
    pub(super) fragment: Option<Fragment>,
}

/// A value that an [`IpHeader`] can be read from.
pub(crate) trait Header: Copy {
    fn read(self) -> IpHeader;
}

impl Header for IpHeader {
    fn read(self) -> IpHeader {
        self
    }
}

/// The bytes of an IPv4 header, options included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4<'a> {
    fixed: &'a [u8; IPV4_HEADER],
    options: &'a [u8],
}

/// The bytes of an IPv6 header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv6<'a> {
    first: &'a [u8; 8],
    src: &'a [u8; 16],
    dst: &'a [u8; 16],
}

pub(super) const IPV4_HEADER: usize = 20;
pub(super) const IPV6_HEADER: usize = 40;

/// The position of a fragment in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) id: u32,
    /// In bytes.
    pub(super) start: u16,
    pub(super) more: bool,
}

/// A version of IP.
pub(super) enum Version {
    V4,
    V6,
}

/// Reads the version from the first nibble.
#[inline]
pub(super) fn version(data: &[u8]) -> Result<Version, DecodeError> {
    match data.first().map(|first| first >> 4) {
        Some(4) => Ok(Version::V4),
        Some(6) => Ok(Version::V6),
        Some(version) => Err(bad_field(Layer::Ip, 0, "Version", version.into())),
        None => Err(truncated(Layer::Ip, 0, 1, 0)),
    }
}

/// Reads an IPv4 header.
#[inline]
pub(super) fn ipv4(data: &[u8]) -> Result<IpPacket<'_, Ipv4<'_>>, DecodeError> {
    let Some((fixed, rest)) = data.split_first_chunk::<IPV4_HEADER>() else {
        return Err(truncated(Layer::Ipv4, 0, IPV4_HEADER, data.len()));
    };
    let header_len = usize::from(fixed[0] & 0x0f) << 2;
    let Some(options_len) = header_len.checked_sub(IPV4_HEADER) else {
        return Err(bad_field(Layer::Ipv4, 0, "IHL", u32::from(fixed[0] & 0x0f)));
    };
    let Some((options, rest)) = rest.split_at_checked(options_len) else {
        return Err(truncated(Layer::Ipv4, 0, header_len, data.len()));
    };
    let total_len = u16::from_be_bytes([fixed[2], fixed[3]]);
    let stated_len = match usize::from(total_len).checked_sub(header_len) {
        Some(stated_len) => stated_len,
        // Zero with segmentation offload: the network card sets the length of each packet.
        None if total_len == 0 => rest.len(),
        None => return Err(bad_field(Layer::Ipv4, 0, "Total Length", total_len.into())),
    };
    let (payload, missing) = bounded_payload(rest, stated_len);
    let flags_and_offset = u16::from_be_bytes([fixed[6], fixed[7]]);
    let fragment = (flags_and_offset & 0x3fff != 0).then(|| Fragment {
        id: u32::from(u16::from_be_bytes([fixed[4], fixed[5]])),
        start: (flags_and_offset & 0x1fff) << 3,
        more: flags_and_offset & 0x2000 != 0,
    });
    let header = Ipv4 { fixed, options };
    Ok(IpPacket { header, protocol: fixed[9], payload, offset: header_len, missing, fragment })
}

impl Ipv4<'_> {
    /// Returns the source and destination address.
    #[inline]
    pub(super) fn addresses(self) -> (Ipv4Addr, Ipv4Addr) {
        let [.., a, b, c, d, e, f, g, h] = *self.fixed;
        (Ipv4Addr::new(a, b, c, d), Ipv4Addr::new(e, f, g, h))
    }

    /// Whether the header checksum is right.
    #[inline]
    pub(super) fn checksum_is_correct(self) -> bool {
        Sum::default().add(self.fixed).add(self.options).is_correct()
    }
}

impl Header for Ipv4<'_> {
    #[inline]
    fn read(self) -> IpHeader {
        let Self { fixed, options } = self;
        let (src, dst) = self.addresses();
        IpHeader {
            addresses: Addresses::V4 { src, dst },
            ttl: fixed[8],
            traffic_class: fixed[1],
            header_len: header_len_u16(options.len().saturating_add(IPV4_HEADER)),
            options_len: header_len_u16(options.len()),
            id: u16::from_be_bytes([fixed[4], fixed[5]]),
            dont_fragment: fixed[6] & 0x40 != 0,
            reserved_flag: fixed[6] & 0x80 != 0,
            flow_label: 0,
            reassembled: false,
        }
    }
}

/// Reads an IPv6 header.
#[inline]
pub(super) fn ipv6(data: &[u8]) -> Result<IpPacket<'_, Ipv6<'_>>, DecodeError> {
    let Some((header, rest)) = Ipv6::split(data) else {
        return Err(truncated(Layer::Ipv6, 0, IPV6_HEADER, data.len()));
    };
    let stated_len = match u16::from_be_bytes([header.first[4], header.first[5]]) {
        // Zero with segmentation offload, as in IPv4.
        0 => rest.len(),
        payload_len => usize::from(payload_len),
    };
    let (payload, missing) = bounded_payload(rest, stated_len);
    Ok(IpPacket { header, protocol: header.first[6], payload, offset: IPV6_HEADER, missing, fragment: None })
}

impl<'a> Ipv6<'a> {
    #[inline]
    fn split(data: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (first, rest) = data.split_first_chunk()?;
        let (src, rest) = rest.split_first_chunk()?;
        let (dst, rest) = rest.split_first_chunk()?;
        Some((Self { first, src, dst }, rest))
    }
}

impl Header for Ipv6<'_> {
    #[inline]
    fn read(self) -> IpHeader {
        let Self { first, src, dst } = self;
        let version_class_label = u32::from_be_bytes([first[0], first[1], first[2], first[3]]);
        let [_, traffic_class, _, _] = (version_class_label >> 4).to_be_bytes();
        IpHeader {
            addresses: Addresses::V6 { src: (*src).into(), dst: (*dst).into() },
            ttl: first[7],
            traffic_class,
            header_len: header_len_u16(IPV6_HEADER),
            options_len: 0,
            id: 0,
            dont_fragment: false,
            reserved_flag: false,
            flow_label: version_class_label & 0x000f_ffff,
            reassembled: false,
        }
    }
}

impl<'a, H: Header> IpPacket<'a, H> {
    /// Reads the header.
    pub(super) fn read(self) -> IpPacket<'a> {
        let Self { header, protocol, payload, offset, missing, fragment } = self;
        IpPacket { header: header.read(), protocol, payload, offset, missing, fragment }
    }
}

impl IpPacket<'_> {
    /// Whether the payload starts with an extension header.
    pub(super) fn is_extended(&self) -> bool {
        use protocol::{
            AUTHENTICATION, DESTINATION_OPTIONS, FRAGMENT, HIP, HOP_BY_HOP, MOBILITY, ROUTING, SHIM6,
        };
        self.fragment.is_none()
            && match self.protocol {
                AUTHENTICATION => true,
                FRAGMENT | HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HIP | SHIM6 => {
                    !self.header.is_ipv4()
                }
                _ => false,
            }
    }

    /// Skips the extension headers up to the transport header or a fragment of the payload.
    ///
    /// The header length excludes the fragment header, which a reassembled datagram does not have (RFC 8200, section
    /// 4.5). Atomic fragments (RFC 6946) are treated alike. In IPv4 it also excludes the authentication header, which
    /// is not an option.
    pub(super) fn skip_extensions(mut self) -> Result<Self, DecodeError> {
        // Each header has at least eight bytes, so that the length of the packet bounds the time. Receivers have no
        // other limit, either.
        while self.is_extended() {
            let kind = self.protocol;
            let layer = match kind {
                protocol::AUTHENTICATION => Layer::Authentication,
                _ => Layer::Ipv6Extension,
            };
            let too_short = |needed| truncated(layer, self.offset, needed, self.payload.len());
            let Some(head) = self.payload.first_chunk::<8>() else { return Err(too_short(8)) };
            let len = match kind {
                protocol::FRAGMENT => 8,
                protocol::AUTHENTICATION => usize::from(head[1]).saturating_add(2) << 2,
                // The common format (RFC 6564, section 4).
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
                }
            } else if !self.header.is_ipv4() {
                self.header.header_len = self.header.header_len.saturating_add(header_len_u16(len));
                self.header.options_len = self.header.options_len.saturating_add(header_len_u16(len));
            }
        }
        Ok(self)
    }
}

/// Returns the captured part of a payload with the stated length, and the number of missing bytes.
#[inline]
pub(super) fn bounded_payload(rest: &[u8], stated_len: usize) -> (&[u8], u32) {
    match rest.get(..stated_len) {
        Some(payload) => (payload, 0),
        None => (rest, missing(rest, stated_len)),
    }
}

/// A cold function: most payloads are complete.
#[cold]
fn missing(rest: &[u8], stated_len: usize) -> u32 {
    u32::try_from(stated_len.saturating_sub(rest.len())).unwrap_or(u32::MAX)
}

/// A header length: at most 2,048 bytes.
#[inline]
fn header_len_u16(len: usize) -> u16 {
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
