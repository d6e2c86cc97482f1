//! HPACK integers with a prefix (RFC 7541, section 5.1).

use huginn_net_wire::Cursor;

use super::HpackError;

/// Value bits of a continuation byte.
const GROUP: u32 = 7;
/// The last shift at which a group fits in 32 bits.
const MAX_SHIFT: u32 = 28;

/// Reads a number whose first byte contains its `prefix` lowest bits, 1 to 8.
pub(crate) fn read(bytes: &mut Cursor<'_>, prefix: u32) -> Result<u32, HpackError> {
    let mask = 0xff_u8 >> 8_u32.saturating_sub(prefix);
    let first = bytes.u8()? & mask;
    if first < mask {
        return Ok(first.into());
    }
    let mut number = u32::from(first);
    let mut shift = 0;
    loop {
        let byte = bytes.u8()?;
        let group = u32::from(byte & 0x7f);
        let shifted = group.checked_shl(shift).filter(|shifted| shifted >> shift == group);
        number = shifted.and_then(|shifted| number.checked_add(shifted)).ok_or(HpackError::Integer)?;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
        if shift == MAX_SHIFT {
            return Err(HpackError::Integer);
        }
        shift = shift.saturating_add(GROUP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.1, and numbers beyond 32 bits.
    #[test]
    fn decodes_rfc7541_integers() {
        for (bytes, prefix, number) in [
            (&[0x0a][..], 5, Some(10)),
            (&[0xea], 5, Some(10)),
            (&[0x1f, 0x9a, 0x0a], 5, Some(1337)),
            (&[0x2a], 7, Some(42)),
            (&[0x7f, 0x00], 7, Some(127)),
            (&[0x7f, 0x80, 0xff, 0xff, 0xff, 0x0f], 7, Some(u32::MAX)),
            (&[0x7f, 0x81, 0xff, 0xff, 0xff, 0x0f], 7, None),
            (&[0x7f, 0x80, 0xff, 0xff, 0xff, 0x1f], 7, None),
            (&[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 7, None),
            (&[0x7f, 0x80], 7, None),
            (&[], 7, None),
        ] {
            assert_eq!(read(&mut Cursor::new(bytes), prefix).ok(), number, "{bytes:02x?}");
        }
    }
}
