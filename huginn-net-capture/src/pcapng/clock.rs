//! Timestamp resolution and offset of an interface.

use crate::interface::TimeResolution;
use huginn_net_core::Timestamp;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The clock of an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    unit: Unit,
    /// Seconds to add to every timestamp.
    offset: i64,
    /// Decimal digits of a second that the unit resolves.
    digits: u8,
    pub(super) resolution: TimeResolution,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Micros,
    Nanos,
    /// Any other unit, as the number of units per second.
    PerSecond(u128),
}

impl Default for Clock {
    fn default() -> Self {
        Self { unit: Unit::Micros, offset: 0, digits: 6, resolution: TimeResolution::MICROS }
    }
}

impl Clock {
    /// Sets the resolution from `if_tsresol`: a negative power of two if the highest bit is set, else of ten.
    pub(super) fn set_resolution(&mut self, resolution: u8) {
        self.resolution = TimeResolution::from_tsresol(resolution);
        let exponent = resolution & 0x7f;
        let decimals;
        if resolution & 0x80 == 0 {
            decimals = u32::from(exponent);
            self.unit = match exponent {
                6 => Unit::Micros,
                9 => Unit::Nanos,
                // With a resolution of 10^-38 or finer, every 64-bit timestamp is less than a nanosecond.
                _ => Unit::PerSecond(10_u128.saturating_pow(decimals.min(38))),
            };
        } else {
            // log10(2), rounded up: enough digits to distinguish adjacent timestamps.
            decimals = u32::from(exponent).saturating_mul(30_103).div_ceil(100_000);
            self.unit = Unit::PerSecond(2_u128.saturating_pow(u32::from(exponent)));
        }
        self.digits = u8::try_from(decimals.min(9)).unwrap_or(9);
    }

    /// Sets the seconds to add, from `if_tsoffset`.
    pub(super) fn set_offset(&mut self, seconds: i64) {
        self.offset = seconds;
    }

    /// Converts a timestamp to a time. A time before 1970 becomes the start of 1970.
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> Timestamp {
        let (seconds, nanos) = match self.unit {
            Unit::Micros => (ticks / 1_000_000, (ticks % 1_000_000).saturating_mul(1000)),
            Unit::Nanos => (ticks / 1_000_000_000, ticks % 1_000_000_000),
            Unit::PerSecond(units) => split(ticks, units),
        };
        match seconds.checked_add_signed(self.offset) {
            Some(seconds) => Timestamp::new(seconds, u32::try_from(nanos).unwrap_or(0), self.digits),
            None if self.offset < 0 => Timestamp::new(0, 0, self.digits),
            None => Timestamp::new(u64::MAX, 0, self.digits),
        }
    }
}

/// Splits a number of units into seconds and nanoseconds.
#[cold]
fn split(ticks: u64, units_per_second: u128) -> (u64, u64) {
    let ticks = u128::from(ticks);
    let seconds = ticks.checked_div(units_per_second).unwrap_or(0);
    let rest = ticks.checked_rem(units_per_second).unwrap_or(0);
    // The rest is below 2^64 and the product below 2^94.
    let nanos = rest.saturating_mul(NANOS_PER_SECOND).checked_div(units_per_second).unwrap_or(0);
    (u64::try_from(seconds).unwrap_or(u64::MAX), u64::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_resolution_and_offset() {
        // Expected values by hand: ticks * 10^-n or 2^-n seconds, plus the offset.
        for (resolution, offset, ticks, want) in [
            (0, 0, 1_600_000_000, "2020-09-13T12:26:40Z"),
            (3, 0, 1_600_000_000_123, "2020-09-13T12:26:40.123Z"),
            (6, 0, 1_600_000_000_123_456, "2020-09-13T12:26:40.123456Z"),
            (9, 0, 1_600_000_000_123_456_789, "2020-09-13T12:26:40.123456789Z"),
            (9, -86_400, 1_600_000_000_000_000_001, "2020-09-12T12:26:40.000000001Z"),
            (6, 86_400, 0, "1970-01-02T00:00:00.000000Z"),
            (6, -1, 999_999, "1970-01-01T00:00:00.000000Z"),
            // A 64-bit count of picoseconds ends after seven months.
            (12, 1_600_000_000, 1_500_000_000_999, "2020-09-13T12:26:41.500000000Z"),
            (19, 0, u64::MAX, "1970-01-01T00:00:01.844674407Z"),
            (38, 0, u64::MAX, "1970-01-01T00:00:00.000000000Z"),
            (127, 0, u64::MAX, "1970-01-01T00:00:00.000000000Z"),
            (0x80, 0, 1, "1970-01-01T00:00:01Z"),
            (0x81, 0, 3, "1970-01-01T00:00:01.5Z"),
            (0x8a, 0, 1023, "1970-01-01T00:00:00.9990Z"),
            (0xa0, 0, (7 << 32) | (1 << 31), "1970-01-01T00:00:07.500000000Z"),
            (0xff, 0, u64::MAX, "1970-01-01T00:00:00.000000000Z"),
        ] {
            let mut clock = Clock::default();
            clock.set_resolution(resolution);
            clock.set_offset(offset);
            assert_eq!(clock.time(ticks).to_string(), want, "{resolution:#x} {offset} {ticks}");
        }
    }

    #[test]
    fn saturates_in_far_future() {
        let mut clock = Clock::default();
        clock.set_resolution(0);
        clock.set_offset(i64::MAX);
        assert_eq!(clock.time(u64::MAX).as_nanos(), u64::MAX);
    }
}
