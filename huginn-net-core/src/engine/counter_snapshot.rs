//! Counters of a running analysis.

use super::ingest::Ingest;
use super::router::EventRouter;
use super::{Counters, RunCounters, Snapshot};
use crate::flow::FlowTable;
use crate::{FlowCounters, Protocol, Tally, Timestamp};

/// State of a worker at the end of a block.
pub(super) struct BlockEnd<C> {
    pub(super) counters: CounterSnapshot<C>,
    /// Counters of the worker's frames. Those of packet time are the first worker's.
    pub(super) frames: Counters,
    /// The time of the latest frame.
    pub(super) latest: Option<Timestamp>,
    pub(super) taken_at: Option<Timestamp>,
}

/// Counters of one thread's flows.
pub(super) struct CounterSnapshot<C> {
    flows: FlowCounters,
    segments_without_flow: u64,
    segments_dropped: u64,
    blocks_dropped: u64,
    protocol: C,
}

impl<C: Tally> Tally for CounterSnapshot<C> {
    fn add(&mut self, other: &Self) {
        let Self { flows, segments_without_flow, segments_dropped, blocks_dropped, protocol } = other;
        self.flows.add(flows);
        Tally::add(&mut self.segments_without_flow, segments_without_flow);
        Tally::add(&mut self.segments_dropped, segments_dropped);
        Tally::add(&mut self.blocks_dropped, blocks_dropped);
        self.protocol.add(protocol);
    }
}

impl<C: Default> Default for CounterSnapshot<C> {
    fn default() -> Self {
        Self {
            flows: FlowCounters::default(),
            segments_without_flow: 0,
            segments_dropped: 0,
            blocks_dropped: 0,
            protocol: C::default(),
        }
    }
}

impl<C: Default + Tally> CounterSnapshot<C> {
    /// Reads the counters of a flow table.
    pub(super) fn from_flows<P: Protocol<Counters = C>>(flows: &FlowTable<P>) -> Self {
        Self {
            flows: flows.counters(),
            segments_without_flow: flows.segments_without_flow,
            segments_dropped: 0,
            blocks_dropped: 0,
            protocol: flows.protocol.counters(),
        }
    }

    /// Adds the segments and blocks that the worker dropped.
    pub(super) fn with_dropped(self, dropped: Dropped) -> Self {
        let Dropped { segments, blocks } = dropped;
        Self { segments_dropped: segments, blocks_dropped: blocks, ..self }
    }

    /// Combines the counters with those of ingest and router.
    pub(super) fn snapshot<P: Protocol<Counters = C>>(
        self,
        ingest: Counters,
        packet_time: Option<Timestamp>,
        router: &EventRouter<P::SharedState>,
    ) -> Snapshot<'_, P> {
        let Self { flows, segments_without_flow, segments_dropped, blocks_dropped, protocol } = self;
        Snapshot {
            shared_state: &router.shared_state,
            counters: RunCounters {
                engine: Counters {
                    segments_dropped: ingest.segments_dropped.saturating_add(segments_dropped),
                    blocks_dropped: ingest.blocks_dropped.saturating_add(blocks_dropped),
                    segments_without_flow,
                    flows,
                    events: router.events,
                    ..ingest
                },
                protocol,
                packet_time,
            },
        }
    }
}

/// Segments and blocks that a slow worker dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dropped {
    /// Dropped segments of the worker's flows.
    pub(super) segments: u64,
    /// Blocks that the worker skipped.
    pub(super) blocks: u64,
}

impl Dropped {
    pub(super) fn add(&mut self, other: Self) {
        self.segments = self.segments.saturating_add(other.segments);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }
}

/// The latest counters of each thread.
pub(super) struct CounterSnapshots<P: Protocol> {
    /// Counters from before the threads started.
    before: CounterSnapshot<P::Counters>,
    /// Counters of the frames of each worker: bytes, decoder, filters and packet time.
    frames: Vec<Counters>,
    /// Counters of each worker.
    workers: Vec<CounterSnapshot<P::Counters>>,
    /// The time of the latest frame of all workers.
    packet_time: Option<Timestamp>,
}

impl<P: Protocol> CounterSnapshots<P> {
    pub(super) fn new(flows: &FlowTable<P>, dropped: Dropped, ingest: &Ingest, workers: usize) -> Self {
        let packet_time = ingest.latest();
        let ingest = ingest.counters();
        // The first worker goes on counting from the frames before.
        let frames = std::iter::once(ingest).chain(std::iter::repeat_with(Counters::default)).take(workers);
        Self {
            before: CounterSnapshot::from_flows(flows).with_dropped(dropped),
            frames: frames.collect(),
            workers: std::iter::repeat_with(CounterSnapshot::default).take(workers).collect(),
            packet_time,
        }
    }

    /// Takes the counters of a worker at the end of an output.
    pub(super) fn update(&mut self, worker: usize, end: BlockEnd<P::Counters>) {
        if let (Some(counters), Some(frames)) = (self.workers.get_mut(worker), self.frames.get_mut(worker)) {
            (*counters, *frames) = (end.counters, end.frames);
        }
        let later = |time: &Timestamp| self.packet_time.is_none_or(|known| known < *time);
        self.packet_time = end.latest.filter(later).or(self.packet_time);
    }

    /// Sums the counters of all threads.
    pub(super) fn snapshot<'a>(&self, router: &'a EventRouter<P::SharedState>) -> Snapshot<'a, P> {
        let mut sum = CounterSnapshot::default();
        for snapshot in self.workers.iter().chain([&self.before]) {
            sum.add(snapshot);
        }
        let mut frames = Counters::default();
        self.frames.iter().for_each(|counters| frames.add(counters));
        sum.snapshot(frames, self.packet_time, router)
    }
}
