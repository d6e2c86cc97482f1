//! Events of captures, and totals after them.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use huginn_net::{Event, HuginnNet};

use crate::failure::Failure;
use crate::output::{EventOutput, TextWriter, Zone};
use crate::plan::OutputPlan;
use crate::run::{CaptureOutcome, CaptureRun, OnInterrupt, OpenCapture, Visitor};
use crate::stderr;
use crate::views::overview::Overview;
use crate::views::totals;

/// Writes the events of a run. `totals`: the zone of the totals, if they are written. Returns whether a watch list had a hit.
pub(super) fn write(run: &mut CaptureRun, output: OutputPlan, totals: Option<Zone>) -> Result<bool, Failure> {
    let mut output = output.create()?;
    let (has_pager, on_terminal) =
        output.text().map_or((false, false), |text| (text.has_pager(), text.is_on_terminal()));
    let on_interrupt = if has_pager { OnInterrupt::LeaveToPager } else { OnInterrupt::EndTwice };
    run.interrupt().on_signals(on_interrupt)?;
    // Events scroll over the screen.
    if !on_terminal {
        run.show_progress();
    }
    let overview = totals.is_some().then(|| Mutex::new(Overview::new(false)));
    let mut events = Events { output, overview };
    run.run(&mut events)?;
    let Events { mut output, overview } = events;
    let overview = overview.map(|overview| overview.into_inner().unwrap_or_else(PoisonError::into_inner));
    if let (Some(text), Some(overview), Some(zone)) = (output.text(), overview, totals) {
        totals::write(text.begin_part()?, &overview, &run.analyzer, &run.examples, None, &zone)?;
    }
    let has_hit = output.has_hit();
    output.finish()?;
    Ok(has_hit)
}

/// Writes events as they come, and counts their names for the totals.
struct Events {
    output: EventOutput,
    overview: Option<Mutex<Overview>>,
}

impl Visitor for Events {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { output, overview } = self;
        output.begin_file(capture.name.as_deref());
        if let Some(overview) = overview {
            let overview = overview.get_mut().unwrap_or_else(PoisonError::into_inner);
            overview.set_file(capture.name.as_ref().map(|_| capture.index));
        }
        // A pipe may deliver data slowly.
        let is_pipe = capture.source.source().reader.input_len().is_none();
        if let Some(text) = output.text() {
            text.write_at_once(is_pipe);
        }
        let overview = overview.as_ref();
        output.analyze(analyzer, &mut capture.source, |event: &Event| {
            if let Some(overview) = overview {
                overview.lock().unwrap_or_else(PoisonError::into_inner).add(event);
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
