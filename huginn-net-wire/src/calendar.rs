//! The proleptic Gregorian calendar.

/// Days from 1 March of the year 0 to 1 January 1970.
const EPOCH: u32 = 719_468;

/// A date in the proleptic Gregorian calendar.
///
/// ```
/// use huginn_net_wire::CivilDate;
///
/// let date = CivilDate { year: 2024, month: 2, day: 29 };
/// assert_eq!(date.days_since_epoch(), 19_782);
/// assert_eq!(CivilDate::from_days(19_782), date);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CivilDate {
    /// The year, from 0.
    pub year: u16,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

impl CivilDate {
    /// The last day that [`from_days`](Self::from_days) supports: 9999-12-31.
    pub const LAST_DAY: u32 = 2_932_896;

    /// Converts days since 1970-01-01 to a date. Later days saturate at [`LAST_DAY`](Self::LAST_DAY).
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        reason = "days end in the year 9999: every step fits, every remainder its type"
    )]
    #[inline]
    pub const fn from_days(days: u32) -> Self {
        // Eras of 400 years that start on 1 March, so that the leap day is the last of its year.
        let shifted = if days < Self::LAST_DAY { days } else { Self::LAST_DAY } + EPOCH;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + (month <= 2) as u32;
        Self { year: year as u16, month: month as u8, day: day as u8 }
    }

    /// Returns the days since 1970-01-01, negative before it. A day beyond the end of its month counts into the next month.
    #[expect(clippy::arithmetic_side_effects, reason = "years have 16 bits, months and days 8")]
    pub const fn days_since_epoch(self) -> i64 {
        // A year begins on 1 March.
        let (year, month) = (self.year as i64, self.month as i64);
        let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        365 * year + leap_days + (153 * month + 2) / 5 + self.day as i64 - 1 - EPOCH as i64
    }

    /// The date and a second of the day as RFC 3339 has them, without a zone: `2024-02-29T23:59:59`.
    #[inline]
    pub fn text_with_time(self, second: u32) -> [u8; 19] {
        let [[y0, y1], [y2, y3]] = [self.year / 100, self.year % 100].map(|half| two_digits(half.into()));
        let [[o0, o1], [d0, d1]] = [self.month, self.day].map(|number| two_digits(number.into()));
        let [[h0, h1], [m0, m1], [s0, s1]] = [second / 3600, second / 60 % 60, second % 60].map(two_digits);
        [y0, y1, y2, y3, b'-', o0, o1, b'-', d0, d1, b'T', h0, h1, b':', m0, m1, b':', s0, s1]
    }
}

/// Returns the two decimal digits of a number below 100.
#[inline]
pub fn two_digits(number: u32) -> [u8; 2] {
    DIGITS.get(number as usize).copied().unwrap_or_default()
}

/// The digits of all numbers below 100: a text has eleven of them, and a table takes less code than divisions.
const DIGITS: [[u8; 2]; 100] = {
    let (mut all, mut tens, mut ones) = ([[0; 2]; 100], 0_u8, 0_u8);
    let mut places: &mut [[u8; 2]] = &mut all;
    while let [place, others @ ..] = places {
        *place = [b'0'.wrapping_add(tens), b'0'.wrapping_add(ones)];
        ones = ones.wrapping_add(1);
        if ones == 10 {
            (tens, ones) = (tens.wrapping_add(1), 0);
        }
        places = others;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        // Reference: `date -u -d '...' +%s`, in days.
        for ((year, month, day), days) in [
            ((1900, 1, 1), -25_567),
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((2100, 3, 1), 47_541),
            ((9999, 12, 31), i64::from(CivilDate::LAST_DAY)),
        ] {
            assert_eq!(CivilDate { year, month, day }.days_since_epoch(), days);
        }
        for day in 0..=CivilDate::LAST_DAY {
            assert_eq!(CivilDate::from_days(day).days_since_epoch(), i64::from(day));
        }
        assert_eq!(CivilDate::from_days(u32::MAX), CivilDate { year: 9999, month: 12, day: 31 });
    }
}
