//! The counters of `--stats`.

use std::io::{self, Write};

use huginn_net::HuginnNet;
use serde::Serialize;

use crate::analysis_counters::AnalysisCounters;
use crate::blind_spots::{ExampleFiles, LocatedSpot};
use crate::failure::Failure;

#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    counters: AnalysisCounters,
    hash_seed: u64,
    blind_spots: Vec<LocatedSpot>,
}

/// Writes counters and blind spots to standard error, as one JSON object.
///
/// # Errors
///
/// Counters that were asked for are output: the exit status reports that they are lost.
pub(super) fn write(analyzer: &HuginnNet, examples: &ExampleFiles) -> Result<(), Failure> {
    let line = Line {
        counters: AnalysisCounters::from_analyzer(analyzer),
        hash_seed: analyzer.hash_seed(),
        blind_spots: examples.locate(analyzer),
    };
    let mut line = serde_json::to_vec(&line).map_err(io::Error::from)?;
    line.push(b'\n');
    match io::stderr().lock().write_all(&line) {
        // A reader that has gone wants no counters.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
