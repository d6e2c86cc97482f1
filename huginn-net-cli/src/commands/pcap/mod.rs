//! `huginn-net pcap`: capture files.

mod events;
mod tables;

use crate::args::PcapArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::{BeyondBaseline, Content, PcapPlan};
use crate::run::{CaptureRun, Verbosity};
use crate::stderr;

pub(super) fn run(args: PcapArguments) -> Result<Outcome, Failure> {
    let PcapPlan { inputs, count, analyzer, content, baseline, is_quiet, is_verbose, has_stats } =
        PcapPlan::new(args)?;
    let messages = match (is_quiet, is_verbose) {
        (true, _) => Verbosity::Quiet,
        (false, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    };
    let mut run = CaptureRun::new(inputs, count, analyzer, messages);
    let has_hit = match content {
        Content::Events { output, totals } => events::write(&mut run, output, totals)?,
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
