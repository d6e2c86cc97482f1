//! The length limit of reported texts.

use std::fmt::{self, Display, Write};

use crate::limits::MAX_TEXT_BYTES;

/// A length limit of texts, in bytes: of captured bytes before they are escaped, and of texts that are computed, such as
/// `ja4_r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLimit(usize);

impl TextLimit {
    /// No limit.
    pub const NONE: Self = Self(usize::MAX);

    /// Creates a limit; `None` removes it.
    pub const fn new(bytes: Option<usize>) -> Self {
        match bytes {
            Some(bytes) => Self(bytes),
            None => Self::NONE,
        }
    }

    /// The limit; `None` without one.
    pub fn bytes(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0)
    }

    /// Cuts a text, and returns whether it was longer. A character of UTF-8 is not divided.
    #[inline]
    pub fn cut(self, text: &[u8]) -> (&[u8], bool) {
        match text.get(..self.0) {
            Some(start) if start.len() < text.len() => (whole_characters(start, text), true),
            _ => (text, false),
        }
    }

    /// As [`cut`](Self::cut), for UTF-8.
    pub fn cut_str(self, text: &str) -> (&str, bool) {
        let (start, is_cut) = self.cut(text.as_bytes());
        (text.get(..start.len()).unwrap_or_default(), is_cut)
    }

    /// Writes the start of a [`Display`] text, and returns whether it was longer.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, out: &mut impl Write, value: impl Display) -> Result<bool, fmt::Error> {
        let mut limited = Limited { out, left: self.0, is_cut: false };
        match write!(limited, "{value}") {
            Err(error) if !limited.is_cut => Err(error),
            _ => Ok(limited.is_cut),
        }
    }

    /// Whether a [`Display`] text is longer.
    pub fn is_exceeded_by(self, value: impl Display) -> bool {
        // Nothing is written that could fail.
        self.write(&mut Ignored, value).unwrap_or_default()
    }

    /// Number of texts of at most `len` bytes that fit in the limit together.
    pub(crate) fn fitting_of_len(self, len: usize) -> usize {
        self.bytes().map_or(usize::MAX, |max| max.checked_div(len).unwrap_or(usize::MAX))
    }

    /// Number of texts of a list that fit in the limit together, by their lengths in bytes and a byte for each of them.
    pub fn fitting(self, lens: impl Iterator<Item = usize>) -> usize {
        let mut left = self.0;
        let fits = |len: &usize| {
            let rest = left.checked_sub(len.saturating_add(1));
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        lens.take_while(fits).count()
    }
}

impl Default for TextLimit {
    fn default() -> Self {
        Self::new(Some(MAX_TEXT_BYTES))
    }
}

/// Removes the first bytes of a character whose last bytes were cut off.
fn whole_characters<'a>(start: &'a [u8], text: &[u8]) -> &'a [u8] {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let begin = (0..4).map(|back| start.len().saturating_sub(back)).find(|at| !is_inside(*at));
    // Bytes that are not UTF-8 are escaped one by one, so that any place will do.
    begin.and_then(|begin| start.get(..begin)).unwrap_or(start)
}

/// Writes up to a number of bytes.
struct Limited<'a, W> {
    out: &'a mut W,
    left: usize,
    is_cut: bool,
}

impl<W: Write> Write for Limited<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let (start, is_cut) = TextLimit(self.left).cut_str(text);
        self.left = self.left.saturating_sub(start.len());
        self.out.write_str(start)?;
        self.is_cut |= is_cut;
        // Ends the formatting.
        if is_cut { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Ignores what is written.
struct Ignored;

impl Write for Ignored {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_keeps_characters_whole() {
        let text = "aé€😀b".as_bytes();
        let starts: Vec<_> = (0..=text.len() + 1).map(|limit| TextLimit(limit).cut(text)).collect();
        for (limit, (start, is_cut)) in starts.into_iter().enumerate() {
            assert!(start.len() <= limit && limit < start.len() + 4 || !is_cut, "{limit}");
            assert!(std::str::from_utf8(start).is_ok(), "{limit}");
            assert_eq!(is_cut, start.len() < text.len());
            assert_eq!(TextLimit(limit).cut_str("aé€😀b").0.as_bytes(), start);
        }
        assert_eq!(TextLimit(3).cut(&[0x80; 9]), (&[0x80; 3][..], true));
    }

    #[test]
    fn write_ends_at_limit() {
        let mut out = String::new();
        let parts = format_args!("{}{}{}", "ab", "cdé", "f").to_string();
        assert_eq!(TextLimit(5).write(&mut out, format_args!("{}{}{}", "ab", "cdé", "f")), Ok(true));
        assert_eq!(out, "abcd");
        out.clear();
        assert_eq!(TextLimit(7).write(&mut out, &parts), Ok(false));
        assert_eq!(out, parts);
    }

    #[test]
    fn fitting_counts_whole_texts() {
        let lens = || ["h2", "http/1.1", "x"].into_iter().map(str::len);
        assert_eq!([2, 3, 11, 12, 14].map(|limit| TextLimit(limit).fitting(lens())), [0, 1, 1, 2, 3]);
    }
}
