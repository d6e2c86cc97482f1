//! Headings where the day or the offset of the zone changes: lines have the time of day only.

use huginn_net::Timestamp;

use crate::output::Zone;
use crate::output::zone::Day;

/// Finds where the day or the offset changes.
pub(crate) struct DayHeadings {
    zone: Zone,
    last: Option<Day>,
}

impl DayHeadings {
    pub(super) fn new(zone: Zone) -> Self {
        Self { zone, last: None }
    }

    /// The heading before a line with this time, with its end of line: if the line before it is of another day. It names both
    /// days, since the lines before the first heading have none.
    pub(crate) fn before(&mut self, ts: Timestamp) -> Option<String> {
        let day = self.zone.day(ts);
        let last = self.last.replace(day)?;
        (last != day).then(|| format!("-- {day}, after {last} --\n"))
    }
}
