//! Reads lists: lines, CSV and JSON Lines.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::str;

use csv::{ReaderBuilder, StringRecord, Trim};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use huginn_net_core::quoted;
use serde_json::{Map, Value as Json};

use super::error::{WatchListError, WatchListFault};
use super::value::{Declared, Key, Kind, Value, recognised, refanged};
use super::{documents, stix};
use crate::limits::{MAX_LIST_LABEL_BYTES, MAX_LIST_PATTERNS};

/// Maximum size of a JSON document, in bytes: parsed, it takes ten times as much memory.
const MAX_LIST_DOCUMENT_BYTES: usize = 64 << 20;

/// Columns with the type of the value in [`VALUE_COLUMNS`].
const TYPE_COLUMNS: [&str; 3] = ["ioc_type", "indicator_type", "type"];

/// Columns with a value whose type another column states.
const VALUE_COLUMNS: [&str; 4] = ["ioc_value", "ioc", "indicator", "value"];

/// Columns with a value of a type that their name states. Of the names in one line the first one with a value counts: `ja3_hash`
/// precedes `ja3`, which some tables use for the text of JA3.
const TYPED_COLUMNS: [&[&str]; 11] = [
    &["ja4", "ja4_fingerprint", "ja4_stable", "ja4_s1", "ja4_r", "fingerprint"],
    &["ja3_hash", "ja3_md5", "ja3", "hash"],
    &["ja3s_hash", "ja3s_md5", "ja3s"],
    &["hassh"],
    &["hassh_server", "hasshserver"],
    &["akamai_hash", "akamai"],
    &["certificate_sha256", "cert_sha256", "certificate_sha1", "cert_sha1", "sha1"],
    &["sig", "raw_sig"],
    &["sni", "host", "hostname", "domain"],
    &["ip", "ip_address", "dst_ip", "dstip", "network", "cidr"],
    &["user_agent"],
];

/// A column that counts where no other has a value: a link that describes the row, or an indicator that packets do not show.
const URL_COLUMN: &str = "url";

/// Columns with the port of an address.
const PORT_COLUMNS: [&str; 3] = ["port", "dst_port", "dstport"];

/// Columns with a label; the first one with a value counts.
const LABEL_COLUMNS: [&str; 14] = [
    "label",
    "application",
    "name",
    "description",
    "listingreason",
    "reason",
    "malware_printable",
    "malware",
    "fk_malware",
    "threat_type",
    "threat",
    "comment",
    "comments",
    "notes",
];

const WATCH_COLUMN: &str = "watch";

/// The first bytes of compressed files, and the programs that decompress them.
const COMPRESSED: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "unzstd"),
    (b"\xfd7zXZ", "unxz"),
    (b"BZh", "bunzip2"),
    (b"PK\x03\x04", "unzip"),
];

/// Addresses that a `hosts` file gives names which it blocks.
const BLOCKED: [&str; 4] = ["0.0.0.0", "127.0.0.1", "::", "::1"];

/// The rows of one list.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    /// Maximum number of rows.
    room: usize,
    pub(super) labels: Labels,
    /// Numbers of labels of the names with others below them.
    pub(super) suffix_labels: u128,
    patterns: usize,
    pub(super) without_value: u64,
    pub(super) foreign: u64,
    pub(super) excluded: u64,
}

/// A row of a list.
pub(super) struct Row {
    pub(super) value: Value,
    /// Index of its label.
    pub(super) label: u32,
    /// Its line, from 1; 0 in documents.
    pub(super) line: u32,
    pub(super) watch: bool,
}

/// The type of a value as a list has it.
pub(super) enum Stated<'a> {
    Declared(Declared),
    /// The name of a type. In an export, unknown ones are other indicators.
    Name {
        name: &'a str,
        is_export: bool,
    },
}

/// Texts of labels by their numbers: lists often have few different ones.
///
/// A million of different ones take 20 MB more than their texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    /// All texts, one after the other.
    text: String,
    /// The end of each text.
    ends: Vec<usize>,
    by_text: HashTable<u32>,
    hasher: RandomState,
}

