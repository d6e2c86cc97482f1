//! Reads a configuration file: TOML without tables, but for those of outputs.

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;
use std::str;

use clap::{Arg, ArgAction};
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;
use crate::read::read_file;

/// Maximum size of a configuration file, in bytes: the example with all options has 8 kB.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The contents of a file, in their order.
pub(super) struct File {
    pub(super) entries: Vec<Entry>,
    /// The tables `[[output]]`.
    pub(super) outputs: Vec<Table>,
}

/// A table `[[output]]`.
pub(super) struct Table {
    /// Line of its header, from 1.
    pub(super) line: usize,
    pub(super) entries: Vec<Entry>,
}

/// A key of a file, and its values.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Line of the key, from 1.
    pub(super) line: usize,
    value: Value,
}

#[derive(Clone)]
enum Value {
    Switch(bool),
    One(String),
    List(Vec<String>),
    /// Not an option: a table, or a list of lists.
    Nested,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<File, Failure> {
    let bytes = read_file(path, MAX_CONFIG_BYTES)?;
    let lines = Lines::of(&bytes);
    let text = str::from_utf8(&bytes).map_err(|error| {
        super::wrong_line(path, lines.number(error.valid_up_to()), "not UTF-8".to_owned())
    })?;
    let table = DeTable::parse(text).map_err(|error| {
        let Range { start, .. } = error.span().unwrap_or_default();
        super::wrong_line(path, lines.number(start), error.message().to_owned())
    })?;
    let table = table.get_ref();
    let outputs = table.get(super::OUTPUT).and_then(|value| tables(value.get_ref()));
    let mut entries = lines.entries(table);
    entries.retain(|entry| outputs.is_none() || entry.key != super::OUTPUT);
    let outputs = outputs
        .into_iter()
        .flatten()
        .map(|(start, table)| Table { line: lines.number(start), entries: lines.entries(table) });
    Ok(File { entries, outputs: outputs.collect() })
}

/// The tables of a list that has nothing else, with the offset of each.
fn tables<'a, 'i>(value: &'a DeValue<'i>) -> Option<Vec<(usize, &'a DeTable<'i>)>> {
    let DeValue::Array(values) = value else { return None };
    let tables: Option<Vec<_>> = values
        .iter()
        .map(|value| match value.get_ref() {
            DeValue::Table(table) => Some((value.span().start, table)),
            _ => None,
        })
        .collect();
    tables.filter(|tables| !tables.is_empty())
}

/// Offsets of the ends of lines.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &[u8]) -> Self {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self(ends.map(|(offset, _)| offset).collect())
    }

    /// The entries of a table, in their order.
    fn entries(&self, table: &DeTable<'_>) -> Vec<Entry> {
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                line: self.number(key.span().start),
                value: Value::new(value.get_ref()),
            })
            .collect();
        entries.sort_by_key(|entry| entry.line);
        entries
    }

    /// The line of a byte, from 1.
    fn number(&self, byte: usize) -> usize {
        self.0.partition_point(|end| *end < byte).saturating_add(1)
    }
}

impl Value {
    fn new(value: &DeValue<'_>) -> Self {
        let one = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Some(text.to_string()),
            // The options read decimal numbers.
            DeValue::Integer(number) => Some(
                i64::from_str_radix(number.as_str(), number.radix())
                    .map_or_else(|_| number.to_string(), |number| number.to_string()),
            ),
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::Datetime(time) => Some(time.to_string()),
            _ => None,
        };
        match value {
            DeValue::Boolean(is_on) => Self::Switch(*is_on),
            DeValue::Array(values) => {
                let values: Option<Vec<String>> = values.iter().map(|value| one(value.get_ref())).collect();
                values.map_or(Self::Nested, Self::List)
            }
            value => one(value).map_or(Self::Nested, Self::One),
        }
    }
}

impl Entry {
    /// Returns this entry as a command line has it, or why it cannot be one.
    pub(super) fn options(&self, argument: &Arg) -> Result<Vec<OsString>, String> {
        let key = &self.key;
        let with = |value: &String| OsString::from(format!("--{key}={value}"));
        let takes_many = matches!(argument.get_action(), ArgAction::Append);
        match (&self.value, argument.get_action()) {
            (Value::Switch(is_on), ArgAction::SetTrue) => {
                Ok(is_on.then(|| OsString::from(format!("--{key}"))).into_iter().collect())
            }
            (_, ArgAction::SetTrue) => Err(format!("'{key}' is true or false")),
            (Value::One(value), _) => Ok(vec![with(value)]),
            (Value::List(values), _) if takes_many => Ok(values.iter().map(with).collect()),
            _ if takes_many => Err(format!("'{key}' is a text, a number or a list of them")),
            _ if key == super::OUTPUT => {
                Err(format!("'{key}' is a text, or there is a table [[{key}]] for each output"))
            }
            _ => Err(format!("'{key}' is a text or a number")),
        }
    }
}
