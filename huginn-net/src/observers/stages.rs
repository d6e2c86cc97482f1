//! Analysis in two stages: flows in several processes, hosts in one.

use huginn_net_core::{Event, Interest, NextSeq, Origin, Protocol, Route, Segment, Side};

use super::{FlowState, Observers, ProtocolCounters};
use crate::Observation;
use crate::hosts::HostUpdate;

/// Observers that report the [updates](HostUpdate) of hosts, instead of keeping a host table.
///
/// This is the first stage of an analysis of several captures, or of [shards](huginn_net_core::Filter::shard) of one. The
/// second stage is one [host table](Observers::host_table), which takes the updates of all first stages. If it takes them
/// in the order of time, its events are those of one analysis of all packets in this order.
///
/// ```
/// use huginn_net::core::{Analyzer, Event, Route, SharedState};
/// use huginn_net::hosts::HostUpdate;
/// use huginn_net::observers::WithoutHosts;
/// use huginn_net::{CaptureReader, Observation, Observers};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
/// let mut updates = Vec::new();
/// let mut analyzer = Analyzer::builder_with(WithoutHosts::new(Observers::default())).build();
/// analyzer.analyze(CaptureReader::open(path)?, &mut |event: Event<Route<Observation, HostUpdate>>| {
///     match event.into_route() {
///         Route::Report(event) => println!("{} {:?}", event.ts, event.subject_addr()),
///         Route::Update(update) => updates.push(update),
///     }
/// })?;
/// let mut hosts = Observers::default().host_table();
/// for update in updates {
///     hosts.on_update(update, &mut |event| println!("{} {:?}", event.ts, event.kind));
/// }
/// hosts.on_end(&mut |event| println!("{} {:?}", event.ts, event.kind));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// With the feature `serde`, `HostUpdateRecord` carries an update from one process to another.
#[derive(Debug)]
pub struct WithoutHosts(Observers);

impl WithoutHosts {
    /// Creates the first stage of an analysis with these observers.
    pub fn new(observers: Observers) -> Self {
        Self(observers)
    }
}

impl Protocol for WithoutHosts {
    type Flow = FlowState;
    type Event = Route<Observation, HostUpdate>;
    type SharedState = ();
    type Counters = ProtocolCounters;

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self(self.0.fork())
    }

    fn join(&mut self, worker: Self) {
        self.0.join(worker.0);
    }

    fn update_settings(&mut self) {
        self.0.update_settings();
    }

    fn counters(&self) -> ProtocolCounters {
        self.0.counters()
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        self.0.starts_flow(segment)
    }

    fn on_stray_segment(&mut self, segment: &Segment<'_>, emit: &mut impl FnMut(Side, Self::Event)) {
        self.0.on_stray_segment(segment, emit);
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Origin, Self::Event),
    ) -> Interest {
        self.0.on_segment(segment, sender, flow, emit)
    }

    fn next_seq(flow: &FlowState, sender: Side) -> NextSeq {
        Observers::next_seq(flow, sender)
    }

    fn outlasts_connection(flow: &mut FlowState, is_agreed: bool) -> bool {
        Observers::outlasts_connection(flow, is_agreed)
    }

    fn has_end(flow: &FlowState) -> bool {
        Observers::has_end(flow)
    }

    fn on_end(&mut self, flow: FlowState, emit: &mut impl FnMut(Event<Self::Event>)) {
        self.0.on_end(flow, emit);
    }

    fn buffered_bytes(flow: &FlowState) -> usize {
        Observers::buffered_bytes(flow)
    }
}
