//! Limits of this crate, each with its unit and its reason.

/// Number of TCP matches that each thread caches. The packets of a network repeat few signatures.
pub(crate) const MATCH_CACHE_ENTRIES: usize = 1024;

/// Structural matches of TLS clients that each thread caches: a site has few clients without a known fingerprint.
pub(crate) const STRUCTURAL_CACHE_ENTRIES: usize = 256;

/// Largest factor of a window multiple (as in p0f).
pub(crate) const MAX_WINDOW_FACTOR: u16 = 1_000;

/// Largest window scale of a receive buffer that a program sets. Linux allows 212,992 bytes (`net.core.rmem_max`), which is scale
/// 2; from 3 on, scales are those of automatic buffers.
pub(crate) const MAX_SET_SCALE: u8 = 2;

/// Maximum number of headers in each list of a signature (as in p0f).
pub(crate) const MAX_PATTERN_HEADERS: usize = 32;

/// Bytes of a User-Agent or Server header that are searched for the names of products. Real ones have fewer.
pub(crate) const MAX_CLAIM_LEN: usize = 512;

/// Cipher suites, and extensions, of a hello that is compared with known fingerprints: real clients offer less than half
/// as many, and a hostile hello with thousands must not cost a comparison for each known client.
pub(crate) const MAX_COMPARED_NUMBERS: usize = 256;

/// Differences, in cipher suites and extensions, between a hello and a known fingerprint of the same library. Programs
/// of one library add or omit a few extensions: ALPN, session tickets, status requests.
pub(crate) const MAX_LIBRARY_DIFFERENCES: usize = 4;

/// Minimum number of cipher suites that name a library without extensions: programs choose shorter lists themselves.
pub(crate) const MIN_SUITES_OF_LIBRARY: usize = 12;

/// Hashes of extensions that are computed for one library, transport and version: the recorded libraries have a tenth.
/// A table with many lists of extensions and of signature algorithms must not cost their product.
pub(crate) const MAX_HASHES_OF_LIBRARY: usize = 1 << 16;
