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
    /// SIGINT ended the analysis; the status is that of shells.
    Interrupted,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Complete => 0,
            Outcome::Failed => 1,
            Outcome::Usage => 2,
            Outcome::Interrupted => 130,
        })
    }
}
