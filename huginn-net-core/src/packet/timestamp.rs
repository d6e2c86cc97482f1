//! Capture timestamps.

use std::cmp::Ordering;
use std::fmt;
use std::str::{self, FromStr};
use std::time::SystemTime;

use huginn_net_wire::two_digits;

use crate::CivilDate;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// Capture time of a packet: nanoseconds since the Unix epoch (UTC), the number of decimal digits of a second that the
/// capture recorded, and the interface whose clock was read.
///
/// [`Display`](fmt::Display) writes RFC 3339 in UTC with exactly those digits.
///
/// ```
/// use huginn_net_core::Timestamp;
///
/// let ts = Timestamp::new(1_600_000_000, 123_456_000, 6);
/// assert_eq!(ts.to_string(), "2020-09-13T12:26:40.123456Z");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Timestamp {
    nanos: u64,
    /// Digits (8 bits), interface (16 bits) and number of other records (32 bits). With two fields a timestamp is passed in
    /// registers, which every packet does.
    details: u64,
}

/// By time; timestamps of the same time by their digits, interface and other records, as [`Eq`] has them.
impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.nanos, self.details).cmp(&(other.nanos, other.details))
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

const INTERFACE_SHIFT: u32 = 8;
const INTERFACE_MASK: u64 = 0xffff << INTERFACE_SHIFT;
const OTHER_RECORDS_SHIFT: u32 = 32;
const OTHER_RECORDS_MASK: u64 = 0xffff_ffff << OTHER_RECORDS_SHIFT;

impl Timestamp {
    /// Creates a timestamp that displays `digits` (0 to 9) decimals of a second.
    ///
    /// `nanos` may exceed a second. Times after the year 2554 saturate.
    pub const fn new(seconds: u64, nanos: u32, digits: u8) -> Self {
        let nanos = seconds.saturating_mul(NANOS_PER_SECOND).saturating_add(nanos as u64);
        Self::from_nanos(nanos, digits)
    }

    /// Creates a timestamp from nanoseconds since the Unix epoch; it displays `digits` (0 to 9) decimals of a second.
    pub const fn from_nanos(nanos: u64, digits: u8) -> Self {
        Self { nanos, details: if digits > 9 { 9 } else { digits as u64 } }
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

    /// Number of decimal digits of a second that the capture recorded.
    pub const fn digits(self) -> u8 {
        (self.details & 0xff) as u8
    }

    /// Sets the [interface](Self::interface).
    #[must_use]
    #[inline]
    pub const fn with_interface(self, interface: u16) -> Self {
        Self { details: self.details & !INTERFACE_MASK | (interface as u64) << INTERFACE_SHIFT, ..self }
    }

    /// Index of the interface that captured the packet, in the order of the source; 0 unless a live source or a pcapng file
    /// has several.
    pub const fn interface(self) -> u16 {
        ((self.details & INTERFACE_MASK) >> INTERFACE_SHIFT) as u16
    }

    /// Sets the number of [other records](Self::other_records).
    #[must_use]
    #[inline]
    pub const fn with_other_records(self, other_records: u32) -> Self {
        let others = self.details & !OTHER_RECORDS_MASK;
        Self { details: others | (other_records as u64) << OTHER_RECORDS_SHIFT, ..self }
    }

    /// Number of records of the capture that are not packets, after the packet before: they count for the number of the
    /// packet.
    #[inline]
    pub const fn other_records(self) -> u32 {
        (self.details >> OTHER_RECORDS_SHIFT) as u32
    }

    /// The civil date and time of day in UTC: `(year, month, day, hour, minute, second)`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "64-bit nanoseconds end in the year 2554: every number fits"
    )]
    pub const fn civil(self) -> (u32, u8, u8, u8, u8, u8) {
        let seconds = self.as_secs();
        let (days, second_of_day) = ((seconds / SECONDS_PER_DAY) as u32, (seconds % SECONDS_PER_DAY) as u32);
        let CivilDate { year, month, day } = CivilDate::from_days(days);
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        (year as u32, month, day, hour as u8, minute as u8, second as u8)
    }

    /// Returns the [`Display`](fmt::Display) text as ASCII bytes.
    pub fn text(self) -> impl AsRef<[u8]> {
        let seconds = self.as_secs();
        let day = u32::try_from(seconds / SECONDS_PER_DAY).unwrap_or(CivilDate::LAST_DAY);
        let nanos = self.subsec_nanos();
        let [[f1, f2], [f3, f4], [f5, f6], [f7, f8]] =
            [nanos / 1_000_000 % 100, nanos / 10_000 % 100, nanos / 100 % 100, nanos % 100].map(two_digits);
        let [_, f0] = two_digits(nanos / 100_000_000);
        let mut bytes = [0; 30];
        if let Some((date, fraction)) = bytes.split_first_chunk_mut() {
            *date = CivilDate::from_days(day)
                .text_with_time(u32::try_from(seconds % SECONDS_PER_DAY).unwrap_or_default());
            fraction.copy_from_slice(&[b'.', f0, f1, f2, f3, f4, f5, f6, f7, f8, b'Z']);
        }
        let end = match self.digits() {
            0 => 19,
            digits => usize::from(digits).saturating_add(20),
        };
        if let Some(byte) = bytes.get_mut(end) {
            *byte = b'Z';
        }
        Text { bytes, len: end.saturating_add(1) }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timestamp")
            .field("nanos", &self.nanos)
            .field("other_records", &self.other_records())
            .field("interface", &self.interface())
            .field("digits", &self.digits())
            .finish()
    }
}

