//! Where frames come from.

use std::convert::Infallible;
use std::marker::PhantomData;

use crate::{Frame, Timestamp};

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

    /// When the frame lent last was taken from whoever captured it, by the clock that stamps frames; `None` where that
    /// tells nothing, as of a capture file.
    fn taken_at(&self) -> Option<Timestamp> {
        None
    }

    /// Whether frames lie in a buffer that can be [taken](Self::take_buffer), which spares a parallel analysis to copy
    /// them; false where nothing else is known.
    fn lends_from_buffer(&self) -> bool {
        false
    }

    /// Gives the buffer away in which all frames lie that were lent since it began, and goes on in this one, which may
    /// be of any length.
    ///
    /// Such a source begins no other buffer on its own accord, nor writes over frames in this one, before a call at
    /// which its next frame is not [at hand](Self::is_at_hand).
    fn take_buffer(&mut self, fresh: Vec<u8>) -> Vec<u8> {
        fresh
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

    fn taken_at(&self) -> Option<Timestamp> {
        (**self).taken_at()
    }

    fn lends_from_buffer(&self) -> bool {
        (**self).lends_from_buffer()
    }

    fn take_buffer(&mut self, fresh: Vec<u8>) -> Vec<u8> {
        (**self).take_buffer(fresh)
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
