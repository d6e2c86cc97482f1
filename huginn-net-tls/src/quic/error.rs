//! Errors of QUIC packets.

use huginn_net_wire::Truncated;

/// Error of parsing or decrypting a QUIC packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuicError {
    /// A packet or frame ends within a field.
    #[error("QUIC: {0}")]
    Truncated(#[from] Truncated),
    /// An unsupported version.
    #[error("QUIC: unknown version {version:#010x}")]
    UnknownVersion {
        /// The version.
        version: u32,
    },
    /// A connection id exceeds 20 bytes (RFC 9000, section 17.2).
    #[error("QUIC: connection id of {len} bytes: 20 at most")]
    ConnectionId {
        /// Length in bytes.
        len: usize,
    },
    /// A damaged Initial packet, or one whose keys derive from a packet that was not captured.
    #[error("QUIC: Initial packet that no known key decrypts")]
    Sealed,
    /// A frame that is not allowed in an Initial packet (RFC 9000, section 12.4).
    #[error("QUIC: at offset {offset}: frame of type {kind:#x} in an Initial packet")]
    Frame {
        /// Frame type.
        kind: u64,
        /// Offset in the packet's payload, in bytes.
        offset: usize,
    },
    /// A CRYPTO frame is too far ahead, or does not fit in the buffer.
    #[error(
        "QUIC: CRYPTO data at offset {offset}: the stream was read up to {position}, and {window} bytes may be buffered"
    )]
    Crypto {
        /// Offset of its data in the stream.
        offset: u64,
        /// Offset up to which the stream was read.
        position: u64,
        /// Limit of buffered data, in bytes.
        window: usize,
    },
    /// Too many Initial packets, too many that no key decrypts, or too many other packets.
    #[error("QUIC: given up after {packets} Initial packets, and {sealed} that no key decrypted")]
    GivenUp {
        /// Initial packets of the connection.
        packets: u16,
        /// Consecutive Initial packets after those that no key decrypted.
        sealed: u16,
    },
}
