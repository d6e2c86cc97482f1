//! TCP timestamp clocks (RFC 7323, section 5.4): frequency and uptime.

use crate::limits::{
    CLOCK_JITTER_MILLIS, LINUX_CLOCK_START, MAX_CLOCK_DRIFT, MAX_CLOCK_HZ, MAX_REORDERING_MILLIS,
    MAX_REORDERING_TICKS, MEASURABLE_MILLIS, MIN_CLOCK_HZ, MIN_CLOCK_TICKS, USUAL_CLOCK_HZ,
};

/// A value of a sender's timestamp clock and its capture time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ClockReading {
    /// TSval of the segment; never 0.
    pub value: u32,
    /// Capture time: whole milliseconds since the Unix epoch.
    pub at_millis: u64,
}

/// The result of comparing two readings of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// The interval is too short or too long, or the clock advanced too little.
    Nothing,
    /// Not a clock that counts time: it runs backwards, slower than 0.7 Hz or faster than 1500 Hz.
    NoClock,
    /// A measured clock.
    Clock(Clock),
}

/// A timestamp clock, measured between two segments of one sender.
///
/// The value counts from system start only on systems that do not randomise timestamp offsets (RFC 7323, section 7.1,
/// recommends it). Linux since 4.10 uses one offset for each pair of addresses, other systems one for each connection.
/// A single connection cannot show which case applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Clock {
    /// The later of the readings.
    pub reading: ClockReading,
    /// Clock ticks between the two readings.
    pub ticks: u32,
    /// Time between the two readings, in milliseconds.
    pub millis: u32,
}

/// The time since a system started, as its timestamp clock shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Uptime {
    /// The measured clock.
    pub clock: Clock,
    /// The nominal frequency in Hz.
    pub frequency: u32,
    /// Minutes since the system started; more by a multiple of [`Self::modulo_days`] if the counter has wrapped, and five too few for Linux
    /// after the first wrap of its counter, which comes five minutes after its start.
    pub minutes: u32,
}

impl ClockReading {
    /// Creates a reading from a value and a time in milliseconds since the Unix epoch. `None` if the value is 0.
    pub fn new(value: u32, at_millis: u64) -> Option<Self> {
        (value != 0).then_some(Self { value, at_millis })
    }

    /// Compares this reading with an `earlier` one of the same sender, by p0f's rules.
    pub fn since(self, earlier: Self) -> Measurement {
        let millis = self.at_millis.checked_sub(earlier.at_millis);
        let Some(millis) = millis.filter(|millis| MEASURABLE_MILLIS.contains(millis)) else {
            return Measurement::Nothing;
        };
        let millis = u32::try_from(millis).unwrap_or(u32::MAX);
        let ticks = self.value.wrapping_sub(earlier.value);
        let overtaken = millis < MAX_REORDERING_MILLIS && !ticks < MAX_REORDERING_TICKS;
        if ticks < MIN_CLOCK_TICKS || overtaken {
            return Measurement::Nothing;
        }
        let forward = ticks <= !ticks;
        Clock::measured(self, ticks, millis)
            .filter(|_| forward)
            .map_or(Measurement::NoClock, Measurement::Clock)
    }
}

impl Clock {
    /// Creates the measurement of a clock that advanced by `ticks` in the `millis` milliseconds before `reading`. `None`
    /// outside the frequencies of real clocks, 0.7 to 1500 Hz as in p0f.
    pub fn measured(reading: ClockReading, ticks: u32, millis: u32) -> Option<Self> {
        let clock = Self { reading, ticks, millis };
        // The frequency over no time is not a number or infinite, which is outside, too.
        (MIN_CLOCK_HZ..=MAX_CLOCK_HZ).contains(&clock.raw_frequency()).then_some(clock)
    }

    /// The measured frequency in Hz.
    pub fn raw_frequency(&self) -> f64 {
        f64::from(self.ticks) * 1000.0 / f64::from(self.millis)
    }

