//! The decision to divide an analysis among threads.

use std::num::NonZeroUsize;

use super::ring::Overflow;
use crate::limits::{
    DIVISION_SURPLUS, FRAMES_BETWEEN_REQUESTS, FRAMES_IN_CALLER, LENT_FRAME_BYTES, MAX_GAINING_WORKERS,
};

/// When an analysis moves from the caller's thread to several workers. It depends on the frames alone, never on a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// Never: there is one worker.
    Never,
    /// After this number of frames.
    After(u64),
    /// Once much is found in the frames. Workers gain nothing where most segments are skipped: to sort a frame costs as much as to look up
    /// its flow.
    WhenDense {
        /// More than one in this many frames must yield something.
        one_in: u64,
        per_event: PerEvent,
    },
}

/// What an event adds to the work that workers divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PerEvent {
    /// As much as a segment that the protocol analyses: workers write its text.
    Gain,
    /// Nothing: the caller's thread takes as long to merge it.
    Nothing,
    /// Less than nothing: the caller's thread frees its memory, and both contend for the allocator.
    Loss,
}

/// What the caller's thread has analysed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) frames: u64,
    /// Segments that the protocol analysed.
    pub(super) segments: u64,
    /// Events that the sink received.
    pub(super) events: u64,
}

/// Evidence that workers would gain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The work before the source.
    start: Work,
    /// The work at the last decision.
    last: Work,
    /// The sum over the windows of what they yield, multiplied by [`one_in`](Division::WhenDense), less their frames; never below zero, so
    /// that sparse frames at the start do not weigh for ever.
    surplus: u64,
}

impl Evidence {
    pub(super) fn new(start: Work) -> Self {
        Self { start, last: start, surplus: 0 }
    }
}

impl Division {
    /// `processors`: how many workers run at once, at most. `lends` is that of the [source](crate::Source::lends); see
    /// [`WhenDense`](Self::WhenDense) for `per_event`.
    pub(super) fn new(
        workers: NonZeroUsize,
        processors: NonZeroUsize,
        block_bytes: Option<usize>,
        overflow: Overflow,
        lends: bool,
        per_event: PerEvent,
    ) -> Self {
        match (overflow, block_bytes) {
            _ if workers == NonZeroUsize::MIN => Self::Never,
            // The source drops frames while one thread is busy.
            (Overflow::Drop, _) => Self::After(0),
            (Overflow::Wait, Some(bytes)) => Self::After((bytes / LENT_FRAME_BYTES) as u64),
            (Overflow::Wait, None) if lends => {
                let at_once = (workers.min(processors).get() as u64).clamp(2, MAX_GAINING_WORKERS);
                // Measured (decision 021): two workers need an analysed segment in two frames; more need less.
                Self::WhenDense { one_in: at_once.saturating_sub(1).saturating_mul(2), per_event }
            }
            // Workers also divide the work of reading.
            (Overflow::Wait, None) => Self::After(FRAMES_IN_CALLER),
        }
    }

    /// Returns the number of frames until the next call of [`is_due`](Self::is_due).
    pub(super) fn frames_between_checks(self) -> u64 {
        match self {
            Self::After(frames) => frames.min(FRAMES_BETWEEN_REQUESTS),
            Self::Never | Self::WhenDense { .. } => FRAMES_BETWEEN_REQUESTS,
        }
    }

