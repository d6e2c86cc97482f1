//! Frames of an iterator.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::{Block, Fill, Frame, NextFrame, Source};

/// An iterator of frames in memory as a [`Source`]. No frame is copied, whatever the number of workers.
#[derive(Clone, Debug)]
pub struct Frames<'a, I> {
    frames: I,
    lifetime: PhantomData<Frame<'a>>,
}

impl<'a, I: Iterator<Item = Frame<'a>>> Frames<'a, I> {
    /// Creates a source from an iterator of frames.
    pub fn new(frames: impl IntoIterator<Item = Frame<'a>, IntoIter = I>) -> Self {
        Self { frames: frames.into_iter(), lifetime: PhantomData }
    }
}

impl<'f, I: Iterator<Item = Frame<'f>>> Source<'f> for Frames<'f, I> {
    type Error = Infallible;

    fn lends(&self) -> bool {
        true
    }

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        Ok(NextFrame::from_frame(self.frames.next()))
    }

    /// Lends the frames: their memory outlives the analysis, so that they are not copied.
    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, Infallible> {
        while !block.is_full() {
            let Some(frame) = self.frames.next() else { return Ok(Fill::End) };
            block.lend(frame);
        }
        Ok(Fill::More)
    }
}