impl Labels {
    /// The number of a label.
    pub(super) fn number(&mut self, label: &str) -> u32 {
        let Self { text, ends, by_text, hasher } = self;
        let hash = hasher.hash_one(label);
        if let Some(known) = by_text.find(hash, |number| text_of_label(text, ends, *number) == label) {
            return *known;
        }
        let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        text.push_str(label);
        ends.push(text.len());
        by_text.insert_unique(hash, number, |number| hasher.hash_one(text_of_label(text, ends, *number)));
        number
    }

    /// The label with a number; empty if there is none.
    pub(super) fn text(&self, number: u32) -> &str {
        text_of_label(&self.text, &self.ends, number)
    }

    /// Adds labels, and returns their new numbers in the order of the old ones; `None` if these stay.
    pub(super) fn append(&mut self, labels: Self) -> Option<Vec<u32>> {
        if self.ends.is_empty() {
            *self = labels;
            return None;
        }
        let count = u32::try_from(labels.ends.len()).unwrap_or(u32::MAX);
        Some((0..count).map(|number| self.number(labels.text(number))).collect())
    }
}

fn text_of_label<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
    ends.get(number).and_then(|end| text.get(start..*end)).unwrap_or_default()
}

impl Rows {
    pub(super) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Reads a list in any format, of at most `room` rows.
    pub(super) fn read(text: &[u8], room: usize) -> Result<Self, WatchListError> {
        if let Some((_, tool)) = COMPRESSED.iter().find(|(start, _)| text.starts_with(start)) {
            return Err(WatchListFault::Compressed { tool }.at(1));
        }
        let text = str::from_utf8(text).map_err(|error| {
            let valid = text.get(..error.valid_up_to()).unwrap_or_default();
            WatchListFault::NotUtf8.at(line_breaks(valid).saturating_add(1))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rows = Self { room, ..Self::default() };
        match content(text).next() {
            Some((_, line)) if line.starts_with('{') && is_row(line) => rows.read_json_lines(text)?,
            Some((_, line)) if line.starts_with(['{', '[']) => rows.read_document(text)?,
            Some((_, line)) if is_plain(line) => rows.read_lines(text)?,
            Some(_) => rows.read_csv(text)?,
            None => {}
        }
        Ok(rows)
    }

    /// Reads a value in each line, or a line of a `hosts` file. A label may follow `#` or `;`.
    fn read_lines(&mut self, text: &str) -> Result<(), WatchListError> {
        for (number, line) in content(text) {
            let (values, label) = split_remark(line);
            let mut words = values.split_whitespace();
            let (first, second) = (words.next().unwrap_or_default(), words.next());
            let add = |rows: &mut Self, value: &str| {
                rows.push(&Stated::Declared(Declared::Any), value, None, label, "", number)
            };
            let added = match second {
                None => add(self, first),
                Some(_) if BLOCKED.contains(&first) => {
                    values.split_whitespace().skip(1).try_for_each(|name| {
                        if name.contains('.') && !BLOCKED.contains(&name) {
                            return add(self, name);
                        }
                        // Names of the machine itself, such as localhost.
                        self.excluded = self.excluded.saturating_add(1);
                        Ok(())
                    })
                }
                Some(_) => Err(WatchListFault::Unknown { value: quoted(values) }),
            };
            added.map_err(|fault| fault.at(number))?;
        }
        Ok(())
    }

    fn read_csv(&mut self, text: &str) -> Result<(), WatchListError> {
        // Some exports have a space after each comma, and quotation marks after it. Lines stay lines.
        let joined = content(text)
            .next()
            .filter(|(_, line)| line.contains("\", \""))
            .map(|_| text.replace("\", \"", "\",\""));
        let text = joined.as_deref().unwrap_or(text);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .delimiter(delimiter(text))
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        let mut columns: Option<Columns> = None;
        let mut lines = LineCounter { text, byte: 0, line: 1 };
        let mut record = StringRecord::new();
        let mut last = 0_u64;
        loop {
            let start = reader.position().byte();
            // The line is only needed for errors.
            let line = || line_of_record(text, start);
            match reader.read_record(&mut record) {
                Ok(true) => {}
                // The reader takes the end of the text for the end of a quoted field.
                Ok(false) if has_open_quote(split_at(text, start).0, last) => {
                    return Err(WatchListFault::UnclosedQuote.at(line_of_record(text, last)));
                }
                Ok(false) => return Ok(()),
                Err(error) => {
                    return Err(WatchListFault::Csv { reason: error.to_string().into() }.at(line()));
                }
            }
            last = start;
            let first = record.get(0).unwrap_or_default();
            if first.starts_with('#') || record.iter().all(str::is_empty) {
                continue;
            }
            let columns = match &columns {
                Some(columns) => columns,
                None => {
                    let (known, is_header) = Columns::of_first_row(&record, text);
                    let known = columns.insert(known);
                    if is_header {
                        if known.labels.is_empty() && known.values.is_empty() && known.stated.is_none() {
                            return Err(WatchListFault::NoLabel.at(line()));
                        }
                        continue;
                    }
                    known
                }
            };
            let number = lines.line_at(start);
            self.push_record(columns, &record, number).map_err(|fault| fault.at(line()))?;
        }
    }

    fn push_record(
        &mut self,
        columns: &Columns,
        record: &StringRecord,
        line: usize,
    ) -> Result<(), WatchListFault> {
        let value = |column: usize| record.get(column);
        let stated = columns.stated.map(|(kind, column)| {
            let stated = match value(kind).filter(|name| !name.is_empty()) {
                Some(name) => Stated::Name { name, is_export: columns.is_export },
                None => Stated::Declared(Declared::Any),
            };
            (stated, value(column).unwrap_or_default())
        });
        let mut found: Vec<(Stated<'_>, &str)> =
            stated.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        if found.is_empty() {
            found.extend(columns.values.iter().filter_map(|group| {
                let mut values =
                    group.iter().map(|(declared, column)| (declared, value(*column).unwrap_or_default()));
                let (declared, value) = values.find(|(_, value)| !value.is_empty())?;
                Some((Stated::Declared(*declared), value))
            }));
        }
        if found.is_empty() {
            let url = columns.url.and_then(value).filter(|url| !url.is_empty());
            found.extend(url.map(|url| (Stated::Declared(Declared::Url), url)));
        }
        let label = columns.labels.iter().filter_map(|column| value(*column)).find(|label| !label.is_empty());
        let port = columns.port.and_then(value);
        let watch = columns.watch.and_then(value).unwrap_or_default();
        self.push_values(&found, port, label.unwrap_or_default(), watch, line)
    }

    fn read_json_lines(&mut self, text: &str) -> Result<(), WatchListError> {
        for (number, line) in content(text) {
            let object: Map<String, Json> = serde_json::from_str(line)
                .map_err(|error| WatchListFault::Json { column: error.column() }.at(number))?;
            match self.push_object(&object, number) {
                Ok(true) => {}
                Ok(false) => return Err(WatchListFault::NoValue.at(number)),
                Err(fault) => return Err(fault.at(number)),
            }
        }
        Ok(())
    }

    /// Adds an object with the fields of a row. Returns whether it has any.
    pub(super) fn push_object(
        &mut self,
        object: &Map<String, Json>,
        line: usize,
    ) -> Result<bool, WatchListFault> {
        let fields: BTreeMap<String, String> =
            object.iter().map(|(name, value)| (name.to_ascii_lowercase(), text_of(value))).collect();
        let field = |name: &str| fields.get(name).map(|text| text.trim());
        let first = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, field(name)?)));
        let full = |names: &[&'static str]| {
            names.iter().find_map(|name| Some((*name, field(name).filter(|text| !text.is_empty())?)))
        };
        let (kind, value) = (full(&TYPE_COLUMNS), first(&VALUE_COLUMNS));
        let is_typed = || TYPED_COLUMNS.iter().any(|names| first(names).is_some());
        let has_url = field(URL_COLUMN).is_some();
        if value.is_none() && !is_typed() && !has_url {
            return Ok(false);
        }
        // A URL describes what contains it.
        let is_container = || object.values().any(|value| value.is_array() || value.is_object());
        if value.is_none() && !is_typed() && is_container() {
            return Ok(false);
        }
        let stated = value.filter(|(_, value)| !value.is_empty()).map(|(_, value)| match kind {
            Some((column, name)) => (Stated::Name { name, is_export: is_export(column) }, value),
            None => (Stated::Declared(Declared::Any), value),
        });
        let mut found: Vec<(Stated<'_>, &str)> = stated.into_iter().collect();
        if found.is_empty() {
            let named = TYPED_COLUMNS.into_iter().filter_map(&full);
            let named = named.map(|(name, value)| (Stated::Declared(declared_by(name)), value));
            // An object of a document describes one indicator.
            found.extend(named.take(if line == 0 { 1 } else { usize::MAX }));
            if let Some((_, value)) = full(&[URL_COLUMN]).filter(|_| found.is_empty()) {
                found.push((Stated::Declared(Declared::Url), value));
            }
        }
        let label = full(&LABEL_COLUMNS).map_or("", |(_, label)| label);
        let port = first(&PORT_COLUMNS).map(|(_, port)| port);
        self.push_values(&found, port, label, field(WATCH_COLUMN).unwrap_or_default(), line)?;
        Ok(true)
    }

    /// Adds the values of a row, each with its label.
    fn push_values(
        &mut self,
        values: &[(Stated<'_>, &str)],
        port: Option<&str>,
        label: &str,
        watch: &str,
        line: usize,
    ) -> Result<(), WatchListFault> {
        if values.is_empty() {
            self.without_value = self.without_value.saturating_add(1);
        }
        values.iter().try_for_each(|(stated, value)| self.push(stated, value, port, label, watch, line))
    }

    fn read_document(&mut self, text: &str) -> Result<(), WatchListError> {
        if text.len() > MAX_LIST_DOCUMENT_BYTES {
            return Err(WatchListFault::LongDocument { mebibytes: text.len() >> 20 }.at(1));
        }
        // A line of JSON Lines, or a document that is cut off.
        let document: Json = serde_json::from_str(text.trim_end())
            .map_err(|error| WatchListFault::Json { column: error.column() }.at(error.line().max(1)))?;
        let has_any = if stix::is_bundle(&document) {
            stix::read(self, &document)
        } else {
            documents::read(self, &document)
        };
        match has_any {
            Ok(true) => Ok(()),
            Ok(false) => Err(WatchListFault::NoIndicators.at(1)),
            Err(fault) => Err(fault.at(1)),
        }
    }

    /// Adds a value.
    pub(super) fn push(
        &mut self,
        stated: &Stated<'_>,
        value: &str,
        port: Option<&str>,
        label: &str,
        watch: &str,
        line: usize,
    ) -> Result<(), WatchListFault> {
        if label.len() > MAX_LIST_LABEL_BYTES {
            return Err(WatchListFault::LongLabel { bytes: label.len() });
        }
        let declared = match stated {
            Stated::Declared(declared) => *declared,
            Stated::Name { name, is_export } => match Declared::from_name(name) {
                Some(declared) => declared,
                None if recognised(name).is_some() => {
                    return Err(WatchListFault::Swapped { value: quoted(name) });
                }
                None if *is_export => {
                    self.foreign = self.foreign.saturating_add(1);
                    return Ok(());
                }
                None => return Err(WatchListFault::Type { name: quoted(name) }),
            },
        };
        let defanged = declared.is_defanged(value).then(|| refanged(value));
        let value = defanged.as_deref().unwrap_or(value);
        if declared == Declared::Url || declared == Declared::Any && value.contains("://") {
            self.foreign = self.foreign.saturating_add(1);
            return Ok(());
        }
        let port = port.filter(|port| !port.is_empty()).and_then(|port| port.parse().ok());
        let found = Value::parse(declared, value, port)?;
        let watch = watch_mark(watch)?;
        if let Some(kind) = found.indicator_type().filter(|kind| !watch && !kind.has_labels()) {
            return Err(WatchListFault::NoEffect { name: kind.name() });
        }
        match &found {
            Value::Key(Key { kind: Kind::Suffix | Kind::Below, .. }) => {
                let name = value.trim_start_matches(['*', '.']).trim_end_matches('.');
                let labels = u32::try_from(name.split('.').count()).unwrap_or(u32::MAX);
                self.suffix_labels |= 1_u128.checked_shl(labels).unwrap_or_default();
            }
            Value::Pattern(_) if self.patterns >= MAX_LIST_PATTERNS => {
                return Err(WatchListFault::ManyPatterns);
            }
            Value::Pattern(_) => self.patterns = self.patterns.saturating_add(1),
            Value::Key(_) => {}
        }
        if self.rows.len() >= self.room {
            return Err(WatchListFault::ManyEntries);
        }
        let label = self.labels.number(label);
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        self.rows.push(Row { value: found, label, line, watch });
        Ok(())
    }
}

/// Whether the unknown types of a column are other indicators: `type` is that of lists for this program.
fn is_export(column: &str) -> bool {
    column != "type"
}

/// The type that the name of a column states.
fn declared_by(column: &str) -> Declared {
    match column {
        "sha1" => Declared::from_name("certificate_sha1"),
        name => Declared::from_name(name),
    }
    .unwrap_or(Declared::Any)
}

/// Whether a line is an object of JSON Lines.
fn is_row(line: &str) -> bool {
    let Ok(object) = serde_json::from_str::<Map<String, Json>>(line) else {
        // A broken first line of JSON Lines, unless the document goes on.
        return line.len() > 1 && line.ends_with('}');
    };
    let has = |wanted: &str| object.keys().any(|name| name.eq_ignore_ascii_case(wanted));
    value_columns().any(has) || object.values().all(|value| !value.is_object() && !value.is_array())
}

/// Whether the first line is a value, or one of a `hosts` file.
fn is_plain(line: &str) -> bool {
    let (values, _) = split_remark(line);
    let mut words = values.split_whitespace();
    match (words.next(), words.next()) {
        (Some(value), None) => recognised(value).is_some(),
        (Some(address), Some(_)) => BLOCKED.contains(&address) && !values.contains(','),
        _ => false,
    }
}

/// Splits a line at a remark, which follows white space and `#` or `;`.
fn split_remark(line: &str) -> (&str, &str) {
    let at = [" #", " ;", "\t#", "\t;"].iter().filter_map(|start| line.find(start)).min();
    match at.and_then(|at| line.split_at_checked(at)) {
        Some((values, remark)) => (values.trim_end(), remark.trim_matches([' ', '\t', '#', ';'])),
        None => (line, ""),
    }
}

/// The text of a value of JSON; a row has no objects and lists.
fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(_) | Json::Bool(_) => value.to_string(),
        Json::Null | Json::Array(_) | Json::Object(_) => String::new(),
    }
}

fn watch_mark(text: &str) -> Result<bool, WatchListFault> {
    let is_one_of = |values: &[&str]| values.iter().any(|value| text.eq_ignore_ascii_case(value));
    if is_one_of(&["", "true", "1", "yes"]) {
        return Ok(true);
    }
    let is_off = is_one_of(&["false", "0", "no"]);
    if is_off { Ok(false) } else { Err(WatchListFault::Watch { value: quoted(text) }) }
}

/// All columns with a value.
fn value_columns() -> impl Iterator<Item = &'static str> {
    VALUE_COLUMNS.into_iter().chain(TYPED_COLUMNS.into_iter().flatten().copied()).chain([URL_COLUMN])
}

