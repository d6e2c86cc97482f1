//! Errors of the HTTP/2 reader.

use super::HpackError;

/// Why one side of a connection cannot be read as HTTP/2. All later bytes of the side are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Http2Error {
    /// A client does not start with the preface, or a server does not start with SETTINGS (RFC 9113, section 3.4).
    #[error("does not begin as HTTP/2 does")]
    NotHttp2,
    /// A frame exceeds the maximum length of its type, or the buffer limit.
    #[error("frame of type {kind} with {len} bytes of payload")]
    FrameTooLong {
        /// Frame type (RFC 9113, section 6).
        kind: u8,
        /// Frame length, in bytes.
        len: usize,
    },
    /// A frame has the wrong length for its type, or more padding than payload.
    #[error("malformed frame of type {kind} with {len} bytes of payload")]
    FrameSize {
        /// Frame type.
        kind: u8,
        /// Frame length, in bytes.
        len: usize,
    },
    /// Another frame interrupts a field block, a CONTINUATION continues none, or either is on stream 0 (RFC 9113,
    /// sections 6.2 and 6.10).
    #[error("frame of type {kind} on stream {stream} where none of that type can be")]
    FrameOrder {
        /// Frame type.
        kind: u8,
        /// Stream identifier.
        stream: u32,
    },
    /// Bytes are missing outside of a body.
    #[error("{missing} bytes are missing")]
    Gap {
        /// Number of missing bytes.
        missing: u64,
    },
    /// A field block is invalid.
    #[error("field block on stream {stream}: {source}")]
    Hpack {
        /// Stream identifier.
        stream: u32,
        /// The HPACK error.
        source: HpackError,
    },
}
