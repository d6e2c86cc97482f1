//! Where frames come from.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::slice;
use std::thread::available_parallelism;

use prefetch_index::prefetch_index;

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

    /// So many sources at most of the same frames, all that are still to come; none where nothing else is known.
    ///
    /// Where it costs next to nothing to read frames more than once and they are all [at hand](Self::is_at_hand), each
    /// worker of a parallel analysis can so read every frame for itself, and nothing need be handed over, nor dropped.
    /// That is asked once at the beginning, for one, and again when frames take [long enough](crate::Builder::spread_above).
    /// If there is but one then, the frames are too few for several threads, or there is one processor: all is done in the
    /// thread of the caller. Each of them holds fragments up to the [limits](crate::DecodeConfig).
    ///
    /// All must give the same frames, be [at hand](Self::is_at_hand) alike, and end alike; when frames were
    /// [taken](Self::taken_at), they are not asked. The analysis ends where the first of them does.
    fn twins(&self, _at_most: usize) -> Vec<Self>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Whether frames lie in a buffer that can be [taken](Self::take_buffer), and all that are still to come can be had
    /// without waiting for anybody, as those of a file; false where nothing else is known. Who wraps such a source and tells
    /// so passes on [`take_buffer`](Self::take_buffer) and [`is_at_hand`](Self::is_at_hand), too.
    ///
    /// Then the workers of a parallel analysis, no more than there are processors, read the source themselves, each in turn, and
    /// share the buffers: each decodes every frame, and nothing is handed over, nor dropped. Each of them holds fragments up to
    /// the [limits](crate::DecodeConfig).
    fn lends_from_buffer(&self) -> bool {
        false
    }

    /// Gives the buffer away in which all frames lie that were lent since it began, and goes on in this one, which may
    /// be of any length.
    ///
    /// Such a source begins no other buffer on its own accord, nor writes over frames in this one, before a call at
    /// which its next frame is not [at hand](Self::is_at_hand): that of a file is not where more of it must be read first.
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

/// How many frames before its turn one is [asked for](ask_for).
pub(crate) const AHEAD: usize = 16;

/// For fewer frames a further thread does not pay, though they take long: to start it takes as long as some hundred.
const FRAMES_FOR_A_THREAD: usize = 2048;

/// Where the headers of most frames reach into the next line of the processor's cache.
const NEXT_LINE: usize = 64;

/// Asks for the beginning of the frame at this place of these bytes, to be in the processor's cache when its turn comes.
#[inline(always)]
pub(crate) fn ask_for(bytes: &[u8], start: usize) {
    prefetch_index(bytes, start);
    prefetch_index(bytes, start.wrapping_add(NEXT_LINE));
}

/// Frames in memory, as a [`Source`].
///
/// For what is in none of its caches a processor waits, and that may be most of the time that a frame takes of which
/// nothing is to be learned. Here it is asked for the beginning of a frame while the sixteen before it are analysed, on
/// x86 and on 64-bit ARM; elsewhere frames are lent as they are.
///
/// The workers of a parallel analysis each read all of them, where they are many and take
/// [long enough](crate::Builder::spread_above).
///
/// ```
/// use huginn_net_core::{Frame, LinkType, MemoryFrames, Source, Timestamp};
///
/// let frame = |data| Frame { ts: Timestamp::default(), link: LinkType::RAW, data, wire_len: 60 };
/// let frames = [frame(&[0x45; 60][..]), frame(&[0x45; 40][..])];
/// let mut source = MemoryFrames::new(&frames);
/// assert_eq!(source.next_frame()?.map(|frame| frame.data.len()), Some(60));
/// # Ok::<_, std::convert::Infallible>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryFrames<'a> {
    frames: slice::Iter<'a, Frame<'a>>,
}

impl<'a> MemoryFrames<'a> {
    /// A source of these frames.
    pub fn new(frames: &'a [Frame<'a>]) -> Self {
        Self { frames: frames.iter() }
    }
}

impl Source for MemoryFrames<'_> {
    type Error = Infallible;

    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        if let Some(Frame { data, .. }) = self.frames.as_slice().get(AHEAD) {
            ask_for(data, 0);
        }
        Ok(self.frames.next().copied())
    }

    fn twins(&self, at_most: usize) -> Vec<Self> {
        let readers = no_more_than_processors(at_most.min(self.frames.len() / FRAMES_FOR_A_THREAD));
        vec![self.clone(); readers.max(1)]
    }
}

/// So many workers that each decode all, unless there are fewer processors: more would but do the same once more.
pub(crate) fn no_more_than_processors(workers: usize) -> usize {
    // To ask for their number takes as long as some thousand frames.
    if workers > 1 { workers.min(available_parallelism().map_or(1, NonZeroUsize::get)) } else { workers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkType;

    #[test]
    fn frames_in_memory_come_as_they_are() {
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
                let lent = source.next_frame().unwrap().unwrap();
                assert_eq!((lent.ts, lent.data), (want.ts, want.data));
            }
            assert!(source.next_frame().unwrap().is_none());
        }
    }
}
