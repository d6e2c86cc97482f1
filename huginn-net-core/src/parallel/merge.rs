//! The thread of the caller: what the workers tell, in the order of the capture.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender, select};

use super::standing::Standings;
use super::worker::{Tidings, ToldIn};
use super::{Halt, Round};
use crate::analysis_error::ThreadFailure;
use crate::form::{Delivery, Form};
use crate::outlet::{Outlet, Told};
use crate::watch::Request;
use crate::{AnalysisError, Counters, Event, Protocol, Report};

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
            if self.deliver(&mut told, |lane, tidings| lane.next_part(tidings))?.is_break() {
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

    /// Has `read` read round after round in this thread, until it says that there are no more, or the sink breaks.
    pub(super) fn run_alone<E>(
        mut self,
        mut read: impl FnMut(&mut Tidings<P, F>) -> Read<E>,
    ) -> Result<(), AnalysisError<E>> {
        let mut outcome = Ok(true);
        let heard = self.hear_alone(&mut read, &mut outcome);
        self.delivery.ended();
        match outcome {
            Err(failure @ AnalysisError::Thread { .. }) => Err(failure),
            outcome => heard.map_err(ThreadFailure::into_error).and(outcome.map(|_| ())),
        }
    }

    fn hear_alone<E>(
        &mut self,
        read: &mut impl FnMut(&mut Tidings<P, F>) -> Read<E>,
        outcome: &mut Result<bool, AnalysisError<E>>,
    ) -> Result<(), ThreadFailure> {
        let mut told = [((), Tidings::default())];
        while matches!(outcome, Ok(true)) && !self.halt.is_due() {
            let Read { counters, more } = read(&mut told[0].1);
            (self.standings.read, *outcome) = (counters, more);
            for (standing, (_, tidings)) in self.standings.workers.iter_mut().zip(&mut told) {
                std::mem::swap(standing, &mut tidings.standing);
            }
            let no_more = |(): &mut (), _: &mut _| ControlFlow::Continue(());
            if self.deliver(&mut told, no_more)?.is_break() || self.delivery.round(None).is_break() {
                return Ok(());
            }
            F::clear(&mut told[0].1.shelf);
            self.requests.try_iter().for_each(|request| request(&self.standings.glimpse(self.outlet)));
        }
        Ok(())
    }

    /// Leads what was told in a round to where it belongs. Breaks when the sink does, or where no more is wanted.
    /// `more` gets the next part of what a worker told, where that is not all; it breaks where that does not come.
    fn deliver<L>(
        &mut self,
        told: &mut [(L, Tidings<P, F>)],
        mut more: impl FnMut(&mut L, &mut Tidings<P, F>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ThreadFailure> {
        let Self { outlet, form, delivery, halt, .. } = self;
        let mut failure = None;
        let mut concluded = F::Shelf::default();
        loop {
            for (lane, tidings) in told.iter_mut() {
                if tidings.told.is_empty() && !tidings.is_last && more(lane, tidings).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let Some((told, shelf)) = next::<_, P, F>(told) else { return Ok(ControlFlow::Continue(())) };
            let outcome = match told {
                _ if halt.is_cancelled() => ControlFlow::Break(()),
                Told::Report(piece) => outlet.report(piece, shelf, *delivery),
                Told::Note(note) => {
                    outlet.note(note, &mut |event| match catch_unwind(AssertUnwindSafe(|| {
                        form.form(event, &mut concluded)
                    })) {
                        Ok(piece) => delivery.deliver(piece, &concluded),
                        Err(payload) => {
                            failure = Some(ThreadFailure::panicked("caller", &*payload));
                            ControlFlow::Break(())
                        }
                    })
                }
            };
            F::clear(&mut concluded);
            if outcome.is_break() {
                return failure.map_or(Ok(outcome), Err);
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

/// What became of a round that was read in the thread of the caller.
pub(super) struct Read<E> {
    /// What was counted up to the flows so far.
    pub(super) counters: Counters,
    /// Whether there may be more.
    pub(super) more: Result<bool, AnalysisError<E>>,
}

/// Says so where it is dropped.
struct StopOnDrop<'a>(&'a Halt<'a>);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Takes out what was told first, with what it refers to.
fn next<L, P: Protocol, F: Form<Event<Report<P>>>>(
    inbox: &mut [(L, Tidings<P, F>)],
) -> Option<(ToldIn<P, F>, &F::Shelf)> {
    let (_, tidings) = inbox
        .iter_mut()
        .min_by_key(|(_, tidings)| tidings.told.front().map_or(u64::MAX, |(place, _)| u64::from(*place)))?;
    let (_, told) = tidings.told.pop_front()?;
    Some((told, &tidings.shelf))
}
