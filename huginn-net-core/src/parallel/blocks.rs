//! Blocks of a source that the workers read themselves, each in turn.
//!
//! Whoever gets a block first sees to it that the next one is there, so that the others need not wait for that: it is the
//! worker that has time to.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::source::{AHEAD, ask_for};
use crate::{Frame, LinkType, Source, Timestamp};

/// Blocks that wait for the slowest worker at most.
const MOST_BLOCKS: usize = 8;

/// Frames of a block at most: to know where they lie should not take more room than they do.
const MOST_FRAMES: usize = 1 << 14;

/// A source that [lends from its buffer](Source::lends_from_buffer), and what of it was read and is still wanted.
pub(super) struct Blocks<S: Source> {
    shelf: Mutex<Shelf<S>>,
    changed: Condvar,
    buffer_len: usize,
}

struct Shelf<S: Source> {
    turn: Turn<S>,
    /// At most [`MOST_BLOCKS`].
    blocks: VecDeque<Arc<Block>>,
    /// The number of the first of them.
    first: u64,
    /// The number of the block that each worker wants next, or [`GONE`].
    wanted: Vec<u64>,
    spare: Vec<Block>,
}

const GONE: u64 = u64::MAX;

/// Whose turn it is to read.
enum Turn<S: Source> {
    /// Whoever wants to.
    Anybody(S),
    /// Somebody has the source.
    Taken,
    /// There is nothing left. Whoever hears of it first gets the error.
    Over(Option<S::Error>),
}

/// Frames that lie in one buffer.
#[derive(Default)]
struct Block {
    buffer: Vec<u8>,
    places: Vec<Place>,
}

/// Where a frame lies, and what else is known of it.
struct Place {
    ts: Timestamp,
    address: usize,
    len: usize,
    wire_len: u32,
    link: LinkType,
}

impl<S: Source> Blocks<S> {
    /// Those of a source for so many workers, in buffers of this length unless the source has others.
    pub(super) fn new(source: S, workers: usize, buffer_len: usize) -> Self {
        let shelf = Shelf {
            turn: Turn::Anybody(source),
            blocks: VecDeque::new(),
            first: 0,
            wanted: vec![0; workers],
            spare: Vec::new(),
        };
        Self { shelf: Mutex::new(shelf), changed: Condvar::new(), buffer_len }
    }

