//! Reorders numbered packets.

use std::collections::BTreeMap;

use crate::limits::{MAX_PACKETS_AHEAD, MAX_REORDER_BYTES, PAYLOAD_OVERHEAD};

/// Delivers payloads in the order of their packet numbers and buffers early ones.
#[derive(Debug, Default)]
pub(crate) struct ReorderBuffer {
    next: u32,
    early: BTreeMap<u32, Box<[u8]>>,
    /// The memory used by buffered payloads, in bytes.
    pub(crate) buffered: usize,
}

impl ReorderBuffer {
    /// Creates a buffer whose next expected packet number is `next`.
    pub(crate) fn starting_at(next: u32) -> Self {
        Self { next, ..Self::default() }
    }

    /// Handles a packet and delivers all payloads that are now in order.
    ///
    /// Returns false if the packet is too early to be buffered. A packet that was already delivered is ignored.
    pub(crate) fn push(&mut self, number: u32, payload: &[u8], deliver: &mut impl FnMut(&[u8])) -> bool {
        if number > self.next {
            return self.buffer_payload(number, payload);
        }
        if number == self.next {
            deliver(payload);
            self.next = self.next.saturating_add(1);
            while let Some(payload) = self.early.remove(&self.next) {
                self.buffered = self.buffered.saturating_sub(cost(&payload));
                deliver(&payload);
                self.next = self.next.saturating_add(1);
            }
        }
        true
    }

    fn buffer_payload(&mut self, number: u32, payload: &[u8]) -> bool {
        if self.early.contains_key(&number) {
            return true;
        }
        let buffered = self.buffered.saturating_add(cost(payload));
        if number.saturating_sub(self.next) > MAX_PACKETS_AHEAD || buffered > MAX_REORDER_BYTES {
            return false;
        }
        self.early.insert(number, payload.into());
        self.buffered = buffered;
        true
    }
}

const fn cost(payload: &[u8]) -> usize {
    payload.len().saturating_add(PAYLOAD_OVERHEAD)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ordered(numbers: &[u32]) -> Vec<u8> {
        let (mut buffer, mut bytes) = (ReorderBuffer::starting_at(1), Vec::new());
        for number in numbers {
            let payload = [u8::try_from(*number).unwrap()];
            assert!(buffer.push(*number, &payload, &mut |payload| bytes.extend_from_slice(payload)));
        }
        bytes
    }

    #[test]
    fn rejects_packets_beyond_reorder_limits() {
        let mut buffer = ReorderBuffer::starting_at(7);
        assert!(buffer.push(7 + MAX_PACKETS_AHEAD, b"", &mut |_| panic!("too early")));
        assert!(!buffer.push(8 + MAX_PACKETS_AHEAD, b"", &mut |_| panic!("too early")));
        let large = vec![0; 60_000];
        assert!(buffer.push(9, &large, &mut |_| panic!("too early")));
        assert!(!buffer.push(10, &large, &mut |_| panic!("too early")));
        assert!(buffer.buffered <= MAX_REORDER_BYTES);
    }

    #[test]
    fn last_packet_number_is_safe() {
        let mut buffer = ReorderBuffer::starting_at(u32::MAX);
        assert!(buffer.push(u32::MAX, b"x", &mut |_| {}));
        assert!(buffer.push(u32::MAX - 1, b"y", &mut |_| panic!("delivered already")));
    }

    proptest! {
        #[test]
        fn restores_any_packet_order(
            numbers in Just((1..=60_u32).chain(1..=60).collect::<Vec<_>>()).prop_shuffle()
        ) {
            prop_assert_eq!(ordered(&numbers), (1..=60).collect::<Vec<u8>>());
        }
    }
}
