//! Limits of this crate, each with its unit and its reason.

/// Number of TCP matches that each thread caches. The packets of a network repeat few signatures.
pub(crate) const MATCH_CACHE_ENTRIES: usize = 1024;

/// Largest factor of a window multiple (as in p0f).
pub(crate) const MAX_WINDOW_FACTOR: u16 = 1_000;

/// Maximum number of headers in each list of a signature (as in p0f).
pub(crate) const MAX_PATTERN_HEADERS: usize = 32;
