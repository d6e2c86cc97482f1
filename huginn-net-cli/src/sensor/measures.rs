//! What is measured of a running capture, from any thread.

use std::sync::{Arc, Mutex, PoisonError};

use super::alarms::Alarms;
use super::event_counters::EventCounters;
use super::latency::Latency;
use super::reload::ReloadStatus;
use super::starting;
use super::watch::Watched;
use crate::control::counters::StateCounters;
use crate::failure::Failure;
use crate::output::Messages;
use crate::plan::WatchFiles;

/// What is measured of events, and of what is read again.
#[derive(Clone)]
pub(super) struct Measures {
    pub(super) latency: Arc<Latency>,
    pub(super) counters: Arc<EventCounters>,
    pub(super) watched: Arc<Watched>,
    pub(super) alarms: Arc<Alarms>,
    pub(super) reloads: Arc<ReloadStatus>,
    pub(super) state: Arc<StateStatus>,
}

impl Measures {
    pub(super) fn new(watch: Option<WatchFiles>, messages: &Messages) -> Result<Self, Failure> {
        Ok(Self {
            latency: Arc::new(Latency::new().map_err(starting("latency measurement"))?),
            counters: Arc::default(),
            watched: Arc::new(Watched::new(watch, messages.clone())),
            alarms: Arc::new(Alarms::new(messages.clone())),
            reloads: Arc::default(),
            state: Arc::default(),
        })
    }
}

/// Counters of the state, from any thread.
#[derive(Debug, Default)]
pub(super) struct StateStatus(Mutex<StateCounters>);

impl StateStatus {
    pub(super) fn counters(&self) -> StateCounters {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, is_written: bool) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = if is_written { &mut counters.written } else { &mut counters.failed };
        *count = count.saturating_add(1);
    }
}
