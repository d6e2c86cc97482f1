//! Analysis of several sources at once, each in a thread of its own.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::analysis_error::ThreadFailure;
use super::counter_snapshot::BlockEnd;
use super::counter_snapshot::{CounterSnapshot, CounterSnapshots};
use super::delivery::Delivery;
use super::ingest::{Ingest, SegmentHandler, TimeHandler};
use super::merge_queues::QueueMerger;
use super::output_channel::{OutputChannel, Reuse, output_channel};
use super::parallel::{Parts, join, start};
use super::render::{Output, Render};
use super::router::route;
use super::worker::RoutedBy;
use super::{AnalysisError, CancelToken};
use crate::flow::{FlowEvents, FlowTable, LazySegment, Occasion};
use crate::limits::{FRAMES_PER_QUEUE_OUTPUT, MAX_OUTPUT_EVENTS};
use crate::{Event, NextFrame, Protocol, Report, Source, Timestamp};

/// The events of some frames of a source.
pub(super) struct QueueOutput<P: Protocol, R: Render<Event<Report<P>>>> {
    /// Events with the capture time of the frame at which each was found, in nanoseconds.
    pub(super) events: VecDeque<(u64, RoutedBy<P, R>)>,
    /// Memory that the rendered events share.
    pub(super) arena: R::Arena,
    /// The counters after these frames.
    pub(super) end: Option<BlockEnd<P::Counters>>,
    pub(super) state: QueueState,
}

