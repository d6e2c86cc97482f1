//! Conditions on events.

use huginn_net::record::EVENT_NAMES;
use huginn_net::select::{SelectionError, SelectionErrorKind};

use super::fields::suggest;
use crate::args::SelectArguments;
use crate::failure::Failure;
use crate::output::Selected;

/// Reads what selects events, of these kinds, or of all if there are none.
pub(super) fn selected(args: &SelectArguments, events: Vec<&'static str>) -> Result<Selected, Failure> {
    let SelectArguments { condition, from, to } = args;
    if let (Some(from), Some(to)) = (from, to)
        && from.as_nanos() >= to.as_nanos()
    {
        return Err(Failure::Usage("--to is not after --from: no time is between them".into()));
    }
    let read = |text: &String| text.parse().map_err(|error| wrong(text, &error));
    Ok(Selected { events, condition: condition.as_ref().map(read).transpose()?, from: *from, to: *to })
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
