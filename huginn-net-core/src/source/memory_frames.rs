//! Frames in memory.

use std::convert::Infallible;
use std::slice;

use super::prefetch;
use crate::limits::PREFETCH_DISTANCE;
use crate::{Frame, NextFrame, Source};

/// A slice of frames as a [`Source`] that prefetches the frame 16 positions ahead.
///
/// A cache miss stalls the core for longer than the analysis of most frames takes. Prefetching works on x86 and
/// 64-bit ARM; on other targets it has no effect.
///
/// ```
/// use huginn_net_core::{Frame, LinkType, MemoryFrames, NextFrame, Source, Timestamp};
///
/// let frame = |data| Frame { ts: Timestamp::default(), link: LinkType::RAW, data, wire_len: 60 };
/// let frames = [frame(&[0x45; 60][..]), frame(&[0x45; 40][..])];
/// let mut source = MemoryFrames::new(&frames);
/// assert!(matches!(source.next_frame()?, NextFrame::Frame(frame) if frame.data.len() == 60));
/// # Ok::<_, std::convert::Infallible>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryFrames<'a> {
    frames: slice::Iter<'a, Frame<'a>>,
}

impl<'a> MemoryFrames<'a> {
    /// Creates a source of these frames.
    pub fn new(frames: &'a [Frame<'a>]) -> Self {
        Self { frames: frames.iter() }
    }
}

impl Source for MemoryFrames<'_> {
    type Error = Infallible;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        if let Some(Frame { data, .. }) = self.frames.as_slice().get(PREFETCH_DISTANCE) {
            prefetch(data, 0);
        }
        Ok(NextFrame::from_frame(self.frames.next().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkType, Timestamp};

    #[test]
    fn memory_frames_lends_frames_unchanged() {
        let data = vec![7; 2000];
        let frames: Vec<_> = (0..300_usize)
            .map(|n| {
                let ts = Timestamp::new(n as u64, 0, 0);
                Frame { ts, link: LinkType::RAW, data: data.get(..n).unwrap(), wire_len: 2000 }
            })
            .collect();
        for count in [0, 1, 15, 16, 17, 33, 300] {
            let mut source = MemoryFrames::new(frames.get(..count).unwrap());
            for want in frames.iter().take(count) {
                let NextFrame::Frame(lent) = source.next_frame().unwrap() else {
                    panic!("a frame is missing")
                };
                assert_eq!((lent.ts, lent.data), (want.ts, want.data));
            }
            assert!(matches!(source.next_frame(), Ok(NextFrame::End)));
        }
    }
}
