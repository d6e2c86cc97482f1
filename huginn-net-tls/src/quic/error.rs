//! Why a QUIC packet tells nothing.

use huginn_net_wire::Truncated;

/// What is wrong with a QUIC packet, or with what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuicError {
    /// A packet or a frame ends within a field.
    #[error("QUIC: {0}")]
    Truncated(#[from] Truncated),
    /// A version whose packets cannot be read.
    #[error("QUIC: unknown version {version:#010x}")]
    UnknownVersion {
        /// The version.
        version: u32,
    },
    /// A connection id longer than the 20 bytes that are allowed (RFC 9000, section 17.2).
    #[error("QUIC: connection id of {len} bytes: 20 at most")]
    ConnectionId {
        /// Its length in bytes.
        len: usize,
    },
    /// An Initial packet that is damaged, or is protected with keys that follow from a packet not seen.
    #[error("QUIC: Initial packet that none of the keys known opens")]
    Sealed,
    /// A frame that has no place in an Initial packet (RFC 9000, section 12.4).
    #[error("QUIC: at offset {offset}: frame of type {kind:#x} in an Initial packet")]
    Frame {
        /// Its type.
        kind: u64,
        /// Where it begins in the payload of the packet, in bytes.
        offset: usize,
    },
    /// A CRYPTO frame too far ahead of what was read of its stream, or for which there is no room.
    #[error(
        "QUIC: CRYPTO data at offset {offset}: the stream was read up to {position}, and {window} bytes may be buffered"
    )]
    Crypto {
        /// Where its data belongs in the stream.
        offset: u64,
        /// Up to where the stream was read.
        position: u64,
        /// How much is held at most, in bytes.
        window: usize,
    },
    /// More Initial packets than a handshake needs, too many that no key opens, or no more of them.
    #[error("QUIC: given up after {packets} Initial packets, and {sealed} that no key opened")]
    GivenUp {
        /// Initial packets of the connection.
        packets: u16,
        /// Those in a row, after them, that no key opened.
        sealed: u16,
    },
}
