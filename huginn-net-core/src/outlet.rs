//! The part of the engine behind the flows: to the memory and to the sink.

use std::ops::ControlFlow;

use crate::{Event, Memory, Route, Sink};

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
#[inline]
pub(crate) fn told<E, M: Memory<E>, T>(
    event: Event<E>,
    map: &impl Fn(Event<M::Report>) -> T,
) -> Told<T, M::Note> {
    let Event { ts, flow, subject, kind } = event;
    match M::route(kind) {
        Route::Report(kind) => Told::Report(map(Event { ts, flow, subject, kind })),
        Route::Note(kind) => Told::Note(Event { ts, flow, subject, kind }),
    }
}

impl<M> Outlet<M> {
    /// Leads a report to the sink. Breaks when the sink does.
    #[inline]
    pub(crate) fn report<T>(&mut self, report: T, sink: &mut (impl Sink<T> + ?Sized)) -> ControlFlow<()> {
        self.events = self.events.saturating_add(1);
        sink.event(report)
    }

    /// Leads a note to the memory, and what that concludes to `deliver`. Breaks when that does.
    pub(crate) fn note<E>(
        &mut self,
        note: Event<M::Note>,
        deliver: &mut impl FnMut(Event<M::Report>) -> ControlFlow<()>,
    ) -> ControlFlow<()>
    where
        M: Memory<E>,
    {
        let mut outcome = ControlFlow::Continue(());
        let Self { memory, events } = self;
        memory.on_note(note, &mut |event| {
            if outcome.is_continue() {
                *events = events.saturating_add(1);
                outcome = deliver(event);
            }
        });
        outcome
    }
}
