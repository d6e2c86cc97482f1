//! The page about formats.

use super::EventFormat;
use super::table::{Form, Place, ROWS};
use crate::record::EVENT_NAMES;

/// The page `docs/formats.md`: the formats, and the table of fields.
pub fn formats_page() -> String {
    let mut page = include_str!("introduction.md").to_owned();
    for (title, field) in [("Fields", true), ("Values that are not fields of ours", false)] {
        page.push_str(&format!("\n## {title}\n\n| events | {} |", if field { "field" } else { "value" }));
        EventFormat::ALL.iter().for_each(|format| page.push_str(&format!(" {} |", format.title())));
        page.push_str("\n|---|---|---|---|---|---|\n");
        for row in ROWS.iter().filter(|row| row.is_field == field) {
            let events: Vec<String> = row.events.iter().map(|name| format!("`{name}`")).collect();
            let events = match events.len() {
                0 => "all".to_owned(),
                // The names of half of all events and more would not help.
                many if many.saturating_mul(2) > EVENT_NAMES.len().saturating_sub(1) => "others".to_owned(),
                _ => events.join(", "),
            };
            let name = if field { format!("`{}`", row.field) } else { row.field.to_owned() };
            page.push_str(&format!("| {events} | {name} |"));
            for (place, format) in row.places.iter().zip(EventFormat::ALL) {
                let cell = match place {
                    Place::Own => format!("`{}.{}`", format.own_object(), row.field),
                    Place::Nowhere => String::new(),
                    Place::At(path, Form::Constant(json) | Form::Companion(json)) => {
                        format!("`{path}`: `{}`", json.trim_matches('"'))
                    }
                    Place::At(path, _) => format!("`{path}`"),
                };
                page.push_str(&format!(" {cell} |"));
            }
            page.push('\n');
        }
    }
    page
}

/// Tests that rows name events and fields that exist.
#[cfg(test)]
#[test]
fn rows_name_events_and_fields() {
    use super::plan::FormatPlan;
    use crate::record::fields_of_event;

    for row in ROWS {
        let events = if row.events.is_empty() { &EVENT_NAMES } else { row.events };
        for event in events {
            let fields = fields_of_event(event).unwrap_or_else(|| panic!("{event}"));
            let name = row.field.split('.').next().unwrap();
            assert!(!row.is_field || fields.iter().any(|field| field.name == name), "{event} {}", row.field);
        }
    }
    assert!(EventFormat::ALL.iter().all(|format| FormatPlan::get(*format).objects.len() < 40));
}
