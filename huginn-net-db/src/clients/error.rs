//! Errors of client tables.

use huginn_net_tls::{Ja4, Ja4ParseError};

/// Why a client table is rejected. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
#[non_exhaustive]
pub struct ClientTableError {
    /// The line.
    pub line: u32,
    /// The fault.
    #[source]
    pub fault: ClientTableFault,
}

/// A fault in a line of a client table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientTableFault {
    /// A column that tables do not have.
    #[error("unknown column '{name}'")]
    UnknownColumn {
        /// The name.
        name: Box<str>,
    },
    /// A column that occurs twice.
    #[error("column '{name}' occurs twice")]
    RepeatedColumn {
        /// The name.
        name: Box<str>,
    },
    /// Columns without exactly one fingerprint.
    #[error("a table has exactly one of the columns ja4_stable, akamai_hash, http3 and hassh")]
    KeyColumn,
    /// A line with more or fewer fields than columns.
    #[error("{found} fields separated by tabs, not {columns}")]
    FieldCount {
        /// Number of fields.
        found: usize,
        /// Number of columns.
        columns: usize,
    },
    /// An invalid JA4 or stable JA4.
    #[error("{0}")]
    Ja4(#[source] Ja4ParseError),
    /// An invalid hash.
    #[error("'{value}' is not 32 lower-case hexadecimal digits")]
    Hash {
        /// The text.
        value: Box<str>,
    },
    /// `differs` names an unknown field.
    #[error(
        "differs: '{value}' is not a field of a hello: expected grease, alps, compress_certificate or ech.payload_length"
    )]
    Field {
        /// The text.
        value: Box<str>,
    },
    /// `own_settings` is neither empty nor `yes`.
    #[error("own_settings: '{value}' is neither empty nor 'yes'")]
    OwnSettings {
        /// The text.
        value: Box<str>,
    },
    /// `source` is none of empty, `recorded` and `constructed`.
    #[error("source: '{value}' is none of 'recorded', 'constructed' and empty")]
    Source {
        /// The text.
        value: Box<str>,
    },
    /// The lists of `ja4_stable_r` are not those of `ja4_stable`.
    #[error("ja4_stable_r: its hashes are not those of {ja4_stable}")]
    OtherLists {
        /// The stable JA4.
        ja4_stable: Ja4,
    },
    /// An empty required column.
    #[error("{column}: empty")]
    Empty {
        /// The column.
        column: &'static str,
    },
}
