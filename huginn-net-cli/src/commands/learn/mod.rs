//! `huginn-net db learn`: groups the fingerprints that the databases do not name, with lines to paste into them.

mod clues;
mod groups;
mod http_shape;
mod learner;
mod packet;
mod report;
mod sample;

use std::io::{self, Write};

use huginn_net::core::NextFrame;
use huginn_net::{Event, HuginnNet, Source};

use self::groups::FrameIndex;
use self::learner::Learner;
use crate::args::LearnArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::plan::LearnPlan;
use crate::run::{CaptureOutcome, CaptureRun, OnInterrupt, OpenCapture, Verbosity, Visitor};
use crate::stderr;

pub(super) fn run(args: LearnArguments) -> Result<Outcome, Failure> {
    let LearnPlan { inputs, analyzer, samples } = LearnPlan::new(args)?;
    let (files, max_ratio) = (inputs.paths(), inputs.max_ratio);
    let mut run = CaptureRun::new(inputs, None, analyzer, Verbosity::Normal);
    run.interrupt().on_signals(OnInterrupt::EndTwice)?;
    run.show_progress();
    let mut learner = Learner::default();
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
        self.start_file();
        let mut frame_index = 0_u64;
        let outcome = loop {
            match capture.source.next_frame() {
                Ok(NextFrame::Frame(frame)) => {
                    let at = FrameIndex { file: capture.index, frame: frame_index };
                    let _ = analyzer.push(&frame, &mut |event: Event| self.learn(&event, at));
                }
                Ok(NextFrame::End) => break Ok(()),
                Ok(_) => continue,
                Err(error) => break Err(error.into()),
            }
            frame_index = frame_index.saturating_add(1);
        };
        analyzer.finish(&mut |_: Event| {});
        outcome
    }
}
