//! A bounded cache of values computed from repeated keys.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::hash::{BuildHasher, Hash};
use std::thread::LocalKey;

use foldhash::fast::RandomState;

use crate::limits::{CACHE_WAYS, MAX_CACHE_CAPACITY};

/// A bounded cache of values computed from repeated keys.
///
/// - **Capacity**: fixed when the cache is created. A key may occupy one of four slots, which its hash chooses. The
///   cache copies keys of any length; the caller bounds their length.
/// - **Admission**: the cache computes and stores a value when its key misses for the second time. A key that occurs
///   once displaces nothing and costs no copy.
/// - **At capacity**: the cache moves an entry to another of its four slots if one is free. If none is, the new entry
///   replaces one of the four; the choice rotates, so no two keys displace each other forever.
/// - **Hash**: seeded at random for each process. An attacker cannot choose keys that collide.
/// - **Cost of a lookup**: one hash of the key and at most eight comparisons of hashes. A hit adds one comparison of
///   keys and one clone of the value. Only admission allocates.
///
/// ```
/// use huginn_net_wire::SeenCache;
///
/// let mut lengths = SeenCache::<str, usize>::new(256);
/// let mut length_of = |text: &str| lengths.get_or_admit(text, || text.len());
/// assert_eq!(length_of("curl"), None);
/// assert_eq!(length_of("curl"), Some(4), "admitted");
/// assert_eq!(length_of("curl"), Some(4), "found");
/// ```
pub struct SeenCache<K: ToOwned + ?Sized, V> {
    hasher: RandomState,
    /// Hash of the stored key, by slot. Most misses read nothing else.
    stored: Box<[u64]>,
    /// Hash of a key that missed, by slot.
    missed: Box<[u64]>,
    entries: Box<[Option<Entry<K, V>>]>,
    /// The number of misses, which rotates through a key's slots.
    misses: u8,
}

struct Entry<K: ToOwned + ?Sized, V> {
    key: K::Owned,
    value: V,
}

