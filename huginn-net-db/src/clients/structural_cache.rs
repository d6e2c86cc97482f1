//! A per-thread cache of structural matches.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use huginn_net_tls::{ClientFamily, Ja4};
use huginn_net_wire::SeenCache;

use super::ClientMatch;
use crate::cache_id::CacheId;
use crate::limits::STRUCTURAL_CACHE_ENTRIES;

/// The cached matches of a database, which never changes.
#[derive(Debug, Default)]
pub(super) struct StructuralCache(CacheId);

/// Everything that a structural match depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StructuralKey {
    database: CacheId,
    ja4: Ja4,
    family: Option<ClientFamily>,
}

thread_local! {
    static MATCHES: RefCell<SeenCache<StructuralKey, Option<ClientMatch>>> =
        RefCell::new(SeenCache::new(STRUCTURAL_CACHE_ENTRIES));
}

impl StructuralCache {
    /// Returns the cached match, or calls `find` and caches its result.
    pub(super) fn get_or_find(
        &self,
        ja4: Ja4,
        family: Option<ClientFamily>,
        find: impl Fn() -> Option<ClientMatch>,
    ) -> Option<ClientMatch> {
        let key = StructuralKey { database: self.0, ja4, family };
        SeenCache::recall(&MATCHES, &key, &find).unwrap_or_else(find)
    }
}

/// The hash ignores the database, because few programs have two.
impl Hash for StructuralKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ja4.hash(state);
        self.family.hash(state);
    }
}
