//! A table of hosts whose proven entries are not evicted for others.

use std::hash::Hash;
use std::time::Duration;

use huginn_net_core::{IdleLimits, IdleMap, Slot, Timestamp};

use super::Seen;
use crate::limits::FINDING_IDLE_SECS;

/// Entries about hosts. Those of hosts whose handshakes prove their addresses have a map of their own, so that a flood of packets
/// with forged addresses evicts none of them. The limits apply to each of the two maps.
#[derive(Debug)]
pub(super) struct ByProof<K, V> {
    unproven: IdleMap<K, V>,
    proven: IdleMap<K, V>,
    heap_bytes: fn(&V) -> usize,
}

/// The place of an entry, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) is_proven: bool,
    slot: Slot,
}

impl<K: Copy + Eq + Hash, V> ByProof<K, V> {
    /// A table whose entries are forgotten after the idle timeout of conclusions. `heap_bytes`: the heap memory of a value;
    /// `max_bytes` limits that of all.
    pub(super) fn new(max_entries: usize, max_bytes: usize, heap_bytes: fn(&V) -> usize) -> Self {
        let idle_timeout = Duration::from_secs(FINDING_IDLE_SECS);
        Self::with_limits(
            &IdleLimits { max_entries, idle_timeout, max_buffered_bytes: max_bytes },
            heap_bytes,
        )
    }

    pub(super) fn with_limits(limits: &IdleLimits, heap_bytes: fn(&V) -> usize) -> Self {
        Self { unproven: IdleMap::new(limits), proven: IdleMap::new(limits), heap_bytes }
    }

    /// Number of entries.
    #[cfg(test)]
    pub(super) fn entries(&self) -> u64 {
        self.unproven.counters().entries.saturating_add(self.proven.counters().entries)
    }

    /// Number of entries that were evicted.
    pub(super) fn evicted(&self) -> u64 {
        self.unproven.evictions().saturating_add(self.proven.evictions())
    }

    /// Returns the value of a key, and marks it as most recently used.
    pub(super) fn touch_mut(&mut self, key: &K, now: Timestamp) -> Option<(Place, &mut V)> {
        let is_proven = self.proven.touch(key, now).is_some();
        let (slot, value) = self.map_mut(is_proven).touch_mut(key, now)?;
        Some((Place { is_proven, slot }, value))
    }

    /// As [`touch_mut`](Self::touch_mut), for a key that may be new.
    pub(super) fn touch_or_insert(
        &mut self,
        key: K,
        now: Timestamp,
        is_proven: bool,
        new: impl FnOnce() -> V,
    ) -> Option<(Place, &mut V)> {
        let place = self.touch_mut(&key, now).map(|(place, _)| place);
        let place = place.or_else(|| self.insert(key, now, new(), is_proven))?;
        Some((place, self.map_mut(place.is_proven).get_mut(place.slot)?))
    }

    /// Inserts a value whose key [`touch_mut`](Self::touch_mut) did not find.
    pub(super) fn insert(&mut self, key: K, now: Timestamp, value: V, is_proven: bool) -> Option<Place> {
        let slot = self.map_mut(is_proven).insert(key, now, value)?;
        Some(Place { is_proven, slot })
    }

    /// Moves an entry to the proven ones.
    pub(super) fn prove(&mut self, key: K, now: Timestamp) {
        // An idle entry counts no more.
        if self.unproven.touch(&key, now).is_none() {
            return;
        }
        let Some(value) = self.unproven.take(&key) else { return };
        if let Some(place) = self.insert(key, now, value, true) {
            self.measure(place);
        }
    }

    /// Returns the value of a key without counting it as used.
    pub(super) fn peek_mut(&mut self, key: &K) -> Option<&mut V> {
        self.proven.peek_mut(key).or_else(|| self.unproven.peek_mut(key))
    }

    /// Counts the heap memory of a value that has changed.
    pub(super) fn measure(&mut self, place: Place) {
        let (heap_bytes, map) = (self.heap_bytes, self.map_mut(place.is_proven));
        if let Some(bytes) = map.get_mut(place.slot).map(|value| heap_bytes(value)) {
            map.set_buffered_bytes(place.slot, bytes);
        }
    }

    fn map_mut(&mut self, is_proven: bool) -> &mut IdleMap<K, V> {
        if is_proven { &mut self.proven } else { &mut self.unproven }
    }
}

impl<K: Copy + Eq + Hash> ByProof<K, ()> {
    /// Notes that something is reported. Returns whether it was reported without proof before; `None` if this report is nothing new.
    pub(super) fn note(&mut self, key: K, seen: &Seen<'_>) -> Option<bool> {
        let Seen { now, is_proven, .. } = *seen;
        match self.touch_mut(&key, now).map(|(place, ())| place.is_proven) {
            None => {
                self.insert(key, now, (), is_proven);
                Some(false)
            }
            Some(false) if is_proven => {
                self.prove(key, now);
                Some(true)
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unproven_entries_evict_no_proven_one() {
        let limits =
            IdleLimits { max_entries: 4, idle_timeout: Duration::from_secs(60), max_buffered_bytes: 100 };
        let mut table = ByProof::with_limits(&limits, |value| if *value == "forged" { 40 } else { 50 });
        let now = |secs: u64| Timestamp::from_nanos(secs * 1_000_000_000, 9);
        table.insert(0, now(1), "proven at once", true);
        table.insert(1, now(1), "proven later", false);
        table.prove(1, now(2));
        for key in 2..100 {
            let place = table.insert(key, now(2), "forged", false).unwrap();
            table.measure(place);
        }
        assert_eq!(table.evicted(), 96);
        assert_eq!(table.touch_mut(&0, now(3)).map(|(_, value)| *value), Some("proven at once"));
        let (place, value) = table.touch_mut(&1, now(3)).unwrap();
        assert_eq!((place.is_proven, *value), (true, "proven later"));
        assert_eq!(table.entries(), 4, "two forged entries have room");
    }
}
