//! `huginn-net pcap`: capture files.

mod events;
mod tables;

use crate::args::PcapArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::{Content, PcapPlan};
use crate::run::{CaptureRun, Verbosity};

pub(super) fn run(args: PcapArguments) -> Result<Outcome, Failure> {
    let PcapPlan { inputs, count, analyzer, content, is_quiet, is_verbose, has_stats } = PcapPlan::new(args)?;
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
    if has_stats {
        run.write_stats()?;
    }
    Ok(run.outcome().with_hit(has_hit))
}
