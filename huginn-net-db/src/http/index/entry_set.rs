//! Bit sets of signature indices.

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// A set of indices, one bit each, 64 in a word.
#[derive(Clone, Debug, Default)]
pub(super) struct EntrySet {
    /// Number of the first word.
    first: usize,
    words: Vec<u64>,
    pub(super) len: u32,
}

impl EntrySet {
    /// Inserts an index that is greater than all before.
    pub(super) fn insert(&mut self, index: usize) {
        let number = index / BITS;
        if self.words.is_empty() {
            self.first = number;
        }
        let word = number.saturating_sub(self.first);
        if word >= self.words.len() {
            self.words.resize(word.saturating_add(1), 0);
        }
        if let Some(bits) = self.words.get_mut(word) {
            self.len = self.len.saturating_add(u32::from(*bits & 1 << (index % BITS) == 0));
            *bits |= 1 << (index % BITS);
        }
    }

    /// The word that starts at index 64 times this number.
    pub(super) fn word(&self, number: usize) -> u64 {
        number.checked_sub(self.first).and_then(|word| self.words.get(word)).copied().unwrap_or(0)
    }

    /// The number of words for this many indices.
    pub(super) fn words(indices: usize) -> usize {
        indices.div_ceil(BITS)
    }

    /// The indices in a word, in ascending order.
    pub(super) fn indices(number: usize, mut word: u64) -> impl Iterator<Item = usize> {
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
    fn iterates_in_ascending_order() {
        let indices = [0, 1, 63, 64, 130, 200];
        let mut set = EntrySet::default();
        indices.into_iter().for_each(|index| set.insert(index));
        let words = 0..EntrySet::words(201);
        let found: Vec<_> = words.flat_map(|word| EntrySet::indices(word, set.word(word))).collect();
        assert_eq!(found, indices);
        assert_eq!((set.word(1), set.word(4), set.len), (1, 0, 6));
        let mut late = EntrySet::default();
        late.insert(200);
        late.insert(200);
        assert_eq!((late.word(2), late.word(3), late.word(4), late.len), (0, 1 << 8, 0, 1));
    }
}
