//! Settings of parsers.

/// Settings of a [`TlsParser`](crate::TlsParser).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsParserSettings {
    /// Whether the handshake is followed after the hellos, to its certificates and its end.
    pub handshakes: bool,
    /// Whether handshakes without a server name are followed, even if others are not.
    pub nameless: bool,
}

impl TlsParserSettings {
    /// Follows handshakes after the hellos, or not (default).
    #[must_use]
    pub const fn handshakes(self, handshakes: bool) -> Self {
        Self { handshakes, ..self }
    }

    /// Follows handshakes over TCP whose ClientHello [names no server](crate::ClientHello::is_nameless), even if others are not, or not
    /// (default).
    #[must_use]
    pub const fn nameless(self, nameless: bool) -> Self {
        Self { nameless, ..self }
    }

    /// Whether any handshakes are followed.
    pub(crate) const fn follows(self) -> bool {
        self.handshakes || self.nameless
    }
}
