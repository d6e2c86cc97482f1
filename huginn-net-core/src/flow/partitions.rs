//! Partitions of the flow table.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, RandomState};

use super::{FlowEnds, FlowLimits};
use crate::limits::{MAX_FLOW_PARTITIONS, MIN_PARTITION_FLOWS};

/// Added to seeds, because small numbers give weak hashes: digits of the golden ratio.
const SEED_MASK: u64 = 0x9e37_79b9_7f4a_7c15;

/// Assigns flows to partitions by the hash of their keys.
#[derive(Clone, Debug)]
pub(crate) struct FlowPartitions {
    seed: u64,
    /// The constants of the hash, also from the seed: known ones would permit collisions for every seed.
    hash_constants: Arc<SharedSeed>,
    /// A power of two: 2^`bits`.
    pub(super) count: usize,
    bits: u32,
}

impl FlowPartitions {
    /// Creates the partitions for these limits. Who knows the seed can aim at one partition.
    pub(crate) fn new(limits: &FlowLimits, seed: u64) -> Self {
        let most = (limits.max_flows / MIN_PARTITION_FLOWS).clamp(1, MAX_FLOW_PARTITIONS);
        let bits = most.ilog2();
        let hash_constants = Arc::new(SharedSeed::from_u64(seed ^ SEED_MASK));
        Self { seed, hash_constants, count: 1 << bits, bits }
    }

    /// Returns a seed that cannot be predicted.
    pub(crate) fn random_seed() -> u64 {
        RandomState::default().hash_one(0_u64)
    }

    /// Returns the partition of a flow: the same for both directions, without a comparison of the endpoints.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the result is less than the number of partitions")]
    pub(crate) fn index_of(&self, flow: impl Into<FlowEnds>) -> usize {
        let FlowEnds { ends, tunnel, rest } = flow.into();
        let [one, other] = ends.map(|end| {
            let mut hasher = FoldHasher::with_seed(self.seed ^ SEED_MASK, &self.hash_constants);
            hasher.write_u128(end);
            hasher.finish()
        });
        let mut hasher = FoldHasher::with_seed(one.wrapping_add(other), &self.hash_constants);
        hasher.write_u64(rest);
        hasher.write_u64(tunnel);
        let hash = hasher.finish();
        // The highest bits of the hash; with a single partition, none.
        (hash.rotate_left(self.bits) & (self.count as u64).wrapping_sub(1)) as usize
    }

    /// Returns the number of partitions, a power of two.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the partitions of one worker. With more workers than partitions, some workers have none.
    pub(crate) fn range_of_worker(&self, worker: usize, workers: usize) -> Range<usize> {
        let start = |worker: usize| worker.saturating_mul(self.count).div_ceil(workers.max(1));
        start(worker)..start(worker.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowKey;

    /// Returns the numbers of this many flows that share the partition of flow 0.
    fn aimed(partitions: &FlowPartitions, count: usize) -> Vec<u32> {
        let target = partitions.index_of(&FlowKey::numbered(0));
        (1..).filter(|n| partitions.index_of(&FlowKey::numbered(*n)) == target).take(count).collect()
    }

    /// Flows that fill a partition under one seed are spread over all of them under another.
    #[test]
    fn other_seed_spreads_flows_aimed_at_a_partition() {
        let partitions = |seed| FlowPartitions::new(&FlowLimits::default(), seed);
        let aimed = aimed(&partitions(1), 6400);
        let random = FlowPartitions::random_seed;
        for other in [2, 0, u64::MAX, random(), random()] {
            let other = partitions(other);
            let target = other.index_of(&FlowKey::numbered(0));
            let hits = aimed.iter().filter(|n| other.index_of(&FlowKey::numbered(**n)) == target).count();
            assert!(
                (50..150).contains(&hits),
                "{hits} of 6400 in one of 64 partitions, seed {}",
                other.seed()
            );
        }
    }
}
