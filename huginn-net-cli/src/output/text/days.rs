//! Headings where the day of lines changes: lines have the time of day only.

use huginn_net::Timestamp;

use crate::output::Zone;
use crate::output::zone::Day;

/// Finds where the day changes.
pub(crate) struct DayHeadings {
    zone: Zone,
    last: Option<Day>,
}

impl DayHeadings {
    pub(super) fn new(zone: Zone) -> Self {
        Self { zone, last: None }
    }

    /// The heading before a line with this time, with its end of line: if the line before it is of another day.
    pub(crate) fn before(&mut self, ts: Timestamp) -> Option<String> {
        let day = self.zone.day(ts);
        let last = self.last.replace(day)?;
        (last != day).then(|| {
            let date = self.zone.seconds(ts).to_string();
            let date = date.split(' ').next().unwrap_or_default();
            format!("-- {date} {} --\n", self.zone.name())
        })
    }
}
