//! Hexadecimal digits.

use std::fmt::{self, Write};

/// Displays bytes as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(huginn_net_wire::HexDigits(&[0x0a, 0xff]).to_string(), "0aff");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HexDigits<'a>(pub &'a [u8]);

impl fmt::Display for HexDigits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)]);
        digits.map(char::from).try_for_each(|digit| f.write_char(digit))
    }
}

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
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0x0f)]);
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

/// Returns the digit of a number below 16.
pub(crate) fn digit(nibble: u8) -> u8 {
    b"0123456789abcdef".get(usize::from(nibble)).copied().unwrap_or_default()
}
