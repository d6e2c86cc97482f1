//! Time zone of the human format.

use std::fmt::{self, Display};

use huginn_net::Timestamp;
use jiff::tz::TimeZone;

const SECONDS_PER_DAY: u64 = 86_400;

/// The only local date before 1970.
const DAY_IN_1969: (u32, u8, u8) = (1969, 12, 31);

/// Time zone of printed times: UTC, or that of the system.
#[derive(Clone, Debug)]
pub(crate) struct Zone(Option<TimeZone>);

impl Zone {
    /// The zone of the system (`TZ` or `/etc/localtime`) if `local`, otherwise UTC.
    pub(crate) fn new(local: bool) -> Self {
        Self(local.then(TimeZone::system))
    }

    /// Shifts a time by the offset that the zone had then, so that its time of day is local, and its
    /// [civil](Timestamp::civil) date too unless that is in 1969: then it is 1 January 1970.
    pub(crate) fn shift(&self, ts: Timestamp) -> Timestamp {
        self.shown(ts).shifted
    }

    /// Formats a time as RFC 3339.
    pub(crate) fn display(&self, ts: Timestamp) -> impl Display {
        self.shown(ts)
    }

    fn shown(&self, ts: Timestamp) -> Shown {
        let seconds = ts.as_secs();
        let instant =
            i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        let Some((zone, instant)) = self.0.as_ref().zip(instant) else {
            return Shown { shifted: ts, offset: 0, is_in_1969: false };
        };
        let offset = zone.to_offset(instant).seconds();
        let local = seconds.checked_add_signed(offset.into());
        // A local time before 1970 is shifted by a day, which is as long as any offset.
        let next_day = seconds.saturating_add(SECONDS_PER_DAY).saturating_add_signed(offset.into());
        let shifted = Timestamp::new(local.unwrap_or(next_day), ts.subsec_nanos(), ts.digits());
        Shown { shifted, offset, is_in_1969: local.is_none() && offset < 0 }
    }

    /// Formats date and time of day to the second: `2026-11-21 07:43:47`.
    pub(crate) fn seconds(&self, ts: Timestamp) -> impl Display {
        Seconds(self.shown(ts))
    }

    /// The day of a time.
    pub(super) fn day(&self, ts: Timestamp) -> Day {
        let Shown { shifted, offset, is_in_1969 } = self.shown(ts);
        let days = shifted.as_secs().checked_div(SECONDS_PER_DAY).unwrap_or_default();
        Day { days, is_in_1969, offset: self.0.as_ref().map(|_| offset) }
    }

    /// The name for headings: `UTC` or `local`.
    pub(crate) fn name(&self) -> &'static str {
        if self.0.is_some() { "local" } else { "UTC" }
    }
}

/// A day in a zone.
///
/// [`Display`] is its date and its offset: `2026-11-21 UTC`, `2026-11-21 UTC-05:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Day {
    days: u64,
    is_in_1969: bool,
    /// In seconds; `None` if the zone is UTC. A day on which the clocks change is two.
    offset: Option<i32>,
}

impl Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = Timestamp::new(self.days.saturating_mul(SECONDS_PER_DAY), 0, 0);
        let (mut year, mut month, mut day, ..) = start.civil();
        if self.is_in_1969 {
            (year, month, day) = DAY_IN_1969;
        }
        write!(f, "{year:04}-{month:02}-{day:02} UTC")?;
        self.offset.map_or(Ok(()), |offset| Offset(offset).fmt(f))
    }
}

/// The offset of a zone in seconds: `+02:00`.
struct Offset(i32);

impl Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        let minutes = self.0.unsigned_abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// A date and a time of day.
struct Seconds(Shown);

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut year, mut month, mut day, hour, minute, second) = self.0.shifted.civil();
        if self.0.is_in_1969 {
            (year, month, day) = DAY_IN_1969;
        }
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// A time in a zone.
struct Shown {
    shifted: Timestamp,
    /// In seconds.
    offset: i32,
    /// Whether the local date is 31 December 1969.
    is_in_1969: bool,
}

impl Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.shifted.to_string();
        if self.is_in_1969 {
            text = text.replacen("1970-01-01", "1969-12-31", 1);
        }
        match (self.offset, text.strip_suffix('Z')) {
            (0, _) | (_, None) => f.write_str(&text),
            (offset, Some(text)) => write!(f, "{text}{}", Offset(offset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shifted_by_offset_of_their_date() {
        let zone = Zone(Some(TimeZone::get("Europe/Berlin").unwrap()));
        for (seconds, text) in [
            (1_600_000_000, "2020-09-13T14:26:40.123456+02:00"),
            (1_610_000_000, "2021-01-07T07:13:20.123456+01:00"),
        ] {
            let ts = Timestamp::new(seconds, 123_456_000, 6);
            assert_eq!(zone.display(ts).to_string(), text);
        }
        let newfoundland = Zone(Some(TimeZone::get("America/St_Johns").unwrap()));
        let text = newfoundland.display(Timestamp::new(1_610_000_000, 0, 0)).to_string();
        assert_eq!(text, "2021-01-07T02:43:20-03:30");
    }

    #[test]
    fn local_times_before_1970_are_right() {
        let new_york = Zone(Some(TimeZone::get("America/New_York").unwrap()));
        for (seconds, text) in [
            (3_600, "1969-12-31T20:00:00.500000-05:00"),
            (17_999, "1969-12-31T23:59:59.500000-05:00"),
            (18_000, "1970-01-01T00:00:00.500000-05:00"),
            (90_000, "1970-01-01T20:00:00.500000-05:00"),
        ] {
            let ts = Timestamp::new(seconds, 500_000_000, 6);
            assert_eq!(new_york.display(ts).to_string(), text);
            assert_eq!(new_york.seconds(ts).to_string(), text.get(..19).unwrap().replace('T', " "));
            let of_day = new_york.shift(ts).to_string();
            assert_eq!(of_day.get(11..26), text.get(11..26));
        }
    }

    #[test]
    fn days_change_at_midnight_of_the_zone() {
        let day = |zone: &Zone, seconds| zone.day(Timestamp::new(seconds, 0, 0));
        let (utc, new_york) = (Zone::new(false), Zone(Some(TimeZone::get("America/New_York").unwrap())));
        for (zone, midnight) in [(&utc, 1_699_920_000), (&new_york, 1_699_938_000), (&new_york, 18_000)] {
            assert_eq!(day(zone, midnight - 1), day(zone, midnight - 10_000));
            assert_eq!(day(zone, midnight), day(zone, midnight + 10_000));
            assert_ne!(day(zone, midnight - 1), day(zone, midnight));
        }
        assert_eq!(day(&utc, 1_699_920_000).to_string(), "2023-11-14 UTC");
        assert_eq!(day(&new_york, 1_699_938_000).to_string(), "2023-11-14 UTC-05:00");
        assert_eq!(day(&new_york, 17_999).to_string(), "1969-12-31 UTC-05:00");
        // The end of summer time: 5 November 2023, 06:00 UTC.
        assert_eq!(day(&new_york, 1_699_163_999).to_string(), "2023-11-05 UTC-04:00");
        assert_eq!(day(&new_york, 1_699_164_000).to_string(), "2023-11-05 UTC-05:00");
    }

    #[test]
    fn utc_is_unchanged() {
        let ts = Timestamp::new(1_600_000_000, 5, 9);
        assert_eq!(Zone::new(false).display(ts).to_string(), ts.to_string());
    }
}
