//! The page about formats.

use super::EventFormat;
use super::table::{Form, GID, Kinds, Place, ROWS};
use crate::alert::AlertKind;

/// The page `docs/formats.md`: the formats, and the table of fields.
#[doc(hidden)]
pub fn formats_page() -> String {
    let mut page = include_str!("introduction.md").to_owned();
    for (title, field) in [("Fields", true), ("Values that are not fields of ours", false)] {
        page.push_str(&format!("\n## {title}\n\n| events | {} |", if field { "field" } else { "value" }));
        EventFormat::ALL.iter().for_each(|format| page.push_str(&format!(" {} |", format.title())));
        page.push_str("\n|---|---|---|---|---|---|\n");
        for row in ROWS.iter().filter(|row| row.is_field == field) {
            let events = match row.events {
                Kinds::Of([]) => "all".to_owned(),
                Kinds::Of(kinds) => {
                    kinds.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                }
                Kinds::Except(_) => "others".to_owned(),
            };
            let name = if field { format!("`{}`", row.field) } else { row.field.to_owned() };
            page.push_str(&format!("| {events} | {name} |"));
            for (place, format) in row.places.iter().zip(EventFormat::ALL.iter().copied()) {
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
    page.push_str("\n## Numbers of alerts\n\n`alert.signature_id` of EVE. A number never changes its kind; `alert.gid` is ");
    page.push_str(&format!(
        "{GID}, so that no rule of Suricata has the same pair.\n\n| number | kind |\n|--:|---|\n"
    ));
    let mut kinds = AlertKind::ALL.to_vec();
    kinds.sort_by_key(|kind| kind.number());
    kinds.iter().for_each(|kind| page.push_str(&format!("| {} | `{}` |\n", kind.number(), kind.name())));
    page
}

/// Tests that rows name events and fields that exist.
#[cfg(test)]
#[test]
fn rows_name_events_and_fields() {
    use super::plan::FormatPlan;
    use crate::record::{EVENT_NAMES, fields_of_event};

    for row in ROWS {
        if let Kinds::Of(kinds) = row.events {
            assert!(kinds.iter().all(|kind| EVENT_NAMES.contains(kind)), "{kinds:?}");
        }
        for event in EVENT_NAMES.iter().filter(|event| row.events.contains(event)) {
            let fields = fields_of_event(event).unwrap_or_else(|| panic!("{event}"));
            let name = row.field.split('.').next().unwrap();
            assert!(!row.is_field || fields.iter().any(|field| field.name == name), "{event} {}", row.field);
        }
    }
    assert!(EventFormat::ALL.iter().all(|format| FormatPlan::get(*format).objects.len() < 40));
}
