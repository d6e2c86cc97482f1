//! Numbers of events over time.

use std::collections::BTreeMap;

use huginn_net::{Event, Finding};

use crate::limits::MAX_TIMELINE_INTERVALS;

/// Number of groups of events.
pub(crate) const GROUPS: usize = 5;

/// Names of the groups.
pub(crate) const GROUP_NAMES: [&str; GROUPS] = ["TCP", "HTTP", "TLS", "SSH", "hosts"];

/// Numbers of events of each group in intervals of equal width. The width doubles until few enough intervals span all
/// events.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Width of an interval, in seconds.
    width: u64,
    /// Counts by the index of their interval since the Unix epoch.
    counts: BTreeMap<u64, [u64; GROUPS]>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { width: 1, counts: BTreeMap::new() }
    }
}

impl Timeline {
    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event) {
        let group = match &event.kind {
            Finding::Tcp(_) | Finding::Mtu(_) => 0,
            Finding::HttpRequest(_) | Finding::HttpResponse(_) => 1,
            Finding::TlsClient(_) | Finding::TlsServer(_) => 2,
            Finding::SshClient(_) | Finding::SshServer(_) | Finding::SshHandshake(_) => 3,
            _ => 4,
        };
        self.count(event.ts.as_secs(), group);
    }

    fn count(&mut self, seconds: u64, group: usize) {
        let index = seconds.checked_div(self.width).unwrap_or(seconds);
        let counts = self.counts.entry(index).or_default();
        if let Some(count) = counts.get_mut(group) {
            *count = count.saturating_add(1);
        }
        while self.span() > MAX_TIMELINE_INTERVALS {
            self.double();
        }
    }

    /// Number of intervals from the first to the last one.
    fn span(&self) -> u64 {
        let keys = self.counts.first_key_value().zip(self.counts.last_key_value());
        keys.map_or(0, |((first, _), (last, _))| last.saturating_sub(*first).saturating_add(1))
    }

    fn double(&mut self) {
        self.width = self.width.saturating_mul(2);
        let mut joined: BTreeMap<u64, [u64; GROUPS]> = BTreeMap::new();
        for (index, counts) in std::mem::take(&mut self.counts) {
            let sums = joined.entry(index / 2).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
        self.counts = joined;
    }

    /// Width of an interval, in seconds.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The intervals from the first to the last one: start in seconds since the Unix epoch, and counts.
    pub(crate) fn intervals(&self) -> Vec<(u64, [u64; GROUPS])> {
        let Some((first, _)) = self.counts.first_key_value() else { return Vec::new() };
        let indices = *first..first.saturating_add(self.span());
        indices
            .map(|index| {
                (index.saturating_mul(self.width), self.counts.get(&index).copied().unwrap_or_default())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(seconds: &[u64]) -> Timeline {
        let mut timeline = Timeline::default();
        seconds.iter().for_each(|seconds| timeline.count(*seconds, 2));
        timeline
    }

    #[test]
    fn intervals_without_events_are_empty() {
        let intervals = timeline(&[12, 10, 12]).intervals();
        assert_eq!(intervals, [(10, [0, 0, 1, 0, 0]), (11, [0; GROUPS]), (12, [0, 0, 2, 0, 0])]);
    }

    #[test]
    fn events_years_apart_share_few_intervals() {
        let timeline = timeline(&[0, 1_600_000_000, u64::MAX / 1_000_000_000]);
        let intervals = timeline.intervals();
        assert!(intervals.len() as u64 <= MAX_TIMELINE_INTERVALS, "{}", intervals.len());
        assert_eq!(intervals.iter().map(|(_, counts)| counts[2]).sum::<u64>(), 3);
        assert!(timeline.width().is_power_of_two());
    }
}
