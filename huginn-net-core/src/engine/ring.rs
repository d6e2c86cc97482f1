//! A ring of frame blocks: workers take turns to fill blocks, and every worker reads every block.
//!
//! The worker that is ahead fills the next block, so that the others find it ready. A worker that is `RING_BLOCKS`
//! ahead of the slowest one waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::CancelToken;
use crate::limits::{RING_BLOCKS, RING_CONGESTED_TIMEOUT, RING_RECOVERED_BLOCKS};
use crate::{Block, Fill, Source};

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
}

/// The ring of blocks, and the source that fills them.
pub(super) struct Ring<'a, S: Source> {
    state: Mutex<RingState<S>>,
    changed: Condvar,
    config: RingConfig,
    cancel: &'a CancelToken,
}

struct RingState<S: Source> {
    source_state: SourceState<S>,
    /// At most [`RING_BLOCKS`].
    blocks: VecDeque<Arc<Block>>,
    /// The number of the first block in `blocks`.
    first: u64,
    /// The number of the first block that no worker has started.
    next_unstarted: u64,
    workers: Vec<WorkerCursor>,
    spare: Vec<Block>,
    /// Whether the source was idle at the last fill. Workers then fill no block ahead of need.
    source_is_idle: bool,
    /// When the ring became full; `None` once it has recovered.
    congested_since: Option<Instant>,
    /// The block before which all workers stop, once the analysis ends.
    stop_at: Option<u64>,
}

/// The position of a worker in the ring.
#[derive(Default)]
struct WorkerCursor {
    /// The number of the next block; `None` once the worker has left.
    next: Option<u64>,
    /// Earlier blocks that the worker must skip.
    skipped: VecDeque<Arc<Block>>,
}

/// The source of frames, and its current user.
enum SourceState<S: Source> {
    /// The next worker may fill a block.
    Available(S),
    /// A worker is filling a block.
    InUse,
    /// The source has ended. The first worker to notice receives the error.
    Ended(Option<S::Error>),
}

/// The next task of a worker.
pub(super) enum Step<E> {
    Analyze(Arc<Block>),
    /// Count the segments of this block as dropped.
    Skip(Arc<Block>),
    End(Result<(), E>),
}

