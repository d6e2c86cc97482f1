//! The connections that are written.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use huginn_net::core::FlowKey;

/// The packets of connections, by flow and packet number.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// Start and end of the ranges of each flow.
    pub(super) flows: HashMap<FlowKey, (u32, u32)>,
    /// The packets of each connection; those of a flow are sorted.
    pub(super) ranges: Vec<RangeInclusive<u64>>,
    /// The packets with fragments of datagrams that later packets complete, sorted.
    pub(super) fragments: Vec<u64>,
    /// Fragments that limits left out.
    pub(super) fragments_left_out: u64,
    /// Packets of findings that the limit of flows left out.
    pub(super) packets_left_out: u64,
}

impl Connections {
    /// Number of connections.
    pub(super) fn len(&self) -> u64 {
        self.ranges.len() as u64
    }

    /// Whether a packet of a flow is one of a connection.
    pub(super) fn contains(&self, flow: &FlowKey, packet: u64) -> bool {
        let Some((start, end)) = self.flows.get(flow) else { return false };
        let ranges = self.ranges.get(*start as usize..*end as usize).unwrap_or_default();
        let after = ranges.partition_point(|range| *range.end() < packet);
        ranges.get(after).is_some_and(|range| range.contains(&packet))
    }

    /// Whether a packet is a fragment of a datagram of a connection.
    pub(super) fn has_fragment(&self, packet: u64) -> bool {
        self.fragments.binary_search(&packet).is_ok()
    }
}
