//! The thread of the caller: what the workers tell, in the order of the capture.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crossbeam_channel::{Receiver, Sender, select};

use super::standing::Standings;
use super::worker::{Tidings, ToldIn};
use super::{Halt, Round};
use crate::analysis_error::ThreadFailure;
use crate::form::{Delivery, Form, Guarded};
use crate::outlet::{Outlet, Told};
use crate::watch::Request;
use crate::{Event, Protocol, Report};

/// The ways from the other threads.
pub(super) struct Inbox<P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) rounds: Receiver<Round>,
    pub(super) lanes: Vec<Lane<P, F>>,
}

/// The way from one worker.
pub(super) struct Lane<P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) tidings: Receiver<Tidings<P, F>>,
    pub(super) spent_tidings: Sender<Tidings<P, F>>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Lane<P, F> {
    /// Receives what follows these tidings in their round. Breaks where the worker is gone.
    fn next_part(&self, tidings: &mut Tidings<P, F>) -> ControlFlow<()> {
        let Ok(mut part) = self.tidings.recv() else { return ControlFlow::Break(()) };
        std::mem::swap(tidings, &mut part);
        self.give_back(part);
        ControlFlow::Continue(())
    }

    fn give_back(&self, mut tidings: Tidings<P, F>) {
        F::clear(&mut tidings.shelf);
        // Where there are enough of them, it is dropped.
        let _ = self.spent_tidings.try_send(tidings);
    }
}

/// What a worker told in a round, with the way from it.
type ToldBy<'a, P, F> = (&'a Lane<P, F>, Tidings<P, F>);

/// Leads what is told to the memory and the sink.
pub(super) struct Merger<'a, P: Protocol, F: Form<Event<Report<P>>>, D> {
    pub(super) outlet: &'a mut Outlet<P::Memory>,
    pub(super) form: &'a F,
    pub(super) delivery: &'a mut D,
    pub(super) halt: &'a Halt<'a>,
    pub(super) standings: Standings<P>,
    pub(super) requests: &'a Receiver<Request<P>>,
}

impl<P, F, D> Merger<'_, P, F, D>
where
    P: Protocol,
    F: Form<Event<Report<P>>>,
    D: Delivery<F::Piece, F::Shelf>,
{
    /// Hears of rounds until no more comes, or the sink breaks. Tells whoever reads to stop then, even where the sink
    /// panics.
    pub(super) fn run(mut self, inbox: Inbox<P, F>) -> Result<(), ThreadFailure> {
        // Before nobody receives any more what is sent.
        let stop = StopOnDrop(self.halt);
        let heard = self.hear(&inbox);
        drop((stop, inbox));
        self.delivery.ended();
        heard
    }

    fn hear(&mut self, inbox: &Inbox<P, F>) -> Result<(), ThreadFailure> {
        let mut told = Vec::with_capacity(inbox.lanes.len());
        while let Some(round) = self.next_round(&inbox.rounds) {
            self.standings.read = round.counters;
            let lanes = inbox.lanes.iter().enumerate();
            for (_, lane) in lanes.filter(|(worker, _)| round.workers.has(*worker)) {
                // A worker that is gone ends the analysis; why it is gone, its thread tells.
                let Ok(tidings) = lane.tidings.recv() else { return Ok(()) };
                told.push((lane, tidings));
            }
            if self.deliver(&mut told)?.is_break() {
                return Ok(());
            }
            let standings = self.standings.workers.iter_mut().enumerate();
            let standings = standings.filter(|(worker, _)| round.workers.has(*worker));
            for ((_, standing), (_, tidings)) in standings.zip(&mut told) {
                std::mem::swap(standing, &mut tidings.standing);
            }
            if !told.is_empty() && self.delivery.round(round.taken_at).is_break() {
                return Ok(());
            }
            told.drain(..).for_each(|(lane, tidings)| lane.give_back(tidings));
        }
        Ok(())
    }

    /// Leads what was told in a round to where it belongs. Breaks when the sink does, or where no more is wanted or comes.
    fn deliver(&mut self, told: &mut [ToldBy<'_, P, F>]) -> Result<ControlFlow<()>, ThreadFailure> {
        let Self { outlet, form, delivery, halt, .. } = self;
        let mut concluded = F::Shelf::default();
        loop {
            for (lane, tidings) in told.iter_mut() {
                if tidings.told.is_empty() && !tidings.is_last && lane.next_part(tidings).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let Some((told, shelf)) = next(told) else { return Ok(ControlFlow::Continue(())) };
            let outcome = match told {
                _ if halt.is_cancelled() => ControlFlow::Break(()),
                Told::Report(piece) => outlet.report(piece, shelf, *delivery),
                Told::Note(note) => {
                    let mut guarded = Guarded::new(*delivery);
                    let note = || {
                        outlet.note(note, &mut |event| {
                            let piece = form.form(event, &mut concluded);
                            guarded.deliver(piece, &concluded)
                        })
                    };
                    match catch_unwind(AssertUnwindSafe(note)) {
                        Ok(outcome) => outcome,
                        Err(payload) if guarded.is_busy => resume_unwind(payload),
                        Err(payload) => return Err(ThreadFailure::panicked("caller", &*payload)),
                    }
                }
            };
            F::clear(&mut concluded);
            if outcome.is_break() {
                return Ok(outcome);
            }
        }
    }

    /// Waits for a round, and answers meanwhile. `None` when no more comes.
    fn next_round(&self, rounds: &Receiver<Round>) -> Option<Round> {
        loop {
            select! {
                recv(rounds) -> round => return round.ok(),
                recv(self.requests) -> request => request.ok()?(&self.standings.glimpse(self.outlet)),
            }
        }
    }
}

/// Says so where it is dropped.
struct StopOnDrop<'a>(&'a Halt<'a>);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Takes out what was told first, with what it refers to.
fn next<'a, P: Protocol, F: Form<Event<Report<P>>>>(
    inbox: &'a mut [ToldBy<'_, P, F>],
) -> Option<(ToldIn<P, F>, &'a F::Shelf)> {
    let (_, tidings) = inbox
        .iter_mut()
        .min_by_key(|(_, tidings)| tidings.told.front().map_or(u64::MAX, |(place, _)| u64::from(*place)))?;
    let (_, told) = tidings.told.pop_front()?;
    Some((told, &tidings.shelf))
}
