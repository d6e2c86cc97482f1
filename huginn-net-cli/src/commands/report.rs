//! `huginn-net report`: one HTML page about capture files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::time::Duration;

use huginn_net::hosts::{HostLimits, JoinedHosts};
use huginn_net::{AnalysisError, Builder, Event};

use crate::args::{Format, ReportArguments};
use crate::blind_spots::ExampleFiles;
use crate::commands::analysis;
use crate::commands::captures::{Captures, name_of};
use crate::failure::{self, FAILED, Failure, INTERRUPTED};
use crate::output::zone::Zone;
use crate::overview::Overview;
use crate::overview::timeline::Timeline;
use crate::report::{self, HostList, Report};

pub(crate) fn run(args: &ReportArguments) -> Result<ExitCode, Failure> {
    let mut captures = Captures::find(&args.input, args.analysis.count)?;
    captures.refuse_as_output(Some(&args.output))?;
    // A report covers the complete captures.
    let limits = HostLimits { idle_timeout: Duration::MAX, ..HostLimits::default() };
    let builder = analysis::builder(&args.analysis, captures.longest(), Format::Human, limits, true)?;
    let mut analyzer = analysis::filtered(builder, args.analysis.filter.as_deref()).map(Builder::build)?;
    let name = name_of(&args.output);
    let file = File::create(&args.output).map_err(|source| Failure::Create { path: name.clone(), source })?;
    captures.end_on_interrupt(false)?;
    if !args.quiet {
        captures.show_progress();
    }
    let mut overview = Overview::new(true);
    let mut timeline = Timeline::default();
    let mut joined = JoinedHosts::new(&limits);
    let mut examples = ExampleFiles::default();
    let mut read = 0_usize;
    let mut is_damaged = false;
    while let Some(capture) = captures.open_next() {
        let mut capture = match capture {
            Ok(capture) => capture,
            Err(error) => {
                failure::report(&AnalysisError::from(error));
                continue;
            }
        };
        read = read.saturating_add(1);
        let frames_before = analyzer.counters().frames;
        analyzer.shared_state_mut().clear();
        overview.set_file(Some(capture.index));
        let outcome = analyzer.analyze(&mut capture.source, &mut |event: Event| {
            overview.add(&event);
            timeline.add(&event);
        });
        examples.assign(&analyzer, capture.name.as_deref(), frames_before);
        joined.add(analyzer.shared_state());
        if let Err(error) = outcome {
            failure::report(&error);
            is_damaged = true;
        }
    }
    is_damaged |= captures.finish(args.quiet);
    let zone = Zone::new(args.local_time);
    let evicted = analyzer.shared_state().counters();
    let not_kept = evicted.evicted.saturating_add(evicted.evicted_for_memory);
    let counters = analyzer.counters();
    let report = Report {
        title: &args.title,
        captures: read,
        packets: counters.frames,
        flows: counters.flows.opened,
        is_cut: captures.is_interrupted(),
        overview: &overview,
        timeline: &timeline,
        hosts: &HostList::new(&joined, &zone),
        host_counts: (joined.profiles().count(), not_kept.saturating_add(joined.left_out())),
        blind_spots: &examples.locate(&analyzer),
        zone: &zone,
    };
    let mut out = BufWriter::new(file);
    report::write(&mut out, &report)?;
    out.flush()?;
    Ok(match (captures.is_interrupted(), is_damaged) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::from(FAILED),
        (false, false) => ExitCode::SUCCESS,
    })
}
