//! Quotations of input in error messages.

use crate::Escaped;
use crate::limits::MAX_QUOTED_BYTES;

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
