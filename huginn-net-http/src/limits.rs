//! Limits of this crate, each with its unit and its reason. The limits of p0f are in `p0f`.

/// Bytes of a server that speaks before its client that are buffered while HTTP/2 is possible: enough for a server
/// preface with its SETTINGS, or a banner.
#[cfg(feature = "packets")]
pub(crate) const MAX_EARLY_SERVER_BYTES: usize = 256;

/// Maximum length of a head, in bytes.
pub const MAX_HEAD: usize = 64 << 10;

/// Maximum number of header fields of a head.
pub const MAX_HEADERS: usize = 256;

/// Maximum length of a method, in bytes; longer than any registered one.
pub(crate) const MAX_METHOD_LEN: usize = 24;

/// Maximum length of a preamble, in bytes: SOCKS 5 with the longest method list, name, password and host.
pub(crate) const MAX_PREAMBLE_LEN: usize = 2 + 255 + 3 + 2 * 255 + 4 + 1 + 255 + 2;

/// Maximum bytes of blank lines before the first head (RFC 9112, section 2.2 asks for at least one).
pub(crate) const MAX_BLANK_LINE_BYTES: u8 = 8;

/// Bytes of a client that are not HTTP/1 after which its connection is abandoned.
pub(crate) const MAX_NON_HTTP_PREFIX_LEN: u32 = 4 << 10;

/// Maximum buffered bytes after a switch to another protocol.
pub(crate) const MAX_SWITCHED_BYTES: usize = 128 << 10;

/// Bytes in which a head is searched for while the protocol is unknown.
pub(crate) const MAX_SEARCH_BYTES: u32 = 64 << 10;

/// Maximum number of requests without a response: far more than a client pipelines.
pub(crate) const MAX_PENDING_REQUESTS: usize = 4096;

/// Maximum length of a field block over all its frames, in bytes.
pub(crate) const MAX_FIELD_BLOCK_LEN: usize = 64 * 1024;

/// Maximum number of PRIORITY frames in a fingerprint; Firefox sent six.
pub(crate) const MAX_PRIORITIES: usize = 256;

/// Maximum number of settings kept; real clients send fewer.
pub(crate) const MAX_SETTINGS: usize = 64;

/// Maximum length of an HTTP2-Settings header, in bytes.
pub(crate) const MAX_SETTINGS_HEADER_LEN: usize = 16 * 1024;

/// Maximum size of a dynamic table, in bytes.
pub(crate) const MAX_HPACK_TABLE_SIZE: u32 = 64 * 1024;

/// Maximum size of a decoded field list, in bytes as RFC 7541, section 4.1, counts them.
pub(crate) const MAX_FIELD_LIST_SIZE: usize = 64 * 1024;

/// Decoded bytes (RFC 7541, section 4.1) that each byte of a field block adds to the decoder's budget, against
/// decompression bombs. Repeating a full table of the default size, 4096 bytes, in nine indices stays within the budget.
pub(crate) const MAX_HPACK_RATIO: usize = 512;

/// Decoded bytes that a field block adds to the decoder's budget at most, unless twice its length is more.
pub(crate) const MAX_HPACK_MEAN_SIZE: usize = 16 * 1024;
