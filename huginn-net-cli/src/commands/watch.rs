//! `huginn-net watch`: captures of a directory, as they are closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use huginn_net::core::Amount;
use signal_hook::consts::SIGHUP;
use signal_hook::flag;

use super::events::Events;
use crate::args::WatchArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::{BeyondBaseline, WatchFiles, WatchPlan};
use crate::run::{CaptureRun, Interrupt, OnInterrupt, Verbosity, WatchedDirectory};
use crate::stderr;

pub(super) fn run(args: WatchArguments) -> Result<Outcome, Failure> {
    let plan = WatchPlan::new(args)?;
    let stop = Interrupt::default();
    stop.on_signals(OnInterrupt::EndAfterFile)?;
    let mut directory = WatchedDirectory::open(plan.directory, plan.state)?;
    let mut events = Events::open(plan.output, plan.totals)?;
    // A terminal that is gone ends the program.
    let reload = Reload::new(plan.lists.filter(|_| !events.is_on_terminal()))?;
    let messages = Verbosity::new(plan.is_quiet, plan.is_verbose);
    let mut key_logs = plan.key_logs;
    let mut run = CaptureRun::new(plan.inputs, plan.analyzer, messages);
    loop {
        for file in directory.closed_files(plan.once)? {
            if stop.is_set() {
                break;
            }
            reload.if_requested();
            // A file that was renamed is found again.
            let Some(capture) = directory.capture(&file) else { continue };
            if let Some(key_logs) = &mut key_logs {
                key_logs.read_on(&|error| stderr::report(error));
            }
            if run.read_watched(capture, &mut events)? {
                directory.set_processed(&file);
            }
            if directory.is_save_due() && events.flush()? {
                directory.save()?;
            }
        }
        reload.if_requested();
        if events.flush()? && directory.is_save_due() {
            directory.save()?;
        }
        if plan.once || stop.is_set() {
            break;
        }
        directory.wait(&stop);
    }
    if plan.once && !plan.is_quiet && directory.waiting() > 0 {
        let files = Amount(directory.waiting() as u64, "file(s)");
        stderr::report(&format_args!("left out {files} that may still be written to"));
    }
    run.finish();
    if let Some(key_logs) = key_logs.filter(|_| !plan.is_quiet) {
        key_logs.report(plan.is_verbose, &|summary| stderr::report(summary));
    }
    let has_hit = events.finish(&run)?;
    directory.save()?;
    let hosts = run.analyzer.shared_state();
    if let Some(left_out) = BeyondBaseline::of(hosts).filter(|_| !plan.is_quiet) {
        stderr::report(&left_out);
    }
    if let Some(file) = plan.baseline {
        file.write(hosts)?;
    }
    if plan.has_stats {
        run.write_stats()?;
    }
    let outcome = if plan.once && stop.is_set() { Outcome::Interrupted } else { run.outcome() };
    Ok(outcome.with_hit(has_hit))
}

/// Reads watch lists again on SIGHUP.
struct Reload {
    lists: Option<WatchFiles>,
    is_requested: Arc<AtomicBool>,
}

impl Reload {
    fn new(lists: Option<WatchFiles>) -> Result<Self, Failure> {
        let is_requested = Arc::new(AtomicBool::new(false));
        if lists.is_some() {
            flag::register(SIGHUP, Arc::clone(&is_requested))
                .map_err(|source| Failure::Start { doing: "signal handling", source })?;
        }
        Ok(Self { lists, is_requested })
    }

    fn if_requested(&self) {
        if !self.is_requested.swap(false, Ordering::Relaxed) {
            return;
        }
        match self.lists.as_ref().map(WatchFiles::reload) {
            Some(Ok(loaded)) => {
                loaded.warnings.iter().for_each(|warning| stderr::report(warning));
                stderr::report(&format_args!("watch lists read again: {} entries", loaded.entries));
            }
            Some(Err(error)) => stderr::report(&format_args!("{error}; the watch lists stay as they were")),
            None => {}
        }
    }
}
