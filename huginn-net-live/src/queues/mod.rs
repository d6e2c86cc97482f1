//! Merges the frames of several interfaces in timestamp order.

use std::time::{Duration, Instant, SystemTime};

use huginn_net_core::{Frame, Timestamp};

use crate::backend::CaptureBackend;
use crate::frame_batch::FrameBatch;

/// One point in time on two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    pub(crate) at: Instant,
    /// The wall clock that stamps frames; it may step.
    pub(crate) time: Timestamp,
}

impl ClockReading {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), time: SystemTime::now().into() }
    }
}

/// Received frames of each interface that were not lent yet.
///
/// A frame may be lent once no earlier frame can arrive. That holds if every interface with an empty queue was read,
/// without result, later than the frame's capture plus the maximum delay. If the wall clock steps, no frame waits
/// longer than that delay since it was received. Frames stamped before the clock was set back are lent first.
///
/// A stream may be far behind: its frames that are older than the maximum delay when they are received come after those of interfaces,
/// whose kernel buffers would overflow meanwhile. The sender of a stream waits.
pub(crate) struct FrameQueues {
    queues: Vec<Queue>,
    /// The interface whose frames are lent, and how many of them may follow.
    pub(crate) current: usize,
    /// The number of frames that may be lent in a row.
    pub(crate) ready: usize,
}

/// The queue of one interface.
struct Queue {
    frames: FrameBatch,
    /// Frames lent since the last count.
    lent: u64,
    /// Time of the last read that returned nothing.
    empty_at: ClockReading,
    /// Whether it is a stream, whose frames may be old when they are received.
    may_lag: bool,
}

/// The order of frames by capture time. Frames stamped later than the current wall clock come first: the clock was set
/// back since, so they would otherwise wait that long.
#[derive(Clone, Copy)]
struct MergeOrder {
    /// In nanoseconds since the Unix epoch.
    latest: u64,
}

/// Capture and receive time of the first frame in a queue.
struct NextFrameTime {
    ts: u64,
    received_at: ClockReading,
}

impl FrameQueues {
    /// Creates the queue of each interface. `may_lag`: whether it is a stream.
    pub(crate) fn new(may_lag: impl Iterator<Item = bool>, now: ClockReading) -> Self {
        let queue = |may_lag| Queue { frames: FrameBatch::new(now), lent: 0, empty_at: now, may_lag };
        let mut queues: Vec<Queue> = may_lag.map(queue).collect();
        // Streams alone delay no other queue.
        if queues.iter().all(|queue| queue.may_lag) {
            queues.iter_mut().for_each(|queue| queue.may_lag = false);
        }
        Self { queues, current: 0, ready: 0 }
    }

    /// Lends the next ready frame, from the backend of the current interface, which its timestamp names.
    #[inline]
    pub(crate) fn lend<'a>(&'a mut self, backend: &'a dyn CaptureBackend) -> Option<Frame<'a>> {
        let interface = u16::try_from(self.current).unwrap_or(u16::MAX);
        let queue = self.queues.get_mut(self.current)?;
        self.ready = self.ready.saturating_sub(1);
        queue.lent = queue.lent.saturating_add(1);
        let has_interface = queue.frames.has_interfaces;
        let frame = queue.frames.lend(backend)?;
        let ts = if has_interface { frame.ts } else { frame.ts.with_interface(interface) };
        Some(Frame { ts, ..frame })
    }

    /// Returns when the last lent frame was received from the system.
    pub(crate) fn taken_at(&self) -> Option<Timestamp> {
        self.queues.get(self.current).map(|queue| queue.frames.received_at.time)
    }

    /// Returns a time before which no frame will be lent that was not lent yet, if the system may delay frames by `max_delay`.
    pub(crate) fn complete_until(&self, max_delay: Duration) -> Option<u64> {
        let until = |queue: &Queue| match queue.frames.time() {
            Some(ts) => ts,
            None => queue.empty_at.time.as_nanos().saturating_sub(nanos(max_delay)),
        };
        self.queues.iter().map(until).min()
    }

    /// Selects the interface whose frames may be lent, and how many. Returns whether there are any. The system may
    /// delay frames by `max_delay`; `None` if no more will arrive.
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

    /// Selects a stream that is behind. Call it when no other frame may be lent, and all interfaces were read.
    pub(crate) fn select_lagging(&mut self, max_delay: Option<Duration>) -> bool {
        self.ready = 0;
        let lagging = self
            .queues
            .iter()
            .enumerate()
            .filter_map(|(slot, queue)| Some((queue.frames.time()?, slot, queue.lags_until(max_delay)?)));
        if let Some((_, current, until)) = lagging.min() {
            self.current = current;
            let ready = |queue: &Queue| queue.frames.remaining_while(|ts| ts < until);
            self.ready = self.queues.get(current).map_or(0, ready);
        }
        self.ready > 0
    }

