//! What is counted of output.

use serde::Serialize;

/// What became of the lines that were pushed. A block of the human format counts as a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OutputCounters {
    /// Lines that were written.
    pub(crate) written_lines: u64,
    /// Bytes of these.
    pub(crate) written_bytes: u64,
    /// Lines that found no room, or were not written when the program ended.
    pub(crate) dropped_lines: u64,
    /// Bytes of these.
    pub(crate) dropped_bytes: u64,
    /// Those of the dropped lines that were queued when the program ended and could not be written, though somebody
    /// might have read them.
    #[serde(skip)]
    pub(crate) left_lines: u64,
    /// Lines that wait to be written.
    pub(crate) queued_lines: u64,
    /// Bytes of these.
    pub(crate) queued_bytes: u64,
    /// Files that were set aside.
    pub(crate) rotations: u64,
    /// Attempts to set a file aside, to remove one set aside, or to open the file anew, which failed.
    pub(crate) rotation_errors: u64,
    /// Attempts to write that failed; what was to be written is tried again.
    pub(crate) write_errors: u64,
}
