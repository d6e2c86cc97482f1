//! Fields of events as CSV and TSV.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{QuoteStyle, Writer, WriterBuilder};
use huginn_net::record::csv_text;
use serde::Serializer;
use serde_json::Value;

/// The fields of `--fields`, by their path.
#[derive(Debug)]
pub(super) struct Fields {
    /// The paths with dots: `client.ip`.
    paths: Vec<String>,
    /// Columns after them that have the same text in each row.
    own: Vec<(String, String)>,
    /// Whether tabs separate columns, instead of commas.
    tabs: bool,
}

impl Fields {
    /// The fields at these paths, as columns that tabs or commas separate. `own`: names and texts of columns after them.
    pub(super) fn new(paths: Vec<String>, own: Vec<(String, String)>, tabs: bool) -> Self {
        Self { paths, own, tabs }
    }

    /// Whether there are none, which stands for all fields of JSON.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Writes the line of headings.
    pub(super) fn write_headings(&self, out: &mut impl Write) -> io::Result<()> {
        let own = self.own.iter().map(|(name, _)| name);
        self.write_row(out, self.paths.iter().chain(own).cloned().collect())
    }

    /// Appends the fields of an event, given as JSON, as a row. Fields that it does not have are empty.
    pub(super) fn write(&self, json: &[u8], out: &mut impl Write) -> io::Result<()> {
        let event: Value = serde_json::from_slice(json)?;
        let cell = |path: &String| find(&event, path).map(|value| cell(&value)).unwrap_or_default();
        let own = self.own.iter().map(|(_, text)| csv_text(text).into_owned());
        self.write_row(out, self.paths.iter().map(cell).chain(own).collect())
    }

    /// Appends an object with the fields of an event that it has, each with its path as name, in the order of `--fields`.
    pub(super) fn write_json(&self, json: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let event: Value = serde_json::from_slice(json)?;
        let found = self.paths.iter().filter_map(|path| Some((path, find(&event, path)?)));
        serde_json::Serializer::new(&mut *out).collect_map(found)?;
        Ok(())
    }

    fn write_row(&self, out: &mut impl Write, cells: Vec<String>) -> io::Result<()> {
        let mut builder = WriterBuilder::new();
        builder.buffer_capacity(1 << 10);
        if self.tabs {
            builder.delimiter(b'\t').quote_style(QuoteStyle::Never);
        }
        let mut writer: Writer<&mut _> = builder.from_writer(out);
        writer.write_record(&cells).map_err(io::Error::from)?;
        writer.flush()
    }
}

/// Finds a value by its path. A name after a list stands for the values of this name in its elements, null where one has none.
fn find<'a>(value: &'a Value, path: &str) -> Option<Cow<'a, Value>> {
    let (part, rest) = path.split_once('.').map_or((path, None), |(part, rest)| (part, Some(rest)));
    let within = match value {
        Value::Array(values) => match part.parse::<usize>() {
            Ok(number) => values.get(number)?,
            Err(_) => {
                let value = |element| find(element, path).map_or(Value::Null, Cow::into_owned);
                return Some(Cow::Owned(values.iter().map(value).collect()));
            }
        },
        value => value.get(part)?,
    };
    match rest {
        Some(rest) => find(within, rest),
        None => Some(Cow::Borrowed(within)),
    }
}

/// Formats a value as a cell: numbers as they are, texts as [`csv_text`].
fn cell(value: &Value) -> String {
    let text = text(value);
    if is_number(value) {
        return text;
    }
    match csv_text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    }
}

