//! Spans of time as text.

use std::fmt::{self, Display};

use huginn_net_core::Timestamp;

/// A span of time in milliseconds.
///
/// [`Display`] has its one or two largest units, and rounds down: `250 ms`, `5 s`, `12 min`, `3 h 20 min`, `1 d 2 h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    millis: u64,
}

impl TimeSpan {
    /// No time.
    pub const ZERO: Self = Self { millis: 0 };

    /// A span of seconds.
    pub fn from_secs(seconds: u64) -> Self {
        Self { millis: seconds.saturating_mul(1000) }
    }

    /// The time between two timestamps; zero if the second one is earlier.
    pub fn between(first: Timestamp, last: Timestamp) -> Self {
        Self { millis: last.as_millis().saturating_sub(first.as_millis()) }
    }
}

impl Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.millis / 1000;
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        match (days, hours, minutes, seconds) {
            (0, 0, 0, 0) => write!(f, "{} ms", self.millis),
            (0, 0, 0, _) => write!(f, "{seconds} s"),
            (0, 0, _, _) => write!(f, "{minutes} min"),
            (0, ..) => write!(f, "{hours} h {} min", minutes % 60),
            _ => write!(f, "{days} d {} h", hours % 24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_has_its_largest_units() {
        let rows = [
            (0, "0 ms"),
            (999, "999 ms"),
            (5999, "5 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (12_000_000, "3 h 20 min"),
            (93_600_000, "1 d 2 h"),
        ];
        for (millis, text) in rows {
            assert_eq!(TimeSpan { millis }.to_string(), text);
        }
    }
}
