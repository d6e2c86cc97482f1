//! Quotations of input in messages.

use std::fmt;

use crate::Escaped;
use crate::limits::MAX_QUOTED_BYTES;

/// Quotes captured bytes: at most 80 of them, then `...` if more follow, with control characters escaped as [`Escaped`] does.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a [u8]);

impl Quoted<'_> {
    /// Maximum number of quoted bytes.
    pub const MAX_BYTES: usize = MAX_QUOTED_BYTES;
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.0.get(..MAX_QUOTED_BYTES).unwrap_or(self.0);
        let rest = if start.len() < self.0.len() { "..." } else { "" };
        write!(f, "{:#}{rest}", Escaped(start))
    }
}

/// Returns a text as an error message quotes it: at most 80 bytes of it, then `…` if more follow, with control characters
/// escaped as [`Escaped`] does.
///
/// ```
/// use huginn_net_wire::quoted;
///
/// assert_eq!(&*quoted("a\x1b[2J"), r"a\x1b[2J");
/// assert_eq!(quoted(&"x".repeat(1000)).len(), 83);
/// ```
pub fn quoted(text: &str) -> Box<str> {
    if text.len() <= MAX_QUOTED_BYTES {
        return format!("{:#}", Escaped(text.as_bytes())).into();
    }
    let start = (0..=MAX_QUOTED_BYTES).rev().find_map(|end| text.get(..end)).unwrap_or_default();
    format!("{:#}…", Escaped(start.as_bytes())).into()
}
