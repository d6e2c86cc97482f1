//! Interfaces as one source of frames.

use std::fmt;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{Frame, Source, Timestamp};

use crate::port::Trouble;
use crate::queues::{Moment, Queues};
use crate::seats::Seats;
use crate::stopper::Bell;
use crate::{Backend, LiveError, LiveOptions, LiveStats, Notice, Stopper, interface, waiting};

/// How often statistics are brought up to date, and interfaces that are down or gone looked for.
const TICK: Duration = Duration::from_secs(1);
/// What the kernel's clock for frames that are held back is fine to, at worst.
const KERNEL_TICK: Duration = Duration::from_millis(10);
/// How long a frame may be on its way from where it is stamped to where it can be taken, where it is not held back.
const ON_THE_WAY: Duration = Duration::from_millis(1);
/// How long frames are taken at most that were captured before the source was stopped: clocks may step.
const MAX_ENDING: Duration = Duration::from_secs(2);
/// What comes within this time is said to come in quick succession: then as long is slept before the next look, so that many
/// frames are taken at once. One that comes alone is taken at once.
const QUICK: Duration = Duration::from_micros(500);
/// How often in a row nothing may be there where something was announced, before the source takes a breath.
const MAX_FALSE_ALARMS: u32 = 8;
/// The length of that breath.
const BREATH: Duration = Duration::from_millis(1);

/// Live network interfaces as a [`Source`]: lends frames as they come, until it is [stopped](Self::stopper).
///
/// Frames are taken from the system many at once. The last of them is lent only after it was tried whether there are more:
/// so [`is_at_hand`](Source::is_at_hand) tells truly whether somebody must be waited for, batches fill up where much
/// comes, and where little comes nothing waits for more.
///
/// Frames of several interfaces are lent in the order of their time stamps, for which Linux has one clock: so a tap with a
/// port for each direction shows connections as they were. A frame waits until none that is earlier can come from another
/// interface: as long as the system may hold frames back (twice [`hold_back`](LiveOptions::hold_back) and 20 ms; 1 ms
/// where it does not hold them back), and no longer; meanwhile those behind it stay in the buffer of the system. A frame
/// that comes still later is lent when it comes. Of one interface nothing waits, and frames are lent in the order in which
/// the system has them.
///
/// Interfaces that go down or vanish are waited for, and [told of](Self::on_notice).
pub struct LiveSource {
    seats: Seats,
    queues: Queues,
    /// How long after its capture a frame may be there at the latest.
    hold_back: Duration,
    stopper: Stopper,
    bell: Bell,
    ending: Option<Ending>,
    ended: bool,
    /// Why there is no frame behind those at hand.
    failure: Option<LiveError>,
    next_tick: Instant,
    /// Whether the last wait was short.
    is_quick: bool,
    false_alarms: u32,
}

/// The time between stop and end.
struct Ending {
    /// Only frames captured until this time are still lent, in nanoseconds since the Unix epoch.
    until: u64,
    /// Until then frames may come that were held back.
    linger: Instant,
    /// When it ends in any case.
    at: Instant,
}

impl LiveSource {
    /// Opens interfaces by their names.
    ///
    /// Frames are captured from now on. The rights that this needs (on Linux `CAP_NET_RAW`) may be given up afterwards; without
    /// them [`Backend::Pcap`](crate::Backend::Pcap) cannot take hold of an interface again that was removed.
    ///
    /// # Errors
    /// [`LiveError`] tells what is wrong with which interface.
    pub fn open(interfaces: &[impl AsRef<str>], options: &LiveOptions) -> Result<Self, LiveError> {
        let present = interface::without_descriptions()?;
        let seats = Seats::open(interfaces.iter().map(AsRef::as_ref), options, &present)?;
        let (stopper, bell) = Stopper::new()
            .map_err(|source| LiveError::System { doing: "making a pair of sockets", source })?;
        Ok(Self::of(seats, hold_back(options), stopper, bell))
    }

