//! QUIC versions.

use std::fmt;

/// A QUIC version number (IANA, "QUIC Versions"), as on the wire.
///
/// Displays as `1`, `2`, `draft-29` of the drafts of version 1, and `0xfaceb002` of other numbers.
///
/// ```
/// use huginn_net_tls::QuicVersion;
///
/// assert_eq!(QuicVersion::V2.to_string(), "2");
/// assert_eq!(QuicVersion(0xff00_001d).to_string(), "draft-29");
/// assert_eq!(QuicVersion(0x5430_3530).to_string(), "0x54303530");
/// assert!(QuicVersion(0x1a2a_3a4a).is_reserved());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuicVersion(pub u32);

impl QuicVersion {
    /// Version 1 (RFC 9000).
    pub const V1: Self = Self(1);
    /// Version 2 (RFC 9369).
    pub const V2: Self = Self(0x6b33_43cf);

    /// Whether the number is reserved to force version negotiation, or for GREASE (RFC 9000, section 15): `0x?a?a?a?a`.
    pub const fn is_reserved(self) -> bool {
        self.0 & 0x0f0f_0f0f == 0x0a0a_0a0a
    }
}

impl fmt::Display for QuicVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1"),
            0x6b33_43cf => f.write_str("2"),
            number @ 0xff00_0001..=0xff00_00ff => write!(f, "draft-{}", number & 0xff),
            number => write!(f, "{number:#010x}"),
        }
    }
}
