//! The thread that watches a part of the flows.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};

use super::batch::{Batch, Item};
use super::standing::Standing;
use crate::flows::Flows;
use crate::form::Form;
use crate::outlet::{Told, told};
use crate::{Event, Memory, Protocol, Report, Timestamp};

/// What the flows of a worker told in one round.
pub(super) struct Tidings<P: Protocol, F: Form<Event<Report<P>>>> {
    /// Each with the place of the segment that told it.
    pub(super) told: VecDeque<(u32, ToldIn<P, F>)>,
    /// What they refer to.
    pub(super) shelf: F::Shelf,
    /// How the flows of the worker stand after it.
    pub(super) standing: Standing<P::Counters>,
}

/// One of them.
pub(super) type ToldIn<P, F> = Told<<F as Form<Event<Report<P>>>>::Piece, Note<P>>;

/// What a protocol's memory is told.
type Note<P> = <<P as Protocol>::Memory as Memory<<P as Protocol>::Event>>::Note;

impl<P: Protocol, F: Form<Event<Report<P>>>> Default for Tidings<P, F> {
    fn default() -> Self {
        Self { told: VecDeque::new(), shelf: F::Shelf::default(), standing: Standing::default() }
    }
}

/// What joins a worker to the other threads.
pub(super) struct Worker<'s, P: Protocol, F: Form<Event<Report<P>>>> {
    pub(super) batches: Receiver<Batch<'s>>,
    pub(super) spent_batches: Sender<Batch<'s>>,
    pub(super) spent_buffers: Sender<Vec<u8>>,
    pub(super) tidings: Sender<Tidings<P, F>>,
    pub(super) spent_tidings: Receiver<Tidings<P, F>>,
}

impl<P: Protocol, F: Form<Event<Report<P>>>> Worker<'_, P, F> {
    /// Watches flows until no further batch comes, or nobody wants to hear of them. `ended_at` then says what time it is.
    pub(super) fn run(self, mut flows: Flows<P>, form: &F, ended_at: &AtomicU64) -> Flows<P> {
        for mut batch in &self.batches {
            let mut tidings = self.spent_tidings.try_recv().unwrap_or_default();
            batch.each(|place, item, now| {
                let Tidings { told: queue, shelf, .. } = &mut tidings;
                let mut learn = |event| {
                    queue.push_back((place, told::<P::Event, P::Memory, F>(event, form, shelf)));
                    ControlFlow::Continue(())
                };
                let _ = match item {
                    Item::Usual(usual) => flows.segment(&usual, now, &mut learn),
                    Item::Other(segment) => flows.segment(segment, now, &mut learn),
                };
            });
            // Where there are enough of them, they are dropped.
            let _ = batch.clear().map(|buffer| self.spent_buffers.try_send(buffer));
            let _ = self.spent_batches.try_send(batch);
            tidings.standing = Standing::of(&flows);
            if self.tidings.send(tidings).is_err() {
                return flows;
            }
        }
        flows.expire(Timestamp::from_nanos(ended_at.load(Ordering::Acquire)));
        flows.clear();
        flows
    }
}
