//! What was found for packets like those that come again and again.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use huginn_net_tcp::{IpVersion, TcpSignature, WindowMultiple};

use super::{Found, Key};

/// What each thread remembers of an index, by a number that no other index has, nor this one with other signatures.
#[derive(Clone, Debug)]
pub(super) struct Remembered(u64);

/// All that a match depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MatchKey(Key, u128);

/// The memory of a thread: 1,024 places, of which each hash has one.
///
/// A place is taken by what came to it the last time, too, and was not known. So packets that come once, a scan with a
/// window of its own in each say, leave alone what is known.
struct Places {
    hasher: RandomState,
    known: Vec<Option<(u64, MatchKey, Found)>>,
    missed: Vec<u64>,
}

thread_local! {
    static PLACES: RefCell<Places> = RefCell::new(Places::new());
}

impl Default for Remembered {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Remembered {
    /// What was found for such a packet, or else what `find` finds.
    #[inline]
    pub(super) fn recall(&self, key: Key, signature: &TcpSignature, find: impl FnOnce() -> Found) -> Found {
        let key = MatchKey::new(key, signature);
        let remembered = PLACES.try_with(|places| places.borrow().get(self.0, key));
        // A thread that ends remembers nothing any more.
        let Ok(remembered) = remembered else { return find() };
        remembered.unwrap_or_else(|hash| {
            let found = find();
            let _ = PLACES.try_with(|places| places.borrow_mut().note(hash, (self.0, key, found)));
            found
        })
    }
}

impl Places {
    const LEN: u64 = 1 << 10;

    fn new() -> Self {
        let len = usize::try_from(Self::LEN).unwrap_or_default();
        Self { hasher: RandomState::default(), known: vec![None; len], missed: vec![0; len] }
    }

    /// What was found for such a packet in that index, or else the hash by which to note it.
    #[inline]
    fn get(&self, index: u64, key: MatchKey) -> Result<Found, u64> {
        let hash = self.hasher.hash_one(key);
        match self.known.get(Self::place(hash)) {
            Some(Some((of, known, found))) if *of == index && *known == key => Ok(*found),
            _ => Err(hash),
        }
    }

    fn note(&mut self, hash: u64, entry: (u64, MatchKey, Found)) {
        let place = Self::place(hash);
        let (Some(known), Some(missed)) = (self.known.get_mut(place), self.missed.get_mut(place)) else {
            return;
        };
        if *missed == hash {
            *known = Some(entry);
        }
        *missed = hash;
    }

    fn place(hash: u64) -> usize {
        usize::try_from(hash % Self::LEN).unwrap_or_default()
    }
}

impl MatchKey {
    fn new(key: Key, signature: &TcpSignature) -> Self {
        let TcpSignature { version, ttl, mss, window, scale, has_payload, quirks, .. } = *signature;
        let (unit, factor) = match signature.window_multiple {
            None => (0, 0),
            Some(WindowMultiple::Mss(factor)) => (1, factor),
            Some(WindowMultiple::Mtu(factor)) => (2, factor),
        };
        let flags = u8::from(version == IpVersion::V6) << 3 | u8::from(has_payload) << 2 | unit;
        let sizes = [mss, window, factor].into_iter().fold(0, |sizes, size| sizes << 16 | u128::from(size));
        let bytes = u32::from_ne_bytes([ttl, scale, flags, 0]);
        Self(key, sizes << 64 | u128::from(bytes) << 32 | u128::from(quirks.bits()))
    }
}

impl Hash for MatchKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
        state.write_u128(self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_once_takes_no_place_of_what_came_twice() {
        let (mut places, key) = (Places::new(), |number| MatchKey(Key(1, 2), number));
        let meet = |places: &mut Places, number| {
            let known = places.get(7, key(number));
            if let Err(hash) = known {
                places.note(hash, (7, key(number), None));
            }
            known.is_ok()
        };
        assert_eq!([1, 2, 3].map(|_| meet(&mut places, 0)), [false, false, true]);
        assert!((1..100_000).all(|number| !meet(&mut places, number)));
        assert!(meet(&mut places, 0));
        assert!(places.get(8, key(0)).is_err(), "of another index");
    }
}
