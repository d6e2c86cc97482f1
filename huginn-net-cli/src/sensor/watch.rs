//! Counts hits of watch lists, and reports lists that were read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use huginn_net::{Event, Observation, Timestamp};

use crate::control::counters::WatchListCounters;
use crate::output::Messages;
use crate::plan::{LoadedLists, WatchFiles};

/// Counts matches, from any thread.
#[derive(Debug)]
pub(super) struct Watched {
    files: Option<WatchFiles>,
    /// Matches of each list since the start, by name, those of former lists included.
    counts: RwLock<BTreeMap<Arc<str>, AtomicU64>>,
    /// When the lists were read, in nanoseconds since the Unix epoch.
    loaded_at: AtomicU64,
    messages: Messages,
}

impl Watched {
    pub(super) fn new(files: Option<WatchFiles>, messages: Messages) -> Self {
        Self { files, counts: RwLock::default(), loaded_at: AtomicU64::new(now()), messages }
    }

    /// Number of matches since the start.
    pub(super) fn count(&self) -> u64 {
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        counts.values().map(|count| count.load(Ordering::Relaxed)).fold(0, u64::saturating_add)
    }

    fn add(&self, list: &Arc<str>) {
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get(list) {
            count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        drop(counts);
        let mut counts = self.counts.write().unwrap_or_else(PoisonError::into_inner);
        counts.entry(Arc::clone(list)).or_default().fetch_add(1, Ordering::Relaxed);
    }

    /// The counters of each list, by name.
    pub(super) fn counters(&self) -> BTreeMap<String, WatchListCounters> {
        let Some(files) = &self.files else { return BTreeMap::new() };
        let lists = files.handle.get();
        let counts = self.counts.read().unwrap_or_else(PoisonError::into_inner);
        let loaded_at = self.loaded_at.load(Ordering::Relaxed);
        let counters = lists.summaries().iter().map(|list| {
            let matches = counts.get(&list.name).map_or(0, |count| count.load(Ordering::Relaxed));
            (list.name.to_string(), WatchListCounters { entries: list.entries, matches, loaded_at })
        });
        counters.collect()
    }

    /// Counts an event that is a match.
    pub(super) fn on_event(&self, event: &Event) {
        if let Observation::Match(found) = &event.kind {
            self.add(&found.list);
        }
    }

    /// Reports lists that were read again.
    pub(super) fn on_reload(&self, loaded: &LoadedLists) {
        self.loaded_at.store(now(), Ordering::Relaxed);
        let LoadedLists { entries, took, warnings } = loaded;
        for warning in warnings {
            self.messages.warn(warning);
        }
        self.messages.print(&format_args!("watch lists read again in {took:.1?}: {entries} entries"));
    }
}

fn now() -> u64 {
    Timestamp::from(SystemTime::now()).as_nanos()
}
