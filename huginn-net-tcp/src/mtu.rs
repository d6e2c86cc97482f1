//! The maximum transmission unit of a sender's link.

use std::fmt;

use crate::IpVersion;
use crate::window::{IPV4_HEADERS, IPV6_HEADERS};

/// The maximum transmission unit of a sender's link, in bytes, derived from its maximum segment size.
///
/// A maximum segment size leaves room for headers without options (RFC 6691, section 2), so options are not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mtu(
    /// Bytes; up to 65,595, because the value is computed.
    pub u32,
);

impl Mtu {
    /// Computes the MTU from a maximum segment size: 40 bytes more over IPv4, 60 over IPv6. `None` for 0, which stands
    /// for a segment without the option.
    pub fn from_mss(version: IpVersion, mss: u16) -> Option<Self> {
        let headers = match version {
            IpVersion::V4 => IPV4_HEADERS,
            IpVersion::V6 => IPV6_HEADERS,
        };
        (mss != 0).then(|| Self(u32::from(mss).saturating_add(headers)))
    }
}

impl fmt::Display for Mtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtu_adds_headers_without_options() {
        // As p0f 3.09b prints it in `raw_mtu`.
        for (version, mss, want) in [
            (IpVersion::V4, 1460, Some(1500)),
            (IpVersion::V4, 536, Some(576)),
            (IpVersion::V6, 1440, Some(1500)),
            (IpVersion::V4, 65_535, Some(65_575)),
            (IpVersion::V4, 0, None),
        ] {
            assert_eq!(Mtu::from_mss(version, mss), want.map(Mtu));
        }
    }
}
