//! The thread that reads the source and hands segments to the workers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, TrySendError};

use super::batch::Batch;
use super::{Halt, Overflow, PATIENCE, Round, Shares, Spread, Workers};
use crate::intake::{Intake, Taken};
use crate::{FlowKey, Frame, Source, Timestamp};

/// What joins the reader to the other threads.
pub(super) struct Reader {
    spread: Spread,
    lanes: Vec<Lane>,
    spent_batches: Spent,
    rounds: Sender<Round>,
    shares: Shares,
    /// For how long room may still be waited for where the source does not wait.
    patience: Duration,
    /// Of how many frames was told that they were counted.
    told_frames: u64,
}

/// The way to one worker.
struct Lane {
    queue: Sender<Batch>,
    batch: Batch,
}

/// What workers are done with.
struct Spent {
    given_back: Receiver<Batch>,
    /// What was given back last is on top: most of it still lies in a cache.
    at_hand: Vec<Batch>,
}

/// The workers are gone.
struct Deserted;

impl Reader {
    pub(super) fn new(
        spread: Spread,
        shares: Shares,
        spent_batches: Receiver<Batch>,
        rounds: Sender<Round>,
    ) -> Self {
        Self {
            spread,
            lanes: Vec::new(),
            spent_batches: Spent::new(spent_batches),
            rounds,
            shares,
            patience: PATIENCE,
            told_frames: 0,
        }
    }

    /// Adds the way to another worker.
    pub(super) fn add_lane(&mut self, queue: Sender<Batch>) {
        self.lanes.push(Lane { queue, batch: Batch::default() });
    }

    /// Reads the source to its end, to cancellation, or until nobody wants more of it.
    pub(super) fn run<S: Source>(
        mut self,
        source: &mut S,
        intake: &mut Intake,
        halt: &Halt<'_>,
        ended_at: &AtomicU64,
    ) -> Result<(), S::Error> {
        self.told_frames = intake.frames;
        let mut place = 0_u32;
        let mut taken_at = None;
        let outcome = loop {
            if halt.is_due() {
                break Ok(());
            }
            if !source.is_at_hand() && self.hand_on(&mut place, taken_at, intake).is_err() {
                break Ok(());
            }
            let begins = place == 0;
            let added =
                source.next_frame().map(|frame| frame.map(|frame| self.add(&frame, &mut place, intake)));
            match added {
                Ok(Some(is_full)) => {
                    if begins {
                        taken_at = source.taken_at();
                    }
                    if is_full && self.hand_on(&mut place, taken_at, intake).is_err() {
                        break Ok(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let _ = self.hand_on(&mut place, taken_at, intake);
        ended_at.store(intake.clock.now().as_nanos(), Ordering::Release);
        outcome
    }

    /// Adds what a frame holds to the batches of its workers; tells whether one is full.
    #[inline(always)]
    fn add(&mut self, frame: &Frame<'_>, place: &mut u32, intake: &mut Intake) -> bool {
        let mut is_full = false;
        let batch_bytes = self.spread.batch_bytes;
        match intake.take_usual(frame) {
            Taken::Usual(usual, now) => {
                if let Some(batch) = self.batch_of(&usual.key().0) {
                    batch.push_usual(*place, &usual, now);
                    is_full = batch.size() >= batch_bytes;
                    *place = place.saturating_add(1);
                }
            }
            Taken::Other => intake.take_other(frame, &mut |segment, now| {
                if let Some(batch) = self.batch_of(&FlowKey::of(segment).0) {
                    batch.push_segment(*place, segment, now);
                    is_full |= batch.size() >= batch_bytes;
                    *place = place.saturating_add(1);
                }
            }),
            Taken::Nothing => {}
        }
        is_full
    }

    /// The batch of the worker that watches a flow.
    #[inline(always)]
    fn batch_of(&mut self, key: &FlowKey) -> Option<&mut Batch> {
        self.lanes.get_mut(self.shares.of(key)).map(|lane| &mut lane.batch)
    }

    /// Ends the round: hands every batch that is not empty to its worker.
    #[inline(never)]
    fn hand_on(
        &mut self,
        place: &mut u32,
        taken_at: Option<Timestamp>,
        intake: &mut Intake,
    ) -> Result<(), Deserted> {
        if *place == 0 {
            return self.tell(intake);
        }
        let mut workers = Workers::default();
        for (worker, lane) in self.lanes.iter_mut().enumerate() {
            if lane.batch.len() == 0 {
                continue;
            }
            let fresh = self.spent_batches.take().unwrap_or_default();
            let batch = std::mem::replace(&mut lane.batch, fresh);
            match lane.send(batch, self.spread.overflow, &mut self.patience)? {
                None => workers.add(worker),
                Some(mut batch) => {
                    intake.batches_dropped = intake.batches_dropped.saturating_add(1);
                    intake.segments_dropped = intake.segments_dropped.saturating_add(batch.len() as u64);
                    batch.clear();
                    lane.batch = batch;
                }
            }
        }
        *place = 0;
        if workers.is_empty() {
            return self.tell(intake);
        }
        let round = Round { workers, taken_at, counters: intake.counters() };
        self.told_frames = round.counters.frames;
        self.rounds.send(round).map_err(|_| Deserted)
    }

    /// Tells what was counted where that is all there is to tell, unless there is enough to hear of already: this must
    /// not take the place of a round that workers have.
    fn tell(&mut self, intake: &Intake) -> Result<(), Deserted> {
        if intake.frames == self.told_frames || !self.rounds.is_empty() {
            return Ok(());
        }
        self.told_frames = intake.frames;
        self.rounds.send(Round { counters: intake.counters(), ..Round::default() }).map_err(|_| Deserted)
    }
}

impl Spent {
    fn new(given_back: Receiver<Batch>) -> Self {
        Self { given_back, at_hand: Vec::new() }
    }

    /// What was given back last, if there is any. No more is held than may be on its way back.
    fn take(&mut self) -> Option<Batch> {
        self.at_hand.extend(self.given_back.try_iter());
        let too_many = self.at_hand.len().saturating_sub(self.given_back.capacity().unwrap_or(0));
        self.at_hand.drain(..too_many);
        self.at_hand.pop()
    }
}

impl Lane {
    /// Hands the batch on, or gives it back where there is no room for it.
    ///
    /// Where the source does not wait, the time for which room is waited for is one for all: it begins anew when a worker has
    /// nothing left to do. So one that cannot keep up does not set the pace of the others.
    fn send(
        &mut self,
        batch: Batch,
        overflow: Overflow,
        left: &mut Duration,
    ) -> Result<Option<Batch>, Deserted> {
        if overflow == Overflow::Wait {
            return self.queue.send(batch).map(|()| None).map_err(|_| Deserted);
        }
        if self.queue.is_empty() {
            *left = PATIENCE;
        }
        let batch = match self.queue.try_send(batch) {
            Ok(()) => return Ok(None),
            Err(TrySendError::Full(batch)) => batch,
            Err(TrySendError::Disconnected(_)) => return Err(Deserted),
        };
        let begun = Instant::now();
        let outcome = self.queue.send_timeout(batch, *left);
        *left = left.saturating_sub(begun.elapsed());
        match outcome {
            Ok(()) => Ok(None),
            Err(SendTimeoutError::Timeout(batch)) => Ok(Some(batch)),
            Err(SendTimeoutError::Disconnected(_)) => Err(Deserted),
        }
    }
}