    /// Whether the queue of an interface is empty, so that the interface should be read.
    pub(crate) fn needs_frames(&self, slot: usize) -> bool {
        self.queues.get(slot).is_some_and(|queue| queue.frames.remaining() == 0)
    }

    /// Returns the batch of an interface if all of its frames were lent.
    pub(crate) fn drained(&mut self, slot: usize) -> Option<&mut FrameBatch> {
        self.queues.get_mut(slot).map(|queue| &mut queue.frames).filter(|frames| frames.remaining() == 0)
    }

    /// Returns the empty batch of an interface, to be filled.
    pub(crate) fn refill(&mut self, slot: usize) -> Option<&mut FrameBatch> {
        let frames = &mut self.queues.get_mut(slot)?.frames;
        frames.clear();
        Some(frames)
    }

    /// Records that a read returned nothing.
    pub(crate) fn mark_empty(&mut self, slot: usize, moment: ClockReading) {
        if let Some(queue) = self.queues.get_mut(slot) {
            queue.empty_at = moment;
        }
    }

    /// Returns the longest time until the next frame may be lent.
    pub(crate) fn wait(&self, now: ClockReading, max_delay: Duration) -> Option<Duration> {
        let head = self.queues.iter().filter_map(|queue| queue.head()).min_by_key(|head| head.ts)?;
        let by_time = head.ts.saturating_add(nanos(max_delay)).saturating_sub(now.time.as_nanos());
        let by_instant = max_delay.saturating_sub(now.at.duration_since(head.received_at.at));
        Some(by_instant.min(Duration::from_nanos(by_time)))
    }

    /// Returns the numbers of frames lent since the last call, by interface.
    pub(crate) fn count(&mut self) -> impl Iterator<Item = u64> {
        self.queues.iter_mut().map(|queue| std::mem::take(&mut queue.lent))
    }

    /// Returns the next interface, and the rank up to which its frames may be lent.
    fn next(&self, max_delay: Option<Duration>, order: MergeOrder) -> Option<(usize, u64)> {
        let mut first: Option<(usize, NextFrameTime)> = None;
        let mut until = u64::MAX;
        let mut last_empty: Option<ClockReading> = None;
        for (slot, queue) in self.queues.iter().enumerate() {
            if queue.lags_until(max_delay).is_some() {
                continue;
            }
            let Some(head) = queue.head() else {
                last_empty = last_empty
                    .filter(|last_empty| last_empty.at <= queue.empty_at.at)
                    .or(Some(queue.empty_at));
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
        if let (Some(last_empty), Some(max_delay)) = (last_empty, max_delay)
            && last_empty.at.checked_duration_since(head.received_at.at).is_none_or(|since| since < max_delay)
        {
            let complete_until = last_empty.time.as_nanos().saturating_sub(nanos(max_delay));
            until = until.min(order.rank(complete_until));
        }
        (order.rank(head.ts) <= until).then_some((slot, until))
    }

    /// Returns the current order.
    fn order(&self, max_delay: Option<Duration>) -> MergeOrder {
        let moments = self.queues.iter().flat_map(|queue| [queue.empty_at, queue.frames.received_at]);
        let now = moments.max_by_key(|moment| moment.at).zip(max_delay);
        let latest =
            now.map_or(u64::MAX, |(now, max_delay)| now.time.as_nanos().saturating_add(nanos(max_delay)));
        MergeOrder { latest }
    }
}

impl MergeOrder {
    /// Returns the rank of a capture time; lower ranks are lent first.
    fn rank(self, ts: u64) -> u64 {
        ts.wrapping_sub(self.latest).wrapping_sub(1)
    }
}

impl Queue {
    /// Returns the time before which frames of this stream are too old for the order of capture time, if its first one is.
    fn lags_until(&self, max_delay: Option<Duration>) -> Option<u64> {
        let max_delay = max_delay.filter(|_| self.may_lag)?;
        let head = self.head()?;
        let until = head.received_at.time.as_nanos().saturating_sub(nanos(max_delay));
        (head.ts < until).then_some(until)
    }

    /// Returns the times of the first frame.
    fn head(&self) -> Option<NextFrameTime> {
        Some(NextFrameTime { ts: self.frames.time()?, received_at: self.frames.received_at })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