    /// The lowest and the highest frequency (Hz) that the measurement allows: the last tick may be nearly over, and each segment may
    /// be 20 ms late.
    pub fn possible_frequencies(&self) -> (f64, f64) {
        let (ticks, millis) = (f64::from(self.ticks), f64::from(self.millis));
        let (slow, fast) = ((ticks - 1.0) * 1000.0, (ticks + 1.0) * 1000.0);
        (slow / (millis + CLOCK_JITTER_MILLIS), fast / (millis - CLOCK_JITTER_MILLIS).max(1.0))
    }

    /// Returns the uptime, if exactly one of the frequencies that systems use agrees with the measurement, within 4 %.
    ///
    /// Linux starts its counter five minutes before it wraps, so that a value of those minutes is that of a system that has just
    /// started.
    pub fn uptime(&self) -> Option<Uptime> {
        let (slow, fast) = self.possible_frequencies();
        let agreeing = slow * (1.0 - MAX_CLOCK_DRIFT)..=fast * (1.0 + MAX_CLOCK_DRIFT);
        let mut usual = USUAL_CLOCK_HZ.into_iter().filter(|usual| agreeing.contains(&f64::from(*usual)));
        let (frequency, None) = (usual.next()?, usual.next()) else { return None };
        let value = self.reading.value;
        let since_start = value.wrapping_add(LINUX_CLOCK_START.saturating_mul(frequency));
        let ticks = if since_start < value { since_start } else { value };
        Some(Uptime::new(*self, frequency, ticks))
    }

    /// Returns the uptime by p0f's rules: every measured frequency has one, and every counter starts at 0.
    pub fn p0f_uptime(&self) -> Uptime {
        Uptime::new(*self, self.p0f_frequency(), self.reading.value)
    }

    /// The measured frequency, rounded as p0f rounds it.
    fn p0f_frequency(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0.7 to 1500")]
        let raw = self.raw_frequency() as u32;
        let round =
            |up: u32, unit: u32| raw.saturating_add(up).checked_div(unit).unwrap_or(0).saturating_mul(unit);
        match raw {
            0 => 1,
            1..=10 => raw,
            11..=50 => round(3, 5),
            51..=100 => round(7, 10),
            101..=500 => round(33, 50),
            _ => round(67, 100),
        }
    }
}

impl Uptime {
    /// The uptime of a clock with this frequency (Hz) whose counter has advanced by `ticks` since the system started.
    fn new(clock: Clock, frequency: u32, ticks: u32) -> Self {
        Self { clock, frequency, minutes: ticks.checked_div(frequency).unwrap_or(0) / 60 }
    }

    /// [`Self::minutes`] as whole days, hours and minutes.
    pub fn days_hours_minutes(&self) -> (u32, u32, u32) {
        (self.minutes / 1440, self.minutes / 60 % 24, self.minutes % 60)
    }

