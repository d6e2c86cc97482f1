//! Events on their way out of the flow table.

use std::ops::ControlFlow;

use crate::Event;

/// Receives the events that a protocol finds in the flow table.
///
/// A reference to it is dynamic, so that table and protocol are compiled once, whatever becomes of the events.
pub(crate) trait FlowEvents<E> {
    /// Receives an event. A break stops the analysis.
    fn on_event(&mut self, occasion: Occasion, event: Event<E>) -> ControlFlow<()>;
}

/// When a protocol found an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// At a segment: of its flow, or of one that it ended.
    Segment,
    /// At the end of a flow that was idle for longer than the timeout.
    Idle(FlowOrder),
    /// At the end of a flow with the capture.
    CaptureEnd(FlowOrder),
}

/// The order in which flows end at the same time, whatever their partitions: that of their first packets, by number. A hash
/// decides between flows that began in the same frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowOrder {
    pub(crate) first_packet: u64,
    pub(crate) hash: u32,
}
