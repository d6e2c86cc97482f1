//! Stops and wakes a live capture from other threads.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One end of a socket pair that wakes a waiting source. Without `poll` there is nothing to wake.
#[cfg(unix)]
pub(crate) type WakeFd = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
pub(crate) type WakeFd = io::Empty;

/// Stops a live capture from another thread, even while it waits. Clones share one state.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    /// Whether a wake is pending.
    woken: AtomicBool,
    wake_fd: WakeFd,
}

impl Stopper {
    /// Creates a stopper, and the descriptor that becomes readable when it stops or wakes the source.
    pub(crate) fn new() -> io::Result<(Self, WakeFd)> {
        let (reader, wake_fd) = pair()?;
        let shared = Shared { stopped: AtomicBool::new(false), woken: AtomicBool::new(false), wake_fd };
        Ok((Self(Arc::new(shared)), reader))
    }

    /// Stops the capture for good. Frames captured so far are still lent.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::Relaxed) {
            // Writing one byte to an empty socket does not block. It fails only if the reader was closed.
            let _ = (&self.0.wake_fd).write(&[0]);
        }
    }

    /// Whether the capture was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Wakes a waiting source, which then returns [`Idle`](huginn_net_core::NextFrame::Idle) at once.
    pub fn wake(&self) {
        if !self.0.woken.swap(true, Ordering::AcqRel) {
            let _ = (&self.0.wake_fd).write(&[0]);
        }
    }

    /// Reads the byte that [`wake`](Self::wake) wrote.
    pub(crate) fn consume_wake(&self, mut reader: &WakeFd) {
        if self.0.woken.load(Ordering::Acquire) {
            // The byte has been written or is about to be.
            let _ = reader.read(&mut [0]);
            // A swap with acquire ordering, so that this thread sees what preceded a `wake` that wrote nothing.
            self.0.woken.swap(false, Ordering::AcqRel);
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
