//! What became of the packets.

use huginn_net_core::tally;

use super::QuicError;
use crate::TlsError;

/// Counts of what QUIC flows held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct QuicCounters {
    /// Initial packets opened and read.
    pub opened: u64,
    /// Initial packets that none of the keys known opened.
    pub sealed: u64,
    /// Packets, or frames in Initial packets, that are malformed.
    pub malformed: u64,
    /// Packets of versions unknown.
    pub unknown_version: u64,
    /// Initial packets with CRYPTO data for which there was no room, or that lay too far ahead.
    pub crypto_refused: u64,
    /// Initial packets with something else than a hello, or with one that is too long or cannot be read.
    pub not_hello: u64,
    /// Connections given up before a ClientHello was whole: too many Initial packets, or no more of them; and flows with
    /// too many Initial packets in a row that no key opens.
    pub given_up: u64,
}

tally!(QuicCounters { opened, sealed, malformed, unknown_version, crypto_refused, not_hello, given_up });

impl QuicCounters {
    pub(super) fn count(&mut self, outcome: Result<(), TlsError>) {
        let counter = match outcome {
            Ok(()) => &mut self.opened,
            Err(TlsError::Quic(QuicError::Sealed)) => &mut self.sealed,
            Err(TlsError::Quic(QuicError::UnknownVersion { .. })) => &mut self.unknown_version,
            Err(TlsError::Quic(QuicError::Crypto { .. })) => &mut self.crypto_refused,
            Err(TlsError::Quic(QuicError::GivenUp { .. })) => &mut self.given_up,
            Err(TlsError::Quic(_)) => &mut self.malformed,
            Err(_) => &mut self.not_hello,
        };
        *counter = counter.saturating_add(1);
    }
}
