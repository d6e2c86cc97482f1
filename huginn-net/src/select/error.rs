//! Errors of conditions.

use std::fmt;

/// Why a condition cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at character {}: {kind}", position.saturating_add(1))]
#[non_exhaustive]
pub struct SelectionError {
    /// Characters before the place of the error.
    pub position: usize,
    /// Why.
    pub kind: SelectionErrorKind,
}

/// Why a condition cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectionErrorKind {
    /// Something else is expected here.
    Expected {
        /// What can stand here.
        expected: &'static str,
        /// What stands here; empty at the end.
        found: String,
    },
    /// No event has this field.
    UnknownField(String),
    /// No event has this value of the field.
    UnknownValue {
        /// The field: `event` or `finding`.
        field: &'static str,
        /// The value of the condition.
        value: String,
        /// The values of the field.
        known: &'static [&'static str],
    },
    /// The field has values of another type.
    Type {
        /// The field.
        field: String,
        /// What its values are.
        expected: &'static str,
    },
    /// The field never has this value.
    Never {
        /// The field.
        field: String,
        /// The value of the condition, as it is written there.
        value: String,
        /// What its values are: `written '13', '12', '11'`.
        form: String,
    },
    /// A regular expression instead of a pattern.
    RegularExpression,
    /// A text without its last quote.
    OpenText,
    /// More than 128 comparisons, or more than 64 `not` and parentheses in each other.
    TooLarge(&'static str),
}

impl fmt::Display for SelectionErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected { expected, found } if found.is_empty() => {
                write!(f, "the condition ends, expected {expected}")
            }
            Self::Expected { expected, found } => write!(f, "found {found:?}, expected {expected}"),
            Self::UnknownField(path) => write!(f, "unknown field '{path}'"),
            Self::UnknownValue { field, value, .. } => write!(f, "unknown {field} '{value}'"),
            Self::Type { field, expected } => write!(f, "'{field}' is {expected}"),
            Self::Never { field, value, form } => write!(f, "'{field}' is never {value}: it is {form}"),
            Self::RegularExpression => f.write_str(
                "regular expressions are not read: in a pattern '*' is any text, as in '*.example'",
            ),
            Self::OpenText => f.write_str("the text has no closing quote"),
            Self::TooLarge(limit) => f.write_str(limit),
        }
    }
}
