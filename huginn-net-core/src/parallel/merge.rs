//! The thread of the caller: what the workers tell, in the order of the capture.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender, select};

use super::Round;
use super::standing::Standings;
use super::worker::{Tidings, ToldIn};
use crate::analysis_error::ThreadFailure;
use crate::form::{Delivery, Form};
use crate::outlet::{Outlet, Told};
use crate::watch::Request;
use crate::{CancelToken, Event, Protocol, Report};

/// What joins the caller's thread to the others.
pub(super) struct Merger<P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) rounds: Receiver<Round>,
    pub(super) lanes: Vec<Lane<P, F>>,
}

/// The way from one worker.
pub(super) struct Lane<P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) tidings: Receiver<Tidings<P, F>>,
    pub(super) spent_tidings: Sender<Tidings<P, F>>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Merger<P, F> {
    /// Leads what is told to the memory and the sink until nothing more comes, or the sink breaks.
    pub(super) fn run(
        self,
        outlet: &mut Outlet<P::Memory>,
        form: &F,
        delivery: &mut impl Delivery<F::Piece, F::Shelf>,
        cancel: &CancelToken,
        mut standings: Standings<P>,
        requests: &Receiver<Request<P>>,
    ) -> Result<(), ThreadFailure> {
        let mut failure = None;
        let mut concluded = F::Shelf::default();
        let mut inbox = Vec::with_capacity(self.lanes.len());
        while let Some(round) = self.next_round(outlet, &standings, requests) {
            standings.read = round.counters;
            let lanes = self.lanes.iter().zip(&mut standings.workers).enumerate();
            for (_, (lane, standing)) in lanes.filter(|(worker, _)| round.workers.has(*worker)) {
                // A worker that is gone ends the analysis; why it is gone, its thread tells.
                let Ok(mut tidings) = lane.tidings.recv() else { return Ok(()) };
                std::mem::swap(standing, &mut tidings.standing);
                inbox.push((lane, tidings));
            }
            while let Some((told, shelf)) = next::<_, P, F>(&mut inbox) {
                let outcome = match told {
                    _ if cancel.is_cancelled() => ControlFlow::Break(()),
                    Told::Report(piece) => outlet.report(piece, shelf, delivery),
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
                    return failure.map_or(Ok(()), Err);
                }
            }
            if !round.workers.is_empty() && delivery.round(round.taken_at).is_break() {
                return Ok(());
            }
            for (lane, mut tidings) in inbox.drain(..) {
                F::clear(&mut tidings.shelf);
                // Where there are enough of them, it is dropped.
                let _ = lane.spent_tidings.try_send(tidings);
            }
        }
        Ok(())
    }

    /// Waits for a round, and answers meanwhile. `None` when no more comes.
    fn next_round(
        &self,
        outlet: &Outlet<P::Memory>,
        standings: &Standings<P>,
        requests: &Receiver<Request<P>>,
    ) -> Option<Round> {
        loop {
            select! {
                recv(self.rounds) -> round => return round.ok(),
                recv(requests) -> request => request.ok()?(&standings.glimpse(outlet)),
            }
        }
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