    /// All frames, for the worker of this number.
    pub(super) fn frames(&self, worker: usize) -> BlockFrames<'_, S> {
        BlockFrames { blocks: self, worker, block: None, next: 0 }
    }

    /// The next block for a worker that is done with this one; none at the end.
    fn next(&self, worker: usize, done: Option<Arc<Block>>) -> Result<Option<Arc<Block>>, S::Error> {
        // Only whoever lets go of it last gets it.
        let spare = done.and_then(Arc::into_inner);
        let mut shelf = self.shelf();
        shelf.spare.extend(spare);
        loop {
            if let Some(source) = shelf.begin_turn(worker) {
                let fresh = shelf.spare.pop().unwrap_or_default();
                drop(shelf);
                self.read(source, fresh);
                shelf = self.shelf();
            } else if let Some(block) = shelf.take(worker) {
                drop(shelf);
                self.changed.notify_all();
                return Ok(Some(block));
            } else if let Turn::Over(error) = &mut shelf.turn {
                return error.take().map_or(Ok(None), Err);
            } else {
                shelf = self.changed.wait(shelf).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Reads another block, and puts it and the source back.
    fn read(&self, mut source: S, fresh: Block) {
        // Where the source panics, nobody is to wait for it.
        let mut turn = EndOfTurn { blocks: self, read: None, then: Turn::Over(None) };
        let (block, outcome) = Block::read(&mut source, fresh, self.buffer_len);
        turn.read = Some(block);
        turn.then = match outcome {
            Ok(true) => Turn::Anybody(source),
            Ok(false) => Turn::Over(None),
            Err(error) => Turn::Over(Some(error)),
        };
    }

    /// Nothing that is done with it panics half-way.
    fn shelf(&self) -> MutexGuard<'_, Shelf<S>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a turn when it is dropped.
struct EndOfTurn<'a, S: Source> {
    blocks: &'a Blocks<S>,
    read: Option<Block>,
    then: Turn<S>,
}

impl<S: Source> Drop for EndOfTurn<'_, S> {
    fn drop(&mut self) {
        let mut shelf = self.blocks.shelf();
        shelf.blocks.extend(self.read.take().map(Arc::new));
        shelf.turn = std::mem::replace(&mut self.then, Turn::Taken);
        drop(shelf);
        self.blocks.changed.notify_all();
    }
}

impl<S: Source> Shelf<S> {
    /// Gives the source to a worker that had better read: where the block it wants is the last one, or not there, and there is
    /// room for another.
    fn begin_turn(&mut self, worker: usize) -> Option<S> {
        let wanted = self.wanted.get(worker)?.saturating_sub(self.first);
        let is_short_of_blocks = self.blocks.len() as u64 <= wanted.saturating_add(1);
        if !is_short_of_blocks || self.blocks.len() >= MOST_BLOCKS {
            return None;
        }
        match std::mem::replace(&mut self.turn, Turn::Taken) {
            Turn::Anybody(source) => Some(source),
            other => {
                self.turn = other;
                None
            }
        }
    }

    /// The block that a worker wants, if it is there.
    fn take(&mut self, worker: usize) -> Option<Arc<Block>> {
        let wanted = self.wanted.get_mut(worker)?;
        let place = usize::try_from(wanted.checked_sub(self.first)?).ok()?;
        let block = Arc::clone(self.blocks.get(place)?);
        *wanted = wanted.saturating_add(1);
        self.let_go();
        Some(block)
    }

    /// Lets go of the blocks that all have.
    fn let_go(&mut self) {
        let wanted = self.wanted.iter().min().copied().unwrap_or(GONE);
        while self.first < wanted && self.blocks.pop_front().is_some() {
            self.first = self.first.saturating_add(1);
        }
    }
}

impl Block {
    /// Reads what is at hand, up to many frames; tells whether there may be more.
    fn read<S: Source>(source: &mut S, fresh: Self, buffer_len: usize) -> (Self, Result<bool, S::Error>) {
        let Self { mut buffer, mut places } = fresh;
        if buffer.is_empty() {
            buffer = vec![0; buffer_len];
        }
        places.clear();
        let (mut first, mut end) = (usize::MAX, 0);
        let outcome = loop {
            match source.next_frame() {
                Ok(Some(Frame { ts, link, data, wire_len })) => {
                    let (address, len) = (data.as_ptr().addr(), data.len());
                    // What is empty lies anywhere.
                    if len > 0 {
                        (first, end) = (first.min(address), end.max(address.saturating_add(len)));
                    }
                    places.push(Place { ts, address, len, wire_len, link });
                }
                Ok(None) => break Ok(false),
                Err(error) => break Err(error),
            }
            if !source.is_at_hand() || places.len() >= MOST_FRAMES {
                break Ok(true);
            }
        };
        let buffer = source.take_buffer(buffer);
        let bytes = buffer.as_ptr_range();
        let is_whole = end == 0 || bytes.start.addr() <= first && end <= bytes.end.addr();
        assert!(is_whole, "frames lie elsewhere than in the buffer that the source gave");
        (Self { buffer, places }, outcome)
    }

    #[inline]
    fn frame(&self, place: &Place) -> Frame<'_> {
        let Place { ts, len, wire_len, link, .. } = *place;
        let data = self.buffer.get(self.start_of(place)..).and_then(|bytes| bytes.get(..len));
        Frame { ts, link, data: data.unwrap_or_default(), wire_len }
    }

    #[inline]
    fn start_of(&self, place: &Place) -> usize {
        place.address.wrapping_sub(self.buffer.as_ptr().addr())
    }
}