/// Indices of the columns of CSV, in the order of precedence.
#[derive(Default)]
struct Columns {
    /// The columns of a type and its value.
    stated: Option<(usize, usize)>,
    /// Whether unknown types are other indicators.
    is_export: bool,
    /// In each group the first column with a value counts.
    values: Vec<Vec<(Declared, usize)>>,
    url: Option<usize>,
    port: Option<usize>,
    labels: Vec<usize>,
    watch: Option<usize>,
}

impl Columns {
    /// The columns of a table by its first row, and whether that is its header.
    fn of_first_row(record: &StringRecord, text: &str) -> (Self, bool) {
        let first = record.get(0).unwrap_or_default();
        // A value or a type may be the name of a column, too.
        let is_row = recognised(first).is_some();
        if let Some(header) = Self::from_names(record.iter()).filter(|_| !is_row) {
            return (header, true);
        }
        if let Some(header) = commented_header(text) {
            return (header, false);
        }
        let has_type = !is_row && record.len() > 1 && Declared::from_name(first).is_some();
        let columns = match has_type {
            true => Self { stated: Some((0, 1)), labels: vec![2], ..Self::default() },
            false => Self { values: vec![vec![(Declared::Any, 0)]], labels: vec![1], ..Self::default() },
        };
        (columns, false)
    }