/// Whether the text of a value begins with a number.
fn is_number(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.first().is_some_and(is_number),
        value => value.is_number(),
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

#[cfg(test)]
mod tests {
    use huginn_net::core::Escaped;
    use serde_json::json;

    use super::*;

    fn fields(paths: &[&str], tabs: bool) -> Fields {
        Fields::new(paths.iter().map(ToString::to_string).collect(), Vec::new(), tabs)
    }

    fn row(paths: &[&str], tabs: bool, json: &str) -> String {
        let mut out = Vec::new();
        fields(paths, tabs).write(json.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    const EVENT: &str =
        r#"{"ts":"T","client":{"ip":"192.0.2.1","port":5},"list":["a","b"],"none":null,"is":true}"#;

    #[test]
    fn fields_are_found_by_path() {
        let line = row(&["client.port", "list", "list.1", "none", "is", "client", "no.such"], false, EVENT);
        assert_eq!(line, "5,\"a,b\",b,,true,\"{\"\"ip\"\":\"\"192.0.2.1\"\",\"\"port\"\":5}\",\n");
    }

    #[test]
    fn name_after_a_list_has_the_values_of_its_elements() {
        let json =
            r#"{"list":[{"a":"x","b":["1","2"],"c":7},{"a":"=y","b":[]},{"b":null,"c":-8}],"none":[]}"#;
        let line = row(&["list.a", "list.1.a", "list.b", "list.c", "none.a"], true, json);
        assert_eq!(line, "x,=y,\t'=y\t1,2,,\t7,,-8\t\n");
        let mut out = Vec::new();
        fields(&["list.a", "none.a"], false).write_json(json.as_bytes(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"list.a":["x","=y",null],"none.a":[]}"#);
    }

    /// The program writes the characters of an escape in texts of the wire with an escape of their backslash.
    #[test]
    fn tab_differs_from_its_escape_in_a_text() {
        let texts = [Escaped(b"\t"), Escaped(b"\\t"), Escaped(b"\\x09")];
        let cell = |text: Escaped<'_>| row(&["a"], true, &json!({"a": text.to_string()}).to_string());
        assert_eq!(texts.map(cell), ["\\x09\n", "\\t\n", "\\x5cx09\n"]);
    }

    #[test]
    fn json_has_selected_fields_in_their_order() {
        let mut out = Vec::new();
        fields(&["list.1", "client.port", "no.such", "none", "list"], false)
            .write_json(EVENT.as_bytes(), &mut out)
            .unwrap();
        let want = r#"{"list.1":"b","client.port":5,"none":null,"list":["a","b"]}"#;
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }

    #[test]
    fn separators_in_values_do_not_split_columns() {
        let json = r#"{"a":"x,\"y\"","b":"1\t2\n3"}"#;
        assert_eq!(row(&["a", "b"], false, json), "\"x,\"\"y\"\"\",1\\x092\\x0a3\n");
        assert_eq!(row(&["a", "b"], true, json), "x,\"y\"\t1\\x092\\x0a3\n");
    }

    #[test]
    fn unprintable_characters_are_escaped() {
        let json = r#"{"a":"\u001b[2J\u0007\u0000\u007f\u009b","b":["\u202e","x\r"],"c":"\\x41"}"#;
        let want = [r"\x1b[2J\x07\x00\x7f\xc2\x9b", r"\xe2\x80\xae,x\x0d", r"\x41"];
        assert_eq!(row(&["a", "b", "c"], false, json), format!("{},\"{}\",{}\n", want[0], want[1], want[2]));
        assert_eq!(row(&["a", "b", "c"], true, json), format!("{}\n", want.join("\t")));
    }

    #[test]
    fn formulas_begin_with_apostrophes() {
        for tabs in [false, true] {
            let cell = |value: &str| row(&["a"], tabs, &format!("{{\"a\":{value}}}"));
            for start in ["=", "+", "-", "@", "\u{ff1d}"] {
                let text = format!("{start}cmd|' /C calc'!A0");
                assert_eq!(cell(&format!("\"{text}\"")), format!("'{text}\n"));
                assert_eq!(cell(&format!("[\"{text}\"]")), format!("'{text}\n"));
            }
            for (number, text) in [("-5", "-5\n"), ("-1.5", "-1.5\n"), ("[-7]", "-7\n")] {
                assert_eq!(cell(number), text);
            }
            for start in ["\\t", "\\r", "\\n"] {
                assert!(cell(&format!("\"{start}=1\"")).starts_with('\\'));
            }
        }
    }
}
