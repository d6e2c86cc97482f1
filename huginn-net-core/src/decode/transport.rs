//! TCP (RFC 9293) and UDP (RFC 768) headers.

use super::checksum;
use super::error::{DecodeError, Layer};
use super::ip::{IpPacket, bad_field, bounded_payload, protocol, truncated};
use crate::{TcpFlags, TcpHeader, TransportHeader, UdpHeader};

/// A transport header and its payload. `H` is read on demand, as in [`IpPacket`](super::ip::IpPacket).
#[derive(Clone, Copy)]
pub(super) struct Datagram<'a, H> {
    pub(super) header: H,
    pub(super) payload: &'a [u8],
    /// Payload bytes that the length states and the capture lacks.
    pub(super) missing: u32,
}

/// A value that a [`TransportHeader`] can be read from.
pub(super) trait Header<'a>: Copy {
    fn read(self) -> TransportHeader<'a>;
}

/// The bytes of a TCP header.
#[derive(Clone, Copy)]
pub(super) struct Tcp<'a> {
    fixed: &'a [u8; TCP_HEADER],
    options: &'a [u8],
}

pub(super) const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// Reads a TCP header.
#[inline]
pub(super) fn tcp<'a, H>(packet: &IpPacket<'a, H>) -> Result<Datagram<'a, Tcp<'a>>, DecodeError> {
    let data = packet.payload;
    let Some((fixed, rest)) = data.split_first_chunk::<TCP_HEADER>() else {
        return Err(truncated(Layer::Tcp, packet.offset, TCP_HEADER, data.len()));
    };
    let header_len = usize::from(fixed[12] >> 4) << 2;
    let Some(options_len) = header_len.checked_sub(TCP_HEADER) else {
        return Err(bad_field(Layer::Tcp, packet.offset, "Data Offset", u32::from(fixed[12] >> 4)));
    };
    let Some((options, payload)) = rest.split_at_checked(options_len) else {
        return Err(truncated(Layer::Tcp, packet.offset, header_len, data.len()));
    };
    Ok(Datagram { header: Tcp { fixed, options }, payload, missing: packet.missing })
}

impl Tcp<'_> {
    /// Source and destination port.
    #[inline]
    pub(super) fn ports(self) -> (u16, u16) {
        let [a, b, c, d, ..] = *self.fixed;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }

    #[inline]
    pub(super) fn flags(self) -> TcpFlags {
        TcpFlags::from_bits_truncate(u16::from_be_bytes([self.fixed[12], self.fixed[13]]))
    }
}

impl<'a> Header<'a> for Tcp<'a> {
    #[inline]
    fn read(self) -> TransportHeader<'a> {
        let Self { fixed, options } = self;
        let (src_port, dst_port) = self.ports();
        TransportHeader::Tcp(TcpHeader {
            src_port,
            dst_port,
            seq: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            ack: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            flags: self.flags(),
            window: u16::from_be_bytes([fixed[14], fixed[15]]),
            urgent: u16::from_be_bytes([fixed[18], fixed[19]]),
            options,
        })
    }
}

/// Reads a UDP header.
#[inline]
pub(super) fn udp<'a, H>(packet: &IpPacket<'a, H>) -> Result<Datagram<'a, UdpHeader>, DecodeError> {
    let Some((header, rest)) = packet.payload.split_first_chunk::<UDP_HEADER>() else {
        return Err(truncated(Layer::Udp, packet.offset, UDP_HEADER, packet.payload.len()));
    };
    let ip_stated_len = rest.len().saturating_add(usize::try_from(packet.missing).unwrap_or(usize::MAX));
    let len = u16::from_be_bytes([header[4], header[5]]);
    let stated_len = match usize::from(len).checked_sub(UDP_HEADER) {
        Some(stated_len) => stated_len.min(ip_stated_len),
        // Zero for a datagram longer than the field allows (RFC 2675), or with segmentation offload.
        None if len == 0 => ip_stated_len,
        None => return Err(bad_field(Layer::Udp, packet.offset, "Length", len.into())),
    };
    let (payload, missing) = bounded_payload(rest, stated_len);
    let src_port = u16::from_be_bytes([header[0], header[1]]);
    let dst_port = u16::from_be_bytes([header[2], header[3]]);
    Ok(Datagram { header: UdpHeader { src_port, dst_port }, payload, missing })
}

impl Header<'_> for UdpHeader {
    #[inline]
    fn read(self) -> TransportHeader<'static> {
        TransportHeader::Udp(self)
    }
}

/// Whether the transport checksum proves that a complete packet without IP options begins here: it is there, and correct.
pub(super) fn has_correct_checksum(packet: &IpPacket<'_>) -> bool {
    let is_there = match (packet.protocol, packet.payload) {
        (protocol::UDP, [_, _, _, _, high, low, sum_high, sum_low, ..]) => {
            usize::from(u16::from_be_bytes([*high, *low])) == packet.payload.len()
                && (*sum_high, *sum_low) != (0, 0)
        }
        (protocol::TCP, payload) => payload.len() >= TCP_HEADER,
        _ => false,
    };
    is_there && checksum_is_correct(packet)
}

/// Whether the transport checksum is correct or cannot be verified: the payload is incomplete, UDP has none, or IP
/// has options. With a source route the sum covers the final destination (RFC 8200, section 8.1).
pub(super) fn checksum_is_correct(packet: &IpPacket<'_>) -> bool {
    let data = packet.payload;
    if packet.missing > 0 || packet.header.options_len > 0 {
        return true;
    }
    if packet.protocol == protocol::UDP {
        let Some(&[_, _, _, _, len_high, len_low, sum_high, sum_low]) = data.first_chunk() else {
            return true;
        };
        let len = usize::from(u16::from_be_bytes([len_high, len_low]));
        if [sum_high, sum_low] == [0, 0] {
            return true;
        }
        let covered = if len == 0 { data } else { data.get(..len).unwrap_or(data) };
        return checksum::pseudo_header(&packet.header, protocol::UDP, covered.len())
            .add(covered)
            .is_correct();
    }
    checksum::pseudo_header(&packet.header, packet.protocol, data.len()).add(data).is_correct()
}
