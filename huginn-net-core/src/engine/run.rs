//! An analysis in a thread of its own.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::iter::FusedIterator;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::thread::{self, JoinHandle};

use super::analyzer::Analyzer;
use super::event_queue::{EventQueue, ToQueue};
use super::{AnalysisError, CancelToken, Counters, RunCounters, Snapshot, SnapshotHandle};
use crate::{Block, ChunkReader, Event, Fill, NextFrame, Protocol, Report, Source, Timestamp};

/// The analyzer after a [`Run`], for another capture, and the counters or the error of the analysis.
pub type RunOutcome<P, E> = (Analyzer<P>, Result<Counters, AnalysisError<E>>);

/// A running analysis: see [`Analyzer::spawn`].
///
/// The run is an iterator of events, which waits for the next one, and with the feature `stream` a `Stream`.
/// [`next_batch`](Self::next_batch) returns all events that are there. The analysis waits while more than 1,024 events are unread, so that a
/// live source loses packets if they are read too slowly; [counters](Self::counters) count them.
///
/// [`finish`](Self::finish) waits for the end, and `run.await` does in a task, for any executor: both return the analyzer with counters or
/// error. **Dropping a run ends it**, and no other that shares its [`CancelToken`]: open connections then report nothing. To have their last
/// events, [stop](Self::stop) it and read on to the end.
///
/// ```
/// use huginn_net_core::{Analyzer, Frame, Frames, LinkType, Protocol, Report, Timestamp};
///
/// fn count<P: Protocol + 'static>(analyzer: Analyzer<P>, frames: Vec<Frame<'static>>) -> (usize, u64)
/// where
///     P::SharedState: Send,
/// {
///     let mut run = analyzer.spawn(Frames::new(frames));
///     let events = run.by_ref().count();
///     let (_analyzer, counters) = run.finish();
///     (events, counters.map_or(0, |counters| counters.events))
/// }
/// ```
pub struct Run<P: Protocol, E> {
    queue: Arc<EventQueue<Event<Report<P>>>>,
    /// Events that were taken from the queue.
    taken: VecDeque<Event<Report<P>>>,
    snapshots: SnapshotHandle<P>,
    cancel: CancelToken,
    stopper: RunStopper,
    /// `None` once the end is awaited.
    thread: Option<JoinHandle<RunOutcome<P, E>>>,
}

/// Stops a [`Run`] from another thread. Clones stop the same run.
#[derive(Clone)]
pub struct RunStopper {
    is_stopped: Arc<AtomicBool>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl RunStopper {
    /// Ends the source before its next frame: the analysis reports the last events of open connections, and ends. A source that waits
    /// for frames ends when it wakes.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        (self.wake)();
    }
}

impl fmt::Debug for RunStopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStopper").field("is_stopped", &self.is_stopped).finish_non_exhaustive()
    }
}

impl<P: Protocol + 'static> Analyzer<P>
where
    P::SharedState: Send,
{
    /// [Analyses](Self::analyze) a source in a thread of its own, and returns a handle to the analysis: its events, its counters, and the
    /// analyzer at its end.
    ///
    /// # Panics
    /// If the system cannot start a thread, as [`thread::spawn`] does.
    pub fn spawn<S>(self, source: S) -> Run<P, S::Error>
    where
        S: Source<'static, Error: Send> + Send + 'static,
    {
        self.start(|analyzer, stop, queue| {
            analyzer.analyze_to(Stoppable { source, stop }, &mut ToQueue::new(queue))
        })
    }

    /// [Analyses several sources](Self::analyze_queues) in threads of their own, as [`spawn`](Self::spawn) does one.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    pub fn spawn_queues<S>(self, sources: Vec<S>) -> Run<P, S::Error>
    where
        S: Source<'static, Error: Send> + Send + 'static,
    {
        self.start(|analyzer, stop, queue| {
            let stoppable = |source| Stoppable { source, stop: Arc::clone(&stop) };
            let sources = sources.into_iter().map(stoppable).collect();
            analyzer.analyze_queues_to(sources, &mut ToQueue::new(queue))
        })
    }

    fn start<E: Send + 'static>(
        mut self,
        analyze: impl FnOnce(
            &mut Self,
            Arc<AtomicBool>,
            &EventQueue<Event<Report<P>>>,
        ) -> Result<Counters, AnalysisError<E>>
        + Send
        + 'static,
    ) -> Run<P, E> {
        let (snapshots, cancel) = (self.snapshot_handle(), self.cancel_token());
        let queue = Arc::new(EventQueue::new(cancel.clone()));
        let writer = Arc::clone(&queue);
        queue.set_queries(snapshots.set_sink_waker(move || writer.wake_writer()));
        snapshots.open();
        snapshots.publish_from_now_on();
        self.publish_counters();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let source = snapshots.clone();
        let stopper =
            RunStopper { is_stopped: Arc::clone(&is_stopped), wake: Arc::new(move || source.wake_source()) };
        let end = EndOnDrop { queue: Arc::clone(&queue), snapshots: snapshots.clone() };
        let thread = thread::spawn(move || {
            let end = end;
            let outcome = analyze(&mut self, is_stopped, &end.queue);
            (self, outcome)
        });
        Run { queue, taken: VecDeque::new(), snapshots, cancel, stopper, thread: Some(thread) }
    }
}

impl<P: Protocol, E> Run<P, E> {
    /// Waits for events and returns all that are there; `None` at the end of the analysis.
    pub fn next_batch(&mut self) -> Option<Vec<Event<Report<P>>>> {
        if self.taken.is_empty() {
            self.queue.take(&mut self.taken);
        }
        (!self.taken.is_empty()).then(|| std::mem::take(&mut self.taken).into())
    }

