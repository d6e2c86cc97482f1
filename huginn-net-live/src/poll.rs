//! Waits for frames.

use std::io;
use std::time::Duration;

use crate::interfaces::Interfaces;
use crate::stopper::WakeFd;

/// Waits until a descriptor of an included interface or the wake descriptor is readable, or until the timeout.
/// Returns whether one is readable.
#[cfg(unix)]
pub(crate) fn wait(
    wake_fd: &WakeFd,
    slots: &Interfaces,
    includes: impl Fn(usize) -> bool,
    timeout: Duration,
) -> io::Result<bool> {
    use std::os::fd::AsFd;

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use smallvec::SmallVec;

    let wake_fds = slots.wake_fds(includes);
    let mut wake_fds: SmallVec<[PollFd<'_>; 8]> =
        wake_fds.chain([wake_fd.as_fd()]).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    // Rounded up to whole milliseconds, so that the source does not spin in the last millisecond.
    let timeout = timeout.saturating_add(Duration::from_micros(999));
    match poll(&mut wake_fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        // The error is transient. The caller treats this as a spurious wakeup and sleeps.
        Err(Errno::ENOMEM | Errno::EAGAIN) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Without `poll`, the source polls a thousand times a second.
#[cfg(not(unix))]
pub(crate) fn wait(
    _: &WakeFd,
    _: &Interfaces,
    _: impl Fn(usize) -> bool,
    timeout: Duration,
) -> io::Result<bool> {
    std::thread::sleep(timeout.min(Duration::from_millis(1)));
    Ok(false)
}
