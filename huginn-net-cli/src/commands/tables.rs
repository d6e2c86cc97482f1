//! `huginn-net pcap --format parquet` and `--format arrow`.

use std::ops::ControlFlow;
use std::process::ExitCode;

use huginn_net::{AnalysisError, Event, HuginnNet};

use crate::args::PcapArguments;
use crate::blind_spots::ExampleFiles;
use crate::commands::captures::Captures;
use crate::commands::pcap::write_counters;
use crate::failure::{self, FAILED, Failure, INTERRUPTED};
use crate::output::BatchWriter;

pub(super) fn run(
    args: &PcapArguments,
    mut captures: Captures,
    analyzer: &mut HuginnNet,
) -> Result<ExitCode, Failure> {
    let mut table = BatchWriter::create(&args.output)?;
    captures.end_on_interrupt(false)?;
    if !args.output.quiet {
        captures.show_progress();
    }
    let mut examples = ExampleFiles::default();
    let mut is_damaged = false;
    while let Some(capture) = captures.open_next() {
        let mut capture = match capture {
            Ok(capture) => capture,
            Err(error) => {
                failure::report(&AnalysisError::from(error));
                continue;
            }
        };
        let frames_before = analyzer.counters().frames;
        analyzer.shared_state_mut().clear();
        let mut written = Ok(());
        let outcome = analyzer.analyze(&mut capture.source, &mut |event: Event| {
            written = table.append(&event, capture.name.as_deref());
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        examples.assign(analyzer, capture.name.as_deref(), frames_before);
        if let Err(error) = outcome {
            failure::report(&error);
            is_damaged = true;
        }
    }
    is_damaged |= captures.finish(args.output.quiet);
    table.finish()?;
    if args.output.stats {
        write_counters(analyzer, &examples)?;
    }
    Ok(match (captures.is_interrupted(), is_damaged) {
        (true, _) => ExitCode::from(INTERRUPTED),
        (false, true) => ExitCode::from(FAILED),
        (false, false) => ExitCode::SUCCESS,
    })
}
