//! The thread of the caller alone, for as long as frames take little time and none must be waited for.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use super::standing::{Standing, Standings};
use super::{Parts, Readers, Shares, Spread};
use crate::analysis_error::ThreadFailure;
use crate::decode::Prospect;
use crate::direct::{self, Ended, ToFlows, ToOutlet};
use crate::flows::{Flows, Outline};
use crate::form::{Delivery, Form, Guarded};
use crate::intake::Lead;
use crate::source::no_more_than_processors;
use crate::{AnalysisError, Event, Frame, Protocol, Report, Segment, Source, Timestamp};

/// Frames of a round at most: between two rounds questions are answered, and the clock is read.
const MAX_LONE_ROUND_LEN: usize = 256;

/// Any frame takes longer: where workers read in turn they share that, too, and pay as soon as there are many frames.
const SHORTEST: Duration = Duration::from_nanos(1);

/// So many rounds in a row must be slow, as one may have been held up.
const SLOW_ROUNDS: u32 = 4;

/// So many rounds at the beginning tell nothing: tables grow, and nothing is in a cache yet.
const FIRST_ROUNDS: u32 = 4;

/// By so many rounds is seen how workers would divide the segments.
const TRIAL_ROUNDS: u32 = 4;

/// Analyses frames as an analyzer without workers does, until several threads pay. Tells by which shares workers are to go on,
/// if there is anything left.
pub(super) fn read<P: Protocol, S: Source, F: Form<Event<Report<P>>>>(
    spread: Spread,
    readers: Readers,
    parts: &mut Parts<'_, P>,
    watched: &mut Flows<P>,
    source: &mut S,
    form: &F,
    delivery: &mut impl Delivery<F::Piece, F::Shelf>,
) -> Result<Option<Shares>, AnalysisError<S::Error>> {
    let round_len = spread.round_len().min(MAX_LONE_ROUND_LEN) as u64;
    let may_take =
        if readers == Readers::InTurn { spread.spread_above.min(SHORTEST) } else { spread.spread_above };
    let (mut pace, mut pause) = (Pace::new(may_take), FIRST_ROUNDS);
    let mut trial: Option<Trial> = None;
    let mut shelf = F::Shelf::default();
    let Parts { intake, flows, outlet, cancel, requests, .. } = parts;
    loop {
        if trial.is_none() && pace.is_slow() {
            match workers_for(readers, source, spread) {
                // Nor will there be more of them later.
                0 | 1 => pace = Pace::new(Duration::MAX),
                workers if may_take.is_zero() => return Ok(Some(Shares::new(workers))),
                workers => trial = Some(Trial::new(workers)),
            }
        }
        let (read_before, began) = (intake.frames, Instant::now());
        let mut guarded = Guarded::new(delivery);
        let told = ToOutlet { outlet, form, shelf: &mut shelf, delivery: &mut guarded };
        let mut to = ToFlows { flows: watched, told };
        let mut coming = Coming { source, is_all_there: readers != Readers::One, is_awaited: false };
        let read = catch_unwind(AssertUnwindSafe(|| match &mut trial {
            Some(trial) => {
                direct::read(&mut coming, intake, &mut Counted { trial, to: &mut to }, cancel, round_len)
            }
            None => direct::read(&mut coming, intake, &mut to, cancel, round_len),
        }));
        let is_awaited = coming.is_awaited;
        let read = match read {
            Ok(read) => read.map_err(AnalysisError::Source),
            Err(payload) if guarded.is_busy => resume_unwind(payload),
            Err(payload) => Err(ThreadFailure::panicked("caller", &*payload).into_error()),
        };
        pace.took(intake.frames.saturating_sub(read_before), began.elapsed());
        requests.try_iter().for_each(|request| {
            let standings = Standings::new(flows, intake.counters(), vec![Standing::of(watched)]);
            request(&standings.glimpse(outlet));
        });
        if matches!(read, Ok(Ended::Broken)) {
            return Ok(None);
        }
        let is_enough = delivery.round(None).is_break();
        let ended = read?;
        if is_enough || (ended == Ended::Early && !is_awaited) {
            return Ok(None);
        }
        if is_awaited {
            return Ok(Some(Shares::new(spread.workers())));
        }
        if let Some(division) = trial.take_if(|trial| trial.ends_with_a_round()).map(Trial::best) {
            let may_begin = readers == Readers::InTurn || division.is_even();
            // What is left may be too little for so many by now.
            if may_begin && workers_for(readers, source, spread) == division.shares.count() {
                return Ok(Some(division.shares));
            }
            // Other flows may come. Later and later, as to ask for the number of processors takes long.
            pause = pause.saturating_mul(2);
            pace = Pace { first_rounds: pause, ..Pace::new(may_take) };
        }
    }
}

/// Rounds by which is seen how workers would divide the segments: of several ways, the most even is taken. It matters where
/// there are few flows.
struct Trial {
    ways: [Division; 4],
    /// How many rounds are still to come.
    left: u32,
}

impl Trial {
    fn new(workers: usize) -> Self {
        let division = |_| Division { shares: Shares::new(workers), segments: vec![0; workers] };
        Self { ways: std::array::from_fn(division), left: TRIAL_ROUNDS }
    }

