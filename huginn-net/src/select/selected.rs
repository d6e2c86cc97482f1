//! The events that are wanted.

use huginn_net_core::Timestamp;

use super::Selection;
use crate::Event;
use crate::record::EventKind;

/// Selects events by kind, fields and time; all by default.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// Names of the kinds; all if empty.
    pub events: Vec<&'static str>,
    /// The condition on their fields.
    pub condition: Option<Selection>,
    /// The first time.
    pub from: Option<Timestamp>,
    /// The time after the last one.
    pub to: Option<Timestamp>,
}

impl Selected {
    /// Whether an event is wanted, which is written with the capture file and the interface if there are several.
    #[inline]
    pub fn contains(&self, event: &Event, file: Option<&str>, interface: Option<&str>) -> bool {
        (self.events.is_empty() || self.events.contains(&EventKind::of(&event.kind).name()))
            && self.fulfils(event, file, interface)
    }

    /// Whether an event of any kind has wanted fields and a wanted time.
    #[inline]
    pub fn fulfils(&self, event: &Event, file: Option<&str>, interface: Option<&str>) -> bool {
        let Self { events: _, condition, from, to } = self;
        from.is_none_or(|from| event.ts.as_nanos() >= from.as_nanos())
            && to.is_none_or(|to| event.ts.as_nanos() < to.as_nanos())
            && condition.as_ref().is_none_or(|condition| condition.selects(event, file, interface))
    }
}
