//! Counts of values, within a limit of memory.

use huginn_net::Timestamp;

use crate::limits::{MAX_INVENTORY_BYTES, MAX_INVENTORY_VALUES};

/// How often something was seen, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    /// Time of the earliest event.
    pub(crate) first: Timestamp,
    /// Time of the latest event.
    pub(crate) last: Timestamp,
}

impl Seen {
    pub(super) fn once(ts: Timestamp) -> Self {
        Self { count: 1, first: ts, last: ts }
    }

    /// Adds what was seen elsewhere. Captures may come in any order.
    pub(super) fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        if other.first.as_nanos() < self.first.as_nanos() {
            self.first = other.first;
        }
        if other.last.as_nanos() > self.last.as_nanos() {
            self.last = other.last;
        }
    }

    /// Joins all of these; `None` without any.
    pub(super) fn join<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        all.into_iter().copied().reduce(|mut joined, seen| {
            joined.add(&seen);
            joined
        })
    }
}

/// Distinct values, each with its count, in the order in which they came.
#[derive(Debug)]
pub(crate) struct SeenList<T>(Vec<(T, Seen)>);

impl<T> Default for SeenList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq> SeenList<T> {
    /// Counts a value. Returns whether there was room for it.
    pub(super) fn add(&mut self, value: T, ts: Timestamp, memory: &mut Memory) -> bool {
        let seen = Seen::once(ts);
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == value) {
            known.add(&seen);
            return true;
        }
        let has_room = self.0.len() < MAX_INVENTORY_VALUES && memory.take(size_of::<(T, Seen)>());
        if has_room {
            self.0.push((value, seen));
        }
        has_room
    }
}

impl<T> SeenList<T> {
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&T, &Seen)> {
        self.0.iter().map(|(value, seen)| (value, seen))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All values together; `None` without any.
    pub(crate) fn total(&self) -> Option<Seen> {
        Seen::join(self.0.iter().map(|(_, seen)| seen))
    }
}

/// The memory of an inventory, in bytes.
#[derive(Debug, Default)]
pub(super) struct Memory(usize);

impl Memory {
    /// Takes memory if there is enough.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let used = self.0.saturating_add(bytes);
        let fits = used <= MAX_INVENTORY_BYTES;
        if fits {
            self.0 = used;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_full_at_its_limit_and_counts_known_values() {
        let (mut list, mut memory) = (SeenList::default(), Memory::default());
        for value in 0..MAX_INVENTORY_VALUES {
            assert!(list.add(value, Timestamp::new(5, 0, 0), &mut memory));
        }
        assert!(!list.add(MAX_INVENTORY_VALUES, Timestamp::new(5, 0, 0), &mut memory));
        assert!(list.add(7, Timestamp::new(3, 0, 0), &mut memory));
        let (_, seen) = list.iter().nth(7).unwrap();
        assert_eq!((seen.count, seen.first.as_secs(), seen.last.as_secs()), (2, 3, 5));
        assert_eq!(list.total().unwrap().count, MAX_INVENTORY_VALUES as u64 + 1);
    }

    #[test]
    fn memory_ends_at_its_limit() {
        let mut memory = Memory::default();
        assert!(memory.take(MAX_INVENTORY_BYTES));
        assert!(!memory.take(1));
        assert!(memory.take(0));
    }
}
