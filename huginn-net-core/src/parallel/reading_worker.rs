//! Workers that read for themselves: each decodes every frame, and keeps the segments of its flows.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::Sender;

use super::worker::{Outbox, Tidings};
use super::{Halt, Round, Shares, Workers};
use crate::decode::Prospect;
use crate::flows::Flows;
use crate::form::Form;
use crate::intake::{Intake, Lead};
use crate::{Event, Protocol, Report, Source, Timestamp};

/// A worker that reads the source for itself.
pub(super) struct ReadingWorker<P: Protocol, F: Form<Event<Report<P>>>> {
    /// Which of the shares is its own.
    pub(super) place: usize,
    pub(super) shares: Shares,
    /// Frames of a round.
    pub(super) round_len: usize,
    pub(super) outbox: Outbox<P, F>,
    /// Where the worker that tells of rounds tells of them: one does, since all have the same.
    pub(super) rounds: Option<Sender<Round>>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> ReadingWorker<P, F> {
    /// Watches its flows to the end of the source or of the course.
    pub(super) fn run<S: Source>(
        self,
        mut source: S,
        intake: &mut Intake,
        mut flows: Flows<P>,
        form: &F,
        course: &Course<'_>,
    ) -> (Flows<P>, Result<(), S::Error>) {
        let mut outcome = Ok(true);
        for round in 0.. {
            if !matches!(outcome, Ok(true)) || !course.takes(round) {
                break;
            }
            // Where nobody wants to hear of it any more, the course is over.
            if let Some(rounds) = &self.rounds {
                let workers = Workers::first(self.shares.count());
                let _ = rounds.send(Round { workers, taken_at: None, counters: intake.counters() });
            }
            let mut tidings = self.outbox.blank();
            outcome = self.read_round(&mut source, intake, &mut flows, form, &mut tidings);
            let _ = self.outbox.send(tidings, true, &flows);
        }
        flows.expire(intake.clock.now());
        flows.clear();
        (flows, outcome.map(|_| ()))
    }

    /// Reads the frames of a round; tells whether there may be more. What was told is handed on whenever it is much.
    fn read_round<S: Source>(
        &self,
        source: &mut S,
        intake: &mut Intake,
        flows: &mut Flows<P>,
        form: &F,
        tidings: &mut Tidings<P, F>,
    ) -> Result<bool, S::Error> {
        let mut to = ToShare { worker: self, place: 0, flows, form, tidings };
        let mut read = 0_usize;
        for _ in 0..self.round_len {
            let Some(frame) = source.next_frame()? else { return Ok(false) };
            read = read.saturating_add(frame.data.len());
            let _ = intake.take(&frame, &mut to);
            if to.tidings.is_much(read) {
                read = 0;
                let part = std::mem::replace(to.tidings, self.outbox.blank());
                let _ = self.outbox.send(part, false, to.flows);
            }
            // A round ends with a block: whoever waits for the next one has told all of this one.
            if !source.is_at_hand() {
                break;
            }
        }
        Ok(true)
    }
}

/// So many things told are much.
const MUCH_TOLD: usize = 256;
/// So are any that frames of so many bytes told.
const MUCH_READ: usize = 1 << 20;

impl<P: Protocol, F: Form<Event<Report<P>>>> Tidings<P, F> {
    /// Whether it is time to hand them on: frames of so many bytes were read meanwhile.
    #[inline]
    fn is_much(&self, read: usize) -> bool {
        !self.told.is_empty() && (self.told.len() >= MUCH_TOLD || read >= MUCH_READ)
    }
}

/// Leads those segments of a round to their flows that fall to a worker.
struct ToShare<'a, P: Protocol, F: Form<Event<Report<P>>>> {
    worker: &'a ReadingWorker<P, F>,
    /// Which segment of the round comes next.
    place: u32,
    flows: &'a mut Flows<P>,
    form: &'a F,
    tidings: &'a mut Tidings<P, F>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Lead for ToShare<'_, P, F> {
    #[inline(always)]
    fn lead(&mut self, segment: &impl Prospect, now: Timestamp) -> ControlFlow<()> {
        let place = self.place;
        self.place = place.saturating_add(1);
        if self.worker.shares.of(&segment.outline().key) == self.worker.place {
            self.tidings.take(place, segment, now, self.flows, self.form);
        }
        ControlFlow::Continue(())
    }
}

/// How far workers that read for themselves go: all to the end of the same round.
pub(super) struct Course<'a> {
    halt: &'a Halt<'a>,
    /// The rounds that any has begun, and whether no further one begins.
    begun: AtomicU64,
}

/// Set in what was begun where that is all.
const ALL: u64 = 1 << 63;

impl<'a> Course<'a> {
    pub(super) fn new(halt: &'a Halt<'a>) -> Self {
        Self { halt, begun: AtomicU64::new(0) }
    }

    /// Whether a worker is to take the round of this number: unless it was to stop before anybody took that.
    fn takes(&self, round: u64) -> bool {
        let stops = self.halt.is_due();
        let begun = if stops {
            self.begun.fetch_or(ALL, Ordering::Relaxed)
        } else {
            self.begun.fetch_max(round.saturating_add(1), Ordering::Relaxed)
        };
        let is_over = stops || begun & ALL != 0;
        !is_over || round < begun & !ALL
    }
}
