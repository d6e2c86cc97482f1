//! What `watch` reads and writes.

use std::path::{Path, PathBuf};

use huginn_net::HuginnNet;

use super::event_run::{check_event_run, event_analysis, switch_on_kinds};
use super::{BaselineFile, GrowingKeyLogs, Inputs, OutputPlan, WatchFiles, output};
use crate::args::{EventRunArguments, Format, WatchArguments};
use crate::failure::Failure;
use crate::limits::MIN_PARALLEL_LEN;
use crate::output::{Target, Zone};
use crate::paths::{name_of, parent_directory, resolved};

/// The plan of `watch`.
pub(crate) struct WatchPlan {
    pub(crate) directory: PathBuf,
    /// The file that remembers captures.
    pub(crate) state: Option<PathBuf>,
    pub(crate) once: bool,
    /// No capture yet.
    pub(crate) inputs: Inputs,
    /// Read on before each capture.
    pub(crate) key_logs: Option<GrowingKeyLogs>,
    pub(crate) analyzer: HuginnNet,
    pub(crate) output: OutputPlan,
    /// The zone of the totals, if they are written.
    pub(crate) totals: Option<Zone>,
    pub(crate) lists: Option<WatchFiles>,
    pub(crate) baseline: Option<BaselineFile>,
    pub(crate) is_quiet: bool,
    pub(crate) is_verbose: bool,
    pub(crate) has_stats: bool,
}

impl WatchPlan {
    pub(crate) fn new(mut args: WatchArguments) -> Result<Self, Failure> {
        switch_on_kinds(&mut args.run)?;
        check_event_run(&args.run)?;
        let WatchArguments { directory, state, once, decompression, run } = args;
        let EventRunArguments { analysis, events, baseline, output } = &run;
        let state = state.map(|path| resolved(&path));
        if let Some(path) = state.as_deref().filter(|path| path.exists() && !path.is_file()) {
            return Err(Failure::StateNotRegular { path: name_of(path) });
        }
        let baseline_file = BaselineFile::new(baseline);
        if let Some(file) = &baseline_file {
            file.check()?;
        }
        let target = output::target(output.output.as_deref());
        let written = [
            ("--state", state.clone()),
            ("--write-baseline", baseline_file.as_ref().map(|file| file.path().to_owned())),
            ("--output", if let Target::File(path) = target { Some(resolved(&path)) } else { None }),
        ];
        check_outside(&directory, &written)?;
        let is_table = matches!(output.format, Format::Parquet | Format::Arrow);
        if let [(_, Some(_)), _, (_, Some(path))] = &written
            && is_table
            && path.is_file()
        {
            return Err(Failure::TableExists { path: name_of(path) });
        }
        let key_logs = GrowingKeyLogs::read(&analysis.protocols.keylog)?;
        let secrets = key_logs.as_ref().map(|key_logs| key_logs.secrets().clone()).unwrap_or_default();
        // Captures are complete: their secrets are read before.
        secrets.set_growing(false);
        let plan = event_analysis(&run)?.decrypt(Some(&secrets));
        let has_totals = output.format == Format::Human && !output.quiet;
        Ok(Self {
            lists: plan.watch_files(),
            // How long captures will be is not known.
            analyzer: plan.build_for_files(Some(MIN_PARALLEL_LEN))?,
            inputs: Inputs { max_ratio: decompression.max_ratio(), secrets, ..Inputs::default() },
            key_logs,
            output: OutputPlan { appends: true, ..OutputPlan::new(output, events, false)? },
            totals: has_totals.then(|| Zone::new(output.local_time)),
            directory,
            state,
            once,
            baseline: baseline_file,
            is_quiet: output.quiet,
            is_verbose: output.verbose && !output.quiet,
            has_stats: output.stats,
        })
    }
}

/// Refuses files that are written to the directory that is read: each write would make a new file.
fn check_outside(directory: &Path, written: &[(&str, Option<PathBuf>)]) -> Result<(), Failure> {
    let failed = |source| Failure::Read { path: name_of(directory), source };
    let directory = directory.canonicalize().map_err(failed)?;
    let is_inside =
        |path: &PathBuf| parent_directory(path).canonicalize().is_ok_and(|parent| parent == directory);
    match written.iter().find(|(_, path)| path.as_ref().is_some_and(is_inside)) {
        Some((option, _)) => Err(Failure::Usage(
            format!("{option} names a file in the watched directory: put it elsewhere").into(),
        )),
        None => Ok(()),
    }
}