/// Converts with nine digits. A time before the Unix epoch becomes the epoch.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::new(since_epoch.as_secs(), since_epoch.subsec_nanos(), 9)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(self.text().as_ref()).map_err(|_| fmt::Error)?)
    }
}

/// Parses the [`Display`](fmt::Display) text.
impl FromStr for Timestamp {
    type Err = TimestampParseError;

    fn from_str(text: &str) -> Result<Self, TimestampParseError> {
        parse(text.as_bytes()).filter(|ts| ts.text().as_ref() == text.as_bytes()).ok_or(TimestampParseError)
    }
}

/// Parses a time; its text may differ.
fn parse(text: &[u8]) -> Option<Timestamp> {
    let number = |from: usize, to: usize| str::from_utf8(text.get(from..to)?).ok()?.parse::<u32>().ok();
    let date = CivilDate {
        year: number(0, 4)?.try_into().ok()?,
        month: number(5, 7)?.try_into().ok()?,
        day: number(8, 10)?.try_into().ok()?,
    };
    let seconds = number(11, 13)?.checked_mul(3600)?.checked_add(number(14, 16)?.checked_mul(60)?)?;
    let seconds = u64::from(seconds.checked_add(number(17, 19)?)?);
    let days = u64::try_from(date.days_since_epoch()).ok()?;
    let decimals = text.get(19..text.len().checked_sub(1)?)?.strip_prefix(b".").unwrap_or_default();
    let digits = u8::try_from(decimals.len()).ok().filter(|digits| *digits <= 9)?;
    let nanos = decimals.iter().chain(b"000000000").take(9).try_fold(0_u32, |nanos, digit| {
        nanos.checked_mul(10)?.checked_add(char::from(*digit).to_digit(10)?)
    })?;
    Some(Timestamp::new(days.checked_mul(SECONDS_PER_DAY)?.checked_add(seconds)?, nanos, digits))
}

/// A text that is not a time as [`Timestamp`] displays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time such as 2020-09-13T12:26:40.123456Z")]
pub struct TimestampParseError;

/// A formatted timestamp.
struct Text {
    bytes: [u8; 30],
    len: usize,
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn text_is_parsed() {
        let times = [
            (0, 0, 0),
            (1_600_000_000, 123_456_000, 6),
            (4_102_444_799, 999_999_999, 9),
            (951_782_400, 5, 9),
        ];
        for (seconds, nanos, digits) in times {
            let ts = Timestamp::new(seconds, nanos, digits);
            assert_eq!(ts.to_string().parse(), Ok(ts), "{ts}");
        }
        for text in [
            "",
            "Z",
            "2020-09-13",
            "2020-13-13T12:26:40Z",
            "2020-09-13T12:26:60Z",
            "2020-09-13T12:26:40.Z",
            "2020-09-13T12:26:40.1234567890Z",
            "2020-09-13 12:26:40Z",
            "+020-09-13T12:26:40Z",
            "2020-09-13T12:26:40.12",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(TimestampParseError), "{text}");
        }
    }

    #[test]
    fn interface_changes_nothing_else() {
        let ts = Timestamp::new(1, 5, 9);
        let stamped = ts.with_interface(u16::MAX).with_other_records(u32::MAX);
        assert_eq!((stamped.other_records(), ts.other_records()), (u32::MAX, 0));
        assert_eq!((stamped.interface(), ts.interface()), (u16::MAX, 0));
        assert_eq!((stamped.as_nanos(), stamped.to_string()), (ts.as_nanos(), ts.to_string()));
        assert_eq!(size_of::<Timestamp>(), 16, "it fits into the padding");
    }

    #[test]
    fn display_keeps_captured_digits() {
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
    fn system_time_converts_to_nanoseconds() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(951_782_400, 7);
        assert_eq!(Timestamp::from(time).to_string(), "2000-02-29T00:00:00.000000007Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(Timestamp::from(before).as_nanos(), 0);
    }

    #[test]
    fn saturates_in_far_future() {
        assert_eq!(Timestamp::new(u64::MAX, u32::MAX, 99).as_nanos(), u64::MAX);
        assert!(Timestamp::new(u64::MAX, 0, 6).to_string().starts_with("2554-07-21T"));
    }
}
