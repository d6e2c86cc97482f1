//! Signatures and clocks from packets.

use huginn_net_core::{
    DecodeError, IpHeader, Parsed, Segment, TcpFlags, TcpHeader, decode_ip, ip_packet_len,
};

use crate::options::Options;
use crate::window::Units;
use crate::{ClockReading, Handshake, IpVersion, Quirks, TcpSignature, kind};

impl TcpSignature {
    /// Computes the signature of a SYN or SYN+ACK; `None` for any other segment.
    ///
    /// `peer_mss` is the maximum segment size of the SYN that a SYN+ACK answers, if known: some systems size their
    /// window by it. It is ignored for a SYN.
    pub fn from_segment(segment: &Segment<'_>, peer_mss: Option<u16>) -> Option<Self> {
        let tcp = segment.tcp()?;
        Some(Self::from_handshake(Handshake::from_flags(tcp.flags)?, segment, tcp, peer_mss))
    }

    /// Computes the signature of a segment with this role in a handshake.
    // Inlined with its callees so that the signature is built in registers (decision 012).
    #[inline(always)]
    pub(crate) fn from_handshake(
        handshake: Handshake,
        segment: &Segment<'_>,
        tcp: &TcpHeader<'_>,
        peer_mss: Option<u16>,
    ) -> Self {
        let options = Options::parse(tcp.options, handshake == Handshake::Syn);
        let version = IpVersion::from_header(&segment.ip);
        let units = Units {
            version,
            mss: options.mss,
            has_timestamp: options.timestamp != 0,
            header_bytes: u16::try_from(tcp.header_len()).unwrap_or(60).saturating_add(segment.ip.header_len),
            peer_mss: peer_mss.filter(|_| handshake == Handshake::SynAck).unwrap_or(0),
        };
        Self {
            handshake,
            version,
            ttl: segment.ip.ttl,
            ip_options_len: segment.ip.options_len,
            mss: options.mss,
            window: tcp.window,
            window_multiple: units.divide(tcp.window),
            scale: options.scale,
            layout: options.layout,
            quirks: Quirks::from_headers(segment, tcp) | options.quirks,
            has_payload: !segment.payload.is_empty() || segment.payload_missing > 0,
            traffic_class: segment.ip.traffic_class,
            timestamp: options.timestamp,
        }
    }

    /// Computes the signature of the SYN or SYN+ACK in the IP packet at the start of these bytes.
    ///
    /// `None` if its headers are incomplete. The payload may be missing; the available part of the packet is consumed.
    ///
    /// # Errors
    /// The bytes are not an IP packet, or the packet is not a SYN or SYN+ACK.
    pub fn from_ip_packet(bytes: &[u8]) -> Result<Option<Parsed<Self>>, TcpError> {
        let stated = ip_packet_len(bytes)?;
        let segment = match decode_ip(bytes) {
            Err(DecodeError::Truncated { .. }) if stated.is_none_or(|len| bytes.len() < len) => {
                return Ok(None);
            }
            outcome => outcome?,
        };
        let tcp = segment.tcp().ok_or(TcpError::NotTcp)?;
        let signature =
            Self::from_segment(&segment, None).ok_or(TcpError::NotHandshake { flags: tcp.flags })?;
        Ok(Some(Parsed::new(signature, stated.unwrap_or(usize::MAX).min(bytes.len()))))
    }
}

/// Why a packet has no TCP signature.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TcpError {
    /// The bytes are not an IP packet with a transport header.
    #[error("not an IP packet")]
    Decode(#[from] DecodeError),
    /// The packet is not TCP.
    #[error("the packet is not TCP")]
    NotTcp,
    /// The segment is neither a SYN nor a SYN+ACK.
    #[error("the segment is neither a SYN nor a SYN+ACK (flags {:#05x})", flags.bits())]
    NotHandshake {
        /// The flags of the segment.
        flags: TcpFlags,
    },
}

impl Handshake {
    /// Returns the segment with these flags, if it is either. SYN with FIN or RST is neither.
    #[inline]
    pub(crate) fn from_flags(flags: TcpFlags) -> Option<Self> {
        let kind = flags & (TcpFlags::SYN | TcpFlags::ACK | TcpFlags::FIN | TcpFlags::RST);
        if kind == TcpFlags::SYN {
            Some(Self::Syn)
        } else if kind == TcpFlags::SYN | TcpFlags::ACK {
            Some(Self::SynAck)
        } else {
            None
        }
    }
}

impl IpVersion {
    /// Returns the version of a header.
    #[inline]
    pub(crate) fn from_header(ip: &IpHeader) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

impl Quirks {
    /// Returns the quirks of the IP and TCP headers without the options.
    #[inline(always)]
    pub(crate) fn from_headers(segment: &Segment<'_>, tcp: &TcpHeader<'_>) -> Self {
        let ip = &segment.ip;
        let mut quirks = Self::empty();
        if IpVersion::from_header(ip) == IpVersion::V4 {
            quirks.set(Self::DF, ip.dont_fragment);
            quirks.set(Self::ID_NONZERO, ip.dont_fragment && ip.id != 0);
            quirks.set(Self::ID_ZERO, !ip.dont_fragment && ip.id == 0);
        }
        let congestion = TcpFlags::ECE | TcpFlags::CWR | TcpFlags::NS;
        quirks.set(Self::ECN, ip.traffic_class & 0b11 != 0 || tcp.flags.intersects(congestion));
        quirks.set(Self::RESERVED, ip.reserved_flag);
        quirks.set(Self::FLOW_LABEL, ip.flow_label != 0);
        quirks.set(Self::SEQ_ZERO, tcp.seq == 0);
        let has_ack = tcp.flags.contains(TcpFlags::ACK);
        quirks.set(Self::ACK_NONZERO, !has_ack && tcp.ack != 0);
        quirks.set(Self::ACK_ZERO, has_ack && tcp.ack == 0);
        let has_urg = tcp.flags.contains(TcpFlags::URG);
        quirks.set(Self::URGENT_NONZERO, !has_urg && tcp.urgent != 0);
        quirks.set(Self::URG, has_urg);
        quirks.set(Self::PUSH, tcp.flags.contains(TcpFlags::PSH));
        quirks
    }
}

impl ClockReading {
    /// Returns the reading in a TCP segment, or `None` without a timestamp.
    pub fn from_segment(segment: &Segment<'_>) -> Option<Self> {
        Self::new(timestamp(segment.tcp()?), segment.ts.as_millis())
    }
}

/// The sender's timestamp; 0 when absent.
fn timestamp(tcp: &TcpHeader<'_>) -> u32 {
    match tcp.options {
        // Fast path: almost every segment after the handshake has this option layout (RFC 7323, appendix A).
        [kind::NOP, kind::NOP, kind::TIMESTAMP, 10, a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        [] => 0,
        other => Options::parse(other, false).timestamp,
    }
}
