//! Merges the outputs of workers that read a source each, in the caller's thread.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Select, TryRecvError};

use super::analysis_error::ThreadFailure;
use super::counter_snapshot::CounterSnapshots;
use super::delivery::Delivery;
use super::output_channel::Lane;
use super::queues::{QueueOutput, QueueState};
use super::render::Render;
use super::snapshot::Requests;
use crate::limits::{MAX_FULL_QUEUE_WAIT, MAX_ORDER_WAIT_NANOS};
use crate::{Event, Protocol, Report, Timestamp};

/// The merging thread.
///
/// It delivers the event with the earliest capture time of all lanes. It waits for the outputs of busy workers, and until the sources of
/// idle ones state that no earlier frame follows. With live sources, a worker whose channel is full goes first: its source would drop
/// frames.
pub(super) struct QueueMerger<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) delivery: Delivery<'a, P, R>,
    pub(super) snapshots: CounterSnapshots<P>,
    pub(super) requests: &'a Requests<'a, P>,
    /// Ends the workers.
    pub(super) stop: &'a AtomicBool,
    /// Whether frames are lost while a worker waits.
    pub(super) is_live: bool,
    /// When the first frame of the outputs delivered since the last [`TextSink::batch_end`](crate::TextSink::batch_end) was received.
    pub(super) taken_at: Option<Timestamp>,
}

/// A lane with the output that is being delivered.
struct OpenLane<P: Protocol, R: Render<Event<Report<P>>>> {
    lane: Lane<QueueOutput<P, R>>,
    current: QueueOutput<P, R>,
    /// Whether the channel is full.
    is_full: bool,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> OpenLane<P, R> {
    /// The capture time of the next event.
    fn next_time(&self) -> Option<u64> {
        self.current.events.front().map(|(time, _)| *time)
    }

    /// Whether an event of another lane, of this time, waits for the next output.
    fn holds_up(&self, time: u64) -> bool {
        self.current.events.is_empty()
            && match self.current.state {
                QueueState::Busy => true,
                QueueState::Idle { complete_until: 0 } | QueueState::Ended => false,
                QueueState::Idle { complete_until } => {
                    time.checked_sub(complete_until).is_some_and(|ahead| ahead < MAX_ORDER_WAIT_NANOS)
                }
            }
    }

    /// Whether the lane has events, and goes before others, because its channel is full.
    fn goes_first(&self) -> bool {
        self.is_full && !self.current.events.is_empty()
    }

    /// Whether an output may follow, and the current one is delivered.
    fn is_receiving(&self) -> bool {
        self.current.state != QueueState::Ended && self.current.events.is_empty()
    }

    /// Replaces the current output, which was delivered.
    fn replace(&mut self, next: QueueOutput<P, R>) {
        self.lane.recycle(std::mem::replace(&mut self.current, next));
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> QueueMerger<'_, P, R> {
    /// Merges until the workers end or the sink breaks.
    pub(super) fn run(mut self, lanes: Vec<Lane<QueueOutput<P, R>>>) -> Result<(), ThreadFailure> {
        let open = |lane| OpenLane { lane, current: QueueOutput::default(), is_full: false };
        let mut lanes: Vec<_> = lanes.into_iter().map(open).collect();
        while self.receive(&mut lanes).is_continue() {
            while let Some(OpenLane { current, .. }) = next_lane(&mut lanes) {
                let Some((_, event)) = current.events.pop_front() else { break };
                let taken_at = current.end.as_ref().and_then(|end| end.taken_at);
                self.taken_at = self.taken_at.into_iter().chain(taken_at).min_by_key(|time| time.as_nanos());
                if self.delivery.deliver(event, &current.arena)?.is_break() {
                    return Ok(());
                }
                if current.events.is_empty() {
                    break;
                }
            }
        }
        if lanes.iter().any(OpenLane::is_receiving) { Ok(()) } else { self.delivery.end() }
    }

    /// Receives outputs until there is an event to deliver. Answers snapshot requests meanwhile. Breaks when the sink does, and when all
    /// workers have ended.
    fn receive(&mut self, lanes: &mut [OpenLane<P, R>]) -> ControlFlow<()> {
        loop {
            for (index, lane) in lanes.iter_mut().enumerate() {
                self.receive_ready(index, lane)?;
                lane.is_full = self.is_live && lane.lane.outputs.is_full();
            }
            self.requests.serve(|| self.snapshots.snapshot(self.delivery.router));
            if next_lane(lanes).is_some() {
                return ControlFlow::Continue(());
            }
            if !lanes.iter().any(OpenLane::is_receiving) {
                return ControlFlow::Break(());
            }
            self.wait(lanes);
        }
    }

    /// Receives the outputs of a lane that are there, up to the first one with events.
    fn receive_ready(&mut self, index: usize, lane: &mut OpenLane<P, R>) -> ControlFlow<()> {
        while lane.current.events.is_empty() {
            self.end_output(index, &mut lane.current)?;
            match lane.lane.outputs.try_recv() {
                Ok(next) => lane.replace(next),
                // The worker has panicked; joining its thread gives the message.
                Err(TryRecvError::Disconnected) if lane.is_receiving() => {
                    self.stop.store(true, Ordering::Relaxed);
                    lane.current.state = QueueState::Ended;
                }
                Err(_) => break,
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes the counters of an output that was delivered. Breaks when the sink does.
    fn end_output(&mut self, index: usize, output: &mut QueueOutput<P, R>) -> ControlFlow<()> {
        let Some(end) = output.end.take() else { return ControlFlow::Continue(()) };
        self.snapshots.update(index, end);
        self.delivery.output.batch_end(self.taken_at.take())
    }

    /// Waits for an output of a lane whose current one is delivered, or for a snapshot request. While events wait, a channel may
    /// become full without a notification.
    fn wait(&self, lanes: &[OpenLane<P, R>]) {
        let mut select = Select::new();
        for lane in lanes.iter().filter(|lane| lane.is_receiving()) {
            select.recv(&lane.lane.outputs);
        }
        select.recv(&self.requests.requests);
        if self.is_live && lanes.iter().any(|lane| lane.next_time().is_some()) {
            let _ = select.ready_timeout(MAX_FULL_QUEUE_WAIT);
        } else {
            select.ready();
        }
    }
}

/// Returns the lane whose next event comes next; `None` if an output must be received first.
fn next_lane<P: Protocol, R: Render<Event<Report<P>>>>(
    lanes: &mut [OpenLane<P, R>],
) -> Option<&mut OpenLane<P, R>> {
    let any_full = lanes.iter().any(OpenLane::goes_first);
    let candidates = lanes.iter().enumerate().filter(|(_, lane)| lane.is_full || !any_full);
    let times = candidates.filter_map(|(index, lane)| Some((lane.next_time()?, index)));
    let (time, index) = times.min()?;
    if !any_full && lanes.iter().any(|lane| lane.holds_up(time)) {
        return None;
    }
    lanes.get_mut(index)
}
