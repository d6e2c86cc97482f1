//! The index of a block: which frames each worker analyses. It is made once for all workers, so that none decodes the frames of
//! another.

use prefetch_index::prefetch_index;

use crate::decode::{FastPath, FrameFlow, plain_tcp_ends, record_after};
use crate::flow::{FlowEnds, FlowPartitions};
use crate::limits::{CACHE_LINE_LEN, LAST_FLOW_BYTE, PREFETCH_DISTANCE};
use crate::packet_clock::{ClockSteps, PacketClock};
use crate::source::StoredFrame;
use crate::{Block, Decoder, Frame, Timestamp};

/// A block of frames with its index.
pub(super) struct IndexedBlock<'f> {
    pub(super) frames: Block<'f>,
    /// Number and packet time of each frame.
    moments: Vec<Moment>,
    /// The frames before which idle flows may end.
    time_steps: Vec<u32>,
    /// The frames of each worker, in order: indices in the block.
    own: Vec<Vec<u32>>,
    /// The tasks of all workers: shared frames, and those before which idle flows may end.
    common: Vec<CommonTask>,
    /// The state of numbers and packet time after the block.
    pub(super) end: BlockTime,
}

/// What is known of a frame once the frames before it are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Packet time, in nanoseconds.
    now: u64,
    /// Number of the frame's record since the analyzer was built.
    pub(super) record: u64,
}

impl Moment {
    #[inline(always)]
    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now, 9)
    }
}

/// What a worker does at a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Index of the frame in the block.
    pub(super) frame: u32,
    pub(super) kind: TaskKind,
}

/// A task of all workers.
#[derive(Clone, Copy, Debug)]
struct CommonTask {
    frame: u32,
    /// The worker of the frame, unless it is shared: the others only end idle flows.
    owner: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// Decode and analyse the frame: its flow belongs to the worker, or it has no segment.
    Own,
    /// Decode the frame, as every worker does, and analyse the segments of own flows.
    Shared,
    /// End idle flows.
    Time,
}

/// The number of the last record of a block, packet time after it, and the steps counted until then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockTime {
    pub(super) record: u64,
    pub(super) now: Timestamp,
    pub(super) steps: ClockSteps,
}

impl BlockTime {
    pub(super) fn new(record: u64, clock: &PacketClock) -> Self {
        Self { record, now: clock.now(), steps: clock.steps() }
    }
}

