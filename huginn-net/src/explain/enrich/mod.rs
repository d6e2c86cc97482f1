//! Names of clients in the logs of other tools: Suricata's EVE, Zeek's logs, ECS, JSON Lines, CSV.
//!
//! ```
//! use huginn_net::explain::enrich::Enricher;
//! use huginn_net::{ClientDatabase, Database};
//!
//! let signatures = Database::builtin();
//! let mut enricher = Enricher::new(ClientDatabase::builtin(), &signatures, None);
//! let line = br#"{"event_type":"tls","tls":{"ja4":"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"}}"#;
//! let mut out = Vec::new();
//! enricher.line(line, &mut out);
//! let out = String::from_utf8(out)?;
//! assert!(out.starts_with(r#"{"event_type":"tls","tls":{"ja4":"t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"},"huginn":{"#));
//! assert!(out.contains(r#""name":"libcurl 7.88""#));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod columns;
mod json;
mod names;

use memchr::memmem::Finder;

use self::columns::Columns;
use self::json::Paths;
use self::names::{Names, Seen};
use crate::json::append;
use crate::{ClientDatabase, Database};

/// Texts of which one is in every line with a fingerprint.
const MARKS: [&str; 3] = ["ja4", "ja3", "hassh"];

/// Adds names to lines. Lines without a known fingerprint stay as they are.
pub struct Enricher<'d> {
    names: Names<'d>,
    paths: Paths,
    column: Option<Box<str>>,
    marks: Vec<Finder<'static>>,
    form: Form,
    named: u64,
}

/// The form of an input, by its first line.
#[derive(Debug)]
enum Form {
    Unknown,
    Json,
    /// Zeek's TSV, with the columns of its header once it was read.
    Zeek {
        separator: u8,
        columns: Option<Columns>,
    },
    /// CSV with these columns.
    Csv(Columns),
    /// No form that has names.
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
            paths: Paths::new(column),
            column: column.map(Into::into),
            marks: marks.map(|mark| Finder::new(mark).into_owned()).collect(),
            form: Form::Unknown,
            named: 0,
        }
    }

    /// Begins another input, whose first line shows its form.
    pub fn begin_input(&mut self) {
        self.form = Form::Unknown;
    }

    /// Number of lines that got a name.
    pub fn named(&self) -> u64 {
        self.named
    }

    /// Appends a line with the name of its client. `line` may end with a line feed.
    pub fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if matches!(self.form, Form::Unknown) {
            self.form = self.find_form(line);
            if let Form::Csv(columns) = &self.form {
                return columns.write_heading(line, out);
            }
        }
        match &mut self.form {
            Form::Json => self.json_line(line, out),
            Form::Zeek { separator, columns } => {
                if let Some(fields) = line.strip_prefix(b"#fields") {
                    *columns = Columns::of_zeek(fields, *separator, self.column.as_deref());
                }
                match columns {
                    Some(columns) if line.starts_with(b"#fields") => columns.write_heading(line, out),
                    Some(columns) if line.starts_with(b"#types") => columns.write_types(line, out),
                    Some(columns) if !line.starts_with(b"#") => {
                        self.named =
                            self.named.saturating_add(columns.write(line, &mut self.names, out).into());
                    }
                    _ => out.extend_from_slice(line),
                }
            }
            Form::Csv(columns) => {
                self.named = self.named.saturating_add(columns.write(line, &mut self.names, out).into());
            }
            Form::Unknown | Form::Other => out.extend_from_slice(line),
        }
    }

    fn find_form(&self, line: &[u8]) -> Form {
        if let Some(separator) = line.strip_prefix(b"#separator ") {
            // Zeek writes the separator as `\x09`.
            let digits = separator.trim_ascii_end().strip_prefix(b"\\x");
            let byte = digits.and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            return byte.map_or(Form::Other, |separator| Form::Zeek { separator, columns: None });
        }
        match line.trim_ascii_start().first() {
            Some(b'{') => Form::Json,
            None => Form::Unknown,
            Some(_) => Columns::of_csv(line, self.column.as_deref()).map_or(Form::Other, Form::Csv),
        }
    }

    fn json_line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Some((object, end)) = self.split_object(line) else { return out.extend_from_slice(line) };
        let mut seen = Seen::default();
        if !self.paths.read(object, &mut seen) {
            return out.extend_from_slice(line);
        }
        let Some(found) = self.names.find(&seen) else { return out.extend_from_slice(line) };
        out.extend_from_slice(object.get(..object.len().saturating_sub(1)).unwrap_or_default());
        out.extend_from_slice(b",\"huginn\":{");
        out.extend_from_slice(&found.json);
        if let Some(contradiction) = self.names.contradiction(&seen) {
            out.extend_from_slice(b",\"contradiction\":");
            append(out, &contradiction);
        }
        out.extend_from_slice(b"}}");
        out.extend_from_slice(end);
        self.named = self.named.saturating_add(1);
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
