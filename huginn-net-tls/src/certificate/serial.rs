//! Serial numbers (RFC 5280, section 4.1.2.2).

use huginn_net_wire::HexDigits;

use crate::limits::MAX_SERIAL_LEN;

/// The hexadecimal digits of an integer in two's complement, most significant byte first.
pub(super) fn text(bytes: &[u8]) -> Option<Box<str>> {
    if bytes.is_empty() || bytes.len() > MAX_SERIAL_LEN {
        return None;
    }
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let magnitude = if is_negative { negated(bytes) } else { bytes.to_vec() };
    let zeros = magnitude.iter().take_while(|byte| **byte == 0).count();
    let digits = magnitude.get(zeros..).filter(|digits| !digits.is_empty()).unwrap_or(&[0]);
    let sign = if is_negative { "-" } else { "" };
    Some(format!("{sign}{}", HexDigits(digits)).into())
}

fn negated(bytes: &[u8]) -> Vec<u8> {
    let mut carry = true;
    let mut negated: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    for byte in negated.iter_mut().rev() {
        (*byte, carry) = byte.overflowing_add(carry.into());
    }
    negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_matches_openssl() {
        // Reference: `serial` of OpenSSL 3.0's `x509 -serial`, in lower case.
        for (bytes, wanted) in [
            (&[0][..], Some("00")),
            (&[1], Some("01")),
            (&[0, 0xff], Some("ff")),
            (&[0xff], Some("-01")),
            (&[0x80, 0], Some("-8000")),
            (&[0xff, 0], Some("-0100")),
            (&[0x12; 64], Some(&"12".repeat(64))),
            (&[0x12; 65], None),
            (&[], None),
        ] {
            assert_eq!(text(bytes).as_deref(), wanted, "{bytes:02x?}");
        }
    }
}
