//! What was seen lately, in bounded memory and on packet time.

use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::Timestamp;

/// How much an [`IdleMap`] holds, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleLimits {
    /// Entries at most. At the limit the one that was idle for longest goes first, to within a 256th of the idle timeout, a
    /// second at most.
    pub max_entries: usize,
    /// An entry that was not touched for this long, in packet time, goes.
    pub idle_timeout: Duration,
    /// Memory that all entries together may take up beside themselves, in bytes. At the limit the one that was idle for
    /// longest goes first, to within the same while.
    pub max_buffered_bytes: usize,
}

/// What became of the entries of an [`IdleMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdleCounters {
    /// Put in.
    pub inserted: u64,
    /// Gone because they were idle for too long.
    pub expired: u64,
    /// Gone because the map was full.
    pub evicted: u64,
    /// Gone because all of them together took up too much memory.
    pub evicted_for_memory: u64,
    /// Held at present.
    pub held: u64,
    /// Memory that they take up at present beside themselves, in bytes.
    pub buffered_bytes: u64,
}

/// A map whose entries go when they are idle for too long, or idle for longest when there is no room.
///
/// It is a hash index into a slab of entries, which a list links by when they got their place in it. Nothing
/// is allocated for an entry once the slab has grown to its working size.
///
/// Partitions each have a list and an equal part of the limits, so that what goes from one does not depend on the
/// others.
///
/// An entry moves to the front of the list only if it has been in its place for a while (a 256th of the idle timeout, a
/// second at most), so that of a busy entry no neighbour is touched. No entry is found once it was idle for too long all the
/// same, though it may take up room for that while longer; which one goes for want of room is exact to within that while.
#[derive(Debug)]
pub struct IdleMap<K, V> {
    index: HashTable<Place>,
    hasher: RandomState,
    entries: Vec<Entry<K, V>>,
    vacant: u32,
    /// The one touched last; none if it is gone.
    latest: u32,
    partitions: Box<[Partition]>,
    /// Entries of a partition at most.
    capacity: u32,
    idle_nanos: u64,
    /// For how long an entry keeps its place in the list though it is touched.
    stay_nanos: u64,
    /// Memory that the entries of a partition may take up beside themselves, in bytes.
    max_buffered_bytes: usize,
    counters: IdleCounters,
}

/// The list of a partition's entries, and what they take up.
#[derive(Clone, Copy, Debug)]
struct Partition {
    newest: u32,
    oldest: u32,
    len: u32,
    /// When the end of the list was looked at last.
    looked_at: u64,
    /// For how long after that nothing can be found there.
    quiet_nanos: u64,
    buffered_bytes: usize,
}

impl Partition {
    const EMPTY: Self =
        Self { newest: NONE, oldest: NONE, len: 0, looked_at: 0, quiet_nanos: 0, buffered_bytes: 0 };

    fn set_oldest(&mut self, slot: u32) {
        self.oldest = slot;
        self.look_soon();
    }

    /// Has the next call look at the end of the list.
    fn look_soon(&mut self) {
        self.quiet_nanos = 0;
    }
}

/// Where an entry is, with a part of its key's hash, so that no entry is read but the one that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    slot: u32,
    hash: u32,
}

impl Place {
    /// The hash by which the table finds it.
    fn spread(&self) -> u64 {
        spread(self.hash)
    }
}

/// A hash of which both ends tell: the table takes its groups from the one and its tags from the other.
const fn spread(hash: u32) -> u64 {
    (hash as u64) << 32 | hash as u64
}

/// What every touch needs stands together, so that it is in one line of the processor's cache or two.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Entry<K, V> {
    pub(crate) key: K,
    last_seen: u64,
    /// When it got its place in the list: `last_seen`, or a little before.
    placed: u64,
    /// Memory that the value takes up beside its entry, in bytes.
    held: u32,
    /// Towards the one that was placed first.
    older: u32,
    /// Towards the one that was placed last; of a vacant entry, the next vacant one.
    newer: u32,
    partition: u32,
    /// Absent in a vacant entry.
    value: Option<V>,
}

/// The place of an entry in an [`IdleMap`], good until the map is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// The end of a list.
const NONE: u32 = u32::MAX;

