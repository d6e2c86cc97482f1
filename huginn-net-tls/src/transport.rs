//! What carries a handshake.

huginn_net_wire::named! {
    /// What carries a handshake: TLS over a stream, QUIC or DTLS.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
    pub enum Transport {
        /// TLS over TCP or another stream.
        #[default]
        Tls = "tls",
        /// QUIC (RFC 9001).
        Quic = "quic",
        /// DTLS (RFC 9147).
        Dtls = "dtls",
    }
}

impl Transport {
    /// The first letter of a JA4.
    pub const fn ja4(self) -> char {
        match self {
            Self::Tls => 't',
            Self::Quic => 'q',
            Self::Dtls => 'd',
        }
    }
}
