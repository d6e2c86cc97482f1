//! A limit on the number of frames.

use std::sync::Arc;

use crate::{Block, ChunkReader, Fill, NextFrame, Source, Timestamp};

/// A [`Source`] that ends after a number of frames of another source.
#[derive(Clone, Debug)]
pub struct FirstFrames<S> {
    source: S,
    remaining: u64,
}

impl<S> FirstFrames<S> {
    /// Limits a source to `count` frames.
    pub fn new(source: S, count: u64) -> Self {
        Self { source, remaining: count }
    }

    /// Returns the number of frames that may still be read.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Returns the limited source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the limited source, to read it otherwise. Frames that it then returns do not count.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }
}

impl<'f, S: Source<'f>> Source<'f> for FirstFrames<S> {
    type Error = S::Error;

    fn is_live(&self) -> bool {
        self.source.is_live()
    }

    fn lends(&self) -> bool {
        self.source.lends()
    }

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        let Self { source, remaining } = self;
        let Some(rest) = remaining.checked_sub(1) else { return Ok(NextFrame::End) };
        // Returns the source's result unchanged, so that the frame is not copied.
        let next = source.next_frame();
        if let Ok(NextFrame::Frame(_)) = &next {
            *remaining = rest;
        }
        next
    }

    fn complete_until(&self) -> Option<Timestamp> {
        self.source.complete_until()
    }

    fn taken_at(&self) -> Option<Timestamp> {
        self.source.taken_at()
    }

    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        self.source.chunks(block_bytes)
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, S::Error> {
        if self.remaining == 0 {
            return Ok(Fill::End);
        }
        block.limit_frames(self.remaining);
        let outcome = self.source.fill(block);
        let count = block.frame_count() as u64;
        match self.remaining.checked_sub(count) {
            Some(remaining @ 1..) => self.remaining = remaining,
            // Some sources fill beyond the limit of the block.
            _ => {
                block.truncate(usize::try_from(self.remaining).unwrap_or(usize::MAX));
                self.remaining = 0;
                return Ok(Fill::End);
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{Frame, Frames, LinkType};

    #[test]
    fn first_frames_ends_after_count() {
        let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &[1, 2, 3], wire_len: 3 };
        for count in [0, 1, 4, 5, 9] {
            let mut one_by_one = FirstFrames::new(Frames::new([frame; 5]), count);
            let mut lent = 0;
            while let Ok(NextFrame::Frame(_)) = one_by_one.next_frame() {
                lent += 1;
            }
            let read = Cell::new(0);
            let frames = [frame; 5].into_iter().inspect(|_| read.set(read.get() + 1));
            let mut filling = FirstFrames::new(Frames::new(frames), count);
            let mut block = Block::new(1000);
            assert_eq!(filling.fill(&mut block), Ok(Fill::End));
            assert_eq!((lent, block.frame_count() as u64), (count.min(5), count.min(5)));
            assert_eq!(read.get(), count.min(5), "frames beyond the limit stay in a live source");
            assert_eq!(
                (one_by_one.remaining(), filling.remaining()),
                (count.saturating_sub(5), count.saturating_sub(5))
            );
        }
    }
}
