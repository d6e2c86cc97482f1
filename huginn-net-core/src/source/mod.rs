//! Sources of frames.

mod block;
mod channel;
mod chunk;
mod first_frames;
mod frames;

pub(crate) use block::StoredFrame;
pub use block::{Block, FrameRecord};
pub use channel::{FrameChannelClosed, FrameReceiver, FrameSender, frame_channel};
pub use chunk::{Chunk, ChunkReader};
pub use first_frames::FirstFrames;
pub use frames::Frames;

use std::sync::Arc;

use crate::{Frame, Timestamp};

/// Supplies the frames of a capture in order.
///
/// [`next_frame`](Self::next_frame) lends one frame at a time, which sequential analysis does not copy.
/// [`fill`](Self::fill) collects frames in a [`Block`] for several workers.
///
/// `'f` is the lifetime of memory that outlives the analysis, such as a mapped file: a source can [lend](Block::lend) frames
/// in it to all workers. Any other source is a source for every lifetime, and its frames are copied once, or handed over with
/// their buffer.
///
/// ```
/// use huginn_net_core::{Frame, LinkType, NextFrame, Source, Timestamp};
///
/// /// The same frame, `left` times.
/// struct Repeat {
///     left: usize,
/// }
///
/// impl Source<'_> for Repeat {
///     type Error = std::convert::Infallible;
///
///     fn next_frame(&mut self) -> Result<NextFrame<'_>, Self::Error> {
///         let Some(left) = self.left.checked_sub(1) else { return Ok(NextFrame::End) };
///         self.left = left;
///         let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &[0x45], wire_len: 40 };
///         Ok(NextFrame::Frame(frame))
///     }
/// }
/// ```
pub trait Source<'f> {
    /// The error that ends the source.
    type Error;

    /// Whether frames arrive at the speed of a network, which does not wait. The default is false: a capture file waits.
    ///
    /// The analysis of a live source drops and counts what a slow worker cannot keep up with
    /// ([`Overflow::Drop`](crate::Overflow)), and divides flows by a [random seed](crate::HashSeed). Of any other source it drops
    /// nothing, and repeats exactly. A source that wraps another one passes its answer on.
    fn is_live(&self) -> bool {
        false
    }

    /// Whether the frames are in memory that outlives the analysis, so that [`fill`](Self::fill) [lends](Block::lend) them. The default is
    /// false: to read frames is work, which several workers divide. A source that wraps another one passes its answer on.
    fn lends(&self) -> bool {
        false
    }

    /// Lends the next frame.
    ///
    /// If no frame is ready, a waiting source first returns [`NextFrame::Idle`], so that the caller can finish its
    /// work. It waits in the next call.
    ///
    /// # Errors
    /// The error that ends the source. Every call after an error or [`NextFrame::End`] returns the end.
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Self::Error>;

    /// After [`NextFrame::Idle`], returns a time before which no further frame was captured; `None` (default) if unknown.
    ///
    /// The events of [other sources](crate::Analyzer::analyze_queues) up to this time need not wait for this one, and later ones wait: the
    /// source must return `Idle` again, with a later time, while no frame arrives. Without a time, they do not wait for an idle source at
    /// all. A source that wraps another one passes its answer on.
    fn complete_until(&self) -> Option<Timestamp> {
        None
    }

    /// Returns when the latest frame was received from the system; `None` (default) if unknown. A source that wraps another one passes
    /// its answer on.
    fn taken_at(&self) -> Option<Timestamp> {
        None
    }

    /// Returns what lets several threads read the source at once; `None` (default) if only [`fill`](Self::fill) reads.
    ///
    /// The analysis asks once, before it fills blocks of about `block_bytes`. The block of each `fill` then [has](Block::take_chunk) the next
    /// chunk, which its thread has read. A source with chunks never waits. One that wraps another passes its answer on, and fills blocks
    /// by [`fill`](Self::fill) of the other.
    #[doc(hidden)]
    fn chunks(&mut self, _block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        None
    }

    /// Appends frames to an empty block until the block is full, the frames of its chunk are used up, or the source would wait.
    ///
    /// The default implementation copies the frames of [`next_frame`](Self::next_frame). A source with its own buffer
    /// can hand it over instead ([`Block::swap_buffer`]), one whose memory stays can lend its frames ([`Block::lend`]).
    ///
    /// # Errors
    /// Those of [`next_frame`](Self::next_frame). Frames before the error are in the block.
    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, Self::Error> {
        while !block.is_full() {
            match self.next_frame()? {
                NextFrame::Frame(frame) => block.push(&frame),
                NextFrame::Idle => return Ok(Fill::Idle),
                NextFrame::End => return Ok(Fill::End),
            }
        }
        Ok(Fill::More)
    }
}

/// Result of [`Source::next_frame`].
#[derive(Clone, Copy, Debug)]
pub enum NextFrame<'a> {
    /// The next frame.
    Frame(Frame<'a>),
    /// No frame is ready. The next call waits for one, for a bounded time.
    Idle,
    /// The capture has ended.
    End,
}

impl<'a> NextFrame<'a> {
    /// Converts the result of a source that never waits; `None` is the end.
    pub fn from_frame(frame: Option<Frame<'a>>) -> Self {
        frame.map_or(Self::End, Self::Frame)
    }
}

/// Result of [`Source::fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The block is full or contains all of one read; more frames may follow.
    More,
    /// No further frame is ready; the block may be empty.
    Idle,
    /// The capture has ended; the block may contain its last frames.
    End,
}

impl<'f, S: Source<'f> + ?Sized> Source<'f> for &mut S {
    type Error = S::Error;

    fn is_live(&self) -> bool {
        (**self).is_live()
    }

    fn lends(&self) -> bool {
        (**self).lends()
    }

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Self::Error> {
        (**self).next_frame()
    }

    fn complete_until(&self) -> Option<Timestamp> {
        (**self).complete_until()
    }

    fn taken_at(&self) -> Option<Timestamp> {
        (**self).taken_at()
    }

    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        (**self).chunks(block_bytes)
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, Self::Error> {
        (**self).fill(block)
    }
}
