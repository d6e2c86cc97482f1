//! Limits and tuning constants of this crate, each with its unit and its reason.

/// Overhead of a buffered chunk in bytes: its share of a tree node and of an allocation. It counts towards the window,
/// so that many tiny chunks cannot take more memory than the window allows.
pub(crate) const CHUNK_OVERHEAD: usize = 64;

/// Number of slots of a cache that a key may occupy. More slots would keep more entries and cost more comparisons per
/// lookup.
pub(crate) const CACHE_WAYS: usize = 4;

/// Maximum capacity of a cache in entries: 16 bits of a hash choose a slot.
pub(crate) const MAX_CACHE_CAPACITY: usize = 1 << 16;

/// Maximum length of a text or header that a message quotes, in bytes: a line of a file may be as long as the file.
pub(crate) const MAX_QUOTED_BYTES: usize = 80;

/// Maximum length of a proxy prefix other than CONNECT, in bytes: SOCKS 5 with the longest method list, name, password and host.
pub(crate) const MAX_PROXY_PREFIX_LEN: usize = 2 + 255 + 3 + 2 * 255 + 4 + 1 + 255 + 2;

/// Maximum length of a head of CONNECT, in bytes: the limit of Apache httpd for a line, which few heads reach.
pub(crate) const MAX_CONNECT_HEAD_LEN: usize = 8 << 10;