    /// Returns the columns of a header; `None` if no name is that of a value. The names of rows of `type,value` are types.
    fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let names: Vec<&str> = names.collect();
        let index = |wanted: &&'static str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let indices = |wanted: &[&'static str]| wanted.iter().filter_map(index).collect::<Vec<usize>>();
        let kind = TYPE_COLUMNS.iter().find_map(|name| Some((*name, index(name)?)));
        let value = VALUE_COLUMNS.iter().find_map(index);
        let groups = TYPED_COLUMNS.into_iter().map(|names| {
            names.iter().filter_map(|name| Some((declared_by(name), index(name)?))).collect::<Vec<_>>()
        });
        let mut values: Vec<Vec<(Declared, usize)>> = groups.filter(|group| !group.is_empty()).collect();
        let stated = kind.zip(value).map(|((_, kind), value)| (kind, value));
        if let Some(value) = value.filter(|_| stated.is_none()) {
            values = vec![std::iter::once((Declared::Any, value)).chain(values.concat()).collect()];
        }
        let url = index(&URL_COLUMN);
        let labels = indices(&LABEL_COLUMNS);
        let (port, watch) = (PORT_COLUMNS.iter().find_map(index), index(&WATCH_COLUMN));
        // A row such as `ip,192.0.2.1,loader` begins with a type, and has no other name of a column.
        let columns = values.iter().flatten().count().saturating_add(usize::from(url.is_some()));
        let has_other = columns > 1 || !labels.is_empty() || port.is_some() || watch.is_some();
        let is_header = stated.is_some()
            || value.is_some()
            || (!values.is_empty() || url.is_some()) && (names.len() == 1 || has_other);
        is_header.then(|| Self {
            stated,
            is_export: kind.is_some_and(|(name, _)| is_export(name)),
            values,
            url,
            port,
            labels,
            watch,
        })
    }
}

