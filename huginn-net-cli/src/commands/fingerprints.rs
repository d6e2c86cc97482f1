//! `huginn-net fingerprints`: the most frequent or the rarest fingerprints of captures.

use super::fold::Fold;
use crate::args::FingerprintsArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::TextFormat;
use crate::plan::{FingerprintsPlan, host_limits};
use crate::run::CaptureRun;
use crate::views::fingerprints::Fingerprints;
use crate::views::store::Part;
use crate::views::{columns, totals};

pub(super) fn run(args: FingerprintsArguments) -> Result<Outcome, Failure> {
    let FingerprintsPlan { inputs, analyzer, selected, selection, kinds, output, pages } =
        FingerprintsPlan::new(args)?;
    let has_several = inputs.files.len() > 1;
    let mut writer = output.create(pages)?;
    let mut run = CaptureRun::start_paged(inputs, analyzer, output.is_quiet, writer.has_pager())?;
    let mut fold = Fold { selected, ..Fold::new(&[Part::Fingerprints, Part::Hosts], &host_limits()) };
    run.run(&mut fold)?;
    let fingerprints = Fingerprints {
        values: &fold.store.values,
        selection,
        kinds: &kinds,
        file_name: &|index| run.name(index).filter(|_| has_several),
    };
    match output.format {
        TextFormat::Json => fingerprints.write_json(writer.out())?,
        TextFormat::Csv => fingerprints.write_csv(writer.out())?,
        _ => {
            let width = columns::width(writer.is_on_terminal());
            fingerprints.write(writer.begin_part()?, width, &output.zone)?;
            if !output.is_quiet {
                let hosts = Some(&fold.hosts);
                let out = writer.begin_part()?;
                totals::write(out, &fold.store, &run.analyzer, &run.examples, hosts, &output.zone)?;
            }
        }
    }
    writer.finish()?;
    Ok(run.outcome())
}
