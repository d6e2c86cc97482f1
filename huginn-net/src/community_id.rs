//! Community ID v1, the flow hash that network tools share.
//!
//! Definition: <https://github.com/corelight/community-id-spec>.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::{self, FromStr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use huginn_net_core::FlowId;
use sha1::{Digest, Sha1};

/// The Community ID of a flow, with seed 0; equal for both directions.
///
/// ```
/// use huginn_net::record::CommunityId;
///
/// let (client, server) = ("128.232.110.120:34855".parse()?, "66.35.250.204:80".parse()?);
/// assert_eq!(CommunityId::new(client, server, 6).to_string(), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommunityId([u8; 20]);

impl CommunityId {
    /// The identifier of a flow between two ends over an IP protocol that has ports (6 is TCP, 17 is UDP).
    pub fn new(one: SocketAddr, other: SocketAddr, protocol: u8) -> Self {
        let (low, high) =
            if (one.ip(), one.port()) <= (other.ip(), other.port()) { (one, other) } else { (other, one) };
        let mut hash = Sha1::new();
        hash.update([0, 0]);
        update_address(&mut hash, low.ip());
        update_address(&mut hash, high.ip());
        let ([a, b], [c, d]) = (low.port().to_be_bytes(), high.port().to_be_bytes());
        hash.update([protocol, 0, a, b, c, d]);
        Self(hash.finalize().into())
    }

    /// The identifier of a flow.
    pub fn from_flow(flow: &FlowId) -> Self {
        Self::new(flow.client, flow.server, flow.transport.number())
    }

    /// The hash.
    pub(crate) const fn digest(&self) -> [u8; 20] {
        self.0
    }

    /// The text that it is displayed as, in ASCII.
    pub(crate) fn text(&self) -> [u8; 30] {
        let mut text = *b"1:0000000000000000000000000000";
        if let Some((_version, hash)) = text.split_first_chunk_mut::<2>() {
            // Base64 makes 28 bytes of 20: there is room.
            let _ = STANDARD.encode_slice(self.0, hash);
        }
        text
    }
}

fn update_address(hash: &mut Sha1, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => hash.update(v4.octets()),
        IpAddr::V6(v6) => hash.update(v6.octets()),
    }
}

impl fmt::Display for CommunityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for CommunityId {
    type Err = CommunityIdParseError;

    fn from_str(text: &str) -> Result<Self, CommunityIdParseError> {
        let hash = text.strip_prefix("1:").and_then(|hash| STANDARD.decode(hash).ok());
        hash.and_then(|hash| hash.try_into().ok()).map(Self).ok_or(CommunityIdParseError)
    }
}

/// A text that is not a Community ID of version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a Community ID of version 1, such as 1:LQU9qZlK+B5F3KDmev6m5PMibrg=")]
pub struct CommunityIdParseError;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two are examples of the specification; all were computed with its reference implementation
    /// (the Python package `communityid` 1.5).
    #[test]
    fn published_vectors_in_both_directions() {
        for (one, other, protocol, want) in [
            ("128.232.110.120:34855", "66.35.250.204:80", 6, "1:LQU9qZlK+B5F3KDmev6m5PMibrg="),
            ("192.168.1.52:54585", "8.8.8.8:53", 17, "1:d/FP5EW3wiY1vCndhwleRRKHowQ="),
            ("[2001:db8::2]:443", "[2001:db8::1]:50000", 6, "1:YXqXufkGr4i6TbJJYF83fvyDLZ8="),
            ("10.0.0.1:50000", "10.0.0.1:443", 6, "1:9KYDSfoDz+zbeBZCvQqscCyE6pE="),
        ] {
            let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(CommunityId::new(one, other, protocol).to_string(), want);
            assert_eq!(CommunityId::new(other, one, protocol).to_string(), want);
        }
    }
}
