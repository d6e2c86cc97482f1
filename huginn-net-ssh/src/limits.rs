//! Limits of this crate, each with its unit and its reason.

/// Maximum length in bytes of an identification string, or of a line before it, line end included. RFC 4253 allows 255
/// bytes for the identification string; this is the limit of OpenSSH.
pub const MAX_LINE_LEN: usize = 8192;

/// Maximum number of lines that a server may send before its identification string: the limit of OpenSSH.
pub const MAX_LINES_BEFORE_IDENTIFICATION: usize = 1024;

/// Maximum total length in bytes of the lines that a server sends before its identification string. The limits of OpenSSH
/// for one line and for the number of lines would allow 8 MiB.
pub const MAX_BYTES_BEFORE_IDENTIFICATION: usize = 64 << 10;

/// Maximum length of a packet in bytes, its length field included: the length that RFC 4253, section 6.1, requires every
/// implementation to support.
pub const MAX_PACKET_LEN: usize = 35_000;

/// Maximum number of packets that a side may send before its SSH_MSG_KEXINIT. Key exchange starts the protocol (RFC 4253,
/// section 7), so only messages such as SSH_MSG_IGNORE (section 11) can precede it.
pub const MAX_PACKETS_BEFORE_KEX_INIT: usize = 16;
