//! Parses client tables: tab-separated values with a line of column names.

use huginn_net_tls::{Ja3Hash, Ja4, Ja4Raw};
use huginn_net_wire::quoted;
use md5::{Digest, Md5};

use super::browser_fields::HelloField;
use super::error::{ClientTableError, ClientTableFault};

/// The fingerprint of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    /// The stable JA4.
    Tls(Ja4),
    /// The hash of an Akamai fingerprint.
    Http2([u8; 16]),
    /// The hash of a JA3: a second key of a row with a stable JA4.
    Ja3(Ja3Hash),
    /// HASSH.
    Ssh([u8; 16]),
    /// The MD5 of an HTTP/3 fingerprint.
    Http3([u8; 16]),
}

/// The kind of fingerprint that a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tls,
    Http2,
    Ssh,
    Http3,
}

impl Kind {
    fn from_columns(columns: &[usize]) -> Self {
        match columns.iter().min() {
            Some(0) => Self::Tls,
            Some(1) => Self::Http2,
            Some(3) => Self::Http3,
            _ => Self::Ssh,
        }
    }
}

/// One recording of a client.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) key: Key,
    pub(super) ja4: Option<Ja4>,
    pub(super) ja4_stable_r: &'a str,
    pub(super) ja3: Option<Ja3Hash>,
    pub(super) library: &'a str,
    pub(super) library_version: &'a str,
    pub(super) application: &'a str,
    pub(super) application_version: &'a str,
    pub(super) imitates: &'a str,
    /// The fields in which an imitation differs from the browser.
    pub(super) differs: Vec<HelloField>,
    /// Whether the application has TLS settings of its own.
    pub(super) own_settings: bool,
    /// Whether a document says what the client sends; else it was recorded.
    pub(super) is_constructed: bool,
    pub(super) evidence: &'a str,
    pub(super) date: &'a str,
}

/// Columns, in the order of the fields in [`Fields`].
const COLUMNS: [&str; 18] = [
    "ja4_stable",
    "akamai_hash",
    "hassh",
    "http3",
    "akamai",
    "ja4",
    "ja4_stable_r",
    "ja3_hash",
    "library",
    "library_version",
    "application",
    "application_version",
    "imitates",
    "differs",
    "own_settings",
    "source",
    "evidence",
    "date",
];

/// Number of columns that are fingerprints, at the start of [`COLUMNS`].
const KEY_COLUMNS: usize = 4;

/// What is known of the sorted lists of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lists {
    /// They may be those of another fingerprint.
    Unchecked,
    /// They are those of the fingerprints.
    Checked,
}

/// Appends the rows of a table. Returns its kind; `None` for a file without columns.
pub(super) fn parse<'a>(
    text: &'a str,
    lists: Lists,
    rows: &mut Vec<Row<'a>>,
) -> Result<Option<Kind>, ClientTableError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((line, names)) = lines.next() else { return Ok(None) };
    let columns = columns(names).map_err(|fault| ClientTableError { line, fault })?;
    for (line, text) in lines {
        let row = Row::parse(text, &columns, lists).map_err(|fault| ClientTableError { line, fault })?;
        rows.push(row);
    }
    Ok(Some(Kind::from_columns(&columns)))
}

/// The index in [`COLUMNS`] of each column of a table.
fn columns(names: &str) -> Result<Vec<usize>, ClientTableFault> {
    let mut columns = Vec::with_capacity(COLUMNS.len());
    for name in names.split('\t') {
        let Some(column) = COLUMNS.iter().position(|column| *column == name) else {
            return Err(ClientTableFault::UnknownColumn { name: quoted(name) });
        };
        if columns.contains(&column) {
            return Err(ClientTableFault::RepeatedColumn { name: quoted(name) });
        }
        columns.push(column);
    }
    let keys = columns.iter().filter(|column| **column < KEY_COLUMNS).count();
    if keys == 1 { Ok(columns) } else { Err(ClientTableFault::KeyColumn) }
}

