//! The interface between the source and a capture mechanism.

use std::io;
#[cfg(unix)]
use std::os::fd::BorrowedFd;

use crate::frame_batch::FrameBatch;
use crate::{Interface, InterfaceState};

/// An interface as one backend captures from it.
pub(crate) trait CaptureBackend: Send {
    /// Takes what is there without poll. The set is empty, and remains so where nothing is there.
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError>;

    /// Bytes of a frame in the backend's own memory, from a set that was not [released](Self::release).
    fn bytes(&self, _start: usize, _len: usize) -> &[u8] {
        &[]
    }

    /// Gives the memory of the oldest set back to the system, once all of its frames were lent.
    fn release(&mut self, _set: &mut FrameBatch) {}

    /// The file descriptor that becomes readable when frames are there; none while none can come.
    #[cfg(unix)]
    fn wake_fd(&self) -> Option<BorrowedFd<'_>>;

    /// What was dropped since the interface was opened.
    fn drops(&mut self) -> Drops;

    /// Whether [`receive`](Self::receive) tells that the interface is down.
    fn reports_link_down(&self) -> bool;

    /// Looks for the interface among those that there are, and takes hold of it again where it was lost.
    ///
    /// An error of the system's may pass, but for a want of rights; any other is for good.
    fn refresh(&mut self, present: &[Interface]) -> io::Result<InterfaceState>;
}

/// Why nothing was taken.
pub(crate) enum ReceiveError {
    /// The interface may be down or gone: [`CaptureBackend::refresh`] tells.
    Down,
    /// The call failed.
    Failed(io::Error),
}

/// Frames that were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) kernel: u64,
    /// By the interface, where the backend is who knows.
    pub(crate) interface: Option<u64>,
}
