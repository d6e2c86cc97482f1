//! Lists of fingerprints with labels, in the formats of public lists.

use std::collections::BTreeMap;
use std::str;

use csv::{ReaderBuilder, StringRecord, Trim};
use huginn_net_core::quoted;
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{ClientHello, Ja4};
use serde_json::{Map, Value};

use crate::limits::MAX_LIST_LABEL_BYTES;

/// Columns with a fingerprint; the first one with a value counts. `ja3_hash` precedes `ja3`, which some tables use for the
/// text of JA3.
const FINGERPRINT_COLUMNS: [&str; 15] = [
    "ja4",
    "ja4_fingerprint",
    "ja4_stable",
    "fingerprint",
    "ja3_hash",
    "ja3_md5",
    "ja3",
    "hash",
    "ja3s_hash",
    "ja3s",
    "hassh",
    "hassh_server",
    "hasshserver",
    "akamai_hash",
    "akamai",
];

/// Columns with a label; the first one with a value counts.
const LABEL_COLUMNS: [&str; 7] =
    ["label", "application", "name", "description", "listingreason", "reason", "malware"];

const WATCH_COLUMN: &str = "watch";

/// Labels of TLS, SSH and HTTP/2 fingerprints: JA4, stable JA4, JA3, JA3S, HASSH, HASSHServer, and Akamai.
///
/// JA3, JA3S, HASSH and HASSHServer are MD5 hashes. An Akamai fingerprint is its text or its MD5. A hash matches every kind.
///
/// A list is text in one of two formats; if the first byte after comments is `{`, it is JSON Lines, otherwise CSV (RFC
/// 4180). Names of columns and fields are case-insensitive:
///
/// | value | columns |
/// |---|---|
/// | fingerprint | `ja4`, `ja4_fingerprint`, `ja4_stable`, `fingerprint`, `ja3_hash`, `ja3_md5`, `ja3`, `hash`, `ja3s_hash`, `ja3s`, `hassh`, `hassh_server`, `hasshserver`, `akamai_hash`, `akamai` |
/// | label | `label`, `application`, `name`, `description`, `listingreason`, `reason`, `malware` |
/// | watch mark | `watch`: `true`, `1` or `yes`; `false`, `0`, `no` or empty |
///
/// The text of an Akamai fingerprint has commas, so it needs quotation marks in CSV. Without a header, the first column of CSV is the fingerprint and the second one the label. Lines that start with `#`
/// are comments. A comment before the first row may be the header.
///
/// ```
/// use huginn_net::fingerprint_list::FingerprintList;
/// use huginn_net::tls::ClientHello;
///
/// let mut list = FingerprintList::default();
/// list.add(b"ja3_md5,listingreason,watch\n0149f47eabf9a20d0893e2a44e5a6323,curl,yes\n")?;
///
/// # let bytes = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
/// let hello = ClientHello::from_records(bytes)?.expect("a complete hello").value;
/// let entries = list.lookup_hello(&hello);
/// assert_eq!(entries[0].label(), "curl");
/// assert!(entries[0].is_watched());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FingerprintList {
    entries: Vec<ListEntry>,
    /// Fingerprints, each with the index of its entry; sorted.
    index: Vec<(Fingerprint, usize)>,
    rows_without_fingerprint: u64,
}

/// A label of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ListEntry {
    label: Box<str>,
    watch: bool,
}

impl ListEntry {
    /// The label as the list has it, which may be empty or contain control characters.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the list marks the fingerprint as watched.
    pub fn is_watched(&self) -> bool {
        self.watch
    }
}

/// A fingerprint of a list. JA4 and stable JA4 have the same form. Text sorts before hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fingerprint {
    Ja4(Ja4),
    Md5([u8; 16]),
}

/// Why a list is rejected. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
#[non_exhaustive]
pub struct FingerprintListError {
    /// The line.
    pub line: usize,
    /// The fault.
    #[source]
    pub fault: FingerprintListFault,
}

