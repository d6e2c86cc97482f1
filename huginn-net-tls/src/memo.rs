//! What was made of bytes that come again and again.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::thread::LocalKey;

use foldhash::fast::RandomState;

/// As many values are remembered: more than there are TLS libraries in the traffic of most networks, and few enough to
/// stay in a core's cache.
const SLOTS: usize = 256;

/// Remembers what was made of keys of up to `MAX` bytes, each in one of two slots that its hash chooses. The whole key
/// is compared.
///
/// A value is remembered when its key comes the second time and no other was missed at its first slot in between. So
/// keys that come once take nobody's place, and cost little.
pub(crate) struct Memo<V, const MAX: usize> {
    hasher: RandomState,
    slots: Box<[Slot<V, MAX>]>,
}

struct Slot<V, const MAX: usize> {
    /// The hash of the last key whose first slot this is and that was not remembered.
    missed: u64,
    /// The length of the key, and the value.
    known: Option<(usize, V)>,
    key: [u8; MAX],
}

impl<V: Clone, const MAX: usize> Memo<V, MAX> {
    pub(crate) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| Slot { missed: 0, known: None, key: [0; MAX] });
        Self { hasher: RandomState::default(), slots: slots.collect() }
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
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let places = [hash, hash >> 32].map(|bits| bits as usize % SLOTS);
        for place in places {
            if let Some(value) = self.slots.get(place).and_then(|slot| slot.value(key)) {
                return Some(value.clone());
            }
        }
        let [first, second] = places;
        let slot = self.slots.get_mut(first)?;
        if slot.missed != hash {
            slot.missed = hash;
            return None;
        }
        let is_free = |slot: &Slot<V, MAX>| slot.known.is_none();
        let place =
            if !is_free(slot) && self.slots.get(second).is_some_and(is_free) { second } else { first };
        let value = make();
        self.slots.get_mut(place)?.remember(key, value.clone());
        Some(value)
    }
}

impl<V, const MAX: usize> Slot<V, MAX> {
    fn value(&self, key: &[u8]) -> Option<&V> {
        let (len, value) = self.known.as_ref()?;
        (self.key.get(..*len)? == key).then_some(value)
    }

    fn remember(&mut self, key: &[u8], value: V) {
        if let Some(place) = self.key.get_mut(..key.len()) {
            place.copy_from_slice(key);
            self.known = Some((key.len(), value));
        }
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
