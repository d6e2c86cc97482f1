//! A ring of frame blocks: workers take turns to fill and sort blocks, and every worker reads its tasks of every block.
//!
//! The worker that is ahead fills the next block, so that the others find it ready. Blocks are filled one after the other, but
//! several are sorted at once, and several are read at once if the source has [chunks](Source::chunks). A worker that is `RING_BLOCKS`
//! ahead of the slowest one waits.

mod state;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use self::state::{RingState, Turn};
use super::CancelToken;
use super::index::{IndexedBlock, Sequencer, Sorter};
use crate::{ChunkReader, Fill, Source};

/// The policy for a worker that cannot keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
        let chunks = config.reads_at_once.then(|| source.chunks(config.block_bytes)).flatten();
        let state = RingState::new(source, sequencer, workers);
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
                let workers = state.workers();
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
            } else if let Some(end) = state.take_end(worker) {
                return Step::End(end);
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
        state.remove_worker(worker);
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
        state.give_up(self.unsorted);
        drop(state);
        self.ring.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
