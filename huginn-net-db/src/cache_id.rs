//! Identifies the owner of an entry in the caches of all threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other index or database of the process has. A clone keeps it, so the owner must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheId(u64);

impl Default for CacheId {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
