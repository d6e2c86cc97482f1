//! Frames as sources lend them, and segments as the decoder returns them.

mod frame;
mod segment;
mod timestamp;
mod tunnel;

pub use frame::{Frame, LinkType};
pub use segment::{Addresses, IpHeader, Segment, TcpFlags, TcpHeader, TransportHeader, UdpHeader};
pub use timestamp::Timestamp;
pub use tunnel::{TunnelLayer, TunnelLayerError, TunnelPath};
