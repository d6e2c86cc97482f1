//! The trait between the engine and a fingerprinter.

mod datagrams;
mod event;
mod pair;
mod shared_state;

pub use datagrams::DatagramObserver;
pub use event::{Conflict, ConnectionId, Event, FlowId, Origin, PacketRef, SinkResult, TransportKind};
pub use pair::{Either, PairFlow};
pub use shared_state::{Route, SharedState};

use crate::{Segment, Side, Tally, Timestamp};

/// A fingerprinter of flows, one segment at a time.
///
/// The engine owns sources, decoding, filters and the flow table. A protocol owns the state of each flow and its
/// events. Implement [`StreamParser`](crate::StreamParser) instead to read TCP streams. A pair of protocols is a
/// protocol, too.
///
/// A parallel analysis has one protocol per worker, each with some of the flows: the events of a flow depend only on
/// the segments of that flow. State across flows belongs to the [shared state](Self::SharedState).
pub trait Protocol: Send + Sized {
    /// The state of one flow. Dropped when the flow ends, is evicted or restarts.
    type Flow: Default + Send;
    /// An event of the protocol.
    type Event: Send;
    /// State across flows; `()` if there is none, and every event is reported.
    type SharedState: SharedState<Self::Event>;
    /// Counters beside the engine's own; `()` if there are none.
    type Counters: Default + Send + Sync + Tally;

    /// An empty shared state.
    fn shared_state(&self) -> Self::SharedState;

    /// A protocol with the same settings and empty counters, for a worker. Flows of `self` may go on in it.
    fn fork(&self) -> Self;

    /// Adds the counters of a [fork](Self::fork).
    fn join(&mut self, _worker: Self) {}

    /// Takes settings that another thread replaced. Each worker calls it between batches of frames.
    #[inline]
    fn update_settings(&mut self) {}

    /// Returns the counters since the protocol was created.
    fn counters(&self) -> Self::Counters;

    /// Returns the sender of a segment without a flow if the segment starts one. `None` keeps it out of the flow
    /// table.
    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side>;

    /// Takes a segment that belongs to no flow and starts none. `emit` takes an event about the sender, which is the client of the
    /// event's flow. The default does nothing.
    #[inline]
    fn on_stray_segment(&mut self, _segment: &Segment<'_>, _emit: &mut impl FnMut(Side, Self::Event)) {}

    /// Whether a segment of a flow can be skipped unread, judged only by its time and sender.
    ///
    /// The engine calls this for TCP segments without SYN, FIN and RST, and for UDP. True means that
    /// [`on_segment`](Self::on_segment) would emit nothing and change nothing, [`buffered_bytes`](Self::buffered_bytes)
    /// included. The engine then does not call it, and usually does not read the rest of the headers.
    ///
    /// An optimisation; false is always correct.
    #[inline]
    fn can_skip(&self, _ts: Timestamp, _sender: Side, _flow: &Self::Flow) -> bool {
        false
    }

    /// Processes a segment of a flow as [`on_segment`](Self::on_segment) does, if that emits nothing, and changes neither its
    /// [`Interest`] nor [`buffered_bytes`](Self::buffered_bytes). Otherwise changes nothing and returns false.
    ///
    /// The engine calls this for the segments that [`can_skip`](Self::can_skip) does not accept: without SYN, FIN and RST, of a side
    /// that sent before. Inlined, it lets the engine
    /// decode only the headers that it reads.
    ///
    /// An optimisation; false is always correct.
    #[inline(always)]
    fn skip_segment(&mut self, _segment: &Segment<'_>, _sender: Side, _flow: &mut Self::Flow) -> bool {
        false
    }

    /// Analyses the next segment of a flow, in capture order, retransmissions included.
    ///
    /// `emit` takes an event and its [`Origin`], or the side that it describes. After [`Interest::Done`] the engine passes no further
    /// segment of this flow until a new connection starts on the same addresses, with a new `flow`.
    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Self::Flow,
        emit: &mut impl FnMut(Origin, Self::Event),
    ) -> Interest;

    /// The sequence number with which a side of a TCP connection goes on. The engine asks at FIN and RST: such a segment with
    /// another number ends no connection that the protocol reads.
    fn next_seq(_flow: &Self::Flow, _sender: Side) -> NextSeq {
        NextSeq::Unread
    }

    /// Whether a flow stays after the end of its connection for as long as an open one: it waits for something else than segments, such
    /// as a secret, or for the rest of a message. `is_agreed`: both sides know of the end; else the FIN or RST may be one that the
    /// receiver never got, and the message may go on.
    fn outlasts_connection(_flow: &mut Self::Flow, _is_agreed: bool) -> bool {
        false
    }

    /// Whether [`on_end`](Self::on_end) may report events of a flow. Such a flow must have
    /// [buffered bytes](Self::buffered_bytes).
    #[inline]
    fn has_end(_flow: &Self::Flow) -> bool {
        false
    }

    /// Emits the last events of a flow that [has some](Self::has_end): after its [idle timeout](crate::FlowLimits::idle_timeout), when it is
    /// evicted, when another connection starts on the same addresses, and at the end of the capture.
    fn on_end(&mut self, _flow: Self::Flow, _emit: &mut impl FnMut(Event<Self::Event>)) {}

    /// Returns the heap memory of a flow, in bytes, without `Flow` itself: buffered parts of messages, for instance.
    ///
    /// When the sum over all flows exceeds the limit, the engine evicts the flows that were idle for longest; see
    /// [`FlowLimits::max_buffered_bytes`](crate::FlowLimits::max_buffered_bytes).
    fn buffered_bytes(_flow: &Self::Flow) -> usize {
        0
    }
}

/// The sequence number with which a side of a TCP connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSeq {
    /// The number that the receiver expects.
    Known(u32),
    /// The protocol reads the connection, and does not know the number.
    Unknown,
    /// The protocol reads no further data of the connection.
    Unread,
}

impl NextSeq {
    /// This number, unless it is of a protocol that reads no data.
    pub fn or(self, other: Self) -> Self {
        if self == Self::Unread { other } else { self }
    }
}

/// The event type that a protocol reports to the sink.
pub type Report<P> = <<P as Protocol>::SharedState as SharedState<<P as Protocol>::Event>>::Report;

/// Whether a protocol needs more segments of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// The protocol needs further segments.
    More,
    /// The protocol needs no further segment of this flow.
    Done,
}
