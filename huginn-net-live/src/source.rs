//! Interfaces as one source of frames.

use std::fmt;
use std::io::PipeReader;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use huginn_net_core::{Frame, Source, Timestamp};

use crate::frame_set::FrameSet;
use crate::port::Trouble;
use crate::seats::Seats;
use crate::{LiveError, LiveOptions, LiveStats, Notice, Stopper, interface, waiting};

/// How often statistics are brought up to date, and interfaces that are down or gone looked for.
const TICK: Duration = Duration::from_secs(1);
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
/// Interfaces that go down or vanish are waited for, and [told of](Self::on_notice). What each of several interfaces
/// captured is lent in its order; among them there is none but that of their turns.
pub struct LiveSource {
    seats: Seats,
    /// Frames that are being lent, and those to be lent next.
    current: FrameSet,
    ahead: FrameSet,
    stopper: Stopper,
    bell: PipeReader,
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
        let (stopper, bell) =
            Stopper::new().map_err(|source| LiveError::System { doing: "making a pipe", source })?;
        Ok(Self {
            seats,
            current: FrameSet::default(),
            ahead: FrameSet::default(),
            stopper,
            bell,
            ending: None,
            ended: false,
            failure: None,
            next_tick: Instant::now(),
            is_quick: false,
            false_alarms: 0,
        })
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

    /// Sees to it that a frame can be lent, and that the next are there where that is the last; tells whether there is one.
    #[cold]
    fn advance(&mut self) -> Result<bool, LiveError> {
        loop {
            if self.current.left() == 0 {
                self.seats.count(&self.current);
                self.current.clear();
                std::mem::swap(&mut self.current, &mut self.ahead);
            }
            match (self.current.left(), self.ahead.left()) {
                (0, _) => {
                    if !self.wait()? {
                        return Ok(false);
                    }
                }
                (1, 0) => {
                    self.take();
                    return Ok(true);
                }
                _ => return Ok(true),
            }
        }
    }

    /// Waits until frames have been taken; false where none will come.
    fn wait(&mut self) -> Result<bool, LiveError> {
        loop {
            if let Some(failure) = self.failure.take() {
                self.end();
                return Err(failure);
            }
            if self.ended {
                return Ok(false);
            }
            let linger = self.ending.as_ref().map(|ending| ending.linger);
            let is_last = linger.is_some_and(|linger| Instant::now() >= linger);
            let is_announced = match linger {
                None => self.wait_for_a_bell()?,
                // The bell that tells of the end does not cease to ring.
                Some(_) => !is_last,
            };
            self.take();
            if self.ahead.left() > 0 {
                self.false_alarms = 0;
                return Ok(true);
            }
            if is_last {
                self.end();
            } else if is_announced {
                self.take_breath();
            }
        }
    }

    /// Waits until something is announced, or it is time for a tick; tells whether it is the first.
    fn wait_for_a_bell(&mut self) -> Result<bool, LiveError> {
        if self.is_quick {
            thread::sleep(QUICK);
        }
        let begun = Instant::now();
        let patience = self.next_tick.saturating_duration_since(begun);
        let outcome = waiting::wait(&self.bell, &self.seats, patience);
        self.is_quick = begun.elapsed() < QUICK;
        outcome.map_err(|source| LiveError::System { doing: "waiting for frames", source })
    }

    /// Takes frames from the next interface that has any, without waiting.
    fn take(&mut self) {
        self.see_to_the_end();
        if self.ended || self.failure.is_some() {
            return;
        }
        self.failure = self.tick().err();
        for _ in 0..self.seats.len() {
            let Some((seat, port)) = self.seats.next() else { break };
            self.ahead.clear();
            self.ahead.seat = seat;
            match port.receive(&mut self.ahead) {
                Ok(()) if self.ahead.left() == 0 => {}
                Ok(()) => {
                    self.ahead.taken_at = now();
                    if let Some(ending) = &self.ending {
                        self.ahead.cut_after(ending.until);
                    }
                    if self.ahead.left() > 0 {
                        break;
                    }
                }
                Err(Trouble::Down) => self.seats.went_down(seat),
                Err(Trouble::Failed(source)) => {
                    self.failure = Some(LiveError::Receive { name: self.seats.name(seat), source });
                    break;
                }
            }
        }
        self.seats.tell();
    }

    /// Notes when the source was stopped. What is captured later is not wanted, and may never cease to come.
    fn see_to_the_end(&mut self) {
        match &self.ending {
            Some(ending) if Instant::now() >= ending.at => self.end(),
            Some(_) => {}
            None if self.stopper.is_stopped() => {
                let begun = Instant::now();
                // Twice, since the kernel's clock for it is not fine.
                let linger = begun.checked_add(self.seats.hold_back().saturating_mul(2)).unwrap_or(begun);
                let at = begun.checked_add(MAX_ENDING).unwrap_or(begun);
                self.ending = Some(Ending { until: now().as_nanos(), linger, at });
            }
            None => {}
        }
    }

    fn tick(&mut self) -> Result<(), LiveError> {
        let now = Instant::now();
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

    /// Settles the counts; from now on there is no frame.
    fn end(&mut self) {
        self.ended = true;
        self.seats.count(&self.current);
        self.current.clear();
        self.seats.count_drops();
    }
}

impl Source for LiveSource {
    type Error = LiveError;

    /// After an error, and after the end, there are no frames.
    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, LiveError> {
        if self.current.left() < 2 && !self.advance()? {
            return Ok(None);
        }
        Ok(self.current.lend())
    }

    fn taken_at(&self) -> Option<Timestamp> {
        Some(self.current.taken_at)
    }

    fn is_at_hand(&self) -> bool {
        self.current.left() > 0 || self.ahead.left() > 0 || self.ended
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

/// The system's clock.
fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::new(since_epoch.as_secs(), since_epoch.subsec_nanos(), 9)
}
