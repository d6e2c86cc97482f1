//! A hash map with idle timeouts, an entry limit and a memory limit, all on packet time.

use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::Timestamp;
use crate::limits::{
    MAX_REFRESHES_PER_CHECK, MAX_REORDER_INTERVAL_NANOS, REORDER_INTERVALS_PER_TIMEOUT_LOG2,
};

/// Limits of an [`IdleMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleLimits {
    /// Maximum number of entries. At the limit the map evicts the entry that was idle for longest, to within 1/256 of
    /// the idle timeout, at most a second.
    pub max_entries: usize,
    /// Idle timeout, in packet time. The map removes an entry that was not touched for longer.
    pub idle_timeout: Duration,
    /// Maximum heap memory of all values beside the map's own, in bytes. At the limit the map evicts the entry that
    /// was idle for longest, with the same tolerance.
    pub max_buffered_bytes: usize,
}

/// Counters of an [`IdleMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdleCounters {
    /// Entries inserted.
    pub inserted: u64,
    /// Entries removed after the idle timeout.
    pub expired: u64,
    /// Entries evicted because the map was full.
    pub evicted: u64,
    /// Entries evicted because all values together exceeded the memory limit.
    pub evicted_for_memory: u64,
    /// Entries in the map now.
    pub entries: u64,
    /// Heap memory of these entries beside the map's own, in bytes.
    pub buffered_bytes: u64,
}

/// A hash map that removes idle entries and evicts the least recently used ones at its limits.
///
/// A hash index points into a slab of entries. A doubly linked list orders the entries by last use. Insertion
/// allocates nothing once the slab has reached its working size.
///
/// Each partition has its own lists and an equal part of the limits, so evictions in one partition do not depend on
/// the others. The flow table has entries of several phases, each with a list and an idle timeout; other maps have one.
///
/// A touch moves an entry to the front of the list only if its last move is older than 1/256 of the idle timeout (at
/// most a second). So touching a busy entry writes to no other entry. Lookups never return an entry beyond its idle
/// timeout, although such an entry may occupy memory that much longer. Eviction order is exact to within the same
/// interval.
#[derive(Debug)]
pub struct IdleMap<K, V> {
    index: HashTable<IndexEntry>,
    hasher: RandomState,
    entries: Vec<Entry<K, V>>,
    free_head: u32,
    /// The slot touched last, or `NONE` if its entry was removed.
    last_touched: u32,
    partitions: Box<[Partition]>,
    /// Maximum number of entries in a partition.
    capacity: u32,
    /// The idle timeout of each phase, in nanoseconds.
    idle_nanos: [u64; PHASES],
    /// Minimum time between two moves of an entry to the front of its list.
    pub(crate) reorder_interval_nanos: u64,
    /// Maximum heap memory of the values in a partition, in bytes.
    max_buffered_bytes: usize,
    counters: IdleCounters,
    /// Values that the map removed and that `is_kept` selects.
    removed: Vec<V>,
    is_kept: fn(&V) -> bool,
}

/// The phase of an entry: the list that it is in. Other maps than the flow table have only [`Open`](Self::Open).
///
/// Entries of the first three are evicted before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Both sides have closed the connection, or one has reset it.
    Ended,
    /// A connection with SYNs of one side alone.
    Opening,
    /// A connection that one side has closed.
    Closing,
    /// A flow of UDP.
    Datagrams,
    Open,
}

/// Number of phases.
const PHASES: usize = Phase::Open as usize + 1;

/// The LRU lists of a partition, one for each phase, with their size.
#[derive(Clone, Copy, Debug)]
struct Partition {
    lists: [List; PHASES],
    len: u32,
    /// Time of the last check for idle entries.
    checked_at: u64,
    /// No entry can expire within this time after that check.
    recheck_after_nanos: u64,
    buffered_bytes: usize,
}

/// The ends of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    most_recent: u32,
    least_recent: u32,
}

impl Partition {
    const EMPTY: Self = Self {
        lists: [List { most_recent: NONE, least_recent: NONE }; PHASES],
        len: 0,
        checked_at: 0,
        recheck_after_nanos: 0,
        buffered_bytes: 0,
    };

