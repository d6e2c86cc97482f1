//! Which segments are analysed.

#[cfg(feature = "libpcap")]
mod bpf;

use ipnet::IpNet;

use crate::Segment;

#[cfg(feature = "libpcap")]
pub(crate) use bpf::BpfSource;
#[cfg(feature = "libpcap")]
pub use bpf::{Bpf, BpfError};

/// A choice of segments by port and network, applied to the innermost addresses.
///
/// Ports and networks are alternatives among themselves; where both are given, one of each must match. Either
/// end of a segment may match, so both directions of a flow pass or neither does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    ports: Vec<u16>,
    nets: Vec<IpNet>,
}

impl Filter {
    /// A filter that lets everything pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets segments from or to this port pass.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }

    /// Lets segments from or to this network pass.
    #[must_use]
    pub fn net(mut self, net: IpNet) -> Self {
        self.nets.push(net);
        self
    }

    /// Whether it lets everything pass.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.nets.is_empty()
    }

    /// Whether the segment is to be analysed.
    #[inline]
    pub fn passes(&self, segment: &Segment<'_>) -> bool {
        let (src_port, dst_port) = segment.transport.ports();
        let port = |wanted: &u16| *wanted == src_port || *wanted == dst_port;
        let net = |wanted: &IpNet| wanted.contains(&segment.ip.src()) || wanted.contains(&segment.ip.dst());
        (self.ports.is_empty() || self.ports.iter().any(port))
            && (self.nets.is_empty() || self.nets.iter().any(net))
    }
}
