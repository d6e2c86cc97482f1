//! Escapes of JSON texts (RFC 8259, section 7).

/// Whether text needs no escape. Tests eight bytes per step; the last step may overlap the one before it.
pub(super) fn is_plain(text: &[u8]) -> bool {
    none_marked(text, marked)
}

/// Whether bytes are ASCII text that needs no escape.
pub(super) fn is_plain_ascii(bytes: &[u8]) -> bool {
    none_marked(bytes, |word| marked(word) | u64::from_ne_bytes(word) & HIGH)
}

/// Whether a function marks no byte. The filler of a short text is plain.
#[inline(always)]
fn none_marked(text: &[u8], marked: impl Fn([u8; WORD]) -> u64) -> bool {
    let Some(last) = text.last_chunk::<WORD>() else {
        let mut word = [b'a'; WORD];
        word.iter_mut().zip(text).for_each(|(filler, byte)| *filler = *byte);
        return marked(word) == 0;
    };
    let words = text.chunks_exact(WORD).filter_map(|word| word.try_into().ok());
    words.fold(marked(*last), |found, word| found | marked(word)) == 0
}

/// Number of bytes tested per step.
const WORD: usize = 8;

/// A word whose bytes are 1, and one whose bytes have the highest bit alone.
const ONES: u64 = u64::MAX / 0xff;
const HIGH: u64 = ONES << 7;

/// Returns a nonzero value if a byte of the word is a control character, a quotation mark or a backslash.
const fn marked(word: [u8; WORD]) -> u64 {
    let word = u64::from_ne_bytes(word);
    /// Marks the bytes below a limit; zero if no byte is below it.
    const fn below(word: u64, limit: u64) -> u64 {
        word.wrapping_sub(ONES.wrapping_mul(limit)) & !word & HIGH
    }
    let quotes = word ^ ONES.wrapping_mul(b'"' as u64);
    let backslashes = word ^ ONES.wrapping_mul(b'\\' as u64);
    below(word, 0x20) | below(quotes, 1) | below(backslashes, 1)
}

/// Appends text with its escapes.
pub(super) fn escape(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len());
    for word in text.chunks(WORD) {
        match word.try_into() {
            Ok(word) if marked(word) == 0 => out.extend_from_slice(&word),
            _ => word.iter().for_each(|byte| escape_byte(out, *byte)),
        }
    }
}

#[inline]
fn escape_byte(out: &mut Vec<u8>, byte: u8) {
    match ESCAPES.get(usize::from(byte)) {
        None | Some(0) => out.push(byte),
        Some(b'u') => {
            // Only bytes below 0x20 have this escape.
            let low = b"0123456789abcdef".get(usize::from(byte & 0x0f)).copied().unwrap_or_default();
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' | byte >> 4, low]);
        }
        Some(letter) => out.extend_from_slice(&[b'\\', *letter]),
    }
}

/// The letter of the escape of each byte (RFC 8259, section 7); 0 without an escape.
#[expect(clippy::indexing_slicing, reason = "evaluated and checked at compile time")]
static ESCAPES: [u8; 256] = {
    let mut letters = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        letters[control] = b'u';
        control = control.saturating_add(1);
    }
    letters[0x08] = b'b';
    letters[b'\t' as usize] = b't';
    letters[b'\n' as usize] = b'n';
    letters[0x0c] = b'f';
    letters[b'\r' as usize] = b'r';
    letters[b'"' as usize] = b'"';
    letters[b'\\' as usize] = b'\\';
    letters
};