/// Entries from the future that are renewed at once at most: time may step back again and again.
const MAX_RENEWALS: u32 = 4;

/// A second.
const MAX_STAY_NANOS: u64 = 1_000_000_000;

impl<K: Copy + Eq + Hash, V> IdleMap<K, V> {
    /// An empty map of one partition.
    pub fn new(limits: &IdleLimits) -> Self {
        Self::with_partitions(limits, 1)
    }

    /// An empty map of so many partitions, each with these limits.
    pub(crate) fn with_partitions(limits: &IdleLimits, partitions: usize) -> Self {
        let idle_nanos = u64::try_from(limits.idle_timeout.as_nanos()).unwrap_or(u64::MAX);
        Self {
            index: HashTable::new(),
            hasher: RandomState::default(),
            entries: Vec::new(),
            vacant: NONE,
            latest: NONE,
            partitions: vec![Partition::EMPTY; partitions].into(),
            capacity: u32::try_from(limits.max_entries).unwrap_or(NONE).clamp(1, NONE.saturating_sub(1)),
            idle_nanos,
            stay_nanos: (idle_nanos >> 8).min(MAX_STAY_NANOS),
            max_buffered_bytes: limits.max_buffered_bytes,
            counters: IdleCounters::default(),
        }
    }

    /// What became of its entries since it was made.
    pub fn counters(&self) -> IdleCounters {
        let buffered_bytes = self.partitions.iter().map(|partition| partition.buffered_bytes as u64).sum();
        IdleCounters { held: self.index.len() as u64, buffered_bytes, ..self.counters }
    }