    #[inline]
    fn list(&mut self, phase: Phase) -> &mut List {
        #[expect(clippy::indexing_slicing, reason = "there is a list for each phase")]
        &mut self.lists[phase as usize]
    }

    fn set_least_recent(&mut self, phase: Phase, slot: u32) {
        self.list(phase).least_recent = slot;
        self.force_recheck();
    }

    /// The oldest entry of each list that has entries.
    fn oldest(&self) -> impl Iterator<Item = u32> + '_ {
        self.lists.iter().map(|list| list.least_recent).filter(|slot| *slot != NONE)
    }

    /// Makes the next call check for idle entries.
    fn force_recheck(&mut self) {
        self.recheck_after_nanos = 0;
    }
}

/// A slot and 32 bits of its key's hash. The hash bits let a lookup reject other entries without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexEntry {
    slot: u32,
    hash: u32,
}

impl IndexEntry {
    /// Returns the 64-bit hash for the hash table.
    fn expand_hash(&self) -> u64 {
        expand_hash(self.hash)
    }
}

/// Repeats the hash in both halves: the hash table selects groups by the low bits and tags by the high bits.
const fn expand_hash(hash: u32) -> u64 {
    (hash as u64) << 32 | hash as u64
}

/// The fields that a touch needs come first, so that they share one or two cache lines.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Entry<K, V> {
    pub(crate) key: K,
    last_seen: u64,
    /// Time of the last move to the front of the list: `last_seen` or a little before.
    moved_at: u64,
    /// Heap memory of the value, in bytes.
    buffered_bytes: u32,
    /// The next older entry in the list.
    older: u32,
    /// The next newer entry in the list; for a free slot, the next free slot.
    newer: u32,
    partition: u16,
    phase: Phase,
    /// `None` in a free slot.
    value: Option<V>,
}

/// The slot of an entry in an [`IdleMap`], valid until the map changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// The end of a list, and an invalid slot.
const NONE: u32 = u32::MAX;

impl<K: Copy + Eq + Hash, V> IdleMap<K, V> {
    /// Creates an empty map with one partition, whose entries are all of one phase.
    pub fn new(limits: &IdleLimits) -> Self {
        Self::with_partitions(limits, 1)
    }

    /// Creates an empty map with this number of partitions. The limits apply to each partition.
    pub(crate) fn with_partitions(limits: &IdleLimits, partitions: usize) -> Self {
        let idle_nanos = u64::try_from(limits.idle_timeout.as_nanos()).unwrap_or(u64::MAX);
        debug_assert!(partitions <= usize::from(u16::MAX), "entries have the number of their partition");
        Self {
            index: HashTable::new(),
            hasher: RandomState::default(),
            entries: Vec::new(),
            free_head: NONE,
            last_touched: NONE,
            partitions: vec![Partition::EMPTY; partitions].into(),
            capacity: u32::try_from(limits.max_entries).unwrap_or(NONE).clamp(1, NONE.saturating_sub(1)),
            idle_nanos: [idle_nanos; PHASES],
            reorder_interval_nanos: (idle_nanos >> REORDER_INTERVALS_PER_TIMEOUT_LOG2)
                .min(MAX_REORDER_INTERVAL_NANOS),
            max_buffered_bytes: limits.max_buffered_bytes,
            counters: IdleCounters::default(),
            removed: Vec::new(),
            is_kept: |_| false,
        }
    }

    /// Gives the entries of a phase a shorter idle timeout.
    pub(crate) fn set_idle_timeout(&mut self, phase: Phase, timeout_nanos: u64) {
        if let Some(idle_nanos) = self.idle_nanos.get_mut(phase as usize) {
            *idle_nanos = timeout_nanos.min(*idle_nanos);
        }
    }

    /// Keeps the values that the map removes and that `is_kept` selects, for [`take_removed`](Self::take_removed).
    pub(crate) fn keep_removed(&mut self, is_kept: fn(&V) -> bool) {
        self.is_kept = is_kept;
    }

