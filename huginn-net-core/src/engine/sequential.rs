//! Sequential analysis in the caller's thread, without copying frames.

use std::ops::ControlFlow;

use super::CancelToken;
use super::counter_snapshot::CounterSnapshot;
use super::division::{Division, Evidence, Work};
use super::ingest::{Ingest, SegmentHandler, TimeHandler};
use super::render::{Output, Render};
use super::router::EventRouter;
use super::snapshot::Requests;
use crate::flow::{FlowEvents, FlowTable, LazySegment, Occasion};
use crate::{Event, NextFrame, Protocol, Report, Source, Timestamp};

/// The packet path after decoding: flow table, protocol, shared state, sink.
pub(super) struct SequentialPath<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) flows: &'a mut FlowTable<P>,
    pub(super) reporter: Reporter<'a, P, R>,
}

/// The way of an event from the flow table to the sink.
pub(super) struct Reporter<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) router: &'a mut EventRouter<P::SharedState>,
    pub(super) render: &'a R,
    pub(super) arena: &'a mut R::Arena,
    pub(super) output: &'a mut dyn Output<R::Rendered, R::Arena>,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> FlowEvents<P::Event> for Reporter<'_, P, R> {
    #[inline]
    fn on_event(&mut self, _: Occasion, event: Event<P::Event>) -> ControlFlow<()> {
        self.router.on_event(event, self.render, self.arena, self.output)
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> SegmentHandler for SequentialPath<'_, P, R> {
    #[inline(always)]
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()> {
        self.flows.on_segment(&segment.meta(), segment, now, &mut self.reporter)
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> TimeHandler for SequentialPath<'_, P, R> {
    #[inline(always)]
    fn on_time(&mut self, now: Timestamp) -> ControlFlow<()> {
        self.flows.expire_idle(now, &mut self.reporter)
    }
}

impl<P: Protocol, R: Render<Event<Report<P>>>> SequentialPath<'_, P, R> {
    /// Ends every flow, then the capture for the shared state.
    pub(super) fn end(&mut self, now: Timestamp) {
        if self.flows.end(now, &mut self.reporter).is_continue() {
            let Reporter { router, render, arena, output } = &mut self.reporter;
            let _ = router.end::<P::Event, R>(*render, arena, *output);
        }
    }
}

/// Why a sequential analysis returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The source has ended.
    Ended,
    /// The sink broke, or the analysis was cancelled.
    Stopped,
    /// The rest is the work of several threads.
    Divided,
}

/// Analyses a source until its end or until threads pay, and answers snapshot requests.
// Inlined, so that the complete packet path is compiled as one loop.
#[inline(always)]
pub(super) fn run<'f, S, P, R>(
    source: &mut S,
    ingest: &mut Ingest,
    path: &mut SequentialPath<'_, P, R>,
    cancel: &CancelToken,
    requests: &Requests<'_, P>,
    division: Division,
) -> Result<Outcome, S::Error>
where
    S: Source<'f>,
    P: Protocol,
    R: Render<Event<Report<P>>>,
{
    let (mut has_ended, mut is_idle) = (false, false);
    let work = |ingest: &Ingest, path: &SequentialPath<'_, P, R>| Work {
        frames: ingest.decoding.frames(),
        segments: path.flows.analysed,
        events: path.reporter.router.events,
    };
    let mut evidence = Evidence::new(work(ingest, path));
    loop {
        let is_due = division.is_due(work(ingest, path), &mut evidence);
        // Several workers answer requests while the source waits.
        if is_due || (is_idle && division != Division::Never) {
            let _ = path.flows.report_removed(&mut path.reporter);
            return Ok(Outcome::Divided);
        }
        ingest.decoding.update_filter();
        path.flows.update_settings();
        for _ in 0..division.frames_between_checks() {
            if cancel.is_cancelled() {
                return Ok(Outcome::Stopped);
            }
            match source.next_frame()? {
                NextFrame::Frame(frame) => {
                    if ingest.on_frame(&frame, 1, path).is_break() {
                        return Ok(Outcome::Stopped);
                    }
                }
                NextFrame::Idle => {
                    is_idle = true;
                    break;
                }
                NextFrame::End => {
                    has_ended = true;
                    break;
                }
            }
        }
        let outcome = path.reporter.output.batch_end(None);
        let (flows, router) = (&*path.flows, &*path.reporter.router);
        requests.serve(|| {
            CounterSnapshot::from_flows(flows).snapshot(ingest.counters(), ingest.latest(), router)
        });
        if outcome.is_break() {
            return Ok(Outcome::Stopped);
        }
        if has_ended {
            return Ok(Outcome::Ended);
        }
    }
}
