//! Maps of bounded memory, and counts with times.

use std::borrow::Borrow;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::ops::Deref;

use foldhash::HashMap;
use huginn_net::Timestamp;
use serde::Serialize;

/// A map of at most `LIMIT` keys. What has a further key is counted.
#[derive(Debug)]
pub(crate) struct Bounded<K, V, const LIMIT: usize> {
    entries: HashMap<K, V>,
    left_out: u64,
}

impl<K, V, const LIMIT: usize> Default for Bounded<K, V, LIMIT> {
    fn default() -> Self {
        Self { entries: HashMap::default(), left_out: 0 }
    }
}

impl<K: Hash + Eq, V, const LIMIT: usize> Bounded<K, V, LIMIT> {
    /// The value of a key; `None` for a further key at the limit.
    pub(crate) fn entry(&mut self, key: K) -> Option<&mut V>
    where
        V: Default,
    {
        self.entry_or(key, V::default)
    }

    /// The value of a key, with that of a new one; `None` for a further key at the limit.
    pub(crate) fn entry_or(&mut self, key: K, new: impl FnOnce() -> V) -> Option<&mut V> {
        let is_full = self.entries.len() >= LIMIT;
        match self.entries.entry(key) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) if !is_full => Some(entry.insert(new())),
            Entry::Vacant(_) => {
                increment(&mut self.left_out);
                None
            }
        }
    }

    pub(crate) fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut()
    }

    /// Number of times that there was no room for a key.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl<K, V, const LIMIT: usize> Deref for Bounded<K, V, LIMIT> {
    type Target = HashMap<K, V>;

    fn deref(&self) -> &HashMap<K, V> {
        &self.entries
    }
}

/// How often something was seen, and the times of the earliest and of the latest event.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

impl Seen {
    pub(crate) fn once(ts: Timestamp) -> Self {
        Self { count: 1, first: ts, last: ts }
    }

    /// Adds what was seen elsewhere. Captures may come in any order.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.count == 0 || other.first.as_nanos() < self.first.as_nanos() {
            self.first = other.first;
        }
        if self.count == 0 || other.last.as_nanos() > self.last.as_nanos() {
            self.last = other.last;
        }
        self.count = self.count.saturating_add(other.count);
    }

    /// Joins all of these; `None` without any.
    pub(crate) fn join<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        all.into_iter().copied().reduce(|mut joined, seen| {
            joined.add(&seen);
            joined
        })
    }
}

/// Adds one.
pub(crate) fn increment(count: &mut u64) {
    *count = count.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_map_has_known_keys_only() {
        let mut map = Bounded::<u8, u8, 2>::default();
        assert!(map.entry(1).is_some() && map.entry(2).is_some() && map.entry(1).is_some());
        assert!(map.entry(3).is_none() && map.entry(3).is_none());
        assert_eq!((map.len(), map.left_out()), (2, 2));
    }
}
