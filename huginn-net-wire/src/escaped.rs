//! Bytes from the wire as text.

use std::fmt;
use std::str;

/// Displays bytes as text without loss: valid UTF-8 unchanged, any other byte as `\xNN`, and `\` as `\x5c` if it
/// would start such an escape. The alternate form, `{:#}`, also escapes control characters and bidirectional
/// controls, so that the text is safe on a terminal.
///
/// ```
/// use huginn_net_wire::Escaped;
///
/// assert_eq!(Escaped(b"caf\xc3\xa9 \xff C:\\x \\x41").to_string(), r"café \xff C:\x \x5cx41");
/// assert_eq!(format!("{:#}", Escaped(b"\x1b[2J")), r"\x1b[2J");
/// assert_eq!(format!("{:#}", Escaped("a\u{202e}b\u{9b}".as_bytes())), r"a\xe2\x80\xaeb\xc2\x9b");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alternate = f.alternate();
        if !alternate && self.0.iter().fold(true, |plain, byte| plain & (*byte < 0x80) & (*byte != b'\\')) {
            return f.write_str(str::from_utf8(self.0).map_err(|_| fmt::Error)?);
        }
        for chunk in self.0.utf8_chunks() {
            let text = chunk.valid();
            let mut written = 0;
            for (start, character) in text.char_indices() {
                let is_plain = match character {
                    '\\' => !text.get(start..).is_some_and(is_escape),
                    _ => !alternate || !is_control(character),
                };
                if !is_plain {
                    f.write_str(text.get(written..start).unwrap_or_default())?;
                    write_bytes(f, character.encode_utf8(&mut [0; 4]).as_bytes())?;
                    written = start.saturating_add(character.len_utf8());
                }
            }
            f.write_str(text.get(written..).unwrap_or_default())?;
            write_bytes(f, chunk.invalid())?;
        }
        Ok(())
    }
}

/// Whether a terminal would interpret a character: a control character or a bidirectional control (Unicode Standard
/// Annex 9, section 2).
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether text starts with an escape.
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
