//! `huginn-net diff`: what differs between two sets of captures.

use super::fold::Fold;
use crate::args::DiffArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Selected;
use crate::paths::name_of;
use crate::plan::{DiffPlan, host_limits};
use crate::run::{CaptureRun, OnInterrupt, Verbosity};
use crate::views::columns;
use crate::views::diff::{self, View};

pub(super) fn run(args: DiffArguments) -> Result<Outcome, Failure> {
    let names = [&args.before, &args.after].map(|path| name_of(path));
    let DiffPlan { sides, selected, output } = DiffPlan::new(args)?;
    let mut writer = output.create(false)?;
    let messages = if output.is_quiet { Verbosity::Quiet } else { Verbosity::Normal };
    let mut runs = sides.map(|(inputs, analyzer)| CaptureRun::new(inputs, analyzer, messages));
    for run in &runs {
        run.interrupt().on_signals(OnInterrupt::EndTwice)?;
    }
    let [before, after] = &mut runs;
    let views = [view(before, &selected)?, view(after, &selected)?];
    // Everything would be new, or gone.
    for (run, name) in runs.iter().zip(names) {
        if run.analyzer.counters().frames == 0 && run.outcome() != Outcome::Interrupted {
            return Err(Failure::NothingToCompare { name });
        }
    }
    let width = columns::width(writer.is_on_terminal());
    let out = writer.begin_part()?;
    if output.is_json() {
        diff::write_json(out, &views)?;
    } else {
        diff::write_text(out, &views, width)?;
    }
    writer.finish()?;
    let outcomes = runs.map(|run| run.outcome());
    let worst =
        [Outcome::Interrupted, Outcome::Failed].into_iter().find(|outcome| outcomes.contains(outcome));
    Ok(worst.unwrap_or(Outcome::Complete))
}

/// One side.
fn view(run: &mut CaptureRun, selected: &Selected) -> Result<View, Failure> {
    run.show_progress();
    let mut fold = Fold { selected: selected.clone(), ..Fold::new(&diff::PARTS, &host_limits()) };
    run.run(&mut fold)?;
    let hosts = run.analyzer.shared_state().counters();
    let evicted = hosts.evicted.saturating_add(hosts.evicted_for_memory);
    let counts = (run.opened(), run.analyzer.counters().frames);
    Ok(View::new(fold.store, fold.hosts, counts, run.outcome(), evicted))
}
