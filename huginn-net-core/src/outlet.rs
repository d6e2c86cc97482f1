//! The part of the engine behind the flows: to the memory and to the sink.

use std::ops::ControlFlow;

use crate::form::{Delivery, Form};
use crate::{Event, Memory, Route};

/// What is remembered beyond flows, and how much was reported.
pub(crate) struct Outlet<M> {
    pub(crate) memory: M,
    pub(crate) events: u64,
}

/// What a flow told, made ready where it was watched.
pub(crate) enum Told<T, N> {
    /// For the sink.
    Report(T),
    /// For the memory.
    Note(Event<N>),
}

/// Makes ready what a flow told.
#[inline(always)]
pub(crate) fn told<E, M: Memory<E>, F: Form<Event<M::Report>>>(
    event: Event<E>,
    form: &F,
    shelf: &mut F::Shelf,
) -> Told<F::Piece, M::Note> {
    let Event { ts, flow, subject, kind } = event;
    match M::route(kind) {
        Route::Report(kind) => Told::Report(form.form(Event { ts, flow, subject, kind }, shelf)),
        Route::Note(kind) => Told::Note(Event { ts, flow, subject, kind }),
    }
}

impl<M> Outlet<M> {
    /// Leads what a flow told to the sink, or to the memory and what that concludes to the sink. Breaks when the sink
    /// does.
    pub(crate) fn take<E, F: Form<Event<M::Report>>>(
        &mut self,
        event: Event<E>,
        form: &F,
        shelf: &mut F::Shelf,
        delivery: &mut impl Delivery<F::Piece, F::Shelf>,
    ) -> ControlFlow<()>
    where
        M: Memory<E>,
    {
        let outcome = match told::<E, M, F>(event, form, shelf) {
            Told::Report(piece) => self.report(piece, shelf, delivery),
            Told::Note(note) => self.note(note, &mut |event| {
                let piece = form.form(event, shelf);
                delivery.deliver(piece, shelf)
            }),
        };
        F::clear(shelf);
        outcome
    }

    /// Leads a report to the sink. Breaks when the sink does.
    #[inline]
    pub(crate) fn report<T, S>(
        &mut self,
        piece: T,
        shelf: &S,
        delivery: &mut impl Delivery<T, S>,
    ) -> ControlFlow<()> {
        self.events = self.events.saturating_add(1);
        delivery.deliver(piece, shelf)
    }

    /// Leads a note to the memory, and what that concludes to `report`. Breaks when that does.
    pub(crate) fn note<E>(
        &mut self,
        note: Event<M::Note>,
        report: &mut impl FnMut(Event<M::Report>) -> ControlFlow<()>,
    ) -> ControlFlow<()>
    where
        M: Memory<E>,
    {
        let mut outcome = ControlFlow::Continue(());
        let Self { memory, events } = self;
        memory.on_note(note, &mut |event| {
            if outcome.is_continue() {
                *events = events.saturating_add(1);
                outcome = report(event);
            }
        });
        outcome
    }
}
