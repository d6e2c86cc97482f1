//! Limits of what is read of a connection.

/// The longest line, its line end included, in bytes: an identification string, or a line that a server sends before
/// it. RFC 4253 allows 255 bytes for the former; this is the limit of OpenSSH.
pub const MAX_LINE_LEN: usize = 8192;

/// The most lines that a server may send before its identification string. This is the limit of OpenSSH.
pub const MAX_LINES_BEFORE_IDENTIFICATION: usize = 1024;

/// The most bytes that those lines may have together.
pub const MAX_BYTES_BEFORE_IDENTIFICATION: usize = 64 << 10;

/// The longest packet, its length field included, in bytes: the least that RFC 4253, section 6.1, requires every
/// implementation to take.
pub const MAX_PACKET_LEN: usize = 35_000;

/// The most packets that a side may send before its SSH_MSG_KEXINIT.
pub const MAX_PACKETS_BEFORE_KEX_INIT: usize = 16;
