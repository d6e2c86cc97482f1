//! How the program ends.

use std::process::ExitCode;

/// How the program ends: its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was done.
    Complete,
    /// A runtime failure: an unreadable or damaged capture, or output that cannot be written.
    Failed,
    /// Wrong usage.
    Usage,
    /// A watch list had a hit.
    Watched,
    /// SIGINT ended the analysis; the status is that of shells.
    Interrupted,
}

impl Outcome {
    /// The outcome of captures that were read, with a hit of a watch list or without. Damage does not hide a hit: a message has reported it.
    /// SIGINT does, because the analysis has not ended.
    pub(crate) fn with_hit(self, has_hit: bool) -> Self {
        if has_hit && matches!(self, Self::Complete | Self::Failed) { Self::Watched } else { self }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Complete => 0,
            Outcome::Failed => 1,
            Outcome::Usage => 2,
            Outcome::Watched => 3,
            Outcome::Interrupted => 130,
        })
    }
}
