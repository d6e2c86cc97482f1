//! A line whose end has not come yet, in the search for the next head.

use super::{Probe, first_line};
use crate::Role;
use crate::limits::MAX_HEAD;

/// The bytes of a line so far, which may be the first one of a head.
#[derive(Debug)]
pub(super) struct OpenLine {
    bytes: Vec<u8>,
    probe: Probe,
}

impl Default for OpenLine {
    fn default() -> Self {
        Self { bytes: Vec::new(), probe: Probe::Unsure }
    }
}

impl OpenLine {
    /// Appends the next bytes. Returns false if no head begins with this line, or if it is longer than a head.
    ///
    /// Each byte is read once.
    pub(super) fn push(&mut self, role: Role, bytes: &[u8]) -> bool {
        if self.probe != Probe::Yes {
            self.probe = first_line::probe_more(role, &self.bytes, bytes);
        }
        let has_room = self.bytes.len().saturating_add(bytes.len()) <= MAX_HEAD;
        if self.probe == Probe::No || !has_room {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Heap memory in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