/// A fault in a line of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintListFault {
    /// A value that is not a fingerprint.
    #[error(
        "'{value}' is not a JA4, a stable JA4, an Akamai fingerprint or an MD5 of 32 hexadecimal digits (JA3, JA3S, HASSH, Akamai)"
    )]
    Fingerprint {
        /// The value, shortened and with control characters escaped.
        value: Box<str>,
    },
    /// An object without a fingerprint.
    #[error("no fingerprint: expected one of the fields {}", FINGERPRINT_COLUMNS.join(", "))]
    NoFingerprint,
    /// A header, row or object without a label.
    #[error("no label: expected a second column, or one of the names {}", LABEL_COLUMNS.join(", "))]
    NoLabel,
    /// A label that is too long; often the end of a quoted field is missing.
    #[error(
        "a label of {bytes} bytes: at most {MAX_LIST_LABEL_BYTES} are allowed; is a quotation mark missing?"
    )]
    LongLabel {
        /// Its length, in bytes.
        bytes: usize,
    },
    /// An invalid watch mark.
    #[error("watch: '{value}' is not one of true, 1, yes, false, 0 and no")]
    Watch {
        /// The value, shortened and with control characters escaped.
        value: Box<str>,
    },
    /// A quoted field without an end.
    #[error("the quoted field has no end")]
    UnclosedQuote,
    /// Invalid CSV.
    #[error("invalid CSV: {reason}")]
    Csv {
        /// The reason.
        reason: Box<str>,
    },
    /// Invalid JSON, or JSON that is not an object.
    #[error("not a JSON object (column {column})")]
    Json {
        /// The column of the fault, in bytes from 1.
        column: usize,
    },
    /// A JSON array.
    #[error("a JSON array: expected one object in each line, as jq -c '.[]' writes them")]
    JsonArray,
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
}

