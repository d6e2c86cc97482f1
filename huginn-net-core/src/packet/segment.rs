//! Decoded TCP segments and UDP datagrams, with their headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bitflags::bitflags;

use crate::{Timestamp, TunnelPath};

/// One TCP segment or UDP datagram, borrowed from its frame or from the reassembly buffer of its fragments.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Capture time of the frame that completed it.
    pub ts: Timestamp,
    /// Number of that frame, as [`Event::packet_number`](crate::Event::packet_number) counts; 0 without a capture.
    pub packet_number: u64,
    /// The innermost IP header.
    pub ip: IpHeader,
    /// The transport header.
    pub transport: TransportHeader<'a>,
    /// The transport payload, bounded by the IP length and by the captured length.
    pub payload: &'a [u8],
    /// Payload bytes that the IP length states and the snap length cut off.
    pub payload_missing: u32,
    /// The VLAN tags and tunnels around the innermost IP header.
    pub tunnel: &'a TunnelPath,
}

impl<'a> Segment<'a> {
    /// Creates a TCP segment that is not part of a capture: packet number 0 at time 0, between unspecified IPv4 addresses.
    pub fn from_tcp(tcp: TcpHeader<'a>, payload: &'a [u8]) -> Self {
        static NO_TUNNEL: TunnelPath = TunnelPath::EMPTY;
        let addresses = Addresses::V4 { src: Ipv4Addr::UNSPECIFIED, dst: Ipv4Addr::UNSPECIFIED };
        Self {
            ts: Timestamp::default(),
            packet_number: 0,
            ip: IpHeader::without_options(addresses),
            transport: TransportHeader::Tcp(tcp),
            payload,
            payload_missing: 0,
            tunnel: &NO_TUNNEL,
        }
    }
}

impl Segment<'_> {
    /// Address and port of the sender.
    pub fn source(&self) -> SocketAddr {
        SocketAddr::new(self.ip.src(), self.transport.ports().0)
    }

    /// Address and port of the receiver.
    pub fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.ip.dst(), self.transport.ports().1)
    }

    /// The TCP header, if this is a TCP segment.
    #[inline]
    pub fn tcp(&self) -> Option<&TcpHeader<'_>> {
        match &self.transport {
            TransportHeader::Tcp(tcp) => Some(tcp),
            TransportHeader::Udp(_) => None,
        }
    }
}

/// The fields of an IPv4 (RFC 791) or IPv6 (RFC 8200) header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Sender and receiver.
    pub addresses: Addresses,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Type of service, or traffic class: six bits of DSCP, two of ECN (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// Header bytes, IPv4 options and IPv6 extension headers included.
    pub header_len: u16,
    /// Bytes of IPv4 options, or of IPv6 extension headers. The fragment header, which a complete datagram does not
    /// have, is not counted, nor is the authentication header in IPv4.
    pub options_len: u16,
    /// IPv4 identification; 0 for IPv6.
    pub id: u16,
    /// IPv4 "don't fragment" flag; false for IPv6.
    pub dont_fragment: bool,
    /// IPv4 reserved flag (RFC 3514 calls it "evil"); false for IPv6.
    pub reserved_flag: bool,
    /// IPv6 flow label; 0 for IPv4.
    pub flow_label: u32,
    /// Whether the datagram was reassembled from fragments.
    pub reassembled: bool,
}

impl IpHeader {
    /// An IPv4 header without options, of a segment that is not part of a capture.
    pub(crate) fn without_options(addresses: Addresses) -> Self {
        Self {
            addresses,
            ttl: 64,
            traffic_class: 0,
            header_len: 20,
            options_len: 0,
            id: 0,
            dont_fragment: true,
            reserved_flag: false,
            flow_label: 0,
            reassembled: false,
        }
    }

    /// Address of the sender.
    #[inline]
    pub fn src(&self) -> IpAddr {
        match self.addresses {
            Addresses::V4 { src, .. } => src.into(),
            Addresses::V6 { src, .. } => src.into(),
        }
    }

