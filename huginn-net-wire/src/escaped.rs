//! Bytes from the wire as text.

use std::fmt;
use std::str;

use crate::hex::digit;

/// Displays bytes as text without loss: valid UTF-8 unchanged, any other byte as `\xNN`, and `\` as `\x5c` if it
/// would start such an escape. The alternate form, `{:#}`, also escapes what is not [printable](is_printable), so that
/// the text is safe on a terminal.
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
        let ascii = if alternate { b' '..=b'~' } else { 0..=0x7f };
        if self.0.iter().fold(true, |plain, byte| plain & ascii.contains(byte) & (*byte != b'\\')) {
            return f.write_str(str::from_utf8(self.0).map_err(|_| fmt::Error)?);
        }
        for chunk in self.0.utf8_chunks() {
            let text = chunk.valid();
            let mut written = 0;
            for (start, character) in text.char_indices() {
                let is_plain = match character {
                    '\\' => !text.get(start..).is_some_and(is_escape),
                    _ => !alternate || is_printable(character),
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

/// Displays text with `\xNN` for the bytes of each character that is not [printable](is_printable), except line feeds
/// in the alternate form, `{:#}`. Other than by [`Escaped`], backslashes are left alone: escaping twice changes nothing.
///
/// ```
/// use huginn_net_wire::Printable;
///
/// let once = Printable("\x1b[2J \\x41").to_string();
/// assert_eq!(once, r"\x1b[2J \x41");
/// assert_eq!(Printable(&once).to_string(), once);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let keeps_lines = f.alternate();
        while let Some(at) = rest.find(|c| !(is_printable(c) || keeps_lines && c == '\n')) {
            let (before, after) = rest.split_at(at);
            f.write_str(before)?;
            let mut characters = after.chars();
            let escaped = characters.next().map_or(0, char::len_utf8);
            write_bytes(f, after.as_bytes().get(..escaped).unwrap_or_default())?;
            rest = characters.as_str();
        }
        f.write_str(rest)
    }
}

/// Whether a character is shown as itself, and leaves the characters around it alone. It is not if it is
/// - a control character (C0, DEL and C1), a line separator or a paragraph separator;
/// - a bidirectional control (Unicode Standard Annex 9, section 2), which reorders the text around it;
/// - invisible: zero-width characters, soft hyphens, annotation marks and tag characters, which hide text or make
///   different texts look equal.
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
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
    bytes.iter().try_for_each(|byte| {
        let text = [b'\\', b'x', digit(byte >> 4), digit(byte & 0x0f)];
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        let ranges = [
            '\0'..='\x1f',
            '\x7f'..='\u{9f}',
            '\u{61c}'..='\u{61c}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{2060}',
            '\u{2066}'..='\u{2069}',
            '\u{feff}'..='\u{feff}',
            '\u{e0000}'..='\u{e007f}',
        ];
        for character in ranges.into_iter().flatten() {
            let bytes: String = character.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            let text = format!("a{character}b");
            assert_eq!(format!("{:#}", Escaped(text.as_bytes())), format!("a{bytes}b"));
            assert_eq!(Printable(&text).to_string(), format!("a{bytes}b"));
        }
    }

    #[test]
    fn visible_text_is_unchanged() {
        let text = "a ~\u{a0}é ß 漢字 עברית عربي 😀 \u{e0100}";
        assert_eq!(format!("{:#}", Escaped(text.as_bytes())), text);
        assert_eq!(Printable(text).to_string(), text);
    }

    #[test]
    fn line_feeds_stay_in_messages_of_several_lines() {
        assert_eq!(format!("{:#}", Printable("a\n\tb")), "a\n\\x09b");
        assert_eq!(Printable("a\nb").to_string(), "a\\x0ab");
    }
}
