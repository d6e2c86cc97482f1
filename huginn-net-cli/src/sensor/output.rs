//! Events of live traffic: counted, shown, measured, and queued for each output.

use std::fs::{self, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileTypeExt;

use huginn_net::core::{Source, TextSink};
use huginn_net::{AnalysisError, Counters, Event, HuginnNet, Timestamp};
use huginn_net_live::{LiveStats, Stopper};

use super::alarms::Alarms;
use super::event_counters::EventCounters;
use super::extract::Extract;
use super::frames::has_latency;
use super::latency::{Latency, is_late};
use super::outputs::{OutputReader, Outputs};
use super::view::LiveView;
use super::watch::Watched;
use crate::output::{LiveTarget, OutputError};
use crate::paths::{PathName, check_directory_writable};

/// Checks that the output can be written, without creating its file.
pub(super) fn check_rights(target: &LiveTarget) -> Result<(), OutputError> {
    let path = match target {
        LiveTarget::File(path) => path,
        LiveTarget::Socket(collector) if !collector.is_resolved() => {
            return Err(OutputError::Unresolved { collector: collector.to_string() });
        }
        // A collector may start later.
        LiveTarget::Stdout | LiveTarget::Socket(_) => return Ok(()),
    };
    let name = || PathName(path.clone());
    // A pipe may have no reader yet.
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return Ok(());
    }
    match OpenOptions::new().append(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_directory_writable(path).map_err(|source| OutputError::Open { path: name(), source })
        }
        Err(source) => Err(OutputError::Open { path: name(), source }),
    }
}

/// What happens to each event.
pub(super) struct LiveEvents<'a> {
    pub(super) outputs: &'a Outputs,
    pub(super) counters: &'a EventCounters,
    pub(super) watched: &'a Watched,
    pub(super) alarms: &'a Alarms,
    pub(super) extract: Option<&'a Extract>,
    pub(super) latency: &'a Latency,
    pub(super) stats: LiveStats,
    pub(super) stopper: &'a Stopper,
    pub(super) view: Option<&'a LiveView>,
}

impl LiveEvents<'_> {
    /// Analyses the sources to their ends, each in a worker of its own if there are several.
    pub(super) fn analyze<'f, S: Source<'f, Error: Send> + Send>(
        self,
        analyzer: &mut HuginnNet,
        sources: Vec<S>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        let Self { outputs, counters, watched, alarms, extract, latency, stats, stopper, view } = self;
        let on_event = |event: &Event| {
            counters.on_event(event);
            watched.on_event(event);
            alarms.on_event(event);
            if let Some(extract) = extract {
                extract.on_event(event);
            }
            if let Some(view) = view {
                view.add(event);
            }
        };
        let reader = outputs.reader();
        let mut sink = MeasuredOutputs {
            outputs: &reader,
            latency,
            stopper,
            stats,
            captured: Vec::new(),
            taken_at: None,
        };
        if !outputs.has_tables() {
            let render = |event: &Event, text: &mut Vec<u8>| {
                let update = alarms.as_update(event);
                let event = update.as_ref().unwrap_or(event);
                on_event(event);
                reader.render(event, text);
            };
            return analyzer.analyze_queues_text(sources, render, &mut sink);
        }
        // Tables take events, not their text.
        let mut text = Vec::new();
        let outcome = analyzer.analyze_queues(sources, &mut |event: Event| {
            let event = alarms.as_update(&event).unwrap_or(event);
            on_event(&event);
            text.clear();
            reader.render(&event, &mut text);
            let (ts, is_late) = (event.ts, is_late(&event));
            let is_in_table = reader.push_to_tables(event);
            if is_in_table && text.is_empty() && !is_late {
                sink.latency.record(&[ts.as_nanos()], sink.stats.taken_at());
            }
            let flow = sink.event(ts, &text);
            // The next events may come much later.
            let _ = sink.batch_end(None);
            flow
        });
        stopper.stop();
        outcome
    }
}

/// Passes the texts of events to the queues, and records their latency.
struct MeasuredOutputs<'a> {
    outputs: &'a OutputReader,
    latency: &'a Latency,
    stopper: &'a Stopper,
    stats: LiveStats,
    /// Capture times of the packets whose events came in this batch, in nanoseconds since the Unix epoch.
    captured: Vec<u64>,
    /// Time at which the packet of the first of these events was read from the kernel, if known.
    taken_at: Option<Timestamp>,
}

impl TextSink for MeasuredOutputs<'_> {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        // Skips events that no output has.
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        if has_latency(text) {
            if self.captured.is_empty() {
                self.taken_at = self.stats.taken_at();
            }
            self.captured.push(ts.as_nanos());
        }
        self.outputs.push(ts, text)
    }

    fn suppressed(&mut self, text: &[u8]) {
        self.outputs.forget(text);
    }

    fn batch_end(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        if !self.captured.is_empty() {
            self.latency.record(&self.captured, taken_at.or(self.taken_at));
            self.captured.clear();
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self) {
        self.stopper.stop();
    }
}
