//! Why bytes are no head.

/// Bytes that are not what they should be. That they are not all there yet is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The first line is not that of a request or response of HTTP/1 (RFC 9112, sections 3 and 4).
    #[error("the first line is not that of an HTTP/1 message")]
    NotHttp1,
    /// A head longer than is read.
    #[error("a head of more than {max} bytes")]
    HeadTooLong {
        /// How many bytes it may have.
        max: usize,
    },
    /// A head of more header fields than are read.
    #[error("a head of more than {max} header fields")]
    TooManyHeaders {
        /// How many fields it may have.
        max: usize,
    },
}
