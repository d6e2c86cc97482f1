//! A worker thread: decodes every frame and analyses the flows in its partitions.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crossbeam_channel::{Receiver, Sender};

use super::Counters;
use super::counter_snapshot::{CounterSnapshot, Dropped};
use super::ingest::{Ingest, SegmentHandler};
use super::render::Render;
use super::ring::{Ring, Step};
use super::router::{Routed, route};
use crate::decode::LazySegment;
use crate::flow::{FlowEnd, FlowOrder, FlowTable};
use crate::limits::MAX_OUTPUT_EVENTS;
use crate::{Block, Event, Protocol, Report, SharedState, Source, Timestamp};

/// The events of a worker from one block or a part of it.
pub(super) struct WorkerOutput<P: Protocol, R: Render<Event<Report<P>>>> {
    /// Events with their place in the block.
    pub(super) events: VecDeque<(EventOrder, RoutedBy<P, R>)>,
    /// Memory that the rendered events share.
    pub(super) arena: R::Arena,
    /// Counters, set in the last output of a block.
    pub(super) block: Option<BlockEnd<P::Counters>>,
}

/// The place of an event in a block: its segment; there, the last events of flows that ended before the segment, in the
/// [order](FlowOrder) of the flows; then the events of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventOrder {
    /// Index of the segment in the block.
    segment: u32,
    /// [`FlowOrder::first_packet`] of the flow that ended.
    first_packet: u64,
    hash: u32,
}

impl EventOrder {
    /// After every event.
    pub(super) const LAST: Self = Self::of_segment(u32::MAX);

    const fn of_segment(segment: u32) -> Self {
        Self { segment, first_packet: u64::MAX, hash: u32::MAX }
    }

    fn of_end(segment: u32, FlowOrder { first_packet, hash }: FlowOrder) -> Self {
        Self { segment, first_packet, hash }
    }
}

/// State of a worker at the end of a block.
pub(super) struct BlockEnd<C> {
    pub(super) counters: CounterSnapshot<C>,
    /// Ingest counters of the first worker. All workers count the same.
    pub(super) ingest: Option<Counters>,
    pub(super) taken_at: Option<Timestamp>,
}

/// An event of a worker: rendered, or for the shared state.
pub(super) type RoutedBy<P, R> = Routed<<R as Render<Event<Report<P>>>>::Rendered, Ticket<P>, Update<P>>;

type Ticket<P> = <<P as Protocol>::SharedState as SharedState<<P as Protocol>::Event>>::Ticket;

type Update<P> = <<P as Protocol>::SharedState as SharedState<<P as Protocol>::Event>>::Update;

impl<P: Protocol, R: Render<Event<Report<P>>>> Default for WorkerOutput<P, R> {
    fn default() -> Self {
        Self { events: VecDeque::new(), arena: R::Arena::default(), block: None }
    }
}

/// The channels between a worker and the merging thread: outputs, and empty outputs for reuse.
pub(super) struct OutputChannel<P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) outputs: Sender<WorkerOutput<P, R>>,
    pub(super) spare: Receiver<WorkerOutput<P, R>>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> OutputChannel<P, R> {
    /// Adds the last event of a flow to an output, and sends the output when it is full: many flows may end at once.
    fn add(&self, output: &mut WorkerOutput<P, R>, order: EventOrder, event: Event<P::Event>, render: &R) {
        let WorkerOutput { events, arena, .. } = output;
        events.push_back((order, route::<P::Event, P::SharedState, R>(event, render, arena)));
        if events.len() >= MAX_OUTPUT_EVENTS {
            self.send(std::mem::replace(output, self.empty_output()));
        }
    }

    fn empty_output(&self) -> WorkerOutput<P, R> {
        self.spare.try_recv().unwrap_or_default()
    }

    /// Sends an output. It is dropped if the merging thread has ended.
    fn send(&self, output: WorkerOutput<P, R>) {
        let _ = self.outputs.send(output);
    }
}

/// One worker thread.
pub(super) struct Worker<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) number: usize,
    pub(super) ingest: &'a mut Ingest,
    pub(super) flows: FlowTable<P>,
    pub(super) render: &'a R,
    pub(super) channel: OutputChannel<P, R>,
    pub(super) dropped: Dropped,
}

