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
    pub max_held_bytes: usize,
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
    pub held_bytes: u64,
}

/// A map whose entries go when they are idle for too long, or idle for longest when there is no room.
///
/// It is a hash index into a slab of entries, which a list links by when they got their place in it. Nothing
/// is allocated for an entry once the slab has grown to its working size.
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
    newest: u32,
    oldest: u32,
    capacity: u32,
    idle_nanos: u64,
    /// For how long an entry keeps its place in the list though it is touched.
    stay_nanos: u64,
    held_bytes: usize,
    max_held_bytes: usize,
    counters: IdleCounters,
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
struct Entry<K, V> {
    key: K,
    last_seen: u64,
    /// When it got its place in the list: `last_seen`, or a little before.
    placed: u64,
    /// Memory that the value takes up beside its entry, in bytes.
    held: u32,
    /// Towards the one that was placed first.
    older: u32,
    /// Towards the one that was placed last; of a vacant entry, the next vacant one.
    newer: u32,
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
    /// An empty map.
    pub fn new(limits: &IdleLimits) -> Self {
        let idle_nanos = u64::try_from(limits.idle_timeout.as_nanos()).unwrap_or(u64::MAX);
        Self {
            index: HashTable::new(),
            hasher: RandomState::default(),
            entries: Vec::new(),
            vacant: NONE,
            latest: NONE,
            newest: NONE,
            oldest: NONE,
            capacity: u32::try_from(limits.max_entries).unwrap_or(NONE).clamp(1, NONE.saturating_sub(1)),
            idle_nanos,
            stay_nanos: (idle_nanos >> 8).min(MAX_STAY_NANOS),
            held_bytes: 0,
            max_held_bytes: limits.max_held_bytes,
            counters: IdleCounters::default(),
        }
    }

    /// What became of its entries since it was made.
    pub fn counters(&self) -> IdleCounters {
        IdleCounters { held: self.index.len() as u64, held_bytes: self.held_bytes as u64, ..self.counters }
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
        let entry = |slot: u32| self.entries.get(slot as usize);
        std::iter::successors(entry(self.oldest), move |last| entry(last.newer))
            .filter_map(|entry| Some((&entry.key, entry.value.as_ref()?)))
    }

    /// Notes how much memory a value takes up now beside its entry. At the limit the oldest idle ones go.
    #[inline]
    pub fn note_held(&mut self, slot: Slot, bytes: usize) {
        let Some(entry) = self.entries.get_mut(slot.0 as usize) else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if entry.held == bytes {
            return;
        }
        let before = std::mem::replace(&mut entry.held, bytes);
        self.held_bytes = self.held_bytes.saturating_sub(before as usize).saturating_add(bytes as usize);
        while self.held_bytes > self.max_held_bytes && self.oldest != NONE {
            self.remove(self.oldest);
            self.counters.evicted_for_memory = self.counters.evicted_for_memory.saturating_add(1);
        }
    }

    /// Takes out every entry; the counters stay.
    pub fn clear(&mut self) {
        self.index.clear();
        self.entries.clear();
        self.held_bytes = 0;
        (self.vacant, self.latest) = (NONE, NONE);
        (self.newest, self.oldest) = (NONE, NONE);
    }

    /// Takes out the entries that have been idle for too long at `now`: those that are found at the end of the list.
    /// What else has been idle for too long is not found by [`touch`](Self::touch) either, and goes soon.
    ///
    /// Where time has stepped back by more than that, an entry starts to be idle now: none is lost, none stays for ever.
    #[inline]
    pub fn expire(&mut self, now: Timestamp) {
        let now = now.as_nanos();
        let mut renewals = 0;
        while let Some(entry) = self.entries.get(self.oldest as usize) {
            if now.abs_diff(entry.last_seen) <= self.idle_nanos {
                return;
            }
            if entry.last_seen < now {
                self.remove_idle(self.oldest);
            } else if renewals < MAX_RENEWALS {
                renewals = renewals.saturating_add(1);
                self.renew(self.oldest, now);
            } else {
                return;
            }
        }
    }

    /// As [`expire`](Self::expire), and finds all of them, unless time has stepped back before: for the end.
    pub fn expire_all(&mut self, now: Timestamp) {
        self.expire(now);
        let now = now.as_nanos();
        let mut slot = self.oldest;
        while let Some(entry) = self.entries.get(slot as usize) {
            // Nor are those idle for too long that got their place later.
            if now.saturating_sub(entry.placed) <= self.idle_nanos {
                return;
            }
            let (newer, is_idle) = (entry.newer, now.saturating_sub(entry.last_seen) > self.idle_nanos);
            if is_idle {
                self.remove_idle(slot);
            }
            slot = newer;
        }
    }

