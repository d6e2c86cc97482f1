//! The trait between the source and a capture mechanism.

use std::io;
#[cfg(unix)]
use std::os::fd::BorrowedFd;

use crate::frame_batch::FrameBatch;
use crate::{Interface, InterfaceState, Notice};

/// A capture mechanism, open on one interface.
pub(crate) trait CaptureBackend: Send {
    /// Begins to capture, once all queues of the interface are open.
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Receives frames into an empty batch, without waiting. The batch stays empty if no frame is ready.
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError>;

    /// Returns the bytes of a frame in the backend's memory, from a batch not yet [released](Self::release).
    fn bytes(&self, _start: usize, _len: usize) -> &[u8] {
        &[]
    }

    /// Returns the memory of the oldest batch to the system, once all of its frames were lent.
    fn release(&mut self, _set: &mut FrameBatch) {}

    /// Returns the file descriptor that becomes readable when frames arrive; `None` while none can arrive.
    #[cfg(unix)]
    fn wake_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the drops since the interface was opened.
    fn drops(&mut self) -> Drops;

    /// Whether [`receive`](Self::receive) reports that the interface is down.
    fn reports_link_down(&self) -> bool;

    /// Whether frames may be old when they are received, and their sender waits for the source.
    fn may_lag(&self) -> bool {
        false
    }

    /// Follows interfaces that come and go, adds notices of them, and returns whether one is up; `None` if the backend has one interface.
    fn follow(&mut self, _notices: &mut Vec<Notice>) -> Option<InterfaceState> {
        None
    }

    /// Searches the interface among the present ones, and reopens it if it was removed.
    ///
    /// OS errors are transient, except missing privileges. Any other error is permanent.
    fn refresh(&mut self, present: &[Interface]) -> io::Result<InterfaceState>;
}

/// Why no frame was received.
pub(crate) enum ReceiveError {
    /// The interface may be down or removed; [`CaptureBackend::refresh`] determines which.
    Down,
    /// The call failed.
    Failed(io::Error),
    /// A stream has ended for this reason; [`CaptureBackend::refresh`] reports when it goes on.
    #[cfg(unix)]
    Interrupted(String),
    /// Part of a stream was not read for this reason. It goes on.
    #[cfg(unix)]
    Skipped(String),
}

/// Numbers of dropped frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) kernel: u64,
    /// Drops of the interface, if the backend knows them.
    pub(crate) interface: Option<u64>,
    /// Copies of packets that were left out; `None` if the backend has one interface.
    pub(crate) copies: Option<u64>,
    /// Frames that could not be read since the last call.
    pub(crate) read_errors: u64,
}
