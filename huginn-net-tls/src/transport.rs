//! The transport of a handshake.

use std::fmt;

/// The transport of a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Transport {
    /// TLS over TCP or another stream.
    #[default]
    Tcp,
    /// QUIC (RFC 9001).
    Quic,
    /// DTLS (RFC 9147).
    Dtls,
}

impl Transport {
    /// The first letter of a JA4.
    pub const fn ja4(self) -> char {
        match self {
            Self::Tcp => 't',
            Self::Quic => 'q',
            Self::Dtls => 'd',
        }
    }
}

impl Transport {
    /// The name: `tcp`, `quic` or `dtls`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
            Self::Dtls => "dtls",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
