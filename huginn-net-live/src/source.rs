//! Interfaces as one source of frames.

use std::fmt;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{Block, Fill, NextFrame, Source};

use crate::backend::ReceiveError;
use crate::interfaces::Interfaces;
use crate::queues::{ClockReading, FrameQueues};
use crate::stopper::WakeFd;
use crate::{Backend, LiveError, LiveOptions, LiveStats, Notice, Stopper, interface, poll};

/// How often statistics are brought up to date, and interfaces that are down or gone looked for.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);
/// What the kernel's clock for frames that are held back is fine to, at worst.
const KERNEL_TIMER_RESOLUTION: Duration = Duration::from_millis(10);
/// How long a frame may be on its way from where it is stamped to where it can be taken, where it is not held back.
const MIN_DELIVERY_DELAY: Duration = Duration::from_millis(1);
/// How long frames are taken at most that were captured before the source was stopped: clocks may step.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(2);
/// What comes within this time is said to come in quick succession: then as long is slept before the next look, so that many
/// frames are taken at once. One that comes alone is taken at once.
const COALESCE_DELAY: Duration = Duration::from_micros(500);
/// How often in a row nothing may be there where something was announced, before the source takes a breath.
const MAX_SPURIOUS_WAKEUPS: u32 = 8;
/// The length of that breath.
const SPURIOUS_WAKEUP_DELAY: Duration = Duration::from_millis(1);

/// Live network interfaces as a [`Source`]: lends frames as they come, until it is [stopped](Self::stopper).
///
/// Frames are taken from the system many at once, and with [`Backend::Packet`] lent where the kernel wrote them. When none is
/// there, the source says so ([`NextFrame::Idle`]) before it waits, for a second at most.
///
/// Frames of several interfaces are lent in the order of their time stamps, for which Linux has one clock: so a tap with a
/// backend for each direction shows connections as they were. A frame waits until none that is earlier can come from another
/// interface: as long as the system may hold frames back (twice [`max_delay`](LiveOptions::buffer_timeout) and 20 ms; 1 ms
/// where it does not hold them back), and no longer; meanwhile those behind it stay in the buffer of the system. A frame
/// that comes still later is lent when it comes. Of one interface nothing waits, and frames are lent in the order in which
/// the system has them.
///
/// Interfaces that go down or vanish are waited for, and [received of](Self::on_notice).
pub struct LiveSource {
    interfaces: Interfaces,
    queues: FrameQueues,
    /// How long after its capture a frame may be there at the latest.
    max_delay: Duration,
    stopper: Stopper,
    wake_fd: WakeFd,
    drain: Option<Drain>,
    ended: bool,
    /// Why there is no frame behind those at hand.
    failure: Option<LiveError>,
    next_tick: Instant,
    /// Whether the last wait was short.
    is_busy: bool,
    /// Whether the caller was received that no frame is ready: then the next call waits.
    is_idle: bool,
    spurious_wakeups: u32,
}

