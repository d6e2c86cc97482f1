//! How an analysis stands while its threads run.

use crate::flows::Flows;
use crate::outlet::Outlet;
use crate::watch::Glimpse;
use crate::{Counters, FlowCounters, Protocol, Tally};

/// What the flows of one thread came to so far.
pub(super) struct Standing<C> {
    flows: FlowCounters,
    segments_without_flow: u64,
    protocol: C,
}

impl<C: Tally> Tally for Standing<C> {
    fn add(&mut self, other: &Self) {
        let Self { flows, segments_without_flow, protocol } = other;
        self.flows.add(flows);
        Tally::add(&mut self.segments_without_flow, segments_without_flow);
        self.protocol.add(protocol);
    }
}

impl<C: Default> Default for Standing<C> {
    fn default() -> Self {
        Self { flows: FlowCounters::default(), segments_without_flow: 0, protocol: C::default() }
    }
}

impl<C> Standing<C> {
    pub(super) fn of<P: Protocol<Counters = C>>(flows: &Flows<P>) -> Self {
        Self {
            flows: flows.counters(),
            segments_without_flow: flows.segments_without_flow(),
            protocol: flows.protocol().counted(),
        }
    }
}

/// What each thread told last of how it stands; nothing so far where it has told nothing.
pub(super) struct Standings<P: Protocol> {
    /// What there was before the threads began.
    before: Standing<P::Counters>,
    /// What was counted up to the flows.
    pub(super) read: Counters,
    /// What the workers did, in their order.
    pub(super) workers: Vec<Standing<P::Counters>>,
}

impl<P: Protocol> Standings<P> {
    pub(super) fn new(flows: &Flows<P>, read: Counters, workers: Vec<Standing<P::Counters>>) -> Self {
        Self { before: Standing::of(flows), read, workers }
    }

    /// All of it together.
    pub(super) fn glimpse<'a>(&self, outlet: &'a Outlet<P::Memory>) -> Glimpse<'a, P> {
        let mut sum = Standing::default();
        for standing in self.workers.iter().chain([&self.before]) {
            sum.add(standing);
        }
        Glimpse {
            memory: &outlet.memory,
            counters: Counters {
                segments_without_flow: sum.segments_without_flow,
                flows: sum.flows,
                events: outlet.events,
                ..self.read.clone()
            },
            protocol_counters: sum.protocol,
        }
    }
}