/// All frames of a source, for one of its workers.
pub(super) struct BlockFrames<'a, S: Source> {
    blocks: &'a Blocks<S>,
    worker: usize,
    block: Option<Arc<Block>>,
    /// Which frame of the block comes next.
    next: usize,
}

impl<S: Source> BlockFrames<'_, S> {
    /// Goes on to the next block; tells whether there is one.
    #[cold]
    fn turn_over(&mut self) -> Result<bool, S::Error> {
        self.next = 0;
        self.block = self.blocks.next(self.worker, self.block.take())?;
        Ok(self.block.is_some())
    }
}

impl<S: Source> Source for BlockFrames<'_, S> {
    type Error = S::Error;

    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, S::Error> {
        while !self.is_at_hand() {
            if !self.turn_over()? {
                return Ok(None);
            }
        }
        let Self { block: Some(block), next, .. } = self else { return Ok(None) };
        if let Some(place) = block.places.get(next.saturating_add(AHEAD)) {
            ask_for(&block.buffer, block.start_of(place));
        }
        let place = block.places.get(*next);
        *next = next.saturating_add(1);
        Ok(place.map(|place| block.frame(place)))
    }

    #[inline]
    fn is_at_hand(&self) -> bool {
        self.block.as_ref().is_some_and(|block| self.next < block.places.len())
    }
}

