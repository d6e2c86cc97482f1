//! The types of a hello's extensions, whatever their order.

use smallvec::SmallVec;

use crate::{Extensions, is_grease};

/// The types of a hello's extensions in ascending order, as often as they come, GREASE aside.
///
/// Nearly all that are sent are below 64 and come once. Those are bits of a word, and sorted without a comparison, whose
/// outcome no processor could foresee where clients shuffle them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedKinds {
    /// Those below 64.
    low: u64,
    /// The others, and those that came before.
    others: SmallVec<[u16; 16]>,
}

impl SortedKinds {
    pub(crate) fn of(extensions: Extensions<'_>) -> Self {
        let mut kinds = Self::default();
        for extension in extensions {
            let kind = extension.kind;
            let bit = 1_u64.checked_shl(kind.into()).unwrap_or_default();
            if bit & !kinds.low != 0 {
                kinds.low |= bit;
            } else if !is_grease(kind) {
                kinds.others.push(kind);
            }
        }
        if kinds.others.len() > 1 {
            kinds.others.sort_unstable();
        }
        kinds
    }

    /// The bits of those below 64, and the others: equal parts, equal types.
    pub(crate) fn parts(&self) -> (u64, &[u16]) {
        (self.low, &self.others)
    }

    pub(crate) fn for_each(&self, mut each: impl FnMut(u16)) {
        let mut others = self.others.iter().copied().peekable();
        let mut low = self.low;
        while low != 0 {
            #[expect(clippy::cast_possible_truncation, reason = "there are 64 bits")]
            let kind = low.trailing_zeros() as u16;
            while let Some(again) = others.next_if(|other| *other < kind) {
                each(again);
            }
            each(kind);
            low &= low.wrapping_sub(1);
        }
        others.for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn types_are_in_order_as_often_as_they_come(
            kinds in prop::collection::vec(
                prop_oneof![0..20_u16, 60..70_u16, any::<u16>(), Just(0x0a0a), Just(0xff01)], 0..60,
            ),
        ) {
            let block: Vec<u8> = kinds.iter().flat_map(|kind| [&kind.to_be_bytes()[..], &[0, 0]].concat()).collect();
            let mut wanted: Vec<u16> = kinds.into_iter().filter(|kind| !is_grease(*kind)).collect();
            wanted.sort_unstable();
            let (sorted, mut found) = (SortedKinds::of(Extensions::new(&block)), Vec::new());
            sorted.for_each(|kind| found.push(kind));
            prop_assert_eq!(found, wanted);
        }
    }
}
