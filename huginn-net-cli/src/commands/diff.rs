//! `huginn-net diff`: what differs between two sets of captures.

use huginn_net::{Event, HuginnNet};

use crate::args::DiffArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Selected;
use crate::paths::name_of;
use crate::plan::{DiffPlan, host_limits};
use crate::run::{CaptureOutcome, CaptureRun, OnInterrupt, OpenCapture, Verbosity, Visitor};
use crate::views::columns;
use crate::views::diff::{self, View};

pub(super) fn run(args: DiffArguments) -> Result<Outcome, Failure> {
    let names = [&args.before, &args.after].map(|path| name_of(path));
    let DiffPlan { sides, count, selected, output } = DiffPlan::new(args)?;
    let mut writer = output.create()?;
    let messages = if output.is_quiet { Verbosity::Quiet } else { Verbosity::Normal };
    let mut runs = sides.map(|(inputs, analyzer)| CaptureRun::new(inputs, count, analyzer, messages));
    for run in &runs {
        run.interrupt().on_signals(OnInterrupt::EndTwice)?;
    }
    let mut views = [View::new(&host_limits()), View::new(&host_limits())];
    for (run, view) in runs.iter_mut().zip(&mut views) {
        run.show_progress();
        let mut visitor = ToView { view, selected: &selected };
        run.run(&mut visitor)?;
        let hosts = run.analyzer.shared_state().counters();
        let evicted = hosts.evicted.saturating_add(hosts.evicted_for_memory);
        view.end(run.opened(), run.analyzer.counters().frames, run.outcome(), evicted);
    }
    // Everything would be new, or gone.
    for (run, name) in runs.iter().zip(names) {
        if run.analyzer.counters().frames == 0 && run.outcome() != Outcome::Interrupted {
            return Err(Failure::NothingToCompare { name });
        }
    }
    let width = columns::width(writer.is_on_terminal());
    let out = writer.begin_part()?;
    if output.is_json {
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

/// Counts the events of one side.
struct ToView<'a> {
    view: &'a mut View,
    selected: &'a Selected,
}

impl Visitor for ToView<'_> {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { view, selected } = self;
        let add = |event: &Event| {
            if selected.contains(event, capture.name.as_deref(), None) {
                view.add(event);
            }
        };
        analyzer.analyze_ref(&mut capture.source, add).map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, _capture: &OpenCapture<'_>) -> Result<(), Failure> {
        self.view.add_hosts(analyzer.shared_state());
        Ok(())
    }
}
