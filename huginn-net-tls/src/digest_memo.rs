//! Digests of lists that come again and again.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Lists whose digests are remembered: more than there are TLS libraries in the traffic of most networks, and few
/// enough to stay in a core's cache.
const SLOTS: usize = 256;

/// Remembers the digests of texts of up to `MAX` bytes, each in a slot that its hash chooses. The whole text is
/// compared; one that comes to the same slot takes it over.
///
/// Clients of one library send the same lists, so that nearly every digest but the first of each is found. A text that
/// was never seen before costs a few percent more than without.
pub(crate) struct DigestMemo<D, const MAX: usize> {
    hasher: RandomState,
    slots: Box<[Slot<D, MAX>]>,
}

#[derive(Clone, Copy)]
struct Slot<D, const MAX: usize> {
    text: [u8; MAX],
    /// The length of the text, and its digest.
    known: Option<(u16, D)>,
}

impl<D: Copy, const MAX: usize> DigestMemo<D, MAX> {
    pub(crate) fn new() -> Self {
        let empty = Slot { text: [0; MAX], known: None };
        Self { hasher: RandomState::default(), slots: vec![empty; SLOTS].into_boxed_slice() }
    }

    /// The digest of a text, which is computed if it is not remembered.
    pub(crate) fn digest(&mut self, text: &[u8], compute: impl FnOnce() -> D) -> D {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let place = self.hasher.hash_one(text) as usize % SLOTS;
        let Some(slot) = self.slots.get_mut(place) else { return compute() };
        let (Some(held), Ok(len)) = (slot.text.get_mut(..text.len()), u16::try_from(text.len())) else {
            return compute();
        };
        if let Some((known_len, digest)) = slot.known {
            if known_len == len && held == text {
                return digest;
            }
        }
        let digest = compute();
        held.copy_from_slice(text);
        slot.known = Some((len, digest));
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_own_digest_whatever_came_before_it() {
        let mut memo = DigestMemo::<u64, 16>::new();
        for round in 0..3 {
            for number in 0..1000_u64 {
                let text = number.to_be_bytes();
                let text = &text[usize::from(number < 256) * 7..];
                assert_eq!(memo.digest(text, || number), number, "round {round}");
            }
        }
        assert_eq!(memo.digest(b"", || 7), 7);
    }

    #[test]
    fn what_is_remembered_is_not_computed_and_what_is_too_long_always_is() {
        let mut memo = DigestMemo::<u64, 16>::new();
        for (len, expected) in [(0, 1), (16, 1), (17, 3)] {
            let mut computed = 0;
            for _ in 0..3 {
                memo.digest(&vec![b'x'; len], || {
                    computed += 1;
                    5
                });
            }
            assert_eq!(computed, expected, "{len} bytes");
        }
    }
}
