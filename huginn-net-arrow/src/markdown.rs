//! The schema as a page.

use std::fmt::{self, Write};
use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};

use crate::schema::{ColumnInfo, SCHEMA_VERSION, columns, names};

/// The page `docs/schema.md`: how to use the table, its columns, and queries.
#[doc(hidden)]
pub fn schema_page() -> String {
    let mut page = String::new();
    // Writing to memory does not fail.
    let _ = write_page(&mut page);
    page
}

fn write_page(page: &mut String) -> fmt::Result {
    writeln!(page, "# The table of events\n")?;
    writeln!(
        page,
        "Version {SCHEMA_VERSION} of the schema. `cargo run -p huginn-net-arrow --example schema` writes this page.\n"
    )?;
    page.push_str(include_str!("../schema/introduction.md"));
    writeln!(page, "\n## Columns\n")?;
    writeln!(page, "| column | type | events | meaning |\n|---|---|---|---|")?;
    for column in columns() {
        let ColumnInfo { name, data_type, meaning, .. } = column;
        writeln!(page, "| `{name}` | {} | {} | {meaning} |", type_name(data_type), events(column))?;
    }
    page.push('\n');
    page.push_str(include_str!("../schema/queries.md"));
    Ok(())
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "text".to_owned(),
        DataType::Int32 => "int32".to_owned(),
        DataType::Int64 => "int64".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Boolean => "boolean".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => "timestamp (µs, UTC)".to_owned(),
        DataType::List(element) => format!("list of {}", type_name(element.data_type())),
        DataType::Struct(fields) => {
            let field = |field: &Arc<Field>| format!("{} {}", field.name(), type_name(field.data_type()));
            format!("struct ({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The events with a column, each with the field of its JSON where that has another name.
fn events(column: &ColumnInfo) -> String {
    let all = huginn_net::record::EVENT_NAMES.len();
    let sources = column.sources.iter().map(|(events, path)| {
        let events = if events.len() >= all { "all".to_owned() } else { names(events) };
        if path.is_empty() || *path == column.name { events } else { format!("{events}: `{path}`") }
    });
    sources.collect::<Vec<_>>().join("; ")
}
