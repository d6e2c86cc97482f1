//! Errors of [`decode_ip`](crate::decode_ip).

/// Error of [`decode_ip`](crate::decode_ip).
///
/// Offsets are in bytes from the start of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The packet ends within a header.
    #[error("{layer} header at offset {offset}: {needed} bytes needed, {had} there")]
    Truncated {
        /// The layer of the header.
        layer: Layer,
        /// Offset of the header.
        offset: usize,
        /// Length of the header, in bytes.
        needed: usize,
        /// Bytes available.
        had: usize,
    },
    /// A header field has an invalid value.
    #[error("{layer} header at offset {offset}: {field} cannot be {value}")]
    BadField {
        /// The layer of the header.
        layer: Layer,
        /// Offset of the header.
        offset: usize,
        /// The name of the field in the RFC.
        field: &'static str,
        /// The value of the field.
        value: u32,
    },
    /// The packet is a fragment.
    #[error("fragment at byte {start} of its datagram, id {id:#x}")]
    Fragment {
        /// The datagram's identification.
        id: u32,
        /// Offset of the fragment in the datagram's payload, in bytes.
        start: u16,
        /// Whether more fragments follow it.
        more: bool,
    },
    /// The payload is neither TCP nor UDP.
    #[error("IP protocol {protocol} is neither TCP nor UDP")]
    OtherTransport {
        /// The number in IANA's registry of protocol numbers.
        protocol: u8,
    },
}

huginn_net_wire::named! {
    /// The header that a [`DecodeError`] is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Layer {
        /// An IP header of either version.
        Ip = "IP",
        /// IPv4 (RFC 791).
        Ipv4 = "IPv4",
        /// IPv6 (RFC 8200).
        Ipv6 = "IPv6",
        /// An IPv6 extension header (RFC 8200, section 4).
        Ipv6Extension = "IPv6 extension",
        /// The IP authentication header (RFC 4302).
        Authentication = "authentication",
        /// TCP (RFC 9293).
        Tcp = "TCP",
        /// UDP (RFC 768).
        Udp = "UDP",
    }
}
