//! Fields of events as CSV and TSV.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use csv::{QuoteStyle, Writer, WriterBuilder};
use serde_json::Value;

/// The columns: fields of the JSON of events, by their path.
#[derive(Debug)]
pub(super) struct Fields {
    columns: Vec<Column>,
    /// Whether tabs separate columns, instead of commas.
    tabs: bool,
}

#[derive(Debug)]
struct Column {
    /// The path with dots: `client.ip`.
    path: String,
    /// Whether an event had the field.
    is_seen: AtomicBool,
}

impl Fields {
    pub(super) fn new(paths: &[String], tabs: bool) -> Self {
        let column = |path: &String| Column { path: path.clone(), is_seen: AtomicBool::new(false) };
        Self { columns: paths.iter().map(column).collect(), tabs }
    }

    /// Writes the line of headings.
    pub(super) fn write_headings(&self, out: &mut impl Write) -> io::Result<()> {
        let headings = self.columns.iter().map(|column| column.path.clone()).collect();
        self.write_row(out, headings)
    }

    /// Appends the fields of an event, given as JSON. Fields that it does not have are empty.
    pub(super) fn write(&self, json: &[u8], out: &mut impl Write) -> io::Result<()> {
        let event: Value = serde_json::from_slice(json)?;
        let cell = |column: &Column| {
            let value = column.path.split('.').try_fold(&event, |value, part| match value {
                Value::Array(values) => values.get(part.parse::<usize>().ok()?),
                value => value.get(part),
            });
            if value.is_some() && !column.is_seen.load(Ordering::Relaxed) {
                column.is_seen.store(true, Ordering::Relaxed);
            }
            value.map(text).unwrap_or_default()
        };
        self.write_row(out, self.columns.iter().map(cell).collect())
    }

    fn write_row(&self, out: &mut impl Write, mut cells: Vec<String>) -> io::Result<()> {
        let mut builder = WriterBuilder::new();
        builder.buffer_capacity(1 << 10);
        if self.tabs {
            builder.delimiter(b'\t').quote_style(QuoteStyle::Never);
            cells.iter_mut().for_each(escape_tabs);
        }
        let mut writer: Writer<&mut _> = builder.from_writer(out);
        writer.write_record(&cells).map_err(io::Error::from)?;
        writer.flush()
    }

    /// The fields that no event had.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        let unseen = self.columns.iter().filter(|column| !column.is_seen.load(Ordering::Relaxed));
        unseen.map(|column| &*column.path)
    }
}

/// Formats a value: elements of a list with commas, an object as JSON, null as nothing.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

/// Writes tabs and line ends as `\t`, `\n` and `\r`: TSV has no quotation marks.
fn escape_tabs(cell: &mut String) {
    if cell.contains(['\t', '\n', '\r']) {
        *cell = cell.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(paths: &[&str], tabs: bool, json: &str) -> (String, Vec<String>) {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let fields = Fields::new(&paths, tabs);
        let mut out = Vec::new();
        fields.write(json.as_bytes(), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), fields.unknown().map(ToOwned::to_owned).collect())
    }

    #[test]
    fn fields_are_found_by_path() {
        let json =
            r#"{"ts":"T","client":{"ip":"192.0.2.1","port":5},"list":["a","b"],"none":null,"is":true}"#;
        let (line, unknown) =
            row(&["client.port", "list", "list.1", "none", "is", "client", "no.such"], false, json);
        assert_eq!(line, "5,\"a,b\",b,,true,\"{\"\"ip\"\":\"\"192.0.2.1\"\",\"\"port\"\":5}\",\n");
        assert_eq!(unknown, ["no.such"]);
    }

    #[test]
    fn separators_in_values_do_not_split_columns() {
        let json = r#"{"a":"x,\"y\"","b":"1\t2\n3"}"#;
        assert_eq!(row(&["a", "b"], false, json).0, "\"x,\"\"y\"\"\",\"1\t2\n3\"\n");
        assert_eq!(row(&["a", "b"], true, json).0, "x,\"y\"\t1\\t2\\n3\n");
    }
}
