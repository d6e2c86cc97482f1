//! Limits of this crate, each with its unit and its reason.

/// Maximum body length of a ClientHello, in bytes: every list as long as its length field allows, including DTLS's
/// cookie (RFC 6347, section 4.2.1).
pub(crate) const MAX_HELLO_BODY_LEN: usize =
    2 + 32 + (1 + 0xff) + (1 + 0xff) + (2 + 0xffff) + (1 + 0xff) + (2 + 0xffff);

/// Maximum number of alerts of a handshake that are reported: warnings before a fatal one.
#[cfg(feature = "packets")]
pub(crate) const MAX_ALERTS: usize = 8;

/// Search limit for the start of a hello, in bytes of a direction: longer than a CONNECT with a long token, a PROXY
/// header, SOCKS or a dialogue up to STARTTLS.
#[cfg(feature = "packets")]
pub(crate) const MAX_SEARCH_BYTES: u32 = 64 << 10;

/// Read limit after a hello, in bytes of a direction: longer than early data before a second hello.
#[cfg(feature = "packets")]
pub(crate) const MAX_READ_BYTES: u32 = 512 << 10;

/// Read limit within a hello, in bytes of a direction: the longest hello in records of one byte, with as many empty records
/// between them as OpenSSL accepts (32).
#[cfg(feature = "packets")]
pub(crate) const MAX_HELLO_READ_BYTES: u32 = 24 << 20;

/// Limit of the bytes of a direction that are searched again after false starts; bounds the work on hostile input.
#[cfg(feature = "packets")]
pub(crate) const MAX_RESCAN_BYTES: u32 = 1 << 20;

/// Maximum hellos of one side in a handshake: the second one answers a HelloRetryRequest.
#[cfg(feature = "packets")]
pub(crate) const MAX_HELLOS_PER_HANDSHAKE: u8 = 2;

/// Maximum distance of a packet number from the next expected one: more packets than OpenVPN and RDP send without an
/// acknowledgement.
#[cfg(feature = "packets")]
pub(crate) const MAX_PACKETS_AHEAD: u32 = 64;

/// Limit of buffered payloads of a side, in bytes, with [`PAYLOAD_OVERHEAD`]: four times the largest hello in use. It
/// bounds the memory if packets are long; [`MAX_PACKETS_AHEAD`] bounds it if they are short.
#[cfg(feature = "packets")]
pub(crate) const MAX_REORDER_BYTES: usize = 1 << 16;

/// Overhead of a buffered payload, in bytes: its share of a tree node, and allocation slack.
#[cfg(feature = "packets")]
pub(crate) const PAYLOAD_OVERHEAD: usize = 64;

/// Limit of buffered bytes of a DTLS message after a gap: more than any hello in use.
#[cfg(feature = "packets")]
pub(crate) const MAX_DTLS_MESSAGE_BYTES: usize = 1 << 16;

/// Maximum DTLS messages of a side that are buffered before an earlier one is complete: more than a flight has without its hello
/// (RFC 6347, section 4.2.4).
#[cfg(feature = "packets")]
pub(crate) const MAX_DTLS_MESSAGES_AHEAD: u16 = 8;

/// Limit of buffered bytes of the DTLS messages of a side after its hello: a Certificate message of
/// [`MAX_CERTIFICATE_MESSAGE_LEN`] bytes while it grows.
#[cfg(feature = "packets")]
pub(crate) const MAX_DTLS_FLIGHT_BYTES: usize = 2 * MAX_CERTIFICATE_MESSAGE_LEN;

/// Encrypted datagrams after a DTLS ServerHello until the handshake is no longer followed: its end was lost. It leaves room for
/// reordered datagrams, and for those of an earlier association on the same ports.
#[cfg(feature = "packets")]
pub(crate) const MAX_DTLS_DATAGRAMS_AFTER_HELLO: u8 = 64;

/// Maximum length of the first packet of a session, in bytes; more than any MTU in use with OpenVPN.
#[cfg(feature = "packets")]
pub(crate) const MAX_FIRST_OPENVPN_PACKET_LEN: usize = 4096;

/// Maximum hellos read from one side: a handshake has at most two (RFC 8446, section 4.1.4), another handshake may follow a
/// failed one, and what precedes TLS may resemble a few more.
pub(crate) const MAX_HELLOS_PER_SIDE: u8 = 16;

/// Maximum records in a row within a hello that add nothing to it: empty ones, warnings and change_cipher_spec. OpenSSL
/// accepts 32 empty ones, or 5 warnings.
pub(crate) const MAX_IDLE_RECORDS: u8 = 64;

/// Hellos in a cache of each thread: more than the TLS clients of most networks, and few enough for a core's cache.
pub(crate) const FINGERPRINT_CACHE_ENTRIES: usize = 256;

