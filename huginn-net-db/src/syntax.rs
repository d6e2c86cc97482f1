//! Parts of a line with their offsets, for error positions.

use huginn_net_wire::quoted;
use std::str::FromStr;

use crate::{DatabaseError, Fault};

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    /// Offset in the line, in bytes.
    offset: usize,
}

/// A fault and its offset in the line.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    offset: usize,
    fault: Fault,
}

impl SyntaxError {
    /// Converts the error to a [`DatabaseError`]; `text` is the line.
    pub(crate) fn in_line(self, line: u32, text: &str) -> DatabaseError {
        let before = text.char_indices().take_while(|(at, _)| *at < self.offset).count();
        let column = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
        DatabaseError::Syntax { line, column, fault: self.fault }
    }
}

impl<'a> Part<'a> {
    /// A complete line.
    pub(crate) fn line(text: &'a str) -> Self {
        Self { text, offset: 0 }
    }

    /// Creates an error at the start of this part.
    pub(crate) fn error(self, fault: Fault) -> SyntaxError {
        SyntaxError { offset: self.offset, fault }
    }

    /// Creates an error `offset` bytes into this part.
    pub(crate) fn error_at(self, offset: usize, fault: Fault) -> SyntaxError {
        SyntaxError { offset: self.offset.saturating_add(offset), fault }
    }

    /// The part after the first `bytes` bytes; empty if that would split a character.
    fn skip(self, bytes: usize) -> Self {
        Self { text: self.text.get(bytes..).unwrap_or(""), offset: self.offset.saturating_add(bytes) }
    }

    pub(crate) fn trim_start(self) -> Self {
        let blank = self.text.len().saturating_sub(self.text.trim_start().len());
        self.skip(blank)
    }

    pub(crate) fn trim(self) -> Self {
        let rest = self.trim_start();
        Self { text: rest.text.trim_end(), ..rest }
    }

    pub(crate) fn strip_prefix(self, prefix: &str) -> Option<Self> {
        self.text.starts_with(prefix).then(|| self.skip(prefix.len()))
    }

    /// The parts before and after the first such character.
    pub(crate) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (before, _) = self.text.split_once(separator)?;
        let after = self.skip(before.len().saturating_add(separator.len_utf8()));
        Some((Self { text: before, ..self }, after))
    }

    /// The parts between such characters.
    pub(crate) fn split(self, separator: char) -> impl Iterator<Item = Self> {
        self.text.split(separator).scan(self.offset, move |offset, text| {
            let part = Self { text, offset: *offset };
            *offset = offset.saturating_add(text.len()).saturating_add(separator.len_utf8());
            Some(part)
        })
    }

    /// The longest prefix of such characters, and the rest.
    pub(crate) fn take_while(self, wanted: impl Fn(char) -> bool) -> (Self, Self) {
        let len = self.text.find(|c| !wanted(c)).unwrap_or(self.text.len());
        (Self { text: self.text.get(..len).unwrap_or(""), ..self }, self.skip(len))
    }

    /// A non-empty text in brackets, and the rest.
    pub(crate) fn bracketed(self) -> Result<(Self, Self), SyntaxError> {
        let inside = self.strip_prefix("[").and_then(|inside| inside.split_once(']'));
        match inside {
            Some((value, rest)) if !value.text.is_empty() => Ok((value, rest)),
            _ => Err(self.error(Fault::BracketedValue { value: quoted(self.text) })),
        }
    }
}

/// Parses a number of ASCII digits; `FromStr` of integers would accept a sign.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}