/// The separator of a table by its first row: a comma, or a semicolon or tab if the row has no comma and begins with a known name or
/// value.
fn delimiter(text: &str) -> u8 {
    let Some((_, line)) = content(text).next().filter(|(_, line)| !line.contains(',')) else { return b',' };
    let begins = |separator: &u8| {
        let mut names = line.split(char::from(*separator)).map(|name| name.trim().trim_matches('"'));
        let first = names.clone().next().unwrap_or_default();
        names.clone().count() > 1
            && (Declared::from_name(first).is_some()
                || recognised(first).is_some()
                || names.any(|name| {
                    let mut known = TYPE_COLUMNS.into_iter().chain(value_columns());
                    known.any(|known| name.eq_ignore_ascii_case(known))
                }))
    };
    [b';', b'\t'].into_iter().find(begins).unwrap_or(b',')
}

/// The last comment before the first row that names a value and another column, as the lists of abuse.ch have it.
fn commented_header(text: &str) -> Option<Columns> {
    let lines = text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with('#'));
    lines
        .filter_map(|line| {
            let names: Vec<&str> = line
                .trim_matches(['#', ' ', '\t'])
                .split(',')
                .map(|name| name.trim().trim_matches('"'))
                .collect();
            Columns::from_names(names.iter().copied()).filter(|_| names.len() > 1)
        })
        .last()
}

