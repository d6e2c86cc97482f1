//! Filters by port, network and BPF expression.

#[cfg(feature = "libpcap")]
mod bpf;

use ipnet::IpNet;

use crate::Segment;

#[cfg(feature = "libpcap")]
pub(crate) use bpf::BpfSource;
#[cfg(feature = "libpcap")]
pub use bpf::{Bpf, BpfError};

/// A filter by port and network, applied to the innermost addresses.
///
/// A segment passes if it matches any of the ports and any of the networks; an empty list matches everything. Either
/// endpoint may match, so both directions of a flow pass or neither does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    ports: Vec<u16>,
    nets: Vec<IpNet>,
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

    /// Whether the filter passes everything.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.nets.is_empty()
    }

    /// Whether a segment passes.
    #[inline]
    pub fn passes(&self, segment: &Segment<'_>) -> bool {
        let (src_port, dst_port) = segment.transport.ports();
        let port = |wanted: &u16| *wanted == src_port || *wanted == dst_port;
        let net = |wanted: &IpNet| wanted.contains(&segment.ip.src()) || wanted.contains(&segment.ip.dst());
        (self.ports.is_empty() || self.ports.iter().any(port))
            && (self.nets.is_empty() || self.nets.iter().any(net))
    }
}
