//! What a handshake runs over.

use std::fmt;

/// What a hello came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TLS over TCP, or over another stream.
    Tcp,
    /// QUIC (RFC 9001).
    Quic,
    /// DTLS (RFC 9147).
    Dtls,
}

impl Transport {
    /// The letter that a JA4 begins with.
    pub const fn ja4(self) -> char {
        match self {
            Self::Tcp => 't',
            Self::Quic => 'q',
            Self::Dtls => 'd',
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
            Self::Dtls => "dtls",
        })
    }
}
