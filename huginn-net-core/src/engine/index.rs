//! The index of a block: which frames each worker analyses. It is made once for all workers, so that none decodes the frames of
//! another.

use prefetch_index::prefetch_index;

use super::ingest::Decoding;
use super::packet_clock::{ClockSteps, PacketClock};
use crate::decode::{FastPath, FrameFlow, LazySegment, record_after};
use crate::flow::{FlowPartitions, PlainMeta};
use crate::limits::{CACHE_LINE_LEN, FIXED_HEADERS_LEN, PREFETCH_DISTANCE};
use crate::source::StoredFrame;
use crate::{Block, Decoder, FlowKey, Frame, Timestamp};

/// A block of frames with its index.
pub(super) struct IndexedBlock<'f> {
    pub(super) frames: Block<'f>,
    /// Number and packet time of each frame.
    moments: Vec<Moment>,
    /// The frames before which idle flows may end.
    time_steps: Vec<u32>,
    /// The tasks of each worker, in the order of the frames.
    tasks: Vec<Vec<Task>>,
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

/// What a worker does at a frame: 20 bytes, because one thread writes them for another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Index of the frame in the block.
    pub(super) frame: u32,
    pub(super) kind: TaskKind,
}

const _: () = assert!(size_of::<Task>() == 20);

