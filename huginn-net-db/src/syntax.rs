//! Pieces of a line that know where they stand, so that an error can tell.

use std::str::FromStr;

use crate::{DatabaseError, Fault};

/// A piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    /// Bytes of the line before it.
    offset: usize,
}

/// A fault and where in its line it begins.
#[derive(Debug)]
pub(crate) struct Trouble {
    offset: usize,
    fault: Fault,
}

impl Trouble {
    /// The error for a whole file, of which `text` is the line that this trouble is in.
    pub(crate) fn in_line(self, line: u32, text: &str) -> DatabaseError {
        let before = text.char_indices().take_while(|(at, _)| *at < self.offset).count();
        let column = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1);
        DatabaseError::Syntax { line, column, fault: self.fault }
    }
}

impl<'a> Part<'a> {
    /// A whole line.
    pub(crate) fn line(text: &'a str) -> Self {
        Self { text, offset: 0 }
    }

    /// Trouble that begins where this piece does.
    pub(crate) fn trouble(self, fault: Fault) -> Trouble {
        Trouble { offset: self.offset, fault }
    }

    /// Trouble that begins so many bytes into this piece.
    pub(crate) fn trouble_at(self, offset: usize, fault: Fault) -> Trouble {
        Trouble { offset: self.offset.saturating_add(offset), fault }
    }

    /// What is left behind the first `bytes` bytes; nothing if a character would be cut.
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

    /// What stands before and after the first such character.
    pub(crate) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (before, _) = self.text.split_once(separator)?;
        let after = self.skip(before.len().saturating_add(separator.len_utf8()));
        Some((Self { text: before, ..self }, after))
    }

    /// What stands between such characters.
    pub(crate) fn split(self, separator: char) -> impl Iterator<Item = Self> {
        self.text.split(separator).scan(self.offset, move |offset, text| {
            let part = Self { text, offset: *offset };
            *offset = offset.saturating_add(text.len()).saturating_add(separator.len_utf8());
            Some(part)
        })
    }

    /// The longest beginning of such characters, and what follows it.
    pub(crate) fn take_while(self, wanted: impl Fn(char) -> bool) -> (Self, Self) {
        let len = self.text.find(|c| !wanted(c)).unwrap_or(self.text.len());
        (Self { text: self.text.get(..len).unwrap_or(""), ..self }, self.skip(len))
    }

    /// A text in brackets, which is not empty, and what follows it.
    pub(crate) fn bracketed(self) -> Result<(Self, Self), Trouble> {
        let inside = self.strip_prefix("[").and_then(|inside| inside.split_once(']'));
        match inside {
            Some((value, rest)) if !value.text.is_empty() => Ok((value, rest)),
            _ => Err(self.trouble(Fault::BracketedValue { value: self.text.into() })),
        }
    }
}

/// A number of ASCII digits alone: `FromStr` of integers would take a sign.
pub(crate) fn number<T: FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}
