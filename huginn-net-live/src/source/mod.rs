//! Live network interfaces as a source of frames.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{Block, Fill, NextFrame, Source, Timestamp};

use crate::backend::ReceiveError;
use crate::interfaces::{Fanouts, Interfaces, has_queues};
use crate::limits::{
    COALESCE_DELAY, KERNEL_TIMER_RESOLUTION, MAINTENANCE_INTERVAL, MAX_DRAIN_TIME, MAX_SPURIOUS_WAKEUPS,
    MIN_DELIVERY_DELAY, SPURIOUS_WAKEUP_DELAY,
};
use crate::queues::{ClockReading, FrameQueues};
use crate::stopper::StopReceiver;
use crate::targets::Targets;
use crate::{
    Backend, InterfaceNames, LiveError, LiveOptions, LiveStats, Notice, Stopper, interface, poll, processor,
};

/// Live network interfaces as a [`Source`]: lends frames as they arrive, until it is [stopped](Self::stopper).
///
/// The source receives frames in batches. With [`Backend::Packet`] it lends them where the kernel wrote them. When no
/// frame is ready it returns [`NextFrame::Idle`], then waits in the next call, at most a second.
///
/// Frames of several interfaces are lent in timestamp order; Linux uses one clock for all interfaces. So a tap with
/// one port per direction shows connections in order. A frame waits until no earlier frame can arrive from another
/// interface. That takes as long as the system may buffer frames: twice
/// [`buffer_timeout`](LiveOptions::buffer_timeout) plus 20 ms, or 1 ms without buffering. Later frames stay in the
/// kernel's buffer meanwhile. A frame that arrives even later is lent when it arrives. With a single interface no
/// frame waits, and the system's order is kept.
///
/// [`Timestamp::interface`](huginn_net_core::Timestamp::interface) of a frame is the number of its interface, which
/// [`interface_names`](Self::interface_names) names.
///
/// The source waits for interfaces that go down or are removed, and reports them to [`on_notice`](Self::on_notice).
pub struct LiveSource {
    interfaces: Interfaces,
    names: InterfaceNames,
    queues: FrameQueues,
    /// Longest time between capture and delivery of a frame.
    max_delay: Duration,
    stop: StopReceiver,
    /// Longest time between two calls that return.
    max_wait: Duration,
    /// The processor that the reading thread has yet to move to.
    cpu: Option<usize>,
    drain: Option<Drain>,
    ended: bool,
    /// The error to return after the frames already received.
    failure: Option<LiveError>,
    next_tick: Instant,
    /// Whether the last wait was shorter than [`COALESCE_DELAY`].
    is_busy: bool,
    /// Whether the last call returned `Idle`; the next call then waits.
    is_idle: bool,
    spurious_wakeups: u32,
}

/// The phase between the stop request and the end of the capture.
struct Drain {
    /// Only frames captured until this time are lent, in nanoseconds since the Unix epoch.
    until: u64,
    /// End of the time in which the kernel may deliver buffered frames.
    grace_end: Instant,
    /// Latest end of the phase.
    at: Instant,
}

