//! Snapshots and counters of a running analysis, read from other threads.

use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::Counters;
use crate::{Protocol, Timestamp};

/// The state of a running analysis, between two frames or, with several workers, between two blocks.
pub struct Snapshot<'a, P: Protocol> {
    pub(super) shared_state: &'a P::SharedState,
    pub(super) counters: RunCounters<P::Counters>,
}

impl<P: Protocol> Snapshot<'_, P> {
    /// Returns the state that spans flows.
    pub fn shared_state(&self) -> &P::SharedState {
        self.shared_state
    }

    /// Returns the engine's counters: frames, segments, flows, events.
    pub fn counters(&self) -> &Counters {
        &self.counters.engine
    }

    /// Returns the protocol's counters.
    pub fn protocol_counters(&self) -> &P::Counters {
        &self.counters.protocol
    }

    /// Returns the time of the latest frame; `None` before the first.
    pub fn packet_time(&self) -> Option<Timestamp> {
        self.counters.packet_time
    }
}

impl<P: Protocol> fmt::Debug for Snapshot<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("counters", &self.counters.engine).finish_non_exhaustive()
    }
}

/// The counters of an analysis at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunCounters<C> {
    /// Counters of the engine.
    pub engine: Counters,
    /// Counters of the protocol.
    pub protocol: C,
    /// The time of the latest frame that is counted; `None` before the first.
    pub packet_time: Option<Timestamp>,
}

/// Reads a running analysis from other threads. Clones refer to the same analyzer.
///
/// See [`Analyzer::snapshot_handle`](crate::Analyzer::snapshot_handle).
pub struct SnapshotHandle<P: Protocol>(Arc<Shared<P>>);

/// State that the clones of a handle share with the analyzer.
struct Shared<P: Protocol> {
    /// `None` while no analysis runs.
    running: Mutex<Option<Running<P>>>,
    /// Requests to an analysis that has not started yet.
    opened: Mutex<Option<Receiver<Request<P>>>>,
    queries: Arc<Queries>,
    /// Whether counters are published.
    is_published: AtomicBool,
    published: Mutex<Arc<RunCounters<P::Counters>>>,
    /// Wakes a waiting source.
    wake_source: Mutex<Option<Wake>>,
    /// Lets a sink continue that waits for its reader.
    wake_sink: Mutex<Option<Wake>>,
}

type Wake = Arc<dyn Fn() + Send + Sync>;

/// The request channel of a running analysis, and the thread that answers.
struct Running<P: Protocol> {
    requests: Sender<Request<P>>,
    /// `None` before the analysis starts.
    answered_by: Option<ThreadId>,
}

