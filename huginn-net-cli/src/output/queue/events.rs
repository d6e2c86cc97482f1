//! Queue of events to a thread that writes them in a form of its own, such as Parquet.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use huginn_net::Event;

use super::{OutputQueue, Shared};
use crate::output::OutputError;

/// Passes events to the thread that writes them.
#[derive(Debug)]
pub(crate) struct EventSender {
    events: SyncSender<Event>,
    shared: Arc<Shared>,
}

impl EventSender {
    /// Starts the thread that writes events. The queue holds at most `capacity` events.
    pub(in crate::output) fn start(
        capacity: usize,
        run: impl FnOnce(Receiver<Event>, Arc<Shared>) + Send + 'static,
    ) -> Result<(OutputQueue, Self), OutputError> {
        let (events, receiver) = sync_channel(capacity);
        let run = move |shared| run(receiver, shared);
        let (queue, shared) = OutputQueue::with_writer(capacity, run).map_err(OutputError::Thread)?;
        Ok((queue, Self { events, shared }))
    }

    /// Queues an event. Never blocks: a full queue drops and counts it. Returns whether there was room.
    pub(crate) fn push(&self, event: Event) -> bool {
        self.shared.count(|counters| counters.queued_lines = counters.queued_lines.saturating_add(1));
        let sent = self.events.try_send(event);
        if matches!(sent, Err(TrySendError::Full(_))) {
            self.shared.count(|counters| counters.refused_lines = counters.refused_lines.saturating_add(1));
        }
        if sent.is_err() {
            self.shared.lost(1, 0);
        }
        sent.is_ok()
    }
}
