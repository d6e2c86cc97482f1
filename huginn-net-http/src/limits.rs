//! Limits of this crate, each with its unit and its reason.

/// Bytes of a server that speaks before its client that are buffered while HTTP/2 is possible: enough for a server
/// preface with its SETTINGS, or a banner.
#[cfg(feature = "packets")]
pub(crate) const MAX_EARLY_SERVER_BYTES: usize = 256;

/// Maximum length of a head, in bytes: more than common servers accept by default (nginx 32 KiB, Node.js 16 KiB). It
/// bounds the memory of an incomplete head.
pub const MAX_HEAD: usize = 64 << 10;

/// Maximum number of header fields of a head with any name: more than Apache httpd accepts by default (100); nginx
/// limits only their bytes. It bounds the memory of the fields, 18 bytes each beside the text. Further fields are left
/// out, and the head is marked as cut.
pub const MAX_HEADERS: usize = 256;

/// Maximum number of header fields after the first [`MAX_HEADERS`], whose names are known: those that identify the
/// software and end the body count even in a head that is cut.
pub(crate) const MAX_LATE_KNOWN_HEADERS: usize = 64;

/// Maximum length of a method, in bytes: that of a request line in nginx and Apache httpd, which accept any method.
pub(crate) const MAX_METHOD_LEN: usize = 8 << 10;

/// Length of a start that identifies a request in midstream, in bytes: the longest of these methods, and a blank.
pub(crate) const MAX_MIDSTREAM_METHOD_LEN: usize = 16;

/// Bytes of a client that are not HTTP/1 after which its connection is abandoned. The limit bounds the work on other
/// protocols.
pub(crate) const MAX_NON_HTTP_PREFIX_LEN: u32 = 4 << 10;

/// Maximum bytes of a direction that are buffered after it switched to another protocol, until the other direction
/// switches: twice the initial flow-control window of HTTP/2 (RFC 9113, section 6.9.2).
pub(crate) const MAX_SWITCHED_BYTES: usize = 128 << 10;

/// Bytes of a direction in which a head is searched for while the protocol is unknown, because the start of the
/// connection was missed, or after an unreadable response: the maximum length of a head. It bounds the work on other
/// protocols.
pub(crate) const MAX_SEARCH_BYTES: u32 = 64 << 10;

/// Maximum number of requests without a response: far more than a client pipelines.
pub(crate) const MAX_PENDING_REQUESTS: usize = 4096;

/// Maximum number of PRIORITY frames in a fingerprint; Firefox sent six.
pub(crate) const MAX_PRIORITIES: usize = 256;

/// Maximum number of settings kept; real clients send fewer.
pub(crate) const MAX_SETTINGS: usize = 64;

/// Maximum number of pseudo-header fields kept; a request has four (RFC 9113, section 8.3.1), and repeated ones are
/// malformed. Every request of the connection repeats those of the first one in its fingerprint.
pub(crate) const MAX_PSEUDO_HEADERS: usize = 16;

/// Maximum length of an HTTP2-Settings header, in bytes: the default maximum payload of a frame (RFC 9113, section 4.2).
pub(crate) const MAX_SETTINGS_HEADER_LEN: usize = 16 * 1024;

/// Maximum size of a dynamic table, in bytes: the largest that common browsers allow in their SETTINGS (Chrome, Firefox).
pub(crate) const MAX_HPACK_TABLE_SIZE: u32 = 64 * 1024;

/// Maximum size of a decoded field list, in bytes as RFC 7541, section 4.1, counts them: the maximum length of a head in
/// HTTP/1. Further fields are left out, and the head is marked as cut.
pub(crate) const MAX_FIELD_LIST_SIZE: usize = 64 * 1024;

/// Decoded bytes (RFC 7541, section 4.1) that each byte of a field block adds to the decoder's budget, against
/// decompression bombs. Repeating a full table of the default size, 4096 bytes, in nine indices stays within the budget.
pub(crate) const MAX_HPACK_RATIO: usize = 512;

/// Decoded bytes that a field block adds to the decoder's budget at most, unless twice its length is more.
pub(crate) const MAX_HPACK_MEAN_SIZE: usize = 16 * 1024;

// Expected sizes, to reserve memory at once. Larger values grow the buffer.

/// Length of the fields and the text of most heads, in bytes.
pub(crate) const TYPICAL_HEAD_LEN: usize = 1024;

/// Number of header fields that most responses do not exceed.
pub(crate) const TYPICAL_FIELDS: usize = 16;

/// Length of most signature texts, in bytes.
pub(crate) const TYPICAL_SIGNATURE_LEN: usize = 512;

// Limits of p0f 3.09b, measured by sending it requests and responses at the limits.

/// Maximum number of bytes of a direction that p0f reads.
pub(crate) const P0F_MAX_BYTES: usize = 8192;

/// Bytes in which p0f looks for the end of the first line.
pub(crate) const P0F_MAX_FIRST_LINE_LEN: usize = 1024;

/// Minimum length of a request line that p0f reads, in bytes without its LF.
pub(crate) const P0F_MIN_REQUEST_LINE_LEN: usize = 14;

/// Minimum length of a status line that p0f reads, in bytes without its LF.
pub(crate) const P0F_MIN_STATUS_LINE_LEN: usize = 13;

/// Maximum number of header fields that p0f reads.
pub(crate) const P0F_MAX_HEADERS: usize = 32;

/// Maximum length of a header name that p0f reads, in bytes.
pub(crate) const P0F_MAX_NAME_LEN: usize = 32;

/// Maximum length of a value that p0f reads, in bytes after the blank that follows the colon; a CR at its end counts.
pub(crate) const P0F_MAX_VALUE_LEN: usize = 1024;

/// Maximum length of a value that p0f prints, in bytes (`HTTP_MAX_SHOW` of p0f).
pub(crate) const P0F_MAX_PRINTED_VALUE_LEN: usize = 200;

/// Maximum length of an incomplete instruction of QPACK, in bytes: a name and a value of the largest table.
pub(crate) const MAX_QPACK_INSTRUCTION_LEN: usize = 128 * 1024;

/// Maximum length of a field section of HTTP/3, in bytes, and of all that wait for the encoder stream: that of a decoded list.
/// Longer ones are skipped.
pub(crate) const MAX_SECTION_LEN: usize = 64 * 1024;

/// Maximum number of field sections that wait for the encoder stream: browsers permit 100.
pub(crate) const MAX_BLOCKED_SECTIONS: usize = 128;

/// Maximum length of a SETTINGS frame of HTTP/3, in bytes: 64 settings of two integers of 8 bytes.
pub(crate) const MAX_HTTP3_SETTINGS_LEN: usize = 64 * 16;

/// Maximum number of bytes of incomplete field sections of a side of a connection of HTTP/3: four of the longest, or a few thousand of
/// usual ones.
pub(crate) const MAX_HTTP3_STREAM_BYTES: usize = 256 * 1024;

/// Maximum number of streams of a connection of HTTP/3 whose state is kept.
pub(crate) const MAX_HTTP3_STREAMS: usize = 1024;