    /// Ends the source before its next frame: the run then reports the last events of open connections, and ends. It does not wait. A
    /// source that waits for frames ends when it wakes.
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Returns a handle that [stops](Self::stop) the run from another thread.
    pub fn stopper(&self) -> RunStopper {
        self.stopper.clone()
    }

    /// Stops the analysis before its next frame, without the last events of open connections, [for good](CancelToken::cancel): also those of
    /// other analyzers that share its token.
    pub fn cancel(&self) {
        self.cancel.cancel();
        self.queue.wake_writer();
        self.snapshots.wake_source();
    }

    /// Returns the latest counters that the analysis published; after the end, the final ones. Never waits.
    pub fn counters(&self) -> Arc<RunCounters<P::Counters>> {
        self.snapshots.counters()
    }

    /// Calls `read` in the thread of the analysis, between two blocks of frames, and [waits](SnapshotHandle::query) for its result.
    ///
    /// Events may be unread meanwhile: the analysis goes on to the end of its block, and adds the events of that block to them.
    ///
    /// Returns `None` at once, without a call of `read`, if more than 32,768 events would be unread: read some and ask again. Returns `None`
    /// once the analysis has ended: [`finish`](Self::finish) returns its analyzer.
    pub fn query<R: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot<'_, P>) -> R + Send + 'static,
    ) -> Option<R> {
        self.snapshots.query(read)
    }

    /// Returns a handle that queries the analysis from another thread.
    pub fn snapshot_handle(&self) -> SnapshotHandle<P> {
        self.snapshots.clone()
    }

    /// Waits for the end of the source, and returns the analyzer with the final counters or the error. Events that were not read are
    /// dropped. [Stop](Self::stop) a run first that would not end.
    ///
    /// # Panics
    /// If the analysis panicked.
    pub fn finish(mut self) -> RunOutcome<P, E> {
        self.queue.stop_reading(false);
        let thread = self.thread.take();
        join(thread)
    }
}

/// Returns the outcome of the analysis, and continues its panic.
fn join<T>(thread: Option<JoinHandle<T>>) -> T {
    match thread.map(JoinHandle::join) {
        Some(Ok(outcome)) => outcome,
        Some(Err(panic)) => resume_unwind(panic),
        None => resume_unwind(Box::new("the outcome of the run was returned before")),
    }
}

impl<P: Protocol, E> Iterator for Run<P, E> {
    type Item = Event<Report<P>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.taken.is_empty() {
            self.queue.take(&mut self.taken);
        }
        self.taken.pop_front()
    }
}

impl<P: Protocol, E> FusedIterator for Run<P, E> {}

#[cfg(feature = "stream")]
impl<P: Protocol, E> futures_core::Stream for Run<P, E> {
    type Item = Event<Report<P>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let run = self.get_mut();
        if run.taken.is_empty() {
            ready!(run.queue.poll_take(context, &mut run.taken));
        }
        Poll::Ready(run.taken.pop_front())
    }
}

/// No part of a run is pinned.
impl<P: Protocol, E> Unpin for Run<P, E> {}

impl<P: Protocol, E> IntoFuture for Run<P, E> {
    type Output = RunOutcome<P, E>;
    type IntoFuture = RunEnd<P, E>;

    /// [Finishes](Run::finish) the run in a task.
    fn into_future(self) -> RunEnd<P, E> {
        self.queue.stop_reading(false);
        RunEnd(self)
    }
}

/// The end of a [`Run`], as a future. Dropping it ends the run.
#[derive(Debug)]
pub struct RunEnd<P: Protocol, E>(Run<P, E>);

impl<P: Protocol, E> Future for RunEnd<P, E> {
    type Output = RunOutcome<P, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.0.queue.poll_end(context));
        // The thread has done all of its work.
        Poll::Ready(join(self.0.thread.take()))
    }
}

impl<P: Protocol, E> Drop for Run<P, E> {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.queue.stop_reading(true);
            self.stop();
        }
    }
}

impl<P: Protocol, E> fmt::Debug for Run<P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("stopper", &self.stopper).finish_non_exhaustive()
    }
}

/// Tells readers and queries that the analysis has ended, also by a panic.
struct EndOnDrop<P: Protocol> {
    queue: Arc<EventQueue<Event<Report<P>>>>,
    snapshots: SnapshotHandle<P>,
}

impl<P: Protocol> Drop for EndOnDrop<P> {
    fn drop(&mut self) {
        self.snapshots.close();
        self.queue.end();
    }
}

/// A source that ends once the run is stopped.
struct Stoppable<S> {
    source: S,
    stop: Arc<AtomicBool>,
}

impl<S> Stoppable<S> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl<'f, S: Source<'f>> Source<'f> for Stoppable<S> {
    type Error = S::Error;

    fn is_live(&self) -> bool {
        self.source.is_live()
    }

    fn lends(&self) -> bool {
        self.source.lends()
    }

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        if self.is_stopped() { Ok(NextFrame::End) } else { self.source.next_frame() }
    }

    fn complete_until(&self) -> Option<Timestamp> {
        self.source.complete_until()
    }

    fn taken_at(&self) -> Option<Timestamp> {
        self.source.taken_at()
    }

    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        self.source.chunks(block_bytes)
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, S::Error> {
        if self.is_stopped() { Ok(Fill::End) } else { self.source.fill(block) }
    }
}
