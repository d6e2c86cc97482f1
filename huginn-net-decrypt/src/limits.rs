//! Limits of this crate, each with its unit and its reason.

/// Default maximum number of secrets: those of 200,000 connections with TLS 1.3, or a million with TLS 1.2. They take less
/// than 270 MiB.
pub(crate) const MAX_SECRETS: usize = 1_000_000;

/// Maximum length of a line of a key log, in bytes: twice that of the longest known one, which names a session of 32 bytes and a
/// secret of 48.
pub(crate) const MAX_LINE_LEN: usize = 512;

/// Maximum length of a secret, in bytes: that of SHA-512, the longest hash of a suite in TLS.
pub(crate) const MAX_SECRET_LEN: usize = 64;

/// Maximum number of malformed lines whose numbers are kept.
pub(crate) const MAX_KEPT_LINES: usize = 16;

/// Maximum length of an encrypted fragment, in bytes (RFC 5246, section 6.2.3; TLS 1.3 permits less).
pub(crate) const MAX_FRAGMENT_LEN: usize = (1 << 14) + 2048;

/// Maximum number of bytes that wait: of a side of a TLS connection for the hello of the other, one round trip of early data; of a
/// side, or of a QUIC connection, for a secret that is being logged, the first window of a server and more.
pub(crate) const MAX_WAITING_BYTES: usize = 64 * 1024;

/// Maximum number of bytes of all connections that wait for secrets: a thousand connections of 64 KiB.
pub(crate) const MAX_ALL_WAITING_BYTES: usize = 64 << 20;

/// Maximum time that bytes wait for a secret, in seconds: programs log secrets within one, and connections that are idle without a
/// secret must leave room for others.
pub(crate) const MAX_WAITING_SECONDS: u64 = 10;

/// Maximum time, in seconds, by which workers read packets of another order: a clock that goes back farther was set.
pub(crate) const MAX_REORDERED_SECONDS: u64 = 60;

/// Bytes of a key log that are read at once: hundreds of lines.
pub(crate) const KEY_LOG_BUFFER_LEN: usize = 64 * 1024;

/// Maximum length of a handshake message that is kept, in bytes: hellos and certificate chains of real servers are shorter.
pub(crate) const MAX_MESSAGE_LEN: usize = 64 * 1024;

/// Maximum window of a certificate that is compressed with zstd, in bytes: the largest one that decoders must support (RFC 8878,
/// section 3.1.1.1.2).
pub(crate) const MAX_ZSTD_WINDOW: u64 = 8 * 1024 * 1024;

/// Maximum number of records without the right authentication that are passed over: early data that the server rejected, or the
/// handshake where only later secrets are known. A client sends at most 16 KiB of early data to most servers.
pub(crate) const MAX_REFUSED_RECORDS: u32 = 64;

/// Maximum number of bytes before the ClientHello: what precedes TLS is the greeting of a proxy or of STARTTLS.
pub(crate) const MAX_PREAMBLE_BYTES: usize = 16 * 1024;

/// Maximum number of packets in a row of a QUIC connection that are not authentic: reordered ones around a lost key, or those of
/// others.
pub(crate) const MAX_REFUSED_PACKETS: u32 = 256;

/// Maximum number of connection ids of a side that are kept: twice what common implementations issue.
pub(crate) const MAX_CONNECTION_IDS: usize = 16;

/// Maximum number of streams of a connection whose state is kept: servers permit about 100 requests at once.
pub(crate) const MAX_STREAMS: usize = 512;

/// Maximum number of bytes of a connection that wait for missing ones, in streams: the window of a client that downloads at 100 Mbit/s
/// over 20 milliseconds.
pub(crate) const MAX_PENDING_STREAM_BYTES: usize = 256 * 1024;
