//! Decimal numbers without the cost of formatting.

use std::array;
use std::sync::LazyLock;

/// A number in decimal digits with a trailing `-`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal {
    /// The text, padded to eight bytes, so that one copy suffices.
    pub(crate) bytes: [u8; 8],
}

/// Maximum text length, in bytes.
const MAX_LEN: usize = 6;

impl Decimal {
    /// Computes all digits at once: each byte of a word is a digit, the lowest one first.
    fn from_u16(number: u16) -> Self {
        let number = u32::from(number);
        let (first, rest) = (number / 10_000, number % 10_000);
        let pairs = (rest / 100) | (rest % 100) << 16;
        // Divides both bytes by ten: 103 / 1024 is exact enough below 100.
        let tens = (pairs.wrapping_mul(103) >> 10) & 0x000f_000f;
        let ones = pairs.wrapping_sub(tens.wrapping_mul(10));
        let values = u64::from(first) | u64::from(tens | ones << 8) << 8;
        // Keeps the last digit even if it is zero.
        let zeros = (values | 1 << 32).trailing_zeros() / 8;
        let word = values | u64::from_le_bytes(*b"00000-\0\0");
        let mut bytes = word.wrapping_shr(zeros.wrapping_mul(8)).to_le_bytes();
        let [.., len] = &mut bytes;
        *len =
            u8::try_from(MAX_LEN).unwrap_or_default().wrapping_sub(u8::try_from(zeros).unwrap_or_default());
        Self { bytes }
    }

    /// Length of the text with the `-`.
    pub(crate) fn len(self) -> usize {
        let [.., len] = self.bytes;
        usize::from(len)
    }

    pub(crate) fn digits(&self) -> &[u8] {
        self.bytes.get(..self.len().saturating_sub(1)).unwrap_or_default()
    }
}

/// The high bytes of almost all cipher suites (IANA, "TLS Cipher Suites"), extensions and groups in hellos.
const PAGES: [u8; 4] = [0x00, 0x13, 0xc0, 0xcc];

/// A table of the texts of numbers with these high bytes.
pub(crate) struct Decimals {
    /// The page of each high byte.
    page_of: [u8; 256],
    pages: [[Decimal; 256]; PAGES.len()],
}

impl Decimals {
    pub(crate) fn shared() -> &'static Self {
        static DECIMALS: LazyLock<Decimals> = LazyLock::new(Decimals::new);
        &DECIMALS
    }

    fn new() -> Self {
        let byte = |position| u8::try_from(position).unwrap_or(u8::MAX);
        let page = |high: u8| array::from_fn(|low| Decimal::from_u16(u16::from_be_bytes([high, byte(low)])));
        let page_of =
            |high: usize| PAGES.into_iter().position(|page| usize::from(page) == high).map_or(u8::MAX, byte);
        Self { page_of: array::from_fn(page_of), pages: PAGES.map(page) }
    }

    /// The text of a number.
    #[inline]
    pub(crate) fn get(&self, number: u16) -> Decimal {
        let [high, low] = number.to_be_bytes().map(usize::from);
        let page = self.page_of.get(high).and_then(|page| self.pages.get(usize::from(*page)));
        page.and_then(|page| page.get(low)).map_or_else(|| Decimal::from_u16(number), |written| *written)
    }
}

#[cfg(test)]
mod tests {
    use super::Decimals;

    #[test]
    fn numbers_match_standard_library() {
        for number in 0..=u16::MAX {
            let written = Decimals::shared().get(number);
            assert_eq!(std::str::from_utf8(written.digits()), Ok(number.to_string().as_str()));
            assert_eq!(written.bytes[written.len() - 1], b'-');
        }
    }
}
