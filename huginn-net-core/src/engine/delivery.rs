//! Delivers the events of workers in the caller's thread.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::CancelToken;
use super::analysis_error::ThreadFailure;
use super::render::{Guarded, Output, Render};
use super::router::{EventRouter, Routed};
use super::worker::RoutedBy;
use crate::{Event, Protocol, Report};

/// The way of an event from a worker to the sink.
pub(super) struct Delivery<'a, P: Protocol, R: Render<Event<Report<P>>>> {
    pub(super) router: &'a mut EventRouter<P::SharedState>,
    pub(super) render: &'a R,
    pub(super) output: &'a mut dyn Output<R::Rendered, R::Arena>,
    pub(super) cancel: &'a CancelToken,
}

impl<P: Protocol, R: Render<Event<Report<P>>>> Delivery<'_, P, R> {
    /// Ends the capture for the shared state, unless the analysis is cancelled.
    pub(super) fn end(&mut self) -> Result<(), ThreadFailure> {
        if self.cancel.is_cancelled() {
            return Ok(());
        }
        let Self { router, render, output, .. } = self;
        let mut guarded = Guarded::new(*output);
        let mut end = || router.end::<P::Event, R>(render, &mut R::Arena::default(), &mut guarded);
        match catch_unwind(AssertUnwindSafe(&mut end)) {
            Ok(_) => Ok(()),
            Err(payload) if guarded.in_sink => resume_unwind(payload),
            Err(payload) => Err(ThreadFailure::panicked("caller", &*payload)),
        }
    }

    /// Passes an event to the sink or to the shared state. Breaks when the sink does, and on cancellation.
    pub(super) fn deliver(
        &mut self,
        event: RoutedBy<P, R>,
        arena: &R::Arena,
    ) -> Result<ControlFlow<()>, ThreadFailure> {
        if self.cancel.is_cancelled() {
            return Ok(ControlFlow::Break(()));
        }
        let Self { router, render, output, .. } = self;
        match event {
            Routed::Report(rendered, ticket) => Ok(router.report(rendered, ticket, arena, *output)),
            Routed::Update(update) => {
                let mut conclusions_arena = R::Arena::default();
                let mut guarded = Guarded::new(*output);
                let deliver_update = || {
                    router.on_update(update, &mut |event| {
                        let rendered = render.render(event, &mut conclusions_arena);
                        guarded.event(rendered, &conclusions_arena)
                    })
                };
                match catch_unwind(AssertUnwindSafe(deliver_update)) {
                    Ok(outcome) => Ok(outcome),
                    Err(payload) if guarded.in_sink => resume_unwind(payload),
                    Err(payload) => Err(ThreadFailure::panicked("caller", &*payload)),
                }
            }
        }
    }
}
