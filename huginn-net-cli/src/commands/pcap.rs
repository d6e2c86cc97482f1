//! `huginn-net pcap`: capture files.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use huginn_net::hosts::{HostCounters, HostLimits, JoinedHosts};
use huginn_net::{AnalysisError, Builder, Counters, Event, HuginnNet};

use serde::Serialize;

use crate::analysis_counters::AnalysisCounters;
use crate::args::{Format, PcapArguments};
use crate::blind_spots::{ExampleFiles, LocatedSpot};
use crate::commands::analysis;
use crate::commands::captures::{Captures, name_of};
use crate::failure::{self, FAILED, Failure, INTERRUPTED};
use crate::output::{Content, EventWriter, Selection};

pub(crate) fn run(args: PcapArguments) -> Result<ExitCode, Failure> {
    let content = match (args.top.or(args.rare), args.summary) {
        (Some(_), _) => Content::Fingerprints,
        (None, true) => Content::Summary,
        (None, false) => Content::Events,
    };
    if content != Content::Events && !matches!(args.output.format, Format::Human | Format::Json) {
        return Err(Failure::NoSummaryFormat);
    }
    let mut captures = Captures::find(&args.input, args.analysis.count)?;
    captures.refuse_as_output(args.output.output.as_deref())?;
    let mut analyzer = analyzer(&args, captures.longest())?;
    if args.output.format.is_table() {
        #[cfg(feature = "parquet")]
        return super::tables::run(&args, captures, &mut analyzer);
        #[cfg(not(feature = "parquet"))]
        return Err(Failure::NoTables);
    }
    let mut events = EventWriter::create(&args.output, content)?;
    captures.end_on_interrupt(events.has_pager())?;
    let events_scroll = content == Content::Events && events.is_on_terminal();
    if !args.output.quiet && !events.has_pager() && !events_scroll {
        captures.show_progress();
    }
    let joins_hosts = args.merge || content == Content::Fingerprints;
    let mut joined = joins_hosts.then(|| JoinedHosts::new(&HostLimits::default()));
    let mut damaged = false;
    let mut examples = ExampleFiles::default();
    while let Some(capture) = captures.open_next() {
        let before = analyzer.counters();
        analyzer.shared_state_mut().clear();
        let mut capture = match capture {
            Ok(capture) => capture,
            Err(error) => {
                events.flush()?;
                failure::report(&AnalysisError::from(error));
                continue;
            }
        };
        events.begin_file(capture.name.clone(), capture.index);
        // A pipe may deliver data slowly.
        events.write_at_once(capture.source.source().reader.input_len().is_none());
        let (renderer, lines) = events.parts();
        let outcome = if content == Content::Events {
            analyzer.analyze_text(
                &mut capture.source,
                |event, text| renderer.render(event, text),
                &mut |text: &[u8]| lines.write(text),
            )
        } else {
            analyzer.analyze(&mut capture.source, &mut |event: Event| renderer.count(&event))
        };
        examples.assign(&analyzer, capture.name.as_deref(), before.frames);
        events.check()?;
        if let Some(joined) = &mut joined {
            joined.add(analyzer.shared_state());
        }
        if args.summary && !args.merge {
            events.write_hosts(analyzer.shared_state().profiles(), false)?;
        }
        if let Err(error) = outcome {
            events.flush()?;
            failure::report(&error);
            damaged = true;
        }
        if args.output.verbose {
            report_counts(capture.path, &before, &analyzer.counters());
        }
    }
    damaged |= captures.finish(args.output.quiet);
    if let Some(joined) = joined.as_ref().filter(|_| args.merge) {
        events.write_hosts(joined.profiles(), true)?;
    }
    for selection in [args.top.map(Selection::Top), args.rare.map(Selection::Rare)].into_iter().flatten() {
        events.write_fingerprints(selection, &|index| captures.name(index))?;
    }
    // A summary has the contradictions of its hosts.
    events.write_totals(&analyzer, &examples, joined.as_ref().filter(|_| !args.summary))?;
    events.flush()?;
    for field in events.unknown_fields() {
        failure::report(&format_args!("no event has the field '{field}'"));
    }
    if args.summary && !args.output.quiet {
        let left_out = joined.as_ref().map_or(0, JoinedHosts::left_out);
        report_evicted_hosts(&analyzer.shared_state().counters(), left_out);
    }
    if args.output.stats {
        write_counters(&analyzer, &examples)?;
    }
    Ok(match (captures.is_interrupted(), damaged) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::from(FAILED),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Builds the analyzer. `longest`: length of the longest file in bytes, if known.
fn analyzer(args: &PcapArguments, longest: Option<u64>) -> Result<HuginnNet, Failure> {
    let mut hosts = HostLimits::default();
    // p0f looks for idle hosts every 50 packets only, so that in small captures it forgets none.
    if args.output.format == Format::P0f {
        hosts.idle_timeout = Duration::from_secs(30 * 86_400);
    }
    // Hosts at the end are those of the complete capture.
    let has_hosts = args.summary || args.top.or(args.rare).is_some();
    if has_hosts {
        hosts.idle_timeout = Duration::MAX;
    }
    let builder = analysis::builder(&args.analysis, longest, args.output.format, hosts, has_hosts)?;
    analysis::filtered(builder, args.analysis.filter.as_deref()).map(Builder::build)
}

fn report_counts(path: &Path, before: &Counters, after: &Counters) {
    let frames = after.frames.saturating_sub(before.frames);
    let events = after.events.saturating_sub(before.events);
    failure::report(&format_args!("{}: {frames} packets, {events} events", name_of(path)));
}

/// Reports hosts that the summary omits. `left_out`: hosts that were not joined.
fn report_evicted_hosts(hosts: &HostCounters, left_out: u64) {
    let forgotten = hosts.evicted.saturating_add(hosts.evicted_for_memory).saturating_add(left_out);
    if forgotten > 0 {
        failure::report(&format_args!(
            "the summary omits {forgotten} of {} hosts, the longest idle ones: the host limit was reached",
            hosts.seen
        ));
    }
}

pub(super) fn write_counters(analyzer: &HuginnNet, examples: &ExampleFiles) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Line {
        #[serde(flatten)]
        counters: AnalysisCounters,
        blind_spots: Vec<LocatedSpot>,
    }
    let line =
        Line { counters: AnalysisCounters::from_analyzer(analyzer), blind_spots: examples.locate(analyzer) };
    let mut line = serde_json::to_vec(&line).map_err(io::Error::from)?;
    line.push(b'\n');
    // The analysis succeeded even if the counters cannot be written.
    let _ = io::stderr().lock().write_all(&line);
    Ok(())
}
