//! Lines of columns: Zeek's TSV and CSV.

use super::counts::Counts;
use super::names::{ASKED, LineValues, Names, ValueKind};
use crate::clients::ClientValueKind;
use crate::record::csv_text;

/// The names of the columns that are added. The last two are there if fingerprints are counted.
const ADDED: [&str; 6] = [
    "huginn_software",
    "huginn_match",
    "huginn_variant",
    "huginn_contradiction",
    "huginn_seen",
    "huginn_lines",
];

/// Their types in Zeek's logs.
const TYPES: [&str; 6] = ["string", "string", "string", "string", "count", "count"];

/// The columns with values.
#[derive(Debug)]
pub(super) struct Columns {
    separator: u8,
    /// Whether quotation marks may surround a value.
    has_quotes: bool,
    /// What is written for an absent value.
    unset: &'static str,
    /// By their number.
    kinds: Vec<Option<ValueKind>>,
    /// Whether the added columns are there: lines pass.
    is_own: bool,
    pub(super) has_asked: bool,
    /// Number of columns that are added.
    added: usize,
}

/// The state of quotation marks of CSV. A value is quoted if it starts with a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quotes {
    #[default]
    ValueStart,
    Unquoted,
    Quoted,
    /// After a mark that ends the value, or is the first of two that stand for one.
    Mark,
}

impl Quotes {
    /// Takes a byte. Returns whether it ends a value.
    fn take(&mut self, byte: u8, separator: u8) -> bool {
        let is_end = *self != Self::Quoted && (byte == separator || byte == b'\n');
        *self = match (*self, byte) {
            _ if is_end => Self::ValueStart,
            (Self::ValueStart | Self::Mark, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::Mark,
            (Self::Quoted, _) => Self::Quoted,
            _ => Self::Unquoted,
        };
        is_end
    }
}

/// Whether a quoted value goes on in the next line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenQuote(Quotes);

impl OpenQuote {
    pub(super) fn is_open(self) -> bool {
        self.0 == Quotes::Quoted
    }
}

impl Columns {
    /// The columns of a line `#fields` of Zeek, after that word; `None` without a fingerprint.
    pub(super) fn of_zeek(
        fields: &[u8],
        separator: u8,
        column: Option<&str>,
        has_counts: bool,
    ) -> Option<Self> {
        let fields = fields.strip_prefix(&[separator])?;
        Self::new(fields, separator, false, column, has_counts).map(|columns| Self { unset: "-", ..columns })
    }

    /// Takes a line, or a part of one, for the state of quotation marks.
    pub(super) fn scan(&self, line: &[u8], quote: &mut OpenQuote) {
        if self.has_quotes {
            line.iter().for_each(|byte| _ = quote.0.take(*byte, self.separator));
        }
    }

    /// The columns of a line of headings; `None` without a fingerprint.
    pub(super) fn of_csv(line: &[u8], column: Option<&str>, has_counts: bool) -> Option<Self> {
        let separator = if line.contains(&b'\t') { b'\t' } else { b',' };
        Self::new(line, separator, separator == b',', column, has_counts)
    }

    /// CSV whose lines pass: headings without a fingerprint, or over several lines.
    pub(super) fn passing(line: &[u8]) -> Option<Self> {
        let is_csv = line.contains(&b',') && !line.contains(&b'\t') || line.starts_with(b"\"");
        // The end of a line of JSON has commas, too.
        (is_csv && !line.trim_ascii_end().ends_with(b"}")).then_some(Self {
            separator: b',',
            has_quotes: true,
            unset: "",
            kinds: Vec::new(),
            is_own: true,
            has_asked: false,
            added: 0,
        })
    }

    fn new(
        headings: &[u8],
        separator: u8,
        has_quotes: bool,
        column: Option<&str>,
        has_counts: bool,
    ) -> Option<Self> {
        let added = if has_counts { ADDED.len() } else { ADDED.len().saturating_sub(2) };
        let columns = Self {
            separator,
            has_quotes,
            unset: "",
            kinds: Vec::new(),
            is_own: false,
            has_asked: false,
            added,
        };
        let (headings, _) = split_line_end(headings);
        let names: Vec<_> = columns.values(headings)?.collect();
        let kinds: Vec<_> = names.iter().map(|name| kind_of(name, column)).collect();
        let is_own = names.iter().any(|name| name == ADDED[0]);
        let has_asked = kinds.contains(&Some(ASKED));
        let is_fingerprint = |kind: &Option<ValueKind>| matches!(kind, Some(ValueKind::Fingerprint(_)));
        (is_own || kinds.iter().any(is_fingerprint)).then_some(Self { kinds, is_own, has_asked, ..columns })
    }

