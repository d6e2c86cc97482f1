//! Bounded lists of values with their counts.

use serde::{Deserialize, Serialize};

use super::stored::at_most;
use crate::limits::MAX_TOP_VALUES;

/// The most frequent values, at most eight, with their counts.
///
/// A ninth value evicts the value with the lowest count; among equal counts, the oldest value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct TopValues<T> {
    /// In order of insertion.
    #[serde(deserialize_with = "at_most::<MAX_TOP_VALUES, _, _>")]
    pub(super) entries: Vec<Counted<T>>,
    pub(super) left_out: u32,
}

/// A value and its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counted<T> {
    /// The value.
    pub value: T,
    /// Number of observations since the last insertion of the value.
    pub count: u32,
}

impl<T> Default for TopValues<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), left_out: 0 }
    }
}

impl<T> TopValues<T> {
    /// The values in order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = &Counted<T>> {
        self.entries.iter()
    }

    /// The values by descending count; equal counts in order of insertion.
    pub fn by_count(&self) -> impl Iterator<Item = &Counted<T>> {
        let mut sorted: Vec<&Counted<T>> = self.entries.iter().collect();
        sorted.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        sorted.into_iter()
    }

    /// The value with the highest count; among equal counts, the oldest value.
    pub fn most(&self) -> Option<&T> {
        self.by_count().next().map(|entry| &entry.value)
    }

    /// Total count of the evicted values.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Increments the count of the value that `is_it` accepts, or inserts a new value.
    pub(super) fn count(&mut self, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| is_it(&entry.value)) {
            entry.count = entry.count.saturating_add(1);
            return;
        }
        self.evict_to(MAX_TOP_VALUES.saturating_sub(1));
        // Most lists of most hosts have one entry.
        self.entries.reserve_exact(1);
        self.entries.push(Counted { value: make(), count: 1 });
    }

    /// Evicts the rarest values until the list has at most this length; among equal counts, the oldest value.
    pub(super) fn evict_to(&mut self, len: usize) {
        while self.entries.len() > len {
            let rarest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.count);
            let Some(index) = rarest.map(|(index, _)| index) else { return };
            let evicted = self.entries.remove(index);
            self.left_out = self.left_out.saturating_add(evicted.count);
        }
    }

    /// Heap memory of the list in bytes; `value_bytes` returns the heap memory of a value.
    pub(super) fn heap_bytes(&self, value_bytes: impl Fn(&T) -> usize) -> usize {
        let own = self.entries.capacity().saturating_mul(size_of::<Counted<T>>());
        self.entries.iter().fold(own, |sum, entry| sum.saturating_add(value_bytes(&entry.value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(seen: &mut TopValues<char>, value: char) {
        seen.count(|entry| *entry == value, || value);
    }

    fn seen(values: &str) -> TopValues<char> {
        let mut seen = TopValues::default();
        values.chars().for_each(|value| add(&mut seen, value));
        seen
    }

    #[test]
    fn by_count_sorts_frequent_values_first() {
        let seen = seen("abbccd");
        let order: Vec<(char, u32)> = seen.by_count().map(|entry| (entry.value, entry.count)).collect();
        assert_eq!(order, [('b', 2), ('c', 2), ('a', 1), ('d', 1)]);
        assert_eq!((seen.most(), seen.left_out()), (Some(&'b'), 0));
    }

    #[test]
    fn ninth_value_evicts_rarest() {
        let seen = seen("aabcdefghij");
        let order: String = seen.iter().map(|entry| entry.value).collect();
        assert_eq!((order.as_str(), seen.left_out()), ("adefghij", 2));
    }

    #[test]
    fn frequent_values_survive_flood_of_rare_values() {
        let mut seen = seen("aaabbb");
        (0x4e00..0x4e00 + 1000_u32).for_each(|n| add(&mut seen, char::from_u32(n).unwrap()));
        assert_eq!(seen.by_count().take(2).map(|entry| entry.value).collect::<String>(), "ab");
        assert_eq!((seen.iter().count(), seen.left_out()), (8, 994));
    }
}