/// A task of all workers.
#[derive(Clone, Copy, Debug)]
struct CommonTask {
    task: Task,
    /// The worker of the frame, if it is not shared: the others only end idle flows.
    owner: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum TaskKind {
    /// Analyse a [plain](Decoder::is_plain) frame: its flow belongs to the worker.
    Plain(PlainMeta),
    /// Decode and analyse the frame: its flow belongs to the worker. Frames without a segment belong to the first worker.
    Own,
    /// Decode the frame, as every worker does, and analyse the segments of own flows.
    Shared,
    /// End idle flows.
    Time,
}

impl TaskKind {
    /// Whether the worker reads the bytes of the frame, whatever its flow.
    #[inline(always)]
    fn is_always_read(&self) -> bool {
        match self {
            Self::Plain(meta) => meta.has_control_flags(),
            Self::Own => true,
            // Few tasks are common ones.
            Self::Shared | Self::Time => false,
        }
    }
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

impl Task {
    /// Whether the flow of the frame belongs to the worker; unknown for shared frames.
    #[inline(always)]
    pub(super) fn is_own(&self) -> bool {
        matches!(self.kind, TaskKind::Plain(_) | TaskKind::Own)
    }
}

impl<'f> IndexedBlock<'f> {
    pub(super) fn new(block_bytes: usize, workers: usize) -> Self {
        Self {
            frames: Block::new(block_bytes),
            moments: Vec::new(),
            time_steps: Vec::new(),
            tasks: std::iter::repeat_with(Vec::new).take(workers).collect(),
            common: Vec::new(),
            end: BlockTime::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.moments.clear();
        self.time_steps.clear();
        self.tasks.iter_mut().for_each(Vec::clear);
        self.common.clear();
    }

    /// Calls `each` with the tasks of a worker, their moments and their frames, in the order of the frames. `each` returns whether it
    /// read the bytes of the frame: those of plain segments are prefetched if many were read lately.
    #[inline(always)]
    pub(super) fn each_task(&self, worker: usize, mut each: impl FnMut(&Task, &Moment, Frame<'_>) -> bool) {
        let mut own = self.tasks.get(worker).map_or(&[][..], Vec::as_slice);
        let mut common = self.common.as_slice();
        let mut reads = RecentReads::ALL;
        // One call of `each`, so that the compiler inlines it.
        loop {
            let is_next = |before: &&CommonTask| own.first().is_none_or(|own| before.task.frame < own.frame);
            let task = if let Some(before) = common.first().filter(is_next) {
                common = common.get(1..).unwrap_or_default();
                before.of_worker(worker)
            } else {
                self.prefetch(own, &reads);
                let Some((task, others)) = own.split_first() else { return };
                own = others;
                *task
            };
            let ((stored, buffer), index) = (self.frames.stored(), task.frame as usize);
            let (Some(moment), Some(frame)) = (self.moments.get(index), stored.get(index)) else { continue };
            reads.add(each(&task, moment, frame.read(buffer)));
        }
    }

    /// Prefetches the frame 16 tasks ahead, and the record of the frame 32 tasks ahead, which another thread wrote.
    #[inline(always)]
    fn prefetch(&self, tasks: &[Task], reads: &RecentReads) {
        let (stored, buffer) = self.frames.stored();
        if let Some(ahead) = tasks.get(2 * PREFETCH_DISTANCE) {
            prefetch_index(stored, ahead.frame as usize);
            prefetch_index(&self.moments, ahead.frame as usize);
        }
        if let Some(ahead) = tasks.get(PREFETCH_DISTANCE)
            && (reads.are_frequent() || ahead.kind.is_always_read())
            && let Some(frame) = stored.get(ahead.frame as usize)
        {
            frame.prefetch(buffer, CACHE_LINE_LEN);
        }
    }
}

/// How many of the latest tasks read the bytes of their frame. Of long connections, most segments are skipped unread, and a prefetch
/// costs more than all else that is done for them.
struct RecentReads {
    /// Moving average over about 32 tasks; [`Self::ALL`] if all did.
    average: u32,
}

impl RecentReads {
    const ALL: Self = Self { average: 1 << 16 };

    #[inline(always)]
    fn add(&mut self, was_read: bool) {
        let latest = if was_read { Self::ALL.average >> 5 } else { 0 };
        self.average = self.average.wrapping_sub(self.average >> 5).wrapping_add(latest);
    }

    /// Whether more than an eighth of the tasks did.
    #[inline(always)]
    fn are_frequent(&self) -> bool {
        self.average > Self::ALL.average >> 3
    }
}

impl CommonTask {
    fn of_worker(&self, worker: usize) -> Task {
        let is_own = self.owner.is_none_or(|owner| owner == worker);
        if is_own { self.task } else { Task { kind: TaskKind::Time, ..self.task } }
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
    /// Whether frames may be plain: segments are neither filtered nor verified.
    has_plain: bool,
    partitions: FlowPartitions,
    /// The worker of each partition.
    workers: Vec<u32>,
}

impl Sorter {
    pub(super) fn new(decoding: &Decoding, partitions: &FlowPartitions, workers: usize) -> Self {
        let mut worker_of = vec![0; partitions.len()];
        for worker in 0..workers {
            let range = partitions.range_of_worker(worker, workers);
            if let Some(owned) = worker_of.get_mut(range) {
                owned.fill(u32::try_from(worker).unwrap_or(u32::MAX));
            }
        }
        Self {
            decoder: decoding.decoder.fork_without_order(),
            has_plain: decoding.never_filters() && !decoding.decoder.verifies_checksums(),
            partitions: partitions.clone(),
            workers: worker_of,
        }
    }

    /// Adds the tasks of a block.
    pub(super) fn sort(&mut self, block: &mut IndexedBlock<'_>) {
        let IndexedBlock { frames, time_steps, tasks, common, .. } = block;
        let mut time_steps = time_steps.iter().peekable();
        let has_fast_path = self.decoder.has_fast_path();
        let (stored, buffer) = frames.stored();
        let share = stored.len().checked_div(tasks.len()).unwrap_or(0);
        tasks.iter_mut().for_each(|tasks| tasks.reserve(share));
        for (index, stored_frame) in (0_u32..).zip(stored) {
            if let Some(ahead) = stored.get((index as usize).saturating_add(PREFETCH_DISTANCE)) {
                ahead.prefetch(buffer, FIXED_HEADERS_LEN);
            }
            let frame = stored_frame.read(buffer);
            let (worker, kind) = match FastPath::from_ipv4_frame(&frame, 0).filter(|_| has_fast_path) {
                Some(fast) => {
                    let meta = fast.meta();
                    let kind = if self.has_plain && Decoder::is_plain(&fast) {
                        TaskKind::Plain(PlainMeta::from_ipv4(&meta, fast.ip_checksum_is_correct()))
                    } else {
                        TaskKind::Own
                    };
                    (Some(self.worker_of(&meta.key)), kind)
                }
                // The copy keeps the frame in registers on the fast path.
                None => match self.flow_of_slow(&{ frame }) {
                    FrameFlow::One(key) => (Some(self.worker_of(&key)), TaskKind::Own),
                    FrameFlow::NoSegment => (Some(0), TaskKind::Own),
                    FrameFlow::NeedsOrder => (None, TaskKind::Shared),
                },
            };
            let task = Task { frame: index, kind };
            let is_time_step = time_steps.next_if_eq(&&index).is_some();
            match worker {
                Some(worker) if !is_time_step => {
                    if let Some(tasks) = tasks.get_mut(worker) {
                        tasks.push(task);
                    }
                }
                owner => common.push(CommonTask { task, owner }),
            }
        }
    }

    #[inline(never)]
    fn flow_of_slow(&mut self, frame: &Frame<'_>) -> FrameFlow {
        match FastPath::from_ipv6_frame(frame, 0).filter(|_| self.decoder.has_fast_path()) {
            Some(fast) => FrameFlow::One(fast.key().0),
            None => self.decoder.flow_of(frame),
        }
    }

    #[inline(always)]
    fn worker_of(&self, key: &FlowKey) -> usize {
        self.workers.get(self.partitions.index_of(key)).map_or(0, |worker| *worker as usize)
    }
}
