//! Bytes from the wire as text.

use std::fmt::{self, Write};

/// Displays bytes as text, losing nothing: UTF-8 as it stands, any other byte as `\xNN`, and `\` as `\x5c` where it
/// would be taken for such an escape. The alternate form, `{:#}`, which is safe to show on a terminal, escapes control
/// characters too.
///
/// ```
/// use huginn_net::Escaped;
///
/// assert_eq!(Escaped(b"caf\xc3\xa9 \xff C:\\x \\x41").to_string(), r"café \xff C:\x \x5cx41");
/// assert_eq!(format!("{:#}", Escaped(b"\x1b[2J")), r"\x1b[2J");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controls = f.alternate();
        for chunk in self.0.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(character) = rest.chars().next() {
                if character == '\\' && is_escape(rest) || controls && character.is_control() {
                    write_bytes(f, character.encode_utf8(&mut [0; 4]).as_bytes())?;
                } else {
                    f.write_char(character)?;
                }
                rest = rest.strip_prefix(character).unwrap_or_default();
            }
            write_bytes(f, chunk.invalid())?;
        }
        Ok(())
    }
}

/// Whether text begins as an escape does.
fn is_escape(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next() == Some(b'\\')
        && bytes.next() == Some(b'x')
        && bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())
        && bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())
}

fn write_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))
}
