//! `huginn-net top`: capture files on the terminal.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use huginn_net::hosts::HostCounters;
use huginn_net::{Counters, Event, HuginnNet, Observation};

use crate::args::TopArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Selected;
use crate::paths::name_of;
use crate::plan::TopPlan;
use crate::run::{CaptureOutcome, CaptureRun, OnInterrupt, OpenCapture, Verbosity, Visitor};
use crate::stderr;
use crate::views::terminal::{Counts, Feed, TerminalView, sample_counts};

pub(super) fn run(args: TopArguments) -> Result<Outcome, Failure> {
    let TopPlan { inputs, analyzer, selected, zone } = TopPlan::new(args)?;
    let files = inputs.files.len();
    let feed = Arc::new(Feed::new(zone.clone()));
    let run = CaptureRun::new(inputs, analyzer, Verbosity::Quiet);
    let interrupt = run.interrupt().clone();
    let view = TerminalView::open(zone)?;
    interrupt.on_signals(OnInterrupt::EndView)?;
    let snapshots = run.analyzer.snapshot_handle();
    sample_counts(Arc::clone(&feed), Arc::clone(interrupt.flag()), move || {
        snapshots.query(|snapshot| counts(snapshot.counters(), &snapshot.shared_state().counters()))
    })?;
    let (has_failed, has_hit) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let analysis = {
        let (feed, has_failed, has_hit) = (Arc::clone(&feed), Arc::clone(&has_failed), Arc::clone(&has_hit));
        move || {
            analyse(run, ToFeed { feed: &feed, selected, files, has_failed: &has_failed, has_hit: &has_hit })
        }
    };
    let starting = |source| Failure::Start { doing: "the analysis thread", source };
    thread::Builder::new().name("huginn-analysis".to_owned()).spawn(analysis).map_err(starting)?;
    let shown = view.run(&feed, interrupt.flag());
    let is_interrupted = interrupt.set();
    for message in feed.messages() {
        stderr::report(&message);
    }
    shown?;
    // The threads end with the program: one of them may wait for a pipe.
    let outcome = match (is_interrupted, has_failed.load(Ordering::Relaxed)) {
        (true, _) => Outcome::Interrupted,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Complete,
    };
    Ok(outcome.with_hit(has_hit.load(Ordering::Relaxed)))
}

/// Analyses all captures.
fn analyse(mut run: CaptureRun, mut to: ToFeed<'_>) {
    let ended = run.run(&mut to);
    let ToFeed { feed, has_failed, has_hit, .. } = to;
    // A hit that a limit left out is one, too.
    if run.analyzer.shared_state().matches_suppressed() > 0 {
        has_hit.store(true, Ordering::Relaxed);
    }
    if ended.is_err() || run.outcome() == Outcome::Failed {
        has_failed.store(true, Ordering::Relaxed);
    }
    if run.opened() > 1 {
        feed.set_source(format!("{} captures", run.opened()));
    }
    let hosts = run.analyzer.shared_state().counters();
    feed.set_counts(Counts { has_ended: true, ..counts(&run.analyzer.counters(), &hosts) });
}

/// Adds events and errors to the view.
struct ToFeed<'a> {
    feed: &'a Feed,
    selected: Selected,
    /// Number of files.
    files: usize,
    has_failed: &'a AtomicBool,
    /// Whether a watch list had a hit.
    has_hit: &'a AtomicBool,
}

impl Visitor for ToFeed<'_> {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let number = capture.index.saturating_add(1);
        self.feed.set_source(match &capture.name {
            Some(name) => format!("{number} of {}: {name}", self.files),
            None => name_of(capture.path),
        });
        self.feed.set_capture(capture.index, capture.name.as_deref());
        let add = |event: &Event| {
            if self.selected.contains(event, capture.name.as_deref(), None) {
                if matches!(event.kind, Observation::Match(_)) {
                    self.has_hit.store(true, Ordering::Relaxed);
                }
                self.feed.add(event);
            }
        };
        analyzer.analyze_ref(&mut capture.source, add).map(drop)
    }

    fn report(&mut self, error: &dyn Display) -> Result<(), Failure> {
        self.has_failed.store(true, Ordering::Relaxed);
        self.feed.add_message(error);
        Ok(())
    }
}

fn counts(counters: &Counters, hosts: &HostCounters) -> Counts {
    let flows = &counters.flows;
    let evicted_flows = flows.evicted.saturating_add(flows.evicted_for_memory);
    Counts {
        packets: counters.frames,
        flows: flows.opened,
        losses: vec![
            ("flow table", evicted_flows),
            ("host table", hosts.evicted.saturating_add(hosts.evicted_for_memory)),
        ],
        has_ended: false,
    }
}