impl LiveSource {
    /// Opens interfaces by their names.
    ///
    /// On Linux `udp:PORT` or `udp:ADDRESS:PORT` is a UDP socket, the target of mirrored traffic. The port is that of the tunnel: 4789 of
    /// VXLAN, 6081 of Geneve, 37008 of TZSP, or any other that the [decoder](huginn_net_core::Decoder) knows. Datagrams become IP packets,
    /// so that their events are those of a capture from the interface that receives them. The socket needs no privilege.
    ///
    /// On Unix `tcp:HOST:PORT` is a server that sends a capture (pcap-over-IP), and `file:DIR` a directory that another program fills with
    /// captures: each is read while it grows, until a newer one begins. A thread of the source reads them; it starts with the first
    /// frame, and the sender waits for the source.
    ///
    /// On Linux, [`Backend::Packet`] takes patterns of interfaces: `any`, names with `*` and `?`, and exclusions such as `!lo` and `!veth*`. They
    /// select together, and with names of interfaces, what one socket captures: what is selected and not excluded, or with exclusions alone
    /// all that is not excluded. Interfaces may appear later, and leave. A packet that several of them have within 50 ms is lent once
    /// ([`copies`](crate::InterfaceStats::copies) counts the others), with the name of the first one ([`interface_names`](Self::interface_names)). Give such
    /// a source an analyzer that ignores VLANs, which a packet may have on one of the interfaces only.
    ///
    /// Capture starts at once. The program may then drop the privileges that opening needs (on Linux `CAP_NET_RAW`).
    /// Without them [`Backend::Pcap`](crate::Backend::Pcap) cannot reopen an interface that was removed.
    ///
    /// # Errors
    /// [`LiveError`] names the interface and the reason.
    pub fn open(interfaces: &[impl AsRef<str>], options: &LiveOptions) -> Result<Self, LiveError> {
        let mut sources = Self::open_with(interfaces, options, NonZeroUsize::MIN)?;
        sources.pop().ok_or(LiveError::NoInterface)
    }

    /// Opens interfaces with several queues each, and returns a source for each queue, for as many threads.
    ///
    /// The kernel assigns each frame to a queue by its IP addresses, and in a tunnel by the outer ones, so that all frames of a flow are in
    /// one queue: both directions, and fragments. Frames other than IP, or with MPLS labels or more than two VLAN tags, and those of
    /// IEEE 802.11 are in the first queue. The kernel divides the datagrams of a UDP socket in the same way, by the addresses of the packets inside
    /// VXLAN, Geneve and TZSP; those inside TZSP with tags and VXLAN with the P flag are in the first queue. Each queue has a buffer of its own. The sources have one stopper and
    /// one set of statistics; only the first source reports that an
    /// interface went down or has returned.
    ///
    /// ```no_run
    /// use std::num::NonZeroUsize;
    ///
    /// use huginn_net::HuginnNet;
    /// use huginn_net_live::{LiveOptions, LiveSource};
    ///
    /// let workers = NonZeroUsize::new(4).expect("not zero");
    /// let sources = LiveSource::open_queues(&["eth0"], &LiveOptions::default(), workers)?;
    /// HuginnNet::builder().build().analyze_queues(sources, |event| {
    ///     println!("{} {}", event.ts, event.subject_addr());
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and [`LiveError::NoQueues`] unless the interfaces [have queues](Self::has_queues).
    pub fn open_queues(
        interfaces: &[impl AsRef<str>],
        options: &LiveOptions,
        queues: NonZeroUsize,
    ) -> Result<Vec<Self>, LiveError> {
        Self::open_with(interfaces, options, queues)
    }

    /// Whether [`open_queues`](Self::open_queues) can divide the packets of these interfaces: those of packet sockets, and of UDP sockets for
    /// VXLAN, Geneve or TZSP.
    pub fn has_queues(interfaces: &[impl AsRef<str>], options: &LiveOptions) -> bool {
        interfaces.iter().all(|name| has_queues(name.as_ref(), options))
    }

    fn open_with(
        interfaces: &[impl AsRef<str>],
        options: &LiveOptions,
        queues: NonZeroUsize,
    ) -> Result<Vec<Self>, LiveError> {
        let targets = Targets::new(interfaces, options)?;
        let fanouts = Fanouts::new(&targets.list, options, queues)?;
        let queues = queues.get();
        let present = interface::list_without_descriptions()?;
        let mut opened = Vec::with_capacity(queues);
        for queue in 0..queues {
            let open = || Interfaces::open(&targets.list, options, &present, &fanouts);
            opened.push(processor::run_on(options.cpus.get(queue).copied(), open)??);
        }
        Interfaces::begin(&mut opened)?;
        let stops = Stopper::receivers(queues)
            .map_err(|source| LiveError::System { operation: "creating a socket pair", source })?;
        let sources = opened.into_iter().zip(stops).enumerate().map(|(queue, (interfaces, stop))| {
            let (cpu, max_delay) = (options.cpus.get(queue).copied(), max_delay(options));
            // Events of other queues wait until this one states that no earlier frame follows.
            let max_wait =
                if queues > 1 { max_delay.checked_div(2).unwrap_or_default() } else { MAINTENANCE_INTERVAL };
            Self::new(interfaces, targets.names.clone(), cpu, [max_delay, max_wait], stop)
        });
        Ok(sources.collect())
    }