    /// Days until the 32-bit counter wraps; the uptime is known modulo this value.
    pub fn modulo_days(&self) -> u32 {
        u32::MAX.checked_div(self.frequency.saturating_mul(86_400)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: u32, at_millis: u64) -> ClockReading {
        ClockReading { value, at_millis }
    }

    fn measure(ticks: u32, millis: u64) -> Measurement {
        reading(1_000_000_u32.wrapping_add(ticks), millis.saturating_add(5_000))
            .since(reading(1_000_000, 5_000))
    }

    #[test]
    fn measures_only_valid_intervals() {
        // The limits come from p0f 3.09b.
        use Measurement::{NoClock, Nothing};
        for (ticks, millis, want) in [
            (25, 24, Nothing),
            (4, 1000, Nothing),
            (600_001, 600_001, Nothing),
            (1500, 99, NoClock),
            (u32::MAX - 14_999, 99, Nothing),
            (u32::MAX - 15_000, 99, NoClock),
            (u32::MAX - 10, 100, NoClock),
            (1501, 1000, NoClock),
            (69, 100_000, NoClock),
        ] {
            assert_eq!(measure(ticks, millis), want, "{ticks} in {millis} ms");
        }
        for (ticks, millis) in [(25, 25), (5, 1000), (600_000, 600_000), (1500, 1000), (70, 100_000)] {
            assert!(matches!(measure(ticks, millis), Measurement::Clock(_)), "{ticks} in {millis} ms");
        }
        assert_eq!(reading(2000, 0).since(reading(1000, 1000)), Nothing, "time stepped back");
    }

    #[test]
    fn rejects_frequencies_of_no_clock() {
        let reading = reading(1000, 5000);
        for (ticks, millis) in [(0, 1500), (0, 0), (5, 0), (69, 100_000), (150_001, 100_000)] {
            assert_eq!(Clock::measured(reading, ticks, millis), None, "{ticks} in {millis} ms");
        }
        for (ticks, millis) in [(70, 100_000), (150_000, 100_000)] {
            assert!(Clock::measured(reading, ticks, millis).is_some(), "{ticks} in {millis} ms");
        }
    }

    #[test]
    fn p0f_rounds_frequencies() {
        for (ticks, want) in [
            (7, 1),
            (19, 1),
            (100, 10),
            (109, 10),
            (117, 10),
            (120, 15),
            (497, 50),
            (503, 50),
            (530, 60),
            (990, 100),
            (1009, 100),
            (1170, 150),
            (2490, 250),
            (2510, 250),
            (9990, 1000),
            (10_010, 1000),
            (9400, 1000),
        ] {
            let Measurement::Clock(clock) = measure(ticks, 10_000) else { panic!("{ticks}") };
            assert_eq!(clock.p0f_uptime().frequency, want, "{ticks} in 10 s");
        }
    }

    #[test]
    fn uptime_wraps_at_32_bits() {
        let uptime =
            |value, ticks| Clock { reading: reading(value, 0), ticks, millis: 1000 }.uptime().unwrap();
        let fast = uptime(4_000_000_000, 1000);
        assert_eq!((fast.minutes, fast.modulo_days(), fast.days_hours_minutes()), (66_666, 49, (46, 7, 6)));
        let slow = uptime(360_000, 100);
        assert_eq!((slow.minutes, slow.modulo_days()), (60, 497));
    }

    /// Frequencies of systems that were measured over these times, and clocks that jitter distorts.
    #[test]
    fn uptime_needs_a_usual_frequency() {
        for (ticks, millis, want) in [
            (100, 10_006, Some(10)),
            (161, 80_860, Some(2)),
            (47, 23_490, Some(2)),
            (495, 502, Some(1000)),
            (249, 1000, Some(250)),
            (1_010_000, 1_000_000, Some(1000)),
            (589, 529, None),
            (641, 541, None),
            (53, 1000, None),
            (6, 25, None),
        ] {
            let clock = Clock { reading: reading(7_000_000, 0), ticks, millis };
            assert_eq!(clock.uptime().map(|uptime| uptime.frequency), want, "{ticks} in {millis} ms");
        }
    }

    /// The first value of Linux is 300 seconds below 2^32 (INITIAL_JIFFIES).
    #[test]
    fn linux_counts_up_to_its_first_wrap() {
        for (value, ticks, minutes) in [
            (0_u32.wrapping_sub(300 * 250), 250, 0),
            (4_294_939_165, 250, 3),
            (4_294_943_456, 100, 1),
            (u32::MAX, 250, 4),
            (0_u32.wrapping_sub(301 * 250), 250, 286_326),
            // The counter alone does not tell Linux: ten minutes after its start.
            (75_000, 250, 5),
        ] {
            let clock = Clock { reading: reading(value, 0), ticks, millis: 1000 };
            assert_eq!(clock.uptime().unwrap().minutes, minutes, "{value}");
        }
        let clock = Clock { reading: reading(u32::MAX, 0), ticks: 250, millis: 1000 };
        assert_eq!(clock.p0f_uptime().minutes, 286_331);
    }

    #[test]
    fn counter_wrap_is_not_step_back() {
        let clock = reading(500, 1000).since(reading(u32::MAX - 499, 0));
        assert!(matches!(clock, Measurement::Clock(Clock { ticks: 1000, .. })), "{clock:?}");
    }
}
