//! A worker thread: decodes and analyses the frames of its flows.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::counter_snapshot::{BlockEnd, CounterSnapshot, Dropped};
use super::index::{BlockTime, IndexedBlock, Moment, Sorter, Task, TaskKind};
use super::ingest::{Decoding, SegmentHandler};
use super::output_channel::{OutputChannel, Reuse};
use super::render::Render;
use super::ring::{Ring, Step};
use super::router::{Routed, route};
use crate::flow::{FlowEvents, FlowOrder, FlowTable, LazySegment, Occasion};
use crate::limits::MAX_OUTPUT_EVENTS;
use crate::packet_clock::ClockSteps;
use crate::{Event, Frame, Protocol, Report, SharedState, Source, Timestamp};

/// The events of a worker from one block or a part of it.
pub(super) struct WorkerOutput<P: Protocol, R: Render<Event<Report<P>>>> {
    /// Events with their place in the block.
    pub(super) events: VecDeque<(EventOrder, RoutedBy<P, R>)>,
    /// Memory that the rendered events share.
    pub(super) arena: R::Arena,
    /// Counters, set in the last output of a block.
    pub(super) block: Option<BlockEnd<P::Counters>>,
}

/// The place of an event in a block: its frame; there, the last events of flows that ended before it, in the
/// [order](FlowOrder) of the flows; then the events of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventOrder {
    /// Index of the frame in the block.
    frame: u32,
    /// Index of the segment in the frame; 0 before the first.
    segment: u32,
    /// [`FlowOrder::first_packet`] of the flow that ended.
    first_packet: u64,
    hash: u32,
}

impl EventOrder {
    const fn of_segment(frame: u32, segment: u32) -> Self {
        Self { frame, segment, first_packet: u64::MAX, hash: u32::MAX }
    }

    fn of_end(frame: u32, FlowOrder { first_packet, hash }: FlowOrder) -> Self {
        Self { frame, segment: 0, first_packet, hash }
    }
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

impl<P: Protocol, R: Render<Event<Report<P>>>> Reuse for WorkerOutput<P, R> {
    fn clear(&mut self) {
        R::clear(&mut self.arena);
        self.events.clear();
        self.block = None;
    }
}

/// Takes the events of a worker with their places in a block, and sends them.
struct BlockEvents<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    /// Index of the frame in the block.
    frame: u32,
    /// Index of the segment in the frame.
    segment: u32,
    render: &'a R,
    output: WorkerOutput<P, R>,
    channel: &'a OutputChannel<WorkerOutput<P, R>>,
}

impl<'a, P: Protocol, R: Render<Event<Report<P>>>> BlockEvents<'a, P, R> {
    fn new(render: &'a R, channel: &'a OutputChannel<WorkerOutput<P, R>>) -> Self {
        Self { frame: 0, segment: 0, render, output: channel.empty_output(), channel }
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> FlowEvents<P::Event> for BlockEvents<'_, P, R> {
    #[inline]
    fn on_event(&mut self, occasion: Occasion, event: Event<P::Event>) -> ControlFlow<()> {
        let order = match occasion {
            Occasion::Segment => EventOrder::of_segment(self.frame, self.segment),
            Occasion::Idle(order) => EventOrder::of_end(self.frame, order),
            // After the flows that were idle.
            Occasion::CaptureEnd(order) => EventOrder::of_end(self.frame.saturating_add(1), order),
        };
        let WorkerOutput { events, arena, .. } = &mut self.output;
        events.push_back((order, route::<P::Event, P::SharedState, R>(event, self.render, arena)));
        if events.len() >= MAX_OUTPUT_EVENTS {
            // Without a merging thread, the output is not needed.
            let _ = self.channel.replace(&mut self.output);
        }
        ControlFlow::Continue(())
    }
}

/// One worker thread.
pub(super) struct Worker<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) number: usize,
    /// Decodes and counts the frames of the worker. The first worker counts those without a segment, too, unless they name a flow.
    pub(super) own: &'a mut Decoding,
    /// Decodes the shared frames, which the first worker counts; that one has none.
    pub(super) shared: Option<Decoding>,
    pub(super) sorter: Sorter,
    pub(super) flows: FlowTable<P>,
    pub(super) render: &'a R,
    pub(super) channel: OutputChannel<WorkerOutput<P, R>>,
    pub(super) dropped: Dropped,
    /// The end of the latest block.
    pub(super) time: BlockTime,
}

