//! The end of a live capture, and what wakes one that waits.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One end of what wakes a source that waits; where it does not wait for file descriptors, there is nothing to wake.
#[cfg(unix)]
pub(crate) type WakeFd = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
pub(crate) type WakeFd = io::Empty;

/// Ends a live capture from another thread, even while it waits; clones share one state.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    /// Whether the source was woken and has not noticed yet.
    woken: AtomicBool,
    wake_fd: WakeFd,
}

impl Stopper {
    /// A stopper, and what becomes readable when it stops or wakes the source.
    pub(crate) fn new() -> io::Result<(Self, WakeFd)> {
        let (reader, wake_fd) = pair()?;
        let shared = Shared { stopped: AtomicBool::new(false), woken: AtomicBool::new(false), wake_fd };
        Ok((Self(Arc::new(shared)), reader))
    }

    /// Ends the capture for good: frames that were captured so far are still lent, then there are no more.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::Relaxed) {
            // One byte into an empty socket neither waits nor fails; the reader may be gone, and then nobody waits.
            let _ = (&self.0.wake_fd).write(&[0]);
        }
    }

    /// Whether the capture is to end.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Wakes the source if it waits for frames: it then returns [`Idle`](huginn_net_core::NextFrame::Idle) at once.
    pub fn wake(&self) {
        if !self.0.woken.swap(true, Ordering::AcqRel) {
            let _ = (&self.0.wake_fd).write(&[0]);
        }
    }

    /// Takes back what [`wake`](Self::wake) wrote.
    pub(crate) fn consume_wake(&self, mut reader: &WakeFd) {
        if self.0.woken.load(Ordering::Acquire) {
            // The byte is there, or will be in a moment.
            let _ = reader.read(&mut [0]);
            // A swap, so that what came before a call of `wake` that wrote nothing is seen after this.
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
