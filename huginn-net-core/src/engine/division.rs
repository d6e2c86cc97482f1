//! The decision to divide an analysis among threads.

use std::num::NonZeroUsize;

use super::ring::Overflow;
use crate::limits::{
    FRAMES_BETWEEN_REQUESTS, FRAMES_IN_CALLER, LENT_FRAME_BYTES, MAX_GAINING_WORKERS,
    SEGMENTS_PER_FREED_EVENT,
};

/// When an analysis moves from the caller's thread to several workers. It depends on the frames alone, never on a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// Never: there is one worker.
    Never,
    /// After this number of frames.
    After(u64),
    /// Once much is found in the latest frames. Workers gain nothing where most segments are skipped: to sort a frame costs as much as
    /// to look up its flow.
    WhenDense {
        /// More than one in this many frames must yield something.
        one_in: u64,
        /// Whether the caller's thread frees the memory of events.
        frees_events: bool,
    },
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

impl Division {
    /// `processors`: how many workers run at once, at most. `lends` is that of the [source](crate::Source::lends); see
    /// [`WhenDense`](Self::WhenDense) for `frees_events`.
    pub(super) fn new(
        workers: NonZeroUsize,
        processors: NonZeroUsize,
        block_bytes: Option<usize>,
        overflow: Overflow,
        lends: bool,
        frees_events: bool,
    ) -> Self {
        match (overflow, block_bytes) {
            _ if workers == NonZeroUsize::MIN => Self::Never,
            // The source drops frames while one thread is busy.
            (Overflow::Drop, _) => Self::After(0),
            (Overflow::Wait, Some(bytes)) => Self::After((bytes / LENT_FRAME_BYTES) as u64),
            (Overflow::Wait, None) if lends => {
                // To sort frames takes one thread at a time, and the rest of the work is divided.
                let at_once = (workers.min(processors).get() as u64).clamp(2, MAX_GAINING_WORKERS);
                Self::WhenDense { one_in: at_once.saturating_add(1), frees_events }
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

    /// Whether workers continue. `all` is the work until now, `start` that before the source, and `window` that at the last decision.
    pub(super) fn is_due(self, all: Work, start: Work, window: &mut Work) -> bool {
        match self {
            Self::Never => false,
            Self::After(frames) => all.frames.saturating_sub(start.frames) >= frames,
            Self::WhenDense { one_in, frees_events } => {
                let frames = all.frames.saturating_sub(window.frames);
                if frames < FRAMES_IN_CALLER {
                    return false;
                }
                let before = std::mem::replace(window, all);
                let [segments, events] = [(all.segments, before.segments), (all.events, before.events)]
                    .map(|(all, before)| all.saturating_sub(before));
                let gain = if frees_events {
                    segments.saturating_sub(events.saturating_mul(SEGMENTS_PER_FREED_EVENT))
                } else {
                    segments.saturating_add(events)
                };
                gain.saturating_mul(one_in) > frames
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();
    const SIX: NonZeroUsize = NonZeroUsize::new(6).unwrap();

    /// Returns after how many windows the analysis of a lending source is divided. Each window has this many segments and events.
    fn divided_after(workers: NonZeroUsize, windows: &[(u64, u64)], frees_events: bool) -> Option<usize> {
        let division = Division::new(workers, SIX, None, Overflow::Wait, true, frees_events);
        let (mut all, mut window) = (Work::default(), Work::default());
        windows.iter().position(|(segments, events)| {
            all.frames = all.frames.saturating_add(FRAMES_IN_CALLER);
            all.segments = all.segments.saturating_add(*segments);
            all.events = all.events.saturating_add(*events);
            division.is_due(all, Work::default(), &mut window)
        })
    }

    #[test]
    fn lent_frames_are_divided_once_they_are_dense() {
        let dense = FRAMES_IN_CALLER / 3;
        assert_eq!(divided_after(TWO, &[(0, 0), (dense, 0), (9, dense - 9)], false), None);
        assert_eq!(
            divided_after(TWO, &[(dense, 0), (0, 0), (dense, 1), (0, 0)], false),
            Some(2),
            "windows count apart"
        );
        let most = FRAMES_IN_CALLER;
        assert_eq!(
            divided_after(TWO, &[(most, most / 3), (most, most / 9)], true),
            Some(1),
            "to free events costs more"
        );
    }

    #[test]
    fn more_workers_gain_from_less() {
        let sparse = FRAMES_IN_CALLER / 5;
        assert_eq!(divided_after(TWO, &[(sparse, 0)], false), None);
        assert_eq!(divided_after(SIX, &[(sparse, 0)], false), Some(0));
        assert_eq!(divided_after(SIX, &[(FRAMES_IN_CALLER / 10, 0)], false), None);
        let on_two = Division::new(SIX, TWO, None, Overflow::Wait, true, false);
        assert_eq!(on_two, Division::new(TWO, SIX, None, Overflow::Wait, true, false));
    }

    #[test]
    fn other_frames_are_divided_after_a_number() {
        let due = |division: Division, frames| {
            let all = Work { frames, ..Work::default() };
            division.is_due(all, Work::default(), &mut Work::default())
        };
        let new = |workers, bytes, overflow| Division::new(workers, SIX, bytes, overflow, false, true);
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
