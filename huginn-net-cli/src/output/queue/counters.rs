//! Counters of the output queue.

use serde::Serialize;

/// Counters of queued lines. A block of the human format counts as one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OutputCounters {
    /// Written lines.
    pub(crate) written_lines: u64,
    /// Bytes of these lines.
    pub(crate) written_bytes: u64,
    /// Lines dropped because the queue was full or the program ended.
    pub(crate) dropped_lines: u64,
    /// Bytes of these lines.
    pub(crate) dropped_bytes: u64,
    /// Dropped lines, but for those after the reader closed the pipe: the program then fails at its end.
    #[serde(skip)]
    pub(crate) lost_lines: u64,
    /// Queued lines.
    pub(crate) queued_lines: u64,
    /// Bytes of these lines.
    pub(crate) queued_bytes: u64,
    /// Rotations.
    pub(crate) rotations: u64,
    /// Failed attempts to rotate, to remove a rotated file or to reopen the file.
    pub(crate) rotation_errors: u64,
    /// Failed writes, which are retried.
    pub(crate) write_errors: u64,
}

/// Counters of messages on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct MessageCounters {
    /// Written lines.
    pub(crate) written_lines: u64,
    /// Lines dropped because the reader of standard error stalled.
    pub(crate) dropped_lines: u64,
}
