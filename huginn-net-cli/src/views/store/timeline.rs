//! Numbers of events over time.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use huginn_net::Event;
use huginn_net::record::{EventGroup, EventKind};

use super::bounded::increment;

/// Maximum number of intervals in the chart of a timeline.
const MAX_TIMELINE_INTERVALS: u64 = 120;

/// Maximum number of intervals with events that a timeline keeps: 64 bytes each.
const MAX_TIMELINE_BINS: usize = 4096;

/// Number of groups of events.
pub(crate) const GROUPS: usize = EventGroup::ALL.len();

/// Time without events between the main span and what is outside of it, in seconds.
const MIN_GAP_SECS: u64 = 86_400;
/// Times before 1990 are those of a clock that was not set: the pcap format is younger.
const FIRST_CLOCK_SECS: u64 = 631_152_000;
/// How many times as high as all others a bar is that the chart cuts.
const MIN_CUT: u64 = 10;
/// Maximum number of gaps at which the main span is cut.
const MAX_CUTS: usize = 16;

/// Values of intervals of equal width that have events. The width doubles until they are few enough, however far apart they
/// are.
#[derive(Debug)]
pub(crate) struct Bins<T> {
    /// Width of an interval, in seconds.
    width: u64,
    /// Values by the index of their interval since the Unix epoch.
    values: BTreeMap<u64, T>,
}

impl<T> Default for Bins<T> {
    fn default() -> Self {
        Self { width: 1, values: BTreeMap::new() }
    }
}

impl<T: Default + Sum> Bins<T> {
    /// Changes the value of a second, and joins intervals if there are more than `limit`.
    pub(crate) fn entry(&mut self, seconds: u64, limit: usize, change: impl FnOnce(&mut T)) {
        let index = seconds.checked_div(self.width).unwrap_or(seconds);
        change(self.values.entry(index).or_default());
        while self.values.len() > limit.max(1) {
            self.width = self.width.saturating_mul(2);
            let mut joined: BTreeMap<u64, T> = BTreeMap::new();
            for (index, value) in std::mem::take(&mut self.values) {
                joined.entry(index / 2).or_default().add(&value);
            }
            self.values = joined;
        }
    }

    /// Width of an interval, in seconds.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// Starts of the intervals in seconds since the Unix epoch, and their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.values.iter().map(|(index, value)| (index.saturating_mul(self.width), value))
    }
}

/// Adds values of intervals.
pub(crate) trait Sum {
    fn add(&mut self, other: &Self);
}

impl Sum for u32 {
    fn add(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
}

impl Sum for [u64; GROUPS] {
    fn add(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
    }
}

/// Numbers of events of each group.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    bins: Bins<[u64; GROUPS]>,
}

/// Events of the main span in intervals of equal width, and what is outside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimelineChart {
    /// Width of an interval, in seconds.
    pub(crate) width: u64,
    /// The intervals from the first to the last one: start in seconds since the Unix epoch, and counts.
    pub(crate) intervals: Vec<(u64, [u64; GROUPS])>,
    pub(crate) outside: Option<Outside>,
    /// The number of events that the chart has room for in an interval: few intervals with far more are cut.
    pub(crate) highest: u64,
}