/// Nobody is to wait for one who is gone.
impl<S: Source> Drop for BlockFrames<'_, S> {
    fn drop(&mut self) {
        let mut shelf = self.blocks.shelf();
        if let Some(wanted) = shelf.wanted.get_mut(self.worker) {
            *wanted = GONE;
        }
        shelf.let_go();
        drop(shelf);
        self.blocks.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const LEN: usize = 10;

    /// So many frames of one byte, ten in a buffer.
    struct Lending {
        left: usize,
        buffer: Vec<u8>,
        lent: usize,
        /// Where the buffers lay that were given to it.
        given: HashSet<usize>,
    }

    impl Lending {
        fn new(frames: usize) -> Self {
            Self { left: frames, buffer: vec![0; LEN], lent: 0, given: HashSet::new() }
        }
    }

    impl Source for Lending {
        type Error = HashSet<usize>;

        fn next_frame(&mut self) -> Result<Option<Frame<'_>>, HashSet<usize>> {
            if self.left == 0 {
                return Err(std::mem::take(&mut self.given));
            }
            let Some(place) = self.buffer.get_mut(self.lent..=self.lent) else {
                panic!("more than is at hand")
            };
            place.fill(u8::try_from(self.left % 251).unwrap());
            (self.left, self.lent) = (self.left - 1, self.lent + 1);
            let (ts, link) = (Timestamp::new(self.left as u64, 0, 0), LinkType::RAW);
            Ok(Some(Frame { ts, link, data: place, wire_len: 1 }))
        }

        fn is_at_hand(&self) -> bool {
            self.left == 0 || self.lent < LEN
        }

        fn take_buffer(&mut self, fresh: Vec<u8>) -> Vec<u8> {
            self.given.insert(fresh.as_ptr().addr());
            self.lent = 0;
            std::mem::replace(&mut self.buffer, fresh)
        }
    }

    #[test]
    fn each_worker_gets_all_frames_and_one_of_them_the_error() {
        for workers in 1..5 {
            let blocks = Blocks::new(Lending::new(10_007), workers, LEN);
            let read = |worker| {
                let mut frames = blocks.frames(worker);
                let mut left = 10_007;
                loop {
                    match frames.next_frame() {
                        Ok(Some(frame)) => {
                            assert_eq!(frame.data, [u8::try_from(left % 251).unwrap()]);
                            left -= 1;
                            assert_eq!(frame.ts.as_secs(), left);
                        }
                        Ok(None) => return (left, None),
                        Err(given) => return (left, Some(given)),
                    }
                }
            };
            let read: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || read(worker))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(read.iter().all(|(left, _)| *left == 0));
            let given: Vec<_> = read.iter().filter_map(|(_, given)| given.as_ref()).collect();
            assert_eq!(given.len(), 1, "one error");
            assert!(given[0].len() <= MOST_BLOCKS + workers + 1, "of {workers} workers: {}", given[0].len());
        }
    }

    #[test]
    fn a_worker_waits_for_the_slowest_unless_that_is_gone() {
        let blocks = Blocks::new(Lending::new(1000), 2, LEN);
        let (mut quick, slow) = (blocks.frames(0), blocks.frames(1));
        for _ in 0..MOST_BLOCKS * LEN {
            quick.next_frame().unwrap().unwrap();
        }
        let waits = |shelf: &mut Shelf<_>| shelf.begin_turn(0).is_none() && shelf.take(0).is_none();
        assert!(waits(&mut blocks.shelf()));
        assert_eq!(blocks.shelf().blocks.len(), MOST_BLOCKS);
        drop(slow);
        assert!(blocks.shelf().blocks.is_empty());
        for _ in MOST_BLOCKS * LEN..1000 {
            quick.next_frame().unwrap().unwrap();
        }
        quick.next_frame().unwrap_err();
        assert!(quick.next_frame().unwrap().is_none());
    }

    #[test]
    fn whoever_waits_for_room_goes_on_when_there_is_some() {
        const ALL: usize = (MOST_BLOCKS + 1) * LEN;
        for is_gone in [true, false] {
            // Not a scope, which would wait for who waits.
            let blocks: &'static _ = Box::leak(Box::new(Blocks::new(Lending::new(ALL), 2, LEN)));
            let (mut quick, mut slow) = (blocks.frames(0), blocks.frames(1));
            let (say, heard) = mpsc::channel();
            thread::spawn(move || {
                while let Ok(Some(_)) = quick.next_frame() {
                    say.send(()).unwrap();
                }
            });
            let next = || heard.recv_timeout(Duration::from_secs(20)).expect("it goes on");
            (0..MOST_BLOCKS * LEN).for_each(|_| next());
            // It waits by now, or will not have to.
            thread::sleep(Duration::from_millis(20));
            let slow = if is_gone {
                drop(slow);
                None
            } else {
                slow.next_frame().unwrap().unwrap();
                Some(slow)
            };
            (MOST_BLOCKS * LEN..ALL).for_each(|_| next());
            drop(slow);
        }
    }

    #[test]
    #[should_panic(expected = "elsewhere")]
    fn frames_must_lie_in_the_buffer_that_is_given() {
        struct Elsewhere(Vec<u8>);
        impl Source for Elsewhere {
            type Error = ();
            fn next_frame(&mut self) -> Result<Option<Frame<'_>>, ()> {
                let ts = Timestamp::default();
                Ok(Some(Frame { ts, link: LinkType::RAW, data: &self.0, wire_len: 1 }))
            }
            fn is_at_hand(&self) -> bool {
                false
            }
        }
        let nothing = Blocks::new(Elsewhere(Vec::new()), 1, LEN);
        assert!(nothing.frames(0).next_frame().unwrap().is_some_and(|frame| frame.data.is_empty()));
        let _ = Blocks::new(Elsewhere(vec![1; LEN]), 1, LEN).frames(0).next_frame();
    }

    #[test]
    fn nobody_waits_for_a_source_that_panicked() {
        let blocks = Blocks::new(Lending::new(LEN), 2, LEN - 1);
        let short = Lending { buffer: vec![0; LEN - 1], ..Lending::new(LEN) };
        blocks.shelf().turn = Turn::Anybody(short);
        let (mut one, mut other) = (blocks.frames(0), blocks.frames(1));
        thread::scope(|scope| scope.spawn(move || one.next_frame().map(|_| ())).join().unwrap_err());
        assert!(other.next_frame().unwrap().is_none());
    }
}
