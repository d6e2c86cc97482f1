//! Times in certificates.

use std::fmt;
use std::str::{self, FromStr};

use huginn_net_wire::CivilDate;
use x509_parser::asn1_rs::FromDer;
use x509_parser::time::ASN1Time;

const SECONDS_PER_DAY: i64 = 86_400;

/// A time in a certificate, from the year 0 to 9999 (RFC 5280, section 4.1.2.5): seconds since the Unix epoch, UTC.
///
/// [`Display`](fmt::Display) writes RFC 3339. A time without a zone, which RFC 5280 forbids, is read as UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CertificateTime(i64);

impl CertificateTime {
    const FIRST: i64 = SECONDS_PER_DAY * CivilDate { year: 0, month: 1, day: 1 }.days_since_epoch();
    const LAST: i64 = SECONDS_PER_DAY * (CivilDate::LAST_DAY as i64 + 1) - 1;

    /// Reads a UTCTime or GeneralizedTime; `None` if it is not a time.
    pub(super) fn from_der(der: &[u8]) -> Option<Self> {
        let (rest, time) = ASN1Time::from_der(der).ok()?;
        Self::from_seconds(time.timestamp()).filter(|_| rest.is_empty())
    }

    /// Creates a time from seconds since the Unix epoch; `None` outside the years 0 to 9999.
    pub(super) fn from_seconds(seconds: i64) -> Option<Self> {
        (Self::FIRST..=Self::LAST).contains(&seconds).then_some(Self(seconds))
    }

    /// Seconds since the Unix epoch, negative before it.
    pub const fn seconds(self) -> i64 {
        self.0
    }

    /// Returns the [`Display`](fmt::Display) text as ASCII bytes.
    pub fn text(self) -> [u8; 20] {
        let (day, second) = (self.0.div_euclid(SECONDS_PER_DAY), self.0.rem_euclid(SECONDS_PER_DAY));
        let mut text = [b'Z'; 20];
        if let Some(time) = text.first_chunk_mut() {
            *time = date(day).text_with_time(u32::try_from(second).unwrap_or_default());
        }
        text
    }
}

impl fmt::Display for CertificateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

/// Parses the [`Display`](fmt::Display) text.
impl FromStr for CertificateTime {
    type Err = CertificateTimeParseError;

    fn from_str(text: &str) -> Result<Self, CertificateTimeParseError> {
        parse(text).filter(|time| time.text() == text.as_bytes()).ok_or(CertificateTimeParseError)
    }
}

/// Parses a time; its text may differ.
fn parse(text: &str) -> Option<CertificateTime> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u8>().ok();
    let date = CivilDate { year: text.get(..4)?.parse().ok()?, month: number(5, 7)?, day: number(8, 10)? };
    let [hours, minutes, seconds] = [number(11, 13)?, number(14, 16)?, number(17, 19)?].map(i64::from);
    let second =
        hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60)).saturating_add(seconds);
    CertificateTime::from_seconds(
        date.days_since_epoch().saturating_mul(SECONDS_PER_DAY).saturating_add(second),
    )
}

/// A text that is not a time as [`CertificateTime`] displays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a time such as 2036-11-18T07:43:47Z")]
pub struct CertificateTimeParseError;

/// The date of a day since the Unix epoch, from the year 0.
fn date(day: i64) -> CivilDate {
    /// The calendar repeats after this number of years and days.
    const PERIOD: (u16, u32) = (2000, 730_485);
    match u32::try_from(day) {
        Ok(day) => CivilDate::from_days(day),
        Err(_) => {
            let later = PERIOD.1.saturating_sub(u32::try_from(day.unsigned_abs()).unwrap_or(PERIOD.1));
            let date = CivilDate::from_days(later);
            CivilDate { year: date.year.saturating_sub(PERIOD.0), ..date }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_years_0_to_9999() {
        // Reference: Python's `datetime`, which begins with the year 1.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (-631_152_000, "1950-01-01T00:00:00Z"),
            (2_524_607_999, "2049-12-31T23:59:59Z"),
            (-2_203_891_200, "1900-03-01T00:00:00Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let time = CertificateTime::from_seconds(seconds).unwrap();
            assert_eq!((time.to_string().as_str(), text.parse()), (text, Ok(time)));
        }
        let first = CertificateTime::from_seconds(CertificateTime::FIRST);
        assert_eq!(first.unwrap().to_string(), "0000-01-01T00:00:00Z");
        for outside in [CertificateTime::FIRST - 1, CertificateTime::LAST + 1, i64::MIN, i64::MAX] {
            assert_eq!(CertificateTime::from_seconds(outside), None);
        }
        for text in ["", "2036-11-18", "2036-02-30T07:43:47Z", "2036-11-18T24:00:00Z", "2036-11-18 07:43:47Z"]
        {
            assert_eq!(text.parse::<CertificateTime>(), Err(CertificateTimeParseError), "{text}");
        }
    }
}