    /// The value at a place.
    #[inline]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut V> {
        self.entries.get_mut(slot.0 as usize)?.value.as_mut()
    }

    /// The value of `key`, without it counting as seen; also if it went idle since [`expire`](Self::expire).
    pub fn peek(&self, key: &K) -> Option<&V> {
        self.entries.get(self.find(key)? as usize)?.value.as_ref()
    }

    /// The entries, in no certain order, among them some that went idle since [`expire`](Self::expire).
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().filter_map(|entry| Some((&entry.key, entry.value.as_ref()?)))
    }

    /// Notes how much memory a value takes up now beside its entry. At the limit the oldest idle ones go.
    #[inline]
    pub fn set_buffered_bytes(&mut self, slot: Slot, bytes: usize) {
        let Some(entry) = self.entries.get_mut(slot.0 as usize) else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if entry.held == bytes {
            return;
        }
        let before = std::mem::replace(&mut entry.held, bytes) as usize;
        let number = entry.partition;
        let Some(partition) = self.partitions.get_mut(number as usize) else { return };
        partition.buffered_bytes =
            partition.buffered_bytes.saturating_sub(before).saturating_add(bytes as usize);
        if partition.buffered_bytes > self.max_buffered_bytes {
            self.make_room_in_memory(number);
        }
    }

    #[cold]
    fn make_room_in_memory(&mut self, number: u32) {
        while let Some(partition) = self.partitions.get(number as usize) {
            if partition.buffered_bytes <= self.max_buffered_bytes || partition.oldest == NONE {
                return;
            }
            self.remove(partition.oldest);
            self.counters.evicted_for_memory = self.counters.evicted_for_memory.saturating_add(1);
        }
    }

    /// Lets go every entry; the counters stay.
    pub fn clear(&mut self) {
        self.index.clear();
        self.entries.clear();
        (self.vacant, self.latest) = (NONE, NONE);
        self.partitions.fill(Partition::EMPTY);
    }

    /// Takes out the entries that have been idle for too long at `now`: those that are found at the end of the list.
    /// What else has been idle for too long is not found by [`touch`](Self::touch) either, and goes soon.
    ///
    /// Where time has stepped back by more than that, an entry starts to be idle now: none is lost, none stays for ever.
    pub fn expire(&mut self, now: Timestamp) {
        (0..self.partitions.len()).for_each(|partition| self.expire_partition(partition, now.as_nanos()));
    }

    /// As [`expire`](Self::expire), of one partition.
    #[inline]
    fn expire_partition(&mut self, number: usize, now: u64) {
        let Some(partition) = self.partitions.get(number) else { return };
        if now.wrapping_sub(partition.looked_at) >= partition.quiet_nanos {
            self.look(number, now);
        }
    }

    /// Looks at the end of the list, and when to look again: unless time steps back, the entry that is there cannot have
    /// been idle for too long before, however often it is touched meanwhile.
    #[inline(never)]
    fn look(&mut self, number: usize, now: u64) {
        let mut renewals = 0;
        while let Some(partition) = self.partitions.get_mut(number) {
            partition.look_soon();
            let oldest = partition.oldest;
            let Some(entry) = self.entries.get(oldest as usize) else { return };
            if now.abs_diff(entry.last_seen) <= self.idle_nanos {
                let idle_at = entry.last_seen.min(now).saturating_add(self.idle_nanos);
                partition.looked_at = now;
                partition.quiet_nanos = idle_at.saturating_sub(now).saturating_add(1);
                return;
            }
            if entry.last_seen < now {
                self.remove_idle(oldest);
            } else if renewals < MAX_RENEWALS {
                renewals = renewals.saturating_add(1);
                self.renew(oldest, now);
            } else {
                return;
            }
        }
    }

    /// As [`expire`](Self::expire), and finds all of them, unless time has stepped back before: for the end.
    pub fn expire_all(&mut self, now: Timestamp) {
        let now = now.as_nanos();
        for number in 0..self.partitions.len() {
            self.look(number, now);
            let mut slot = self.partitions.get(number).map_or(NONE, |partition| partition.oldest);
            while let Some(entry) = self.entries.get(slot as usize) {
                // Nor are those idle for too long that got their place later.
                if now.saturating_sub(entry.placed) <= self.idle_nanos {
                    break;
                }
                let (newer, is_idle) = (entry.newer, now.saturating_sub(entry.last_seen) > self.idle_nanos);
                if is_idle {
                    self.remove_idle(slot);
                }
                slot = newer;
            }
        }
    }

    /// The place of `key`, which from now on is the most recently seen.
    #[inline(always)]
    pub fn touch(&mut self, key: &K, now: Timestamp) -> Option<Slot> {
        self.touch_mut(key, now).map(|(slot, _)| slot)
    }

    /// As [`touch`](Self::touch), with the value.
    #[inline(always)]
    pub fn touch_mut(&mut self, key: &K, now: Timestamp) -> Option<(Slot, &mut V)> {
        let now = now.as_nanos();
        // What comes, comes in runs.
        let slot = if self.is_latest(key, now) { self.latest } else { self.find_fresh(key, now)? };
        let entry = self.entries.get_mut(slot as usize)?;
        entry.last_seen = now;
        Some((Slot(slot), entry.value.as_mut()?))
    }

    /// Puts in a value whose key [`touch`](Self::touch) did not find, after those that are idle for too long were taken
    /// out. At the limit the oldest idle one goes.
    ///
    /// `None` only if there are 2^32 entries.
    pub fn insert(&mut self, key: K, now: Timestamp, value: V) -> Option<Slot> {
        self.insert_into(0, key, now, value)
    }

    /// As [`insert`](Self::insert), into this partition; `None` also if there is none of this number.
    pub(crate) fn insert_into(&mut self, partition: usize, key: K, now: Timestamp, value: V) -> Option<Slot> {
        let number = u32::try_from(partition).ok()?;
        let now = now.as_nanos();
        self.expire_partition(partition, now);
        self.make_room(partition)?;
        self.counters.inserted = self.counters.inserted.saturating_add(1);
        let (older, newer) = (NONE, NONE);
        self.put(Entry {
            key,
            last_seen: now,
            placed: now,
            held: 0,
            older,
            newer,
            partition: number,
            value: Some(value),
        })
    }

    /// Puts an entry at the front of the list, where there is room.
    #[inline(always)]
    fn put(&mut self, entry: Entry<K, V>) -> Option<Slot> {
        let place = Place { slot: NONE, hash: self.hash_of(&entry.key) };
        let slot = self.vacant;
        let slot = match self.entries.get_mut(slot as usize) {
            Some(vacant) => {
                self.vacant = vacant.newer;
                *vacant = entry;
                slot
            }
            None => {
                let slot = u32::try_from(self.entries.len()).ok()?;
                self.entries.push(entry);
                slot
            }
        };
        let place = Place { slot, ..place };
        self.index.insert_unique(place.spread(), place, Place::spread);
        self.link_newest(slot);
        self.latest = slot;
        Some(Slot(slot))
    }

    /// Takes out the entry of a partition that was placed first if there is no room for a further one. `None` if there is no
    /// such partition.
    fn make_room(&mut self, partition: usize) -> Option<()> {
        let partition = self.partitions.get(partition)?;
        if partition.len >= self.capacity {
            self.remove(partition.oldest);
            self.counters.evicted = self.counters.evicted.saturating_add(1);
        }
        Some(())
    }

    /// Whether the entry that was touched last has this key, and may stay where it is.
    #[inline(always)]
    fn is_latest(&self, key: &K, now: u64) -> bool {
        self.entries.get(self.latest as usize).is_some_and(|entry| {
            entry.key == *key
                && now.saturating_sub(entry.last_seen) <= self.idle_nanos
                && now.abs_diff(entry.placed) <= self.stay_nanos
        })
    }

    /// The place of `key`, if it has not been idle for too long, at the front of the list if that is due.
    #[inline(always)]
    fn find_fresh(&mut self, key: &K, now: u64) -> Option<u32> {
        let slot = self.find(key)?;
        self.latest = slot;
        let entry = self.entries.get(slot as usize)?;
        if now.saturating_sub(entry.last_seen) > self.idle_nanos {
            self.remove_idle(slot);
            return None;
        }
        if now.abs_diff(entry.placed) > self.stay_nanos {
            self.renew(slot, now);
        }
        Some(slot)
    }

    #[inline(always)]
    fn find(&self, key: &K) -> Option<u32> {
        let hash = self.hash_of(key);
        let is_it = |place: &Place| place.hash == hash && self.is_at(place.slot, key);
        self.index.find(spread(hash), is_it).map(|place| place.slot)
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

    /// Sets an entry to the front of its list.
    #[inline(never)]
    fn renew(&mut self, slot: u32, now: u64) {
        self.unlink(slot);
        self.link_newest(slot);
        if let Some(entry) = self.entries.get_mut(slot as usize) {
            (entry.last_seen, entry.placed) = (now, now);
        }
    }

    #[cold]
    fn remove_idle(&mut self, slot: u32) {
        self.remove(slot);
        self.counters.expired = self.counters.expired.saturating_add(1);
    }

    fn remove(&mut self, slot: u32) {
        let Some(entry) = self.entries.get(slot as usize) else { return };
        let wanted = Place { slot, hash: self.hash_of(&entry.key) };
        if let Ok(found) = self.index.find_entry(wanted.spread(), |place| *place == wanted) {
            found.remove();
        }
        self.unlink(slot);
        if self.latest == slot {
            self.latest = NONE;
        }
        let Some(entry) = self.entries.get_mut(slot as usize) else { return };
        entry.value = None;
        entry.newer = self.vacant;
        self.vacant = slot;
        let held = std::mem::take(&mut entry.held) as usize;
        if let Some(partition) = self.partitions.get_mut(entry.partition as usize) {
            partition.buffered_bytes = partition.buffered_bytes.saturating_sub(held);
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Some(entry) = self.entries.get(slot as usize) else { return };
        let Some(partition) = self.partitions.get_mut(entry.partition as usize) else { return };
        let (older, newer) = (entry.older, entry.newer);
        partition.len = partition.len.saturating_sub(1);
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => partition.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => partition.set_oldest(newer),
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let Some(entry) = self.entries.get_mut(slot as usize) else { return };
        let Some(partition) = self.partitions.get_mut(entry.partition as usize) else { return };
        let newest = std::mem::replace(&mut partition.newest, slot);
        (entry.older, entry.newer) = (newest, NONE);
        partition.len = partition.len.saturating_add(1);
        match self.entries.get_mut(newest as usize) {
            Some(entry) => entry.newer = slot,
            None => partition.set_oldest(slot),
        }
    }
}

#[cfg(test)]
mod tests;
