//! Sorted two-byte numbers.

use smallvec::SmallVec;

use crate::hello::is_grease;
use crate::limits::INLINE_UNSORTED_NUMBERS;

/// Numbers in ascending order, including repeated ones, without GREASE.
///
/// Almost all numbers are in the first `WORDS` [blocks](BLOCKS) and occur once. They are bits of words, which sorts
/// them without comparisons; branch prediction would fail on the shuffled lists of clients.
#[derive(Clone, Debug)]
pub(crate) struct Sorted<const WORDS: usize> {
    words: [u64; WORDS],
    /// Numbers outside of the blocks, and repeated numbers.
    others: SmallVec<[u16; INLINE_UNSORTED_NUMBERS]>,
}

/// Sorted extension types.
pub(crate) type SortedKinds = Sorted<1>;
/// Sorted cipher suites.
pub(crate) type SortedSuites = Sorted<{ BLOCKS.len() }>;

/// The first numbers of blocks of 64, ascending: almost all extension types and cipher suites (IANA, "TLS Cipher
/// Suites").
const BLOCKS: [u16; 9] = [0x0000, 0x0040, 0x0080, 0x00c0, 0x1300, 0xc000, 0xc040, 0xc080, 0xcc80];

/// The block of each number, indexed by all but its last six bits; a value beyond the last block means none.
#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated and checked at compile time"
)]
static BLOCK_OF: [u8; 1 << 10] = {
    let mut block_of = [u8::MAX; 1 << 10];
    let mut block = 0;
    while block < BLOCKS.len() {
        block_of[(BLOCKS[block] >> 6) as usize] = block as u8;
        block += 1;
    }
    block_of
};

impl<const WORDS: usize> Sorted<WORDS> {
    pub(crate) fn from_numbers(numbers: impl Iterator<Item = u16>) -> Self {
        Self::from_numbers_with(numbers, |_| {})
    }

    /// Sorts numbers, without GREASE, and calls `each` for each one in original order.
    #[inline]
    pub(crate) fn from_numbers_with(numbers: impl Iterator<Item = u16>, mut each: impl FnMut(u16)) -> Self {
        let mut sorted = Self { words: [0; WORDS], others: SmallVec::new() };
        for number in numbers {
            let block = BLOCK_OF.get(usize::from(number >> 6)).copied().unwrap_or(u8::MAX);
            let bit = 1_u64.wrapping_shl(number.into());
            match sorted.words.get_mut(usize::from(block)) {
                Some(word) if *word & bit == 0 => *word |= bit,
                _ if is_grease(number) => continue,
                _ => sorted.others.push(number),
            }
            each(number);
        }
        if sorted.others.len() > 1 {
            sorted.others.sort_unstable();
        }
        sorted
    }

    /// The bits of the numbers in blocks, and the other numbers. Equal parts mean equal numbers.
    pub(crate) fn parts(&self) -> ([u64; WORDS], &[u16]) {
        (self.words, &self.others)
    }

    pub(crate) fn for_each(&self, mut each: impl FnMut(u16)) {
        let mut others = self.others.iter().copied();
        let mut other = others.next();
        for (block, word) in BLOCKS.iter().zip(&self.words) {
            let mut word = *word;
            while word != 0 {
                #[expect(clippy::cast_possible_truncation, reason = "there are 64 bits")]
                let number = block | word.trailing_zeros() as u16;
                while let Some(before) = other.filter(|other| *other < number) {
                    each(before);
                    other = others.next();
                }
                each(number);
                word &= word.wrapping_sub(1);
            }
        }
        other.into_iter().chain(others).for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn to_vec<const WORDS: usize>(sorted: &Sorted<WORDS>) -> Vec<u16> {
        let mut numbers = Vec::new();
        sorted.for_each(|number| numbers.push(number));
        numbers
    }

    proptest! {
        #[test]
        fn sorts_numbers_and_keeps_repeats(
            numbers in prop::collection::vec(
                prop_oneof![
                    0..20_u16, 60..70_u16, 250..260_u16, 0x12fe..0x1304_u16, 0xc0bd..0xc0c3_u16, 0xcc7e..0xcc84_u16,
                    any::<u16>(), Just(0x0a0a), Just(0xff01),
                ],
                0..60,
            ),
        ) {
            let (kinds, suites) =
                (SortedKinds::from_numbers(numbers.iter().copied()), SortedSuites::from_numbers(numbers.iter().copied()));
            let mut wanted = numbers;
            wanted.retain(|number| !is_grease(*number));
            wanted.sort_unstable();
            prop_assert_eq!(&to_vec(&kinds), &wanted);
            prop_assert_eq!(&to_vec(&suites), &wanted);
        }
    }
}