/// The result of a worker thread.
pub(super) struct WorkerResult<P: Protocol> {
    pub(super) flows: FlowTable<P>,
    pub(super) dropped: Dropped,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> Worker<'_, P, R> {
    /// Analyses blocks until the ring ends.
    pub(super) fn run<S: Source>(mut self, ring: &Ring<'_, S>) -> (WorkerResult<P>, Result<(), S::Error>) {
        let _leaving = LeaveOnDrop { ring, worker: self.number };
        let mut finished = None;
        let outcome = loop {
            let block = match ring.next(self.number, finished.take()) {
                Step::Analyze(block) => {
                    self.analyze(&block);
                    block
                }
                Step::Skip(block) => {
                    self.skip(&block);
                    block
                }
                Step::End(outcome) => break outcome,
            };
            finished = Some(block);
        };
        self.end();
        (WorkerResult { flows: self.flows, dropped: self.dropped }, outcome)
    }

    fn analyze(&mut self, block: &Block) {
        let Self { ingest, flows, render, channel, .. } = self;
        let output = channel.empty_output();
        let mut share = OwnedFlows { index: 0, flows, render: *render, output, channel };
        ingest.count_filtered(block);
        for frame in block.iter() {
            let _ = ingest.on_frame(&frame, &mut share);
            if share.output.events.len() >= MAX_OUTPUT_EVENTS {
                channel.send(std::mem::replace(&mut share.output, channel.empty_output()));
            }
        }
        let output = share.output;
        self.send_last(output, block.taken_at());
    }

    /// Ends every flow, and sends their last events as those of one more block: those of idle flows as if they ended
    /// before its first segment, the others before its second one.
    fn end(&mut self) {
        let Self { ingest, flows, render, channel, .. } = self;
        let mut output = channel.empty_output();
        let _ = flows.end(ingest.clock.now(), &mut |end, order, event| {
            let order = EventOrder::of_end(u32::from(end == FlowEnd::Capture), order);
            channel.add(&mut output, order, event, *render);
            ControlFlow::Continue(())
        });
        self.send_last(output, None);
    }

    /// Decodes a block to count its frames, and drops the segments of this worker's flows.
    fn skip(&mut self, block: &Block) {
        let Self { ingest, flows, dropped, channel, .. } = self;
        let mut skipped = DropCounter { flows, segments: 0 };
        ingest.count_filtered(block);
        for frame in block.iter() {
            let _ = ingest.on_frame(&frame, &mut skipped);
        }
        dropped.add(Dropped { segments: skipped.segments, blocks: 1 });
        let output = channel.empty_output();
        self.send_last(output, block.taken_at());
    }

    /// Sends the last output of a block.
    fn send_last(&mut self, mut output: WorkerOutput<P, R>, taken_at: Option<Timestamp>) {
        output.block = Some(BlockEnd {
            counters: CounterSnapshot::from_flows(&self.flows).with_dropped(self.dropped),
            ingest: (self.number == 0).then(|| self.ingest.counters()),
            taken_at,
        });
        self.channel.send(output);
    }
}

/// Passes the segments of a worker's flows to the flow table.
struct OwnedFlows<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    /// Index of the next segment in the block.
    index: u32,
    flows: &'a mut FlowTable<P>,
    render: &'a R,
    output: WorkerOutput<P, R>,
    channel: &'a OutputChannel<P, R>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> SegmentHandler for OwnedFlows<'_, P, R> {
    #[inline(always)]
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()> {
        let index = self.index;
        self.index = index.saturating_add(1);
        let Self { flows, render, output, channel, .. } = self;
        let _ = flows.expire_idle(now, &mut |order, event| {
            channel.add(output, EventOrder::of_end(index, order), event, *render);
            ControlFlow::Continue(())
        });
        let meta = segment.meta();
        if flows.owns_flow(&meta.key) {
            let WorkerOutput { events, arena, .. } = output;
            let order = EventOrder::of_segment(index);
            let _ = flows.on_segment(&meta, segment, now, &mut |event| {
                events.push_back((order, route::<P::Event, P::SharedState, R>(event, *render, arena)));
                ControlFlow::Continue(())
            });
        }
        ControlFlow::Continue(())
    }
}

/// Counts the segments of a worker's flows.
struct DropCounter<'a, P: Protocol> {
    flows: &'a FlowTable<P>,
    segments: u64,
}

impl<P: Protocol> SegmentHandler for DropCounter<'_, P> {
    fn on_segment(&mut self, segment: &impl LazySegment, _: Timestamp) -> ControlFlow<()> {
        if self.flows.owns_flow(&segment.meta().key) {
            self.segments = self.segments.saturating_add(1);
        }
        ControlFlow::Continue(())
    }
}

/// Removes a worker from the ring on drop, also after a panic.
struct LeaveOnDrop<'r, 'a, S: Source> {
    ring: &'r Ring<'a, S>,
    worker: usize,
}

impl<S: Source> Drop for LeaveOnDrop<'_, '_, S> {
    fn drop(&mut self) {
        self.ring.leave(self.worker);
    }
}