impl<'a> Row<'a> {
    fn parse(line: &'a str, columns: &[usize], lists: Lists) -> Result<Self, ClientTableFault> {
        let mut values = [""; COLUMNS.len()];
        let found = line.split('\t').count();
        if found != columns.len() {
            return Err(ClientTableFault::FieldCount { found, columns: columns.len() });
        }
        for (column, value) in columns.iter().zip(line.split('\t')) {
            if let Some(target) = values.get_mut(*column) {
                *target = value;
            }
        }
        let [
            ja4_stable,
            akamai_hash,
            hassh,
            http3,
            _akamai,
            ja4,
            ja4_stable_r,
            ja3,
            library,
            library_version,
            application,
            application_version,
            imitates,
            differs,
            own_settings,
            source,
            evidence,
            date,
        ] = values;
        if application.is_empty() {
            return Err(ClientTableFault::Empty { column: "application" });
        }
        let key = match Kind::from_columns(columns) {
            Kind::Tls => Key::Tls(ja4_stable.parse().map_err(ClientTableFault::Ja4)?),
            Kind::Http2 => Key::Http2(parse_hash(akamai_hash)?),
            Kind::Ssh => Key::Ssh(parse_hash(hassh)?),
            Kind::Http3 if http3.is_empty() => return Err(ClientTableFault::Empty { column: "http3" }),
            Kind::Http3 => Key::Http3(http3_key(http3)),
        };
        let has_lists = lists == Lists::Unchecked && !ja4_stable_r.is_empty();
        if let (Key::Tls(ja4_stable), true) = (key, has_lists) {
            let raw: Ja4Raw = ja4_stable_r.parse().map_err(ClientTableFault::Ja4)?;
            if raw.ja4() != ja4_stable {
                return Err(ClientTableFault::OtherLists { ja4_stable });
            }
        }
        let ja4 = if ja4.is_empty() { None } else { Some(ja4.parse().map_err(ClientTableFault::Ja4)?) };
        let ja3 = if ja3.is_empty() { None } else { Some(Ja3Hash(parse_hash(ja3)?)) };
        Ok(Self {
            key,
            ja4,
            ja4_stable_r,
            ja3,
            library,
            library_version,
            application,
            application_version,
            imitates,
            differs: parse_fields(differs)?,
            own_settings: match own_settings {
                "yes" => true,
                "" => false,
                value => return Err(ClientTableFault::OwnSettings { value: quoted(value) }),
            },
            is_constructed: match source {
                "constructed" => true,
                "" | "recorded" => false,
                value => return Err(ClientTableFault::Source { value: quoted(value) }),
            },
            evidence,
            date,
        })
    }
}

/// Parses names of fields, separated by commas.
fn parse_fields(text: &str) -> Result<Vec<HelloField>, ClientTableFault> {
    let names = text.split(',').filter(|_| !text.is_empty());
    let field =
        |name| HelloField::from_name(name).ok_or_else(|| ClientTableFault::Field { value: quoted(name) });
    names.map(field).collect()
}

/// The key of an HTTP/3 fingerprint: its MD5.
pub(super) fn http3_key(text: &str) -> [u8; 16] {
    Md5::digest(text).into()
}

/// Parses 32 lower-case hexadecimal digits.
pub(super) fn parse_hash(text: &str) -> Result<[u8; 16], ClientTableFault> {
    let invalid = || ClientTableFault::Hash { value: quoted(text) };
    let mut hash = [0; 16];
    if text.len() != 32 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(invalid());
    }
    for (index, target) in hash.iter_mut().enumerate() {
        let start = index.saturating_mul(2);
        let digits = text.get(start..start.saturating_add(2)).ok_or_else(invalid)?;
        *target = u8::from_str_radix(digits, 16).map_err(|_| invalid())?;
    }
    Ok(hash)
}