/// Events far before or after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) events: u64,
    /// Times of the first and of the last one, in seconds since the Unix epoch.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Timeline {
    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event) {
        self.count(event.ts.as_secs(), EventKind::of(&event.kind).group());
    }

    fn count(&mut self, seconds: u64, group: EventGroup) {
        self.bins.entry(seconds, MAX_TIMELINE_BINS, |counts| {
            counts.get_mut(group as usize).into_iter().for_each(increment);
        });
    }

    /// The first and the last second of the main span: without the few events that are far before or after all others.
    pub(crate) fn main_span(&self) -> Option<(u64, u64)> {
        let bins: Vec<(u64, u64)> =
            self.bins.iter().map(|(start, counts)| (start, counts.iter().sum())).collect();
        let range = main_range(&bins);
        let (first, last) = (bins.get(*range.start())?.0, bins.get(*range.end())?.0);
        Some((first, last.saturating_add(self.bins.width().saturating_sub(1))))
    }

    /// The main span in at most 120 intervals; nothing without events.
    pub(crate) fn chart(&self) -> Option<TimelineChart> {
        let (first, last) = self.main_span()?;
        let mut width = self.bins.width();
        let count = |width: u64| {
            let index = |seconds: u64| seconds.checked_div(width).unwrap_or(0);
            index(last).saturating_sub(index(first)).saturating_add(1)
        };
        while count(width) > MAX_TIMELINE_INTERVALS {
            width = width.saturating_mul(2);
        }
        let start = first.checked_div(width).unwrap_or(0);
        let mut intervals: Vec<(u64, [u64; GROUPS])> = (start..start.saturating_add(count(width)))
            .map(|index| (index.saturating_mul(width), [0; GROUPS]))
            .collect();
        let mut outside: Option<Outside> = None;
        for (seconds, counts) in self.bins.iter() {
            if (first..=last).contains(&seconds) {
                let index = seconds.checked_div(width).unwrap_or(0).saturating_sub(start);
                let interval = usize::try_from(index).ok().and_then(|index| intervals.get_mut(index));
                if let Some((_, sums)) = interval {
                    sums.add(counts);
                }
                continue;
            }
            let found = outside.get_or_insert(Outside { events: 0, first: seconds, last: seconds });
            found.events = found.events.saturating_add(counts.iter().sum());
            found.last = seconds;
        }
        let highest = height(intervals.iter().map(|(_, counts)| counts.iter().sum()).collect());
        Some(TimelineChart { width, intervals, outside, highest })
    }
}

/// The highest value, or the highest of the others if a few are at least [`MIN_CUT`] times as high: at most one of 20.
fn height(mut values: Vec<u64>) -> u64 {
    values.retain(|value| *value > 0);
    values.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
    let most_cut = (values.len() / 20).max(1);
    let is_cut = |index: &usize| {
        let lower = index.checked_add(1).and_then(|next| values.get(next)).copied();
        let higher = values.get(*index).copied().unwrap_or_default();
        lower.is_some_and(|lower| higher >= lower.saturating_mul(MIN_CUT))
    };
    // Two bars are compared by their heights.
    let cut = if values.len() > 2 { (0..most_cut).rev().find(is_cut) } else { None };
    let first = cut.map_or(0, |index| index.saturating_add(1));
    values.get(first).copied().unwrap_or_default()
}

