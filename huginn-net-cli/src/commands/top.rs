//! `huginn-net top`: capture files on the terminal.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use huginn_net::hosts::{HostCounters, HostLimits};
use huginn_net::{Builder, Counters, Event, HuginnNet};

use crate::args::{Format, TopArguments};
use crate::commands::analysis;
use crate::commands::captures::{Captures, name_of};
use crate::failure::{self, FAILED, Failure, INTERRUPTED};
use crate::output::zone::Zone;
use crate::terminal_view::{Counts, Feed, TerminalView, sample_counts};

pub(crate) fn run(args: TopArguments) -> Result<ExitCode, Failure> {
    let captures = Captures::find(&args.input, args.analysis.count)?;
    let limits = HostLimits::default();
    let builder = analysis::builder(&args.analysis, captures.longest(), Format::Human, limits, false)?;
    let analyzer = analysis::filtered(builder, args.analysis.filter.as_deref()).map(Builder::build)?;
    let zone = Zone::new(args.local_time);
    let feed = Arc::new(Feed::new(zone.clone()));
    let interrupt = captures.interrupt();
    let view = TerminalView::open(zone)?;
    end_on_signals(&interrupt)?;
    let snapshots = analyzer.snapshot_handle();
    sample_counts(Arc::clone(&feed), Arc::clone(&interrupt), move || {
        snapshots.query(|snapshot| counts(snapshot.counters(), &snapshot.shared_state().counters()))
    })?;
    let is_damaged = Arc::new(AtomicBool::new(false));
    let analyse = {
        let (feed, is_damaged) = (Arc::clone(&feed), Arc::clone(&is_damaged));
        move || is_damaged.store(analyse(captures, analyzer, &feed), Ordering::Relaxed)
    };
    let starting = |source| Failure::Start { doing: "the analysis thread", source };
    thread::Builder::new().name("huginn-analysis".to_owned()).spawn(analyse).map_err(starting)?;
    let outcome = view.run(&feed, &interrupt);
    let is_interrupted = interrupt.swap(true, Ordering::Relaxed);
    for message in feed.messages() {
        failure::report(&message);
    }
    outcome?;
    // The threads end with the program: one of them may wait for a pipe.
    Ok(match (is_interrupted, is_damaged.load(Ordering::Relaxed)) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::from(FAILED),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Analyses all captures. Returns whether one of them could not be read, or ended with an error.
fn analyse(mut captures: Captures, mut analyzer: HuginnNet, feed: &Feed) -> bool {
    let files = captures.len();
    let mut is_damaged = false;
    while let Some(capture) = captures.open_next() {
        let mut capture = match capture {
            Ok(capture) => capture,
            Err(error) => {
                feed.add_message(&error);
                continue;
            }
        };
        let number = capture.index.saturating_add(1);
        feed.set_source(match &capture.name {
            Some(name) => format!("{number} of {files}: {name}"),
            None => name_of(capture.path),
        });
        analyzer.shared_state_mut().clear();
        let outcome = analyzer.analyze(&mut capture.source, &mut |event: Event| feed.add(&event));
        if let Err(error) = outcome {
            feed.add_message(&error);
            is_damaged = true;
        }
    }
    is_damaged |= captures.finish(true);
    if captures.opened() > 1 {
        feed.set_source(format!("{} captures", captures.opened()));
    }
    let hosts = analyzer.shared_state().counters();
    feed.set_counts(Counts { has_ended: true, ..counts(&analyzer.counters(), &hosts) });
    is_damaged
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

/// Ends the view and the analysis on SIGINT and SIGTERM. SIGHUP ends the program: the terminal is gone.
#[cfg(unix)]
fn end_on_signals(interrupt: &Arc<AtomicBool>) -> Result<(), Failure> {
    use signal_hook::consts::{SIGINT, SIGTERM};

    let failed = |source| Failure::Start { doing: "signal handling", source };
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(interrupt)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn end_on_signals(_interrupt: &Arc<AtomicBool>) -> Result<(), Failure> {
    Ok(())
}
