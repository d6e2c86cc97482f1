//! A per-thread cache of matches.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use huginn_net_tcp::{IpVersion, TcpSignature, WindowMultiple};
use huginn_net_wire::SeenCache;

use super::{Found, Key};
use crate::cache_id::CacheId;
use crate::limits::MATCH_CACHE_ENTRIES;

/// The cached matches of an index. An index that changes needs another one.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchCache(CacheId);

/// Everything that a match depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MatchKey {
    index: CacheId,
    key: Key,
    packet: u128,
}

thread_local! {
    static MATCHES: RefCell<SeenCache<MatchKey, Found>> = RefCell::new(SeenCache::new(MATCH_CACHE_ENTRIES));
}

impl MatchCache {
    /// Returns the cached match for such a packet, or calls `find` and caches its result.
    #[inline]
    pub(super) fn get_or_find(&self, key: Key, signature: &TcpSignature, find: impl Fn() -> Found) -> Found {
        let key = MatchKey::new(self.0, key, signature);
        SeenCache::recall(&MATCHES, &key, &find).unwrap_or_else(find)
    }
}

impl MatchKey {
    fn new(index: CacheId, key: Key, signature: &TcpSignature) -> Self {
        let TcpSignature { version, ttl, mss, window, scale, has_payload, quirks, .. } = *signature;
        let (unit, factor) = match signature.window_multiple {
            None => (0, 0),
            Some(WindowMultiple::Mss(factor)) => (1, factor),
            Some(WindowMultiple::Mtu(factor)) => (2, factor),
        };
        let flags = u8::from(version == IpVersion::V6) << 3 | u8::from(has_payload) << 2 | unit;
        let sizes = [mss, window, factor].into_iter().fold(0, |sizes, size| sizes << 16 | u128::from(size));
        let bytes = u32::from_ne_bytes([ttl, scale, flags, 0]);
        let packet = sizes << 64 | u128::from(bytes) << 32 | u128::from(quirks.bits());
        Self { index, key, packet }
    }
}

/// The hash ignores the index, because few programs have two.
impl Hash for MatchKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
        state.write_u128(self.packet);
    }
}
