//! Sets of signatures by their places.

/// The bits of a word.
const BITS: usize = u64::BITS as usize;

/// A set of places, one bit each, 64 in a word.
#[derive(Clone, Debug, Default)]
pub(super) struct EntrySet(Vec<u64>);

impl EntrySet {
    pub(super) fn insert(&mut self, place: usize) {
        let word = place / BITS;
        if word >= self.0.len() {
            self.0.resize(word.saturating_add(1), 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (place % BITS);
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.0.iter().fold(0, |sum, word| sum.saturating_add(word.count_ones()))
    }

    /// The places from 64 times this number on.
    pub(super) fn word(&self, number: usize) -> u64 {
        self.0.get(number).copied().unwrap_or(0)
    }

    /// How many words hold so many places.
    pub(super) fn words(places: usize) -> usize {
        places.div_ceil(BITS)
    }

    /// The places that a word holds, in order.
    pub(super) fn places(number: usize, mut word: u64) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word.wrapping_sub(1);
            Some(number.saturating_mul(BITS).saturating_add(bit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_in_order() {
        let places = [0, 1, 63, 64, 130, 200];
        let mut set = EntrySet::default();
        places.into_iter().rev().for_each(|place| set.insert(place));
        let words = 0..EntrySet::words(201);
        let found: Vec<_> = words.flat_map(|word| EntrySet::places(word, set.word(word))).collect();
        assert_eq!(found, places);
        assert_eq!((set.word(1), set.word(4)), (1, 0));
    }
}
