//! Counts events by kind.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use huginn_net::Event;
use huginn_net::record::{EVENT_NAMES, EventKind};

/// Counters of events, written and read from any thread.
#[derive(Debug, Default)]
pub(super) struct EventCounters {
    /// In the order of [`EVENT_NAMES`].
    counts: [AtomicU64; EVENT_NAMES.len()],
    /// Nanoseconds since the Unix epoch; 0 before the first event.
    last_event: AtomicU64,
}

impl EventCounters {
    /// Counts an event.
    pub(super) fn on_event(&self, event: &Event) {
        self.last_event.store(event.ts.as_nanos(), Ordering::Relaxed);
        self.count(EventKind::of(&event.kind).name());
    }

    fn count(&self, name: &str) {
        let counters = EVENT_NAMES.iter().zip(&self.counts);
        for (_, count) in counters.filter(|(known, _)| **known == name) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of events of each kind.
    pub(super) fn by_kind(&self) -> BTreeMap<&'static str, u64> {
        EVENT_NAMES
            .iter()
            .copied()
            .zip(self.counts.iter().map(|count| count.load(Ordering::Relaxed)))
            .collect()
    }

    /// Returns the capture time of the packet of the newest event, in nanoseconds since the Unix epoch; 0 before the
    /// first event.
    pub(super) fn last_event(&self) -> u64 {
        self.last_event.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn counts_each_kind_on_its_own() {
        let counters = EventCounters::default();
        for name in ["uptime", "ssh_server", "uptime", "unknown"] {
            counters.count(name);
        }
        let by_kind = counters.by_kind();
        assert_eq!((by_kind["uptime"], by_kind["ssh_server"], by_kind["tcp_syn"]), (2, 1, 0));
        assert_eq!((by_kind.len(), by_kind.values().sum::<u64>()), (EVENT_NAMES.len(), 3));
    }

    #[test]
    fn every_documented_kind_is_counted() {
        let documented = include_str!("../../../docs/events.md");
        let headings = documented.lines().filter_map(|line| line.strip_prefix("## "));
        // Other headings begin with a capital letter; these two are lines about hosts and fingerprints, not events.
        let is_event =
            |name: &&str| name.starts_with(char::is_lowercase) && !["fingerprint", "host"].contains(name);
        let kinds = headings.filter(is_event);
        assert_eq!(kinds.collect::<BTreeSet<_>>(), EVENT_NAMES.iter().copied().collect());
    }
}