    fn of(seats: Seats, hold_back: Duration, stopper: Stopper, bell: Bell) -> Self {
        Self {
            queues: Queues::new(seats.len(), Moment::now()),
            seats,
            hold_back,
            stopper,
            bell,
            ending: None,
            ended: false,
            failure: None,
            next_tick: Instant::now(),
            is_quick: false,
            false_alarms: 0,
        }
    }

    /// A handle that ends the capture from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// A handle that tells from any thread what was received and lost.
    pub fn stats(&self) -> LiveStats {
        self.seats.stats()
    }

    /// Has notices told to this function, each once, in the thread that asks for frames; it should not take long.
    pub fn on_notice(&mut self, tell: impl FnMut(&Notice) + Send + 'static) {
        self.seats.on_notice(Box::new(tell));
    }

    /// Sees to it that a frame can be lent, and that it is known whether there is another; tells whether there is one.
    #[cold]
    fn advance(&mut self) -> Result<bool, LiveError> {
        loop {
            match self.queues.free() {
                0 if !self.queues.choose(self.patience()) && !self.wait()? => return Ok(false),
                0 => {}
                1 => {
                    if !self.queues.look_ahead(self.patience()) {
                        self.take(QUICK);
                        self.queues.look_ahead(self.patience());
                    }
                    return Ok(true);
                }
                _ => return Ok(true),
            }
        }
    }

    /// Waits until a frame can be lent; false where none will come.
    fn wait(&mut self) -> Result<bool, LiveError> {
        loop {
            if let Some(failure) = self.failure.take() {
                self.end();
                return Err(failure);
            }
            if self.ended {
                self.count();
                return Ok(false);
            }
            let linger = self.ending.as_ref().map(|ending| ending.linger);
            let is_last = linger.is_some_and(|linger| Instant::now() >= linger);
            let is_announced = match linger {
                None => self.wait_for_a_bell()?,
                // The bell that tells of the end does not cease to ring.
                Some(_) => !is_last,
            };
            if is_last {
                self.hold_back = Duration::ZERO;
            }
            let has_taken = self.take(Duration::ZERO);
            if self.queues.choose(self.patience()) {
                self.false_alarms = 0;
                return Ok(true);
            }
            if is_last {
                self.end();
                // What waited for others waits no longer.
                if self.queues.choose(None) {
                    return Ok(true);
                }
            } else if is_announced && !has_taken {
                self.take_breath();
            }
        }
    }

    /// How long frames wait for others that are earlier; `None` where none will come.
    fn patience(&self) -> Option<Duration> {
        (!self.ended && self.failure.is_none()).then_some(self.hold_back)
    }

    /// Waits until something is announced, or it is time for a tick; tells whether it is the first.
    fn wait_for_a_bell(&mut self) -> Result<bool, LiveError> {
        if self.is_quick {
            thread::sleep(QUICK);
        }
        let begun = Moment::now();
        let until_tick = self.next_tick.saturating_duration_since(begun.at);
        let patience = self.queues.wait(begun, self.hold_back).unwrap_or(until_tick).min(until_tick);
        // Of interfaces that have frames here no more can be taken.
        let is_wanted = |seat| self.queues.is_short(seat);
        let outcome = waiting::wait(&self.bell, &self.seats, is_wanted, patience);
        self.is_quick = begun.at.elapsed() < QUICK;
        outcome.map_err(|source| LiveError::System { doing: "waiting for frames", source })
    }

    /// Takes frames, without waiting, from the interfaces that are short of them, but for those looked at in vain no longer
    /// ago than this; tells whether there were any.
    fn take(&mut self, ago: Duration) -> bool {
        self.count();
        self.see_to_the_end();
        if self.ended || self.failure.is_some() {
            return false;
        }
        let moment = Moment::now();
        self.failure = self.tick(moment.at).err();
        let mut has_taken = false;
        for seat in 0..self.seats.len() {
            if self.queues.is_short(seat) && !self.queues.is_known(seat, moment, ago) {
                has_taken |= self.take_from(seat, moment);
            }
        }
        self.seats.tell();
        has_taken
    }

