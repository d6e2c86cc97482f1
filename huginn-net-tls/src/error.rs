//! Errors of the TLS parsers.

use std::fmt;

use huginn_net_wire::Truncated;

/// Error of parsing a hello. Missing bytes are not an error as long as more may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A handshake message ends within a field.
    #[error("{field}: {source}")]
    Truncated {
        /// The field.
        field: TlsField,
        /// The offset of the field in the message, including its header, and the required and available bytes.
        source: Truncated,
    },
    /// A handshake message has another type (RFC 8446, section 4).
    #[error("handshake message of type {0}, which is not the expected hello")]
    NotHello(u8),
    /// A handshake message exceeds the maximum length of a ClientHello.
    #[error("handshake message of {announced} bytes: a ClientHello has {max} at most", max = crate::handshake::MAX_BODY)]
    TooLong {
        /// The length in the header, in bytes.
        announced: usize,
    },
    /// The bytes are not a TLS record (RFC 8446, section 5.1) of a handshake.
    #[error("at offset {offset}: no TLS record with a handshake message: begins with {header:02x?}")]
    NotRecord {
        /// Offset of the expected record, in bytes.
        offset: usize,
        /// The five bytes at this offset.
        header: [u8; 5],
    },
    /// A QUIC packet is invalid or cannot be decrypted.
    #[error(transparent)]
    Quic(#[from] crate::quic::QuicError),
}

/// A field of a hello (RFC 8446, sections 4.1.2 and 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsField {
    /// The type and length of the message.
    Header,
    /// The body of the message.
    Body,
    /// `legacy_version`.
    Version,
    /// `random`.
    Random,
    /// `legacy_session_id`.
    SessionId,
    /// The cookie of DTLS (RFC 6347, section 4.2.1).
    Cookie,
    /// `cipher_suites`, or the suite that the server chose.
    CipherSuites,
    /// `legacy_compression_methods`, or the method that the server chose.
    CompressionMethods,
}

impl fmt::Display for TlsField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "message header",
            Self::Body => "message body",
            Self::Version => "version",
            Self::Random => "random",
            Self::SessionId => "session id",
            Self::Cookie => "cookie",
            Self::CipherSuites => "cipher suites",
            Self::CompressionMethods => "compression methods",
        })
    }
}
