//! Events of captures, and totals after them.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use huginn_net::{Event, HuginnNet};

use crate::failure::Failure;
use crate::output::{EventOutput, TextWriter, Zone};
use crate::plan::OutputPlan;
use crate::run::{CaptureOutcome, CaptureRun, OpenCapture, Visitor};
use crate::stderr;
use crate::views::store::{Part, Store};
use crate::views::totals;

/// Writes events as they come, and counts their names for the totals.
pub(super) struct Events {
    output: EventOutput,
    store: Option<Mutex<Store>>,
    /// The zone of the totals, if they are written.
    totals: Option<Zone>,
}

impl Events {
    /// Opens the output. `totals`: the zone of the totals, if they are written.
    pub(super) fn open(output: OutputPlan, totals: Option<Zone>) -> Result<Self, Failure> {
        let store = totals.is_some().then(|| Mutex::new(Store::new(&[Part::Names, Part::Hosts])));
        Ok(Self { output: output.create()?, store, totals })
    }

    /// Whether a pager shows the output.
    pub(super) fn has_pager(&mut self) -> bool {
        self.output.text().is_some_and(|text| text.has_pager())
    }

    /// Whether the output is a terminal.
    pub(super) fn is_on_terminal(&mut self) -> bool {
        self.output.text().is_some_and(|text| text.is_on_terminal())
    }

    /// Writes what is buffered. Returns false if the output is complete at its end only.
    #[cfg(unix)]
    pub(super) fn flush(&mut self) -> Result<bool, Failure> {
        let Some(text) = self.output.text() else { return Ok(false) };
        text.flush()?;
        Ok(true)
    }

    /// Writes the totals, and the end of the output. Returns whether a watch list had a hit.
    pub(super) fn finish(self, run: &CaptureRun) -> Result<bool, Failure> {
        let Self { mut output, store, totals } = self;
        let store = store.map(|store| store.into_inner().unwrap_or_else(PoisonError::into_inner));
        if let (Some(text), Some(store), Some(zone)) = (output.text(), store, totals) {
            totals::write(text.begin_part()?, &store, &run.analyzer, &run.examples, None, &zone)?;
        }
        // A hit that a limit left out is one, too.
        let has_hit = output.has_hit() || run.analyzer.shared_state().matches_suppressed() > 0;
        output.finish()?;
        Ok(has_hit)
    }
}

impl Visitor for Events {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { output, store, .. } = self;
        let store = store.as_ref();
        output.begin_file(capture.name.as_deref());
        // A pipe may deliver data slowly.
        let is_pipe = capture.source.source().reader.input_len().is_none();
        if let Some(text) = output.text() {
            text.write_at_once(is_pipe);
        }
        output.analyze(analyzer, &mut capture.source, |event: &Event| {
            if let Some(store) = store {
                store.lock().unwrap_or_else(PoisonError::into_inner).add(event);
            }
        })
    }

    fn end_capture(&mut self, _analyzer: &HuginnNet, _capture: &OpenCapture<'_>) -> Result<(), Failure> {
        Ok(self.output.check()?)
    }

    fn report(&mut self, error: &dyn Display) -> Result<(), Failure> {
        // What was found before the error comes before its message.
        self.output.text().map_or(Ok(()), TextWriter::flush)?;
        stderr::report(error);
        Ok(())
    }
}
