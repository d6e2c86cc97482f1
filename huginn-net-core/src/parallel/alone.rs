//! The thread of the caller alone, for as long as frames take little time and none must be waited for.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use super::standing::{Standing, Standings};
use super::{Parts, Readers, Spread};
use crate::analysis_error::ThreadFailure;
use crate::direct::{self, Ended, ToFlows, ToOutlet};
use crate::flows::Flows;
use crate::form::{Delivery, Form, Guarded};
use crate::source::no_more_than_processors;
use crate::{AnalysisError, Event, Frame, Protocol, Report, Source};

/// Frames of a round at most: between two rounds questions are answered, and the clock is read.
const MAX_LONE_ROUND_LEN: usize = 256;

/// Any frame takes longer: where workers read in turn they share that, too, and pay as soon as there are many frames.
const SHORTEST: Duration = Duration::from_nanos(1);

/// So many rounds in a row must be slow, as one may have been held up.
const SLOW_ROUNDS: u32 = 4;

/// So many rounds at the beginning tell nothing: tables grow, and nothing is in a cache yet.
const FIRST_ROUNDS: u32 = 4;

/// Analyses frames as an analyzer without workers does, until several threads pay. Tells how many workers are to go on, if there
/// is anything left.
pub(super) fn read<P: Protocol, S: Source, F: Form<Event<Report<P>>>>(
    spread: Spread,
    readers: Readers,
    parts: &mut Parts<'_, P>,
    watched: &mut Flows<P>,
    source: &mut S,
    form: &F,
    delivery: &mut impl Delivery<F::Piece, F::Shelf>,
) -> Result<Option<usize>, AnalysisError<S::Error>> {
    let round_len = spread.round_len().min(MAX_LONE_ROUND_LEN) as u64;
    let may_take =
        if readers == Readers::InTurn { spread.spread_above.min(SHORTEST) } else { spread.spread_above };
    let mut pace = Pace::new(may_take);
    let mut shelf = F::Shelf::default();
    let Parts { intake, flows, outlet, cancel, requests, .. } = parts;
    loop {
        if pace.is_slow() {
            let workers = workers_for(readers, source, spread);
            if workers > 1 {
                return Ok(Some(workers));
            }
            // Nor will there be more of them later.
            pace = Pace::new(Duration::MAX);
        }
        let (read_before, began) = (intake.frames, Instant::now());
        let mut guarded = Guarded::new(delivery);
        let told = ToOutlet { outlet, form, shelf: &mut shelf, delivery: &mut guarded };
        let mut to = ToFlows { flows: watched, told };
        let mut coming = Coming { source, is_all_there: readers != Readers::One, is_awaited: false };
        let read =
            catch_unwind(AssertUnwindSafe(|| direct::read(&mut coming, intake, &mut to, cancel, round_len)));
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
            return Ok(Some(spread.workers()));
        }
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
