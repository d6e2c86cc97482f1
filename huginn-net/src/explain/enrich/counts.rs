//! How often fingerprints occur in the input.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::clients::ClientValue;

/// Maximum number of fingerprints whose lines `enrich` counts: 24 MiB.
const MAX_COUNTED_FINGERPRINTS: usize = 1 << 18;

/// How often a fingerprint occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// Number of lines with it.
    pub(super) seen: u64,
    /// Number of lines with any fingerprint.
    pub(super) lines: u64,
}

/// Lines by fingerprint.
#[derive(Debug, Default)]
pub(super) struct Counts {
    seen: HashMap<ClientValue, u64, RandomState>,
    lines: u64,
    /// Whether all lines were counted in a first reading.
    is_complete: bool,
    /// Number of lines with a fingerprint that got no count.
    pub(super) uncounted: u64,
}

impl Counts {
    /// Counts a line. `None` if its fingerprint has no count: there are too many others, or the first reading did not see it.
    pub(super) fn take(&mut self, fingerprint: ClientValue) -> Option<Count> {
        let is_full = self.is_complete || self.seen.len() >= MAX_COUNTED_FINGERPRINTS;
        if !self.is_complete {
            self.lines = self.lines.saturating_add(1);
        }
        let lines = self.lines;
        let Some(seen) = self.seen.get_mut(&fingerprint) else {
            if is_full {
                self.uncounted = self.uncounted.saturating_add(1);
                return None;
            }
            self.seen.insert(fingerprint, 1);
            return Some(Count { seen: 1, lines });
        };
        if !self.is_complete {
            *seen = seen.saturating_add(1);
        }
        Some(Count { seen: *seen, lines })
    }

    /// Takes the counts so far for those of the input.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
        self.uncounted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_beyond_the_limit_get_no_count() {
        let mut counts = Counts::default();
        let hash = |number: usize| {
            let mut hash = [0; 16];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            ClientValue::Hassh(hash)
        };
        for number in 0..MAX_COUNTED_FINGERPRINTS {
            assert!(counts.take(hash(number)).is_some_and(|count| count.seen == 1));
        }
        assert_eq!((counts.take(hash(usize::MAX)), counts.uncounted), (None, 1));
        let lines = MAX_COUNTED_FINGERPRINTS as u64 + 2;
        assert_eq!(counts.take(hash(0)), Some(Count { seen: 2, lines }));
        assert_eq!(counts.seen.len(), MAX_COUNTED_FINGERPRINTS);
    }
}
