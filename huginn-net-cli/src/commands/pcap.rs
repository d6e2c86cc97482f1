//! `huginn-net pcap`: the events of capture files.

use super::events::Events;
use crate::args::PcapArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::{BeyondBaseline, PcapPlan};
use crate::run::{CaptureRun, OnInterrupt, Verbosity};
use crate::stderr;

pub(super) fn run(args: PcapArguments) -> Result<Outcome, Failure> {
    let PcapPlan { inputs, analyzer, output, totals, baseline, is_quiet, is_verbose, has_stats } =
        PcapPlan::new(args)?;
    let mut run = CaptureRun::new(inputs, analyzer, Verbosity::new(is_quiet, is_verbose));
    let mut events = Events::open(output, totals)?;
    let on_interrupt = if events.has_pager() { OnInterrupt::LeaveToPager } else { OnInterrupt::EndTwice };
    run.interrupt().on_signals(on_interrupt)?;
    // Events scroll over the screen.
    if !events.is_on_terminal() {
        run.show_progress();
    }
    run.run(&mut events)?;
    let has_hit = events.finish(&run)?;
    let hosts = run.analyzer.shared_state();
    if let Some(left_out) = BeyondBaseline::of(hosts).filter(|_| !is_quiet) {
        stderr::report(&left_out);
    }
    if let Some(file) = baseline {
        file.write(hosts)?;
    }
    if has_stats {
        run.write_stats()?;
    }
    Ok(run.outcome().with_hit(has_hit))
}