/// A snapshot request.
pub(super) type Request<P> = Box<dyn FnOnce(&Snapshot<'_, P>) + Send>;

impl<P: Protocol> SnapshotHandle<P> {
    /// Calls `read` in the thread of the running analysis, and waits for its result.
    ///
    /// Returns `None` if no analysis is running, if it ends first, or when called from its own sink. If the source
    /// waits for frames, the answer comes once the source wakes; see [`set_waker`](Self::set_waker). While a sink of the caller's own
    /// waits, no query is answered: the sink must not wait for the thread that queries. The queue of a [`Run`](crate::Run) does not, up to its
    /// [limit](crate::Run::query): at this one, `None` is returned at once, and `read` is not called.
    pub fn query<R: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot<'_, P>) -> R + Send + 'static,
    ) -> Option<R> {
        let requests = match &*lock(&self.0.running) {
            Some(running) if running.answered_by != Some(thread::current().id()) => running.requests.clone(),
            _ => return None,
        };
        // Counted before the sink wakes, so that it answers or refuses this query.
        let waiting = Waiting::new(&self.0.queries);
        let wake_sink = lock(&self.0.wake_sink).clone();
        wake_sink.iter().for_each(|wake| wake());
        let (answer, answered) = bounded(1);
        let is_waiting = Arc::downgrade(&waiting.is_waiting);
        let request: Request<P> = Box::new(move |snapshot| {
            if is_waiting.strong_count() > 0 {
                // The query may have been refused meanwhile.
                let _ = answer.send(read(snapshot));
            }
        });
        select! {
            send(requests, request) -> sent => sent.ok()?,
            recv(waiting.refused) -> _ => return None,
        }
        // An unanswered request is dropped only with the last sender.
        drop(requests);
        self.wake_source();
        select! {
            recv(answered) -> answer => answer.ok(),
            recv(waiting.refused) -> _ => answered.try_recv().ok(),
        }
    }

    /// Returns the latest counters that the analysis published. Never waits: neither for the sink nor for the source.
    ///
    /// The first call, or [`Analyzer::spawn`](crate::Analyzer::spawn), lets the analysis publish its counters: every 256 frames, after each
    /// block with several workers, before the source waits, and at the end.
    pub fn counters(&self) -> Arc<RunCounters<P::Counters>> {
        self.publish_from_now_on();
        Arc::clone(&lock(&self.0.published))
    }

    /// Sets the function that wakes a waiting source, so that [`query`](Self::query) is answered at once.
    pub fn set_waker(&self, wake: impl Fn() + Send + Sync + 'static) {
        *lock(&self.0.wake_source) = Some(Arc::new(wake));
    }

    pub(super) fn wake_source(&self) {
        let wake = lock(&self.0.wake_source).clone();
        wake.iter().for_each(|wake| wake());
    }

    /// Sets the function that lets a waiting sink continue. Returns the queries that wait: the sink must not wait while there are any that
    /// it has not refused.
    pub(super) fn set_sink_waker(&self, wake: impl Fn() + Send + Sync + 'static) -> Arc<Queries> {
        *lock(&self.0.wake_sink) = Some(Arc::new(wake));
        Arc::clone(&self.0.queries)
    }

    /// Accepts requests to an analysis that starts later.
    pub(super) fn open(&self) {
        let (requests, opened) = bounded(1);
        *lock(&self.0.opened) = Some(opened);
        *lock(&self.0.running) = Some(Running { requests, answered_by: None });
    }

    /// Ends an analysis, also one that never started.
    pub(super) fn close(&self) {
        *lock(&self.0.running) = None;
        *lock(&self.0.opened) = None;
        *lock(&self.0.wake_sink) = None;
    }

    /// Accepts requests until the returned value is dropped.
    pub(super) fn accept(&self) -> Requests<'_, P> {
        let answered_by = Some(thread::current().id());
        let mut running = lock(&self.0.running);
        let requests = match (&mut *running, lock(&self.0.opened).take()) {
            (Some(running), Some(requests)) => {
                running.answered_by = answered_by;
                requests
            }
            _ => {
                let (sender, requests) = bounded(1);
                *running = Some(Running { requests: sender, answered_by });
                requests
            }
        };
        Requests { handle: self, requests }
    }

    pub(super) fn publish_from_now_on(&self) {
        self.0.is_published.store(true, Ordering::Relaxed);
    }

    /// Publishes counters, if they are asked for.
    #[inline]
    pub(super) fn publish(&self, counters: impl FnOnce() -> RunCounters<P::Counters>) {
        if self.0.is_published.load(Ordering::Relaxed) {
            *lock(&self.0.published) = Arc::new(counters());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Protocol> Default for SnapshotHandle<P> {
    fn default() -> Self {
        let counters =
            RunCounters { engine: Counters::default(), protocol: P::Counters::default(), packet_time: None };
        Self(Arc::new(Shared {
            running: Mutex::default(),
            opened: Mutex::default(),
            queries: Arc::default(),
            is_published: AtomicBool::new(false),
            published: Mutex::new(Arc::new(counters)),
            wake_source: Mutex::default(),
            wake_sink: Mutex::default(),
        }))
    }
}

impl<P: Protocol> Clone for SnapshotHandle<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Protocol> fmt::Debug for SnapshotHandle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SnapshotHandle").finish_non_exhaustive()
    }
}

/// The queries that wait for an answer.
#[derive(Default)]
pub(super) struct Queries {
    waiting: AtomicUsize,
    /// Kept by the queries that wait, which its end refuses. `None` before the first.
    refusal: Mutex<Option<Refusal>>,
}

/// A channel without messages: it ends.
type Refusal = (Sender<Infallible>, Receiver<Infallible>);

impl Queries {
    pub(super) fn are_waiting(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Lets the queries that wait return without an answer.
    pub(super) fn refuse(&self) {
        *lock(&self.refusal) = None;
    }
}

/// Counts a query while it waits.
struct Waiting<'a> {
    queries: &'a Queries,
    /// Ends when the query is refused.
    refused: Receiver<Infallible>,
    is_waiting: Arc<()>,
}

impl<'a> Waiting<'a> {
    fn new(queries: &'a Queries) -> Self {
        queries.waiting.fetch_add(1, Ordering::SeqCst);
        let refused = lock(&queries.refusal).get_or_insert_with(|| bounded(0)).1.clone();
        Self { queries, refused, is_waiting: Arc::new(()) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.queries.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The requests to a running analysis.
pub(super) struct Requests<'a, P: Protocol> {
    handle: &'a SnapshotHandle<P>,
    pub(super) requests: Receiver<Request<P>>,
}

impl<P: Protocol> Requests<'_, P> {
    /// Publishes counters, if they are asked for, and answers the requests that wait.
    #[inline]
    pub(super) fn serve<'s>(&self, snapshot: impl Fn() -> Snapshot<'s, P>)
    where
        P: 's,
    {
        self.publish(|| snapshot().counters);
        while let Ok(request) = self.requests.try_recv() {
            request(&snapshot());
        }
    }

    /// Publishes counters, if they are asked for.
    #[inline]
    pub(super) fn publish(&self, counters: impl FnOnce() -> RunCounters<P::Counters>) {
        self.handle.publish(counters);
    }
}

impl<P: Protocol> Drop for Requests<'_, P> {
    fn drop(&mut self) {
        *lock(&self.handle.0.running) = None;
    }
}
