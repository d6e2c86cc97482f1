//! `huginn-net db learn`: groups the fingerprints that the databases do not name, with lines to paste into them.

mod clues;
mod groups;
mod http_shape;
mod learner;
mod packet;
mod report;
mod sample;

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use huginn_net::core::NextFrame;
use huginn_net::hosts::HostLimits;
use huginn_net::{Builder, CaptureError, Event, HuginnNet, Source};

use self::groups::FrameIndex;
use self::learner::Learner;
use crate::args::{AnalysisArguments, Format, InputArguments, LearnArguments, Workers};
use crate::commands::analysis;
use crate::commands::captures::{Captures, OpenCapture, name_of};
use crate::failure::{self, FAILED, Failure};

pub(crate) fn run(args: LearnArguments) -> Result<ExitCode, Failure> {
    let mut analyzer = analyzer(&args)?;
    let (directories, named) = args.files.iter().cloned().partition(|path| path.is_dir());
    let mut captures = Captures::find(&InputArguments { files: named, directories }, None)?;
    let files = captures.paths();
    if let Some(folder) = &args.sample {
        check_sample_folder(folder, &files)?;
    }
    let mut learner = Learner::default();
    captures.show_progress();
    let mut failed = false;
    while let Some(capture) = captures.open_next() {
        if let Err(error) = capture.and_then(|capture| read(capture, &mut analyzer, &mut learner)) {
            failure::report(&error);
            failed = true;
        }
    }
    failed |= captures.finish(false);
    let mut groups = learner.into_groups();
    let sampled = args.sample.as_ref().map(|folder| sample::write_all(folder, &files, &mut groups));
    let mut out = io::BufWriter::new(io::stdout().lock());
    report::write(&mut out, &groups, &files)?;
    out.flush()?;
    for message in groups.limit_messages() {
        failure::report(&message);
    }
    sampled.transpose()?;
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Builds an analyzer with one worker: the frame of each event must be known.
fn analyzer(args: &LearnArguments) -> Result<HuginnNet, Failure> {
    let analysis = AnalysisArguments {
        db: args.db.clone(),
        clients: args.clients.clone(),
        ja4_lists: Vec::new(),
        protocols: args.protocols.clone(),
        filter: None,
        port: args.port.clone(),
        net: args.net.clone(),
        count: None,
        workers: Workers::Count(NonZeroUsize::MIN),
        connections: false,
        checksums: false,
    };
    analysis::builder(&analysis, None, Format::Human, HostLimits::default(), false).map(Builder::build)
}

/// Analyses one file. An error leaves the packets before it analysed.
fn read(
    mut capture: OpenCapture<'_>,
    analyzer: &mut HuginnNet,
    learner: &mut Learner,
) -> Result<(), CaptureError> {
    analyzer.shared_state_mut().clear();
    learner.start_file();
    let mut frame_index = 0_u64;
    let outcome = loop {
        match capture.source.next_frame() {
            Ok(NextFrame::Frame(frame)) => {
                let at = FrameIndex { file: capture.index, frame: frame_index };
                let _ = analyzer.push(&frame, &mut |event: Event| learner.learn(&event, at));
            }
            Ok(NextFrame::End) => break Ok(()),
            Ok(_) => continue,
            Err(error) => break Err(error),
        }
        frame_index = frame_index.saturating_add(1);
    };
    analyzer.finish(&mut |_: Event| {});
    outcome
}

/// Refuses samples of inputs that cannot be read twice, and a folder of samples that contains an input.
fn check_sample_folder(folder: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let is_file = |path: &Path| fs::metadata(path).map_or(true, |found| found.is_file());
    if let Some(path) = files.iter().find(|path| path.as_os_str() == "-" || !is_file(path)) {
        return Err(Failure::SampleOfPipe { path: name_of(path) });
    }
    let Ok(folder) = folder.canonicalize() else { return Ok(()) };
    let is_inside =
        |path: &&PathBuf| path.canonicalize().is_ok_and(|path| path.parent() == Some(folder.as_path()));
    match files.iter().find(is_inside) {
        Some(path) => Err(Failure::OverInput { path: name_of(path) }),
        None => Ok(()),
    }
}