/// The time between stop and end.
struct Drain {
    /// Only frames captured until this time are still lent, in nanoseconds since the Unix epoch.
    until: u64,
    /// Until then frames may come that were held back.
    grace_end: Instant,
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
        let present = interface::list_without_descriptions()?;
        let interfaces = Interfaces::open(interfaces.iter().map(AsRef::as_ref), options, &present)?;
        let (stopper, wake_fd) = Stopper::new()
            .map_err(|source| LiveError::System { operation: "making a pair of sockets", source })?;
        Ok(Self::of(interfaces, max_delay(options), stopper, wake_fd))
    }

    fn of(interfaces: Interfaces, max_delay: Duration, stopper: Stopper, wake_fd: WakeFd) -> Self {
        Self {
            queues: FrameQueues::new(interfaces.len(), ClockReading::now()),
            interfaces,
            max_delay,
            stopper,
            wake_fd,
            drain: None,
            ended: false,
            failure: None,
            next_tick: Instant::now(),
            is_busy: false,
            is_idle: false,
            spurious_wakeups: 0,
        }
    }

    /// A handle that ends the capture from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// A handle that tells from any thread what was received and lost.
    pub fn stats(&self) -> LiveStats {
        self.interfaces.stats()
    }

    /// Has notices received to this function, each once, in the thread that asks for frames; it should not take long.
    pub fn on_notice(&mut self, tell: impl FnMut(&Notice) + Send + 'static) {
        self.interfaces.on_notice(Box::new(tell));
    }

    /// Finds frames that can be lent. When there are none, it says so once, and waits in the next call.
    #[cold]
    fn advance(&mut self) -> Result<Ready, LiveError> {
        self.release();
        let mut waits = std::mem::replace(&mut self.is_idle, false);
        loop {
            if self.select(self.reorder_delay()) {
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
            let grace_end = self.drain.as_ref().map(|drain| drain.grace_end);
            let is_last = grace_end.is_some_and(|grace_end| Instant::now() >= grace_end);
            let is_readable = match grace_end {
                None => std::mem::replace(&mut waits, false) && self.wait_for_wake(),
                // What tells of the end stays readable.
                Some(_) => !is_last,
            };
            if is_last {
                self.max_delay = Duration::ZERO;
            }
            let has_taken = self.receive();
            if self.select(self.reorder_delay()) {
                self.spurious_wakeups = 0;
                return Ok(Ready::Frames);
            }
            if is_last {
                self.end();
                // Nothing waits for other interfaces any longer.
                if self.select(None) {
                    return Ok(Ready::Frames);
                }
            } else if is_readable && !has_taken {
                self.back_off();
            }
            if self.failure.is_none() && !self.ended && self.drain.is_none() {
                self.is_idle = true;
                return Ok(Ready::Idle);
            }
        }
    }

    /// Decides whose frames can be lent; whether there are any.
    fn select(&mut self, max_delay: Option<Duration>) -> bool {
        let is_any = self.queues.select(max_delay);
        if is_any {
            if let Some(taken_at) = self.queues.taken_at() {
                self.interfaces.set_taken_at(taken_at);
            }
        }
        is_any
    }

    /// Gives the memory of frames that were lent back to the system.
    fn release(&mut self) {
        for slot in 0..self.interfaces.len() {
            let drained = self.queues.drained(slot).filter(|frames| frames.ring_blocks > 0);
            if let (Some(frames), Some(backend)) = (drained, self.interfaces.backend(slot)) {
                backend.release(frames);
            }
        }
    }

    /// How long frames wait for others that are earlier; `None` where none will come.
    fn reorder_delay(&self) -> Option<Duration> {
        (!self.ended && self.failure.is_none()).then_some(self.max_delay)
    }

    /// Waits until something is announced, or it is time for a tick; tells whether it is the first.
    fn wait_for_wake(&mut self) -> bool {
        if self.is_busy {
            thread::sleep(COALESCE_DELAY);
        }
        let begun = ClockReading::now();
        let until_tick = self.next_tick.saturating_duration_since(begun.at);
        let timeout = self.queues.wait(begun, self.max_delay).unwrap_or(until_tick).min(until_tick);
        // Of interfaces that have frames here no more can be taken.
        let includes = |slot| self.queues.needs_frames(slot);
        let outcome = poll::wait(&self.wake_fd, &self.interfaces, includes, timeout);
        self.is_busy = begun.at.elapsed() < COALESCE_DELAY;
        self.stopper.consume_wake(&self.wake_fd);
        outcome.unwrap_or_else(|source| {
            self.failure = Some(LiveError::System { operation: "poll for frames", source });
            false
        })
    }

    /// Takes frames, without poll, from the interfaces that are short of them; whether there were any.
    fn receive(&mut self) -> bool {
        self.count();
        self.check_stop();
        if self.ended || self.failure.is_some() {
            return false;
        }
        let moment = ClockReading::now();
        self.failure = self.tick(moment.at).err();
        let mut has_taken = false;
        for slot in 0..self.interfaces.len() {
            if self.queues.needs_frames(slot) {
                has_taken |= self.receive_from(slot, moment);
            }
        }
        self.interfaces.emit_notices();
        has_taken
    }

    fn receive_from(&mut self, slot: usize, moment: ClockReading) -> bool {
        let (Some(backend), Some(batch)) = (self.interfaces.backend(slot), self.queues.refill(slot)) else {
            return false;
        };
        let outcome = backend.receive(batch);
        if batch.remaining() > 0 {
            batch.received_at = ClockReading::now();
            if let Some(drain) = &self.drain {
                batch.truncate_after(drain.until);
            }
        }
        let has_taken = batch.remaining() > 0;
        if !has_taken {
            self.queues.mark_empty(slot, moment);
        }
        match outcome {
            Ok(()) => {}
            Err(ReceiveError::Down) => self.interfaces.on_link_down(slot),
            Err(ReceiveError::Failed(source)) if is_transient(&source) => self.interfaces.count_error(slot),
            Err(ReceiveError::Failed(source)) => {
                self.failure = Some(LiveError::Receive { name: self.interfaces.name(slot), source });
            }
        }
        has_taken
    }

    fn count(&mut self) {
        for (slot, lent) in self.queues.count().enumerate() {
            self.interfaces.count(slot, lent);
        }
    }

    /// Notes when the source was stopped. What is captured later is not wanted, and may never cease to come.
    fn check_stop(&mut self) {
        match &self.drain {
            Some(drain) if Instant::now() >= drain.at => self.end(),
            Some(_) => {}
            None if self.stopper.is_stopped() => {
                let begun = ClockReading::now();
                let grace_end = begun.at.checked_add(self.max_delay).unwrap_or(begun.at);
                let at = grace_end.checked_add(MAX_DRAIN_TIME).unwrap_or(grace_end);
                self.drain = Some(Drain { until: begun.time.as_nanos(), grace_end, at });
            }
            None => {}
        }
    }

    fn tick(&mut self, now: Instant) -> Result<(), LiveError> {
        if now < self.next_tick {
            return Ok(());
        }
        self.next_tick = now.checked_add(MAINTENANCE_INTERVAL).unwrap_or(now);
        self.interfaces.tick()
    }

    /// Whatever announces frames that are not there must not have us run in circles.
    fn back_off(&mut self) {
        self.spurious_wakeups = self.spurious_wakeups.saturating_add(1);
        if self.spurious_wakeups > MAX_SPURIOUS_WAKEUPS {
            thread::sleep(SPURIOUS_WAKEUP_DELAY);
        }
    }

    /// Settles the counts; from now on no frame is taken.
    fn end(&mut self) {
        self.count();
        // What is dropped once nobody takes any is no loss.
        if !std::mem::replace(&mut self.ended, true) {
            self.interfaces.update_drops();
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
        if self.queues.ready() == 0 {
            match self.advance()? {
                Ready::Frames => {}
                Ready::Idle => return Ok(NextFrame::Idle),
                Ready::End => return Ok(NextFrame::End),
            }
        }
        let Self { queues, interfaces, .. } = self;
        let lent = interfaces.backend_ref(queues.current()).and_then(|backend| queues.lend(backend));
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
fn max_delay(options: &LiveOptions) -> Duration {
    if options.backend == Backend::Pcap && options.buffer_timeout.is_zero() {
        return MIN_DELIVERY_DELAY;
    }
    // A block of the kernel's that is begun while its clock runs is handed over when that has run once more.
    options.buffer_timeout.saturating_add(KERNEL_TIMER_RESOLUTION).saturating_mul(2)
}

/// Whether a call that failed so may succeed again: unless it was wrong in itself.
fn is_transient(error: &io::Error) -> bool {
    const WRONG: [i32; 5] = [libc::EBADF, libc::EFAULT, libc::EINVAL, libc::ENOTSOCK, libc::EOPNOTSUPP];
    error.raw_os_error().is_some_and(|number| !WRONG.contains(&number))
}

#[cfg(test)]
mod tests;
