//! Partitions of the flow table.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::SeedableRandomState;

use super::{FlowKey, FlowLimits};
use crate::limits::{MAX_FLOW_PARTITIONS, MIN_PARTITION_FLOWS};

/// Assigns flows to partitions by the hash of their keys.
#[derive(Clone, Debug)]
pub(crate) struct FlowPartitions {
    hasher: SeedableRandomState,
    /// A power of two: 2^`bits`.
    pub(super) count: usize,
    bits: u32,
}

impl FlowPartitions {
    /// Creates the partitions for these limits.
    ///
    /// A fixed hash seed makes a capture file give the same events in every run. A random seed prevents an attacker
    /// from aiming at one partition of a live capture.
    pub(crate) fn new(limits: &FlowLimits, is_random: bool) -> Self {
        let hasher = if is_random { SeedableRandomState::default() } else { SeedableRandomState::fixed() };
        let most = (limits.max_flows / MIN_PARTITION_FLOWS).clamp(1, MAX_FLOW_PARTITIONS);
        let bits = most.ilog2();
        Self { hasher, count: 1 << bits, bits }
    }

    /// Returns the partition of a flow.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the result is less than the number of partitions")]
    pub(super) fn index_of(&self, key: &FlowKey) -> usize {
        let hash = self.hasher.hash_one(key);
        // The highest bits of the hash; with a single partition, none.
        (hash.rotate_left(self.bits) & (self.count as u64).wrapping_sub(1)) as usize
    }

    /// Returns the partitions of one worker. With more workers than partitions, some workers have none.
    pub(super) fn range_of_worker(&self, worker: usize, workers: usize) -> Range<usize> {
        let start = |worker: usize| worker.saturating_mul(self.count).div_ceil(workers.max(1));
        start(worker)..start(worker.saturating_add(1))
    }
}
