//! How the watch stands, for whoever asks, in any thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use huginn_net::{Counters, HostCounters, Hosts, HuginnNet, Inspector, Observers, ProtocolCounters};
use huginn_net_live::LiveStats;

use crate::ask::counters::{CaptureCounters, LiveCounters};
use crate::latency::Latency;
use crate::output::OutputHandle;

/// Where all counters can be had.
#[derive(Debug)]
pub(super) struct Standing {
    inspector: Inspector<Observers>,
    capture: LiveStats,
    output: OutputHandle,
    latency: Arc<Latency>,
    started: Instant,
    /// What the analysis told last, for when there is none to ask.
    last: Mutex<Analysed>,
}

/// What the analysis counted.
#[derive(Clone, Debug, Default)]
struct Analysed {
    engine: Counters,
    protocols: ProtocolCounters,
    hosts: HostCounters,
}

impl Standing {
    pub(super) fn new(
        inspector: Inspector<Observers>,
        capture: LiveStats,
        output: OutputHandle,
        latency: Arc<Latency>,
    ) -> Self {
        Self { inspector, capture, output, latency, started: Instant::now(), last: Mutex::default() }
    }

    /// Asks what is remembered of hosts; `None` where the analysis has not begun or has ended.
    pub(super) fn ask<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Hosts) -> R + Send + 'static,
    ) -> Option<R> {
        self.inspector.ask(move |glimpse| look(glimpse.memory()))
    }

    /// Takes what was counted in the end.
    pub(super) fn end(&self, analyzer: &HuginnNet) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Analysed {
            engine: analyzer.counters(),
            protocols: analyzer.protocol().counters(),
            hosts: analyzer.memory().counters(),
        };
    }

    /// All that was counted so far.
    pub(super) fn counters(&self) -> LiveCounters {
        let analysed = self.inspector.ask(|glimpse| Analysed {
            engine: glimpse.counters().clone(),
            protocols: *glimpse.protocol_counters(),
            hosts: glimpse.memory().counters(),
        });
        let Analysed { engine, protocols, hosts } = match analysed {
            Some(analysed) => analysed,
            None => self.last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let capture = self.capture.interfaces().into_iter().map(|interface| {
            let counters = CaptureCounters {
                received: interface.received,
                kernel_dropped: interface.kernel_dropped,
                interface_dropped: interface.interface_dropped,
                state: interface.state.to_string(),
            };
            (interface.name, counters)
        });
        LiveCounters {
            engine,
            protocols,
            hosts,
            capture: capture.collect(),
            output: self.output.counters(),
            latency: self.latency.counters(),
            uptime_seconds: self.started.elapsed().as_secs(),
        }
    }
}
