//! The thread of the caller: what the workers tell, in the order of the capture.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender};

use super::Round;
use super::worker::{Tidings, ToldIn};
use crate::analysis_error::ThreadFailure;
use crate::form::{Delivery, Form};
use crate::outlet::{Outlet, Told};
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
    ) -> Result<(), ThreadFailure> {
        let mut failure = None;
        let mut concluded = F::Shelf::default();
        let mut inbox = Vec::with_capacity(self.lanes.len());
        for round in &self.rounds {
            for lane in self.lanes.iter().enumerate().filter(|(n, _)| round.has(*n)).map(|(_, lane)| lane) {
                // A worker that is gone ends the analysis; why it is gone, its thread tells.
                let Ok(tidings) = lane.tidings.recv() else { return Ok(()) };
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
            for (lane, mut tidings) in inbox.drain(..) {
                F::clear(&mut tidings.shelf);
                // Where there are enough of them, it is dropped.
                let _ = lane.spent_tidings.try_send(tidings);
            }
        }
        Ok(())
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
