//! How the watch stands, for whoever asks, in any thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use huginn_net::core::SnapshotHandle;
use huginn_net::hosts::Hosts;
use huginn_net::{HuginnNet, Observers};
use huginn_net_live::LiveStats;

use crate::analysis_counters::AnalysisCounters;
use crate::control::counters::{CaptureCounters, LiveCounters};
use crate::latency::Latency;
use crate::output::OutputHandle;

/// Where all counters can be had.
#[derive(Debug)]
pub(super) struct LiveStatus {
    snapshots: SnapshotHandle<Observers>,
    capture: LiveStats,
    output: OutputHandle,
    latency: Arc<Latency>,
    started: Instant,
    /// What the analysis told last, for when there is none to ask.
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    analysis: AnalysisCounters,
    /// Nothing comes after it.
    is_final: bool,
}

impl LiveStatus {
    pub(super) fn new(
        snapshots: SnapshotHandle<Observers>,
        capture: LiveStats,
        output: OutputHandle,
        latency: Arc<Latency>,
    ) -> Self {
        Self { snapshots, capture, output, latency, started: Instant::now(), last: Mutex::default() }
    }

    /// Asks what is remembered of hosts; `None` where the analysis has not begun or has ended.
    pub(super) fn ask<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Hosts) -> R + Send + 'static,
    ) -> Option<R> {
        self.snapshots.query(move |snapshot| look(snapshot.shared_state()))
    }

    /// Takes what was counted in the end.
    pub(super) fn end(&self, analyzer: &HuginnNet) {
        *self.last() = Last { analysis: AnalysisCounters::from_analyzer(analyzer), is_final: true };
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the analysis counted so far.
    fn analysis(&self) -> AnalysisCounters {
        let told = self.snapshots.query(|snapshot| AnalysisCounters {
            engine: snapshot.counters().clone(),
            protocols: *snapshot.protocol_counters(),
            hosts: snapshot.shared_state().counters(),
        });
        let mut last = self.last();
        match told {
            Some(analysis) if !last.is_final => last.analysis = analysis,
            _ => {}
        }
        last.analysis.clone()
    }

    /// All that was counted so far, for a line of counters: the quantiles of the next begin anew.
    pub(super) fn take_interval_counters(&self) -> LiveCounters {
        let counters = self.counters();
        self.latency.reset_interval();
        counters
    }

    /// All that was counted so far.
    pub(super) fn counters(&self) -> LiveCounters {
        let capture = self.capture.interfaces().into_iter().map(|interface| {
            let counters = CaptureCounters {
                received: interface.received,
                kernel_dropped: interface.kernel_dropped,
                interface_dropped: interface.interface_dropped,
                read_errors: interface.read_errors,
                state: interface.state.to_string(),
            };
            (interface.name, counters)
        });
        LiveCounters {
            analysis: self.analysis(),
            capture: capture.collect(),
            output: self.output.counters(),
            latency: self.latency.counters(),
            uptime_seconds: self.started.elapsed().as_secs(),
        }
    }
}
