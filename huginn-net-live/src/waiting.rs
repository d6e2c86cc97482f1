//! Waiting for frames.

use std::io;
use std::time::Duration;

use crate::seats::Seats;
use crate::stopper::Bell;

/// Waits until a frame may be there of an interface that is wanted, the bell rings, or patience is at its end; tells whether
/// it is one of the first.
#[cfg(unix)]
pub(crate) fn wait(
    bell: &Bell,
    seats: &Seats,
    is_wanted: impl Fn(usize) -> bool,
    patience: Duration,
) -> io::Result<bool> {
    use std::os::fd::AsFd;

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use smallvec::SmallVec;

    let bells = seats.bells(is_wanted);
    let mut bells: SmallVec<[PollFd<'_>; 8]> =
        bells.chain([bell.as_fd()]).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    // Rounded up, lest the last millisecond be spent in circles.
    let patience = patience.saturating_add(Duration::from_micros(999));
    match poll(&mut bells, PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::EINTR) => Ok(false),
        // This passes, and who is told that there is something without there being any takes a breath.
        Err(Errno::ENOMEM | Errno::EAGAIN) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Where several handles cannot be waited for at once, they are asked a thousand times a second.
#[cfg(not(unix))]
pub(crate) fn wait(_: &Bell, _: &Seats, _: impl Fn(usize) -> bool, patience: Duration) -> io::Result<bool> {
    std::thread::sleep(patience.min(Duration::from_millis(1)));
    Ok(false)
}
