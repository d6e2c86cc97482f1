//! Errors of the HTTP/1 parsers.

/// Why bytes are not an HTTP/1 head. Missing bytes are not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The first line is not that of an HTTP/1 request or response (RFC 9112, sections 3 and 4).
    #[error("the first line is not that of an HTTP/1 message")]
    NotHttp1,
    /// The head exceeds the length limit.
    #[error("a head of more than {max} bytes")]
    HeadTooLong {
        /// The limit in bytes.
        max: usize,
    },
}
