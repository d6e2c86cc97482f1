//! Names of clients in the logs of other tools: Suricata's EVE, Zeek's logs, ECS, JSON Lines, CSV.
//!
//! ```
//! use huginn_net::explain::enrich::Enricher;
//! use huginn_net::{ClientDatabase, Database};
//!
//! let signatures = Database::builtin();
//! let mut enricher = Enricher::new(ClientDatabase::builtin(), signatures, None);
//! let line = br#"{"event_type":"tls","tls":{"ja4":"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"}}"#;
//! let mut out = Vec::new();
//! enricher.line(line, &mut out);
//! let out = String::from_utf8(out)?;
//! assert!(out.starts_with(r#"{"event_type":"tls","tls":{"ja4":"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"},"huginn":{"#));
//! assert!(out.contains(r#""name":"libcurl 7.88 and older""#));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod columns;
mod counts;
mod json;
mod names;

use std::io::Write;

use memchr::memmem::Finder;
use serde::de::IgnoredAny;

use self::columns::{Columns, OpenQuote};
use self::counts::Counts;
use self::json::Paths;
use self::names::{LineValues, Names};
use crate::json::write_text;
use crate::{ClientDatabase, Database};

/// Every line with a fingerprint has one of these texts.
const MARKS: [&str; 3] = ["ja4", "ja3", "hassh"];

/// Adds names to lines. Lines without a known fingerprint stay as they are.
pub struct Enricher<'d> {
    names: Names<'d>,
    /// Unless fingerprints are not counted.
    counts: Option<Counts>,
    paths: Paths,
    column: Option<Box<str>>,
    marks: Vec<Finder<'static>>,
    table: Table,
    /// Of the last line of CSV.
    quote: OpenQuote,
    named: u64,
    multiline: u64,
    has_fields: bool,
    has_asked: bool,
}

/// The byte order mark of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The columns of the lines of an input that are not JSON.
#[derive(Debug)]
enum Table {
    Unknown,
    /// Zeek's TSV, with the columns of its header once it was read.
    Zeek {
        separator: u8,
        columns: Option<Columns>,
    },
    /// CSV with these columns.
    Csv(Columns),
    /// No columns that have names.
    Other,
}

impl<'d> Enricher<'d> {
    /// Names by a database. `column`: a field or column with fingerprints, in addition to those of known formats.
    pub fn new(clients: &'d ClientDatabase, signatures: &'d Database, column: Option<&str>) -> Self {
        // The last name of a path: keys of objects have it.
        let last = column.map(|path| path.rsplit('.').next().unwrap_or(path));
        let marks = MARKS.into_iter().chain(last);
        Self {
            names: Names::new(clients, signatures),
            counts: None,
            paths: Paths::new(column),
            column: column.map(Into::into),
            marks: marks.map(|mark| Finder::new(mark).into_owned()).collect(),
            table: Table::Unknown,
            quote: OpenQuote::default(),
            named: 0,
            multiline: 0,
            has_fields: false,
            has_asked: false,
        }
    }

    /// Also adds how many lines so far have the fingerprint, `seen`, and any fingerprint, `lines`: to every line with a
    /// fingerprint, named or not.
    #[must_use]
    pub fn with_counts(mut self) -> Self {
        self.counts = Some(Counts::default());
        self
    }

    /// Begins a second reading of the inputs: counts from here on are those of the first reading.
    pub fn begin_second_reading(&mut self) {
        if let Some(counts) = &mut self.counts {
            counts.complete();
        }
        self.named = 0;
        self.multiline = 0;
    }

    /// Number of lines whose fingerprint got no count, in the second reading if there is one.
    pub fn uncounted(&self) -> u64 {
        self.counts.as_ref().map_or(0, |counts| counts.uncounted)
    }

    /// Begins another input, which has headings of its own.
    pub fn begin_input(&mut self) {
        self.table = Table::Unknown;
        self.quote = OpenQuote::default();
        self.has_fields = false;
        self.has_asked = false;
    }

    /// Number of lines that got a name.
    pub fn named(&self) -> u64 {
        self.named
    }

    /// Number of lines that passed because a quoted value of CSV goes over them.
    pub fn multiline(&self) -> u64 {
        self.multiline
    }

    /// Whether a line of this input has a column or field for fingerprints.
    pub fn has_fields(&self) -> bool {
        self.has_fields
    }

    /// Whether a line of this input has the column that was given to [`new`](Self::new).
    pub fn has_column(&self) -> bool {
        self.has_asked
    }

