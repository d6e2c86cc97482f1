//! Source of frames in memory; shared by several benches.

use std::convert::Infallible;

use huginn_net_core::{Block, Fill, Frame, NextFrame, Source};
use prefetch_index::prefetch_index;

/// Distance between a prefetch and its use, in frames, as in the blocks of several workers.
const PREFETCH_DISTANCE: usize = 16;
/// Distance between two prefetches of one frame in bytes: a cache line. Most headers span two lines.
const CACHE_LINE_LEN: usize = 64;

/// A slice of frames as a [`Source`] that prefetches the frame 16 positions ahead.
pub(crate) struct MemoryFrames<'a>(&'a [Frame<'a>]);

impl<'a> MemoryFrames<'a> {
    pub(crate) fn new(frames: &'a [Frame<'a>]) -> Self {
        Self(frames)
    }
}

impl<'a> Source<'a> for MemoryFrames<'a> {
    type Error = Infallible;

    fn lends(&self) -> bool {
        true
    }

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        if let Some(Frame { data, .. }) = self.0.get(PREFETCH_DISTANCE) {
            prefetch_index(data, 0);
            prefetch_index(data, CACHE_LINE_LEN);
        }
        Ok(NextFrame::from_frame(self.0.split_off_first().copied()))
    }

    fn fill(&mut self, block: &mut Block<'a>) -> Result<Fill, Infallible> {
        while !block.is_full() {
            let Some(frame) = self.0.split_off_first() else { return Ok(Fill::End) };
            block.lend(*frame);
        }
        Ok(Fill::More)
    }
}
