//! Captured frames and their link types.

use std::fmt;

use crate::Timestamp;

/// One captured link-layer frame, borrowed from its source.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Capture time.
    pub ts: Timestamp,
    /// Link-layer type, which determines how the frame starts.
    pub link: LinkType,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Length on the wire, in bytes; more than `data` holds if the snap length cut the frame.
    pub wire_len: u32,
}

/// The link-layer type of a frame: a `LINKTYPE_` value of the
/// [tcpdump.org registry](https://www.tcpdump.org/linktypes.html), as capture files store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: four bytes of address family in the capturing machine's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without the address and control bytes of HDLC framing (RFC 1662).
    pub const PPP: Self = Self(9);
    /// Raw IP, as `DLT_RAW` of most systems.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP, as `DLT_RAW` of OpenBSD.
    pub const RAW_OPENBSD: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662).
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE session packets: the six-byte PPPoE header comes first (RFC 2516).
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IP of either version; the first nibble is the version.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC or PPP; the first byte distinguishes them.
    pub const CISCO_HDLC: Self = Self(104);
    /// IEEE 802.11 without a radio header.
    pub const IEEE802_11: Self = Self(105);
    /// OpenBSD loopback: four bytes of address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture v1.
    pub const LINUX_SLL: Self = Self(113);
    /// IEEE 802.11 after a radiotap header.
    pub const IEEE802_11_RADIOTAP: Self = Self(127);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux netfilter log.
    pub const NFLOG: Self = Self(239);
    /// Linux cooked capture v2.
    pub const LINUX_SLL2: Self = Self(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
