//! Routes the events of a protocol to the sink or to the shared state.

use std::ops::ControlFlow;

use super::render::{Output, Render};
use crate::{Event, Route, SharedState};

/// The shared state, and the number of events reported.
pub(super) struct EventRouter<M> {
    pub(super) shared_state: M,
    pub(super) events: u64,
}

/// A routed event; reports are rendered where the flow is analysed.
pub(super) enum Routed<R, T, N> {
    /// For the sink, if the shared state admits the ticket. An empty text has none.
    Report(R, Option<T>),
    /// For the shared state.
    Update(Event<N>),
}

/// Routes an event, and renders it if it goes to the sink.
#[inline(always)]
pub(super) fn route<E, M: SharedState<E>, R: Render<Event<M::Report>>>(
    event: Event<E>,
    render: &R,
    arena: &mut R::Arena,
) -> Routed<R::Rendered, M::Ticket, M::Update> {
    let (rest, kind) = event.into_parts();
    match M::route(kind) {
        Route::Report(kind) => {
            let event = rest.with_kind(kind);
            let ticket = M::ticket(&event, &event.kind);
            let rendered = render.render(event, arena);
            let ticket = (!R::is_empty(&rendered)).then_some(ticket);
            Routed::Report(rendered, ticket)
        }
        Route::Update(kind) => Routed::Update(rest.with_kind(kind)),
    }
}

impl<M> EventRouter<M> {
    /// Routes one event and delivers it. Breaks when the sink does.
    // Inlined, so that the event is not copied.
    #[inline(always)]
    pub(super) fn on_event<E, R: Render<Event<M::Report>>>(
        &mut self,
        event: Event<E>,
        render: &R,
        arena: &mut R::Arena,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) -> ControlFlow<()>
    where
        M: SharedState<E>,
    {
        let outcome = match route::<E, M, R>(event, render, arena) {
            Routed::Report(rendered, ticket) => self.report(rendered, ticket, arena, output),
            Routed::Update(update) => self.on_update(update, &mut |event| {
                let rendered = render.render(event, arena);
                output.event(rendered, arena)
            }),
        };
        R::clear(arena);
        outcome
    }

    /// Passes a rendered event to the sink, if it has no ticket or the shared state admits it. Breaks when the sink does.
    #[inline]
    pub(super) fn report<E, R, A>(
        &mut self,
        rendered: R,
        ticket: Option<M::Ticket>,
        arena: &A,
        output: &mut dyn Output<R, A>,
    ) -> ControlFlow<()>
    where
        M: SharedState<E>,
    {
        if ticket.is_some_and(|ticket| !self.shared_state.admits(ticket)) {
            output.suppressed(rendered, arena);
            return ControlFlow::Continue(());
        }
        self.events = self.events.saturating_add(1);
        output.event(rendered, arena)
    }

    /// Ends a capture for the shared state, renders its conclusions and delivers them. Breaks when the sink does.
    pub(super) fn end<E, R: Render<Event<M::Report>>>(
        &mut self,
        render: &R,
        arena: &mut R::Arena,
        output: &mut dyn Output<R::Rendered, R::Arena>,
    ) -> ControlFlow<()>
    where
        M: SharedState<E>,
    {
        let mut outcome = ControlFlow::Continue(());
        let Self { shared_state, events } = self;
        shared_state.on_end(&mut |event| {
            if outcome.is_continue() {
                *events = events.saturating_add(1);
                let rendered = render.render(event, arena);
                outcome = output.event(rendered, arena);
            }
        });
        R::clear(arena);
        outcome
    }

    /// Applies an update to the shared state, and passes its conclusions to `report`. Breaks when `report` does.
    pub(super) fn on_update<E>(
        &mut self,
        update: Event<M::Update>,
        report: &mut impl FnMut(Event<M::Report>) -> ControlFlow<()>,
    ) -> ControlFlow<()>
    where
        M: SharedState<E>,
    {
        let mut outcome = ControlFlow::Continue(());
        let Self { shared_state, events } = self;
        shared_state.on_update(update, &mut |event| {
            if outcome.is_continue() {
                *events = events.saturating_add(1);
                outcome = report(event);
            }
        });
        outcome
    }
}
