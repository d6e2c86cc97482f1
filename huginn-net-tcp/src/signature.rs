//! The TCP/IP signature of a SYN or SYN+ACK.

use crate::{OptionLayout, Quirks, WindowMultiple, distance};

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
    #[doc(hidden)]
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

/// An IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpVersion {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}
