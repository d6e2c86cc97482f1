//! Frames of an iterator.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::{Frame, NextFrame, Source};

/// An iterator of frames as a [`Source`].
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

impl<'a, I: Iterator<Item = Frame<'a>>> Source for Frames<'a, I> {
    type Error = Infallible;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        Ok(NextFrame::from_frame(self.frames.next()))
    }
}
