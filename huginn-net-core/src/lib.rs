//! Packet decode, flows and the engine under the Huginn-Net passive fingerprinters.
//!
//! A [`Source`] lends [`Frame`]s, a [`Decoder`] turns them into [`Segment`]s, and an [`Analyzer`] leads those
//! past its [`Filter`] and flow table to a [`Protocol`], whose events go to a [`Sink`]. Fingerprints are computed
//! by the protocols; this crate knows none.
//!
//! ```
//! use huginn_net_core::{Analyzer, Event, Frame, Interest, LinkType, Protocol, Segment, Side, Timestamp};
//!
//! /// Reports the payload size of every UDP datagram.
//! #[derive(Default)]
//! struct Sizes;
//!
//! impl Protocol for Sizes {
//!     type Flow = ();
//!     type Event = usize;
//!     type SharedState = ();
//!     type Counters = ();
//!
//!     fn shared_state(&self) {}
//!
//!     fn fork(&self) -> Self {
//!         Self
//!     }
//!
//!     fn counted(&self) {}
//!
//!     fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
//!         segment.tcp().is_none().then_some(Side::Client)
//!     }
//!
//!     fn on_segment(
//!         &mut self,
//!         segment: &Segment<'_>,
//!         sender: Side,
//!         _: &mut (),
//!         emit: &mut impl FnMut(Side, usize),
//!     ) -> Interest {
//!         emit(sender, segment.payload.len());
//!         Interest::More
//!     }
//! }
//!
//! // An IPv4 packet: a UDP datagram with three bytes of payload.
//! let packet = [
//!     0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, //
//!     0, 53, 4, 0, 0, 11, 0, 0, b'a', b'b', b'c',
//! ];
//! let frame = Frame { ts: Timestamp::new(0, 0, 6), link: LinkType::RAW, data: &packet, wire_len: 31 };
//! let mut events: Vec<Event<usize>> = Vec::new();
//! let mut analyzer = Analyzer::<Sizes>::builder().build();
//! let _ = analyzer.push(&frame, &mut events);
//! analyzer.finish();
//! assert_eq!(events[0].kind, 3);
//! assert_eq!(events[0].flow.client.to_string(), "192.0.2.1:53");
//! ```

#[cfg(feature = "libpcap")]
mod bpf;
mod decode;
mod engine;
mod event;
mod filter;
mod flow_key;
mod flows;
mod frame;
mod idle_map;
mod limits;
mod protocol;
mod segment;
#[cfg(feature = "serde")]
mod serialize;
mod shared_state;
mod source;
mod stream;
mod tally;
mod timestamp;
mod tunnel;

#[cfg(feature = "libpcap")]
pub use bpf::{Bpf, BpfError};
pub use decode::{DecodeConfig, DecodeCounters, DecodeError, Decoder, Layer, decode_ip, ip_packet_len};
pub use engine::{
    AnalysisError, Analyzer, Builder, CancelToken, Counters, Overflow, Snapshot, SnapshotHandle, TextSink,
};
pub use event::{Event, FlowId, Sink, SinkResult, TransportKind};
pub use filter::Filter;
pub use flow_key::FlowKey;
pub use flows::{FlowCounters, FlowLimits};
pub use frame::{Frame, LinkType};
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use huginn_net_wire::serialize_as_text;
pub use huginn_net_wire::{CivilDate, Cursor, Escaped, Parsed, Reassembler, Side, Truncated};
pub use idle_map::{IdleCounters, IdleLimits, IdleMap, Slot};
/// Networks in CIDR notation, for [`Filter`].
pub use ipnet::IpNet;
pub use protocol::{Interest, Protocol, Report};
pub use segment::{Addresses, IpHeader, Segment, TcpFlags, TcpHeader, TransportHeader, UdpHeader};
pub use shared_state::{Route, SharedState};
pub use source::{Block, Fill, FirstFrames, FrameRecord, Frames, MemoryFrames, NextFrame, Source};
pub use stream::{
    ParserSet, ParserSlot, ParserVisitor, Probe, StreamCounters, StreamData, StreamFlow, StreamInput,
    StreamObserver, StreamObserverCounters, StreamParser, StreamStart, first_sender, without_padding,
};
pub use tally::Tally;
pub use timestamp::Timestamp;
pub use tunnel::{MAX_TUNNEL_LAYERS, TunnelLayer, TunnelPath};