/// The result of a worker thread.
pub(super) struct WorkerResult<P: Protocol> {
    pub(super) flows: FlowTable<P>,
    pub(super) dropped: Dropped,
    /// The end of the last block.
    pub(super) time: BlockTime,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> Worker<'_, P, R> {
    /// Analyses blocks until the ring ends.
    pub(super) fn run<'f, S: Source<'f>>(
        mut self,
        ring: &Ring<'_, 'f, S>,
    ) -> (WorkerResult<P>, Result<(), S::Error>) {
        let _leaving = LeaveOnDrop { ring, worker: self.number };
        let mut finished = None;
        let outcome = loop {
            let block = match ring.next(self.number, finished.take(), &mut self.sorter) {
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
        (WorkerResult { flows: self.flows, dropped: self.dropped, time: self.time }, outcome)
    }

    fn analyze(&mut self, block: &IndexedBlock<'_>) {
        let Self { number, own, shared, flows, render, channel, .. } = self;
        own.update_filter();
        shared.iter_mut().for_each(Decoding::update_filter);
        flows.update_settings();
        let events = BlockEvents::new(*render, channel);
        let mut share = OwnFlows { is_own: true, flows, events };
        block.each_task(*number, |task, moment, frame| {
            share.begin(task, moment);
            decode_task(own, shared, task.kind, moment, frame, &mut share);
        });
        let output = share.events.output;
        self.end_block(output, block);
    }

    /// Ends every flow, and sends their last events as those of one more block: those of idle flows as if they ended
    /// before its first frame, the others before its second one.
    fn end(&mut self) {
        let Self { flows, render, channel, time, .. } = self;
        let mut events = BlockEvents::new(*render, channel);
        let _ = flows.end(time.now, &mut events);
        let output = events.output;
        self.send_last(output, None);
    }

    /// Decodes the frames of a block to count them, and drops the segments of this worker's flows.
    fn skip(&mut self, block: &IndexedBlock<'_>) {
        let Self { number, own, shared, flows, dropped, channel, .. } = self;
        let mut skipped = DropCounter { is_own: true, flows, segments: 0 };
        block.each_task(*number, |task, moment, frame| {
            skipped.is_own = task.kind == TaskKind::Own;
            decode_task(own, shared, task.kind, moment, frame, &mut skipped);
        });
        dropped.add(Dropped { segments: skipped.segments, blocks: 1 });
        let output = channel.empty_output();
        self.end_block(output, block);
    }

    /// Counts what belongs to no frame of a block, and sends its last output.
    fn end_block(&mut self, output: WorkerOutput<P, R>, block: &IndexedBlock<'_>) {
        if self.number == 0 {
            self.own.count_filtered(block.frames.filtered);
        }
        self.time = block.end;
        self.send_last(output, block.frames.taken_at());
    }

    /// Sends the last output of a block.
    fn send_last(&mut self, mut output: WorkerOutput<P, R>, taken_at: Option<Timestamp>) {
        // All workers have the same time: the first one counts its steps.
        let steps = if self.number == 0 { self.time.steps } else { ClockSteps::default() };
        output.block = Some(BlockEnd {
            counters: CounterSnapshot::from_flows(&self.flows).with_dropped(self.dropped),
            frames: self.own.counters().with_steps(steps),
            latest: self.time.steps.span.map(|(_, latest)| latest),
            taken_at,
        });
        let _ = self.channel.send(output);
    }
}

/// Decodes the frame of a task, and passes its segments to `handler`. Without a decoder for shared frames, `own` decodes them, too.
#[inline(always)]
fn decode_task(
    own: &mut Decoding,
    shared: &mut Option<Decoding>,
    kind: TaskKind,
    moment: &Moment,
    frame: Frame<'_>,
    handler: &mut impl SegmentHandler,
) {
    let decoding = match kind {
        TaskKind::Own => own,
        TaskKind::Shared => shared.as_mut().unwrap_or(own),
        TaskKind::Time => return,
    };
    decoding.decoder.set_record(moment.record);
    // The handlers of workers never break.
    let _ = decoding.on_frame(&frame, moment.now(), handler);
}

/// Passes the segments of a worker's flows to the flow table.
struct OwnFlows<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    /// Whether the flow of the frame belongs to the worker; unknown for shared frames.
    is_own: bool,
    flows: &'a mut FlowTable<P>,
    events: BlockEvents<'a, P, R>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> OwnFlows<'_, P, R> {
    /// Begins a frame: ends idle flows.
    #[inline(always)]
    fn begin(&mut self, task: Task, moment: &Moment) {
        self.is_own = task.kind == TaskKind::Own;
        (self.events.frame, self.events.segment) = (task.frame, 0);
        let _ = self.flows.expire_idle(moment.now(), &mut self.events);
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> SegmentHandler for OwnFlows<'_, P, R> {
    #[inline(always)]
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()> {
        let Self { is_own, flows, events } = self;
        let meta = segment.meta();
        if *is_own || flows.owns_flow(&meta.key) {
            let _ = flows.on_segment(&meta, segment, now, events);
        }
        events.segment = events.segment.saturating_add(1);
        ControlFlow::Continue(())
    }
}

/// Counts the segments of a worker's flows.
struct DropCounter<'a, P: Protocol> {
    is_own: bool,
    flows: &'a FlowTable<P>,
    segments: u64,
}

impl<P: Protocol> SegmentHandler for DropCounter<'_, P> {
    fn on_segment(&mut self, segment: &impl LazySegment, _: Timestamp) -> ControlFlow<()> {
        if self.is_own || self.flows.owns_flow(&segment.meta().key) {
            self.segments = self.segments.saturating_add(1);
        }
        ControlFlow::Continue(())
    }
}

/// Removes a worker from the ring on drop, also after a panic.
struct LeaveOnDrop<'r, 'a, 'f, S: Source<'f>> {
    ring: &'r Ring<'a, 'f, S>,
    worker: usize,
}

impl<'f, S: Source<'f>> Drop for LeaveOnDrop<'_, '_, 'f, S> {
    fn drop(&mut self) {
        self.ring.leave(self.worker);
    }
}
