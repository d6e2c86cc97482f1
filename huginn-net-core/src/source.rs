//! Where frames come from.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::Frame;

/// Lends one frame after the other.
pub trait Source {
    /// Why no further frame can be had.
    type Error;

    /// The next frame, or `None` at the end. After an error the source has ended.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Self::Error>;

    /// Whether the next frame, or the end, is there without waiting for anybody; true where nothing else is known.
    ///
    /// Where it is not, a parallel analysis first hands on the frames that it has collected.
    fn is_at_hand(&self) -> bool {
        true
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    type Error = S::Error;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Self::Error> {
        (**self).next_frame()
    }

    fn is_at_hand(&self) -> bool {
        (**self).is_at_hand()
    }
}

/// An iterator of frames as a [`Source`].
#[derive(Clone, Debug)]
pub struct Frames<'a, I> {
    frames: I,
    lifetime: PhantomData<Frame<'a>>,
}

impl<'a, I: Iterator<Item = Frame<'a>>> Frames<'a, I> {
    /// A source of the frames that the iterator yields.
    pub fn new(frames: impl IntoIterator<Item = Frame<'a>, IntoIter = I>) -> Self {
        Self { frames: frames.into_iter(), lifetime: PhantomData }
    }
}

impl<'a, I: Iterator<Item = Frame<'a>>> Source for Frames<'a, I> {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        Ok(self.frames.next())
    }
}