    /// Whether [`take_removed`](Self::take_removed) returns values.
    #[inline(always)]
    pub(crate) fn has_removed(&self) -> bool {
        !self.removed.is_empty()
    }

    /// Returns the values that the map removed since the last call. [`clear`](Self::clear) keeps none.
    pub(crate) fn take_removed(&mut self) -> Vec<V> {
        std::mem::take(&mut self.removed)
    }

    /// Returns the counters since the map was created.
    pub fn counters(&self) -> IdleCounters {
        let buffered_bytes = self.partitions.iter().map(|partition| partition.buffered_bytes as u64).sum();
        IdleCounters { entries: self.index.len() as u64, buffered_bytes, ..self.counters }
    }

    /// Returns the number of entries evicted because the map was full, or because of the memory limit.
    #[inline]
    pub fn evictions(&self) -> u64 {
        self.counters.evicted.saturating_add(self.counters.evicted_for_memory)
    }

    /// Returns the key and the value in a slot.
    pub(crate) fn get(&self, slot: Slot) -> Option<(&K, &V)> {
        let entry = self.entries.get(slot.0 as usize)?;
        Some((&entry.key, entry.value.as_ref()?))
    }

    /// Returns the value in a slot.
    #[inline]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut V> {
        self.entries.get_mut(slot.0 as usize)?.value.as_mut()
    }

    /// Returns the value of `key` without counting it as seen, even if it went idle since [`expire`](Self::expire).
    pub fn peek(&self, key: &K) -> Option<&V> {
        self.entries.get(self.find(key)? as usize)?.value.as_ref()
    }

    /// As [`peek`](Self::peek), with the time at which the entry was touched last.
    pub fn peek_with_time(&self, key: &K) -> Option<(&V, Timestamp)> {
        let entry = self.entries.get(self.find(key)? as usize)?;
        Some((entry.value.as_ref()?, Timestamp::from_nanos(entry.last_seen, 9)))
    }

    /// Returns the keys of each list, those that were idle for longest first.
    pub fn keys_by_age(&self) -> impl Iterator<Item = &K> {
        self.partitions.iter().flat_map(Partition::oldest).flat_map(|oldest| {
            let oldest = self.entries.get(oldest as usize);
            std::iter::successors(oldest, |entry| self.entries.get(entry.newer as usize))
                .map(|entry| &entry.key)
        })
    }

    /// As [`peek`](Self::peek), with a value that can be changed.
    pub fn peek_mut(&mut self, key: &K) -> Option<&mut V> {
        let slot = self.find(key)?;
        self.entries.get_mut(slot as usize)?.value.as_mut()
    }

    /// Removes the entry of `key`, and returns its value.
    pub fn take(&mut self, key: &K) -> Option<V> {
        let slot = self.find(key)?;
        self.remove(slot)
    }

    /// Returns the entries in arbitrary order, including entries that went idle since [`expire`](Self::expire).
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().filter_map(|entry| Some((&entry.key, entry.value.as_ref()?)))
    }

    /// Sets the heap memory of a value. At the limit the map evicts the least recently used entries. Returns whether it
    /// did.
    #[inline]
    pub fn set_buffered_bytes(&mut self, slot: Slot, bytes: usize) -> bool {
        let Some(entry) = self.entries.get_mut(slot.0 as usize) else { return false };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if entry.buffered_bytes == bytes {
            return false;
        }
        let before = std::mem::replace(&mut entry.buffered_bytes, bytes) as usize;
        let partition_index = entry.partition;
        let Some(partition) = self.partitions.get_mut(usize::from(partition_index)) else { return false };
        partition.buffered_bytes =
            partition.buffered_bytes.saturating_sub(before).saturating_add(bytes as usize);
        let is_full = partition.buffered_bytes > self.max_buffered_bytes;
        if is_full {
            self.make_room_in_memory(partition_index);
        }
        is_full
    }

    #[cold]
    fn make_room_in_memory(&mut self, partition_index: u16) {
        while let Some(partition) = self.partitions.get(usize::from(partition_index))
            && partition.buffered_bytes > self.max_buffered_bytes
            // Most entries of the early phases have no heap memory.
            && let Some(oldest) = partition.oldest().min_by_key(|slot| self.moved_at(*slot))
        {
            self.discard(oldest);
            self.counters.evicted_for_memory = self.counters.evicted_for_memory.saturating_add(1);
        }
    }

    /// Removes every entry and keeps the counters.
    pub fn clear(&mut self) {
        self.index.clear();
        self.entries.clear();
        (self.free_head, self.last_touched) = (NONE, NONE);
        self.partitions.fill(Partition::EMPTY);
    }

    /// Removes the entries of some partitions, the least recently used ones first, for [`restore`](Self::restore) of another map.
    pub(crate) fn take_partitions(&mut self, partitions: Range<usize>) -> Vec<Entry<K, V>> {
        let mut taken = Vec::new();
        for partition in partitions {
            while let Some(oldest) =
                self.partitions.get(partition).and_then(|partition| partition.oldest().next())
                && let Some(entry) = self.entries.get(oldest as usize)
            {
                let Entry {
                    key, last_seen, moved_at, buffered_bytes, older, newer, partition, phase, ..
                } = *entry;
                let value = self.remove(oldest);
                taken.push(Entry {
                    key,
                    last_seen,
                    moved_at,
                    buffered_bytes,
                    older,
                    newer,
                    partition,
                    phase,
                    value,
                });
            }
        }
        taken
    }

    /// Adds the entries of another map in their order. The partition `first` of that map is the first one of this map.
    pub(crate) fn restore(&mut self, entries: Vec<Entry<K, V>>, first: usize) {
        for mut entry in entries {
            entry.partition = entry.partition.saturating_sub(u16::try_from(first).unwrap_or(u16::MAX));
            if let Some(partition) = self.partitions.get_mut(usize::from(entry.partition)) {
                partition.buffered_bytes =
                    partition.buffered_bytes.saturating_add(entry.buffered_bytes as usize);
                self.insert_entry(entry);
            }
        }
    }

    /// Removes the idle entries at the end of each list, in a map whose entries are all of one phase.
    /// [`touch`](Self::touch) does not find the remaining idle entries either; a later call removes them.
    ///
    /// If time stepped back by more than the idle timeout, an entry becomes idle from now on, so no entry is lost and
    /// none stays forever.
    pub fn expire(&mut self, now: Timestamp) {
        (0..self.partitions.len()).for_each(|partition| self.expire_partition(partition, now.as_nanos()));
    }

    /// Does the same as [`expire`](Self::expire) for one partition.
    #[inline]
    fn expire_partition(&mut self, partition_index: usize, now: u64) {
        let Some(partition) = self.partitions.get(partition_index) else { return };
        if now.wrapping_sub(partition.checked_at) >= partition.recheck_after_nanos {
            self.check_oldest(partition_index, now);
        }
    }

    /// Removes idle entries from the end of the list and computes the time of the next check. Unless time steps back,
    /// the entry at the end cannot exceed its idle timeout earlier, however often it is touched.
    #[inline(never)]
    fn check_oldest(&mut self, partition_index: usize, now: u64) {
        let (mut refreshes, idle_nanos) = (0, self.idle_nanos_of(Phase::Open));
        while let Some(partition) = self.partitions.get_mut(partition_index) {
            partition.force_recheck();
            let least_recent = partition.list(Phase::Open).least_recent;
            let Some(entry) = self.entries.get(least_recent as usize) else { return };
            if now.abs_diff(entry.last_seen) <= idle_nanos {
                let idle_at = entry.last_seen.min(now).saturating_add(idle_nanos);
                partition.checked_at = now;
                partition.recheck_after_nanos = idle_at.saturating_sub(now).saturating_add(1);
                return;
            }
            if entry.last_seen < now {
                self.remove_idle(least_recent);
            } else if refreshes < MAX_REFRESHES_PER_CHECK {
                refreshes = refreshes.saturating_add(1);
                self.move_to_front(least_recent, Phase::Open, now);
            } else {
                return;
            }
        }
    }

    /// Removes all idle entries, other than [`expire`](Self::expire), which stops at an entry that was touched later. Those
    /// that [`keep_removed`](Self::keep_removed) selects stay for [`take_idle`](Self::take_idle); returns their slots.
    ///
    /// `now` must not step back.
    pub(crate) fn expire_all(&mut self, now: Timestamp) -> Vec<Slot> {
        let (now, mut kept) = (now.as_nanos(), Vec::new());
        let oldest: Vec<u32> = self.partitions.iter().flat_map(Partition::oldest).collect();
        for mut slot in oldest {
            while let Some(entry) = self.entries.get(slot as usize) {
                let idle_nanos = self.idle_nanos_of(entry.phase);
                // Entries that moved to the front later are not idle either.
                if now.saturating_sub(entry.moved_at) <= idle_nanos {
                    break;
                }
                let (newer, is_idle) = (entry.newer, now.saturating_sub(entry.last_seen) > idle_nanos);
                if is_idle && entry.value.as_ref().is_some_and(self.is_kept) {
                    kept.push(Slot(slot));
                } else if is_idle {
                    self.remove_idle(slot);
                }
                slot = newer;
            }
        }
        kept
    }

    /// Removes an idle entry, and returns its value.
    pub(crate) fn take_idle(&mut self, slot: Slot) -> Option<V> {
        self.counters.expired = self.counters.expired.saturating_add(1);
        self.remove(slot.0)
    }

    /// Returns the slots of entries that [`keep_removed`](Self::keep_removed) selects. Entries without heap memory are not
    /// selected.
    pub(crate) fn kept(&self) -> Vec<Slot> {
        if self.partitions.iter().all(|partition| partition.buffered_bytes == 0) {
            return Vec::new();
        }
        let slots = self.entries.iter().zip(0..).filter(|(entry, _)| entry.buffered_bytes > 0);
        let slots = slots.filter(|(entry, _)| entry.value.as_ref().is_some_and(self.is_kept));
        slots.map(|(_, slot)| Slot(slot)).collect()
    }

    /// Returns a time in nanoseconds, at or before which no entry becomes idle, for entries that are inserted or get another phase at
    /// `now` or later, too.
    pub(crate) fn idle_after(&self, now: Timestamp) -> u64 {
        let oldest = self.partitions.iter().flat_map(Partition::oldest);
        let idle_after = oldest
            .filter_map(|oldest| self.entries.get(oldest as usize))
            .map(|entry| entry.moved_at.saturating_add(self.idle_nanos_of(entry.phase)));
        let shortest = self.idle_nanos.iter().min().copied().unwrap_or_default();
        idle_after.min().unwrap_or(u64::MAX).min(now.as_nanos().saturating_add(shortest))
    }

    #[inline(always)]
    fn idle_nanos_of(&self, phase: Phase) -> u64 {
        #[expect(clippy::indexing_slicing, reason = "there is a timeout for each phase")]
        self.idle_nanos[phase as usize]
    }

    /// Moves an entry that was touched at `now` to the list of a phase.
    #[inline]
    pub(crate) fn set_phase(&mut self, Slot(slot): Slot, phase: Phase, now: Timestamp) {
        if self.entries.get(slot as usize).is_some_and(|entry| entry.phase != phase) {
            self.move_to_front(slot, phase, now.as_nanos());
        }
    }

    /// Returns the slot of `key` and marks it as most recently used.
    #[inline(always)]
    pub fn touch(&mut self, key: &K, now: Timestamp) -> Option<Slot> {
        self.touch_mut(key, now).map(|(slot, _)| slot)
    }

    /// Does the same as [`touch`](Self::touch) and also returns the value.
    #[inline(always)]
    pub fn touch_mut(&mut self, key: &K, now: Timestamp) -> Option<(Slot, &mut V)> {
        let now = now.as_nanos();
        // Packets of one flow often arrive in runs.
        let slot = if self.is_last_touched(key, now) { self.last_touched } else { self.find_live(key, now)? };
        let entry = self.entries.get_mut(slot as usize)?;
        entry.last_seen = now;
        Some((Slot(slot), entry.value.as_mut()?))
    }

    /// Inserts a value whose key [`touch`](Self::touch) did not find, after it removed idle entries. At the limit the
    /// map evicts the least recently used entry.
    ///
    /// Returns `None` only if the map has 2^32 entries.
    pub fn insert(&mut self, key: K, now: Timestamp, value: V) -> Option<Slot> {
        self.expire_partition(0, now.as_nanos());
        self.insert_into(0, Phase::Open, key, now, value)
    }

    /// Inserts into a list of a partition as [`insert`](Self::insert) does, and removes no idle entry. Also returns `None` if the
    /// partition does not exist.
    pub(crate) fn insert_into(
        &mut self,
        partition: usize,
        phase: Phase,
        key: K,
        now: Timestamp,
        value: V,
    ) -> Option<Slot> {
        let partition_index = u16::try_from(partition).ok()?;
        let now = now.as_nanos();
        self.make_room(partition)?;
        self.counters.inserted = self.counters.inserted.saturating_add(1);
        let (older, newer) = (NONE, NONE);
        self.insert_entry(Entry {
            key,
            last_seen: now,
            moved_at: now,
            buffered_bytes: 0,
            older,
            newer,
            partition: partition_index,
            phase,
            value: Some(value),
        })
    }

    /// Stores an entry in a free slot and puts it at the front of the list.
    #[inline(always)]
    fn insert_entry(&mut self, entry: Entry<K, V>) -> Option<Slot> {
        let hash = self.hash_of(&entry.key);
        let slot = self.free_head;
        let slot = match self.entries.get_mut(slot as usize) {
            Some(free) => {
                self.free_head = free.newer;
                *free = entry;
                slot
            }
            None => {
                let slot = u32::try_from(self.entries.len()).ok()?;
                self.entries.push(entry);
                slot
            }
        };
        let index_entry = IndexEntry { slot, hash };
        self.index.insert_unique(index_entry.expand_hash(), index_entry, IndexEntry::expand_hash);
        self.link_most_recent(slot);
        self.last_touched = slot;
        Some(Slot(slot))
    }

    fn moved_at(&self, slot: u32) -> Option<u64> {
        self.entries.get(slot as usize).map(|entry| entry.moved_at)
    }

    /// The entry that leaves a full partition first.
    fn first_to_evict(&self, partition: &Partition) -> Option<u32> {
        let rank = |slot: &u32| {
            let entry = self.entries.get(*slot as usize);
            entry.map(|entry| match entry.phase {
                Phase::Ended | Phase::Opening | Phase::Closing => (entry.phase as usize, 0),
                Phase::Datagrams | Phase::Open => (Phase::Datagrams as usize, entry.moved_at),
            })
        };
        partition.oldest().min_by_key(rank)
    }

    /// Evicts the least recently used entry of a full partition. Returns `None` if the partition does not exist.
    fn make_room(&mut self, partition: usize) -> Option<()> {
        let partition = self.partitions.get(partition)?;
        if partition.len >= self.capacity
            && let Some(oldest) = self.first_to_evict(partition)
        {
            self.discard(oldest);
            self.counters.evicted = self.counters.evicted.saturating_add(1);
        }
        Some(())
    }

    /// Whether the entry touched last has this key and needs no move to the front.
    #[inline(always)]
    fn is_last_touched(&self, key: &K, now: u64) -> bool {
        self.entries.get(self.last_touched as usize).is_some_and(|entry| {
            entry.key == *key
                && now.saturating_sub(entry.last_seen) <= self.idle_nanos_of(entry.phase)
                && now.abs_diff(entry.moved_at) <= self.reorder_interval_nanos
        })
    }

    /// Returns the slot of `key` unless its idle timeout passed, and moves the entry to the front if its interval has
    /// passed.
    #[inline(always)]
    fn find_live(&mut self, key: &K, now: u64) -> Option<u32> {
        let slot = self.find(key)?;
        self.last_touched = slot;
        let entry = self.entries.get(slot as usize)?;
        if now.saturating_sub(entry.last_seen) > self.idle_nanos_of(entry.phase) {
            self.remove_idle(slot);
            return None;
        }
        if now.abs_diff(entry.moved_at) > self.reorder_interval_nanos {
            let phase = entry.phase;
            self.move_to_front(slot, phase, now);
        }
        Some(slot)
    }

    #[inline(always)]
    fn find(&self, key: &K) -> Option<u32> {
        let hash = self.hash_of(key);
        let is_match =
            |index_entry: &IndexEntry| index_entry.hash == hash && self.is_at(index_entry.slot, key);
        self.index.find(expand_hash(hash), is_match).map(|index_entry| index_entry.slot)
    }

    #[inline(always)]
    fn is_at(&self, slot: u32, key: &K) -> bool {
        self.entries.get(slot as usize).is_some_and(|entry| entry.key == *key)
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a part of the hash")]
    fn hash_of(&self, key: &K) -> u32 {
        self.hasher.hash_one(key) as u32
    }

    /// Moves an entry to the front of the list of a phase.
    #[inline(never)]
    fn move_to_front(&mut self, slot: u32, phase: Phase, now: u64) {
        self.unlink(slot);
        if let Some(entry) = self.entries.get_mut(slot as usize) {
            (entry.phase, entry.last_seen, entry.moved_at) = (phase, now, now);
        }
        self.link_most_recent(slot);
    }

    #[cold]
    fn remove_idle(&mut self, slot: u32) {
        self.discard(slot);
        self.counters.expired = self.counters.expired.saturating_add(1);
    }

    /// Removes an entry, and keeps its value for [`take_removed`](Self::take_removed).
    fn discard(&mut self, slot: u32) {
        if let Some(value) = self.remove(slot).filter(self.is_kept) {
            self.removed.push(value);
        }
    }

    fn remove(&mut self, slot: u32) -> Option<V> {
        let entry = self.entries.get(slot as usize)?;
        let target = IndexEntry { slot, hash: self.hash_of(&entry.key) };
        if let Ok(found) = self.index.find_entry(target.expand_hash(), |index_entry| *index_entry == target) {
            found.remove();
        }
        self.unlink(slot);
        if self.last_touched == slot {
            self.last_touched = NONE;
        }
        let entry = self.entries.get_mut(slot as usize)?;
        let value = entry.value.take();
        entry.newer = self.free_head;
        self.free_head = slot;
        let freed = std::mem::take(&mut entry.buffered_bytes) as usize;
        if let Some(partition) = self.partitions.get_mut(usize::from(entry.partition)) {
            partition.buffered_bytes = partition.buffered_bytes.saturating_sub(freed);
        }
        value
    }

    fn unlink(&mut self, slot: u32) {
        let Some(entry) = self.entries.get(slot as usize) else { return };
        let Some(partition) = self.partitions.get_mut(usize::from(entry.partition)) else { return };
        let (older, newer, phase) = (entry.older, entry.newer, entry.phase);
        partition.len = partition.len.saturating_sub(1);
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => partition.list(phase).most_recent = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => partition.set_least_recent(phase, newer),
        }
    }

    fn link_most_recent(&mut self, slot: u32) {
        let Some(entry) = self.entries.get_mut(slot as usize) else { return };
        let Some(partition) = self.partitions.get_mut(usize::from(entry.partition)) else { return };
        let phase = entry.phase;
        let most_recent = std::mem::replace(&mut partition.list(phase).most_recent, slot);
        (entry.older, entry.newer) = (most_recent, NONE);
        partition.len = partition.len.saturating_add(1);
        match self.entries.get_mut(most_recent as usize) {
            Some(entry) => entry.newer = slot,
            None => partition.set_least_recent(phase, slot),
        }
    }
}

#[cfg(test)]
mod tests;
