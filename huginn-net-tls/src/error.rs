//! Errors of the TLS parsers.

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
    #[error("handshake message of {announced} bytes: a ClientHello has {max} at most", max = crate::limits::MAX_HELLO_BODY_LEN)]
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
    Quic(#[from] QuicError),
}

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

huginn_net_wire::named! {
    /// A field of a hello (RFC 8446, sections 4.1.2 and 4.1.3) or of a CertificateRequest.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum TlsField {
        /// The type and length of the message.
        Header = "message header",
        /// The body of the message.
        Body = "message body",
        /// `legacy_version`.
        Version = "version",
        /// `random`.
        Random = "random",
        /// `legacy_session_id`.
        SessionId = "session id",
        /// The cookie of DTLS (RFC 6347, section 4.2.1).
        Cookie = "cookie",
        /// `cipher_suites`, or the suite that the server chose.
        CipherSuites = "cipher suites",
        /// `legacy_compression_methods`, or the method that the server chose.
        CompressionMethods = "compression methods",
        /// `certificate_types` of a CertificateRequest (RFC 5246, section 7.4.4).
        CertificateTypes = "certificate types",
        /// `supported_signature_algorithms` of a CertificateRequest.
        SignatureAlgorithms = "signature algorithms",
        /// `certificate_authorities` of a CertificateRequest.
        Authorities = "certificate authorities",
        /// The extensions of a CertificateRequest of TLS 1.3 (RFC 8446, section 4.3.2).
        CertificateExtensions = "extensions of the request",
    }
}
