//! p0f 3.09b's view of a connection, which is narrower than this crate's: the segments it accepts, the heads it reads
//! and when it stops. Its limits are in `limits.rs`; they were measured by sending requests and responses at the
//! limits to p0f.

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

/// Whether p0f accepts the method at the start of this request line.
fn begins_request(line: &[u8]) -> bool {
    line.starts_with(b"GET /") || line.starts_with(b"HEAD /")
}

/// Whether these bytes start with a version that p0f accepts.
fn begins_version(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.")
}

/// Whether p0f accepts a byte in a header name. A table lookup is faster than comparisons, and runs for every byte of
/// every name.
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

/// Whether p0f accepts a byte in a first line.
fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7f | b'\r')
}
