//! Why a list is rejected.

use crate::limits::{MAX_LIST_ENTRIES, MAX_LIST_LABEL_BYTES, MAX_LIST_PATTERNS};

/// Why a list is rejected. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
#[non_exhaustive]
pub struct WatchListError {
    /// The line.
    pub line: usize,
    /// The fault.
    #[source]
    pub fault: WatchListFault,
}

/// A fault in a line of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchListFault {
    /// A value whose type is not recognised.
    #[error(
        "'{value}' is not a value of a known type: JA4, JA3, JA3S, HASSH, Akamai, SYN signature, host name, certificate hash, \
         address or network (a User-Agent needs its type)"
    )]
    Unknown {
        /// The value, shortened and with control characters escaped.
        value: Box<str>,
    },
    /// A value that does not have the form of its type.
    #[error("'{value}' is not a value of the type {expected}")]
    Value {
        /// The value, shortened and with control characters escaped.
        value: Box<str>,
        /// The type.
        expected: &'static str,
    },
    /// An unknown type.
    #[error(
        "unknown type '{name}': expected one of ja4, ja4_stable, ja4_r, ja3_hash, ja3s_hash, hassh, hassh_server, akamai_hash, sig, \
         host, domain, certificate_sha256, certificate_sha1, ip, ip:port, user_agent"
    )]
    Type {
        /// The name, shortened and with control characters escaped.
        name: Box<str>,
    },
    /// A value in the column of types.
    #[error("'{value}' is a value in the column of types: are the columns in another order?")]
    Swapped {
        /// The value, shortened and with control characters escaped.
        value: Box<str>,
    },
    /// An object without a value.
    #[error("no value: expected the field value, or one that names a type, such as ja4")]
    NoValue,
    /// A header without a label and without a column of values.
    #[error("no column of labels: expected one of label, name, description, malware, reason")]
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
    /// An entry that is not watched, of a type that labels no event.
    #[error("watch: an entry of the type {name} that is not watched has no effect")]
    NoEffect {
        /// The type.
        name: &'static str,
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
    /// JSON without indicators.
    #[error("JSON without indicators: expected objects with a value, a MISP event or a STIX bundle")]
    NoIndicators,
    /// A JSON document that is too large; JSON Lines have no such limit.
    #[error("a JSON document of {mebibytes} MiB: convert it to JSON Lines, as jq -c does")]
    LongDocument {
        /// Its size.
        mebibytes: usize,
    },
    /// Too many entries of all lists together.
    #[error("more than {MAX_LIST_ENTRIES} entries in all lists")]
    ManyEntries,
    /// Too many patterns.
    #[error("more than {MAX_LIST_PATTERNS} User-Agents with '*': each costs time for each request")]
    ManyPatterns,
    /// A compressed file.
    #[error("a compressed file: decompress it first, with {tool}")]
    Compressed {
        /// The program that does it.
        tool: &'static str,
    },
    /// Bytes that are not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
}

impl WatchListFault {
    pub(super) fn at(self, line: usize) -> WatchListError {
        WatchListError { line, fault: self }
    }
}