impl FingerprintList {
    /// Adds the entries of a list. Entries of earlier lists precede them.
    ///
    /// # Errors
    /// The first invalid line. No entry of the text is added then.
    pub fn add(&mut self, text: &[u8]) -> Result<(), FingerprintListError> {
        let text = str::from_utf8(text).map_err(|error| {
            let valid = text.get(..error.valid_up_to()).unwrap_or_default();
            FingerprintListFault::NotUtf8.at(line_breaks(valid).saturating_add(1))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rows = Rows::default();
        match content(text).next() {
            Some((_, line)) if line.starts_with('{') => rows.read_json_lines(text)?,
            Some((number, line)) if line.starts_with('[') => {
                return Err(FingerprintListFault::JsonArray.at(number));
            }
            Some(_) => rows.read_csv(text)?,
            None => {}
        }
        let first = self.entries.len();
        let fingerprints = rows.fingerprints.into_iter().enumerate();
        self.index.extend(fingerprints.map(|(row, fingerprint)| (fingerprint, first.saturating_add(row))));
        self.index.sort_unstable();
        self.entries.append(&mut rows.entries);
        self.rows_without_fingerprint =
            self.rows_without_fingerprint.saturating_add(rows.without_fingerprint);
        Ok(())
    }

    /// Returns the entries of a ClientHello, by its JA4, its stable JA4 and its JA3 hash, in the order of the lists.
    pub fn lookup_hello(&self, hello: &ClientHello<'_>) -> Vec<&ListEntry> {
        let has_ja4 = matches!(self.index.first(), Some((Fingerprint::Ja4(_), _)));
        let [ja4, ja4_stable] = [ClientHello::ja4, ClientHello::ja4_stable]
            .map(|of| has_ja4.then(|| Fingerprint::Ja4(of(hello))));
        let ja3 = self.has_hashes().then(|| Fingerprint::Md5(hello.ja3_hash().0));
        self.entries_of([ja4, ja4_stable, ja3].into_iter().flatten())
    }

    /// Returns the entries of an MD5, such as a JA3S, a HASSH or an Akamai hash, in the order of the lists.
    pub fn lookup_hash(&self, md5: [u8; 16]) -> Vec<&ListEntry> {
        self.entries_of([Fingerprint::Md5(md5)].into_iter())
    }

    /// [Looks up](Self::lookup_hash) an MD5 that is computed only if the list has hashes.
    pub(crate) fn lookup_computed(&self, md5: impl FnOnce() -> [u8; 16]) -> Vec<&ListEntry> {
        if self.has_hashes() { self.lookup_hash(md5()) } else { Vec::new() }
    }

    /// Whether the list has hashes.
    fn has_hashes(&self) -> bool {
        // Hashes sort last.
        matches!(self.index.last(), Some((Fingerprint::Md5(_), _)))
    }

    fn entries_of(&self, fingerprints: impl Iterator<Item = Fingerprint>) -> Vec<&ListEntry> {
        let mut found: Vec<usize> =
            fingerprints.flat_map(|fingerprint| self.positions(fingerprint)).collect();
        found.sort_unstable();
        // JA4 and stable JA4 may be equal.
        found.dedup();
        found.into_iter().filter_map(|position| self.entries.get(position)).collect()
    }

    /// The positions of the entries of a fingerprint, in ascending order.
    fn positions(&self, fingerprint: Fingerprint) -> impl Iterator<Item = usize> + '_ {
        let start = self.index.partition_point(|(other, _)| *other < fingerprint);
        let same = self.index.get(start..).unwrap_or_default().iter();
        same.take_while(move |(other, _)| *other == fingerprint).map(|(_, position)| *position)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the list has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of rows without a fingerprint, which tables of several kinds of fingerprints have; they give no entry.
    pub fn rows_without_fingerprint(&self) -> u64 {
        self.rows_without_fingerprint
    }
}

impl FingerprintListFault {
    fn at(self, line: usize) -> FingerprintListError {
        FingerprintListError { line, fault: self }
    }
}

/// Parsed rows of one list.
#[derive(Default)]
struct Rows {
    fingerprints: Vec<Fingerprint>,
    /// The entry of each fingerprint.
    entries: Vec<ListEntry>,
    without_fingerprint: u64,
}

impl Rows {
    fn read_csv(&mut self, text: &str) -> Result<(), FingerprintListError> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(Trim::All)
            .from_reader(text.as_bytes());
        let mut columns = None;
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
                    return Err(FingerprintListFault::UnclosedQuote.at(line_of_record(text, last)));
                }
                Ok(false) => return Ok(()),
                Err(error) => {
                    return Err(FingerprintListFault::Csv { reason: error.to_string().into() }.at(line()));
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
                    // A label may be a column name, too.
                    let is_row = Fingerprint::parse(first).is_ok();
                    let header = Columns::from_names(record.iter()).filter(|_| !is_row);
                    let is_header = header.is_some();
                    let known = columns.insert(header.or_else(|| commented_header(text)).unwrap_or_default());
                    if is_header {
                        if known.labels.is_empty() {
                            return Err(FingerprintListFault::NoLabel.at(line()));
                        }
                        continue;
                    }
                    known
                }
            };
            let value = |column: &usize| record.get(*column);
            let [fingerprints, labels] = [&columns.fingerprints, &columns.labels];
            let watch = columns.watch.as_ref().and_then(value);
            self.push(
                fingerprints.iter().filter_map(value),
                labels.iter().filter_map(value),
                watch.unwrap_or_default(),
            )
            .map_err(|fault| fault.at(line()))?;
        }
    }

    fn read_json_lines(&mut self, text: &str) -> Result<(), FingerprintListError> {
        for (number, line) in content(text) {
            self.read_json(line).map_err(|fault| fault.at(number))?;
        }
        Ok(())
    }

    fn read_json(&mut self, line: &str) -> Result<(), FingerprintListFault> {
        let object: Map<String, Value> = serde_json::from_str(line)
            .map_err(|error| FingerprintListFault::Json { column: error.column() })?;
        let fields: BTreeMap<String, String> = object
            .into_iter()
            .map(|(name, value)| {
                let text = match value {
                    Value::String(text) => text,
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                (name.to_ascii_lowercase(), text)
            })
            .collect();
        let value = |name: &&str| fields.get(*name).map(|text| text.trim());
        if FINGERPRINT_COLUMNS.iter().all(|name| !fields.contains_key(*name)) {
            return Err(FingerprintListFault::NoFingerprint);
        }
        self.push(
            FINGERPRINT_COLUMNS.iter().filter_map(value),
            LABEL_COLUMNS.iter().filter_map(value),
            value(&WATCH_COLUMN).unwrap_or_default(),
        )
    }

    /// Adds a row with its values in the order of precedence.
    fn push<'a>(
        &mut self,
        mut fingerprints: impl Iterator<Item = &'a str>,
        labels: impl Iterator<Item = &'a str>,
        watch: &str,
    ) -> Result<(), FingerprintListFault> {
        let Some(fingerprint) = fingerprints.find(|value| !value.is_empty()) else {
            self.without_fingerprint = self.without_fingerprint.saturating_add(1);
            return Ok(());
        };
        let fingerprint = Fingerprint::parse(fingerprint)?;
        let mut labels = labels.peekable();
        let first = labels.peek().copied().ok_or(FingerprintListFault::NoLabel)?;
        let label = labels.find(|label| !label.is_empty()).unwrap_or(first);
        if label.len() > MAX_LIST_LABEL_BYTES {
            return Err(FingerprintListFault::LongLabel { bytes: label.len() });
        }
        let watch = watch_mark(watch)?;
        self.fingerprints.push(fingerprint);
        self.entries.push(ListEntry { label: label.into(), watch });
        Ok(())
    }
}

