//! Counters of an analysis.

use huginn_net::core::Tally;
use huginn_net::hosts::{FindingCounters, HostCounters, Hosts};
use huginn_net::observers::ProtocolCounters;
use huginn_net::{Counters, HuginnNet};
use serde::Serialize;

/// Counters since the analyzer was built. JSON flattens the counters of the engine and the protocols into one object.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct AnalysisCounters {
    /// Counters of the engine.
    #[serde(flatten)]
    pub(crate) engine: Counters,
    /// Counters of the protocols.
    #[serde(flatten)]
    pub(crate) protocols: ProtocolCounters,
    /// Counters of the host table.
    pub(crate) hosts: HostCounters,
    /// Counters of findings.
    pub(crate) findings: FindingCounters,
}

impl AnalysisCounters {
    /// Joins counters; those of suppressed events are in the protocols and in the host table.
    pub(crate) fn new(engine: Counters, mut protocols: ProtocolCounters, hosts: &Hosts) -> Self {
        protocols.events_suppressed.add(&hosts.events_suppressed());
        Self { engine, protocols, hosts: hosts.counters(), findings: hosts.findings() }
    }

    pub(crate) fn from_analyzer(analyzer: &HuginnNet) -> Self {
        Self::new(analyzer.counters(), analyzer.protocol().counters(), analyzer.shared_state())
    }
}
