//! The frames of several interfaces, in the order in which they were captured.

use std::time::{Duration, Instant, SystemTime};

use huginn_net_core::{Frame, Timestamp};

use crate::backend::CaptureBackend;
use crate::frame_batch::FrameBatch;

/// A moment, by two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    pub(crate) at: Instant,
    /// By the clock that stamps frames, which may step.
    pub(crate) time: Timestamp,
}

impl ClockReading {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), time: SystemTime::now().into() }
    }
}

/// What was taken from the interfaces of a source and not lent yet.
///
/// A frame may be lent when none that is earlier can come any more: each interface that has no frame here was looked at, in
/// vain, when frames as early as this had to be there: so long after its capture as the system may hold frames back. Where
/// the clock that stamps frames steps, no frame waits for longer than that since it was taken; those that were captured
/// before it was set back go first.
pub(crate) struct FrameQueues {
    queues: Vec<Queue>,
    /// Whose frames are being lent, and how many of them may be in a row.
    current: usize,
    ready: usize,
}

/// The frames of one interface.
struct Queue {
    frames: FrameBatch,
    /// Frames lent and not counted.
    lent: u64,
    /// When it was looked at last in vain.
    empty_at: ClockReading,
}

/// The order of frames by their times of capture. Those that were captured later than the clock now shows come first: it was
/// set back since, and they would wait for as long.
#[derive(Clone, Copy)]
struct MergeOrder {
    /// In nanoseconds since the Unix epoch.
    latest: u64,
}

/// The frame that is next in a queue.
struct NextFrameTime {
    ts: u64,
    received_at: ClockReading,
}

impl FrameQueues {
    pub(crate) fn new(len: usize, now: ClockReading) -> Self {
        let queue = || Queue { frames: FrameBatch::new(now), lent: 0, empty_at: now };
        let queues = std::iter::repeat_with(queue).take(len).collect();
        Self { queues, current: 0, ready: 0 }
    }

    /// How many frames may be lent in a row.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// Whose frames may be lent.
    #[inline]
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Lends the next frame of those that may be, from the backend of [`turn`](Self::turn).
    #[inline]
    pub(crate) fn lend<'a>(&'a mut self, backend: &'a dyn CaptureBackend) -> Option<Frame<'a>> {
        let queue = self.queues.get_mut(self.current)?;
        self.ready = self.ready.saturating_sub(1);
        queue.lent = queue.lent.saturating_add(1);
        queue.frames.lend(backend)
    }

    /// When the frame lent last was taken from the system.
    pub(crate) fn taken_at(&self) -> Option<Timestamp> {
        self.queues.get(self.current).map(|queue| queue.frames.received_at.time)
    }

    /// Finds out whose frames may be lent now, and how many; tells whether there are any. Frames may be held back by the
    /// system for so long; `None` where no others will come.
    pub(crate) fn select(&mut self, max_delay: Option<Duration>) -> bool {
        self.ready = 0;
        let order = self.order(max_delay);
        if let Some((current, until)) = self.next(max_delay, order) {
            let is_free = |ts| order.rank(ts) <= until;
            self.current = current;
            self.ready = self.queues.get(current).map_or(0, |queue| queue.frames.remaining_while(is_free));
        }
        self.ready > 0
    }

    /// Whether an interface is to be looked at.
    pub(crate) fn needs_frames(&self, slot: usize) -> bool {
        self.queues.get(slot).is_some_and(|queue| queue.frames.remaining() == 0)
    }

    /// The frames of an interface, all of which were lent.
    pub(crate) fn drained(&mut self, slot: usize) -> Option<&mut FrameBatch> {
        self.queues.get_mut(slot).map(|queue| &mut queue.frames).filter(|frames| frames.remaining() == 0)
    }

    /// Room for what is taken from an interface that is short of frames.
    pub(crate) fn refill(&mut self, slot: usize) -> Option<&mut FrameBatch> {
        let frames = &mut self.queues.get_mut(slot)?.frames;
        frames.clear();
        Some(frames)
    }

    /// Notes that an interface was looked at in vain.
    pub(crate) fn mark_empty(&mut self, slot: usize, moment: ClockReading) {
        if let Some(queue) = self.queues.get_mut(slot) {
            queue.empty_at = moment;
        }
    }

    /// How long the next frame has to wait at most, where there is one.
    pub(crate) fn wait(&self, now: ClockReading, max_delay: Duration) -> Option<Duration> {
        let head = self.queues.iter().filter_map(|queue| queue.head()).min_by_key(|head| head.ts)?;
        let by_time = head.ts.saturating_add(nanos(max_delay)).saturating_sub(now.time.as_nanos());
        let by_instant = max_delay.saturating_sub(now.at.duration_since(head.received_at.at));
        Some(by_instant.min(Duration::from_nanos(by_time)))
    }

    /// The numbers of frames lent since the last call, by interface.
    pub(crate) fn count(&mut self) -> impl Iterator<Item = u64> {
        self.queues.iter_mut().map(|queue| std::mem::take(&mut queue.lent))
    }

    /// Who is to lend next, and until which rank.
    fn next(&self, max_delay: Option<Duration>, order: MergeOrder) -> Option<(usize, u64)> {
        let mut first: Option<(usize, NextFrameTime)> = None;
        let mut until = u64::MAX;
        let mut known: Option<ClockReading> = None;
        for (slot, queue) in self.queues.iter().enumerate() {
            let Some(head) = queue.head() else {
                known = known.filter(|known| known.at <= queue.empty_at.at).or(Some(queue.empty_at));
                continue;
            };
            let rank = order.rank(head.ts);
            let other = match &mut first {
                Some((_, lowest)) if order.rank(lowest.ts) <= rank => rank,
                first => first.replace((slot, head)).map_or(u64::MAX, |(_, head)| order.rank(head.ts)),
            };
            until = until.min(other);
        }
        let (slot, head) = first?;
        if let (Some(known), Some(max_delay)) = (known, max_delay) {
            if known.at.checked_duration_since(head.received_at.at).is_none_or(|since| since < max_delay) {
                let is_there = known.time.as_nanos().saturating_sub(nanos(max_delay));
                until = until.min(order.rank(is_there));
            }
        }
        (order.rank(head.ts) <= until).then_some((slot, until))
    }

    /// The order in which frames are to be lent as of now.
    fn order(&self, max_delay: Option<Duration>) -> MergeOrder {
        let moments = self.queues.iter().flat_map(|queue| [queue.empty_at, queue.frames.received_at]);
        let now = moments.max_by_key(|moment| moment.at).zip(max_delay);
        let latest =
            now.map_or(u64::MAX, |(now, max_delay)| now.time.as_nanos().saturating_add(nanos(max_delay)));
        MergeOrder { latest }
    }
}

impl MergeOrder {
    /// The lower, the sooner.
    fn rank(self, ts: u64) -> u64 {
        ts.wrapping_sub(self.latest).wrapping_sub(1)
    }
}

impl Queue {
    /// The next frame.
    fn head(&self) -> Option<NextFrameTime> {
        Some(NextFrameTime { ts: self.frames.time()?, received_at: self.frames.received_at })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