impl Fingerprint {
    fn parse(text: &str) -> Result<Self, FingerprintListFault> {
        let hash = || text.parse().ok().map(|AkamaiHash(md5)| Self::Md5(md5));
        let ja4 = || text.parse().ok().map(Self::Ja4);
        let akamai = || is_akamai(text).then(|| Self::Md5(AkamaiHash::from_text(text).0));
        hash()
            .or_else(ja4)
            .or_else(akamai)
            .ok_or_else(|| FingerprintListFault::Fingerprint { value: quoted(text) })
    }
}

/// Whether a text has the form of an Akamai fingerprint: four parts, and the last one names several pseudo-header fields, as
/// every request has them. The start of an unquoted one in CSV has one.
fn is_akamai(text: &str) -> bool {
    let parts: Vec<&str> = text.split('|').collect();
    let [settings, window_update, priorities, pseudo_headers] = &*parts else { return false };
    let are_numbers = [settings, window_update, priorities]
        .iter()
        .all(|part| part.bytes().all(|byte| byte.is_ascii_digit() || b":;,".contains(&byte)));
    let is_name = |name: &str| name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    are_numbers && pseudo_headers.contains(',') && pseudo_headers.split(',').all(is_name)
}

fn watch_mark(text: &str) -> Result<bool, FingerprintListFault> {
    let is_one_of = |values: &[&str]| values.iter().any(|value| text.eq_ignore_ascii_case(value));
    if is_one_of(&["true", "1", "yes"]) {
        return Ok(true);
    }
    let is_off = is_one_of(&["", "false", "0", "no"]);
    if is_off { Ok(false) } else { Err(FingerprintListFault::Watch { value: quoted(text) }) }
}

/// Indices of the columns of CSV, in the order of precedence.
struct Columns {
    fingerprints: Vec<usize>,
    labels: Vec<usize>,
    watch: Option<usize>,
}

/// The columns of a table without a header.
impl Default for Columns {
    fn default() -> Self {
        Self { fingerprints: vec![0], labels: vec![1], watch: None }
    }
}

impl Columns {
    /// Returns the columns of a header; `None` if no name is that of a fingerprint.
    fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let names: Vec<&str> = names.collect();
        let index = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let indices = |wanted: &[&str]| wanted.iter().filter_map(|name| index(name)).collect();
        let fingerprints: Vec<usize> = indices(&FINGERPRINT_COLUMNS);
        let labels = indices(&LABEL_COLUMNS);
        (!fingerprints.is_empty()).then(|| Self { fingerprints, labels, watch: index(WATCH_COLUMN) })
    }
}

/// The last comment before the first row that names a fingerprint and a label, as the lists of abuse.ch have it.
fn commented_header(text: &str) -> Option<Columns> {
    let lines = text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with('#'));
    lines
        .filter_map(|line| {
            let names = line.trim_matches(['#', ' ', '\t']).split(',');
            Columns::from_names(names.map(|name| name.trim().trim_matches('"')))
        })
        .filter(|columns| !columns.labels.is_empty())
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
