//! Limits of this crate, each with its unit and its reason.

/// Default limit of a recording, in bytes: more than any ClientHello or request head in use, the largest handshake
/// message that rustls accepts, and four times the default head limit of Node.js.
pub const MAX_RECORDED_BYTES: usize = 64 << 10;

/// Maximum length of a text in a fingerprint, in bytes. Hostile clients can send hellos whose raw JA4 has hundreds of
/// kilobytes; texts of clients in use have less than 1 KB.
pub const MAX_TEXT_LEN: usize = 4 << 10;

/// Maximum length of the value of a TLV in a PROXY header, in bytes: HAProxy closes connections whose headers have a longer
/// one (3.0.11).
#[cfg(feature = "proxy-protocol")]
pub const MAX_TLV_LEN: usize = 1 << 10;

/// Bytes that one call reads to peek at a stream: more than almost all hellos and heads.
pub(crate) const PEEK_LEN: usize = 4 << 10;

/// Maximum length of the headers of a saved SYN, in bytes: IPv4 and TCP with all options have 120, and IPv6 extension
/// headers are rare.
#[cfg(target_os = "linux")]
pub(crate) const MAX_SAVED_SYN_LEN: usize = 1 << 10;

/// Default time in which a client must complete the TLS handshake: several retransmissions of a lost packet.
#[cfg(feature = "rustls")]
pub(crate) const HANDSHAKE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Maximum number of TLS handshakes that a listener runs at a time. It bounds their memory.
#[cfg(feature = "axum")]
pub(crate) const MAX_HANDSHAKES: usize = 8192;
