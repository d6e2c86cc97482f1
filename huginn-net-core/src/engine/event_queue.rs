//! The events of a worker on their way to the merging thread.

use std::collections::VecDeque;

use super::render::Render;
use super::router::Routed;
use crate::{Event, Protocol, Report, SharedState};

/// Events in the order in which a worker found them, each with a key that says where it goes between those of others.
///
/// Reports and updates are apart: most events are reports, a rendered report is small, and an update is several times as large. So the
/// merging thread moves no more bytes between threads than an event has.
pub(super) struct EventQueue<O, P: Protocol, R: Render<Event<Report<P>>>> {
    keys: VecDeque<(O, Destination)>,
    reports: VecDeque<(R::Rendered, Ticket<P>)>,
    updates: VecDeque<Event<Update<P>>>,
}

#[derive(Clone, Copy)]
enum Destination {
    Sink,
    SharedState,
}

/// An event of a worker: rendered, or for the shared state.
pub(super) type RoutedBy<P, R> = Routed<<R as Render<Event<Report<P>>>>::Rendered, Ticket<P>, Update<P>>;

type Ticket<P> = <<P as Protocol>::SharedState as SharedState<<P as Protocol>::Event>>::Ticket;

type Update<P> = <<P as Protocol>::SharedState as SharedState<<P as Protocol>::Event>>::Update;

impl<O, P: Protocol, R: Render<Event<Report<P>>>> Default for EventQueue<O, P, R> {
    fn default() -> Self {
        Self { keys: VecDeque::new(), reports: VecDeque::new(), updates: VecDeque::new() }
    }
}

impl<O: Copy, P: Protocol, R: Render<Event<Report<P>>>> EventQueue<O, P, R> {
    #[inline(always)]
    pub(super) fn push(&mut self, key: O, event: RoutedBy<P, R>) {
        let destination = match event {
            Routed::Report(rendered, ticket) => {
                self.reports.push_back((rendered, ticket));
                Destination::Sink
            }
            Routed::Update(update) => {
                self.updates.push_back(update);
                Destination::SharedState
            }
        };
        self.keys.push_back((key, destination));
    }

    /// Returns the key of the first event.
    #[inline(always)]
    pub(super) fn first_key(&self) -> Option<O> {
        self.keys.front().map(|(key, _)| *key)
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<RoutedBy<P, R>> {
        match self.keys.pop_front()?.1 {
            Destination::Sink => {
                self.reports.pop_front().map(|(rendered, ticket)| Routed::Report(rendered, ticket))
            }
            Destination::SharedState => self.updates.pop_front().map(Routed::Update),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Removes all events, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.reports.clear();
        self.updates.clear();
    }
}