    /// Appends a line with the name of its client. `line` may end with a line feed.
    pub fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if self.quote.is_open() {
            self.multiline = self.multiline.saturating_add(1);
            return self.pass(line, out);
        }
        self.quote = OpenQuote::default();
        if self.is_json(line) {
            return self.json_line(line, out);
        }
        if self.read_header(line) {
            match &self.table {
                Table::Zeek { columns: Some(columns), .. } | Table::Csv(columns) => {
                    self.has_fields = true;
                    self.has_asked |= columns.has_asked;
                    columns.write_heading(line, out);
                }
                _ => out.extend_from_slice(line),
            }
            return;
        }
        match &self.table {
            Table::Zeek { columns: Some(columns), .. } if line.starts_with(b"#types") => {
                columns.write_types(line, out);
            }
            Table::Zeek { columns: Some(columns), .. } if !line.starts_with(b"#") => {
                self.named = self
                    .named
                    .saturating_add(columns.write(line, &mut self.names, self.counts.as_mut(), out).into());
            }
            Table::Csv(columns) => {
                let mut quote = OpenQuote::default();
                columns.scan(line, &mut quote);
                if quote.is_open() {
                    self.multiline = self.multiline.saturating_add(1);
                    return self.pass(line, out);
                }
                self.named = self
                    .named
                    .saturating_add(columns.write(line, &mut self.names, self.counts.as_mut(), out).into());
            }
            _ => out.extend_from_slice(line),
        }
    }

    /// Appends a part of a line that is too long to be read. The last part ends with the line feed.
    pub fn pass(&mut self, part: &[u8], out: &mut Vec<u8>) {
        if let Table::Csv(columns) = &self.table {
            columns.scan(part, &mut self.quote);
        }
        out.extend_from_slice(part);
    }

    /// Whether a line is an object. Lines of CSV may begin with a brace, too.
    fn is_json(&self, line: &[u8]) -> bool {
        let text = line.strip_prefix(BOM).unwrap_or(line);
        text.trim_ascii_start().starts_with(b"{")
            && (!matches!(self.table, Table::Csv(_)) || serde_json::from_slice::<IgnoredAny>(text).is_ok())
    }

    /// Reads a line of headings. Returns whether it is one.
    fn read_header(&mut self, line: &[u8]) -> bool {
        let text = line.strip_prefix(BOM).unwrap_or(line);
        let (column, has_counts) = (self.column.as_deref(), self.counts.is_some());
        if let Some(separator) = text.strip_prefix(b"#separator ") {
            // Zeek writes the separator as `\x09`.
            let digits = separator.trim_ascii_end().strip_prefix(b"\\x");
            let byte = digits.and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            self.table = byte.map_or(Table::Other, |separator| Table::Zeek { separator, columns: None });
            return false;
        }
        let separator = match &self.table {
            Table::Zeek { separator, .. } => *separator,
            _ => b'\t',
        };
        if let Some(fields) =
            text.strip_prefix(b"#fields").filter(|fields| fields.first() == Some(&separator))
        {
            self.table =
                Table::Zeek { separator, columns: Columns::of_zeek(fields, separator, column, has_counts) };
            return true;
        }
        if !matches!(self.table, Table::Unknown) {
            return false;
        }
        let columns = Columns::of_csv(text, column, has_counts);
        let content = text.trim_ascii();
        if columns.is_none() && (content.is_empty() || content == b"null" || content.starts_with(b"#")) {
            return false;
        }
        let is_header = columns.is_some();
        self.table = columns.or_else(|| Columns::passing(text)).map_or(Table::Other, Table::Csv);
        is_header
    }

    fn json_line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Some((object, end)) = self.split_object(line) else { return out.extend_from_slice(line) };
        let mut values = LineValues::default();
        let is_read = self.paths.read(object.strip_prefix(BOM).unwrap_or(object), &mut values);
        self.has_fields |= values.has_field;
        self.has_asked |= values.has_asked;
        if !is_read {
            return out.extend_from_slice(line);
        }
        let counts = self.counts.as_mut().zip(values.counted());
        let count = counts.and_then(|(counts, fingerprint)| counts.take(fingerprint));
        let found = self.names.find(&values);
        if found.is_none() && count.is_none() {
            return out.extend_from_slice(line);
        }
        self.named = self.named.saturating_add(found.is_some().into());
        out.extend_from_slice(object.get(..object.len().saturating_sub(1)).unwrap_or_default());
        out.extend_from_slice(b",\"huginn\":{");
        if let Some(found) = found {
            out.extend_from_slice(&found.json);
        }
        if let Some(count) = count {
            let comma = if found.is_some() { "," } else { "" };
            // Writing to memory does not fail.
            _ = write!(out, "{comma}\"seen\":{},\"lines\":{}", count.seen, count.lines);
        }
        if let Some(contradiction) = self.names.contradiction(&values) {
            out.extend_from_slice(b",\"contradiction\":");
            write_text(out, &contradiction);
        }
        out.extend_from_slice(b"}}");
        out.extend_from_slice(end);
    }

    /// Splits an object that may have a fingerprint from the space after it.
    fn split_object<'l>(&self, line: &'l [u8]) -> Option<(&'l [u8], &'l [u8])> {
        self.marks.iter().any(|mark| mark.find(line).is_some()).then_some(())?;
        let object = line.trim_ascii_end();
        object.ends_with(b"}").then(|| line.split_at_checked(object.len()))?
    }
}

#[cfg(test)]
mod tests;
