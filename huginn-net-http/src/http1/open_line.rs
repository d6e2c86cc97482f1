//! A line whose end has not come yet, in the search for the next head.

use super::{Probe, first_line};
use crate::Role;
use crate::limits::MAX_HEAD;

/// The bytes of a line so far, which may be the first one of a head.
#[derive(Debug)]
pub(super) struct OpenLine {
    pub(super) bytes: Vec<u8>,
    probe: Probe,
    /// Whether the line is longer than a head.
    is_too_long: bool,
}

impl Default for OpenLine {
    fn default() -> Self {
        Self { bytes: Vec::new(), probe: Probe::Unsure, is_too_long: false }
    }
}

impl OpenLine {
    /// Appends the next bytes. Returns false if no head can begin with this line, or if it is longer than a head.
    ///
    /// Each byte is read once.
    pub(super) fn push(&mut self, role: Role, bytes: &[u8]) -> bool {
        if self.probe != Probe::Yes {
            self.probe = first_line::probe_more(role, &self.bytes, bytes);
        }
        if self.probe == Probe::No {
            return false;
        }
        let room = MAX_HEAD.saturating_sub(self.bytes.len());
        self.is_too_long = bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        !self.is_too_long
    }

    /// Whether a head certainly begins with this line, and the line is longer than a head.
    pub(super) fn is_head_too_long(&self, role: Role) -> bool {
        self.is_too_long && first_line::begins_head(role, &self.bytes)
    }

    /// Heap memory in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
