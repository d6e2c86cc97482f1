//! The index of a block: which frames each worker analyses. It is made once for all workers, so that none decodes the frames of
//! another.

use super::ingest::Decoding;
use super::packet_clock::{ClockSteps, PacketClock};
use crate::decode::{FastPath, FrameFlow, LazySegment, SortedSegment, record_after};
use crate::flow::{FlowPartitions, SegmentMeta};
use crate::limits::PREFETCH_DISTANCE;
use crate::source::StoredFrame;
use crate::{Block, Decoder, FlowKey, Frame, TcpFlags, Timestamp};

/// A block of frames with its index.
pub(super) struct IndexedBlock<'f> {
    pub(super) frames: Block<'f>,
    /// Number of the record before the first frame since the analyzer was built.
    record_before: u64,
    /// Packet time of each frame, in nanoseconds.
    times: Vec<u64>,
    /// The frames before which idle flows may end.
    time_steps: Vec<u32>,
    /// The tasks of each worker, in the order of the frames.
    tasks: Vec<Vec<Task<'f>>>,
    /// The tasks of all workers: shared frames, and those before which idle flows may end.
    common: Vec<CommonTask<'f>>,
    /// The state of numbers and packet time after the block.
    pub(super) end: BlockTime,
}

/// What a worker does at a frame. Tasks hold all that the worker reads besides the bytes of the frame: the worker then reads one
/// list from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'f> {
    stored: StoredFrame<'f>,
    /// Packet time, in nanoseconds.
    now: u64,
    /// Number of the frame's record since the analyzer was built.
    pub(super) record: u64,
    /// Index of the frame in the block.
    pub(super) frame: u32,
    pub(super) kind: TaskKind,
}

/// A task of all workers.
#[derive(Clone, Copy, Debug)]
struct CommonTask<'f> {
    task: Task<'f>,
    /// The worker of the frame, if it is not shared: the others only end idle flows.
    owner: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum TaskKind {
    /// Analyse a [plain](Decoder::is_plain) frame: its flow belongs to the worker.
    Plain { key: FlowKey, sender_is_low: bool, flags: TcpFlags },
    /// Decode and analyse the frame: its flow belongs to the worker. Frames without a segment belong to the first worker.
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

impl Task<'_> {
    /// Whether the flow of the frame belongs to the worker; unknown for shared frames.
    #[inline(always)]
    pub(super) fn is_own(&self) -> bool {
        matches!(self.kind, TaskKind::Plain { .. } | TaskKind::Own)
    }

    /// Returns the segment of a plain frame.
    #[inline(always)]
    pub(super) fn sorted_segment<'a>(&self, frame: Frame<'a>, number: u64) -> Option<SortedSegment<'a>> {
        let TaskKind::Plain { key, sender_is_low, flags } = self.kind else { return None };
        let meta = SegmentMeta { key, sender_is_low, ts: frame.ts, flags };
        Some(SortedSegment { frame, number, meta })
    }

    #[inline(always)]
    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now, 9)
    }
}

impl<'f> IndexedBlock<'f> {
    pub(super) fn new(block_bytes: usize, workers: usize) -> Self {
        Self {
            frames: Block::new(block_bytes),
            record_before: 0,
            times: Vec::new(),
            time_steps: Vec::new(),
            tasks: std::iter::repeat_with(Vec::new).take(workers).collect(),
            common: Vec::new(),
            end: BlockTime::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.times.clear();
        self.time_steps.clear();
        self.tasks.iter_mut().for_each(Vec::clear);
        self.common.clear();
    }

    /// Calls `each` with the tasks of a worker and their frames, in the order of the frames. Each step prefetches the frame 16 tasks
    /// ahead.
    #[inline(always)]
    pub(super) fn each_task(&self, worker: usize, mut each: impl FnMut(&Task<'f>, Frame<'_>)) {
        let own = self.tasks.get(worker).map_or(&[][..], Vec::as_slice);
        let (_, buffer) = self.frames.stored();
        let mut common = self.common.iter().peekable();
        for (index, task) in own.iter().enumerate() {
            if let Some(ahead) = own.get(index.saturating_add(PREFETCH_DISTANCE)) {
                ahead.stored.prefetch(buffer);
            }
            while let Some(before) = common.next_if(|before| before.task.frame < task.frame) {
                let before = before.of_worker(worker);
                each(&before, before.stored.read(buffer));
            }
            each(task, task.stored.read(buffer));
        }
        for task in common {
            let task = task.of_worker(worker);
            each(&task, task.stored.read(buffer));
        }
    }
}

impl<'f> CommonTask<'f> {
    fn of_worker(&self, worker: usize) -> Task<'f> {
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

    /// Adds the packet times of the frames of a block.
    pub(super) fn sequence(&mut self, block: &mut IndexedBlock<'_>) {
        let IndexedBlock { frames, record_before, times, time_steps, end, .. } = block;
        *record_before = self.record;
        let (stored, _) = frames.stored();
        times.reserve(stored.len());
        for (frame, StoredFrame { ts, .. }) in (0_u32..).zip(stored) {
            self.record = record_after(self.record, *ts);
            let now = self.clock.tick(*ts).as_nanos();
            times.push(now);
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
            has_plain: decoding.has_fast_path() && !decoding.decoder.verifies_checksums(),
            partitions: partitions.clone(),
            workers: worker_of,
        }
    }

    /// Adds the tasks of a block.
    pub(super) fn sort(&mut self, block: &mut IndexedBlock<'_>) {
        let IndexedBlock { frames, record_before, times, time_steps, tasks, common, .. } = block;
        let (mut record, mut time_steps) = (*record_before, time_steps.iter().peekable());
        let has_fast_path = self.decoder.has_fast_path();
        let (stored, buffer) = frames.stored();
        for ((index, stored_frame), now) in (0_u32..).zip(stored).zip(times) {
            if let Some(ahead) = stored.get((index as usize).saturating_add(PREFETCH_DISTANCE)) {
                ahead.prefetch(buffer);
            }
            record = record_after(record, stored_frame.ts);
            let frame = stored_frame.read(buffer);
            let (worker, kind) = match FastPath::from_ipv4_frame(&frame, 0).filter(|_| has_fast_path) {
                Some(fast) => {
                    let SegmentMeta { key, sender_is_low, flags, .. } = fast.meta();
                    let is_plain = self.has_plain && Decoder::is_plain(&fast);
                    let plain = || TaskKind::Plain { key, sender_is_low, flags };
                    (Some(self.worker_of(&key)), if is_plain { plain() } else { TaskKind::Own })
                }
                // The copy keeps the frame in registers on the fast path.
                None => match self.flow_of_slow(&{ frame }) {
                    FrameFlow::One(key) => (Some(self.worker_of(&key)), TaskKind::Own),
                    FrameFlow::NoSegment => (Some(0), TaskKind::Own),
                    FrameFlow::NeedsOrder => (None, TaskKind::Shared),
                },
            };
            let task = Task { stored: *stored_frame, now: *now, record, frame: index, kind };
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
