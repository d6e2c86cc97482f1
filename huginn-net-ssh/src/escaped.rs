//! Bytes from the wire as text.

use std::fmt::{self, Write};

/// Displays bytes as text without loss: UTF-8 as it is, any other byte as `\xNN`, and `\` as `\x5c` where it would read
/// as such an escape.
#[derive(Clone, Copy)]
pub(crate) struct Escaped<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            let text = chunk.valid();
            let mut written = 0;
            for (start, _) in text.match_indices('\\') {
                if text.get(start..).is_some_and(is_escape) {
                    f.write_str(text.get(written..start).unwrap_or_default())?;
                    f.write_str("\\x5c")?;
                    written = start.saturating_add(1);
                }
            }
            f.write_str(text.get(written..).unwrap_or_default())?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        fmt::Display::fmt(&self.0.escape_ascii(), f)?;
        f.write_char('"')
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Escaped<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whether text begins as an escape does.
fn is_escape(text: &str) -> bool {
    matches!(text.as_bytes(), [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn loses_nothing() {
        assert_eq!(Escaped(b"caf\xc3\xa9 \xff C:\\x \\x41").to_string(), r"café \xff C:\x \x5cx41");
        assert_eq!(Escaped(b"\\x41\\x42").to_string(), r"\x5cx41\x5cx42");
    }
}
