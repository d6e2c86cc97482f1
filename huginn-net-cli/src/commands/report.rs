//! `huginn-net report`: one HTML page about capture files.

use std::io::Write;

use super::fold::Fold;
use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{Document, Target, Zone};
use crate::paths::name_of;
use crate::plan::ReportPlan;
use crate::run::{CaptureRun, Networks};
use crate::views::report::{self, Report};
use crate::views::store::Part;

/// What the page shows.
const PARTS: [Part; 7] = [
    Part::Fingerprints,
    Part::Hosts,
    Part::Timeline,
    Part::Activity,
    Part::Alerts,
    Part::Remarks,
    Part::Cryptography,
];

pub(super) fn run(args: ReportArguments) -> Result<Outcome, Failure> {
    let ReportPlan { inputs, analyzer, hosts, networks, selected, output, title, zone, is_quiet } =
        ReportPlan::new(args)?;
    let networks = Networks::new(&networks, &inputs);
    let mut out = create(&output)?;
    let mut run = CaptureRun::start(inputs, analyzer, is_quiet)?;
    let mut fold = Fold { networks, selected, ..Fold::new(&PARTS, &hosts) };
    run.run(&mut fold)?;
    write(&mut out, &fold, &title, &zone, &run)?;
    out.complete()?;
    // A hit that a limit left out is one, too.
    let has_hit = fold.store.alerts.has_hit() || run.analyzer.shared_state().matches_suppressed() > 0;
    Ok(run.outcome().with_hit(has_hit))
}

fn create(output: &Target) -> Result<Document, Failure> {
    Document::create(output).map_err(|source| match output {
        Target::Stdout => Failure::Write(source),
        Target::File(path) => Failure::Create { path: name_of(path), source },
    })
}

fn write(
    out: &mut impl Write,
    fold: &Fold,
    title: &str,
    zone: &Zone,
    run: &CaptureRun,
) -> Result<(), Failure> {
    let Fold { store, hosts, networks, .. } = fold;
    let folder = common_folder(run);
    let file_name = &|index| Some(run.name(index)?.split_off(folder.len()));
    let captures = (0..).map_while(|index| Some((run.path(index)?, run.name(index)?)));
    let arguments = report::file_arguments(captures, folder.len());
    let evicted = run.analyzer.shared_state().counters();
    let counters = run.analyzer.counters();
    let page = Report {
        title,
        captures: usize::try_from(run.opened()).unwrap_or(usize::MAX),
        networks: networks.count(),
        packets: counters.frames,
        flows: counters.flows.opened,
        decrypted: run.analyzer.protocol().counters().decryption.connections,
        span: run.analyzer.span(),
        is_cut: run.interrupt().is_set(),
        store,
        folder: &folder,
        file_name,
        arguments: arguments.as_deref(),
        hosts,
        not_kept: evicted.evicted.saturating_add(evicted.evicted_for_memory),
        blind_spots: &run.examples.locate(&run.analyzer),
        zone,
    };
    Ok(report::write(out, &page)?)
}

/// The folder of all captures with the separator after it; empty if they have none in common.
fn common_folder(run: &CaptureRun) -> String {
    let names = (0..).map_while(|index| run.name(index));
    let common = names.reduce(|one, other| {
        let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, character), _)| at.saturating_add(character.len_utf8()));
        one.get(..end).unwrap_or_default().to_owned()
    });
    let common = common.unwrap_or_default();
    let end = common.rfind('/').map_or(0, |slash| slash.saturating_add(1));
    common.get(..end).unwrap_or_default().to_owned()
}
