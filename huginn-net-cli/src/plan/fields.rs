//! Names of fields.

use huginn_net::record::{EVENT_NAMES, FieldInfo, ValueType, fields_of_event};

use super::refusals;
use crate::args::OutputArguments;
use crate::failure::Failure;
use crate::output::OwnFields;
use crate::similar::most_similar;

/// Maximum number of names that an error suggests.
const MAX_SUGGESTIONS: usize = 3;

/// Least similarity of a suggested name.
pub(super) const MIN_SIMILARITY: f64 = 0.8;

/// The first columns of each table.
const FIRST_COLUMNS: [&str; 6] = ["ts", "event", "client.ip", "client.port", "server.ip", "server.port"];

/// The other columns of CSV and TSV without `--fields`: those that most kinds of events have, and one fingerprint of each kind.
const DEFAULT_COLUMNS: [&str; 8] =
    ["subject", "sig", "label.name", "label.flavor", "user_agent", "sni", "ja4", "hassh"];

/// Those of hits of watch lists.
const MATCH_COLUMNS: [&str; 9] =
    ["subject", "type", "value", "match_label", "list", "line", "matched_event", "packet", "file"];

/// Those of findings.
const FINDING_COLUMNS: [&str; 4] = ["finding", "reason", "packet", "file"];

/// The columns of a table with these kinds of events, if the user names none.
pub(super) fn default_columns(kinds: &[&str]) -> Vec<String> {
    let others: &[&str] = match kinds {
        ["match"] => &MATCH_COLUMNS,
        ["finding"] => &FINDING_COLUMNS,
        _ => &DEFAULT_COLUMNS,
    };
    FIRST_COLUMNS.iter().chain(others).map(|column| (*column).to_owned()).collect()
}