    /// The values of a line, without quotation marks; `None` if a quotation mark is not closed.
    fn values<'l>(&self, line: &'l [u8]) -> Option<impl Iterator<Item = String> + use<'l>> {
        let (separator, has_quotes) = (self.separator, self.has_quotes);
        let mut end = Quotes::default();
        if has_quotes {
            line.iter().for_each(|byte| _ = end.take(*byte, separator));
        }
        let mut quotes = Quotes::default();
        let values = line.split(move |byte| match has_quotes {
            true => quotes.take(*byte, separator),
            false => *byte == separator,
        });
        let unquoted = move |value: &[u8]| {
            let text = String::from_utf8_lossy(value);
            match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(inner) if has_quotes => inner.replace("\"\"", "\""),
                _ => text.into_owned(),
            }
        };
        (end != Quotes::Quoted).then(|| values.map(unquoted))
    }

    /// Writes a line of names, with those of the added columns.
    pub(super) fn write_heading(&self, line: &[u8], out: &mut Vec<u8>) {
        self.write_added(line, ADDED, out);
    }

    /// Writes Zeek's line of types.
    pub(super) fn write_types(&self, line: &[u8], out: &mut Vec<u8>) {
        self.write_added(line, TYPES, out);
    }

    /// Writes a line. Returns whether it got a name.
    pub(super) fn write(
        &self,
        line: &[u8],
        names: &mut Names<'_>,
        counts: Option<&mut Counts>,
        out: &mut Vec<u8>,
    ) -> bool {
        let (text, _) = split_line_end(line);
        let Some(values) = self.values(text).filter(|_| !text.is_empty() && !self.is_own) else {
            out.extend_from_slice(line);
            return false;
        };
        let mut seen = LineValues::default();
        let mut count = 0_usize;
        for (value, kind) in values.zip(self.kinds.iter().map(Some).chain(std::iter::repeat(None))) {
            count = count.saturating_add(1);
            if let Some(kind) = kind.copied().flatten() {
                seen.take(kind, &value);
            }
        }
        if count != self.kinds.len() {
            out.extend_from_slice(line);
            return false;
        }
        let count = counts.zip(seen.counted()).and_then(|(counts, fingerprint)| counts.take(fingerprint));
        let [in_lines, lines] = match count {
            Some(count) => [count.seen.to_string(), count.lines.to_string()],
            None => [String::new(), String::new()],
        };
        let contradiction = names.contradiction(&seen);
        let found = names.find(&seen);
        let is_named = found.is_some();
        let [name, kind, variant] =
            found.map_or([""; 3], |found| [&*found.name, found.kind, &*found.variant]);
        let values = [name, kind, variant, contradiction.as_deref().unwrap_or_default(), &*in_lines, &*lines];
        self.write_added(line, values.map(|value| if value.is_empty() { self.unset } else { value }), out);
        is_named
    }

    fn write_added(&self, line: &[u8], values: [&str; 6], out: &mut Vec<u8>) {
        if self.is_own {
            return out.extend_from_slice(line);
        }
        let (text, end) = split_line_end(line);
        out.extend_from_slice(text);
        for value in values.into_iter().take(self.added) {
            out.push(self.separator);
            let value = if self.has_quotes { csv_text(value) } else { value.into() };
            if self.has_quotes && value.contains([',', '"']) {
                out.push(b'"');
                out.extend_from_slice(value.replace('"', "\"\"").as_bytes());
                out.push(b'"');
            } else {
                out.extend_from_slice(value.as_bytes());
            }
        }
        out.extend_from_slice(end);
    }
}

/// Splits a line from its end. Separators before the end are values.
fn split_line_end(line: &[u8]) -> (&[u8], &[u8]) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    line.split_at_checked(text.len()).unwrap_or((line, b""))
}

/// What a column has.
fn kind_of(name: &str, column: Option<&str>) -> Option<ValueKind> {
    if column == Some(name) {
        return Some(ASKED);
    }
    let kind = match name {
        "ja4" | "tls.ja4" | "tls.client.ja4" => ClientValueKind::Ja4,
        "ja3" | "ja3_hash" | "tls.ja3.hash" | "tls.client.ja3" => ClientValueKind::Ja3,
        "hassh" => ClientValueKind::Hassh,
        "user_agent"
        | "http_user_agent"
        | "user_agent.original"
        | "http.user_agent"
        | "http.http_user_agent" => return Some(ValueKind::UserAgent),
        _ => return None,
    };
    Some(ValueKind::Fingerprint(kind))
}
