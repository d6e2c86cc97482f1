//! The thread of the caller: what the workers tell, in the order of the capture.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender};

use super::Round;
use super::worker::{Note, Tidings};
use crate::analysis_error::ThreadFailure;
use crate::outlet::{Outlet, Told};
use crate::{CancelToken, Event, Protocol, Report, Sink};

/// What joins the caller's thread to the others.
pub(super) struct Merger<T, P: Protocol> {
    pub(super) rounds: Receiver<Round>,
    pub(super) lanes: Vec<Lane<T, P>>,
}

/// The way from one worker.
pub(super) struct Lane<T, P: Protocol> {
    pub(super) tidings: Receiver<Tidings<T, P>>,
    pub(super) spent_tidings: Sender<Tidings<T, P>>,
}

impl<T, P: Protocol> Merger<T, P> {
    /// Leads what is told to the memory and the sink until nothing more comes, or the sink breaks.
    pub(super) fn run(
        self,
        outlet: &mut Outlet<P::Memory>,
        map: &impl Fn(Event<Report<P>>) -> T,
        sink: &mut (impl Sink<T> + ?Sized),
        cancel: &CancelToken,
    ) -> Result<(), ThreadFailure> {
        let mut failure = None;
        let mut inbox = Vec::with_capacity(self.lanes.len());
        for round in &self.rounds {
            for lane in self.lanes.iter().enumerate().filter(|(n, _)| round.has(*n)).map(|(_, lane)| lane) {
                // A worker that is gone ends the analysis; why it is gone, its thread tells.
                let Ok(tidings) = lane.tidings.recv() else { return Ok(()) };
                inbox.push((lane, tidings));
            }
            while let Some(told) = next::<_, T, P>(&mut inbox) {
                let outcome = match told {
                    _ if cancel.is_cancelled() => ControlFlow::Break(()),
                    Told::Report(report) => outlet.report(report, sink),
                    Told::Note(note) => {
                        outlet.note(note, &mut |event| match catch_unwind(AssertUnwindSafe(|| map(event))) {
                            Ok(report) => sink.event(report),
                            Err(payload) => {
                                failure = Some(ThreadFailure::panicked("caller", &*payload));
                                ControlFlow::Break(())
                            }
                        })
                    }
                };
                if outcome.is_break() {
                    return failure.map_or(Ok(()), Err);
                }
            }
            for (lane, tidings) in inbox.drain(..) {
                // Where there are enough of them, it is dropped.
                let _ = lane.spent_tidings.try_send(tidings);
            }
        }
        Ok(())
    }
}

/// Takes out what was told first.
fn next<L, T, P: Protocol>(inbox: &mut [(L, Tidings<T, P>)]) -> Option<Told<T, Note<P>>> {
    let (_, tidings) = inbox
        .iter_mut()
        .min_by_key(|(_, tidings)| tidings.front().map_or(u64::MAX, |(place, _)| u64::from(*place)))?;
    tidings.pop_front().map(|(_, told)| told)
}
