//! The thread that watches a part of the flows.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};

use super::batch::Batch;
use crate::flows::Flows;
use crate::outlet::{Told, told};
use crate::{Event, Memory, Protocol, Report, Timestamp};

/// What the flows of a worker told in one round, each with the place of the segment that told it.
pub(super) type Tidings<T, P> = VecDeque<(u32, Told<T, Note<P>>)>;

/// What a protocol's memory is told.
pub(super) type Note<P> = <<P as Protocol>::Memory as Memory<<P as Protocol>::Event>>::Note;

/// What joins a worker to the other threads.
pub(super) struct Worker<T, P: Protocol> {
    pub(super) batches: Receiver<Batch>,
    pub(super) spent_batches: Sender<Batch>,
    pub(super) tidings: Sender<Tidings<T, P>>,
    pub(super) spent_tidings: Receiver<Tidings<T, P>>,
}

impl<T, P: Protocol> Worker<T, P> {
    /// Watches flows until no further batch comes, or nobody wants to hear of them. `ended_at` then says what time it is.
    pub(super) fn run(
        self,
        mut flows: Flows<P>,
        map: &impl Fn(Event<Report<P>>) -> T,
        ended_at: &AtomicU64,
    ) -> Flows<P> {
        for mut batch in &self.batches {
            let mut tidings = self.spent_tidings.try_recv().unwrap_or_default();
            batch.each(|place, segment, now| {
                let _ = flows.segment(segment, now, &mut |event| {
                    tidings.push_back((place, told::<P::Event, P::Memory, T>(event, map)));
                    ControlFlow::Continue(())
                });
            });
            batch.clear();
            // Where there are enough of them, it is dropped.
            let _ = self.spent_batches.try_send(batch);
            if self.tidings.send(tidings).is_err() {
                return flows;
            }
        }
        flows.expire(Timestamp::from_nanos(ended_at.load(Ordering::Acquire)));
        flows.clear();
        flows
    }
}
