//! Counters of an analysis.

use huginn_net::hosts::HostCounters;
use huginn_net::{Counters, HuginnNet, ProtocolCounters};
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
}

impl AnalysisCounters {
    pub(crate) fn from_analyzer(analyzer: &HuginnNet) -> Self {
        Self {
            engine: analyzer.counters(),
            protocols: analyzer.protocol().counters(),
            hosts: analyzer.shared_state().counters(),
        }
    }
}
