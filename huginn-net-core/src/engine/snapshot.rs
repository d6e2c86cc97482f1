//! Snapshots of a running analysis, taken from other threads.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::Counters;
use crate::Protocol;

/// The state of a running analysis, between two frames or, with several workers, between two blocks.
pub struct Snapshot<'a, P: Protocol> {
    pub(super) shared_state: &'a P::SharedState,
    pub(super) counters: Counters,
    pub(super) protocol_counters: P::Counters,
}

impl<P: Protocol> Snapshot<'_, P> {
    /// Returns the state that spans flows.
    pub fn shared_state(&self) -> &P::SharedState {
        self.shared_state
    }

    /// Returns the engine's counters: frames, segments, flows, events.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the protocol's counters.
    pub fn protocol_counters(&self) -> &P::Counters {
        &self.protocol_counters
    }
}

impl<P: Protocol> fmt::Debug for Snapshot<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("counters", &self.counters).finish_non_exhaustive()
    }
}

/// Takes [snapshots](Snapshot) of a running analysis from other threads. Clones refer to the same analyzer.
///
/// See [`Analyzer::snapshot_handle`](crate::Analyzer::snapshot_handle).
pub struct SnapshotHandle<P: Protocol>(Arc<Shared<P>>);

/// State that the clones of a handle share with the analyzer.
struct Shared<P: Protocol> {
    /// `None` while no analysis runs.
    running: Mutex<Option<Running<P>>>,
    /// Wakes a waiting source.
    wake: Mutex<Option<Wake>>,
}

type Wake = Arc<dyn Fn() + Send + Sync>;

/// The request channel of a running analysis, and the thread that answers.
struct Running<P: Protocol> {
    requests: Sender<Request<P>>,
    answered_by: ThreadId,
}

/// A snapshot request.
pub(super) type Request<P> = Box<dyn FnOnce(&Snapshot<'_, P>) + Send>;

impl<P: Protocol> SnapshotHandle<P> {
    /// Calls `read` in the thread of the running analysis, and waits for its result.
    ///
    /// Returns `None` if no analysis is running, if it ends first, or when called from its own sink. If the source
    /// waits for frames, the answer comes once the source wakes; see [`set_waker`](Self::set_waker).
    pub fn query<R: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot<'_, P>) -> R + Send + 'static,
    ) -> Option<R> {
        let requests = match &*self.0.running.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(running) if running.answered_by != thread::current().id() => running.requests.clone(),
            _ => return None,
        };
        let (answer, answered) = bounded(1);
        let request: Request<P> = Box::new(move |snapshot| _ = answer.send(read(snapshot)));
        requests.send(request).ok()?;
        // An unanswered request is dropped only with the last sender.
        drop(requests);
        let wake = self.0.wake.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(wake) = wake {
            wake();
        }
        answered.recv().ok()
    }

    /// Sets the function that wakes a waiting source, so that [`query`](Self::query) is answered at once.
    pub fn set_waker(&self, wake: impl Fn() + Send + Sync + 'static) {
        *self.0.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(wake));
    }

    /// Accepts requests until the returned value is dropped.
    pub(super) fn accept(&self) -> Requests<'_, P> {
        let (sender, requests) = bounded(1);
        let running = Running { requests: sender, answered_by: thread::current().id() };
        *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        Requests { handle: self, requests }
    }
}

impl<P: Protocol> Default for SnapshotHandle<P> {
    fn default() -> Self {
        Self(Arc::new(Shared { running: Mutex::default(), wake: Mutex::default() }))
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

/// The requests to a running analysis.
pub(super) struct Requests<'a, P: Protocol> {
    handle: &'a SnapshotHandle<P>,
    pub(super) requests: Receiver<Request<P>>,
}

impl<P: Protocol> Drop for Requests<'_, P> {
    fn drop(&mut self) {
        *self.handle.0.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