impl<'f> IndexedBlock<'f> {
    pub(super) fn new(block_bytes: usize, workers: usize) -> Self {
        Self {
            frames: Block::new(block_bytes),
            moments: Vec::new(),
            time_steps: Vec::new(),
            own: std::iter::repeat_with(Vec::new).take(workers).collect(),
            common: Vec::new(),
            end: BlockTime::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.moments.clear();
        self.time_steps.clear();
        self.own.iter_mut().for_each(Vec::clear);
        self.common.clear();
    }

    /// Calls `each` with the tasks of a worker, their moments and their frames, in the order of the frames.
    #[inline(always)]
    pub(super) fn each_task(&self, worker: usize, mut each: impl FnMut(Task, &Moment, Frame<'_>)) {
        let mut own = self.own.get(worker).map_or(&[][..], Vec::as_slice);
        let mut common = self.common.as_slice();
        let (stored, buffer) = self.frames.stored();
        // One call of `each`, so that the compiler inlines it.
        loop {
            let is_next = |task: &&CommonTask| own.first().is_none_or(|own| task.frame < *own);
            let task = if let Some(task) = common.first().filter(is_next) {
                common = common.get(1..).unwrap_or_default();
                task.of_worker(worker)
            } else {
                self.prefetch(own);
                let Some((frame, others)) = own.split_first() else { return };
                own = others;
                Task { frame: *frame, kind: TaskKind::Own }
            };
            let index = task.frame as usize;
            let (Some(moment), Some(frame)) = (self.moments.get(index), stored.get(index)) else { continue };
            each(task, moment, frame.read(buffer));
        }
    }

    /// Prefetches the frame 16 tasks ahead, and the record of the frame 32 tasks ahead, which another thread wrote.
    #[inline(always)]
    fn prefetch(&self, own: &[u32]) {
        let (stored, buffer) = self.frames.stored();
        if let Some(ahead) = own.get(2 * PREFETCH_DISTANCE) {
            prefetch_index(stored, *ahead as usize);
            prefetch_index(&self.moments, *ahead as usize);
        }
        if let Some(frame) = own.get(PREFETCH_DISTANCE).and_then(|ahead| stored.get(*ahead as usize)) {
            frame.prefetch(buffer, CACHE_LINE_LEN);
        }
    }
}

impl CommonTask {
    fn of_worker(self, worker: usize) -> Task {
        let Self { frame, owner } = self;
        let kind = match owner {
            None => TaskKind::Shared,
            Some(owner) if owner as usize == worker => TaskKind::Own,
            Some(_) => TaskKind::Time,
        };
        Task { frame, kind }
    }
}

/// Gives each frame its number and its packet time, in the order of the capture.
pub(super) struct Sequencer {
    clock: PacketClock,
    /// Number of the last record.
    record: u64,
    /// Idle flows end at multiples of this packet time, in nanoseconds.
    step_nanos: u64,
    next_step_nanos: u64,
}

impl Sequencer {
    pub(super) fn new(clock: PacketClock, record: u64, step_nanos: u64) -> Self {
        Self { clock, record, step_nanos, next_step_nanos: 0 }
    }

    /// Adds the moments of the frames of a block.
    pub(super) fn sequence(&mut self, block: &mut IndexedBlock<'_>) {
        let IndexedBlock { frames, moments, time_steps, end, .. } = block;
        let (stored, _) = frames.stored();
        moments.reserve(stored.len());
        for (frame, StoredFrame { ts, .. }) in (0_u32..).zip(stored) {
            self.record = record_after(self.record, *ts);
            let now = self.clock.tick(*ts).as_nanos();
            moments.push(Moment { now, record: self.record });
            if now >= self.next_step_nanos {
                time_steps.push(frame);
                let since_step = now.checked_rem(self.step_nanos).unwrap_or(0);
                self.next_step_nanos = now.saturating_sub(since_step).saturating_add(self.step_nanos);
            }
        }
        *end = BlockTime::new(self.record, &self.clock);
    }
}

/// Finds the worker of each frame, whatever the frames before it: several blocks can be sorted at once.
pub(super) struct Sorter {
    decoder: Decoder,
    partitions: FlowPartitions,
    /// The worker of each partition.
    workers: Vec<u32>,
}

impl Sorter {
    pub(super) fn new(decoder: &Decoder, partitions: &FlowPartitions, workers: usize) -> Self {
        let mut worker_of = vec![0; partitions.count];
        for worker in 0..workers {
            let range = partitions.range_of_worker(worker, workers);
            if let Some(owned) = worker_of.get_mut(range) {
                owned.fill(u32::try_from(worker).unwrap_or(u32::MAX));
            }
        }
        Self { decoder: decoder.fork_without_order(), partitions: partitions.clone(), workers: worker_of }
    }

    /// Adds the tasks of a block.
    pub(super) fn sort(&mut self, block: &mut IndexedBlock<'_>) {
        let IndexedBlock { frames, time_steps, own, common, .. } = block;
        let mut time_steps = time_steps.iter().peekable();
        let has_fast_path = self.decoder.has_fast_path();
        let (stored, buffer) = frames.stored();
        let share = stored.len().checked_div(own.len()).unwrap_or(0);
        own.iter_mut().for_each(|own| own.reserve(share));
        for (index, stored_frame) in (0_u32..).zip(stored) {
            if let Some(ahead) = stored.get((index as usize).saturating_add(PREFETCH_DISTANCE)) {
                ahead.prefetch(buffer, LAST_FLOW_BYTE);
            }
            let frame = stored_frame.read(buffer);
            let owner = match plain_tcp_ends(&frame).filter(|_| has_fast_path) {
                Some(ends) => Some(self.worker_of(ends)),
                // The copy keeps the frame in registers on the fast path.
                None => self.worker_of_slow(&{ frame }),
            };
            let is_time_step = time_steps.next_if_eq(&&index).is_some();
            match owner {
                Some(worker) if !is_time_step => {
                    if let Some(own) = own.get_mut(worker as usize) {
                        own.push(index);
                    }
                }
                owner => common.push(CommonTask { frame: index, owner }),
            }
        }
    }

    /// Returns the worker of a frame: the first one if it has no segment; `None` if the frame is shared.
    #[inline(never)]
    fn worker_of_slow(&mut self, frame: &Frame<'_>) -> Option<u32> {
        let flow = match FastPath::from_ipv6_frame(frame, 0).filter(|_| self.decoder.has_fast_path()) {
            Some(fast) => FrameFlow::One(fast.key().0),
            None => self.decoder.flow_of(frame),
        };
        match flow {
            FrameFlow::One(key) => Some(self.worker_of(&key)),
            FrameFlow::NoSegment => Some(0),
            FrameFlow::NeedsOrder => None,
        }
    }

    #[inline(always)]
    fn worker_of(&self, flow: impl Into<FlowEnds>) -> u32 {
        self.workers.get(self.partitions.index_of(flow)).copied().unwrap_or(0)
    }
}