/// Checks that each path is one of an event that is written, and named once.
pub(super) fn check_fields(paths: &[String], written: &[&'static str]) -> Result<(), Failure> {
    if let Some((_, path)) =
        paths.iter().enumerate().find(|(at, path)| paths.iter().take(*at).any(|other| other == *path))
    {
        return Err(Failure::Usage(format!("--fields names '{path}' twice").into()));
    }
    let is_written = |path: &&String| written.iter().any(|event| has_field(event, path));
    let Some(path) = paths.iter().find(|path| !is_written(path)) else { return Ok(()) };
    let events: Vec<&str> = EVENT_NAMES.iter().copied().filter(|event| has_field(event, path)).collect();
    Err(Failure::Usage(match &*events {
        [] => format!("--fields: unknown field '{path}': {}", suggest(path, written)).into(),
        events => {
            let verb = if events.len() == 1 { "has" } else { "have" };
            let events = format!("{} {verb}", events.join(", "));
            refusals::FIELD_NOT_WRITTEN.advice(&[path, &events]).into()
        }
    }))
}

/// Checks that each name is one of a column of tables, or of a field that has columns, and that no other name has the same columns.
#[cfg(feature = "parquet")]
pub(super) fn check_columns(names: &[String], written: &[&'static str]) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for name in names {
        let Some(columns) = columns_of(name) else {
            let suggestion = suggest(name, written);
            return Err(Failure::Usage(
                format!("--fields: unknown column or field '{name}': {suggestion}").into(),
            ));
        };
        if seen.contains(&columns) {
            return Err(Failure::Usage(
                format!("--fields names '{name}' twice, or its column by another name").into(),
            ));
        }
        seen.push(columns);
    }
    Ok(())
}

/// The columns of tables that a name stands for; `None` of an unknown name.
#[cfg(feature = "parquet")]
pub(super) fn columns_of(name: &str) -> Option<huginn_net_arrow::arrow_schema::Fields> {
    let builder = huginn_net_arrow::EventBatchBuilder::new().columns(&[name]).ok()?;
    Some(builder.schema().fields().clone())
}

/// A build without tables fails later.
#[cfg(not(feature = "parquet"))]
pub(super) fn check_columns(_: &[String], _: &[&'static str]) -> Result<(), Failure> {
    Ok(())
}

/// The fields that the user adds to events. No event may have a field of the same name.
pub(super) fn own_fields(output: &OutputArguments) -> Result<OwnFields, Failure> {
    let site = output.site.iter().map(|site| ("site".to_owned(), site.clone()));
    let added = output.add_field.iter().map(|field| (field.name.clone(), field.text.clone()));
    let own = OwnFields { sensor: output.sensor_name.clone(), others: site.chain(added).collect() };
    let mut names = Vec::new();
    for (name, _) in own.iter() {
        if names.contains(&name) {
            return Err(Failure::Usage(format!("--add-field: '{name}' is added twice").into()));
        }
        // Events name their file and interface if there are several, and have their connection and number if these are asked for.
        if ["file", "interface", "connection_id", "seq"].contains(&name)
            || EVENT_NAMES.iter().any(|event| has_field(event, name))
        {
            return Err(Failure::Usage(format!("--add-field: events have a field '{name}' already").into()));
        }
        names.push(name);
    }
    Ok(own)
}

fn has_field(event: &str, path: &str) -> bool {
    fields_of_event(event).is_some_and(|fields| is_known(path, &fields))
}

/// Whether a path names a field, and what it has after it.
fn is_known(path: &str, fields: &[FieldInfo]) -> bool {
    let (name, rest) = split_first(path);
    let mut named = fields.iter().filter(|field| field.name == name);
    named.any(|field| rest.is_none_or(|rest| is_within(rest, field.value_type)))
}

/// Whether a path names a field of an object, an element of a list by its number, or a field of all elements.
fn is_within(path: &str, value_type: ValueType) -> bool {
    let (part, rest) = split_first(path);
    match value_type {
        ValueType::List(element) if part.parse::<usize>().is_ok() => {
            rest.is_none_or(|rest| is_within(rest, *element))
        }
        ValueType::List(element) => is_within(path, *element),
        value_type => is_known(path, value_type.fields()),
    }
}

/// Splits a path after its first part.
fn split_first(path: &str) -> (&str, Option<&str>) {
    path.split_once('.').map_or((path, None), |(part, rest)| (part, Some(rest)))
}

/// Adds the paths of fields and of the fields in them.
fn add_paths(before: &str, fields: &[FieldInfo], paths: &mut Vec<String>) {
    for field in fields {
        let path = format!("{before}{}", field.name);
        if !paths.contains(&path) {
            add_paths(&format!("{path}."), field.value_type.fields(), paths);
            paths.push(path);
        }
    }
}

/// Names the most similar paths of the events that are written.
pub(super) fn suggest(unknown: &str, written: &[&'static str]) -> String {
    let mut known = Vec::new();
    for fields in written.iter().filter_map(|event| fields_of_event(event)) {
        add_paths("", &fields, &mut known);
    }
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let similarity = |path: &String| {
        if last(path) == unknown { 1.0 } else { strsim::jaro_winkler(unknown, path) }
    };
    let similar = most_similar(known.into_iter(), similarity, MIN_SIMILARITY).take(MAX_SUGGESTIONS);
    let names: Vec<String> = similar.map(|path| format!("'{path}'")).collect();
    if names.is_empty() {
        "docs/events.md lists all".to_owned()
    } else {
        format!("did you mean {}?", names.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &str, events: &[&'static str]) -> Option<String> {
        check_fields(&[path.to_owned()], events).err().map(|error| error.to_string())
    }

    #[test]
    fn default_columns_are_fields() {
        for kinds in [EVENT_NAMES, &["match"], &["finding"]] {
            assert!(check_fields(&default_columns(kinds), kinds).is_ok(), "{kinds:?}");
        }
    }

    #[test]
    fn paths_reach_into_objects_and_lists() {
        for path in [
            "ts",
            "client",
            "client.ip",
            "alpn.0",
            "software.nearest.name",
            "software.candidates.12",
            "listed.0.label",
            "listed.label",
            "certificates.names",
            "certificates.0.names.1",
        ] {
            assert_eq!(error(path, EVENT_NAMES), None, "{path}");
        }
        for path in [
            "",
            "client.",
            ".ip",
            "ts.x",
            "client.ip.x",
            "alpn.x",
            "alpn.0.x",
            "ja4.0.0",
            "sni.0",
            "client.0.ip",
        ] {
            assert!(error(path, EVENT_NAMES).is_some(), "{path}");
        }
    }

    #[test]
    fn unknown_field_names_similar_ones() {
        let error = |path| error(path, EVENT_NAMES).unwrap();
        assert_eq!(error("user_agnt"), "--fields: unknown field 'user_agnt': did you mean 'user_agent'?");
        assert!(error("ip").contains("'client.ip' or 'server.ip'"));
        assert_eq!(error("xxxxxxxxxxxx"), "--fields: unknown field 'xxxxxxxxxxxx': docs/events.md lists all");
    }

    #[test]
    fn field_of_other_events_names_them() {
        let message = error("ja4_stable", &["uptime", "tcp_syn"]).unwrap();
        assert!(
            message.starts_with("--fields: no event that is written has the field 'ja4_stable': tls_client"),
            "{message}"
        );
        assert_eq!(error("ja4", &["uptime", "tls_client"]), None);
    }
}