    /// Address of the receiver.
    #[inline]
    pub fn dst(&self) -> IpAddr {
        match self.addresses {
            Addresses::V4 { dst, .. } => dst.into(),
            Addresses::V6 { dst, .. } => dst.into(),
        }
    }

    /// Whether this is an IPv4 header.
    #[inline]
    pub fn is_ipv4(&self) -> bool {
        matches!(self.addresses, Addresses::V4 { .. })
    }
}

/// Source and destination address of an IP header, both of the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// IPv4 addresses.
    V4 {
        /// Sender.
        src: Ipv4Addr,
        /// Receiver.
        dst: Ipv4Addr,
    },
    /// IPv6 addresses.
    V6 {
        /// Sender.
        src: Ipv6Addr,
        /// Receiver.
        dst: Ipv6Addr,
    },
}

impl Addresses {
    /// Sender and receiver.
    pub fn ends(self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4 { src, dst } => (src.into(), dst.into()),
            Self::V6 { src, dst } => (src.into(), dst.into()),
        }
    }
}

/// The transport header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportHeader<'a> {
    /// TCP (RFC 9293).
    Tcp(TcpHeader<'a>),
    /// UDP (RFC 768).
    Udp(UdpHeader),
}

impl TransportHeader<'_> {
    /// Source and destination port.
    #[inline]
    pub fn ports(&self) -> (u16, u16) {
        match self {
            Self::Tcp(tcp) => (tcp.src_port, tcp.dst_port),
            Self::Udp(udp) => (udp.src_port, udp.dst_port),
        }
    }
}

/// The fields of a TCP header (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number, whether or not the ACK flag is set.
    pub ack: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window, unscaled.
    pub window: u16,
    /// Urgent pointer, whether or not the URG flag is set.
    pub urgent: u16,
    /// The raw options, padding included (up to 40 bytes).
    pub options: &'a [u8],
}

impl TcpHeader<'_> {
    /// Header length in bytes, options included: 20 to 60.
    #[inline]
    pub fn header_len(&self) -> usize {
        self.options.len().saturating_add(20)
    }

    /// The sequence number of the first payload byte: a SYN counts as one byte before it (RFC 9293, section 3.4).
    #[inline]
    pub fn first_byte_seq(&self) -> u32 {
        self.seq.wrapping_add(u32::from(self.flags.contains(TcpFlags::SYN)))
    }
}

/// The ports of a UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

bitflags! {
    /// TCP control bits (RFC 9293, section 3.1), and the historic nonce sum bit (RFC 3540).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct TcpFlags: u16 {
        /// No more data from the sender.
        const FIN = 0x001;
        /// Synchronise sequence numbers.
        const SYN = 0x002;
        /// Reset the connection.
        const RST = 0x004;
        /// Push.
        const PSH = 0x008;
        /// The acknowledgement number is valid.
        const ACK = 0x010;
        /// The urgent pointer is valid.
        const URG = 0x020;
        /// ECN echo (RFC 3168).
        const ECE = 0x040;
        /// Congestion window reduced (RFC 3168).
        const CWR = 0x080;
        /// Nonce sum (RFC 3540), today the AE bit of accurate ECN.
        const NS = 0x100;
    }
}

impl TcpFlags {
    /// Whether the flags are those of an initial SYN: SYN without ACK, FIN or RST.
    #[inline]
    pub fn is_initial_syn(self) -> bool {
        self & (Self::SYN | Self::ACK | Self::FIN | Self::RST) == Self::SYN
    }

    /// Whether the flags are those of a SYN+ACK, without FIN or RST.
    #[inline]
    pub fn is_syn_ack(self) -> bool {
        self & (Self::SYN | Self::ACK | Self::FIN | Self::RST) == Self::SYN | Self::ACK
    }

    /// Whether the flags end a connection: FIN or RST. Both together, or either with SYN, is invalid and ends
    /// nothing.
    #[inline]
    pub fn is_fin_or_rst(self) -> bool {
        let end = self & (Self::SYN | Self::FIN | Self::RST);
        end == Self::FIN || end == Self::RST
    }
}
