//! Monotonic packet time.

use std::time::Duration;

use crate::Timestamp;
use crate::limits::{CLOCK_TOLERANCES_PER_TIMEOUT, MAX_CAPTURE_CLOCKS, STEPS_PER_TIMEOUT};

/// A clock driven by packet timestamps that never steps back. Idle time is measured with it.
///
/// The state of a flow then depends only on packet time and its own packets, not on packets of other flows in
/// between. So it is the same for any number of workers.
///
/// A timestamp alone cannot tell a pause of the capture from a wrong clock. So the clock follows several capture
/// clocks at once, such as those of two interfaces, and a step between them does not count as idle time:
///
/// - A timestamp within a 32nd of the timeout of the latest one of a known capture clock belongs to that clock, and
///   advances the time by its distance. Packets slightly out of order do not change the time.
/// - Any other timestamp begins a capture clock. It advances the time only once the next packet returns to no other
///   clock, and by a twelfth of the timeout at most. So a single wrong timestamp, a step back and clocks that
///   disagree by a constant advance nothing, and one step or pause expires no open flow by itself: twelve in a row do.
#[derive(Clone, Debug)]
pub struct PacketClock {
    /// The time, in nanoseconds since the creation of the clock.
    now: u64,
    /// The capture clock of the last packet.
    current: CaptureClock,
    /// A timestamp less than this ahead of the last one takes the fast path; 0 while a step is unconfirmed.
    window: u64,
    /// Greatest distance between two successive timestamps of one capture clock, in nanoseconds.
    tolerance: u64,
    /// Greatest advance by one step, in nanoseconds.
    max_advance: u64,
    timeout: u64,
    /// Other capture clocks; the one left last comes last.
    others: Vec<CaptureClock>,
    has_started: bool,
    steps: ClockSteps,
}

/// The range of the timestamps of packets, and the steps between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockSteps {
    /// Number of packets with a timestamp before that of the packet before.
    pub(crate) back: u64,
    /// Number of packets with a timestamp more than the idle timeout after that of the packet before.
    pub(crate) ahead: u64,
    /// The first such timestamps.
    pub(crate) first_back: Option<Timestamp>,
    pub(crate) first_ahead: Option<Timestamp>,
    /// The earliest and the latest timestamp.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
}

/// A clock that stamped packets.
#[derive(Clone, Copy, Debug, Default)]
struct CaptureClock {
    /// The latest timestamp, in nanoseconds.
    last_ts: u64,
    /// The time at that timestamp, in nanoseconds.
    time: u64,
    /// Distance from the clock before to the only timestamp of this one, in nanoseconds; 0 once another packet
    /// confirmed it.
    unconfirmed_step: u64,
}

impl PacketClock {
    /// Creates a clock for this idle timeout.
    pub fn new(timeout: Duration) -> Self {
        let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        Self {
            now: 0,
            current: CaptureClock::default(),
            window: 0,
            tolerance: timeout / CLOCK_TOLERANCES_PER_TIMEOUT,
            max_advance: (timeout / STEPS_PER_TIMEOUT).saturating_add(1),
            timeout,
            others: Vec::with_capacity(MAX_CAPTURE_CLOCKS.saturating_add(1)),
            has_started: false,
            steps: ClockSteps::default(),
        }
    }

    /// Sets the time before the first packet, which then has this time.
    pub fn start_at(&mut self, now: Timestamp) {
        self.now = now.as_nanos();
    }

    /// Begins another capture: the distance to the timestamps before does not count as a step.
    pub(crate) fn start_capture(&mut self) {
        self.others.clear();
        self.steps = self.steps();
        (self.has_started, self.window) = (false, 0);
    }

    /// Returns a clock with the same time that has counted no steps.
    pub(crate) fn fork(&self) -> Self {
        Self { steps: ClockSteps::default(), ..self.clone() }
    }

