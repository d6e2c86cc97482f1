//! The trait between the engine and what is remembered beyond one flow.

use std::convert::Infallible;

use crate::Event;

/// What a [`Protocol`](crate::Protocol) remembers beyond one flow, such as who was seen at an address.
///
/// FlowTable may be watched side by side. A memory is one, and is told in the order of the capture whoever watched: what
/// it concludes is the same for any number of workers. A protocol that remembers nothing has the shared state `()`.
pub trait SharedState<E> {
    /// What is reported.
    type Report: Send;
    /// What is told to this memory.
    type Update: Send;

    /// Says whom an event of the protocol is for. Called where the flow is watched, before anything is remembered.
    fn route(event: E) -> Route<Self::Report, Self::Update>;

    /// Takes the next note, in the order of the capture. What it lets conclude goes to `report`.
    fn on_update(&mut self, update: Event<Self::Update>, report: &mut impl FnMut(Event<Self::Report>));
}

/// Whom an event of a protocol is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<R, U> {
    /// The sink.
    Report(R),
    /// The memory.
    Update(U),
}

impl<E: Send> SharedState<E> for () {
    type Report = E;
    type Update = Infallible;

    fn route(event: E) -> Route<E, Infallible> {
        Route::Report(event)
    }

    fn on_update(&mut self, update: Event<Infallible>, _: &mut impl FnMut(Event<E>)) {
        match update.kind {}
    }
}