impl<'a, S: Source> Ring<'a, S> {
    pub(super) fn new(source: S, workers: usize, config: RingConfig, cancel: &'a CancelToken) -> Self {
        let cursor = || WorkerCursor { next: Some(0), skipped: VecDeque::new() };
        let state = RingState {
            source_state: SourceState::Available(source),
            blocks: VecDeque::new(),
            first: 0,
            next_unstarted: 0,
            workers: std::iter::repeat_with(cursor).take(workers).collect(),
            spare: Vec::new(),
            source_is_idle: false,
            congested_since: None,
            stop_at: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), config, cancel }
    }

    /// Returns the next task of a worker, and takes back the block that it finished.
    pub(super) fn next(&self, worker: usize, finished: Option<Arc<Block>>) -> Step<S::Error> {
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
            if let Some(source) = state.take_source(worker) {
                let block = state.spare.pop().unwrap_or_else(|| Block::new(self.config.block_bytes));
                let may_wait = !state.has_block(worker);
                drop(state);
                self.fill(source, block, may_wait);
                state = self.lock();
            } else if let Some(step) = state.take_block(worker) {
                drop(state);
                self.changed.notify_all();
                return step;
            } else if let SourceState::Ended(error) = &mut state.source_state {
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

    /// Fills a block and returns block and source to the ring. `may_wait` is false for a worker that has a block to
    /// analyse.
    fn fill(&self, mut source: S, mut block: Block, may_wait: bool) {
        // If the source panics, the guard ends the ring, so that no thread waits for it.
        let mut guard =
            FillGuard { ring: self, block: None, then: SourceState::Ended(None), source_is_idle: false };
        block.clear();
        let outcome = loop {
            let outcome = source.fill(&mut block);
            let is_idle = matches!(outcome, Ok(Fill::Idle)) && block.is_empty();
            if !is_idle || !may_wait || self.cancel.is_cancelled() || self.lock().stop_at.is_some() {
                break outcome;
            }
        };
        guard.block = (!block.is_empty()).then_some(block);
        guard.source_is_idle = matches!(outcome, Ok(Fill::Idle));
        guard.then = match outcome {
            Ok(Fill::More | Fill::Idle) => SourceState::Available(source),
            Ok(Fill::End) => SourceState::Ended(None),
            Err(error) => SourceState::Ended(Some(error)),
        };
    }

    /// Waits until the ring changes, or until the slowest worker must skip a block.
    fn wait<'s>(&self, mut state: MutexGuard<'s, RingState<S>>) -> MutexGuard<'s, RingState<S>> {
        let Some(left) = (self.config.overflow == Overflow::Drop).then(|| state.congestion()).flatten()
        else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        if left.is_zero() {
            state.skip_first();
            self.changed.notify_all();
            return state;
        }
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, RingState<S>> {
        // No code panics while it holds the lock, so a poisoned state is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns block and source to the ring on drop.
struct FillGuard<'r, 'a, S: Source> {
    ring: &'r Ring<'a, S>,
    block: Option<Block>,
    then: SourceState<S>,
    source_is_idle: bool,
}

impl<S: Source> Drop for FillGuard<'_, '_, S> {
    fn drop(&mut self) {
        let mut state = self.ring.lock();
        state.blocks.extend(self.block.take().map(Arc::new));
        state.source_state = std::mem::replace(&mut self.then, SourceState::InUse);
        state.source_is_idle = self.source_is_idle;
        drop(state);
        self.ring.changed.notify_all();
    }
}

impl<S: Source> RingState<S> {
    fn stop(&mut self) {
        // Blocks started by workers that have left count, too.
        self.stop_at.get_or_insert(self.next_unstarted);
    }

    /// Whether a worker has reached the block before which all stop.
    fn is_stopped(&self, worker: usize) -> bool {
        let cursor = self.workers.get(worker).filter(|cursor| cursor.skipped.is_empty());
        self.stop_at.is_some_and(|stop_at| cursor.is_some_and(|cursor| cursor.next >= Some(stop_at)))
    }

    /// Takes the source if this worker is ahead and the ring has room. The worker is ahead if its next block is
    /// missing or, unless the source is idle, the last one in the ring.
    fn take_source(&mut self, worker: usize) -> Option<S> {
        let cursor = self.workers.get(worker)?;
        let wanted = cursor.next?.saturating_sub(self.first);
        let last = wanted.saturating_add(u64::from(!self.source_is_idle));
        let is_ahead = self.blocks.len() as u64 <= last && cursor.skipped.is_empty();
        if !is_ahead || self.blocks.len() >= RING_BLOCKS {
            return None;
        }
        match std::mem::replace(&mut self.source_state, SourceState::InUse) {
            SourceState::Available(source) => Some(source),
            other => {
                self.source_state = other;
                None
            }
        }
    }

    /// Whether the next block of a worker is in the ring.
    fn has_block(&self, worker: usize) -> bool {
        let next = self.workers.get(worker).and_then(|cursor| cursor.next);
        next.is_some_and(|next| next.saturating_sub(self.first) < self.blocks.len() as u64)
    }

    /// Takes the next block that a worker must skip or analyse.
    fn take_block(&mut self, worker: usize) -> Option<Step<S::Error>> {
        let cursor = self.workers.get_mut(worker)?;
        if let Some(block) = cursor.skipped.pop_front() {
            return Some(Step::Skip(block));
        }
        let next = cursor.next?;
        let block = self.blocks.get(usize::try_from(next.checked_sub(self.first)?).ok()?)?;
        let block = Arc::clone(block);
        let following = next.saturating_add(1);
        cursor.next = Some(following);
        self.next_unstarted = self.next_unstarted.max(following);
        self.release();
        Some(Step::Analyze(block))
    }

    /// Removes the blocks that all workers have taken.
    fn release(&mut self) {
        let next = self.workers.iter().filter_map(|cursor| cursor.next).min().unwrap_or(u64::MAX);
        while self.first < next && self.blocks.pop_front().is_some() {
            self.first = self.first.saturating_add(1);
        }
        if self.blocks.len() <= RING_RECOVERED_BLOCKS {
            self.congested_since = None;
        }
    }

    /// Returns the time until a block may be skipped, if the ring is full.
    fn congestion(&mut self) -> Option<Duration> {
        if self.blocks.len() < RING_BLOCKS {
            return None;
        }
        let since = *self.congested_since.get_or_insert_with(Instant::now);
        Some(RING_CONGESTED_TIMEOUT.saturating_sub(since.elapsed()))
    }

    /// Makes the workers that have not taken the first block skip it.
    fn skip_first(&mut self) {
        let Some(block) = self.blocks.pop_front() else { return };
        let first = self.first;
        self.first = first.saturating_add(1);
        for cursor in self.workers.iter_mut().filter(|cursor| cursor.next == Some(first)) {
            cursor.next = Some(self.first);
            cursor.skipped.push_back(Arc::clone(&block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Frames, LinkType, Timestamp};

    #[test]
    fn ring_recovers_when_half_empty() {
        let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &[0x45], wire_len: 1 };
        let cancel = CancelToken::default();
        let config = RingConfig { block_bytes: 1, overflow: Overflow::Drop };
        let ring = Ring::new(Frames::new(std::iter::repeat(frame)), 2, config, &cancel);
        let [fast, slow] = [0, 1];
        for _ in 0..RING_BLOCKS {
            assert!(ring.lock().congested_since.is_none());
            assert!(matches!(ring.next(fast, None), Step::Analyze(_)));
        }
        assert!(ring.lock().congestion().is_some());
        ring.lock().skip_first();
        assert!(matches!(ring.next(slow, None), Step::Skip(_)));
        for length in (RING_RECOVERED_BLOCKS..RING_BLOCKS - 1).rev() {
            assert!(ring.lock().congested_since.is_some());
            assert!(matches!(ring.next(slow, None), Step::Analyze(_)));
            assert_eq!(ring.lock().blocks.len(), length);
        }
        assert!(ring.lock().congested_since.is_none());
    }
}
