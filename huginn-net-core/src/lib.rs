//! Packet decoding, flow tracking and the analysis engine of the Huginn-Net passive fingerprinters.
//!
//! A [`Source`] lends [`Frame`]s and a [`Decoder`] turns them into [`Segment`]s. An [`Analyzer`] filters the
//! segments, assigns them to flows and runs a [`Protocol`] on each flow. The events go to a function. Protocols
//! compute fingerprints; this crate contains none.
//!
//! ```
//! use huginn_net_core::{Analyzer, Event, Frame, Interest, LinkType, Origin, Protocol, Segment, Side, Timestamp};
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
//!     fn counters(&self) {}
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
//!         emit: &mut impl FnMut(Origin, usize),
//!     ) -> Interest {
//!         emit(sender.into(), segment.payload.len());
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
//! let _ = analyzer.push(&frame, |event| events.push(event));
//! analyzer.finish(|event| events.push(event));
//! assert_eq!(events[0].kind, 3);
//! assert_eq!(events[0].flow.client.to_string(), "192.0.2.1:53");
//! ```
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `bpf` | `Bpf`: filter expressions of pcap-filter(7), run by the libpcap of the system |
//! | `serde` | `Serialize` for counters, [`FlowId`], [`Example`], [`Timestamp`], [`TransportKind`], [`TunnelLayer`] and [`TunnelPath`]; `Deserialize` for [`Timestamp`] and [`TunnelLayer`] |
//! | `stream` | [`Run`] as a `Stream` of events, for any executor |
//!
//! None is on by default.
//!
//! Items that these pages leave out are for the crates of the family: they may change at any time.

mod decode;
mod engine;
mod examples;
mod filter;
mod flow;
mod limits;
mod packet;
mod packet_clock;
mod protocol;
mod replaceable;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(all(test, target_pointer_width = "64"))]
mod sizes;
mod source;
mod stream;
mod tally;

pub use decode::{
    AddressMap, DecodeConfig, DecodeCounters, DecodeError, Decoder, Layer, ProtocolCount, ProtocolNumber,
    Registry,
};
#[doc(hidden)]
pub use decode::{decode_ip, ip_packet_len};
#[doc(hidden)]
pub use engine::TextSink;
pub use engine::{
    AnalysisError, Analyzer, Builder, CancelToken, Counters, HashSeed, Overflow, Run, RunCounters, RunEnd,
    RunOutcome, RunStopper, Snapshot, SnapshotHandle,
};
pub use examples::Example;
#[doc(hidden)]
pub use examples::Examples;
pub use filter::Filter;
#[cfg(feature = "bpf")]
pub use filter::{Bpf, BpfError};
pub use flow::{FlowCounters, FlowKey, FlowLimits, IdleCounters};
#[doc(hidden)]
pub use flow::{IdleLimits, IdleMap, Slot};
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use huginn_net_wire::deserialize_from_text;
#[doc(hidden)]
pub use huginn_net_wire::{
    Amount, CivilDate, HexDigits, IpText, Joined, Printable, Quoted, byte_digits, is_printable, md5_digits,
    md5_from_digits, named, number_digits, quoted, setters, table_enum,
};
pub use huginn_net_wire::{Cursor, Escaped, Parsed, Side, Truncated};
/// Networks in CIDR notation, for [`Filter`].
pub use ipnet::IpNet;
pub use packet::{
    Addresses, Frame, FrameProcess, IpHeader, LinkType, ProcessEnd, ProcessOrigin, Segment, TcpFlags,
    TcpHeader, Timestamp, TransportHeader, TunnelLayer, TunnelLayerError, TunnelPath, UdpHeader,
};
#[doc(hidden)]
pub use packet_clock::PacketClock;
#[doc(hidden)]
pub use protocol::PairFlow;
pub use protocol::{
    Conflict, ConnectionId, DatagramObserver, Either, Event, FlowId, Interest, NextSeq, Origin, PacketRef,
    Protocol, Report, Route, SharedState, SinkResult, TransportKind,
};
pub use replaceable::{Replaceable, ReplaceableReader};
pub use source::{
    Block, Fill, FirstFrames, FrameChannelClosed, FrameReceiver, FrameRecord, FrameSender, Frames, NextFrame,
    Source, frame_channel,
};
#[doc(hidden)]
pub use source::{Chunk, ChunkReader};
#[doc(hidden)]
pub use stream::{
    ParserSet, ParserSlot, ParserVisitor, StreamFlow, StreamInput, first_sender, without_padding,
};
pub use stream::{
    PrefixObserver, PrefixParse, PrefixParser, Probe, StreamCounters, StreamData, StreamObserver,
    StreamObserverCounters, StreamParser, StreamPrefix, StreamStart,
};
pub use tally::Tally;
