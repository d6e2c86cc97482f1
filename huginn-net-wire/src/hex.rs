//! Hexadecimal digits.

use std::{fmt, str};

/// Displays bytes as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(huginn_net_wire::HexDigits(&[0x0a, 0xff]).to_string(), "0aff");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HexDigits<'a>(pub &'a [u8]);

impl fmt::Display for HexDigits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chunks(32).try_for_each(|bytes| {
            let mut digits = [[0; 2]; 32];
            digits.iter_mut().zip(bytes).for_each(|(pair, byte)| *pair = byte_digits(*byte));
            let digits = digits.as_flattened().get(..bytes.len().saturating_mul(2)).unwrap_or_default();
            f.write_str(str::from_utf8(digits).unwrap_or_default())
        })
    }
}

/// Returns the two lower-case hexadecimal digits of a byte.
#[inline]
pub fn byte_digits(byte: u8) -> [u8; 2] {
    DIGITS.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Returns the four lower-case hexadecimal digits of a number, without the cost of formatting.
///
/// ```
/// assert_eq!(&huginn_net_wire::number_digits(0x0a1f), b"0a1f");
/// ```
#[inline]
pub fn number_digits(number: u16) -> [u8; 4] {
    let [[a, b], [c, d]] = number.to_be_bytes().map(byte_digits);
    [a, b, c, d]
}

#[expect(clippy::indexing_slicing, reason = "evaluated and checked at compile time")]
static DIGITS: [[u8; 2]; 256] = {
    let mut digits = [[0; 2]; 256];
    let mut byte = 0_u8;
    loop {
        digits[byte as usize] = [digit(byte >> 4), digit(byte & 0x0f)];
        match byte.checked_add(1) {
            Some(next) => byte = next,
            None => break digits,
        }
    }
};

/// Returns the lower-case hexadecimal digits of an MD5.
///
/// ```
/// use huginn_net_wire::{md5_digits, md5_from_digits};
///
/// let digits = md5_digits([0x0a; 16]);
/// assert_eq!(&digits, b"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a");
/// assert_eq!(md5_from_digits("0A0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"), Some([0x0a; 16]));
/// assert_eq!(md5_from_digits("+a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"), None);
/// ```
#[inline]
pub fn md5_digits(hash: [u8; 16]) -> [u8; 32] {
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(hash) {
        pair.copy_from_slice(&byte_digits(byte));
    }
    digits
}

/// Parses the 32 hexadecimal digits of an MD5, in either case.
pub fn md5_from_digits(text: &str) -> Option<[u8; 16]> {
    // `from_str_radix` would accept a sign.
    let is_hash = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hash);
    number.map(u128::to_be_bytes)
}

/// Returns the lower-case hexadecimal digit of a number below 16.
pub const fn digit(number: u8) -> u8 {
    if number < 10 { number.wrapping_add(b'0') } else { number.wrapping_add(b'a' - 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_match_standard_library() {
        for number in 0..=u16::MAX {
            assert_eq!(number_digits(number), format!("{number:04x}").as_bytes(), "{number}");
        }
        for len in [0, 1, 31, 32, 33, 200] {
            let bytes: Vec<u8> = (0..len).collect();
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(HexDigits(&bytes).to_string(), digits);
        }
    }
}
