//! Numbers as text, without the cost of formatting.

/// Appends numbers as four hexadecimal digits each, with commas between them.
pub(super) fn push_list(text: &mut Vec<u8>, numbers: &[u16]) {
    let start = text.len();
    text.resize(start.saturating_add(numbers.len().saturating_mul(5)), b',');
    let places = text.get_mut(start..).unwrap_or_default().chunks_exact_mut(5);
    for (place, number) in places.zip(numbers) {
        if let Some((digits, _comma)) = place.split_first_chunk_mut() {
            *digits = digits_of(*number);
        }
    }
    if !numbers.is_empty() {
        text.pop();
    }
}

/// The numbers of lists as they are written, with commas or underscores between them.
pub(super) fn numbers(lists: &[u8]) -> Vec<u16> {
    let value = |digits: &[u8]| {
        digits
            .iter()
            .fold(0, |value: u16, digit| value << 4 | u16::from(value_of(*digit).unwrap_or_default()))
    };
    lists.split(|byte| matches!(byte, b'_' | b',')).filter(|digits| !digits.is_empty()).map(value).collect()
}

/// The four digits of a number, all at once: a digit is a byte of a word.
pub(crate) fn digits_of(number: u16) -> [u8; 4] {
    let number = u32::from(number);
    let bytes = ((number & 0xff00) << 8) | (number & 0x00ff);
    let nibbles = ((bytes & 0x00f0_00f0) << 4) | (bytes & 0x000f_000f);
    let is_letter = (nibbles.wrapping_add(0x0606_0606) >> 4) & 0x0101_0101;
    let to_letter = is_letter.wrapping_mul(u32::from(b'a' - b'0' - 10));
    nibbles.wrapping_add(0x3030_3030).wrapping_add(to_letter).to_be_bytes()
}

/// The value of a digit in lower case.
pub(super) const fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a' - 10)),
        _ => None,
    }
}

/// The digit of a value below 16.
pub(crate) const fn digit(value: u8) -> u8 {
    if value < 10 { value.wrapping_add(b'0') } else { value.wrapping_add(b'a' - 10) }
}

#[cfg(test)]
mod tests {
    use super::{digit, digits_of, push_list, value_of};

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for number in 0..=u16::MAX {
            assert_eq!(digits_of(number), format!("{number:04x}").as_bytes(), "{number}");
        }
        for value in 0..16 {
            assert_eq!(value_of(digit(value)), Some(value));
        }
        assert_eq!((value_of(b'A'), value_of(b'g'), value_of(b'/')), (None, None, None));
    }

    #[test]
    fn lists_have_commas_between_their_numbers_only() {
        let list = |numbers: &[u16]| {
            let mut text = b"_".to_vec();
            push_list(&mut text, numbers);
            String::from_utf8(text).unwrap()
        };
        assert_eq!([list(&[]), list(&[0x1301]), list(&[0x000a, 0xff01])], ["_", "_1301", "_000a,ff01"]);
    }
}