    fn new(
        interfaces: Interfaces,
        names: InterfaceNames,
        cpu: Option<usize>,
        [max_delay, max_wait]: [Duration; 2],
        stop: StopReceiver,
    ) -> Self {
        Self {
            queues: FrameQueues::new(interfaces.may_lag(), ClockReading::now()),
            interfaces,
            names,
            max_delay,
            max_wait,
            stop,
            cpu,
            drain: None,
            ended: false,
            failure: None,
            next_tick: Instant::now(),
            is_busy: false,
            is_idle: false,
            spurious_wakeups: 0,
        }
    }

    /// Returns a handle that stops the capture from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper.clone()
    }

    /// Returns a handle that reads the statistics from any thread.
    pub fn stats(&self) -> LiveStats {
        self.interfaces.stats()
    }

    /// Returns the names of the interfaces, by the number in the time of a frame.
    pub fn interface_names(&self) -> InterfaceNames {
        self.names.clone()
    }

    /// Sets the handler of notices. It runs once per notice in the thread that reads frames, and should return
    /// quickly.
    pub fn on_notice(&mut self, handler: impl FnMut(&Notice) + Send + 'static) {
        self.interfaces.on_notice(Box::new(handler));
    }

    /// Takes the notices that opening the interfaces has caused, before the first frame reports them.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.interfaces.take_notices()
    }

    /// Receives frames until some can be lent. Returns `Idle` once when there are none, and waits in the next call.
    #[cold]
    fn advance(&mut self) -> Result<Ready, LiveError> {
        if let Some(cpu) = self.cpu.take() {
            processor::stay_on(cpu).inspect_err(|_| self.end())?;
        }
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
                // The stop notification stays readable.
                Some(_) => !is_last,
            };
            if is_last {
                self.max_delay = Duration::ZERO;
            }
            let has_taken = self.receive();
            if self.select(self.reorder_delay()) || self.select_lagging() {
                self.spurious_wakeups = 0;
                return Ok(Ready::Frames);
            }
            if is_last {
                self.end();
                // No frame waits for other interfaces from here on.
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

    /// Selects the interface whose frames can be lent. Returns whether there is one.
    fn select(&mut self, max_delay: Option<Duration>) -> bool {
        let is_any = self.queues.select(max_delay);
        if is_any && let Some(taken_at) = self.queues.taken_at() {
            self.interfaces.set_taken_at(taken_at);
        }
        is_any
    }

    /// Selects a stream that is behind.
    fn select_lagging(&mut self) -> bool {
        let is_any = self.queues.select_lagging(self.reorder_delay());
        if is_any && let Some(taken_at) = self.queues.taken_at() {
            self.interfaces.set_taken_at(taken_at);
        }
        is_any
    }

    /// Returns the memory of lent frames to the system.
    fn release(&mut self) {
        for slot in 0..self.interfaces.len() {
            let drained = self.queues.drained(slot).filter(|frames| frames.ring_blocks > 0);
            if let (Some(frames), Some(backend)) = (drained, self.interfaces.backend(slot)) {
                backend.release(frames);
            }
        }
    }

    /// Returns how long frames wait for earlier ones; `None` if no more will arrive.
    fn reorder_delay(&self) -> Option<Duration> {
        (!self.ended && self.failure.is_none()).then_some(self.max_delay)
    }

    /// Waits until a descriptor is readable or maintenance is due. Returns whether a descriptor is readable.
    fn wait_for_wake(&mut self) -> bool {
        if self.is_busy {
            thread::sleep(COALESCE_DELAY);
        }
        let begun = ClockReading::now();
        let until_tick = self.next_tick.saturating_duration_since(begun.at);
        let timeout =
            self.queues.wait(begun, self.max_delay).unwrap_or(until_tick).min(until_tick).min(self.max_wait);
        // Interfaces with frames in the queue are not read.
        let includes = |slot| self.queues.needs_frames(slot);
        let outcome = poll::wait(&self.stop.wake_fd, &self.interfaces, includes, timeout);
        self.is_busy = begun.at.elapsed() < COALESCE_DELAY;
        self.stop.consume_wake();
        outcome.unwrap_or_else(|source| {
            self.failure = Some(LiveError::System { operation: "poll for frames", source });
            false
        })
    }

    /// Receives frames from the interfaces whose queue is empty, without waiting. Returns whether there were any.
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
            #[cfg(unix)]
            Err(ReceiveError::Interrupted(reason)) => self.interfaces.on_interruption(slot, reason),
            #[cfg(unix)]
            Err(ReceiveError::Skipped(reason)) => self.interfaces.on_skipped(slot, reason),
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

    /// Starts the drain phase after a stop request. Frames captured later are not lent, since they might never cease.
    fn check_stop(&mut self) {
        match &self.drain {
            Some(drain) if Instant::now() >= drain.at => self.end(),
            Some(_) => {}
            None if self.stop.stopper.is_stopped() => {
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

    /// Sleeps after too many spurious wakeups, so that the source does not spin.
    fn back_off(&mut self) {
        self.spurious_wakeups = self.spurious_wakeups.saturating_add(1);
        if self.spurious_wakeups > MAX_SPURIOUS_WAKEUPS {
            thread::sleep(SPURIOUS_WAKEUP_DELAY);
        }
    }

    /// Updates the counters for the last time. No frame is received afterwards.
    fn end(&mut self) {
        self.count();
        // Drops after the end are not losses.
        if !std::mem::replace(&mut self.ended, true) {
            self.interfaces.update_drops();
        }
    }
}

/// Result of [`LiveSource::advance`].
enum Ready {
    Frames,
    Idle,
    End,
}

impl<'f> Source<'f> for LiveSource {
    type Error = LiveError;

    fn is_live(&self) -> bool {
        true
    }

    /// Lends the next frame from the kernel's buffer. The capture ends after an error.
    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, LiveError> {
        if self.queues.ready == 0 {
            match self.advance()? {
                Ready::Frames => {}
                Ready::Idle => return Ok(NextFrame::Idle),
                Ready::End => return Ok(NextFrame::End),
            }
        }
        let Self { queues, interfaces, .. } = self;
        let lent = interfaces.backend_ref(queues.current).and_then(|backend| queues.lend(backend));
        Ok(NextFrame::from_frame(lent))
    }

    fn complete_until(&self) -> Option<Timestamp> {
        self.queues.complete_until(self.max_delay).map(|nanos| Timestamp::from_nanos(nanos, 9))
    }

    fn taken_at(&self) -> Option<Timestamp> {
        self.queues.taken_at()
    }

    /// Copies the frames that are ready.
    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, LiveError> {
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

/// Returns the longest time between capture and delivery of a frame.
fn max_delay(options: &LiveOptions) -> Duration {
    if options.backend == Backend::Pcap && options.buffer_timeout.is_zero() {
        return MIN_DELIVERY_DELAY;
    }
    // The kernel retires a block when its timer fires for the second time after the block's first frame.
    options.buffer_timeout.saturating_add(KERNEL_TIMER_RESOLUTION).saturating_mul(2)
}

/// Whether an error may be transient: all but those of an invalid call.
fn is_transient(error: &io::Error) -> bool {
    const WRONG: [i32; 5] = [libc::EBADF, libc::EFAULT, libc::EINVAL, libc::ENOTSOCK, libc::EOPNOTSUPP];
    error.raw_os_error().is_some_and(|number| !WRONG.contains(&number))
}

#[cfg(test)]
mod tests;
