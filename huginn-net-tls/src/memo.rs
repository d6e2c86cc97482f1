//! What was made of bytes that come again and again.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::thread::LocalKey;

use foldhash::fast::RandomState;

/// As many values are remembered at most: more than there are TLS libraries in the traffic of most networks, and few enough to
/// stay in a core's cache.
const PLACES: usize = 256;

/// Remembers what was made of keys of up to `MAX` bytes, each in one of four places that its hash chooses. The whole key
/// is compared.
///
/// A value is remembered when its key comes again before some hundred others that are not known either. So keys that
/// come once take nobody's place, and cost little.
pub(crate) struct Memo<V, const MAX: usize> {
    hasher: RandomState,
    /// By place, the hash of the key that is known there: few bytes tell that a key is not known.
    known: [u64; PLACES],
    /// By place, the hash of a key that was not known when it came.
    missed: [u64; PLACES],
    /// Counts the keys that were not known, for each of their places to have its turn: no two keys are forever in each
    /// other's way.
    turn: u8,
    entries: Box<[Option<Entry<V, MAX>>]>,
}

struct Entry<V, const MAX: usize> {
    key: [u8; MAX],
    len: usize,
    value: V,
}

impl<V: Clone, const MAX: usize> Memo<V, MAX> {
    pub(crate) fn new() -> Self {
        let entries = (0..PLACES).map(|_| None).collect();
        Self { hasher: RandomState::default(), known: [0; PLACES], missed: [0; PLACES], turn: 0, entries }
    }

    /// The [value](Self::value) of a key as this thread remembers it; none while the thread ends.
    pub(crate) fn recall(
        of_thread: &'static LocalKey<RefCell<Self>>,
        key: &[u8],
        make: impl FnOnce() -> V,
    ) -> Option<V> {
        of_thread.try_with(|memo| memo.borrow_mut().value(key, make)).ok()?
    }

    /// The value of a key that came before, which is made if it is not remembered. Whatever makes it, it must be the
    /// same for one key.
    fn value(&mut self, key: &[u8], make: impl FnOnce() -> V) -> Option<V> {
        if key.len() > MAX {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let places = places(hash);
        for place in places {
            if self.known.get(place) == Some(&hash) {
                if let Some(entry) = self.entry(place).filter(|entry| entry.key() == key) {
                    return Some(entry.value.clone());
                }
            }
        }
        self.turn = self.turn.wrapping_add(1);
        let in_turn = *places.get(usize::from(self.turn % 4))?;
        if !places.into_iter().any(|place| self.missed.get(place) == Some(&hash)) {
            *self.missed.get_mut(in_turn)? = hash;
            return None;
        }
        let place = self.free(places).or_else(|| self.make_free(places)).unwrap_or(in_turn);
        let value = make();
        *self.known.get_mut(place)? = hash;
        *self.entries.get_mut(place)? = Entry::of(key, value.clone());
        Some(value)
    }

    fn free(&self, places: [usize; 4]) -> Option<usize> {
        places.into_iter().find(|place| self.entry(*place).is_none())
    }

    /// Moves what is in one of these places to another of its own, if one of those is free.
    fn make_free(&mut self, places: [usize; 4]) -> Option<usize> {
        let (place, other) = places.into_iter().find_map(|place| {
            let hash = *self.known.get(place)?;
            Some((place, self.free(self::places(hash))?))
        })?;
        self.known.swap(place, other);
        self.entries.swap(place, other);
        Some(place)
    }

    fn entry(&self, place: usize) -> Option<&Entry<V, MAX>> {
        self.entries.get(place)?.as_ref()
    }
}

/// Where a key of this hash may be.
#[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
fn places(hash: u64) -> [usize; 4] {
    [hash, hash >> 16, hash >> 32, hash >> 48].map(|bits| bits as usize % PLACES)
}

impl<V, const MAX: usize> Entry<V, MAX> {
    /// Of a key that is not too long.
    fn of(key: &[u8], value: V) -> Option<Self> {
        let mut entry = Self { key: [0; MAX], len: key.len(), value };
        entry.key.get_mut(..key.len())?.copy_from_slice(key);
        Some(entry)
    }

    fn key(&self) -> &[u8] {
        self.key.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_own_value_whatever_came_before_it() {
        let mut memo = Memo::<u64, 16>::new();
        let mut known = 0;
        for _ in 0..9 {
            for number in 0..1000_u64 {
                let value = number / 3;
                let key = value.to_be_bytes();
                let key = &key[usize::from(value < 256) * 7..];
                let given = memo.value(key, || value);
                assert!(given.is_none_or(|given| given == value), "{number}");
                known += u32::from(given.is_some());
            }
        }
        assert!(known > 4500, "{known}");
    }

    #[test]
    fn what_came_twice_is_not_made_again_and_what_is_too_long_never_is() {
        let mut memo = Memo::<u64, 16>::new();
        for (len, expected, made_in_all) in
            [(0, [None, Some(5), Some(5)], 1), (16, [None, Some(5), Some(5)], 1), (17, [None; 3], 0)]
        {
            let mut made = 0;
            let mut value = || {
                memo.value(&vec![b'x'; len], || {
                    made += 1;
                    5
                })
            };
            assert_eq!([value(), value(), value()], expected, "{len} bytes");
            assert_eq!(made, made_in_all, "{len} bytes");
        }
    }

    #[test]
    fn nearly_as_many_keys_are_known_as_there_are_places() {
        let mut memo = Memo::<u64, 16>::new();
        for number in 0..200_u64 {
            for _ in 0..2 {
                memo.value(&number.to_be_bytes(), || number);
            }
        }
        let known = (0..200_u64).filter(|number| memo.value(&number.to_be_bytes(), || 1000) == Some(*number));
        assert!(known.count() > 190);
    }

    #[test]
    fn keys_that_come_in_turn_are_all_known_after_some_turns() {
        let mut memo = Memo::<u64, 16>::new();
        let mut turn =
            || (0..100_u64).filter(|number| memo.value(&number.to_be_bytes(), || 0).is_some()).count();
        let known: Vec<_> = (0..20).map(|_| turn()).collect();
        assert!(known.last() >= Some(&98), "{known:?}");
    }

    #[test]
    fn keys_that_come_once_take_no_place_of_one_that_came_twice() {
        let mut memo = Memo::<u64, 16>::new();
        for _ in 0..2 {
            memo.value(b"often", || 1);
        }
        for number in 0..10_000_u64 {
            assert_eq!(memo.value(&number.to_be_bytes(), || number), None);
        }
        assert_eq!(memo.value(b"often", || 2), Some(1));
    }
}
