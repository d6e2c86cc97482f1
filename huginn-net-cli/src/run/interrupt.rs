//! The flag that ends an analysis.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// A flag that ends the analysis once it is set; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

/// Which signals set the flag, and what the second SIGINT does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnInterrupt {
    /// SIGINT ends the analysis, so that what was found so far is written; a second one ends the program.
    EndTwice,
    /// SIGINT and SIGTERM end the analysis after the capture that is being read; a second one ends the program.
    #[cfg(unix)]
    EndAfterFile,
    /// SIGINT ends the analysis; a second one is left to a pager, which handles it in its own way.
    LeaveToPager,
    /// SIGINT and SIGTERM end the analysis and the terminal view. SIGHUP ends the program: the terminal is gone.
    EndView,
}

impl Interrupt {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the flag. Returns whether it was set before.
    pub(crate) fn set(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }

    /// The flag, for those who share it.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Sets the flag on signals.
    #[cfg(unix)]
    pub(crate) fn on_signals(&self, what: OnInterrupt) -> Result<(), Failure> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;

        let failed = |source| Failure::Start { doing: "signal handling", source };
        if matches!(what, OnInterrupt::EndTwice | OnInterrupt::EndAfterFile) {
            flag::register_conditional_default(SIGINT, Arc::clone(&self.0)).map_err(failed)?;
        }
        if what == OnInterrupt::EndAfterFile {
            flag::register_conditional_default(SIGTERM, Arc::clone(&self.0)).map_err(failed)?;
        }
        flag::register(SIGINT, Arc::clone(&self.0)).map_err(failed)?;
        if matches!(what, OnInterrupt::EndView | OnInterrupt::EndAfterFile) {
            flag::register(SIGTERM, Arc::clone(&self.0)).map_err(failed)?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    pub(crate) fn on_signals(&self, _what: OnInterrupt) -> Result<(), Failure> {
        Ok(())
    }
}