    /// Whether workers continue. `all` is the work until now.
    pub(super) fn is_due(self, all: Work, evidence: &mut Evidence) -> bool {
        match self {
            Self::Never => false,
            Self::After(frames) => all.frames.saturating_sub(evidence.start.frames) >= frames,
            Self::WhenDense { one_in, per_event } => {
                let frames = all.frames.saturating_sub(evidence.last.frames);
                if frames < FRAMES_IN_CALLER {
                    return false;
                }
                let before = std::mem::replace(&mut evidence.last, all);
                let [segments, events] = [(all.segments, before.segments), (all.events, before.events)]
                    .map(|(all, before)| all.saturating_sub(before));
                let gain = match per_event {
                    PerEvent::Gain => segments.saturating_add(events),
                    PerEvent::Nothing => segments,
                    PerEvent::Loss => segments.saturating_sub(events),
                };
                // One window does not decide, however much it yields.
                let most = frames.saturating_add(DIVISION_SURPLUS / 2);
                let yielded = gain.saturating_mul(one_in).min(most);
                evidence.surplus = evidence.surplus.saturating_add(yielded).saturating_sub(frames);
                evidence.surplus >= DIVISION_SURPLUS
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();
    const SIX: NonZeroUsize = NonZeroUsize::new(6).unwrap();

    /// Returns after how many windows the analysis of a lending source is divided. Each window has this many segments and events, and all
    /// windows repeat.
    fn divided_after(workers: NonZeroUsize, windows: &[(u64, u64)], per_event: PerEvent) -> Option<usize> {
        let division = Division::new(workers, SIX, None, Overflow::Wait, true, per_event);
        let (mut all, mut evidence) = (Work::default(), Evidence::new(Work::default()));
        windows.iter().cycle().take(100).position(|(segments, events)| {
            all.frames = all.frames.saturating_add(FRAMES_IN_CALLER);
            all.segments = all.segments.saturating_add(*segments);
            all.events = all.events.saturating_add(*events);
            division.is_due(all, &mut evidence)
        })
    }

    #[test]
    fn lent_frames_are_divided_once_they_are_dense() {
        let (half, all) = (FRAMES_IN_CALLER / 2, FRAMES_IN_CALLER);
        assert_eq!(divided_after(TWO, &[(half, 9)], PerEvent::Nothing), None);
        assert_eq!(divided_after(TWO, &[(all, 0)], PerEvent::Nothing), Some(1));
        assert_eq!(
            divided_after(TWO, &[(all, 0), (0, 0)], PerEvent::Nothing),
            None,
            "one window does not decide"
        );
        assert_eq!(divided_after(TWO, &[(0, 0), (all, 0), (all, 0)], PerEvent::Nothing), Some(2));
        let more = half + half / 4;
        assert_eq!(divided_after(TWO, &[(more, 0)], PerEvent::Nothing), Some(3), "the surplus adds up");
        assert_eq!(
            divided_after(TWO, &[(more, 0), (0, 0)], PerEvent::Nothing),
            None,
            "sparse windows count against it"
        );
    }

    #[test]
    fn who_frees_events_decides() {
        let (most, some) = (FRAMES_IN_CALLER / 5 * 3, FRAMES_IN_CALLER / 5);
        assert_eq!(divided_after(TWO, &[(most, some)], PerEvent::Gain), Some(1));
        assert_eq!(divided_after(TWO, &[(most, some)], PerEvent::Nothing), Some(5));
        assert_eq!(divided_after(TWO, &[(most, some)], PerEvent::Loss), None);
    }

    #[test]
    fn more_workers_gain_from_less() {
        let sparse = FRAMES_IN_CALLER / 5;
        assert_eq!(divided_after(TWO, &[(sparse, 0)], PerEvent::Nothing), None);
        assert_eq!(divided_after(SIX, &[(sparse, 0)], PerEvent::Nothing), Some(1));
        let one_in = |workers, processors| {
            let [workers, processors] = [workers, processors].map(|n| NonZeroUsize::new(n).unwrap());
            match Division::new(workers, processors, None, Overflow::Wait, true, PerEvent::Nothing) {
                Division::WhenDense { one_in, .. } => one_in,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([2, 3, 4, 5, 16].map(|workers| one_in(workers, 16)), [2, 4, 6, 8, 8]);
        assert_eq!(one_in(2, 1), 2);
        assert_eq!(divided_after(SIX, &[(FRAMES_IN_CALLER / 10, 0)], PerEvent::Nothing), None);
        let on_two = Division::new(SIX, TWO, None, Overflow::Wait, true, PerEvent::Nothing);
        assert_eq!(on_two, Division::new(TWO, SIX, None, Overflow::Wait, true, PerEvent::Nothing));
    }

    #[test]
    fn other_frames_are_divided_after_a_number() {
        let due = |division: Division, frames| {
            let of = |frames| Work { frames, ..Work::default() };
            // Frames before the source do not count.
            let before = 2 * FRAMES_IN_CALLER;
            division.is_due(of(before + frames), &mut Evidence::new(of(before)))
        };
        let new =
            |workers, bytes, overflow| Division::new(workers, SIX, bytes, overflow, false, PerEvent::Gain);
        assert_eq!(new(NonZeroUsize::MIN, Some(1), Overflow::Drop), Division::Never);
        assert!(due(new(TWO, None, Overflow::Drop), 0));
        assert!(due(new(TWO, Some(1), Overflow::Wait), 0));
        let in_file = new(TWO, None, Overflow::Wait);
        assert_eq!(
            [FRAMES_IN_CALLER - 1, FRAMES_IN_CALLER].map(|frames| due(in_file, frames)),
            [false, true]
        );
    }
}
