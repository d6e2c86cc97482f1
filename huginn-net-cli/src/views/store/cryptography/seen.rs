//! Counts of values, within a limit of memory.

use huginn_net::Timestamp;

use super::super::bounded::Seen;
use crate::limits::MAX_INVENTORY_BYTES;

/// Maximum number of different values of one kind of a host, such as hellos: each event looks through them.
const MAX_INVENTORY_VALUES: usize = 256;

/// Distinct values, each with its count, in the order in which they came.
#[derive(Debug)]
pub(crate) struct SeenList<T>(Vec<(T, Seen)>);

impl<T> Default for SeenList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq> SeenList<T> {
    /// Counts a value.
    pub(super) fn add(&mut self, value: T, ts: Timestamp, memory: &mut Memory) -> Result<(), Full> {
        let seen = Seen::once(ts);
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == value) {
            known.add(&seen);
            return Ok(());
        }
        if self.0.len() >= MAX_INVENTORY_VALUES {
            return Err(Full::Values);
        }
        memory.take(size_of::<(T, Seen)>())?;
        self.0.push((value, seen));
        Ok(())
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

/// A limit that leaves out an event: that of hosts, or that of values of a host or of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    Hosts,
    Values,
}

/// The memory of an inventory, in bytes.
#[derive(Debug, Default)]
pub(super) struct Memory(usize);

impl Memory {
    /// Takes memory if there is enough.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Full> {
        let used = self.0.saturating_add(bytes);
        if used > MAX_INVENTORY_BYTES {
            return Err(Full::Values);
        }
        self.0 = used;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_full_at_its_limit_and_counts_known_values() {
        let (mut list, mut memory) = (SeenList::default(), Memory::default());
        for value in 0..MAX_INVENTORY_VALUES {
            list.add(value, Timestamp::new(5, 0, 0), &mut memory).unwrap();
        }
        assert!(list.add(MAX_INVENTORY_VALUES, Timestamp::new(5, 0, 0), &mut memory).is_err());
        list.add(7, Timestamp::new(3, 0, 0), &mut memory).unwrap();
        let (_, seen) = list.iter().nth(7).unwrap();
        assert_eq!((seen.count, seen.first.as_secs(), seen.last.as_secs()), (2, 3, 5));
        assert_eq!(list.total().unwrap().count, MAX_INVENTORY_VALUES as u64 + 1);
    }

    #[test]
    fn memory_ends_at_its_limit() {
        let mut memory = Memory::default();
        assert_eq!(memory.take(MAX_INVENTORY_BYTES), Ok(()));
        assert_eq!(memory.take(1), Err(Full::Values));
        assert_eq!(memory.take(0), Ok(()));
    }
}
