//! Short lists of what was seen, with how often.

/// How many different values a list holds.
const MAX_ENTRIES: usize = 8;

/// What was seen, and how often; of at most eight different values.
///
/// When a ninth comes, the one that was seen least often goes; of equals, the one that was first seen longest ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopValues<T> {
    /// In the order of first sight.
    entries: Vec<Counted<T>>,
    left_out: u32,
}

/// A value, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted<T> {
    /// What was seen.
    pub value: T,
    /// How often; what was left out of the list before is not in it.
    pub count: u32,
}

impl<T> Default for TopValues<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), left_out: 0 }
    }
}

impl<T> TopValues<T> {
    /// The values in the order of first sight.
    pub fn iter(&self) -> impl Iterator<Item = &Counted<T>> {
        self.entries.iter()
    }

    /// The values from the one seen most often to the one seen least often; equals in the order of first sight.
    pub fn by_count(&self) -> impl Iterator<Item = &Counted<T>> {
        let mut sorted: Vec<&Counted<T>> = self.entries.iter().collect();
        sorted.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        sorted.into_iter()
    }

    /// The value seen most often; of equals the one seen first.
    pub fn most(&self) -> Option<&T> {
        self.by_count().next().map(|entry| &entry.value)
    }

    /// How often something was seen that is not in the list (any more).
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Counts a value: one that is in the list already, else a new one.
    pub(super) fn count(&mut self, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| is_it(&entry.value)) {
            entry.count = entry.count.saturating_add(1);
            return;
        }
        self.evict_rarest();
        self.entries.push(Counted { value: make(), count: 1 });
    }

    fn evict_rarest(&mut self) {
        if self.entries.len() < MAX_ENTRIES {
            // Most lists of most hosts have one entry.
            return self.entries.reserve_exact(1);
        }
        let rarest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.count);
        if let Some(place) = rarest.map(|(place, _)| place) {
            let gone = self.entries.remove(place);
            self.left_out = self.left_out.saturating_add(gone.count);
        }
    }

    /// Memory that the list takes up, in bytes, with `beside` for what each value holds elsewhere.
    pub(super) fn heap_bytes(&self, beside: impl Fn(&T) -> usize) -> usize {
        let own = self.entries.capacity().saturating_mul(size_of::<Counted<T>>());
        self.entries.iter().fold(own, |held, entry| held.saturating_add(beside(&entry.value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(seen: &mut TopValues<char>, value: char) {
        seen.count(|held| *held == value, || value);
    }

    fn seen(values: &str) -> TopValues<char> {
        let mut seen = TopValues::default();
        values.chars().for_each(|value| add(&mut seen, value));
        seen
    }

    #[test]
    fn what_is_seen_often_comes_first() {
        let seen = seen("abbccd");
        let order: Vec<(char, u32)> = seen.by_count().map(|entry| (entry.value, entry.count)).collect();
        assert_eq!(order, [('b', 2), ('c', 2), ('a', 1), ('d', 1)]);
        assert_eq!((seen.most(), seen.left_out()), (Some(&'b'), 0));
    }

    #[test]
    fn a_ninth_value_takes_the_place_of_the_rarest() {
        let seen = seen("aabcdefghij");
        let order: String = seen.iter().map(|entry| entry.value).collect();
        assert_eq!((order.as_str(), seen.left_out()), ("adefghij", 2));
    }

    #[test]
    fn a_flood_of_values_does_not_drive_out_the_steady_ones() {
        let mut seen = seen("aaabbb");
        (0x4e00..0x4e00 + 1000_u32).for_each(|n| add(&mut seen, char::from_u32(n).unwrap()));
        assert_eq!(seen.by_count().take(2).map(|entry| entry.value).collect::<String>(), "ab");
        assert_eq!((seen.iter().count(), seen.left_out()), (8, 994));
    }
}
