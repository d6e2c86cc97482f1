//! Seeds of the hash that assigns flows to partitions.

use crate::flow::FlowPartitions;

/// The seed of the hash that assigns flows to the partitions of the flow table.
///
/// Each partition has its part of the limits on flows and memory. Who knows the seed can aim flows at one partition, and
/// so evict a chosen flow with a 64th of the flows that fill the table. Events depend on the seed only if flows are
/// evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashSeed {
    /// This seed, so that another analysis of the same file evicts the same flows.
    Fixed(u64),
    /// A seed that cannot be predicted.
    Random,
}

/// The seeds of an analyzer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    /// For live sources and pushed frames.
    pub(super) live: u64,
    /// For other sources.
    offline: u64,
}

impl Seeds {
    pub(super) fn new(chosen: Option<HashSeed>) -> Self {
        let random = FlowPartitions::random_seed;
        match chosen {
            Some(HashSeed::Fixed(seed)) => Self { live: seed, offline: seed },
            Some(HashSeed::Random) => {
                let seed = random();
                Self { live: seed, offline: seed }
            }
            None => Self { live: random(), offline: 0 },
        }
    }

    pub(super) fn of_source(self, is_live: bool) -> u64 {
        if is_live { self.live } else { self.offline }
    }
}
