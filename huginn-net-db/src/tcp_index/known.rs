//! What was found for packets like those that come again and again.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use huginn_net_tcp::{IpVersion, TcpSignature, WindowMultiple};

use super::{Found, Key};

/// Remembers what was found, in places of which each belongs for good to the first packet that hashes to it: what comes
/// often comes early, and a reader never waits for a writer.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    places: OnceLock<Vec<OnceLock<(Asked, Found)>>>,
    hasher: RandomState,
}

/// All that a match depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked(Key, u128);

impl Known {
    const PLACES: usize = 1 << 10;

    /// What was found for such a packet, or else what `find` finds.
    #[inline]
    pub(super) fn recall(&self, key: Key, signature: &TcpSignature, find: impl FnOnce() -> Found) -> Found {
        let asked = Asked::new(key, signature);
        let places = self.places.get_or_init(|| vec![OnceLock::new(); Self::PLACES]);
        let place = usize::try_from(self.hasher.hash_one(asked)).unwrap_or(0) & Self::PLACES.wrapping_sub(1);
        let Some(place) = places.get(place) else { return find() };
        match place.get() {
            Some((known, found)) if *known == asked => *found,
            Some(_) => find(),
            None => {
                let found = find();
                // In vain where another thread was first.
                let _ = place.set((asked, found));
                found
            }
        }
    }
}

impl Asked {
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

impl Hash for Asked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
        state.write_u128(self.1);
    }
}
