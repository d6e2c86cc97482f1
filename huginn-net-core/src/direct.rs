//! From the intake to the sink in one thread.

use std::ops::ControlFlow;

use crate::decode::Prospect;
use crate::flows::Flows;
use crate::form::{Delivery, Form};
use crate::intake::{Intake, Lead};
use crate::outlet::Outlet;
use crate::{CancelToken, Event, Protocol, Report, Source, Timestamp};

/// Why no further frame was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// There were as many as there should be.
    Enough,
    /// There were fewer: the source has ended, or the analysis was cancelled.
    Early,
    /// Nobody wants to hear more.
    Broken,
}

/// Reads so many frames at most.
// Inlined, so that the whole way of a packet is compiled as one loop, whoever takes the segments.
#[inline(always)]
pub(crate) fn read<S: Source>(
    source: &mut S,
    intake: &mut Intake,
    to: &mut impl Lead,
    cancel: &CancelToken,
    at_most: u64,
) -> Result<Ended, S::Error> {
    for _ in 0..at_most {
        if cancel.is_cancelled() {
            return Ok(Ended::Early);
        }
        let Some(frame) = source.next_frame()? else { return Ok(Ended::Early) };
        if intake.take(&frame, to).is_break() {
            return Ok(Ended::Broken);
        }
    }
    Ok(Ended::Enough)
}

/// Leads segments to their flows, and what these tell to the outlet, all in one thread.
pub(crate) struct ToFlows<'a, P: Protocol, F: Form<Event<Report<P>>>, D> {
    pub(crate) flows: &'a mut Flows<P>,
    pub(crate) told: ToOutlet<'a, P, F, D>,
}

/// Leads what flows tell to the outlet.
pub(crate) struct ToOutlet<'a, P: Protocol, F: Form<Event<Report<P>>>, D> {
    pub(crate) outlet: &'a mut Outlet<P::Memory>,
    pub(crate) form: &'a F,
    pub(crate) shelf: &'a mut F::Shelf,
    pub(crate) delivery: &'a mut D,
}

impl<P, F, D> Lead for ToFlows<'_, P, F, D>
where
    P: Protocol,
    F: Form<Event<Report<P>>>,
    D: Delivery<F::Piece, F::Shelf>,
{
    #[inline(always)]
    fn lead(&mut self, segment: &impl Prospect, now: Timestamp) -> ControlFlow<()> {
        let Self { flows, told } = self;
        flows.segment(segment, now, &mut |event| told.take(event))
    }
}

impl<P, F, D> ToOutlet<'_, P, F, D>
where
    P: Protocol,
    F: Form<Event<Report<P>>>,
    D: Delivery<F::Piece, F::Shelf>,
{
    fn take(&mut self, event: Event<P::Event>) -> ControlFlow<()> {
        self.outlet.take(event, self.form, self.shelf, self.delivery)
    }
}
