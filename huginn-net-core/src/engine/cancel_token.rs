//! Stops an analysis.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops an analysis from another thread; clones share one state.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Stops the analysis before its next frame, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the analysis shall stop. A reader that waits for input asks.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
