//! What an analysis counted.

use huginn_net::hosts::HostCounters;
use huginn_net::{Counters, HuginnNet, ProtocolCounters};
use serde::Serialize;

/// Since the analyzer was built; as JSON, what the engine and the protocols counted stands side by side.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct AnalysisCounters {
    /// By the engine.
    #[serde(flatten)]
    pub(crate) engine: Counters,
    /// By the protocols.
    #[serde(flatten)]
    pub(crate) protocols: ProtocolCounters,
    /// Of what is remembered of hosts.
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
