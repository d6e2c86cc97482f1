//! Settings of parsers.

use crate::follower::Follow;

/// Settings of a [`TlsParser`](crate::TlsParser).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsParserSettings {
    /// Whether the handshake is followed after the hellos, to its certificates and its end.
    pub handshakes: bool,
    /// Whether handshakes without a server name are followed, even if others are not.
    pub nameless: bool,
    /// Whether certificates of handshakes that are followed keep their [bytes](crate::Certificate::der).
    pub certificate_bytes: bool,
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

    /// Keeps the bytes of the certificates of handshakes that are followed, or not (default). It takes memory.
    #[must_use]
    pub const fn certificate_bytes(self, keep: bool) -> Self {
        Self { certificate_bytes: keep, ..self }
    }

    /// Whether handshakes over TCP are followed: those without a server name at least.
    pub(crate) fn follows(self) -> Follow {
        Follow::new(self.handshakes || self.nameless, self.certificate_bytes)
    }

    /// Whether all handshakes are followed.
    pub(crate) fn follows_all(self) -> Follow {
        Follow::new(self.handshakes, self.certificate_bytes)
    }
}
