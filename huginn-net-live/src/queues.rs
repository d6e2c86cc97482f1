//! The frames of several interfaces, in the order in which they were captured.

use std::time::{Duration, Instant, SystemTime};

use huginn_net_core::{Frame, Timestamp};

use crate::backend::CaptureBackend;
use crate::frame_set::FrameSet;

/// A moment, by two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// By the clock that stamps frames, which may step.
    pub(crate) time: Timestamp,
}

impl Moment {
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
pub(crate) struct Queues {
    queues: Vec<Queue>,
    /// Whose frames are being lent, and how many of them may be in a row.
    turn: usize,
    free: usize,
}

/// The frames of one interface.
struct Queue {
    frames: FrameSet,
    /// Frames lent and not counted.
    lent: u64,
    /// When it was looked at last in vain.
    looked_at: Moment,
}

/// The order of frames by their times of capture. Those that were captured later than the clock now shows come first: it was
/// set back since, and they would wait for as long.
#[derive(Clone, Copy)]
struct Order {
    /// In nanoseconds since the Unix epoch.
    latest: u64,
}

/// The frame that is next in a queue.
struct Head {
    ts: u64,
    taken: Moment,
}

impl Queues {
    pub(crate) fn new(len: usize, now: Moment) -> Self {
        let queue = || Queue { frames: FrameSet::new(now), lent: 0, looked_at: now };
        let queues = std::iter::repeat_with(queue).take(len).collect();
        Self { queues, turn: 0, free: 0 }
    }

    /// How many frames may be lent in a row.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// Whose frames may be lent.
    #[inline]
    pub(crate) fn turn(&self) -> usize {
        self.turn
    }

    /// Lends the next frame of those that may be, from the backend of [`turn`](Self::turn).
    #[inline]
    pub(crate) fn lend<'a>(&'a mut self, backend: &'a dyn CaptureBackend) -> Option<Frame<'a>> {
        let queue = self.queues.get_mut(self.turn)?;
        self.free = self.free.saturating_sub(1);
        queue.lent = queue.lent.saturating_add(1);
        queue.frames.lend(backend)
    }

    /// When the frame lent last was taken from the system.
    pub(crate) fn taken_at(&self) -> Option<Timestamp> {
        self.queues.get(self.turn).map(|queue| queue.frames.taken.time)
    }

    /// Finds out whose frames may be lent now, and how many; tells whether there are any. Frames may be held back by the
    /// system for so long; `None` where no others will come.
    pub(crate) fn choose(&mut self, hold_back: Option<Duration>) -> bool {
        self.free = 0;
        let order = self.order(hold_back);
        if let Some((turn, until)) = self.next(hold_back, order) {
            let is_free = |ts| order.rank(ts) <= until;
            self.turn = turn;
            self.free = self.queues.get(turn).map_or(0, |queue| queue.frames.left_while(is_free));
        }
        self.free > 0
    }

    /// Whether an interface is to be looked at.
    pub(crate) fn is_short(&self, slot: usize) -> bool {
        self.queues.get(slot).is_some_and(|queue| queue.frames.left() == 0)
    }

    /// The frames of an interface, all of which were lent.
    pub(crate) fn finished(&mut self, slot: usize) -> Option<&mut FrameSet> {
        self.queues.get_mut(slot).map(|queue| &mut queue.frames).filter(|frames| frames.left() == 0)
    }

    /// Room for what is taken from an interface that is short of frames.
    pub(crate) fn room(&mut self, slot: usize) -> Option<&mut FrameSet> {
        let frames = &mut self.queues.get_mut(slot)?.frames;
        frames.clear();
        Some(frames)
    }

    /// Notes that an interface was looked at in vain.
    pub(crate) fn looked_in_vain(&mut self, slot: usize, moment: Moment) {
        if let Some(queue) = self.queues.get_mut(slot) {
            queue.looked_at = moment;
        }
    }

    /// How long the next frame has to wait at most, where there is one.
    pub(crate) fn wait(&self, now: Moment, hold_back: Duration) -> Option<Duration> {
        let head = self.queues.iter().filter_map(|queue| queue.head()).min_by_key(|head| head.ts)?;
        let by_time = head.ts.saturating_add(nanos(hold_back)).saturating_sub(now.time.as_nanos());
        let by_instant = hold_back.saturating_sub(now.at.duration_since(head.taken.at));
        Some(by_instant.min(Duration::from_nanos(by_time)))
    }

    /// The numbers of frames lent since the last call, by interface.
    pub(crate) fn count(&mut self) -> impl Iterator<Item = u64> {
        self.queues.iter_mut().map(|queue| std::mem::take(&mut queue.lent))
    }

    /// Who is to lend next, and until which rank.
    fn next(&self, hold_back: Option<Duration>, order: Order) -> Option<(usize, u64)> {
        let mut first: Option<(usize, Head)> = None;
        let mut until = u64::MAX;
        let mut known: Option<Moment> = None;
        for (slot, queue) in self.queues.iter().enumerate() {
            let Some(head) = queue.head() else {
                known = known.filter(|known| known.at <= queue.looked_at.at).or(Some(queue.looked_at));
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
        if let (Some(known), Some(hold_back)) = (known, hold_back) {
            if known.at.checked_duration_since(head.taken.at).is_none_or(|since| since < hold_back) {
                let is_there = known.time.as_nanos().saturating_sub(nanos(hold_back));
                until = until.min(order.rank(is_there));
            }
        }
        (order.rank(head.ts) <= until).then_some((slot, until))
    }

    /// The order in which frames are to be lent as of now.
    fn order(&self, hold_back: Option<Duration>) -> Order {
        let moments = self.queues.iter().flat_map(|queue| [queue.looked_at, queue.frames.taken]);
        let now = moments.max_by_key(|moment| moment.at).zip(hold_back);
        let latest =
            now.map_or(u64::MAX, |(now, hold_back)| now.time.as_nanos().saturating_add(nanos(hold_back)));
        Order { latest }
    }
}

impl Order {
    /// The lower, the sooner.
    fn rank(self, ts: u64) -> u64 {
        ts.wrapping_sub(self.latest).wrapping_sub(1)
    }
}

impl Queue {
    /// The next frame.
    fn head(&self) -> Option<Head> {
        Some(Head { ts: self.frames.time()?, taken: self.frames.taken })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
