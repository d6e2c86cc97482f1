//! A ring of frame blocks: workers take turns to fill and sort blocks, and every worker reads its tasks of every block.
//!
//! The worker that is ahead fills the next block, so that the others find it ready. Blocks are filled one after the other, but
//! several are sorted at once, and several are read at once if the source has [chunks](Source::chunks). A worker that is `RING_BLOCKS`
//! ahead of the slowest one waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::CancelToken;
use super::index::{IndexedBlock, Sequencer, Sorter};
use crate::limits::{RING_BLOCKS, RING_CONGESTED_TIMEOUT, RING_RECOVERED_BLOCKS};
use crate::{ChunkReader, Fill, Source};

/// The policy for a worker that cannot keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The source waits for the slowest worker and nothing is lost. The default of sources that are not
    /// [live](Source::is_live).
    Wait,
    /// If the ring has been full for 200 ms, the slowest worker skips a block and
    /// [counts](crate::Counters::segments_dropped) its segments. The default of [live](Source::is_live) sources.
    Drop,
}

/// Configuration of the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingConfig {
    /// Bytes at which a block is full.
    pub(super) block_bytes: usize,
    pub(super) overflow: Overflow,
    /// Whether several workers read the [chunks](Source::chunks) of the source at once.
    pub(super) reads_at_once: bool,
}

/// The ring of blocks, and the source that fills them.
pub(super) struct Ring<'a, 'f, S: Source<'f>> {
    state: Mutex<RingState<'f, S>>,
    changed: Condvar,
    /// Reads the chunks of the source.
    chunks: Option<Arc<dyn ChunkReader>>,
    config: RingConfig,
    cancel: &'a CancelToken,
}

struct RingState<'f, S: Source<'f>> {
    source_state: SourceState<'f, S>,
    /// At most [`RING_BLOCKS`]; `None` while a worker reads, fills or sorts the block.
    blocks: VecDeque<Option<Arc<IndexedBlock<'f>>>>,
    /// The number of the first block in `blocks`.
    first: u64,
    /// The number of the first block that no worker has started.
    next_unstarted: u64,
    /// The number of the next block to be filled from a chunk.
    next_unfilled: u64,
    workers: Vec<WorkerCursor<'f>>,
    spare: Vec<IndexedBlock<'f>>,
    /// Used by the worker that fills a block.
    sequencer: Option<Sequencer>,
    /// Whether the source was idle at the last fill. Workers then fill no block ahead of need.
    source_is_idle: bool,
    /// When the ring became full; `None` once it has recovered.
    congested_since: Option<Instant>,
    /// The block before which all workers stop, once the analysis ends.
    stop_at: Option<u64>,
}

/// The position of a worker in the ring.
#[derive(Default)]
struct WorkerCursor<'f> {
    /// The number of the next block; `None` once the worker has left.
    next: Option<u64>,
    /// Earlier blocks that the worker must skip.
    skipped: VecDeque<Arc<IndexedBlock<'f>>>,
}

/// The source of frames, and its current user.
enum SourceState<'f, S: Source<'f>> {
    /// The next worker may fill a block.
    Available(S),
    /// A worker is filling a block.
    InUse,
    /// The source has ended. The first worker to notice receives the error.
    Ended(Option<S::Error>),
}

/// The right to fill the next block.
#[expect(clippy::large_enum_variant, reason = "it is moved once for each block")]
enum Turn<S> {
    /// With the source.
    Now(S, Sequencer),
    /// Once the chunk at this offset is read, and the blocks before it are filled.
    AfterReading { number: u64, offset: u64 },
}