    /// Takes note of the end of a round, and tells whether it was the last one.
    fn ends_with_a_round(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    fn best(self) -> Division {
        let [first, others @ ..] = self.ways;
        others.into_iter().fold(first, |best, other| if other.most() < best.most() { other } else { best })
    }
}

/// How many segments each worker would get.
struct Division {
    shares: Shares,
    segments: Vec<u64>,
}

impl Division {
    fn most(&self) -> u64 {
        self.segments.iter().max().copied().unwrap_or(0)
    }

    /// Whether none would get more than three quarters. Where one gets all, that takes longer than in the thread of the caller,
    /// unless workers share the reading; how much each segment takes is not known.
    fn is_even(&self) -> bool {
        self.most().saturating_mul(4) <= self.segments.iter().sum::<u64>().saturating_mul(3)
    }
}

/// Leads segments on, and counts those that are made for whoever would watch their flows: others take next to nothing.
struct Counted<'a, L> {
    trial: &'a mut Trial,
    to: &'a mut L,
}

impl<L: Lead> Lead for Counted<'_, L> {
    fn lead(&mut self, segment: &impl Prospect, now: Timestamp) -> ControlFlow<()> {
        let is_made = &Cell::new(false);
        let outcome = self.to.lead(&Noted { segment, is_made }, now);
        if is_made.get() {
            let key = segment.outline().key;
            for Division { shares, segments } in &mut self.trial.ways {
                if let Some(count) = segments.get_mut(shares.of(&key)) {
                    *count = count.saturating_add(1);
                }
            }
        }
        outcome
    }
}

/// What a segment can be made of, with a note of whether it was.
struct Noted<'a, S> {
    segment: &'a S,
    is_made: &'a Cell<bool>,
}

impl<S: Prospect> Prospect for Noted<'_, S> {
    fn outline(&self) -> Outline {
        self.segment.outline()
    }

    fn segment(&self) -> Segment<'_> {
        self.is_made.set(true);
        self.segment.segment()
    }
}

/// A source up to a frame that must be waited for: to wait is for a thread of its own.
struct Coming<'a, S> {
    source: &'a mut S,
    /// Then nothing need be waited for.
    is_all_there: bool,
    /// Whether the next frame must be waited for.
    is_awaited: bool,
}

impl<S: Source> Source for Coming<'_, S> {
    type Error = S::Error;

    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, S::Error> {
        self.is_awaited = !self.is_all_there && !self.source.is_at_hand();
        if self.is_awaited { Ok(None) } else { self.source.next_frame() }
    }
}

/// How many workers pay, at most.
fn workers_for<S: Source>(readers: Readers, source: &S, spread: Spread) -> usize {
    match readers {
        Readers::One => spread.workers(),
        Readers::InTurn => no_more_than_processors(spread.workers()),
        Readers::Each => source.twins(spread.workers()).len(),
    }
}

/// Whether frames take so long that several threads pay.
struct Pace {
    /// What a frame may take.
    above: Duration,
    /// How many of the first rounds are still to come.
    first_rounds: u32,
    /// How many rounds in a row took longer.
    slow_rounds: u32,
}

impl Pace {
    /// Any frame takes longer than nothing.
    fn new(above: Duration) -> Self {
        let slow_rounds = if above.is_zero() { SLOW_ROUNDS } else { 0 };
        Self { above, first_rounds: FIRST_ROUNDS, slow_rounds }
    }

    /// Takes note of what a round of so many frames took.
    fn took(&mut self, frames: u64, time: Duration) {
        if self.first_rounds > 0 {
            self.first_rounds = self.first_rounds.saturating_sub(1);
            return;
        }
        let is_slow = time > self.above.saturating_mul(u32::try_from(frames).unwrap_or(u32::MAX));
        self.slow_rounds = if is_slow { self.slow_rounds.saturating_add(1) } else { 0 };
    }

    fn is_slow(&self) -> bool {
        self.slow_rounds >= SLOW_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_even_division_is_taken_and_no_worker_gets_more_than_three_quarters() {
        let division = |segments: [u64; 2]| Division { shares: Shares::new(2), segments: segments.into() };
        let trial = Trial { ways: [[256, 0], [70, 186], [200, 56], [0, 256]].map(division), left: 0 };
        assert_eq!(trial.best().segments, [70, 186]);
        for (segments, is_even) in [([192, 64], true), ([193, 63], false), ([1, 0], false)] {
            assert_eq!(division(segments).is_even(), is_even, "{segments:?}");
        }
    }

    #[test]
    fn several_rounds_in_a_row_must_be_slow() {
        let mut pace = Pace::new(Duration::from_nanos(100));
        let mut slow_after = |rounds: &[u64]| {
            rounds.iter().for_each(|nanos| pace.took(10, Duration::from_nanos(*nanos)));
            pace.is_slow()
        };
        assert!(!slow_after(&[9000; 4]), "the first ones tell nothing");
        assert!(!slow_after(&[1001, 1001, 1001, 1000]), "one was quick");
        assert!(!slow_after(&[1001; 3]));
        assert!(slow_after(&[1001]));
        assert!(Pace::new(Duration::ZERO).is_slow());
    }

    #[test]
    fn no_round_is_slow_where_frames_may_take_as_long_as_they_like() {
        let mut pace = Pace::new(Duration::MAX);
        (0..20).for_each(|_| pace.took(u64::MAX, Duration::from_secs(1000)));
        assert!(!pace.is_slow());
    }
}
