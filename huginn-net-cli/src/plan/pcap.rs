//! What `pcap` reads and writes.

use huginn_net::{Configure, HuginnNet};

use super::event_run::{check_event_run, event_analysis, switch_on_kinds};
use super::{BaselineFile, Inputs, OutputPlan, output, refusals};
use crate::args::{EventRunArguments, Format, PcapArguments};
use crate::failure::Failure;
use crate::output::{Target, Zone};
use crate::paths::{PathName, is_same_file, resolved};

/// The plan of `pcap`.
pub(crate) struct PcapPlan {
    pub(crate) inputs: Inputs,
    pub(crate) analyzer: HuginnNet,
    pub(crate) output: OutputPlan,
    /// The zone of the totals, if they are written.
    pub(crate) totals: Option<Zone>,
    pub(crate) baseline: Option<BaselineFile>,
    pub(crate) is_quiet: bool,
    pub(crate) is_verbose: bool,
    pub(crate) has_stats: bool,
}

impl PcapPlan {
    pub(crate) fn new(mut args: PcapArguments) -> Result<Self, Failure> {
        switch_on_kinds(&mut args.run)?;
        let PcapArguments { input, run, zeek_dir, tables, no_pager } = args;
        let EventRunArguments { analysis, events, baseline, output } = &run;
        let is_zeek = matches!(output.format, Format::Zeek | Format::ZeekTsv);
        refusals::ZEEK_FORMAT.check(zeek_dir.is_some() && !is_zeek)?;
        if tables && output.format != Format::Parquet {
            return Err(refusals::PARQUET_OPTION.failure(&["--tables"]));
        }
        check_event_run(&run)?;
        let inputs = Inputs::find(&input, &analysis.protocols.keylog)?;
        let target = output::target(output.output.as_deref());
        inputs.refuse_as_output(&target)?;
        inputs.report_key_logs(output.quiet, output.verbose);
        let baseline = BaselineFile::new(baseline);
        if let Some(file) = &baseline {
            check_baseline(file, &inputs, &target)?;
        }
        let plan = event_analysis(&run)?;
        let plan = match zeek_dir {
            // The end of a connection completes its rows.
            Some(_) => plan.configure(|builder| builder.connections(true)),
            None => plan,
        };
        let has_totals = output.format == Format::Human && !output.quiet;
        Ok(Self {
            analyzer: plan.build_for(&inputs)?,
            inputs,
            totals: has_totals.then(|| Zone::new(output.local_time)),
            baseline,
            is_quiet: output.quiet,
            is_verbose: output.verbose && !output.quiet,
            has_stats: output.stats,
            output: match &zeek_dir {
                Some(folder) => OutputPlan::zeek(output, events, folder)?,
                None if tables => OutputPlan::new(output, events, false)?.tables()?,
                None => OutputPlan::new(output, events, !no_pager)?,
            },
        })
    }
}

/// Refuses a file of `--write-baseline` that is also an input or the output, or cannot be written.
fn check_baseline(file: &BaselineFile, inputs: &Inputs, output: &Target) -> Result<(), Failure> {
    inputs.refuse_as_output(&Target::File(file.path().to_owned()))?;
    if let Target::File(output) = output
        && is_same_file(&resolved(output), file.path())
    {
        let path = PathName(output.clone());
        return Err(Failure::SameFile { path, first: "--output", second: "--write-baseline" });
    }
    file.check()
}