/// The lines that are neither empty nor comments, trimmed, with their numbers from 1.
fn content(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn line_breaks(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// Counts lines up to the records of a table, each line once.
struct LineCounter<'a> {
    text: &'a str,
    byte: usize,
    line: usize,
}

impl LineCounter<'_> {
    /// The line of a record whose read started at a byte, which is not before that of the last call.
    fn line_at(&mut self, start: u64) -> usize {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let between = self.text.as_bytes().get(self.byte..start).unwrap_or_default();
        self.line = self.line.saturating_add(line_breaks(between));
        self.byte = start.max(self.byte);
        let rest = self.text.get(self.byte..).unwrap_or_default();
        let skipped = content(rest).next().map_or(0, |(number, _)| number.saturating_sub(1));
        self.line.saturating_add(skipped)
    }
}

/// The line of a record whose read started at a byte: empty lines and comments may precede it.
fn line_of_record(text: &str, start: u64) -> usize {
    let (before, rest) = split_at(text, start);
    let first = content(rest).next().map_or(1, |(number, _)| number);
    line_breaks(before.as_bytes()).saturating_add(first)
}

/// Whether the last record, whose read started at a byte, opens a quoted field and does not close it.
fn has_open_quote(text: &str, start: u64) -> bool {
    let (_, rest) = split_at(text, start);
    let Some((number, _)) = content(rest).next() else { return false };
    let mut lines = rest.split_inclusive('\n').skip(number.saturating_sub(1)).peekable();
    let opens = lines.peek().is_some_and(|line| line.starts_with('"') || line.contains(",\""));
    let quotes = lines.map(|line| memchr::memchr_iter(b'"', line.as_bytes()).count());
    opens && quotes.fold(0_usize, usize::wrapping_add) % 2 == 1
}

