//! `huginn-net pcap`: capture files.

mod tables;

use super::events::Events;
use crate::args::PcapArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Zone;
use crate::plan::{BeyondBaseline, Content, OutputPlan, PcapPlan};
use crate::run::{CaptureRun, OnInterrupt, Verbosity};
use crate::stderr;

pub(super) fn run(args: PcapArguments) -> Result<Outcome, Failure> {
    let PcapPlan { inputs, count, analyzer, content, baseline, is_quiet, is_verbose, has_stats } =
        PcapPlan::new(args)?;
    let messages = Verbosity::new(is_quiet, is_verbose);
    let mut run = CaptureRun::new(inputs, count, analyzer, messages);
    let has_hit = match content {
        Content::Events { output, totals } => write_events(&mut run, output, totals)?,
        Content::Tables(plan) => {
            tables::write(&mut run, plan, is_quiet)?;
            false
        }
    };
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

/// Writes the events of a run. `totals`: the zone of the totals, if they are written. Returns whether a watch list had a hit.
fn write_events(run: &mut CaptureRun, output: OutputPlan, totals: Option<Zone>) -> Result<bool, Failure> {
    let mut events = Events::open(output, totals)?;
    let on_interrupt = if events.has_pager() { OnInterrupt::LeaveToPager } else { OnInterrupt::EndTwice };
    run.interrupt().on_signals(on_interrupt)?;
    // Events scroll over the screen.
    if !events.is_on_terminal() {
        run.show_progress();
    }
    run.run(&mut events)?;
    events.finish(run)
}
