//! The blocks of the ring, the position of each worker, and whose turn it is to fill the next block. No thread waits here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Step;
use crate::engine::index::{IndexedBlock, Sequencer};
use crate::limits::{RING_BLOCKS, RING_CONGESTED_TIMEOUT, RING_RECOVERED_BLOCKS};
use crate::{ChunkReader, Fill, Source};

pub(super) struct RingState<'f, S: Source<'f>> {
    source_state: SourceState<'f, S>,
    /// At most [`RING_BLOCKS`]; `None` while a worker reads, fills or sorts the block.
    pub(super) blocks: VecDeque<Option<Arc<IndexedBlock<'f>>>>,
    /// The number of the first block in `blocks`.
    first: u64,
    /// The number of the first block that no worker has started.
    next_unstarted: u64,
    /// The number of the next block to be filled from a chunk.
    pub(super) next_unfilled: u64,
    workers: Vec<WorkerCursor<'f>>,
    pub(super) spare: Vec<IndexedBlock<'f>>,
    /// Used by the worker that fills a block.
    pub(super) sequencer: Option<Sequencer>,
    /// Whether the source was idle at the last fill. Workers then fill no block ahead of need.
    source_is_idle: bool,
    /// When the ring became full; `None` once it has recovered.
    pub(super) congested_since: Option<Instant>,
    /// The block before which all workers stop, once the analysis ends.
    pub(super) stop_at: Option<u64>,
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
pub(super) enum Turn<S> {
    /// With the source.
    Now(S, Sequencer),
    /// Once the chunk at this offset is read, and the blocks before it are filled.
    AfterReading { number: u64, offset: u64 },
}

impl<'f, S: Source<'f>> RingState<'f, S> {
    pub(super) fn new(source: S, sequencer: Sequencer, workers: usize) -> Self {
        let cursor = || WorkerCursor { next: Some(0), skipped: VecDeque::new() };
        Self {
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
        }
    }

    pub(super) fn workers(&self) -> usize {
        self.workers.len()
    }

    pub(super) fn stop(&mut self) {
        // Blocks started by workers that have left count, too.
        self.stop_at.get_or_insert(self.next_unstarted);
    }

    /// Whether a worker has reached the block before which all stop.
    pub(super) fn is_stopped(&self, worker: usize) -> bool {
        let cursor = self.workers.get(worker).filter(|cursor| cursor.skipped.is_empty());
        self.stop_at.is_some_and(|stop_at| cursor.is_some_and(|cursor| cursor.next >= Some(stop_at)))
    }

    /// Takes the right to fill the next block if this worker is ahead and the ring has room. The worker is ahead if its next block is
    /// missing or, unless the source is idle, the last one in the ring or not sorted yet.
    pub(super) fn take_turn(&mut self, worker: usize, chunks: Option<&dyn ChunkReader>) -> Option<Turn<S>> {
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
    pub(super) fn take_source(&mut self) -> Option<(S, Sequencer)> {
        match std::mem::replace(&mut self.source_state, SourceState::InUse) {
            SourceState::Available(source) => Some((source, self.sequencer.take()?)),
            other => {
                self.source_state = other;
                None
            }
        }
    }

    /// Takes the source back after this outcome of a fill.
    pub(super) fn return_source(&mut self, source: S, sequencer: Sequencer, outcome: Result<Fill, S::Error>) {
        self.source_is_idle = matches!(outcome, Ok(Fill::Idle));
        self.source_state = match outcome {
            Ok(Fill::More | Fill::Idle) => SourceState::Available(source),
            Ok(Fill::End) => SourceState::Ended(None),
            Err(error) => SourceState::Ended(Some(error)),
        };
        self.sequencer = Some(sequencer);
    }

    /// Adds a block that is not sorted yet, and returns its number.
    pub(super) fn add_unsorted(&mut self) -> u64 {
        let number = self.first.saturating_add(self.blocks.len() as u64);
        self.blocks.push_back(None);
        number
    }

    /// Whether the next block of a worker is in the ring, sorted or not.
    pub(super) fn has_block(&self, worker: usize) -> bool {
        let next = self.workers.get(worker).and_then(|cursor| cursor.next);
        next.is_some_and(|next| next.saturating_sub(self.first) < self.blocks.len() as u64)
    }

    pub(super) fn set_sorted(&mut self, number: u64, block: IndexedBlock<'f>) {
        let index = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(unsorted) = self.blocks.get_mut(index) {
            *unsorted = Some(Arc::new(block));
        }
    }

    /// Takes the next block that a worker must skip or analyse.
    pub(super) fn take_block(&mut self, worker: usize) -> Option<Step<'f, S::Error>> {
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

    /// Returns how the analysis of a worker ends, if the source has ended and the ring has no block for it.
    pub(super) fn take_end(&mut self, worker: usize) -> Option<Result<(), S::Error>> {
        if self.has_block(worker) {
            return None;
        }
        let SourceState::Ended(error) = &mut self.source_state else { return None };
        Some(error.take().map_or(Ok(()), Err))
    }

    /// Removes a worker, so that no block waits for it.
    pub(super) fn remove_worker(&mut self, worker: usize) {
        if let Some(cursor) = self.workers.get_mut(worker) {
            *cursor = WorkerCursor::default();
        }
        self.release();
    }

    /// Ends the analysis before this block, which will not be sorted, or else the source, which will not be returned.
    pub(super) fn give_up(&mut self, unsorted: Option<u64>) {
        match unsorted {
            None => self.source_state = SourceState::Ended(None),
            Some(number) => self.stop_at = Some(self.stop_at.unwrap_or(number).min(number)),
        }
    }

    /// Removes the blocks that all workers have taken. Returns whether a full ring has room again.
    pub(super) fn release(&mut self) -> bool {
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
    pub(super) fn congestion(&mut self) -> Option<Duration> {
        if self.blocks.len() < RING_BLOCKS {
            return None;
        }
        let since = *self.congested_since.get_or_insert_with(Instant::now);
        Some(RING_CONGESTED_TIMEOUT.saturating_sub(since.elapsed()))
    }

    /// Makes the workers that have not taken the first block skip it. False if that block is still being sorted.
    pub(super) fn skip_first(&mut self) -> bool {
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
