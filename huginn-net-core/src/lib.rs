//! Capture files, packet decode, flows and the engine under the Huginn-Net passive fingerprinters.
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
//!     type Memory = ();
//!     type Counters = ();
//!
//!     fn memory(&self) {}
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
//! let _ = analyzer.finish(&mut events);
//! assert_eq!(events[0].kind, 3);
//! assert_eq!(events[0].flow.client.to_string(), "192.0.2.1:53");
//! ```

mod analysis_error;
mod analyzer;
#[cfg(feature = "libpcap")]
mod bpf;
mod capture;
mod cursor;
mod decode;
mod direct;
mod event;
mod filter;
mod flow_key;
mod flows;
mod form;
mod frame;
mod idle_map;
mod intake;
mod limits;
mod memory;
mod outlet;
mod packet_clock;
mod parallel;
mod protocol;
mod segment;
mod source;
mod stream;
mod tally;
mod timestamp;
mod tunnel;
mod watch;

pub use analysis_error::AnalysisError;
pub use analyzer::{Analyzer, Builder, CancelToken, Counters};
#[cfg(feature = "libpcap")]
pub use bpf::{Bpf, BpfError};
pub use capture::{CaptureError, CaptureReader, Compression, Defect, Part};
pub use cursor::{Cursor, Truncated};
pub use decode::{DecodeConfig, DecodeCounters, DecodeError, Decoder, Layer, decode_ip};
pub use event::{Event, FlowId, Sink, TransportKind};
pub use filter::Filter;
pub use flow_key::FlowKey;
pub use flows::{FlowCounters, FlowLimits};
pub use frame::{Frame, LinkType};
pub use idle_map::{IdleCounters, IdleLimits, IdleMap, Slot};
/// Networks in CIDR notation, for [`Filter`].
pub use ipnet::IpNet;
pub use memory::{Memory, Route};
pub use parallel::Overflow;
pub use protocol::{Interest, Protocol, Report, Side};
pub use segment::{Addresses, IpHeader, Segment, TcpFlags, TcpHeader, Transport, UdpHeader};
pub use source::{Frames, MemoryFrames, Source};
pub use stream::{
    ParserSet, ParserSlot, ParserVisitor, Probe, Reassembler, StreamCounters, StreamData, StreamFlow,
    StreamInput, StreamObserver, StreamObserverCounters, StreamParser, StreamStart, first_sender,
    without_padding,
};
pub use tally::Tally;
pub use timestamp::Timestamp;
pub use tunnel::{MAX_TUNNEL_LAYERS, TunnelLayer, TunnelPath};
pub use watch::{Glimpse, Inspector, Watcher};