impl<K: Eq + Hash + ToOwned + ?Sized, V: Clone> SeenCache<K, V> {
    /// Creates an empty cache of `capacity` entries, rounded up to a power of two from 4 to 65,536.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(CACHE_WAYS, MAX_CACHE_CAPACITY).next_power_of_two();
        let zeros = || vec![0; capacity].into_boxed_slice();
        Self {
            hasher: RandomState::default(),
            stored: zeros(),
            missed: zeros(),
            entries: (0..capacity).map(|_| None).collect(),
            misses: 0,
        }
    }

    /// Looks a key up in a cache of this thread, as [`get_or_admit`](Self::get_or_admit) does.
    ///
    /// Also returns `None` while the thread ends, and if `compute` itself looks up the same cache.
    #[inline]
    pub fn recall(
        thread_local: &'static LocalKey<RefCell<Self>>,
        key: &K,
        compute: impl FnOnce() -> V,
    ) -> Option<V> {
        thread_local.try_with(|cache| cache.try_borrow_mut().ok()?.get_or_admit(key, compute)).ok()?
    }

    /// Returns the value of a key that missed before, and computes it if it is not stored. Returns `None` for other keys.
    ///
    /// `compute` must return the same value whenever it is called for one key.
    #[inline]
    pub fn get_or_admit(&mut self, key: &K, compute: impl FnOnce() -> V) -> Option<V> {
        let hash = self.hasher.hash_one(key);
        for slot in self.slots(hash) {
            if self.stored.get(slot) == Some(&hash)
                && let Some(entry) = self.entry(slot).filter(|entry| entry.key.borrow() == key)
            {
                return Some(entry.value.clone());
            }
        }
        self.miss(hash, key, compute)
    }

    /// Records the first miss of a key, and admits the key at its second miss.
    #[inline(never)]
    fn miss(&mut self, hash: u64, key: &K, compute: impl FnOnce() -> V) -> Option<V> {
        let slots = self.slots(hash);
        self.misses = self.misses.wrapping_add(1);
        let next = *slots.get(usize::from(self.misses) % CACHE_WAYS)?;
        if !slots.into_iter().any(|slot| self.missed.get(slot) == Some(&hash)) {
            *self.missed.get_mut(next)? = hash;
            return None;
        }
        let slot = self.free_slot(slots).or_else(|| self.make_room(slots)).unwrap_or(next);
        let value = compute();
        *self.stored.get_mut(slot)? = hash;
        *self.entries.get_mut(slot)? = Some(Entry { key: key.to_owned(), value: value.clone() });
        Some(value)
    }

    fn free_slot(&self, slots: [usize; CACHE_WAYS]) -> Option<usize> {
        slots.into_iter().find(|slot| self.entry(*slot).is_none())
    }

    /// Moves the entry of one of these slots to another of the entry's slots, if one is free.
    fn make_room(&mut self, slots: [usize; CACHE_WAYS]) -> Option<usize> {
        let (slot, free) = slots.into_iter().find_map(|slot| {
            let hash = *self.stored.get(slot)?;
            Some((slot, self.free_slot(self.slots(hash))?))
        })?;
        self.stored.swap(slot, free);
        self.entries.swap(slot, free);
        Some(slot)
    }

    fn entry(&self, slot: usize) -> Option<&Entry<K, V>> {
        self.entries.get(slot)?.as_ref()
    }

    /// Returns the slots of a key with this hash.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
    fn slots(&self, hash: u64) -> [usize; CACHE_WAYS] {
        let mask = self.stored.len().wrapping_sub(1);
        [hash, hash >> 16, hash >> 32, hash >> 48].map(|bits| bits as usize & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(capacity: usize) -> SeenCache<u64, u64> {
        SeenCache::new(capacity)
    }

    #[test]
    fn keys_have_their_own_values() {
        let mut cache = SeenCache::<[u8], u64>::new(256);
        let mut found = 0;
        for _ in 0..9 {
            for number in 0..1000_u64 {
                let value = number / 3;
                let key = value.to_be_bytes();
                let key = &key[usize::from(value < 256) * 7..];
                let result = cache.get_or_admit(key, || value);
                assert!(result.is_none_or(|result| result == value), "{number}");
                found += u32::from(result.is_some());
            }
        }
        assert!(found > 4500, "{found}");
    }

    #[test]
    fn value_is_computed_at_second_miss() {
        for key in [&[][..], b"k", &[b'k'; 1000]] {
            let (mut cache, mut computed) = (SeenCache::<[u8], u64>::new(256), 0);
            let mut value = || {
                cache.get_or_admit(key, || {
                    computed += 1;
                    5
                })
            };
            assert_eq!([value(), value(), value()], [None, Some(5), Some(5)], "{} bytes", key.len());
            assert_eq!(computed, 1, "{} bytes", key.len());
        }
    }

    #[test]
    fn fills_most_slots() {
        let (caches, keys) = (16, 200);
        let mut found = 0;
        for _ in 0..caches {
            let mut cache = numbers(256);
            for number in 0..keys {
                for _ in 0..2 {
                    cache.get_or_admit(&number, || number);
                }
            }
            found +=
                (0..keys).filter(|number| cache.get_or_admit(number, || u64::MAX) == Some(*number)).count();
        }
        assert!(found as u64 > caches * keys * 4 / 5, "{found} of {}", caches * keys);
    }

    #[test]
    fn keys_in_rotation_are_all_admitted() {
        let mut cache = numbers(256);
        let mut turn = || (0..100_u64).filter(|number| cache.get_or_admit(number, || 0).is_some()).count();
        let found: Vec<_> = (0..20).map(|_| turn()).collect();
        assert!(found.last() >= Some(&98), "{found:?}");
    }

    #[test]
    fn single_keys_displace_nothing() {
        let mut cache = numbers(256);
        for _ in 0..2 {
            cache.get_or_admit(&0, || 1);
        }
        for number in 1..10_000_u64 {
            assert_eq!(cache.get_or_admit(&number, || number), None);
        }
        assert_eq!(cache.get_or_admit(&0, || 2), Some(1));
    }

    #[test]
    fn capacity_is_rounded_and_bounded() {
        for (requested, capacity) in [(0, 4), (5, 8), (256, 256), (usize::MAX, MAX_CACHE_CAPACITY)] {
            assert_eq!(numbers(requested).entries.len(), capacity);
        }
    }

    #[test]
    fn reentrant_lookup_misses() {
        thread_local! {
            static CACHE: RefCell<SeenCache<u64, Option<u64>>> = RefCell::new(SeenCache::new(4));
        }
        let nested = || SeenCache::recall(&CACHE, &7, || SeenCache::recall(&CACHE, &7, || None)?);
        assert_eq!([nested(), nested()], [None, Some(None)]);
    }
}
