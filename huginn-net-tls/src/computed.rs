//! Values computed on demand.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// A value derived from its owner, computed on first use and cached.
///
/// All values are equal, because the owner's other fields determine them.
#[derive(Clone)]
pub(crate) struct Computed<T>(OnceLock<T>);

impl<T> Computed<T> {
    pub(crate) fn get_or_init(&self, compute: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(compute)
    }
}

impl<T> Default for Computed<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> PartialEq for Computed<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Computed<T> {}

impl<T> Hash for Computed<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T: fmt::Debug> fmt::Debug for Computed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.get().fmt(f)
    }
}
