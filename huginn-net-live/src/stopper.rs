//! Stops and wakes a live capture from other threads.

#[cfg(unix)]
use std::io::Read;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One end of a socket pair that wakes a waiting source. Without `poll` there is nothing to wake.
#[cfg(unix)]
pub(crate) type WakeFd = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
pub(crate) type WakeFd = io::Empty;

/// Stops a live capture from another thread, even while it waits: one source, or all [queues](crate::LiveSource::open_queues) that were
/// opened together. Clones share one state.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    /// One for each source.
    wakers: Vec<Waker>,
}

/// Wakes one source.
#[derive(Debug)]
struct Waker {
    /// Whether a wake is pending.
    woken: AtomicBool,
    wake_fd: WakeFd,
}

/// What a source learns of its stopper: the descriptor becomes readable when the source is stopped or woken.
#[derive(Debug)]
pub(crate) struct StopReceiver {
    pub(crate) stopper: Stopper,
    source: usize,
    pub(crate) wake_fd: WakeFd,
}

impl Stopper {
    /// Creates a stopper for several sources, and the receiver of each.
    pub(crate) fn receivers(sources: usize) -> io::Result<Vec<StopReceiver>> {
        let (mut readers, mut wakers) = (Vec::with_capacity(sources), Vec::with_capacity(sources));
        for _ in 0..sources {
            let (reader, wake_fd) = pair()?;
            readers.push(reader);
            wakers.push(Waker { woken: AtomicBool::new(false), wake_fd });
        }
        let stopper = Self(Arc::new(Shared { stopped: AtomicBool::new(false), wakers }));
        let receiver = |(source, wake_fd)| StopReceiver { stopper: stopper.clone(), source, wake_fd };
        Ok(readers.into_iter().enumerate().map(receiver).collect())
    }

    /// Stops the capture for good. Frames captured so far are still lent.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::Relaxed) {
            self.0.wakers.iter().for_each(Waker::write);
        }
    }

    /// Whether the capture was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Wakes the waiting sources: each then returns [`Idle`](huginn_net_core::NextFrame::Idle) at once.
    pub fn wake(&self) {
        for waker in &self.0.wakers {
            if !waker.woken.swap(true, Ordering::AcqRel) {
                waker.write();
            }
        }
    }
}

impl Waker {
    /// Writes one byte to an empty socket, which does not block. It fails only if the reader was closed.
    fn write(&self) {
        let _ = (&self.wake_fd).write(&[0]);
    }
}

impl StopReceiver {
    /// Reads the byte that [`Stopper::wake`] wrote.
    pub(crate) fn consume_wake(&self) {
        let Some(waker) = self.stopper.0.wakers.get(self.source) else { return };
        if waker.woken.load(Ordering::Acquire) {
            // The byte has been written or is about to be.
            #[cfg(unix)]
            let _ = (&self.wake_fd).read(&mut [0]);
            // A swap with acquire ordering, so that this thread sees what preceded a `wake` that wrote nothing.
            waker.woken.swap(false, Ordering::AcqRel);
        }
    }
}

#[cfg(unix)]
fn pair() -> io::Result<(WakeFd, WakeFd)> {
    WakeFd::pair()
}

#[cfg(not(unix))]
fn pair() -> io::Result<(WakeFd, WakeFd)> {
    Ok((io::empty(), io::empty()))
}