/// The next task of a worker.
pub(super) enum Step<'f, E> {
    Analyze(Arc<IndexedBlock<'f>>),
    /// Count the segments of this block as dropped.
    Skip(Arc<IndexedBlock<'f>>),
    End(Result<(), E>),
}

impl<'a, 'f, S: Source<'f>> Ring<'a, 'f, S> {
    pub(super) fn new(
        mut source: S,
        sequencer: Sequencer,
        workers: usize,
        config: RingConfig,
        cancel: &'a CancelToken,
    ) -> Self {
        let cursor = || WorkerCursor { next: Some(0), skipped: VecDeque::new() };
        let chunks = config.reads_at_once.then(|| source.chunks(config.block_bytes)).flatten();
        let state = RingState {
            source_state: SourceState::Available(source),
            blocks: VecDeque::new(),
            first: 0,
            next_unstarted: 0,
            next_unfilled: 0,
            workers: std::iter::repeat_with(cursor).take(workers).collect(),
            spare: Vec::new(),
            sequencer: Some(sequencer),
            source_is_idle: false,
            congested_since: None,
            stop_at: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), chunks, config, cancel }
    }

    /// Returns the next step of a worker, and takes back the block that it finished.
    pub(super) fn next(
        &self,
        worker: usize,
        finished: Option<Arc<IndexedBlock<'f>>>,
        sorter: &mut Sorter,
    ) -> Step<'f, S::Error> {
        // The last worker to drop a block gets its memory back.
        let spare = finished.and_then(Arc::into_inner);
        let mut state = self.lock();
        state.spare.extend(spare);
        loop {
            if self.cancel.is_cancelled() {
                state.stop();
            }
            if state.is_stopped(worker) {
                return Step::End(Ok(()));
            }
            if let Some(turn) = state.take_turn(worker, self.chunks.as_deref()) {
                let workers = state.workers.len();
                let new_block = || IndexedBlock::new(self.config.block_bytes, workers);
                let mut block = state.spare.pop().unwrap_or_else(new_block);
                let may_wait = !state.has_block(worker);
                drop(state);
                block.clear();
                match turn {
                    Turn::Now(source, sequencer) => self.fill(source, sequencer, block, may_wait, sorter),
                    Turn::AfterReading { number, offset } => {
                        self.read_and_fill(number, offset, block, sorter)
                    }
                }
                state = self.lock();
            } else if let Some(step) = state.take_block(worker) {
                if state.release() {
                    self.changed.notify_all();
                }
                return step;
            } else if !state.has_block(worker)
                && let SourceState::Ended(error) = &mut state.source_state
            {
                return Step::End(error.take().map_or(Ok(()), Err));
            } else {
                state = self.wait(state);
            }
        }
    }

    /// Stops all workers after the newest block that any of them has started, so that all count the same frames.
    pub(super) fn stop(&self) {
        self.lock().stop();
        self.changed.notify_all();
    }

    /// Removes a worker from the ring, so that no thread waits for it.
    pub(super) fn leave(&self, worker: usize) {
        let mut state = self.lock();
        if let Some(cursor) = state.workers.get_mut(worker) {
            *cursor = WorkerCursor::default();
        }
        state.release();
        drop(state);
        self.changed.notify_all();
    }

    /// Fills a block, returns the source to the ring, then sorts the block. `may_wait` is false for a worker that has a block
    /// to analyse.
    fn fill(
        &self,
        mut source: S,
        mut sequencer: Sequencer,
        mut block: IndexedBlock<'f>,
        may_wait: bool,
        sorter: &mut Sorter,
    ) {
        let mut guard = PanicGuard { ring: self, unsorted: None, is_done: false };
        let outcome = loop {
            let outcome = source.fill(&mut block.frames);
            let is_idle = matches!(outcome, Ok(Fill::Idle)) && block.frames.is_empty();
            if !is_idle || !may_wait || self.cancel.is_cancelled() || self.lock().stop_at.is_some() {
                break outcome;
            }
        };
        sequencer.sequence(&mut block);
        let is_filled = !block.frames.is_empty();
        {
            let mut state = self.lock();
            state.return_source(source, sequencer, outcome);
            if is_filled {
                guard.unsorted = Some(state.add_unsorted());
            }
        }
        if let Some(number) = guard.unsorted {
            // The next worker may fill a block meanwhile.
            self.changed.notify_one();
            self.sort(number, block, sorter);
        } else {
            self.lock().spare.push(block);
            self.changed.notify_all();
        }
        guard.is_done = true;
    }

    /// Reads the chunk of a block, then fills and sorts the block. It stays empty if the source has ended.
    fn read_and_fill(&self, number: u64, offset: u64, mut block: IndexedBlock<'f>, sorter: &mut Sorter) {
        let mut guard = PanicGuard { ring: self, unsorted: Some(number), is_done: false };
        if let Some(chunks) = &self.chunks {
            let buffer = block.frames.swap_buffer(Vec::new());
            block.frames.set_chunk(chunks.read(offset, buffer));
        }
        let mut state = self.lock();
        // No deadlock: a block waits only for earlier ones.
        while state.next_unfilled != number {
            if state.stop_at.is_some_and(|stop_at| number >= stop_at) {
                // No worker takes the block.
                guard.is_done = true;
                return;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some((mut source, mut sequencer)) = state.take_source() {
            drop(state);
            let outcome = source.fill(&mut block.frames);
            sequencer.sequence(&mut block);
            state = self.lock();
            state.return_source(source, sequencer, outcome);
        } else if let Some(sequencer) = &mut state.sequencer {
            sequencer.sequence(&mut block);
        }
        state.next_unfilled = number.saturating_add(1);
        drop(state);
        self.changed.notify_all();
        self.sort(number, block, sorter);
        guard.is_done = true;
    }

    /// Sorts a block, and hands it to the workers.
    fn sort(&self, number: u64, mut block: IndexedBlock<'f>, sorter: &mut Sorter) {
        sorter.sort(&mut block);
        self.lock().set_sorted(number, block);
        self.changed.notify_all();
    }

    /// Waits until the ring changes, or until the slowest worker must skip a block.
    fn wait<'s>(&self, mut state: MutexGuard<'s, RingState<'f, S>>) -> MutexGuard<'s, RingState<'f, S>> {
        let Some(left) = (self.config.overflow == Overflow::Drop).then(|| state.congestion()).flatten()
        else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        if left.is_zero() {
            if state.skip_first() {
                self.changed.notify_all();
                return state;
            }
            // The worker that sorts the first block wakes this one.
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, RingState<'f, S>> {
        // No code that panics while it holds the lock has changed the state, so that a poisoned one is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the ring if a worker panics while it reads, fills or sorts a block, so that no thread waits for it.
struct PanicGuard<'r, 'a, 'f, S: Source<'f>> {
    ring: &'r Ring<'a, 'f, S>,
    /// The number of the block, once it has one.
    unsorted: Option<u64>,
    is_done: bool,
}

impl<'f, S: Source<'f>> Drop for PanicGuard<'_, '_, 'f, S> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut state = self.ring.lock();
        match self.unsorted {
            None => state.source_state = SourceState::Ended(None),
            Some(number) => state.stop_at = Some(state.stop_at.unwrap_or(number).min(number)),
        }
        drop(state);
        self.ring.changed.notify_all();
    }
}

impl<'f, S: Source<'f>> RingState<'f, S> {
    fn stop(&mut self) {
        // Blocks started by workers that have left count, too.
        self.stop_at.get_or_insert(self.next_unstarted);
    }

    /// Whether a worker has reached the block before which all stop.
    fn is_stopped(&self, worker: usize) -> bool {
        let cursor = self.workers.get(worker).filter(|cursor| cursor.skipped.is_empty());
        self.stop_at.is_some_and(|stop_at| cursor.is_some_and(|cursor| cursor.next >= Some(stop_at)))
    }

    /// Takes the right to fill the next block if this worker is ahead and the ring has room. The worker is ahead if its next block is
    /// missing or, unless the source is idle, the last one in the ring or not sorted yet.
    fn take_turn(&mut self, worker: usize, chunks: Option<&dyn ChunkReader>) -> Option<Turn<S>> {
        if self.stop_at.is_some() || matches!(self.source_state, SourceState::Ended(_)) {
            return None;
        }
        let cursor = self.workers.get(worker)?;
        let wanted = cursor.next?.saturating_sub(self.first);
        let next = self.blocks.get(usize::try_from(wanted).ok()?);
        let is_last = wanted.saturating_add(1) == self.blocks.len() as u64;
        let is_ahead = match next {
            None => true,
            Some(block) => !self.source_is_idle && (is_last || block.is_none()),
        };
        if !is_ahead || !cursor.skipped.is_empty() || self.blocks.len() >= RING_BLOCKS {
            return None;
        }
        match chunks {
            Some(chunks) => {
                let offset = chunks.claim();
                Some(Turn::AfterReading { number: self.add_unsorted(), offset })
            }
            None => self.take_source().map(|(source, sequencer)| Turn::Now(source, sequencer)),
        }
    }

    /// Takes the source, unless a worker uses it or it has ended.
    fn take_source(&mut self) -> Option<(S, Sequencer)> {
        match std::mem::replace(&mut self.source_state, SourceState::InUse) {
            SourceState::Available(source) => Some((source, self.sequencer.take()?)),
            other => {
                self.source_state = other;
                None
            }
        }
    }

    /// Takes the source back after this outcome of a fill.
    fn return_source(&mut self, source: S, sequencer: Sequencer, outcome: Result<Fill, S::Error>) {
        self.source_is_idle = matches!(outcome, Ok(Fill::Idle));
        self.source_state = match outcome {
            Ok(Fill::More | Fill::Idle) => SourceState::Available(source),
            Ok(Fill::End) => SourceState::Ended(None),
            Err(error) => SourceState::Ended(Some(error)),
        };
        self.sequencer = Some(sequencer);
    }

    /// Adds a block that is not sorted yet, and returns its number.
    fn add_unsorted(&mut self) -> u64 {
        let number = self.first.saturating_add(self.blocks.len() as u64);
        self.blocks.push_back(None);
        number
    }

    /// Whether the next block of a worker is in the ring, sorted or not.
    fn has_block(&self, worker: usize) -> bool {
        let next = self.workers.get(worker).and_then(|cursor| cursor.next);
        next.is_some_and(|next| next.saturating_sub(self.first) < self.blocks.len() as u64)
    }

    fn set_sorted(&mut self, number: u64, block: IndexedBlock<'f>) {
        let index = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(unsorted) = self.blocks.get_mut(index) {
            *unsorted = Some(Arc::new(block));
        }
    }

    /// Takes the next block that a worker must skip or analyse.
    fn take_block(&mut self, worker: usize) -> Option<Step<'f, S::Error>> {
        let cursor = self.workers.get_mut(worker)?;
        if let Some(block) = cursor.skipped.pop_front() {
            return Some(Step::Skip(block));
        }
        let next = cursor.next?;
        let block = self.blocks.get(usize::try_from(next.checked_sub(self.first)?).ok()?)?;
        let block = Arc::clone(block.as_ref()?);
        let following = next.saturating_add(1);
        cursor.next = Some(following);
        self.next_unstarted = self.next_unstarted.max(following);
        Some(Step::Analyze(block))
    }

    /// Removes the blocks that all workers have taken. Returns whether a full ring has room again.
    fn release(&mut self) -> bool {
        let was_full = self.blocks.len() >= RING_BLOCKS;
        let next = self.workers.iter().filter_map(|cursor| cursor.next).min().unwrap_or(u64::MAX);
        while self.first < next && self.blocks.pop_front().is_some() {
            self.first = self.first.saturating_add(1);
        }
        if self.blocks.len() <= RING_RECOVERED_BLOCKS {
            self.congested_since = None;
        }
        was_full && self.blocks.len() < RING_BLOCKS
    }

    /// Returns the time until a block may be skipped, if the ring is full.
    fn congestion(&mut self) -> Option<Duration> {
        if self.blocks.len() < RING_BLOCKS {
            return None;
        }
        let since = *self.congested_since.get_or_insert_with(Instant::now);
        Some(RING_CONGESTED_TIMEOUT.saturating_sub(since.elapsed()))
    }

    /// Makes the workers that have not taken the first block skip it. False if that block is still being sorted.
    fn skip_first(&mut self) -> bool {
        let Some(block) = self.blocks.front().cloned().flatten() else { return false };
        self.blocks.pop_front();
        let first = self.first;
        self.first = first.saturating_add(1);
        for cursor in self.workers.iter_mut().filter(|cursor| cursor.next == Some(first)) {
            cursor.next = Some(self.first);
            cursor.skipped.push_back(Arc::clone(&block));
        }
        true
    }
}

#[cfg(test)]
mod tests;
