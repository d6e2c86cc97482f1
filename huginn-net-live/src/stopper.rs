//! The end of a live capture.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One end of what wakes a source that waits; where it does not wait for handles, there is nothing to wake.
#[cfg(unix)]
pub(crate) type Bell = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
pub(crate) type Bell = io::Empty;

/// Ends a live capture from another thread, even while it waits; clones share one state.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    bell: Bell,
}

impl Stopper {
    /// A stopper, and what becomes readable when it stops.
    pub(crate) fn new() -> io::Result<(Self, Bell)> {
        let (reader, bell) = pair()?;
        Ok((Self(Arc::new(Shared { stopped: AtomicBool::new(false), bell })), reader))
    }

    /// Ends the capture for good: frames that were captured so far are still lent, then there are no more.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::Relaxed) {
            // One byte into an empty socket neither waits nor fails; the reader may be gone, and then nobody waits.
            let _ = (&self.0.bell).write(&[0]);
        }
    }

    /// Whether the capture is to end.
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }
}

#[cfg(unix)]
fn pair() -> io::Result<(Bell, Bell)> {
    Bell::pair()
}

#[cfg(not(unix))]
fn pair() -> io::Result<(Bell, Bell)> {
    Ok((io::empty(), io::empty()))
}
