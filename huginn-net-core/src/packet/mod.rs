//! Frames as sources lend them, and segments as the decoder returns them.

mod frame;
mod process;
mod segment;
mod timestamp;
mod tunnel;

pub use frame::{Frame, LinkType};
pub use process::{FrameProcess, ProcessEnd, ProcessOrigin};
pub use segment::{Addresses, IpHeader, Segment, TcpFlags, TcpHeader, TransportHeader, UdpHeader};
pub use timestamp::Timestamp;
pub use tunnel::{TunnelLayer, TunnelLayerError, TunnelPath};
