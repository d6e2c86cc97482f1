//! Judges whether the capture runs and makes progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::time::Instant;

use huginn_net::Timestamp;
use huginn_net::core::{Block, Fill, NextFrame, Source};

use super::extract::{SharedRing, lock};
use crate::control::Health;

/// Time without progress after which a capture counts as stalled. The source of packets returns at least once a second,
/// even on a quiet link.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// A source that counts its calls.
///
/// The thread that takes packets from the kernel calls it for each frame or block, and on a quiet link at least once a
/// second. If several workers share a source, the calls cease when a worker does not return: the others wait for it.
pub(super) struct MonitoredSource<S> {
    source: S,
    calls: Arc<AtomicU64>,
    /// Keeps the frames before they are analysed.
    ring: Option<SharedRing>,
}

impl<S> MonitoredSource<S> {
    /// Keeps the first frames of each connection in a ring.
    pub(super) fn with_ring(self, ring: Option<SharedRing>) -> Self {
        Self { ring, ..self }
    }

    #[inline]
    fn count(&self) {
        // Only one thread calls a source at a time.
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_add(1), Ordering::Relaxed);
    }
}

impl<'f, S: Source<'f>> Source<'f> for MonitoredSource<S> {
    type Error = S::Error;

    fn is_live(&self) -> bool {
        self.source.is_live()
    }

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        self.count();
        let next = self.source.next_frame()?;
        if let Some(ring) = &self.ring {
            match &next {
                NextFrame::Frame(frame) => lock(ring).on_frame(frame),
                NextFrame::Idle => lock(ring).on_idle(),
                NextFrame::End => {}
            }
        }
        Ok(next)
    }

    fn complete_until(&self) -> Option<Timestamp> {
        self.source.complete_until()
    }

    fn taken_at(&self) -> Option<Timestamp> {
        self.source.taken_at()
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, S::Error> {
        if self.ring.is_none() {
            self.count();
            return self.source.fill(block);
        }
        while !block.is_full() {
            match self.next_frame()? {
                NextFrame::Frame(frame) => block.push(&frame),
                NextFrame::Idle => return Ok(Fill::Idle),
                NextFrame::End => return Ok(Fill::End),
            }
        }
        Ok(Fill::More)
    }
}

/// Progress of the capture, readable from any thread.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    sources: Mutex<Vec<SourceProgress>>,
    has_ended: AtomicBool,
}

/// Progress of one source.
#[derive(Debug)]
struct SourceProgress {
    calls: Arc<AtomicU64>,
    /// The last known number of calls, and the time at which it was new.
    findingd: (u64, Instant),
}

impl SourceProgress {
    fn is_stalled(&mut self, now: Instant) -> bool {
        let calls = self.calls.load(Ordering::Relaxed);
        if self.findingd.0 != calls {
            self.findingd = (calls, now);
        }
        now.saturating_duration_since(self.findingd.1) >= STALL_TIMEOUT
    }
}

impl Progress {
    /// Creates the state of a capture that is about to start.
    pub(super) fn new(now: Instant) -> Self {
        Self { started: now, sources: Mutex::default(), has_ended: AtomicBool::new(false) }
    }

    /// Takes the calls of a source for progress.
    pub(super) fn monitor<S>(&self, source: S) -> MonitoredSource<S> {
        let calls = Arc::<AtomicU64>::default();
        let progress = SourceProgress { calls: Arc::clone(&calls), findingd: (0, self.started) };
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).push(progress);
        MonitoredSource { source, calls, ring: None }
    }

    /// Records that the capture has failed or was stopped.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Whether the capture has failed or was stopped.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Judges the capture. `is_up` is whether any interface is up.
    pub(super) fn health(&self, now: Instant, is_up: bool) -> Health {
        if self.has_ended() {
            Health::Ended
        } else if self.is_stalled(now) {
            Health::Stalled
        } else if is_up {
            Health::Capturing
        } else {
            Health::NoInterface
        }
    }

    /// Whether one of the sources makes no progress.
    fn is_stalled(&self, now: Instant) -> bool {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        // Each source takes note of its progress.
        sources.iter_mut().fold(false, |stalled, source| stalled | source.is_stalled(now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use huginn_net::core::Frames;

    use super::*;

    #[test]
    fn capture_without_calls_is_stalled() {
        let start = Instant::now();
        let after = |seconds| start.checked_add(Duration::from_secs(seconds)).unwrap();
        let progress = Progress::new(start);
        let mut source = progress.monitor(Frames::new([]));
        assert_eq!(progress.health(after(9), true), Health::Capturing);
        assert_eq!(progress.health(after(10), true), Health::Stalled);
        assert!(matches!(source.next_frame(), Ok(NextFrame::End)));
        assert_eq!(progress.health(after(11), true), Health::Capturing);
        assert_eq!(progress.health(after(20), true), Health::Capturing);
        source.fill(&mut Block::new(1)).unwrap();
        assert_eq!(progress.health(after(25), false), Health::NoInterface);
        assert_eq!(progress.health(after(35), false), Health::Stalled);
        let mut other = progress.monitor(Frames::new([]));
        assert!(matches!(source.next_frame(), Ok(NextFrame::End)));
        assert_eq!(progress.health(after(36), true), Health::Stalled, "the other source is not read");
        assert!(matches!(other.next_frame(), Ok(NextFrame::End)));
        assert_eq!(progress.health(after(36), true), Health::Capturing);
        progress.end();
        assert_eq!(progress.health(after(36), true), Health::Ended);
    }
}
