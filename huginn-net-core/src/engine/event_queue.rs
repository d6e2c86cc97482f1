//! The queue between an analysis and the reader of its events.

use std::collections::VecDeque;
use std::mem;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::CancelToken;
use super::render::Output;
use super::snapshot::Queries;
use crate::Timestamp;
use crate::limits::{MAX_OUTPUT_EVENTS, MAX_UNREAD_EVENTS, MAX_UNREAD_EVENTS_OF_QUERIES};

/// Events that wait for their reader, which is a thread or a task.
pub(super) struct EventQueue<T> {
    state: Mutex<QueueState<T>>,
    /// Events were added, or the analysis has ended.
    readable: Condvar,
    /// Events were taken, or the analysis must not wait.
    writable: Condvar,
    /// Queries that wait for an answer of the analysis.
    queries: OnceLock<Arc<Queries>>,
    cancel: CancelToken,
}

struct QueueState<T> {
    events: VecDeque<T>,
    reader: Reader,
    has_ended: bool,
    /// The task that waits for events or for the end.
    task: Option<Waker>,
}

/// What becomes of further events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    Reads,
    /// The analysis goes on, and its events are dropped.
    Discards,
    /// The analysis stops.
    Gone,
}

impl<T> EventQueue<T> {
    pub(super) fn new(cancel: CancelToken) -> Self {
        let state =
            QueueState { events: VecDeque::new(), reader: Reader::Reads, has_ended: false, task: None };
        Self {
            state: Mutex::new(state),
            readable: Condvar::new(),
            writable: Condvar::new(),
            queries: OnceLock::new(),
            cancel,
        }
    }

    /// Sets the queries that wait for an answer. The analysis goes on while there are any, up to a limit.
    pub(super) fn set_queries(&self, queries: Arc<Queries>) {
        // Set once, before the analysis starts.
        let _ = self.queries.set(queries);
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the analysis must wait before it adds events. Refuses the queries that would wait with it.
    fn must_wait(&self, state: &QueueState<T>, added: usize) -> bool {
        let unread = state.events.len();
        if state.reader != Reader::Reads || unread < MAX_UNREAD_EVENTS || self.cancel.is_cancelled() {
            return false;
        }
        let Some(queries) = self.queries.get().filter(|queries| queries.are_waiting()) else { return true };
        let is_too_full = unread.saturating_add(added) > MAX_UNREAD_EVENTS_OF_QUERIES;
        if is_too_full {
            queries.refuse();
        }
        is_too_full
    }

    /// Adds events. Waits while the queue is full, unless a query waits for an answer and there is room for its events. Breaks when the
    /// reader is gone.
    fn add(&self, added: &mut Vec<T>) -> ControlFlow<()> {
        let mut state = self.lock();
        while self.must_wait(&state, added.len()) {
            state = self.writable.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.reader {
            Reader::Reads => {
                state.events.extend(added.drain(..));
                self.notify_reader(state);
                ControlFlow::Continue(())
            }
            Reader::Discards => {
                added.clear();
                ControlFlow::Continue(())
            }
            Reader::Gone => ControlFlow::Break(()),
        }
    }

    fn notify_reader(&self, mut state: MutexGuard<'_, QueueState<T>>) {
        let task = state.task.take();
        drop(state);
        self.readable.notify_one();
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Records the end of the analysis.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        self.notify_reader(state);
    }

    /// Lets an analysis that waits for its reader look whether it must go on.
    pub(super) fn wake_writer(&self) {
        // The lock orders this after the check of a writer that is about to wait.
        drop(self.lock());
        self.writable.notify_one();
    }

    /// Drops the events that are there, and all that follow. `is_over` stops the analysis.
    pub(super) fn stop_reading(&self, is_over: bool) {
        let mut state = self.lock();
        state.reader = if is_over { Reader::Gone } else { Reader::Discards };
        let unread = mem::take(&mut state.events);
        drop(state);
        self.writable.notify_one();
        drop(unread);
    }

    /// Takes all events, in exchange for an empty queue. Waits for the first. Takes none only at the end of the analysis.
    pub(super) fn take(&self, taken: &mut VecDeque<T>) {
        let mut state = self.lock();
        while state.events.is_empty() && !state.has_ended {
            state = self.readable.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        mem::swap(&mut state.events, taken);
        drop(state);
        self.writable.notify_one();
    }

    /// [Takes](Self::take) all events, or lets the task be woken when there are some.
    #[cfg(feature = "stream")]
    pub(super) fn poll_take(&self, context: &Context<'_>, taken: &mut VecDeque<T>) -> Poll<()> {
        let mut state = self.lock();
        if state.events.is_empty() && !state.has_ended {
            state.task = Some(context.waker().clone());
            return Poll::Pending;
        }
        mem::swap(&mut state.events, taken);
        drop(state);
        self.writable.notify_one();
        Poll::Ready(())
    }

    /// Is ready once the analysis has ended.
    pub(super) fn poll_end(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.has_ended {
            return Poll::Ready(());
        }
        state.task = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Adds the events of an analysis to a queue, a batch at a time.
pub(super) struct ToQueue<'a, T> {
    queue: &'a EventQueue<T>,
    batch: Vec<T>,
}

impl<'a, T> ToQueue<'a, T> {
    pub(super) fn new(queue: &'a EventQueue<T>) -> Self {
        Self { queue, batch: Vec::new() }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if self.batch.is_empty() { ControlFlow::Continue(()) } else { self.queue.add(&mut self.batch) }
    }
}

impl<T> Output<T, ()> for ToQueue<'_, T> {
    fn event(&mut self, event: T, (): &()) -> ControlFlow<()> {
        self.batch.push(event);
        if self.batch.len() >= MAX_OUTPUT_EVENTS { self.flush() } else { ControlFlow::Continue(()) }
    }

    fn batch_end(&mut self, _: Option<Timestamp>) -> ControlFlow<()> {
        self.flush()
    }

    fn end(&mut self) {
        // The analysis is over.
        let _ = self.flush();
    }
}
