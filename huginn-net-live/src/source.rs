//! Interfaces as one source of frames.

use std::fmt;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{Block, Fill, NextFrame, Source};

use crate::backend::Trouble;
use crate::interfaces::Interfaces;
use crate::queues::{Moment, Queues};
use crate::stopper::WakeFd;
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
/// Frames are taken from the system many at once, and with [`Backend::Packet`] lent where the kernel wrote them. When none is
/// there, the source says so ([`NextFrame::Idle`]) before it waits, for a second at most.
///
/// Frames of several interfaces are lent in the order of their time stamps, for which Linux has one clock: so a tap with a
/// backend for each direction shows connections as they were. A frame waits until none that is earlier can come from another
/// interface: as long as the system may hold frames back (twice [`hold_back`](LiveOptions::hold_back) and 20 ms; 1 ms
/// where it does not hold them back), and no longer; meanwhile those behind it stay in the buffer of the system. A frame
/// that comes still later is lent when it comes. Of one interface nothing waits, and frames are lent in the order in which
/// the system has them.
///
/// Interfaces that go down or vanish are waited for, and [told of](Self::on_notice).
pub struct LiveSource {
    slots: Interfaces,
    queues: Queues,
    /// How long after its capture a frame may be there at the latest.
    hold_back: Duration,
    stopper: Stopper,
    wake_fd: WakeFd,
    ending: Option<Ending>,
    ended: bool,
    /// Why there is no frame behind those at hand.
    failure: Option<LiveError>,
    next_tick: Instant,
    /// Whether the last wait was short.
    is_quick: bool,
    /// Whether the caller was told that no frame is ready: then the next call waits.
    is_idle: bool,
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
        let slots = Interfaces::open(interfaces.iter().map(AsRef::as_ref), options, &present)?;
        let (stopper, wake_fd) = Stopper::new()
            .map_err(|source| LiveError::System { doing: "making a pair of sockets", source })?;
        Ok(Self::of(slots, hold_back(options), stopper, wake_fd))
    }

    fn of(slots: Interfaces, hold_back: Duration, stopper: Stopper, wake_fd: WakeFd) -> Self {
        Self {
            queues: Queues::new(slots.len(), Moment::now()),
            slots,
            hold_back,
            stopper,
            wake_fd,
            ending: None,
            ended: false,
            failure: None,
            next_tick: Instant::now(),
            is_quick: false,
            is_idle: false,
            false_alarms: 0,
        }
    }

    /// A handle that ends the capture from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// A handle that tells from any thread what was received and lost.
    pub fn stats(&self) -> LiveStats {
        self.slots.stats()
    }

    /// Has notices told to this function, each once, in the thread that asks for frames; it should not take long.
    pub fn on_notice(&mut self, tell: impl FnMut(&Notice) + Send + 'static) {
        self.slots.on_notice(Box::new(tell));
    }

    /// Finds frames that can be lent. When there are none, it says so once, and waits in the next call.
    #[cold]
    fn advance(&mut self) -> Result<Ready, LiveError> {
        self.release();
        let mut waits = std::mem::replace(&mut self.is_idle, false);
        loop {
            if self.choose(self.patience()) {
                return Ok(Ready::Frames);
            }
            if let Some(failure) = self.failure.take() {
                self.end();
                return Err(failure);
            }
            if self.ended {
                self.count();
                return Ok(Ready::End);
            }
            let linger = self.ending.as_ref().map(|ending| ending.linger);
            let is_last = linger.is_some_and(|linger| Instant::now() >= linger);
            let is_announced = match linger {
                None => std::mem::replace(&mut waits, false) && self.wait_for_wake(),
                // What tells of the end stays readable.
                Some(_) => !is_last,
            };
            if is_last {
                self.hold_back = Duration::ZERO;
            }
            let has_taken = self.take();
            if self.choose(self.patience()) {
                self.false_alarms = 0;
                return Ok(Ready::Frames);
            }
            if is_last {
                self.end();
                // Nothing waits for other interfaces any longer.
                if self.choose(None) {
                    return Ok(Ready::Frames);
                }
            } else if is_announced && !has_taken {
                self.take_breath();
            }
            if self.failure.is_none() && !self.ended && self.ending.is_none() {
                self.is_idle = true;
                return Ok(Ready::Idle);
            }
        }
    }

    /// Decides whose frames can be lent; whether there are any.
    fn choose(&mut self, hold_back: Option<Duration>) -> bool {
        let is_any = self.queues.choose(hold_back);
        if is_any {
            if let Some(taken_at) = self.queues.taken_at() {
                self.slots.set_taken_at(taken_at);
            }
        }
        is_any
    }

    /// Gives the memory of frames that were lent back to the system.
    fn release(&mut self) {
        for slot in 0..self.slots.len() {
            let finished = self.queues.finished(slot).filter(|frames| frames.blocks > 0);
            if let (Some(frames), Some(backend)) = (finished, self.slots.backend(slot)) {
                backend.release(frames);
            }
        }
    }

    /// How long frames wait for others that are earlier; `None` where none will come.
    fn patience(&self) -> Option<Duration> {
        (!self.ended && self.failure.is_none()).then_some(self.hold_back)
    }

    /// Waits until something is announced, or it is time for a tick; tells whether it is the first.
    fn wait_for_wake(&mut self) -> bool {
        if self.is_quick {
            thread::sleep(QUICK);
        }
        let begun = Moment::now();
        let until_tick = self.next_tick.saturating_duration_since(begun.at);
        let patience = self.queues.wait(begun, self.hold_back).unwrap_or(until_tick).min(until_tick);
        // Of interfaces that have frames here no more can be taken.
        let is_wanted = |slot| self.queues.is_short(slot);
        let outcome = waiting::wait(&self.wake_fd, &self.slots, is_wanted, patience);
        self.is_quick = begun.at.elapsed() < QUICK;
        self.stopper.notice_wake(&self.wake_fd);
        outcome.unwrap_or_else(|source| {
            self.failure = Some(LiveError::System { doing: "waiting for frames", source });
            false
        })
    }

    /// Takes frames, without waiting, from the interfaces that are short of them; whether there were any.
    fn take(&mut self) -> bool {
        self.count();
        self.see_to_the_end();
        if self.ended || self.failure.is_some() {
            return false;
        }
        let moment = Moment::now();
        self.failure = self.tick(moment.at).err();
        let mut has_taken = false;
        for slot in 0..self.slots.len() {
            if self.queues.is_short(slot) {
                has_taken |= self.take_from(slot, moment);
            }
        }
        self.slots.tell();
        has_taken
    }

    fn take_from(&mut self, slot: usize, moment: Moment) -> bool {
        let (Some(backend), Some(set)) = (self.slots.backend(slot), self.queues.room(slot)) else {
            return false;
        };
        let outcome = backend.receive(set);
        if set.left() > 0 {
            set.taken = Moment::now();
            if let Some(ending) = &self.ending {
                set.cut_after(ending.until);
            }
        }
        let has_taken = set.left() > 0;
        if !has_taken {
            self.queues.looked_in_vain(slot, moment);
        }
        match outcome {
            Ok(()) => {}
            Err(Trouble::Down) => self.slots.went_down(slot),
            Err(Trouble::Failed(source)) if may_pass(&source) => self.slots.count_error(slot),
            Err(Trouble::Failed(source)) => {
                self.failure = Some(LiveError::Receive { name: self.slots.name(slot), source });
            }
        }
        has_taken
    }

    fn count(&mut self) {
        for (slot, lent) in self.queues.count().enumerate() {
            self.slots.count(slot, lent);
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
        self.slots.tick()
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
            self.slots.count_drops();
        }
    }
}

/// What [`LiveSource::advance`] found.
enum Ready {
    Frames,
    Idle,
    End,
}

impl Source for LiveSource {
    type Error = LiveError;

    /// Lends the next frame where the system wrote it. After an error the capture has ended.
    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, LiveError> {
        if self.queues.free() == 0 {
            match self.advance()? {
                Ready::Frames => {}
                Ready::Idle => return Ok(NextFrame::Idle),
                Ready::End => return Ok(NextFrame::End),
            }
        }
        let Self { queues, slots, .. } = self;
        let lent = slots.lending(queues.turn()).and_then(|backend| queues.lend(backend));
        Ok(NextFrame::from_frame(lent))
    }

    /// Copies the frames that are there.
    fn fill(&mut self, block: &mut Block) -> Result<Fill, LiveError> {
        while !block.is_full() {
            match self.next_frame()? {
                NextFrame::Frame(frame) => block.push(&frame),
                NextFrame::Idle => return Ok(Fill::Idle),
                NextFrame::End => return Ok(Fill::End),
            }
            if block.taken_at().is_none() {
                block.set_taken_at(self.queues.taken_at());
            }
        }
        Ok(Fill::More)
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
