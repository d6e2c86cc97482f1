//! Capture files, packet decode, flows and the engine under the Huginn-Net passive fingerprinters.

mod frame;
mod protocol;
mod segment;
mod timestamp;
mod tunnel;

pub use frame::{Frame, LinkType};
pub use protocol::{Interest, Protocol, Side};
pub use segment::{IpHeader, Segment, TcpFlags, TcpHeader, Transport, UdpHeader};
pub use timestamp::Timestamp;
pub use tunnel::{MAX_TUNNEL_LAYERS, TunnelLayer, TunnelPath};
