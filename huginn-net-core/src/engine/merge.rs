//! Merges the outputs of workers in capture order, in the caller's thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;

use crossbeam_channel::select;

use super::analysis_error::ThreadFailure;
use super::counter_snapshot::CounterSnapshots;
use super::delivery::Delivery;
use super::output_channel::Lane;
use super::render::Render;
use super::snapshot::Requests;
use super::worker::{EventOrder, WorkerOutput};
use crate::{Event, Protocol, Report};

impl<P: Protocol, R: Render<Event<Report<P>>>> Lane<WorkerOutput<P, R>> {
    /// Returns the place of the next event of a block; `None` after its last one. Waits for further outputs of the block. Breaks
    /// if the worker has ended.
    fn next_event(&self, output: &mut WorkerOutput<P, R>) -> ControlFlow<(), Option<EventOrder>> {
        while output.events.is_empty() && output.block.is_none() {
            self.next_part(output)?;
        }
        ControlFlow::Continue(output.events.front().map(|(order, _)| *order))
    }

    /// Replaces an output with the next one of the same block. Breaks if the worker has ended.
    fn next_part(&self, output: &mut WorkerOutput<P, R>) -> ControlFlow<()> {
        let Ok(next) = self.outputs.recv() else { return ControlFlow::Break(()) };
        self.recycle(std::mem::replace(output, next));
        ControlFlow::Continue(())
    }
}

/// The merging thread.
pub(super) struct Merger<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) lanes: Vec<Lane<WorkerOutput<P, R>>>,
    pub(super) delivery: Delivery<'a, P, R>,
    pub(super) snapshots: CounterSnapshots<P>,
    pub(super) requests: &'a Requests<'a, P>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> Merger<'_, P, R> {
    /// Merges block after block until the workers end or the sink breaks.
    pub(super) fn run(mut self) -> Result<(), ThreadFailure> {
        let lanes = std::mem::take(&mut self.lanes);
        let mut outputs = Vec::with_capacity(lanes.len());
        while let Some(first) = self.next_block(&lanes) {
            outputs.push(first);
            for lane in lanes.iter().skip(1) {
                // A missing worker ends the analysis; joining its thread gives the reason.
                let Ok(output) = lane.outputs.recv() else { return Ok(()) };
                outputs.push(output);
            }
            if self.merge(&lanes, &mut outputs)?.is_break() {
                return Ok(());
            }
            for (lane, output) in lanes.iter().zip(outputs.drain(..)) {
                lane.recycle(output);
            }
        }
        self.delivery.end()
    }

    /// Delivers the events of one block, then updates the counters. Breaks when the sink does or a worker has ended.
    fn merge(
        &mut self,
        lanes: &[Lane<WorkerOutput<P, R>>],
        outputs: &mut [WorkerOutput<P, R>],
    ) -> Result<ControlFlow<()>, ThreadFailure> {
        // The next event of each lane that has one; the first comes first.
        let mut next = BinaryHeap::with_capacity(lanes.len());
        for (index, (lane, output)) in lanes.iter().zip(outputs.iter_mut()).enumerate() {
            match lane.next_event(output) {
                ControlFlow::Continue(order) => next.extend(order.map(|order| Reverse((order, index)))),
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            }
        }
        while let Some(mut first) = next.peek_mut() {
            let Reverse((order, index)) = &mut *first;
            let (Some(lane), Some(output)) = (lanes.get(*index), outputs.get_mut(*index)) else { break };
            if let Some((_, event)) = output.events.pop_front()
                && self.delivery.deliver(event, &output.arena)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            match lane.next_event(output) {
                ControlFlow::Continue(Some(following)) => *order = following,
                ControlFlow::Continue(None) => drop(PeekMut::pop(first)),
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            }
        }
        let mut taken_at = None;
        for (worker, output) in outputs.iter_mut().enumerate() {
            let Some(end) = output.block.take() else { continue };
            taken_at = end.taken_at;
            self.snapshots.update(worker, end);
        }
        self.requests.publish(|| self.snapshots.snapshot(self.delivery.router).counters);
        Ok(self.delivery.output.batch_end(taken_at))
    }

    /// Waits for the first worker's output of the next block, and answers snapshot requests meanwhile.
    fn next_block(&self, lanes: &[Lane<WorkerOutput<P, R>>]) -> Option<WorkerOutput<P, R>> {
        let outputs = &lanes.first()?.outputs;
        loop {
            select! {
                recv(outputs) -> output => return output.ok(),
                recv(self.requests.requests) -> request => request.ok()?(&self.snapshots.snapshot(self.delivery.router)),
            }
        }
    }
}