    fn take_from(&mut self, seat: usize, moment: Moment) -> bool {
        let (Some(port), Some(set)) = (self.seats.port(seat), self.queues.room(seat)) else { return false };
        let outcome = port.receive(set);
        if set.left() > 0 {
            set.taken = Moment::now();
            if let Some(ending) = &self.ending {
                set.cut_after(ending.until);
            }
        }
        let has_taken = set.left() > 0;
        if !has_taken {
            self.queues.looked_in_vain(seat, moment);
        }
        match outcome {
            Ok(()) => {}
            Err(Trouble::Down) => self.seats.went_down(seat),
            Err(Trouble::Failed(source)) if may_pass(&source) => self.seats.count_error(seat),
            Err(Trouble::Failed(source)) => {
                self.failure = Some(LiveError::Receive { name: self.seats.name(seat), source });
            }
        }
        has_taken
    }

    fn count(&mut self) {
        for (seat, lent) in self.queues.count().enumerate() {
            self.seats.count(seat, lent);
        }
    }

    /// Notes when the source was stopped. What is captured later is not wanted, and may never cease to come.
    fn see_to_the_end(&mut self) {
        match &self.ending {
            Some(ending) if Instant::now() >= ending.at => self.end(),
            Some(_) => {}
            None if self.stopper.is_stopped() => {
                let begun = Moment::now();
                let linger = begun.at.checked_add(self.hold_back).unwrap_or(begun.at);
                let at = linger.checked_add(MAX_ENDING).unwrap_or(linger);
                self.ending = Some(Ending { until: begun.time.as_nanos(), linger, at });
            }
            None => {}
        }
    }

    fn tick(&mut self, now: Instant) -> Result<(), LiveError> {
        if now < self.next_tick {
            return Ok(());
        }
        self.next_tick = now.checked_add(TICK).unwrap_or(now);
        self.seats.tick()
    }

    /// Whatever announces frames that are not there must not have us run in circles.
    fn take_breath(&mut self) {
        self.false_alarms = self.false_alarms.saturating_add(1);
        if self.false_alarms > MAX_FALSE_ALARMS {
            thread::sleep(BREATH);
        }
    }

    /// Settles the counts; from now on no frame is taken.
    fn end(&mut self) {
        self.count();
        // What is dropped once nobody takes any is no loss.
        if !std::mem::replace(&mut self.ended, true) {
            self.seats.count_drops();
        }
    }
}

impl Source for LiveSource {
    type Error = LiveError;

    /// After an error, and after the end, there are no frames.
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, LiveError> {
        if self.queues.free() < 2 && !self.advance()? {
            return Ok(None);
        }
        Ok(self.queues.lend())
    }

    fn taken_at(&self) -> Option<Timestamp> {
        self.queues.taken_at()
    }

    fn is_at_hand(&self) -> bool {
        self.queues.is_any_free() || self.ended
    }
}

impl Drop for LiveSource {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSource").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// How long after its capture a frame may be there at the latest.
fn hold_back(options: &LiveOptions) -> Duration {
    if options.backend == Backend::Pcap && options.hold_back.is_zero() {
        return ON_THE_WAY;
    }
    // A block of the kernel's that is begun while its clock runs is handed over when that has run once more.
    options.hold_back.saturating_add(KERNEL_TICK).saturating_mul(2)
}

/// Whether a call that failed so may succeed again: unless it was wrong in itself.
fn may_pass(error: &io::Error) -> bool {
    const WRONG: [i32; 5] = [libc::EBADF, libc::EFAULT, libc::EINVAL, libc::ENOTSOCK, libc::EOPNOTSUPP];
    error.raw_os_error().is_some_and(|number| !WRONG.contains(&number))
}

#[cfg(test)]
mod tests;
