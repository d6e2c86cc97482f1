//! Counters and host state of a running analysis, readable from any thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use huginn_net::core::SnapshotHandle;
use huginn_net::hosts::Hosts;
use huginn_net::{HuginnNet, Observers, Timestamp};
use huginn_net_live::{InterfaceState, LiveStats};

use super::alarms::Alarms;
use super::event_counters::EventCounters;
use super::extract::ExtractStatus;
use super::health::{MonitoredSource, Progress};
use super::latency::Latency;
use super::measures::{Measures, StateStatus};
use super::outputs::Outputs;
use super::reload::ReloadStatus;
use super::watch::Watched;
use crate::analysis_counters::AnalysisCounters;
use crate::control::Health;
use crate::control::counters::{CaptureCounters, LiveCounters, QueueCounters, Times};
use crate::output::Messages;

/// Handles that read the counters and hosts of a running analysis.
#[derive(Debug)]
pub(super) struct LiveStatus {
    snapshots: SnapshotHandle<Observers>,
    capture: LiveStats,
    outputs: Arc<Outputs>,
    latency: Arc<Latency>,
    events: Arc<EventCounters>,
    watched: Arc<Watched>,
    alarms: Arc<Alarms>,
    reloads: Arc<ReloadStatus>,
    state: Arc<StateStatus>,
    messages: Messages,
    extract: Option<ExtractStatus>,
    progress: Progress,
    started: Instant,
    started_at: Timestamp,
    /// Last counters of the analysis, returned while no analysis is running.
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    analysis: AnalysisCounters,
    /// The analysis has ended.
    is_final: bool,
}

impl LiveStatus {
    pub(super) fn new(
        snapshots: SnapshotHandle<Observers>,
        capture: LiveStats,
        outputs: Arc<Outputs>,
        measures: Measures,
        messages: Messages,
        extract: Option<ExtractStatus>,
    ) -> Self {
        let started = Instant::now();
        let Measures { latency, counters: events, watched, alarms, reloads, state } = measures;
        Self {
            snapshots,
            capture,
            outputs,
            latency,
            events,
            watched,
            alarms,
            reloads,
            state,
            messages,
            extract,
            progress: Progress::new(started),
            started,
            started_at: SystemTime::now().into(),
            last: Mutex::default(),
        }
    }

    /// The alerts.
    pub(super) fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    /// The outputs.
    pub(super) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// The counters of `--state`.
    pub(super) fn state(&self) -> Arc<StateStatus> {
        Arc::clone(&self.state)
    }

    /// Queries the host table; `None` if the analysis has not started or has ended.
    pub(super) fn query_hosts<R: Send + 'static>(
        &self,
        query: impl FnOnce(&Hosts) -> R + Send + 'static,
    ) -> Option<R> {
        self.snapshots.query(move |snapshot| query(snapshot.shared_state()))
    }

    /// The statistics of the capture.
    pub(super) fn capture_stats(&self) -> LiveStats {
        self.capture.clone()
    }

    /// Takes the calls of a source for progress of the capture.
    pub(super) fn monitor<S>(&self, source: S) -> MonitoredSource<S> {
        self.progress.monitor(source)
    }

    /// Judges the capture.
    pub(super) fn health(&self) -> Health {
        let is_up = self.capture.interfaces().iter().any(|interface| interface.state == InterfaceState::Up);
        self.progress.health(Instant::now(), is_up)
    }

    /// Whether the capture has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.progress.has_ended()
    }

    /// Records the end of the capture, and stores the final counters of the analysis.
    pub(super) fn end(&self, analyzer: &HuginnNet) {
        self.progress.end();
        *self.last() = Last { analysis: AnalysisCounters::from_analyzer(analyzer), is_final: true };
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current counters of the analysis.
    fn analysis(&self) -> AnalysisCounters {
        let snapshot = self.snapshots.query(|snapshot| {
            let engine = snapshot.counters().clone();
            AnalysisCounters::new(engine, *snapshot.protocol_counters(), snapshot.shared_state())
        });
        let mut last = self.last();
        match snapshot {
            Some(analysis) if !last.is_final => last.analysis = analysis,
            _ => {}
        }
        last.analysis.clone()
    }

    /// Returns all counters and resets the latency quantiles for the next interval.
    pub(super) fn take_interval_counters(&self) -> LiveCounters {
        let counters = self.counters();
        self.latency.reset_interval();
        counters
    }

    /// Returns all counters.
    pub(super) fn counters(&self) -> LiveCounters {
        let capture = self.capture.interfaces().into_iter().map(|interface| {
            let counters = CaptureCounters {
                received: interface.received,
                kernel_dropped: interface.kernel_dropped,
                interface_dropped: interface.interface_dropped,
                copies: interface.copies,
                read_errors: interface.read_errors,
                workers: interface.queues.iter().map(QueueCounters::from).collect(),
                state: interface.state.to_string(),
            };
            (interface.name, counters)
        });
        let (outputs, output) = self.outputs.counters();
        LiveCounters {
            analysis: self.analysis(),
            events_by_kind: self.events.by_kind(),
            capture: capture.collect(),
            output,
            outputs,
            latency: self.latency.counters(),
            alerts: self.alarms.counters(),
            watch_lists: self.watched.counters(),
            reloads: self.reloads.counters(),
            state: self.state.counters(),
            messages: self.messages.counters(),
            extract: self.extract.as_ref().map(ExtractStatus::counters).unwrap_or_default(),
            uptime_seconds: self.started.elapsed().as_secs(),
            times: Times {
                started: self.started_at.as_nanos(),
                last_packet: self.capture.taken_at().map_or(0, Timestamp::as_nanos),
                last_event: self.events.last_event(),
            },
        }
    }
}