fn split_at(text: &str, byte: u64) -> (&str, &str) {
    usize::try_from(byte).ok().and_then(|byte| text.split_at_checked(byte)).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_beyond_the_room_are_an_error() {
        let list = b"a.example\nb.example\n";
        assert_eq!(Rows::read(list, 2).map(|rows| rows.len()), Ok(2));
        let error = Rows::read(list, 1).map(|rows| rows.len()).unwrap_err();
        assert_eq!(error, WatchListFault::ManyEntries.at(2));
    }

    #[test]
    fn equal_labels_are_stored_once() {
        let labels = |texts: &[&str]| {
            let mut labels = Labels::default();
            let numbers: Vec<u32> = texts.iter().map(|text| labels.number(text)).collect();
            (labels, numbers)
        };
        let (mut first, numbers) = labels(&["a", "", "bc", "a", ""]);
        assert_eq!(numbers, [0, 1, 2, 0, 1]);
        let (second, numbers) = labels(&["d", "bc"]);
        assert_eq!(numbers, [0, 1]);
        assert_eq!(first.append(second), Some(vec![3, 2]));
        assert_eq!([0, 1, 2, 3, 4].map(|number| first.text(number).to_owned()), ["a", "", "bc", "d", ""]);
        assert_eq!((first.text.len(), first.ends.len()), (4, 4));
        assert_eq!(Labels::default().append(first), None);
    }
}