/// The bins without those at both ends that a long time without events separates from most events.
fn main_range(bins: &[(u64, u64)]) -> RangeInclusive<usize> {
    let total: u64 = bins.iter().map(|(_, events)| *events).fold(0, u64::saturating_add);
    let mut range = 0..=bins.len().saturating_sub(1);
    for _ in 0..MAX_CUTS {
        let Some(part) = bins.get(range.clone()) else { break };
        let gaps = part.iter().zip(part.iter().skip(1)).zip(range.clone());
        let widest = gaps
            .map(|((before, after), index)| (after.0.saturating_sub(before.0), index))
            .max_by_key(|(gap, _)| *gap);
        let Some((gap, index)) = widest.filter(|(gap, _)| *gap >= MIN_GAP_SECS) else { break };
        let next = index.saturating_add(1);
        let (left, right) = (*range.start()..=index, next..=*range.end());
        let events = |range: &RangeInclusive<usize>| {
            let part = bins.get(range.clone()).unwrap_or_default();
            part.iter().map(|(_, events)| *events).fold(0, u64::saturating_add)
        };
        let seconds = |range: &RangeInclusive<usize>| {
            let at = |index: usize| bins.get(index).map_or(0, |(seconds, _)| *seconds);
            at(*range.end()).saturating_sub(at(*range.start()))
        };
        let is_unset = bins.get(index).is_some_and(|(seconds, _)| *seconds < FIRST_CLOCK_SECS)
            && bins.get(next).is_some_and(|(seconds, _)| *seconds >= FIRST_CLOCK_SECS);
        let is_few = |few: &RangeInclusive<usize>, share: u64| events(few).saturating_mul(share) <= total;
        let is_far = |rest: &RangeInclusive<usize>| gap > seconds(rest).saturating_mul(4);
        if is_few(&left, if is_unset { 2 } else { 20 }) && is_far(&right) {
            range = right;
        } else if is_few(&right, 20) && is_far(&left) {
            range = left;
        } else {
            break;
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(seconds: &[u64]) -> Timeline {
        let mut timeline = Timeline::default();
        seconds.iter().for_each(|seconds| timeline.count(*seconds, EventGroup::Tls));
        timeline
    }

    #[test]
    fn intervals_without_events_are_empty() {
        let chart = timeline(&[12, 10, 12]).chart().unwrap();
        assert_eq!(
            chart.intervals,
            [(10, [0, 0, 1, 0, 0, 0, 0, 0]), (11, [0; GROUPS]), (12, [0, 0, 2, 0, 0, 0, 0, 0])]
        );
        assert_eq!((chart.width, chart.outside), (1, None));
        assert_eq!(timeline(&[]).chart(), None);
    }

    #[test]
    fn events_years_apart_share_few_intervals() {
        let chart = timeline(&[0, 1_600_000_000, u64::MAX / 1_000_000_000]).chart().unwrap();
        assert!(chart.intervals.len() as u64 <= MAX_TIMELINE_INTERVALS, "{}", chart.intervals.len());
        let outside = chart.outside.map_or(0, |outside| outside.events);
        assert_eq!(chart.intervals.iter().map(|(_, counts)| counts[2]).sum::<u64>() + outside, 3);
        assert!(chart.width.is_power_of_two());
    }

    #[test]
    fn time_of_an_unset_clock_does_not_flatten_the_timeline() {
        let chart = timeline(&[7, 3, 1_600_000_000, 1_600_000_050, 1_600_000_001]).chart().unwrap();
        assert_eq!((chart.width, chart.intervals.len()), (1, 51));
        assert_eq!(chart.outside, Some(Outside { events: 2, first: 3, last: 7 }));
    }

    #[test]
    fn few_events_years_later_are_outside() {
        let mut seconds: Vec<u64> = (1_600_000_000..1_600_000_020).collect();
        seconds.push(2_600_000_000);
        let chart = timeline(&seconds).chart().unwrap();
        assert_eq!((chart.width, chart.intervals.len()), (1, 20));
        assert_eq!(chart.outside.unwrap().events, 1);
        // Two of ten events are not few.
        let chart = timeline(&[&seconds[..8], &[2_600_000_000, 2_600_000_001]].concat()).chart().unwrap();
        assert!(chart.width > 1_000_000 && chart.outside.is_none(), "{chart:?}");
    }

    #[test]
    fn few_intervals_with_far_more_events_are_cut() {
        let mut seconds: Vec<u64> = (1_600_000_000..1_600_000_040).collect();
        seconds.push(1_600_000_000);
        let flood = std::iter::repeat_n(1_600_000_020, 10_000);
        seconds.extend(flood.clone());
        assert_eq!(timeline(&seconds).chart().unwrap().highest, 2);
        seconds.extend(flood.map(|second| second + 1));
        assert_eq!(timeline(&seconds).chart().unwrap().highest, 2, "two of 40 are few");
        for (values, highest) in [
            (vec![], 0),
            (vec![5], 5),
            (vec![1, 900], 900),
            (vec![1, 1, 900], 1),
            (vec![1, 1, 9], 9),
            (vec![900, 800, 1, 1], 900),
            (vec![0, 0, 0, 1, 900], 900),
        ] {
            assert_eq!(height(values.clone()), highest, "{values:?}");
        }
    }

    #[test]
    fn bins_are_bounded() {
        let mut bins = Bins::<u32>::default();
        (0..10_000).for_each(|second| bins.entry(second * 3, 64, |count| *count += 1));
        assert!(bins.iter().count() <= 64);
        assert_eq!(bins.iter().map(|(_, count)| *count).sum::<u32>(), 10_000);
    }
}