/// What follows an output of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueState {
    /// Another output follows soon.
    Busy,
    /// The source waits for frames, all of them captured at this time or later, in nanoseconds; 0 if unknown.
    Idle { complete_until: u64 },
    /// The source has ended; nothing follows.
    Ended,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> Default for QueueOutput<P, R> {
    fn default() -> Self {
        Self { events: VecDeque::new(), arena: R::Arena::default(), end: None, state: QueueState::Busy }
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> Reuse for QueueOutput<P, R> {
    fn clear(&mut self) {
        R::clear(&mut self.arena);
        self.events.clear();
        (self.end, self.state) = (None, QueueState::Busy);
    }
}

/// Analyses sources until all of them have ended, one fails, the sink breaks, or until cancellation. The caller's thread merges
/// the events.
pub(super) fn run<'f, P: Protocol, S: Source<'f, Error: Send> + Send, R: Render<Event<Report<P>>>>(
    sources: Vec<S>,
    parts: Parts<'_, P>,
    render: &R,
    output: &mut dyn Output<R::Rendered, R::Arena>,
) -> Result<(), AnalysisError<S::Error>> {
    let Parts { ingest, flows, router, dropped, cancel, requests } = parts;
    let (count, is_live) = (sources.len(), sources.iter().any(Source::is_live));
    let snapshots = CounterSnapshots::new(flows, *dropped, ingest, count);
    let mut others: Vec<_> = (1..count).map(|_| ingest.fork()).collect();
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let (mut threads, mut lanes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let ingests = std::iter::once(&mut *ingest).chain(&mut others);
        for (index, (source, ingest)) in (0..).zip(sources.into_iter().zip(ingests)) {
            ingest.decoding.decoder.start_capture_of_several(index, count as u64);
            let (channel, lane) = output_channel();
            lanes.push(lane);
            let (share, stop) = (flows.for_queue(count), &stop);
            threads.push(start(scope, "worker", move || {
                let events = QueueEvents { frame_time: 0, render, output: QueueOutput::default(), channel };
                let path = QueuePath { flows: share.into_table(), events };
                QueueWorker {
                    ingest,
                    step: count as u64,
                    path,
                    stop,
                    cancel,
                    frames: 0,
                    last_state: QueueState::Busy,
                    taken_at: None,
                }
                .run(source)
            }));
        }
        let stop_on_drop = StopOnDrop(&stop);
        let delivery = Delivery { router, render, output: &mut *output, cancel };
        let merged =
            QueueMerger { delivery, snapshots, requests, stop: &stop, is_live, taken_at: None }.run(lanes);
        drop(stop_on_drop);
        output.end();
        let (mut analysed, mut read) = (Ok(()), Ok(()));
        for thread in threads {
            analysed = analysed.and(join("worker", thread).map(|(worker_flows, outcome)| {
                flows.join(worker_flows);
                if let Err(error) = outcome {
                    read = Err(AnalysisError::Source(error));
                }
            }));
        }
        analysed.and(merged).map_err(ThreadFailure::into_error).and(read)
    });
    for other in &mut others {
        other.decoding.decoder.finish();
        ingest.join(other);
    }
    outcome
}

/// Stops the workers when the merging thread ends, even if the sink panics.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads one source and analyses its frames.
struct QueueWorker<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    ingest: &'a mut Ingest,
    /// Step between the packet numbers of one source: the number of sources.
    step: u64,
    path: QueuePath<'a, P, R>,
    /// Set when the analysis shall end.
    stop: &'a AtomicBool,
    cancel: &'a CancelToken,
    /// Frames since the last output.
    frames: u32,
    /// The state in the last output.
    last_state: QueueState,
    /// When the first of these frames was received from the system.
    taken_at: Option<Timestamp>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> QueueWorker<'_, P, R> {
    /// Analyses the source to its end. Returns the counters and the error of the source.
    fn run<'f, S: Source<'f>>(mut self, mut source: S) -> (FlowTable<P>, Result<(), S::Error>) {
        let outcome = self.read(&mut source);
        if outcome.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        let _ = self.path.flows.end(self.ingest.clock.now(), &mut self.path.events);
        // Without a merging thread, the output is not needed.
        let _ = self.send(QueueState::Ended);
        (self.path.flows, outcome)
    }

    /// Analyses frames until the source ends or the analysis shall stop.
    fn read<'f, S: Source<'f>>(&mut self, source: &mut S) -> Result<(), S::Error> {
        while !self.stop.load(Ordering::Relaxed) && !self.cancel.is_cancelled() {
            let sent = match source.next_frame()? {
                NextFrame::Frame(frame) => {
                    self.path.events.frame_time = frame.ts.as_nanos();
                    // The path of a worker never breaks.
                    let _ = self.ingest.on_frame(&frame, self.step, &mut self.path);
                    self.on_frame_end(source)
                }
                NextFrame::Idle => self.on_idle(source),
                NextFrame::End => break,
            };
            if sent.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Sends the output if there is something new.
    fn on_idle<'f>(&mut self, source: &impl Source<'f>) -> ControlFlow<()> {
        self.update_settings();
        let state =
            QueueState::Idle { complete_until: source.complete_until().map_or(0, Timestamp::as_nanos) };
        if self.frames > 0 || self.last_state != state { self.send(state) } else { ControlFlow::Continue(()) }
    }

    /// Counts a frame, and sends the output if it is full.
    #[inline]
    fn on_frame_end<'f>(&mut self, source: &impl Source<'f>) -> ControlFlow<()> {
        if self.frames == 0 {
            self.taken_at = source.taken_at();
        }
        self.frames = self.frames.saturating_add(1);
        let is_full = self.path.events.output.events.len() >= MAX_OUTPUT_EVENTS;
        if is_full || self.frames >= FRAMES_PER_QUEUE_OUTPUT {
            self.send(QueueState::Busy)
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Takes settings that were replaced.
    fn update_settings(&mut self) {
        self.ingest.decoding.update_filter();
        self.path.flows.update_settings();
    }

    /// Sends the output. Breaks if the merging thread has ended.
    fn send(&mut self, state: QueueState) -> ControlFlow<()> {
        (self.frames, self.last_state) = (0, state);
        self.update_settings();
        self.path.events.output.end = Some(BlockEnd {
            counters: CounterSnapshot::from_flows(&self.path.flows),
            frames: self.ingest.counters(),
            latest: self.ingest.latest(),
            taken_at: self.taken_at.take(),
        });
        self.path.events.send(state)
    }
}

/// The packet path of a worker after decoding: flow table, protocol, output.
struct QueuePath<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    flows: FlowTable<P>,
    events: QueueEvents<'a, P, R>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> SegmentHandler for QueuePath<'_, P, R> {
    #[inline(always)]
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()> {
        self.flows.on_segment(&segment.meta(), segment, now, &mut self.events)
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> TimeHandler for QueuePath<'_, P, R> {
    #[inline(always)]
    fn on_time(&mut self, now: Timestamp) -> ControlFlow<()> {
        self.flows.expire_idle(now, &mut self.events)
    }
}

/// Takes the events of a worker with the capture times of their frames, and sends them.
struct QueueEvents<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    /// Capture time of the current frame, in nanoseconds.
    frame_time: u64,
    render: &'a R,
    output: QueueOutput<P, R>,
    channel: OutputChannel<QueueOutput<P, R>>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> QueueEvents<'_, P, R> {
    fn send(&mut self, state: QueueState) -> ControlFlow<()> {
        self.output.state = state;
        self.channel.replace(&mut self.output)
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> FlowEvents<P::Event> for QueueEvents<'_, P, R> {
    #[inline]
    fn on_event(&mut self, occasion: Occasion, event: Event<P::Event>) -> ControlFlow<()> {
        let QueueOutput { events, arena, .. } = &mut self.output;
        events.push_back((self.frame_time, route::<P::Event, P::SharedState, R>(event, self.render, arena)));
        // Many flows may end at once.
        if occasion != Occasion::Segment && events.len() >= MAX_OUTPUT_EVENTS {
            self.send(QueueState::Busy)
        } else {
            ControlFlow::Continue(())
        }
    }
}
