//! An analysis that goes on: who watches it, and who asks it meanwhile.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::form::{Delivery, Form};
use crate::{Counters, Event, Protocol, Timestamp};

/// Takes what [`Analyzer::watch`](crate::Analyzer::watch) tells, in the thread of its caller.
pub trait Watcher {
    /// Takes the text of an event, and when its frame was captured. A break stops the analysis.
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()>;

    /// Takes note that all events have come of the frames that were analysed together, of which the source took the
    /// first [at this time](crate::Source::taken_at). A break stops the analysis.
    fn round(&mut self, _taken_at: Option<Timestamp>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes note that nothing more is told, whatever the reason. A source that waits for a frame should be made to end:
    /// the analysis ends when it has.
    fn ended(&mut self) {}
}

/// Events as text that a function appends, each with its time.
pub(crate) struct Timed<F>(pub(crate) F);

impl<K: Send, F: Fn(&Event<K>, &mut Vec<u8>) + Sync> Form<Event<K>> for Timed<F> {
    type Piece = (Timestamp, Range<usize>);
    type Shelf = Vec<u8>;

    #[inline]
    fn form(&self, event: Event<K>, text: &mut Vec<u8>) -> Self::Piece {
        let start = text.len();
        self.0(&event, text);
        (event.ts, start..text.len())
    }

    fn clear(text: &mut Vec<u8>) {
        text.clear();
    }
}

/// Leads texts with their times to a watcher.
pub(crate) struct ToWatcher<'a, W: ?Sized>(pub(crate) &'a mut W);

impl<W: Watcher + ?Sized> Delivery<(Timestamp, Range<usize>), Vec<u8>> for ToWatcher<'_, W> {
    fn deliver(&mut self, (ts, piece): (Timestamp, Range<usize>), text: &Vec<u8>) -> ControlFlow<()> {
        self.0.event(ts, text.get(piece).unwrap_or_default())
    }

    fn round(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        self.0.round(taken_at)
    }

    fn ended(&mut self) {
        self.0.ended();
    }
}

/// How an analysis in several threads stands, between two of its rounds.
pub struct Glimpse<'a, P: Protocol> {
    pub(crate) memory: &'a P::Memory,
    pub(crate) counters: Counters,
    pub(crate) protocol_counters: P::Counters,
}

impl<P: Protocol> Glimpse<'_, P> {
    /// What is remembered beyond flows.
    pub fn memory(&self) -> &P::Memory {
        self.memory
    }

    /// What was counted so far: frames, segments, flows, events.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the protocol counted so far.
    pub fn protocol_counters(&self) -> &P::Counters {
        &self.protocol_counters
    }
}

impl<P: Protocol> fmt::Debug for Glimpse<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Glimpse").field("counters", &self.counters).finish_non_exhaustive()
    }
}

/// Asks a running analysis how it stands, from other threads; clones ask the same analyzer.
///
/// See [`Analyzer::inspector`](crate::Analyzer::inspector).
pub struct Inspector<P: Protocol>(Arc<Mutex<Option<Door<P>>>>);

/// Where requests go in, and the thread that answers them.
struct Door<P: Protocol> {
    requests: Sender<Request<P>>,
    answered_by: ThreadId,
}

/// What is asked.
pub(crate) type Request<P> = Box<dyn FnOnce(&Glimpse<'_, P>) + Send>;

impl<P: Protocol> Inspector<P> {
    /// Has `look` called in the thread of [`Analyzer::watch`](crate::Analyzer::watch), or of another analysis in
    /// [several threads](crate::Builder::workers), between two of its rounds, and waits for what it returns.
    ///
    /// `None` where no such analysis is running, or it ends first, and within its sink or watcher, which it waits for.
    pub fn ask<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Glimpse<'_, P>) -> R + Send + 'static,
    ) -> Option<R> {
        let requests = match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(door) if door.answered_by != thread::current().id() => door.requests.clone(),
            _ => return None,
        };
        let (answer, answered) = bounded(1);
        let request: Request<P> = Box::new(move |glimpse| _ = answer.send(look(glimpse)));
        requests.send(request).ok()?;
        // A request that nobody takes any more is dropped with the last sender only.
        drop(requests);
        answered.recv().ok()
    }

    /// Opens the desk at which the requests come in, until it is dropped.
    pub(crate) fn open(&self) -> Desk<'_, P> {
        let (sender, requests) = bounded(1);
        let door = Door { requests: sender, answered_by: thread::current().id() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(door);
        Desk { inspector: self, requests }
    }
}

impl<P: Protocol> Default for Inspector<P> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<P: Protocol> Clone for Inspector<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Protocol> fmt::Debug for Inspector<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Inspector").finish_non_exhaustive()
    }
}

/// Where an analysis gets the requests of its inspectors.
pub(crate) struct Desk<'a, P: Protocol> {
    inspector: &'a Inspector<P>,
    pub(crate) requests: Receiver<Request<P>>,
}

impl<P: Protocol> Drop for Desk<'_, P> {
    fn drop(&mut self) {
        *self.inspector.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
