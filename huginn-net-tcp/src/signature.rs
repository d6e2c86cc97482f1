//! The TCP/IP signature of a SYN or SYN+ACK.

use huginn_net_core::{
    DecodeError, IpHeader, Parsed, Segment, TcpFlags, TcpHeader, decode_ip, ip_packet_len,
};

use crate::options::Options;
use crate::window::Units;
use crate::{OptionLayout, Quirks, TcpError, WindowMultiple, distance};

/// The TCP/IP signature of one SYN or SYN+ACK, made of observed values without wildcards.
///
/// [`Display`](std::fmt::Display) writes p0f's `raw_sig`, character for character; [`FromStr`](std::str::FromStr)
/// parses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpSignature {
    /// The segment of the handshake.
    pub handshake: Handshake,
    /// IP version.
    pub version: IpVersion,
    /// Time to live, or hop limit, as received.
    pub ttl: u8,
    /// Bytes of IPv4 options, or of IPv6 extension headers.
    pub ip_options_len: u16,
    /// Maximum segment size in bytes; 0 when absent.
    pub mss: u16,
    /// Window in bytes, unscaled.
    pub window: u16,
    /// The window as a multiple of a segment or packet size, from p0f's list of such sizes.
    pub window_multiple: Option<WindowMultiple>,
    /// Window scale (a power of two); 0 when absent.
    pub scale: u8,
    /// The options in their order.
    pub layout: OptionLayout,
    /// Oddities of the headers.
    pub quirks: Quirks,
    /// Whether the segment has a payload.
    pub has_payload: bool,
    /// Type of service or traffic class: six bits of DSCP, two of ECN.
    pub traffic_class: u8,
    /// TSval (RFC 7323); 0 when absent, zero, or parsed from a `raw_sig`, which does not contain it.
    pub timestamp: u32,
}

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

    /// Hops between the sender and the capture point, assuming the most likely initial TTL; see
    /// [`distance`](crate::distance()).
    pub fn distance(&self) -> u8 {
        distance(self.ttl)
    }

    /// The differentiated services code point: the six high bits of [`Self::traffic_class`].
    pub fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }

    /// Whether this is the SYN of p0f's tool `p0f-sendsyn`, which requests SYN+ACK signatures from a server. Its window
    /// and maximum segment size identify it.
    pub fn is_sendsyn(&self) -> bool {
        self.handshake == Handshake::Syn && self.window == SENDSYN_WINDOW && self.mss == SENDSYN_MSS
    }
}

const SENDSYN_WINDOW: u16 = 1337;
pub(crate) const SENDSYN_MSS: u16 = 1331;

/// The segments of a TCP handshake that carry a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Handshake {
    /// The client's SYN.
    Syn,
    /// The server's SYN+ACK.
    SynAck,
}

impl Handshake {
    /// Returns the segment with these flags, if it is either. SYN with FIN or RST is neither.
    #[inline]
    pub fn from_flags(flags: TcpFlags) -> Option<Self> {
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

/// An IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpVersion {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

impl IpVersion {
    /// Returns the version of a header.
    #[inline]
    pub fn from_header(ip: &IpHeader) -> Self {
        if ip.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}
