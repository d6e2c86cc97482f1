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
    pub(crate) seed: u64,
    /// The constants of the hash, also from the seed: known ones would permit collisions for every seed.
    hash_constants: Arc<SharedSeed>,
    /// A power of two: 2^`bits`.
    pub(crate) count: usize,
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

    /// Returns the partitions of one worker. With more workers than partitions, some workers have none.
    pub(crate) fn range_of_worker(&self, worker: usize, workers: usize) -> Range<usize> {
        let start = |worker: usize| worker.saturating_mul(self.count).div_ceil(workers.max(1));
        start(worker)..start(worker.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::{Addresses, FlowKey};

    /// Returns the numbers of this many flows that share the partition of flow 0.
    fn aimed(partitions: &FlowPartitions, count: usize) -> Vec<u32> {
        let target = partitions.index_of(&FlowKey::numbered(0));
        (1..).filter(|n| partitions.index_of(&FlowKey::numbered(*n)) == target).take(count).collect()
    }

    #[test]
    fn both_directions_have_one_partition() {
        let partitions = FlowPartitions::new(&FlowLimits::default(), 1);
        let (client, server) = ((Ipv4Addr::new(192, 0, 2, 1), 50000), (Ipv4Addr::new(198, 51, 100, 2), 443));
        let index = |ends| partitions.index_of(FlowEnds::of_plain_tcp(ends));
        assert_eq!(index([client, server]), index([server, client]));
        let key = FlowKey::from_tcp(Addresses::V4 { src: server.0, dst: client.0 }, (server.1, client.1)).0;
        assert_eq!(index([client, server]), partitions.index_of(&key));
    }

    /// Flows whose endpoints differ from each other by the same bits, too, are in all partitions.
    #[test]
    fn regular_addresses_are_spread() {
        let partitions = FlowPartitions::new(&FlowLimits::default(), 1);
        let mut flows = vec![[0; 64]; 2];
        for (n, port) in (0..64_u32).flat_map(|n| (0..100).map(move |port| (n, port))) {
            let client = Ipv4Addr::from(0x0a00_0000 + n);
            let servers = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::from(!u32::from(client))];
            for (flows, (server, server_port)) in flows.iter_mut().zip(servers.into_iter().zip([443, !port]))
            {
                let ends = FlowEnds::of_plain_tcp([(client, port), (server, server_port)]);
                flows[partitions.index_of(ends)] += 1;
            }
        }
        for (partition, count) in flows.iter().flatten().enumerate() {
            assert!((50..150).contains(count), "{count} of 6400 in partition {}", partition % 64);
        }
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
            assert!((50..150).contains(&hits), "{hits} of 6400 in one of 64 partitions, seed {}", other.seed);
        }
    }
}
