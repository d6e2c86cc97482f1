//! Counters of QUIC packets.

use huginn_net_core::tally;

use super::QuicError;
use crate::TlsError;

/// Results of QUIC packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct QuicCounters {
    /// Initial packets decrypted and parsed.
    pub opened: u64,
    /// Initial packets that no known key decrypts.
    pub sealed: u64,
    /// Malformed packets, or malformed frames in Initial packets.
    pub malformed: u64,
    /// Initial packets that the snap length cut, or that are shorter than they say. Those of a client show the keys of its
    /// connection, but no hello: without its end a packet cannot be authenticated.
    pub cut: u64,
    /// Packets of unknown versions.
    pub unknown_version: u64,
    /// Initial packets with CRYPTO data that did not fit in the buffer, or was too far ahead.
    pub crypto_refused: u64,
    /// Initial packets with another message than a hello, or a hello that is too long or cannot be parsed.
    pub not_hello: u64,
    /// Connections with a decrypted Initial packet of the client, without those that continue after a Retry.
    pub connections: u64,
    /// Those of them with a complete ClientHello. The rest lacks packets.
    pub complete: u64,
    /// Those of them that were dropped before, because too many were open on the same ports.
    pub given_up: u64,
}

tally!(QuicCounters {
    opened,
    sealed,
    malformed,
    cut,
    unknown_version,
    crypto_refused,
    not_hello,
    connections,
    complete,
    given_up
});

impl QuicCounters {
    pub(super) fn count(&mut self, outcome: Result<(), TlsError>) {
        let counter = match outcome {
            Ok(()) => &mut self.opened,
            Err(TlsError::Quic(QuicError::Sealed)) => &mut self.sealed,
            Err(TlsError::Quic(QuicError::UnknownVersion { .. })) => &mut self.unknown_version,
            Err(TlsError::Quic(QuicError::Crypto { .. })) => &mut self.crypto_refused,
            Err(TlsError::Quic(_)) => &mut self.malformed,
            Err(_) => &mut self.not_hello,
        };
        *counter = counter.saturating_add(1);
    }
}
