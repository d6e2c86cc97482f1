//! Why bytes are no HTTP/2, or cannot be read on.

use super::HpackError;

/// Where a side stops being HTTP/2 that can be read. Nothing after it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Http2Error {
    /// A client begins with something else than the preface, or a server with something else than its settings
    /// (RFC 9113, section 3.4).
    #[error("does not begin as HTTP/2 does")]
    NotHttp2,
    /// A frame longer than any of its kind, or than any that is kept.
    #[error("frame of type {kind} with {len} bytes of payload")]
    FrameTooLong {
        /// Its type (RFC 9113, section 6).
        kind: u8,
        /// Its length, in bytes.
        len: usize,
    },
    /// A frame that is not as long as its type wants, or whose padding is longer than it.
    #[error("malformed frame of type {kind} with {len} bytes of payload")]
    FrameSize {
        /// Its type.
        kind: u8,
        /// Its length, in bytes.
        len: usize,
    },
    /// A field block that is cut by another frame, a CONTINUATION of none, or either on the connection itself
    /// (RFC 9113, sections 6.2 and 6.10).
    #[error("frame of type {kind} on stream {stream} where none of that type can be")]
    FrameOrder {
        /// The type of the frame.
        kind: u8,
        /// Its stream.
        stream: u32,
    },
    /// A field block in more frames than anyone needs.
    #[error("field block of {len} bytes on stream {stream}")]
    BlockTooLong {
        /// Its stream.
        stream: u32,
        /// Its length so far, in bytes.
        len: usize,
    },
    /// Bytes are missing that are not all of one body.
    #[error("{missing} bytes are missing")]
    Gap {
        /// How many.
        missing: u64,
    },
    /// A field block that cannot be read.
    #[error("field block on stream {stream}: {source}")]
    Hpack {
        /// Its stream.
        stream: u32,
        /// What is wrong with it.
        source: HpackError,
    },
}
