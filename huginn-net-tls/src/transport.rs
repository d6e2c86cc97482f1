//! The transport of a handshake.

huginn_net_wire::named! {
    /// The transport of a handshake.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
    pub enum Transport {
        /// TLS over TCP or another stream.
        #[default]
        Tcp = "tcp",
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
            Self::Tcp => 't',
            Self::Quic => 'q',
            Self::Dtls => 'd',
        }
    }
}
