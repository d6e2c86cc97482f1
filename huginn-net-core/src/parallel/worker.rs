//! The thread that watches a part of the flows.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};

use super::batch::{Batch, Item};
use super::standing::Standing;
use crate::decode::Prospect;
use crate::flows::Flows;
use crate::form::Form;
use crate::outlet::{Told, told};
use crate::{Event, Memory, Protocol, Report, Timestamp};

/// What the flows of a worker told in one round, or in a part of it.
pub(super) struct Tidings<P: Protocol, F: Form<Event<Report<P>>>> {
    /// Each with the place of the segment that told it.
    pub(super) told: VecDeque<(u32, ToldIn<P, F>)>,
    /// What they refer to.
    pub(super) shelf: F::Shelf,
    /// Whether no further part of the round follows.
    pub(super) is_last: bool,
    /// How the flows of the worker stand after it.
    pub(super) standing: Standing<P::Counters>,
}

/// One of them.
pub(super) type ToldIn<P, F> = Told<<F as Form<Event<Report<P>>>>::Piece, Note<P>>;

/// What a protocol's memory is told.
type Note<P> = <<P as Protocol>::Memory as Memory<<P as Protocol>::Event>>::Note;

impl<P: Protocol, F: Form<Event<Report<P>>>> Default for Tidings<P, F> {
    fn default() -> Self {
        let (shelf, standing) = (F::Shelf::default(), Standing::default());
        Self { told: VecDeque::new(), shelf, is_last: false, standing }
    }
}

/// The way from a worker to the thread of the caller.
pub(super) struct Outbox<P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) tidings: Sender<Tidings<P, F>>,
    pub(super) spent_tidings: Receiver<Tidings<P, F>>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Outbox<P, F> {
    /// Tidings of nothing so far.
    pub(super) fn blank(&self) -> Tidings<P, F> {
        self.spent_tidings.try_recv().unwrap_or_default()
    }

    /// Sends what the flows told in a round, or the next part of that; tells whether anybody wants to hear more.
    pub(super) fn send(&self, mut tidings: Tidings<P, F>, is_last: bool, flows: &Flows<P>) -> bool {
        (tidings.is_last, tidings.standing) = (is_last, Standing::of(flows));
        self.tidings.send(tidings).is_ok()
    }
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Tidings<P, F> {
    /// Leads the segment of this place in the round to its flow, and takes what that tells.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        place: u32,
        segment: &impl Prospect,
        now: Timestamp,
        flows: &mut Flows<P>,
        form: &F,
    ) {
        let Self { told: queue, shelf, .. } = self;
        let _ = flows.segment(segment, now, &mut |event| {
            queue.push_back((place, told::<P::Event, P::Memory, F>(event, form, shelf)));
            ControlFlow::Continue(())
        });
    }
}

/// A worker that segments are handed to.
pub(super) struct Worker<P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) batches: Receiver<Batch>,
    pub(super) spent_batches: Sender<Batch>,
    pub(super) outbox: Outbox<P, F>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Worker<P, F> {
    /// Watches flows until no further batch comes, or nobody wants to hear of them. `ended_at` then says what time it is.
    pub(super) fn run(self, mut flows: Flows<P>, form: &F, ended_at: &AtomicU64) -> Flows<P> {
        for mut batch in &self.batches {
            let mut tidings = self.outbox.blank();
            batch.each(|place, item, now| match item {
                Item::Usual(usual) => tidings.take(place, &usual, now, &mut flows, form),
                Item::Other(segment) => tidings.take(place, segment, now, &mut flows, form),
            });
            batch.clear();
            // Where there are enough of them, it is dropped.
            let _ = self.spent_batches.try_send(batch);
            if !self.outbox.send(tidings, true, &flows) {
                return flows;
            }
        }
        flows.expire(Timestamp::from_nanos(ended_at.load(Ordering::Acquire)));
        flows.clear();
        flows
    }
}