    /// Takes the later time, and adds the steps of a clock of other packets. [`start_capture`](Self::start_capture) follows.
    pub(crate) fn join(&mut self, other: &Self) {
        let ClockSteps { back, ahead, first_back, first_ahead, span } = other.steps();
        let earliest = |first: Option<Timestamp>, other: Option<Timestamp>| {
            first.into_iter().chain(other).min_by_key(|ts| ts.as_nanos())
        };
        self.now = self.now.max(other.now);
        self.steps = ClockSteps {
            back: self.steps.back.saturating_add(back),
            ahead: self.steps.ahead.saturating_add(ahead),
            first_back: earliest(self.steps.first_back, first_back),
            first_ahead: earliest(self.steps.first_ahead, first_ahead),
            ..self.steps()
        };
        for ts in span.into_iter().flat_map(<[Timestamp; 2]>::from) {
            self.steps.widen(ts);
        }
    }

    /// Takes the time and the steps of a copy of this clock at the end of a capture. [`start_capture`](Self::start_capture) follows.
    pub(crate) fn resume(&mut self, now: Timestamp, steps: ClockSteps) {
        (self.now, self.steps) = (now.as_nanos(), steps);
    }

    /// Returns the clock's time, which is unrelated to calendar time.
    #[inline]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now, 9)
    }

    /// Advances the clock to a packet and returns its time.
    #[inline]
    pub fn tick(&mut self, ts: Timestamp) -> Timestamp {
        let ahead = ts.as_nanos().wrapping_sub(self.current.last_ts);
        if ahead < self.window {
            self.advance(ts.as_nanos(), ahead);
        } else {
            self.on_step(ts);
        }
        self.now()
    }

    /// Advances the capture clock of the last packet, and the time with it.
    #[inline]
    fn advance(&mut self, nanos: u64, by: u64) {
        let CaptureClock { last_ts, time, .. } = &mut self.current;
        *last_ts = nanos;
        *time = time.saturating_add(by);
        self.now = self.now.max(*time);
    }

    #[cold]
    #[inline(never)]
    fn on_step(&mut self, ts: Timestamp) {
        let nanos = ts.as_nanos();
        self.steps = self.steps();
        self.steps.widen(ts);
        if !std::mem::replace(&mut self.has_started, true) {
            self.current = CaptureClock { last_ts: nanos, time: self.now, unconfirmed_step: 0 };
            return self.open_window();
        }
        self.count_step(ts);
        if !self.is_near(&self.current, nanos) {
            self.leave_current(nanos);
        } else {
            self.confirm_current();
        }
        // A capture clock that stood still continues now.
        if self.now.saturating_sub(self.current.time) > self.tolerance && self.current.unconfirmed_step == 0 {
            self.current.time = self.now;
        }
        if let Some(ahead) = nanos.checked_sub(self.current.last_ts) {
            self.advance(nanos, ahead);
        }
        self.open_window();
    }

    /// Switches to the capture clock of this timestamp, or begins one.
    fn leave_current(&mut self, nanos: u64) {
        // The current clock is the newest one, so that it is the last to be forgotten.
        self.others.push(self.current);
        if let Some(index) = self.others.iter().rposition(|clock| self.is_near(clock, nanos)) {
            self.current = self.others.remove(index);
            // The steps before came back: no time passed with them.
            self.others.iter_mut().for_each(|clock| clock.unconfirmed_step = 0);
            return self.confirm_current();
        }
        let before = (0..self.others.len()).filter_map(|index| {
            let clock = self.others.get(index)?;
            Some((nanos.checked_sub(clock.last_ts)?, index))
        });
        let before = before.min_by_key(|(step, index)| (*step, std::cmp::Reverse(*index)));
        self.current = match before {
            Some((step, index)) => {
                // Time that goes on from an unconfirmed step confirms it.
                let confirmed = self.others.get_mut(index).map(|clock| clock.confirm(self.max_advance));
                self.now = self.now.max(confirmed.unwrap_or(0));
                let time = self.others.get(index).map_or(self.now, |clock| clock.time);
                CaptureClock { last_ts: nanos, time, unconfirmed_step: step }
            }
            None => CaptureClock { last_ts: nanos, time: self.now, unconfirmed_step: 0 },
        };
        if self.others.len() > MAX_CAPTURE_CLOCKS {
            self.others.remove(0);
        }
    }

    fn confirm_current(&mut self) {
        self.now = self.now.max(self.current.confirm(self.max_advance));
    }

    fn is_near(&self, clock: &CaptureClock, nanos: u64) -> bool {
        nanos.abs_diff(clock.last_ts) <= self.tolerance
    }

    fn open_window(&mut self) {
        self.window = if self.current.unconfirmed_step > 0 { 0 } else { self.tolerance.saturating_add(1) };
    }

    fn count_step(&mut self, ts: Timestamp) {
        let (nanos, last) = (ts.as_nanos(), self.current.last_ts);
        if nanos < last {
            self.steps.back = self.steps.back.saturating_add(1);
            self.steps.first_back.get_or_insert(ts);
        } else if nanos.saturating_sub(last) > self.timeout {
            self.steps.ahead = self.steps.ahead.saturating_add(1);
            self.steps.first_ahead.get_or_insert(ts);
        }
    }

    /// Returns the timestamps and steps so far.
    pub(crate) fn steps(&self) -> ClockSteps {
        let mut steps = self.steps;
        // Packets that follow their capture clock are not compared with the range.
        if self.has_started {
            steps.widen(Timestamp::from_nanos(self.current.last_ts, 9));
        }
        steps
    }
}

