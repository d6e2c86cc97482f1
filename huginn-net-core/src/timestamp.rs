//! Packet time, as the capture states it.

use std::fmt;
use std::str;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The moment at which a packet was captured: nanoseconds since the Unix epoch (UTC), and how many decimal
/// digits of a second the capture really recorded.
///
/// [`Display`](fmt::Display) writes RFC 3339 in UTC with exactly those digits.
///
/// ```
/// use huginn_net_core::Timestamp;
///
/// let ts = Timestamp::new(1_600_000_000, 123_456_000, 6);
/// assert_eq!(ts.to_string(), "2020-09-13T12:26:40.123456Z");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamp {
    nanos: u64,
    digits: u8,
}

impl Timestamp {
    /// A time from whole seconds and nanoseconds, shown with `digits` (0 to 9) decimals of a second.
    ///
    /// `nanos` may exceed a second; a time past the year 2554 saturates there.
    pub const fn new(seconds: u64, nanos: u32, digits: u8) -> Self {
        let nanos = seconds.saturating_mul(NANOS_PER_SECOND).saturating_add(nanos as u64);
        Self { nanos, digits: if digits > 9 { 9 } else { digits } }
    }

    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self { nanos, digits: 9 }
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Whole milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.nanos / 1_000_000
    }

    /// Whole seconds since the Unix epoch.
    pub const fn as_secs(self) -> u64 {
        self.nanos / NANOS_PER_SECOND
    }

    /// The part below a second, in nanoseconds.
    pub const fn subsec_nanos(self) -> u32 {
        (self.nanos % NANOS_PER_SECOND) as u32
    }

    /// How many decimals of a second the capture records.
    pub const fn digits(self) -> u8 {
        self.digits
    }

    /// The civil date and time of day in UTC: `(year, month, day, hour, minute, second)`.
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        reason = "64-bit nanoseconds end in the year 2554: every step fits, every remainder its type"
    )]
    pub const fn civil(self) -> (u32, u8, u8, u8, u8, u8) {
        // The proleptic Gregorian calendar in eras of 400 years that start on 1 March, so that the leap day is
        // the last of its year.
        let seconds = self.as_secs();
        let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + (month <= 2) as u64;
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        (year as u32, month as u8, day as u8, hour as u8, minute as u8, second as u8)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second) = self.civil();
        let mut text = *b"0000-00-00T00:00:00.000000000";
        let (date_and_time, fraction) = text.split_at_mut(20);
        for (place, number) in date_and_time.split_mut(|byte| !byte.is_ascii_digit()).zip([
            year,
            month.into(),
            day.into(),
            hour.into(),
            minute.into(),
            second.into(),
        ]) {
            write_digits(place, number);
        }
        write_digits(fraction, self.subsec_nanos());
        let len = match self.digits {
            0 => 19,
            digits => usize::from(digits).saturating_add(20),
        };
        f.write_str(str::from_utf8(text.get(..len).unwrap_or_default()).map_err(|_| fmt::Error)?)?;
        f.write_str("Z")
    }
}

/// Fills a place with the last digits of a number.
fn write_digits(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_keeps_the_captures_own_digits() {
        // Reference: `date -u -d @N +%FT%TZ`.
        for (secs, nanos, digits, want) in [
            (0, 0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 0, 6, "2000-02-29T00:00:00.000000Z"),
            (4_102_444_799, 999_999_999, 9, "2099-12-31T23:59:59.999999999Z"),
            (4_107_542_400, 500_000_000, 1, "2100-03-01T00:00:00.5Z"),
            (1_709_251_199, 0, 3, "2024-02-29T23:59:59.000Z"),
        ] {
            assert_eq!(Timestamp::new(secs, nanos, digits).to_string(), want);
        }
    }

    #[test]
    fn far_future_saturates() {
        assert_eq!(Timestamp::new(u64::MAX, u32::MAX, 99).as_nanos(), u64::MAX);
        assert!(Timestamp::new(u64::MAX, 0, 6).to_string().starts_with("2554-07-21T"));
    }
}
