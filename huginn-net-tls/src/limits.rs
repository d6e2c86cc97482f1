//! Limits of this crate, each with its unit and its reason.

/// Search limit for the start of a hello, in bytes of a direction: longer than a CONNECT with a long token, a PROXY
/// header, SOCKS or a dialogue up to STARTTLS.
#[cfg(feature = "packets")]
pub(crate) const MAX_SEARCH_BYTES: u32 = 64 << 10;

/// Read limit for hellos, in bytes of a direction: longer than the longest hello in small records, and than early data.
#[cfg(feature = "packets")]
pub(crate) const MAX_READ_BYTES: u32 = 512 << 10;

/// Maximum number of rescans after a false start; bounds the work on hostile input.
#[cfg(feature = "packets")]
pub(crate) const MAX_FALSE_STARTS: u8 = 16;

/// Maximum hellos of one side in a handshake: the second one answers a HelloRetryRequest.
#[cfg(feature = "packets")]
pub(crate) const MAX_HELLOS_PER_HANDSHAKE: u8 = 2;

/// Maximum hellos reported per flow: enough for a client that reconnects from the same port, and a bound for hostile
/// flows.
#[cfg(feature = "packets")]
pub(crate) const MAX_HELLOS_PER_DATAGRAM_FLOW: u8 = 64;

/// Maximum distance of a packet number from the next expected one: more packets than OpenVPN and RDP send without an
/// acknowledgement.
#[cfg(feature = "packets")]
pub(crate) const MAX_PACKETS_AHEAD: u32 = 64;

/// Limit of buffered payloads, in bytes.
#[cfg(feature = "packets")]
pub(crate) const MAX_REORDER_BYTES: usize = 1 << 16;

/// Limit of buffered bytes of a DTLS message after a gap: more than any hello in use.
#[cfg(feature = "packets")]
pub(crate) const MAX_DTLS_MESSAGE_BYTES: usize = 1 << 16;

/// Maximum length of the first packet of a session, in bytes; more than any MTU in use with OpenVPN.
#[cfg(feature = "packets")]
pub(crate) const MAX_FIRST_OPENVPN_PACKET_LEN: usize = 4096;

/// Maximum hellos read from one side: a handshake has at most two (RFC 8446, section 4.1.4), and another handshake may
/// follow a failed one.
pub(crate) const MAX_HELLOS_PER_SIDE: u8 = 4;

/// Hellos in the cache of each thread: more than the TLS clients of most networks, and few enough for a core's cache.
pub(crate) const FINGERPRINT_CACHE_ENTRIES: usize = 256;

/// Maximum number of extensions of a cached hello, without GREASE.
pub(crate) const MAX_CACHED_EXTENSIONS: usize = 32;

/// Maximum key length of a cached hello, in bytes; its fingerprints take at most about 8 KB.
pub(crate) const MAX_CACHE_KEY_LEN: usize = 384;

/// Maximum length of a cached JA3S, in bytes.
pub(crate) const MAX_CACHED_JA3S_LEN: usize = 64;

/// Limit of buffered CRYPTO data of a side, in bytes: four times the largest hello in use.
#[cfg(feature = "quic")]
pub(crate) const MAX_CRYPTO_BYTES: usize = 64 << 10;

/// Maximum ClientHellos of a connection; the second one answers a HelloRetryRequest.
#[cfg(feature = "quic")]
pub(crate) const MAX_HELLOS_PER_CONNECTION: u8 = 2;

/// Maximum Initial packets processed per connection. A hello of 64 KiB needs 60.
#[cfg(feature = "quic")]
pub(crate) const MAX_INITIAL_PACKETS: u16 = 256;

/// Maximum failed decryptions per datagram: each costs up to two key derivations, or six in a reserved version. A
/// client's datagram has at least 1200 bytes (RFC 9000, section 14.1) and rarely contains several packets.
#[cfg(feature = "quic")]
pub(crate) const MAX_UNDECRYPTED_PER_DATAGRAM: u8 = 2;

/// Consecutive failed decryptions after which a flow is counted as abandoned.
#[cfg(feature = "quic")]
pub(crate) const MAX_UNDECRYPTED: u16 = 16;

/// Datagrams without Initial packets after which a ServerHello is no longer expected.
#[cfg(feature = "quic")]
pub(crate) const MAX_DATAGRAMS_AFTER_ANSWER: u8 = 16;

/// Datagrams without Initial packets after which the rest of a ClientHello is no longer expected.
#[cfg(feature = "quic")]
pub(crate) const MAX_DATAGRAMS_AFTER_HELLO: u8 = 200;

/// Maximum hellos reported per flow: enough for a client that reconnects from the same port, and a bound for hostile
/// flows.
#[cfg(feature = "quic")]
pub(crate) const MAX_HELLOS_PER_QUIC_FLOW: u8 = 64;

/// Maximum length of a datagram that is buffered until it can be decrypted, in bytes.
#[cfg(feature = "quic")]
pub(crate) const MAX_EARLY_DATAGRAM_LEN: usize = 2048;
