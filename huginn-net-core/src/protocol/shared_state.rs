//! State that spans flows, and the routing of events to it.

use std::convert::Infallible;

use crate::Event;

/// State of a [`Protocol`](crate::Protocol) that spans flows, such as the hosts behind each address.
///
/// Workers analyse flows in parallel. The shared state exists once and receives updates in capture order, so its
/// conclusions are the same for any number of workers. A protocol without such state uses `()`.
pub trait SharedState<E> {
    /// An event for the sink.
    type Report: Send;
    /// An update for the shared state.
    type Update: Send;
    /// What the state must know of an event to admit it; `()` if it admits all.
    type Ticket: Send;

    /// Routes an event of the protocol to the sink or to the shared state. Runs in the worker that analysed the flow.
    fn route(event: E) -> Route<Self::Report, Self::Update>;

    /// Describes an event with this report for [`admits`](Self::admits). Runs in the worker that analysed the flow.
    fn ticket<K>(event: &Event<K>, report: &Self::Report) -> Self::Ticket;

    /// Whether an event goes to the sink; called in capture order, for every event that a flow reports, but not for one that
    /// [`Analyzer::analyze_text`](crate::Analyzer::analyze_text) has no text of. Conclusions of
    /// [`on_update`](Self::on_update) are not asked for.
    fn admits(&mut self, ticket: Self::Ticket) -> bool;

    /// Applies the next update, in capture order. Conclusions go to `report`.
    fn on_update(&mut self, update: Event<Self::Update>, report: &mut impl FnMut(Event<Self::Report>));

    /// Ends a capture, after its last update: reports what no later update can change. The default reports nothing. Not called
    /// after a cancellation or when the sink stops.
    fn on_end(&mut self, _report: &mut impl FnMut(Event<Self::Report>)) {}
}

/// The destination of a protocol event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<R, U> {
    /// The event goes to the sink.
    Report(R),
    /// The event updates the shared state.
    Update(U),
}

impl<E: Send> SharedState<E> for () {
    type Report = E;
    type Update = Infallible;
    type Ticket = ();

    fn route(event: E) -> Route<E, Infallible> {
        Route::Report(event)
    }

    fn ticket<K>(_: &Event<K>, _: &E) {}

    fn admits(&mut self, (): ()) -> bool {
        true
    }

    fn on_update(&mut self, update: Event<Infallible>, _: &mut impl FnMut(Event<E>)) {
        match update.kind {}
    }
}
