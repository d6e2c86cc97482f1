//! `huginn-net pcap`: capture files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use huginn_net::core::{Block, Fill, FirstFrames};
use huginn_net::hosts::{HostCounters, HostLimits};
use huginn_net::{
    AnalysisError, Builder, CaptureError, CaptureReader, Counters, Escaped, Event, HuginnNet, NextFrame,
    Source,
};

use serde::Serialize;

use crate::analysis_counters::AnalysisCounters;
use crate::args::{Format, PcapArguments};
use crate::blind_spots::{ExampleFiles, LocatedSpot};
use crate::commands::analysis;
use crate::failure::{self, FAILED, Failure};
use crate::output::{EventWriter, Progress};

pub(crate) fn run(args: PcapArguments) -> Result<ExitCode, Failure> {
    let summary = args.summary;
    if summary && args.output.format == Format::P0f {
        return Err(Failure::NoP0fSummary);
    }
    let mut analyzer = analyzer(&args)?;
    refuse_own_input(&args)?;
    let mut events = EventWriter::create(&args.output)?;
    let mut left = args.analysis.count.unwrap_or(u64::MAX);
    let mut damaged = false;
    let mut examples = ExampleFiles::default();
    for path in &args.files {
        if left == 0 {
            break;
        }
        let name = (args.files.len() > 1).then(|| name_of(path));
        events.name_file(name.clone());
        let before = analyzer.counters();
        analyzer.shared_state_mut().clear();
        let reader = open(path);
        let is_open = reader.is_ok();
        let outcome = reader.map_err(AnalysisError::from).and_then(|reader| {
            let progress =
                Progress::from_reader(&reader, args.output.quiet || !summary && events.is_on_terminal());
            // A pipe may deliver data slowly.
            events.write_at_once(reader.input_len().is_none());
            let mut source = FirstFrames::new(WithProgress { reader, progress, shown: 0 }, left);
            let outcome = if summary {
                analyzer.analyze(&mut source, &mut |_: Event| ())
            } else {
                let (renderer, lines) = events.parts();
                analyzer.analyze_text(
                    &mut source,
                    |event, text| renderer.render(event, text),
                    &mut |text: &[u8]| lines.write(text),
                )
            };
            left = source.remaining();
            outcome
        });
        examples.assign(&analyzer, name.as_deref(), before.frames);
        events.check()?;
        if summary && is_open {
            events.write_hosts(analyzer.shared_state())?;
        }
        if let Err(error) = outcome {
            events.flush()?;
            failure::report(&error);
            damaged = true;
        }
        if args.output.verbose {
            report_counts(path, &before, &analyzer.counters());
        }
    }
    if !summary {
        events.write_totals(&analyzer, &examples)?;
    }
    events.flush()?;
    if summary && !args.output.quiet {
        report_evicted_hosts(&analyzer.shared_state().counters());
    }
    if args.output.stats {
        write_counters(&analyzer, &examples)?;
    }
    Ok(if damaged { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Refuses an output file that is also an input: it would be truncated before it is read.
fn refuse_own_input(args: &PcapArguments) -> Result<(), Failure> {
    let Some(output) = args.output.output.as_deref().and_then(|path| path.canonicalize().ok()) else {
        return Ok(());
    };
    match args
        .files
        .iter()
        .find(|path| path.canonicalize().is_ok_and(|path| path == output && path.is_file()))
    {
        Some(path) => Err(Failure::OverInput { path: name_of(path) }),
        None => Ok(()),
    }
}

/// Formats a path with control characters escaped.
pub(super) fn name_of(path: &Path) -> String {
    format!("{:#}", Escaped(path.as_os_str().as_encoded_bytes()))
}

/// Builds the analyzer.
fn analyzer(args: &PcapArguments) -> Result<HuginnNet, Failure> {
    let mut hosts = HostLimits::default();
    // p0f looks for idle hosts every 50 packets only, so that in small captures it forgets none.
    if args.output.format == Format::P0f {
        hosts.idle_timeout = Duration::from_secs(30 * 86_400);
    }
    // A summary covers the complete capture.
    if args.summary {
        hosts.idle_timeout = Duration::MAX;
    }
    let builder = analysis::builder(
        &args.analysis,
        longest_file(&args.files),
        args.output.format,
        hosts,
        args.summary,
    )?;
    analysis::filtered(builder, args.analysis.filter.as_deref()).map(Builder::build)
}

/// The length of the longest file in bytes; `None` if one is no regular file, and its length unknown.
fn longest_file(files: &[PathBuf]) -> Option<u64> {
    let len = |path: &PathBuf| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
    files.iter().map(len).try_fold(0, |longest, len| Some(len?.max(longest)))
}

/// Opens a capture file, or standard input.
pub(super) fn open(path: &Path) -> Result<CaptureReader, CaptureError> {
    if path == Path::new("-") {
        return CaptureReader::from_reader("standard input", io::stdin());
    }
    let capture = CaptureReader::open(path)?;
    // A pipe may be written to for as long as anybody likes, and the thread would wait for it.
    Ok(if capture.input_len().is_some() { capture.decompress_ahead() } else { capture })
}

/// A capture with a progress bar.
struct WithProgress {
    reader: CaptureReader,
    progress: Progress,
    /// Packets read when the bar was last updated.
    shown: u64,
}

impl WithProgress {
    #[inline]
    fn show(&mut self) {
        let packets = self.reader.packets();
        if packets.saturating_sub(self.shown) >= Progress::STRIDE {
            self.shown = packets;
            self.progress.show(&self.reader);
        }
    }
}

impl Source for WithProgress {
    type Error = CaptureError;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, CaptureError> {
        self.show();
        Source::next_frame(&mut self.reader)
    }

    fn fill(&mut self, block: &mut Block) -> Result<Fill, CaptureError> {
        self.show();
        self.reader.fill(block)
    }
}

fn report_counts(path: &Path, before: &Counters, after: &Counters) {
    let frames = after.frames.saturating_sub(before.frames);
    let events = after.events.saturating_sub(before.events);
    failure::report(&format_args!("{}: {frames} packets, {events} events", name_of(path)));
}

/// Reports hosts that the summary omits.
fn report_evicted_hosts(hosts: &HostCounters) {
    let forgotten = hosts.evicted.saturating_add(hosts.evicted_for_memory);
    if forgotten > 0 {
        failure::report(&format_args!(
            "the summary omits {forgotten} of {} hosts, the longest idle ones: the host limit was reached",
            hosts.seen
        ));
    }
}

fn write_counters(analyzer: &HuginnNet, examples: &ExampleFiles) -> Result<(), Failure> {
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