/// Maximum number of extensions of a cached hello, without GREASE: more than [`TYPICAL_EXTENSIONS`].
pub(crate) const MAX_CACHED_EXTENSIONS: usize = 32;

/// Maximum key length of a cached hello, in bytes; its fingerprints take at most about 8 KB.
pub(crate) const MAX_CACHE_KEY_LEN: usize = 384;

/// Maximum length of a cached JA3S, in bytes: the version, the cipher suite and at least nine extensions. A cache of
/// [`FINGERPRINT_CACHE_ENTRIES`] such texts takes at most 40 KB per thread.
pub(crate) const MAX_CACHED_JA3S_LEN: usize = 64;

/// Limit of buffered CRYPTO data of a side, in bytes: four times the largest hello in use.
#[cfg(feature = "quic")]
pub(crate) const MAX_CRYPTO_BYTES: usize = 64 << 10;

/// Maximum ClientHellos of a connection; the second one answers a HelloRetryRequest.
#[cfg(feature = "quic")]
pub(crate) const MAX_HELLOS_PER_CONNECTION: u8 = 2;

/// Maximum Initial packets that a reader of one connection processes. A hello of 64 KiB needs 60.
#[cfg(feature = "quic")]
pub(crate) const MAX_INITIAL_PACKETS: u16 = 256;

/// Maximum failed decryptions per datagram that a reader of one connection allows. A client's datagram has at least 1200
/// bytes (RFC 9000, section 14.1) and rarely contains several packets.
#[cfg(feature = "quic")]
pub(crate) const MAX_UNDECRYPTED_PER_DATAGRAM: u8 = 2;

/// Units of work per datagram that look for the keys of its Initial packets. A decryption takes one unit, about 0.5 µs; the
/// smallest packets, of 40 bytes each, fill 1200 bytes with 30 of them.
#[cfg(feature = "packets")]
pub(crate) const MAX_KEY_SEARCH: u8 = 64;

/// Units of work of a key derivation.
#[cfg(feature = "packets")]
pub(crate) const KEY_DERIVATION: u8 = 10;

/// Maximum contradictions per datagram that add a copy of a CRYPTO stream: each copies at most the data of a stream.
#[cfg(feature = "packets")]
pub(crate) const MAX_NEW_COPIES: u8 = 8;

/// Maximum copies of a handshake stream beside the first one: all combinations of two contents in two packets.
#[cfg(feature = "quic")]
pub(crate) const MAX_STREAM_COPIES: usize = 3;

/// Maximum connections per pair of ports that are followed at a time. Clients that share a socket between connections open
/// a few at a time.
#[cfg(feature = "packets")]
pub(crate) const MAX_CONNECTIONS_PER_FLOW: usize = 16;

/// Maximum ServerHellos of others that are reported after that of a connection.
#[cfg(feature = "packets")]
pub(crate) const MAX_OTHER_ANSWERS: usize = 2;

/// Maximum finished connections per pair of ports whose late packets are recognised.
#[cfg(feature = "packets")]
pub(crate) const MAX_FINISHED_CONNECTIONS: usize = 4;

/// Minimum length of a client's datagram with an Initial packet, in bytes; servers discard shorter ones (RFC 9000, section
/// 14.1).
#[cfg(feature = "quic")]
pub(crate) const MIN_CLIENT_DATAGRAM_LEN: usize = 1200;

/// Failed decryptions after which a reader of one connection gives up.
#[cfg(feature = "quic")]
pub(crate) const MAX_UNDECRYPTED: u16 = 16;

/// Datagrams without Initial packets after which an answer that came first is dropped. It leaves room for reordered packets.
#[cfg(feature = "packets")]
pub(crate) const MAX_DATAGRAMS_AFTER_ANSWER: u8 = 16;

/// Datagrams without Initial packets after which a complete hello is no longer buffered. Its answer may still come, while
/// another connection on the same ports transfers data.
#[cfg(feature = "packets")]
pub(crate) const MAX_DATAGRAMS_AFTER_HELLO: u8 = 200;

/// Maximum length of a datagram that is buffered until it can be decrypted, in bytes: more than an MTU of 1500 bytes
/// allows.
#[cfg(feature = "packets")]
pub(crate) const MAX_EARLY_DATAGRAM_LEN: usize = 2048;

/// Numbers of a JA4 list that are parsed without heap memory; typical lists are shorter.
pub(crate) const INLINE_JA4_NUMBERS: usize = 64;

/// Expected number of extensions of a ClientHello, to reserve memory for a raw JA4. Almost all hellos have at most this
/// many; a longer list grows the buffer.
pub(crate) const TYPICAL_EXTENSIONS: usize = 24;

