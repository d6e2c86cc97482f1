//! Limits of this crate, each with its unit and its reason.

/// Bytes kept of a server that speaks before its client, while HTTP/2 is possible: a server preface with its SETTINGS, or a
/// banner.
pub(crate) const MAX_EARLY_SERVER_BYTES: usize = 256;
