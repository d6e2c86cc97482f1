//! The events that are wanted.

use std::sync::Arc;

use huginn_net::record::{EVENT_NAMES, event_name};
use huginn_net::select::{Selection, SelectionError, SelectionErrorKind};
use huginn_net::{Event, Timestamp};

use super::fields::suggest;
use crate::args::SelectArguments;
use crate::failure::Failure;

/// Selects events by kind, fields and time; all by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    /// Names of the kinds; all if empty.
    pub(crate) events: Vec<&'static str>,
    condition: Option<Arc<Selection>>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Selected {
    /// Reads the condition.
    pub(crate) fn new(args: &SelectArguments, events: Vec<&'static str>) -> Result<Self, Failure> {
        let SelectArguments { condition, from, to } = args;
        let read = |text: &String| text.parse().map(Arc::new).map_err(|error| wrong(text, &error));
        Ok(Self { events, condition: condition.as_ref().map(read).transpose()?, from: *from, to: *to })
    }

    /// Whether an event is wanted, which is written with the capture file and the interface if there are several.
    #[inline]
    pub(crate) fn contains(&self, event: &Event, file: Option<&str>, interface: Option<&str>) -> bool {
        let Self { events, condition, from, to } = self;
        (events.is_empty() || events.contains(&event_name(&event.kind)))
            && from.is_none_or(|from| event.ts.as_nanos() >= from.as_nanos())
            && to.is_none_or(|to| event.ts.as_nanos() < to.as_nanos())
            && condition.as_ref().is_none_or(|condition| condition.selects(event, file, interface))
    }
}

/// Points at the error of a condition.
fn wrong(text: &str, error: &SelectionError) -> Failure {
    let hint = match &error.kind {
        SelectionErrorKind::UnknownField(path) => format!(": {}", suggest(path, &EVENT_NAMES)),
        _ => String::new(),
    };
    let marker = format!("{}^", " ".repeat(error.position));
    Failure::Usage(format!("--where: {error}{hint}\n  {text}\n  {marker}").into())
}