/// Cipher suites of a ClientHello that are compared without heap memory: more than almost all clients offer.
pub(crate) const INLINE_CIPHER_SUITES: usize = 128;

/// Extensions of a ClientHello that are compared without heap memory: more than almost all clients offer.
pub(crate) const INLINE_EXTENSIONS: usize = 32;

/// Numbers that sorting keeps apart without heap memory. Almost all numbers are sorted as bits of words instead.
pub(crate) const INLINE_UNSORTED_NUMBERS: usize = 16;

/// Length of most JA3S texts, in bytes, to reserve memory. A longer text grows the buffer.
pub(crate) const TYPICAL_JA3S_LEN: usize = 64;

/// Maximum length of the body of a Certificate message, and of a certificate that is parsed, in bytes: Go's limit. OpenSSL
/// accepts 100 KiB by default, GnuTLS 128 KiB. It bounds the memory that parsing takes.
#[cfg(feature = "certificates")]
pub(crate) const MAX_CERTIFICATE_MESSAGE_LEN: usize = 256 << 10;

/// Certificates in a cache of each thread: more than the servers of most networks have.
#[cfg(feature = "certificates")]
pub(crate) const CERTIFICATE_CACHE_ENTRIES: usize = 256;

/// Maximum length of a certificate in the cache, in bytes: more than almost all have. With what is read of it, an entry takes
/// at most about 15 KB.
#[cfg(feature = "certificates")]
pub(crate) const MAX_CACHED_CERTIFICATE_LEN: usize = 4 << 10;

/// Maximum certificates of a message that are read: more than any chain in use. Clients follow about 10.
#[cfg(feature = "certificates")]
pub(crate) const MAX_CERTIFICATES: usize = 16;

/// Maximum names of a certificate that are kept: public authorities allow 100 to 250.
#[cfg(feature = "certificates")]
pub(crate) const MAX_ALTERNATIVE_NAMES: usize = 256;

/// Limit of the names of a certificate that are kept, in bytes: 256 names of 64 bytes.
#[cfg(feature = "certificates")]
pub(crate) const MAX_ALTERNATIVE_NAME_BYTES: usize = 16 << 10;

/// Maximum length of the text of a distinguished name, in bytes. An attribute in use has at most 64 characters (RFC 5280,
/// appendix A.1), and a name about ten.
#[cfg(feature = "certificates")]
pub(crate) const MAX_DISTINGUISHED_NAME_LEN: usize = 2 << 10;

/// Maximum length of a serial number, in bytes: RFC 5280, section 4.1.2.2, allows 20.
#[cfg(feature = "certificates")]
pub(crate) const MAX_SERIAL_LEN: usize = 64;

/// Sizes of RSA keys whose signatures are verified, in bits. Browsers accept 2,048 and more; time grows with the square of the size.
#[cfg(feature = "self-signed")]
pub(crate) const MIN_RSA_KEY_BITS: usize = 512;
#[cfg(feature = "self-signed")]
pub(crate) const MAX_RSA_KEY_BITS: usize = 8192;

/// Maximum authorities of a CertificateRequest message that are read: more than the root stores of browsers have.
#[cfg(feature = "certificates")]
pub(crate) const MAX_AUTHORITIES: usize = 512;

/// Transport parameters of a QUIC client that a fingerprint and an event list: more than four times as many as any client
/// in use sends.
pub const MAX_LISTED_PARAMETERS: usize = 64;

/// Transport parameters that are sorted without heap memory: more than almost all clients send.
pub(crate) const INLINE_TRANSPORT_PARAMETERS: usize = 20;

/// Bytes of a value in a QUIC fingerprint, for parameters whose value is neither an integer nor a list of versions.
pub(crate) const MAX_FINGERPRINTED_VALUE_LEN: usize = 32;

/// Versions of version_information in a QUIC fingerprint.
pub(crate) const MAX_FINGERPRINTED_VERSIONS: usize = 16;

/// Length of most QUIC fingerprints, in bytes, to reserve memory. A longer text grows the buffer.
pub(crate) const TYPICAL_QUIC_FINGERPRINT_LEN: usize = 160;

/// Maximum datagram sizes of a QUIC client that are kept: more datagrams than any hello in use needs.
#[cfg(feature = "quic")]
pub(crate) const MAX_DATAGRAM_SIZES: usize = 8;

/// Maximum length of a UDP payload in a frame of 1500 bytes, which IPv4 leaves. A longer one may hold several datagrams that
/// the network card of its sender would have separated.
#[cfg(feature = "packets")]
pub(crate) const MAX_ETHERNET_DATAGRAM_LEN: usize = 1472;
