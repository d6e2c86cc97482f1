//! Counters of the output queue.

use serde::Serialize;

/// Counters of queued lines. A block of the human format counts as one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OutputCounters {
    /// Written lines.
    pub(crate) written_lines: u64,
    /// Bytes of these lines.
    pub(crate) written_bytes: u64,
    /// Dropped lines: the queue was full, or they could not be written.
    pub(crate) dropped_lines: u64,
    /// Bytes of these lines.
    pub(crate) dropped_bytes: u64,
    /// Dropped lines that found the queue full.
    #[serde(skip)]
    pub(crate) refused_lines: u64,
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

impl OutputCounters {
    /// Adds those of another queue.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            written_lines,
            written_bytes,
            dropped_lines,
            dropped_bytes,
            refused_lines,
            lost_lines,
            queued_lines,
            queued_bytes,
            rotations,
            rotation_errors,
            write_errors,
        } = other;
        for (sum, more) in [
            (&mut self.written_lines, written_lines),
            (&mut self.written_bytes, written_bytes),
            (&mut self.dropped_lines, dropped_lines),
            (&mut self.dropped_bytes, dropped_bytes),
            (&mut self.refused_lines, refused_lines),
            (&mut self.lost_lines, lost_lines),
            (&mut self.queued_lines, queued_lines),
            (&mut self.queued_bytes, queued_bytes),
            (&mut self.rotations, rotations),
            (&mut self.rotation_errors, rotation_errors),
            (&mut self.write_errors, write_errors),
        ] {
            *sum = sum.saturating_add(*more);
        }
    }
}

/// Counters of messages on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct MessageCounters {
    /// Written lines.
    pub(crate) written_lines: u64,
    /// Lines dropped because the reader of standard error stalled.
    pub(crate) dropped_lines: u64,
}
