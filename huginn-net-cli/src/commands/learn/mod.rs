//! `huginn-net db learn`: groups the fingerprints that the databases do not name, with lines to paste into them.

mod clues;
mod groups;
mod http_shape;
mod learner;
mod packet;
mod programs;
mod report;
mod sample;

use std::io::{self, Write};

use huginn_net::capture::LabelledFrame;
use huginn_net::{Event, HuginnNet};

use self::groups::FrameIndex;
use self::learner::Learner;
use crate::args::LearnArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::LearnPlan;
use crate::run::{CaptureOutcome, CaptureRun, OpenCapture, Visitor};
use crate::stderr;

pub(super) fn run(args: LearnArguments) -> Result<Outcome, Failure> {
    let LearnPlan { inputs, analyzer, samples, programs } = LearnPlan::new(args)?;
    let (files, max_ratio) = (inputs.paths(), inputs.max_ratio);
    let mut run = CaptureRun::start(inputs, analyzer, false)?;
    let mut learner = Learner::new(programs);
    run.run(&mut learner)?;
    let mut groups = learner.into_groups();
    let sampled = samples.map(|folder| sample::write_all(&folder, &files, max_ratio, &mut groups));
    let mut out = io::BufWriter::new(io::stdout().lock());
    report::write(&mut out, &groups, &files)?;
    out.flush()?;
    for message in groups.limit_messages() {
        stderr::report(&message);
    }
    sampled.transpose()?;
    Ok(run.outcome())
}

impl Visitor for Learner {
    /// Pushes one frame after the other: the frame of each event must be known.
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        if let Err(failure) = self.start_file(capture.path) {
            self.failure = Some(failure);
            return Ok(());
        }
        let file = capture.index;
        let mut frame_index = 0_u64;
        // The first damaged name of a process. The capture is read to its end.
        let mut damaged_process = None;
        let outcome = loop {
            match capture.read_labelled_frame() {
                Ok(Some(LabelledFrame { frame, process, .. })) => {
                    match process {
                        Ok(Some(process)) => self.name_sender(&frame, process),
                        Ok(None) => {}
                        Err(error) => {
                            damaged_process.get_or_insert(error);
                        }
                    }
                    let at = FrameIndex { file, frame: frame_index };
                    let _ = analyzer.push(&frame, &mut |event: Event| self.learn(&event, at));
                }
                Ok(None) => break damaged_process.map_or(Ok(()), Err),
                Err(error) => break Err(error),
            }
            frame_index = frame_index.saturating_add(1);
        };
        analyzer.finish(&mut |_: Event| {});
        Ok(outcome?)
    }

    fn end_capture(&mut self, _: &HuginnNet, _: &OpenCapture<'_>) -> Result<(), Failure> {
        self.failure.take().map_or(Ok(()), Err)
    }
}