impl ClockSteps {
    /// Makes a timestamp part of the range.
    fn widen(&mut self, ts: Timestamp) {
        let (earliest, latest) = self.span.unwrap_or((ts, ts));
        let nanos = ts.as_nanos();
        self.span = Some((
            if nanos < earliest.as_nanos() { ts } else { earliest },
            if nanos > latest.as_nanos() { ts } else { latest },
        ));
    }
}

impl CaptureClock {
    /// Lets the time of an unconfirmed step pass. Returns the time at the latest timestamp.
    fn confirm(&mut self, max_advance: u64) -> u64 {
        let step = std::mem::take(&mut self.unconfirmed_step).min(max_advance);
        self.time = self.time.saturating_add(step);
        self.time
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::arithmetic_side_effects)]

    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_700_000_000_000;
    /// 46 years, in milliseconds.
    const YEARS: i64 = 46 * 365 * 86_400_000;

    /// Returns the time after each of these timestamps, in milliseconds; the timeout is 300 seconds.
    fn times(millis: &[i64]) -> Vec<u64> {
        let mut clock = PacketClock::new(Duration::from_secs(300));
        millis.iter().map(|millis| clock.tick(timestamp(*millis)).as_millis()).collect()
    }

    fn timestamp(millis: i64) -> Timestamp {
        Timestamp::from_nanos(u64::try_from(START + millis).unwrap().saturating_mul(1_000_000), 6)
    }

    #[test]
    fn time_follows_timestamps_and_never_steps_back() {
        assert_eq!(times(&[0, 1000, 500, 2000, 11_000]), [0, 1000, 1000, 2000, 11_000]);
        assert_eq!(
            times(&[0, 20_000, 20_001, 40_001]),
            [0, 0, 20_001, 20_001],
            "a pause counts from its second packet on"
        );
        assert_eq!(times(&[0, 20_000, 40_000, 60_000]), [0, 0, 20_000, 40_000], "or when time goes on");
    }

    #[test]
    fn single_wrong_timestamp_advances_nothing() {
        for wrong in [10_000, 250_000, 400_000, YEARS, -10_000, -400_000, -YEARS] {
            assert_eq!(times(&[0, 100, 100 + wrong, 200, 300]), [0, 100, 100, 200, 300], "{wrong}");
        }
    }

    #[test]
    fn step_that_stays_counts_as_twelfth_of_timeout() {
        let twelfth = 25_000;
        for step in [400_000, YEARS] {
            assert_eq!(times(&[0, 100, step, step + 100]), [0, 100, 100, 100 + twelfth + 100], "{step}");
        }
        assert_eq!(times(&[0, 100, -YEARS, 100 - YEARS]), [0, 100, 100, 200], "a step back counts nothing");
    }

    #[test]
    fn clocks_that_disagree_run_side_by_side() {
        for skew in [20_000, 400_000, -400_000, -START] {
            let stamps: Vec<i64> = (0..100).flat_map(|n| [n * 1000, n * 1000 + skew]).collect();
            assert_eq!(times(&stamps).last(), Some(&99_000), "{skew}");
        }
        // Simple packet blocks have no time.
        let stamps: Vec<i64> = (0..100).flat_map(|n| [n * 5000, -START, -START]).collect();
        assert_eq!(times(&stamps).last(), Some(&(99 * 5000)));
    }

    #[test]
    fn both_directions_of_skew_are_counted() {
        let mut clock = PacketClock::new(Duration::from_secs(300));
        for millis in [0, 400_000, 100, 400_100, 90, 10_000] {
            clock.tick(timestamp(millis));
        }
        let ClockSteps { back, ahead, first_back, first_ahead, .. } = clock.steps();
        assert_eq!((ahead, first_ahead), (2, Some(timestamp(400_000))));
        assert_eq!((back, first_back), (2, Some(timestamp(100))));
    }

    #[test]
    fn next_capture_begins_without_step() {
        let mut clock = PacketClock::new(Duration::from_secs(300));
        clock.tick(timestamp(0));
        clock.tick(timestamp(1000));
        for capture in [YEARS, -YEARS, 1500] {
            let before = clock.now();
            clock.start_capture();
            assert_eq!(clock.tick(timestamp(capture)), before);
            assert_eq!(clock.tick(timestamp(capture + 5)).as_millis(), before.as_millis() + 5);
        }
        assert_eq!((clock.steps().ahead, clock.steps().back), (0, 0));
    }

    #[test]
    fn extreme_timestamps_saturate() {
        let mut clock = PacketClock::new(Duration::MAX);
        for nanos in [u64::MAX, 0, u64::MAX - 1, 1, u64::MAX, u64::MAX / 2, u64::MAX] {
            clock.tick(Timestamp::from_nanos(nanos, 9));
        }
        let mut instant = PacketClock::new(Duration::ZERO);
        assert!((0..9).all(|nanos| instant.tick(Timestamp::from_nanos(nanos * 5, 9)).as_nanos() <= nanos));
    }

    proptest! {
        #[test]
        fn span_is_range_of_timestamps(stamps in prop::collection::vec(0..YEARS, 1..50), near in 1_i64..100_000) {
            let mut clock = PacketClock::new(Duration::from_secs(300));
            let stamps = stamps.iter().flat_map(|stamp| [*stamp, stamp + near, stamp % near]);
            let mut ticked = Vec::new();
            for (n, stamp) in stamps.enumerate() {
                clock.tick(timestamp(stamp));
                ticked.push(timestamp(stamp).as_nanos());
                if n % 7 == 0 {
                    clock.start_capture();
                }
                let (first, last) = clock.steps().span.unwrap();
                prop_assert_eq!(Some(first.as_nanos()), ticked.iter().min().copied());
                prop_assert_eq!(Some(last.as_nanos()), ticked.iter().max().copied());
            }
        }

        /// Wrong timestamps between the right ones change the time by no more than the distance of two right ones.
        #[test]
        fn single_wrong_timestamps_change_no_time(
            gaps in prop::collection::vec((0_i64..9000, prop::option::of(-YEARS..YEARS)), 2..200),
        ) {
            let mut clock = PacketClock::new(Duration::from_secs(300));
            let (mut right, mut last) = (0_i64, 0);
            clock.tick(timestamp(0));
            for (gap, wrong) in gaps {
                right += gap;
                last = clock.tick(timestamp(right)).as_millis();
                if let Some(wrong) = wrong.filter(|wrong| wrong.abs() > 10_000) {
                    let before = clock.now();
                    prop_assert!(clock.tick(timestamp(right + wrong)).as_nanos() <= before.as_nanos() + 9_000_000_000);
                }
            }
            prop_assert!(last.abs_diff(u64::try_from(right).unwrap()) <= 9000, "{last} instead of {right}");
        }
    }
}
