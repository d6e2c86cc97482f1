//! Runs an analyzer over captures, whatever a command makes of their events.

mod captures;
#[cfg(unix)]
mod directory;
mod interrupt;
mod networks;
mod stats;

use std::fmt::Display;
use std::path::Path;

use huginn_net::core::Amount;
use huginn_net::{AnalysisError, CaptureError, Counters, HuginnNet};

use self::captures::{CaptureFailure, Captures};
pub(crate) use self::captures::{OpenCapture, open};
#[cfg(unix)]
pub(crate) use self::directory::WatchedDirectory;
pub(crate) use self::interrupt::{Interrupt, OnInterrupt};
pub(crate) use self::networks::Networks;
use crate::blind_spots::ExampleFiles;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::paths::name_of;
#[cfg(unix)]
use crate::plan::InputFile;
use crate::plan::Inputs;
use crate::stderr;

/// The outcome of one capture. Packets before an error were analysed.
pub(crate) type CaptureOutcome = Result<(), AnalysisError<CaptureError>>;

/// What a command makes of captures.
pub(crate) trait Visitor {
    /// Analyses a capture. The host table is empty.
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome;

    /// Takes what a capture showed, before its error is reported. An error ends the run.
    fn end_capture(&mut self, _analyzer: &HuginnNet, _capture: &OpenCapture<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Reports an error of a capture.
    fn report(&mut self, error: &dyn Display) -> Result<(), Failure> {
        stderr::report(error);
        Ok(())
    }
}

/// An analyzer and its captures.
pub(crate) struct CaptureRun {
    captures: Captures,
    pub(crate) analyzer: HuginnNet,
    pub(crate) examples: ExampleFiles,
    messages: Verbosity,
    has_failed: bool,
}

/// How much is written on standard error beside errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// Skipped files.
    Normal,
    /// Totals of each capture, too.
    Verbose,
}

impl Verbosity {
    pub(crate) const fn new(is_quiet: bool, is_verbose: bool) -> Self {
        match (is_quiet, is_verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Normal,
        }
    }
}

impl CaptureRun {
    pub(crate) fn new(inputs: Inputs, analyzer: HuginnNet, messages: Verbosity) -> Self {
        let captures = Captures::new(inputs);
        Self { captures, analyzer, examples: ExampleFiles::default(), messages, has_failed: false }
    }

    /// A run that SIGINT ends, with a progress bar. `is_quiet`: messages are errors only.
    ///
    /// # Errors
    /// The handler of signals cannot be set.
    pub(crate) fn start(inputs: Inputs, analyzer: HuginnNet, is_quiet: bool) -> Result<Self, Failure> {
        Self::start_paged(inputs, analyzer, is_quiet, false)
    }

    /// The same for an output that a pager may show: it handles signals, and takes the screen.
    pub(crate) fn start_paged(
        inputs: Inputs,
        analyzer: HuginnNet,
        is_quiet: bool,
        has_pager: bool,
    ) -> Result<Self, Failure> {
        let mut run = Self::new(inputs, analyzer, Verbosity::new(is_quiet, false));
        let on_interrupt = if has_pager { OnInterrupt::LeaveToPager } else { OnInterrupt::EndTwice };
        run.interrupt().on_signals(on_interrupt)?;
        if !has_pager {
            run.show_progress();
        }
        Ok(run)
    }

    /// Shows a progress bar over all captures, unless messages are quiet.
    pub(crate) fn show_progress(&mut self) {
        if self.messages != Verbosity::Quiet {
            self.captures.show_progress();
        }
    }

    /// The flag that ends the run.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        self.captures.interrupt()
    }

    /// Number of captures that were opened.
    pub(crate) fn opened(&self) -> u64 {
        self.captures.opened()
    }

    /// The name of a capture.
    pub(crate) fn name(&self, index: usize) -> Option<String> {
        self.captures.name(index)
    }

    /// The path of a capture.
    pub(crate) fn path(&self, index: usize) -> Option<&Path> {
        self.captures.path(index)
    }

    /// Analyses all captures. Ends early on an error of the visitor.
    pub(crate) fn run(&mut self, visitor: &mut dyn Visitor) -> Result<(), Failure> {
        self.read(visitor)?;
        self.finish();
        Ok(())
    }

    /// Analyses one more capture, which may be gone. Returns whether it was analysed, or is not a capture; [`Self::finish`] ends the run.
    #[cfg(unix)]
    pub(crate) fn read_watched(
        &mut self,
        file: InputFile,
        visitor: &mut dyn Visitor,
    ) -> Result<bool, Failure> {
        self.captures.set_watched(file);
        self.read(visitor)?;
        Ok(!self.captures.is_gone())
    }

    /// Ends a run: reports what was skipped.
    pub(crate) fn finish(&mut self) {
        self.has_failed |= self.captures.finish(self.messages == Verbosity::Quiet);
    }

    fn read(&mut self, visitor: &mut dyn Visitor) -> Result<(), Failure> {
        while let Some(capture) = self.captures.open_next() {
            let mut capture = match capture {
                Ok(capture) => capture,
                Err(error) => {
                    visitor.report(&error)?;
                    continue;
                }
            };
            let before = self.analyzer.counters();
            self.analyzer.shared_state_mut().clear();
            let outcome = visitor.analyze(&mut self.analyzer, &mut capture);
            self.examples.assign(&self.analyzer, capture.name.as_deref());
            visitor.end_capture(&self.analyzer, &capture)?;
            if let Err(error) = outcome {
                match error {
                    AnalysisError::Source(error) => visitor.report(&CaptureFailure::from(error))?,
                    error => visitor.report(&error)?,
                }
                self.has_failed = true;
            }
            if self.messages == Verbosity::Verbose {
                report_counts(&capture, &before, &self.analyzer.counters());
            }
        }
        Ok(())
    }

    /// How the run ended.
    pub(crate) fn outcome(&self) -> Outcome {
        match (self.interrupt().is_set(), self.has_failed) {
            (true, _) => Outcome::Interrupted,
            (false, true) => Outcome::Failed,
            (false, false) => Outcome::Complete,
        }
    }

    /// Writes the counters of `--stats`.
    pub(crate) fn write_stats(&self) -> Result<(), Failure> {
        stats::write(&self.analyzer, &self.examples)
    }
}

fn report_counts(capture: &OpenCapture<'_>, before: &Counters, after: &Counters) {
    let frames = after.frames.saturating_sub(before.frames);
    let events = after.events.saturating_sub(before.events);
    let (packets, events) = (Amount(frames, "packet(s)"), Amount(events, "event(s)"));
    stderr::report(&format_args!("{}: {packets}, {events}", name_of(capture.path)));
}
