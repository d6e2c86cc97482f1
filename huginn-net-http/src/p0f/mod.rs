//! p0f 3.09b's view of a connection, which is narrower than this crate's: the segments that it takes, the heads that it reads,
//! and how far it follows a connection. All limits were found by giving p0f requests and responses at the limits.

#[cfg(feature = "packets")]
mod connection;
mod exchange;
mod head;
#[cfg(feature = "packets")]
mod head_progress;

#[cfg(feature = "packets")]
pub use connection::P0fConnection;
pub(crate) use exchange::Exchange;
pub(crate) use head::{reads_request, response_fields};

/// Bytes of a direction that p0f looks at.
pub(crate) const MAX_BYTES: usize = 8192;
/// Bytes of a direction within which p0f looks for the end of the first line.
const MAX_URL: usize = 1024;
/// Least length of a request line, in bytes without its LF.
const MIN_REQUEST_LINE: usize = 14;
/// Least length of a status line, in bytes without its LF.
const MIN_STATUS_LINE: usize = 13;
/// Header fields of a head.
const MAX_HEADERS: usize = 32;
/// Bytes of a header name.
const MAX_NAME: usize = 32;
/// Bytes of a value behind the blank after the colon; a CR at its end counts.
const MAX_VALUE: usize = 1024;

/// Whether p0f takes a request line that begins so for one of its methods.
fn begins_request(line: &[u8]) -> bool {
    line.starts_with(b"GET /") || line.starts_with(b"HEAD /")
}

/// Whether these bytes begin a version that p0f reads.
fn begins_version(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.")
}

/// Whether p0f takes a byte in the name of a header field. A table lookup is faster than comparisons, and every byte of
/// every name is looked up.
fn is_name(byte: u8) -> bool {
    #[expect(clippy::indexing_slicing, reason = "the table has an entry for every byte")]
    const NAME_BYTES: [bool; 256] = {
        let mut is_name = [false; 256];
        let mut byte = 0_u8;
        while byte < u8::MAX {
            is_name[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            byte = byte.wrapping_add(1);
        }
        is_name
    };
    NAME_BYTES.get(usize::from(byte)).is_some_and(|is_name| *is_name)
}

/// Whether p0f takes a byte in a first line.
fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7f | b'\r')
}