    /// The place of `key`, which from now on is the most recently seen.
    #[inline(always)]
    pub fn touch(&mut self, key: &K, now: Timestamp) -> Option<Slot> {
        // What comes, comes in runs.
        let slot = if self.is_at(self.latest, key) { self.latest } else { self.find(key)? };
        self.latest = slot;
        let entry = self.entries.get_mut(slot as usize)?;
        let now = now.as_nanos();
        if now.saturating_sub(entry.last_seen) > self.idle_nanos {
            self.remove_idle(slot);
            return None;
        }
        entry.last_seen = now;
        if now.abs_diff(entry.placed) > self.stay_nanos {
            self.renew(slot, now);
        }
        Some(Slot(slot))
    }

    /// Puts in a value whose key [`touch`](Self::touch) did not find. At the limit the oldest idle one goes.
    ///
    /// `None` only if there are 2^32 entries.
    pub fn insert(&mut self, key: K, now: Timestamp, value: V) -> Option<Slot> {
        if self.index.len() >= self.capacity as usize {
            self.remove(self.oldest);
            self.counters.evicted = self.counters.evicted.saturating_add(1);
        }
        self.counters.inserted = self.counters.inserted.saturating_add(1);
        let now = now.as_nanos();
        let (older, newer) = (NONE, NONE);
        let entry = Entry { key, last_seen: now, placed: now, held: 0, older, newer, value: Some(value) };
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
        let place = Place { slot, hash: self.hash_of(&key) };
        self.index.insert_unique(place.spread(), place, Place::spread);
        self.link_newest(slot);
        self.latest = slot;
        Some(Slot(slot))
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

    /// Sets an entry to the front of the list.
    #[inline(never)]
    fn renew(&mut self, slot: u32, now: u64) {
        if slot != self.newest {
            self.unlink(slot);
            self.link_newest(slot);
        }
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
        if let Some(entry) = self.entries.get_mut(slot as usize) {
            entry.value = None;
            entry.newer = self.vacant;
            self.vacant = slot;
            let held = std::mem::take(&mut entry.held) as usize;
            self.held_bytes = self.held_bytes.saturating_sub(held);
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Some(entry) = self.entries.get(slot as usize) else { return };
        let (older, newer) = (entry.older, entry.newer);
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let newest = self.newest;
        if let Some(entry) = self.entries.get_mut(slot as usize) {
            (entry.older, entry.newer) = (newest, NONE);
        }
        match self.entries.get_mut(newest as usize) {
            Some(entry) => entry.newer = slot,
            None => self.oldest = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::FlowKey;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::new(seconds, 0, 0)
    }

    fn table(max_entries: usize, idle_seconds: u64) -> IdleMap<FlowKey, u32> {
        let idle_timeout = Duration::from_secs(idle_seconds);
        IdleMap::new(&IdleLimits { max_entries, idle_timeout, max_held_bytes: usize::MAX })
    }

    #[test]
    fn an_idle_flow_ends_on_packet_time_and_not_before() {
        let mut table = table(10, 300);
        let key = FlowKey::numbered(1);
        table.insert(key, at(100), 7);
        table.expire(at(400));
        assert_eq!((table.peek(&key), table.peek(&FlowKey::numbered(2))), (Some(&7), None));
        assert!(table.touch(&key, at(400)).is_some());
        table.expire(at(700));
        assert!(table.touch(&key, at(700)).is_some(), "touching renews");
        table.expire(at(1001));
        assert!(table.touch(&key, at(1001)).is_none());
        assert_eq!((table.peek(&key), table.counters().expired), (None, 1), "peeking renews nothing");
    }

    #[test]
    fn a_time_stamp_far_in_the_future_keeps_no_flow_for_ever() {
        let mut table = table(10, 300);
        table.insert(FlowKey::numbered(1), at(1_000_000), 1);
        table.insert(FlowKey::numbered(2), at(1000), 2);
        table.expire(at(1100));
        assert_eq!(table.counters().held, 2, "time stepped back");
        table.expire(at(1301));
        table.expire(at(1401));
        assert_eq!((table.counters().held, table.counters().expired), (0, 2));
    }

    #[test]
    fn the_least_recently_seen_goes_first_at_the_limit() {
        let mut table = table(3, 300);
        for n in 0..3 {
            table.insert(FlowKey::numbered(n), at(u64::from(n)), n);
        }
        table.touch(&FlowKey::numbered(0), at(3));
        table.insert(FlowKey::numbered(3), at(4), 3);
        let held: Vec<bool> = (0..4).map(|n| table.touch(&FlowKey::numbered(n), at(5)).is_some()).collect();
        assert_eq!(held, [true, false, true, true]);
        assert_eq!(
            table.counters(),
            IdleCounters { inserted: 4, evicted: 1, held: 3, ..IdleCounters::default() }
        );
    }

    #[test]
    fn a_million_flows_use_no_more_entries_than_the_limit() {
        let mut table = table(1000, 300);
        for n in 0..1_000_000 {
            table.insert(FlowKey::numbered(n), at(0), n);
        }
        assert_eq!(table.entries.len(), 1000);
        assert_eq!(table.counters().evicted, 999_000);
    }

    #[test]
    fn flows_that_take_up_too_much_memory_go_oldest_first() {
        let mut table = IdleMap::new(&IdleLimits {
            max_entries: 10,
            idle_timeout: Duration::from_secs(300),
            max_held_bytes: 1000,
        });
        for n in 0..5 {
            let slot = table.insert(FlowKey::numbered(n), at(0), n).unwrap();
            table.note_held(slot, 100);
            table.note_held(slot, 300);
        }
        let held: Vec<bool> = (0..5).map(|n| table.touch(&FlowKey::numbered(n), at(0)).is_some()).collect();
        assert_eq!(held, [false, false, true, true, true]);
        let counters = table.counters();
        assert_eq!((counters.evicted_for_memory, counters.held_bytes), (2, 900));
        let slot = table.touch(&FlowKey::numbered(4), at(0)).unwrap();
        table.note_held(slot, 0);
        assert_eq!(table.counters().held_bytes, 600);
        table.note_held(slot, 2000);
        assert_eq!(
            (table.counters().held, table.counters().held_bytes),
            (0, 0),
            "one that is too big alone goes"
        );
        table.insert(FlowKey::numbered(9), at(0), 9);
        table.clear();
        assert_eq!(table.counters().held_bytes, 0);
    }

    proptest! {
        /// Against a plain list that is searched from one end to the other, in quarters of the time that an entry stays
        /// in its place.
        #[test]
        fn behaves_like_a_list_in_order_of_last_sight(
            steps in prop::collection::vec((0_u32..40, -900_i64..1100), 1..400),
            is_steady: bool,
        ) {
            const IDLE: u64 = 1_024;
            const STAY: u64 = IDLE / 256;
            let at = |now: u64| Timestamp::from_nanos(now * 1_000_000);
            let idle_timeout = Duration::from_millis(IDLE);
            let mut table = IdleMap::new(&IdleLimits { max_entries: 12, idle_timeout, max_held_bytes: usize::MAX });
            // Number, when it was seen, and when it got its place.
            let mut list: VecDeque<(u32, u64, u64)> = VecDeque::new();
            let mut now = 1_000_000_u64;
            for (n, pause) in steps {
                // Most steps are small.
                let pause = if pause.rem_euclid(8) == 0 { pause } else { pause.rem_euclid(7) };
                now = now.saturating_add_signed(if is_steady { pause.abs() } else { pause });
                table.expire(at(now));
                let mut renewals = 0;
                while let Some((held, seen, _)) = list.front().copied().filter(|(_, seen, _)| now.abs_diff(*seen) > IDLE) {
                    if seen > now {
                        renewals += 1;
                        if renewals > MAX_RENEWALS {
                            break;
                        }
                        list.push_back((held, now, now));
                    }
                    list.pop_front();
                }
                let idle = |(_, seen, _): (u32, u64, u64)| now.saturating_sub(seen) > IDLE;
                if list.iter().position(|(held, ..)| *held == n).is_some_and(|place| idle(list[place])) {
                    list.retain(|(held, ..)| *held != n);
                }
                let slot = table.touch(&FlowKey::numbered(n), at(now));
                let known = list.iter().position(|(held, ..)| *held == n);
                prop_assert_eq!(slot.is_some(), known.is_some());
                match (slot, known) {
                    (Some(slot), Some(place)) => {
                        prop_assert_eq!(table.get_mut(slot).copied(), Some(n));
                        if now.abs_diff(list[place].2) > STAY {
                            list.remove(place);
                            list.push_back((n, now, now));
                        } else {
                            list[place].1 = now;
                        }
                    }
                    _ => {
                        table.insert(FlowKey::numbered(n), at(now), n);
                        if list.len() == 12 {
                            list.pop_front();
                        }
                        list.push_back((n, now, now));
                    }
                }
                prop_assert_eq!(table.counters().held, list.len() as u64);
            }
            table.expire_all(at(now));
            let living = list.iter().filter(|(_, seen, _)| now.saturating_sub(*seen) <= IDLE).count();
            prop_assert!(!is_steady || table.counters().held == living as u64);
            let IdleCounters { inserted, expired, evicted, held, .. } = table.counters();
            prop_assert_eq!(inserted, expired + evicted + held);
        }
    }
}
