//! Filters by port, network, shard and BPF expression.

#[cfg(feature = "bpf")]
mod bpf;

use std::hash::BuildHasher;
use std::num::NonZeroU32;

use foldhash::fast::FixedState;
use ipnet::IpNet;

use crate::{FlowKey, Segment};

#[cfg(feature = "bpf")]
pub(crate) use bpf::BpfSource;
#[cfg(feature = "bpf")]
pub use bpf::{Bpf, BpfError};

/// A filter by port, network and shard, applied to the innermost addresses.
///
/// A segment passes if it matches any of the ports and any of the networks, none of those excluded, and belongs to the shard; an
/// empty list of ports or networks matches everything. Either endpoint may match, so both directions of a flow pass or neither does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    ports: Vec<u16>,
    nets: Vec<IpNet>,
    excluded_ports: Vec<u16>,
    excluded_nets: Vec<IpNet>,
    shard: Option<Shard>,
}

/// One of several disjoint sets of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    index: u32,
    shards: NonZeroU32,
}

impl Filter {
    /// Creates a filter that passes everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Passes segments from or to this port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    /// Passes segments from or to this network.
    #[must_use]
    pub fn net(mut self, net: IpNet) -> Self {
        self.nets.push(net);
        self
    }

    /// Removes segments from or to this port.
    #[must_use]
    pub fn exclude_port(mut self, port: u16) -> Self {
        self.excluded_ports.push(port);
        self
    }

    /// Removes segments from or to this network.
    #[must_use]
    pub fn exclude_net(mut self, net: IpNet) -> Self {
        self.excluded_nets.push(net);
        self
    }

    /// Passes one of `shards` disjoint sets of flows: a hash of addresses, ports and tunnel decides. So several processes
    /// can analyse one capture.
    ///
    /// The events of flows from all indices, 0 to `shards - 1`, are those of an analysis without shards. Hosts are not: a
    /// shard has only some of the flows of a host.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    ///
    /// use huginn_net_core::Filter;
    ///
    /// let shards = NonZeroU32::new(8).unwrap_or(NonZeroU32::MIN);
    /// let filters = (0..shards.get()).map(|index| Filter::new().shard(index, shards));
    /// assert!(filters.into_iter().all(|filter| !filter.is_empty()));
    /// ```
    #[must_use]
    pub fn shard(mut self, index: u32, shards: NonZeroU32) -> Self {
        self.shard = Some(Shard { index, shards });
        self
    }

    /// Whether the filter passes everything.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Self { ports, nets, excluded_ports, excluded_nets, shard } = self;
        ports.is_empty()
            && nets.is_empty()
            && excluded_ports.is_empty()
            && excluded_nets.is_empty()
            && shard.is_none()
    }

    /// Whether a segment passes.
    #[inline]
    pub fn passes(&self, segment: &Segment<'_>) -> bool {
        let (src_port, dst_port) = segment.transport.ports();
        let port = |wanted: &u16| *wanted == src_port || *wanted == dst_port;
        let net = |wanted: &IpNet| wanted.contains(&segment.ip.src()) || wanted.contains(&segment.ip.dst());
        (self.ports.is_empty() || self.ports.iter().any(port))
            && (self.nets.is_empty() || self.nets.iter().any(net))
            && !self.excluded_ports.iter().any(port)
            && !self.excluded_nets.iter().any(net)
            && self.shard.is_none_or(|shard| shard.has(segment))
    }
}

impl Shard {
    /// Whether the shard has the flow of a segment.
    fn has(self, segment: &Segment<'_>) -> bool {
        let (key, _) = FlowKey::from_segment(segment);
        // Other processes and machines must give the same hash: the seed is fixed.
        let hash = FixedState::default().hash_one(key);
        hash.checked_rem(self.shards.get().into()) == Some(self.index.into())
    }
}
