//! Hexadecimal numbers without the cost of formatting.

use huginn_net_wire::number_digits;

/// A comma-separated list of four-digit hexadecimal numbers under construction.
pub(super) struct List<'a> {
    text: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> List<'a> {
    /// Starts a list after a `_`.
    pub(super) fn new(text: &'a mut Vec<u8>) -> Self {
        text.push(b'_');
        let start = text.len();
        Self { text, start }
    }

    #[inline]
    pub(super) fn push(&mut self, number: u16) {
        let [a, b, c, d] = number_digits(number);
        self.text.extend_from_slice(&[a, b, c, d, b',']);
    }

    /// Finishes the list and returns its number of elements.
    pub(super) fn end(self) -> usize {
        let numbers = self.text.len().saturating_sub(self.start) / 5;
        if numbers > 0 {
            self.text.pop();
        }
        numbers
    }
}

/// Length of a list with this many numbers, in characters.
pub(super) const fn list_len(numbers: usize) -> usize {
    numbers.saturating_mul(5).saturating_sub(1)
}

/// Overwrites the numbers of a list.
pub(super) fn overwrite_list(text: &mut [u8], numbers: impl Iterator<Item = u16>) {
    for (target, number) in text.chunks_mut(5).zip(numbers) {
        if let Some(digits) = target.first_chunk_mut() {
            *digits = number_digits(number);
        }
    }
}

/// Parses the numbers of lists separated by commas or underscores.
pub(super) fn numbers(lists: &[u8]) -> Vec<u16> {
    let value = |digits: &[u8]| {
        digits
            .iter()
            .fold(0, |value: u16, digit| value << 4 | u16::from(hex_value(*digit).unwrap_or_default()))
    };
    lists.split(|byte| matches!(byte, b'_' | b',')).filter(|digits| !digits.is_empty()).map(value).collect()
}

/// The value of a lower-case digit.
pub(super) const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a' - 10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use huginn_net_wire::hex_digit;

    use super::{List, hex_value, list_len};

    #[test]
    fn values_are_those_of_digits() {
        for value in 0..16 {
            assert_eq!(hex_value(hex_digit(value)), Some(value));
        }
        assert_eq!((hex_value(b'A'), hex_value(b'g'), hex_value(b'/')), (None, None, None));
    }

    #[test]
    fn lists_have_no_trailing_comma() {
        let list = |numbers: &[u16]| {
            let mut text = Vec::new();
            let mut list = List::new(&mut text);
            numbers.iter().for_each(|number| list.push(*number));
            assert_eq!((list.end(), list_len(numbers.len())), (numbers.len(), text.len() - 1));
            String::from_utf8(text).unwrap()
        };
        assert_eq!([list(&[]), list(&[0x1301]), list(&[0x000a, 0xff01])], ["_", "_1301", "_000a,ff01"]);
    }
}
