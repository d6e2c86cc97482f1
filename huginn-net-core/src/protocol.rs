//! The trait between the engine and a fingerprinter.

use crate::{Memory, Segment, Side, Tally, Timestamp};

/// A fingerprinter that watches flows, one segment at a time.
///
/// The engine owns sources, decode, filter and the flow table; a protocol owns what it remembers of one flow
/// and what it says. Several protocols watch the same flows by being fields of one that forwards to each.
///
/// A parallel analysis has one protocol a worker, each with the flows that fall to it: a protocol must learn of a flow
/// what its own segments tell, and nothing from other flows. What spans flows is for the [memory](Self::Memory).
pub trait Protocol: Send + Sized {
    /// What is remembered of one flow. Dropped when the flow ends, is evicted or starts anew.
    type Flow: Default + Send;
    /// What is learned of a flow.
    type Event: Send;
    /// What is remembered beyond one flow; `()` where that is nothing, and every event is reported.
    type Memory: Memory<Self::Event>;
    /// What is counted beside the engine's own counters; `()` where that is nothing.
    type Counters: Default + Send + Tally;

    /// An empty memory.
    fn memory(&self) -> Self::Memory;

    /// A protocol with the same settings that has counted nothing yet: for a worker.
    fn fork(&self) -> Self;

    /// Takes back what [`fork`](Self::fork) gave: adds what it counted.
    fn join(&mut self, _worker: Self) {}

    /// What was counted since the protocol was made.
    fn counted(&self) -> Self::Counters;

    /// Whether a segment that belongs to no known flow is worth a place in the flow table and, if so, which
    /// side sent it.
    fn opens(&self, segment: &Segment<'_>) -> Option<Side>;

    /// Whether a segment of a flow, of TCP without SYN, FIN and RST or of UDP, tells nothing, as its time and sender alone
    /// say: [`on_segment`](Self::on_segment) would emit nothing and leave all as it is, [`held`](Self::held) included. It is
    /// then not called; in one thread, of most frames, the headers are not even read to their end.
    ///
    /// False where nothing else is known: it is there to save time alone.
    #[inline]
    fn passes_over(&self, _ts: Timestamp, _sender: Side, _flow: &Self::Flow) -> bool {
        false
    }

    /// Takes the next segment of a flow, in capture order; retransmissions and all.
    ///
    /// `emit` takes an event and the side that it describes. After [`Interest::Done`] no further segment of
    /// this flow comes, until a new connection starts on the same addresses with a fresh `flow`.
    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Self::Flow,
        emit: &mut impl FnMut(Side, Self::Event),
    ) -> Interest;

    /// The memory that a flow takes up beside itself, in bytes: what has been seen of messages not yet whole.
    ///
    /// The engine adds it up, and ends the flows that were idle for longest when it is more than
    /// [`FlowLimits::max_held_bytes`](crate::FlowLimits::max_held_bytes).
    fn held(_flow: &Self::Flow) -> usize {
        0
    }
}

/// What is reported of what a protocol learns.
pub type Report<P> = <<P as Protocol>::Memory as Memory<<P as Protocol>::Event>>::Report;

/// Whether an observer wants to see more of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Keep the segments coming.
    More,
    /// Nothing further can be learned from this flow.
    Done,
}
