//! The time stamps of HTTP.

use std::str::{self, FromStr};

use huginn_net_wire::CivilDate;

/// Reads an HTTP date in its preferred form (RFC 9110, section 5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`, as seconds since
/// 1970.
pub(super) fn parse(date: &[u8]) -> Option<i64> {
    let text = str::from_utf8(date).ok()?;
    let (_weekday, rest) = text.split_once(", ")?;
    let mut parts = rest.split_ascii_whitespace();
    let day: u8 = parts.next().and_then(number)?;
    let month = parts.next().and_then(month)?;
    let year: u16 = parts.next().filter(|year| year.len() == 4).and_then(number)?;
    let mut time = parts.next()?.split(':');
    let mut unit = |max: i64| time.next().and_then(number).filter(|unit| (0..=max).contains(unit));
    let (hour, minute, second) = (unit(23)?, unit(59)?, unit(60)?);
    let is_utc = parts.next() == Some("GMT") && parts.next().is_none() && time.next().is_none();
    if !is_utc || !(1..=31).contains(&day) {
        return None;
    }
    CivilDate { year, month, day }
        .days_since_epoch()
        .checked_mul(24)?
        .checked_add(hour)?
        .checked_mul(60)?
        .checked_add(minute)?
        .checked_mul(60)?
        .checked_add(second)
}

fn month(name: &str) -> Option<u8> {
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (1..).zip(names).find(|(_, known)| name.eq_ignore_ascii_case(known)).map(|(number, _)| number)
}

/// A number of up to four digits.
fn number<T: FromStr>(digits: &str) -> Option<T> {
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_calendar_dates() {
        // Seconds from `date -u -d '...' +%s`.
        let table: &[(&str, Option<i64>)] = &[
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 23:59:60 GMT", Some(951_868_800)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Sun, 31 Dec 2023 23:59:59 GMT", Some(1_704_067_199)),
            ("Mon, 1 Jan 1900 00:00:00 GMT", Some(-2_208_988_800)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 94 08:49:37 GMT", None),
            ("Sun, 00 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37:1 GMT", None),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("0", None),
            ("", None),
        ];
        for (text, seconds) in table {
            assert_eq!(parse(text.as_bytes()), *seconds, "{text}");
        }
    }
}
