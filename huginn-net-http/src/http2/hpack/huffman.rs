//! The Huffman code of string literals (RFC 7541, section 5.2 and appendix B).

use super::HpackError;

/// Bits of the longest code.
pub(super) const MAX_CODE_BITS: usize = 30;

/// The codes of one length in bits. The code is canonical: codes of one length are consecutive, and numerically below
/// the prefixes of longer codes.
struct Row {
    bits: u32,
    first: u32,
    symbols: &'static [u8],
}

/// The symbol after the last row is EOS.
const ROWS: [Row; 21] = [
    row(5, 0x0, b"012aceiost"),
    row(6, 0x14, b" %-./3456789=A_bdfghlmnpru"),
    row(7, 0x5c, b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    row(8, 0xf8, b"&*,;XZ"),
    row(10, 0x3f8, b"!\"()?"),
    row(11, 0x7fa, b"'+|"),
    row(12, 0xffa, b"#>"),
    row(13, 0x1ff8, b"\0$@[]~"),
    row(14, 0x3ffc, b"^}"),
    row(15, 0x7ffc, b"<`{"),
    row(19, 0x7fff0, b"\\\xc3\xd0"),
    row(20, 0xfffe6, b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2"),
    row(21, 0x1fffdc, b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6"),
    row(
        22,
        0x3fffd2,
        b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9",
    ),
    row(
        23,
        0x7fffd8,
        b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\xbf\
        \xc5\xe7\xef",
    ),
    row(24, 0xffffea, b"\t\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed"),
    row(25, 0x1ffffec, b"\xc7\xcf\xea\xeb"),
    row(26, 0x3ffffe0, b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff"),
    row(27, 0x7ffffde, b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe"),
    row(
        28,
        0xfffffe2,
        b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\
        \x7f\xdc\xf9",
    ),
    row(30, 0x3ffffffc, b"\n\r\x16"),
];

const fn row(bits: u32, first: u32, symbols: &'static [u8]) -> Row {
    Row { bits, first, symbols }
}

/// Appends the decoded string: at most 8 bytes for each 5 bytes of input.
///
/// # Errors
/// [`HpackError`] if the string contains EOS, or padding other than up to 7 one bits.
pub(super) fn decode(bytes: &[u8], string: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut bits = Bits { bytes, buffered: 0, count: 0 };
    loop {
        bits.fill();
        if bits.is_padding() {
            return Ok(());
        }
        let (symbol, len) = symbol(bits.window()).ok_or(HpackError::Huffman)?;
        bits.drop(len)?;
        string.push(symbol);
    }
}

/// The symbol at the start of these 32 bits and the length of its code; `None` for EOS.
fn symbol(window: u32) -> Option<(u8, u32)> {
    ROWS.iter().find_map(|row| {
        let code = window >> 32_u32.saturating_sub(row.bits);
        let index = usize::try_from(code.checked_sub(row.first)?).ok()?;
        Some((*row.symbols.get(index)?, row.bits))
    })
}

/// Unread bits, left-aligned in `buffered` and followed by ones.
struct Bits<'a> {
    bytes: &'a [u8],
    buffered: u64,
    count: u32,
}

impl Bits<'_> {
    fn fill(&mut self) {
        while self.count <= 56 {
            let Some((byte, rest)) = self.bytes.split_first() else { return };
            self.buffered |= u64::from(*byte) << 56_u32.saturating_sub(self.count);
            self.count = self.count.saturating_add(8);
            self.bytes = rest;
        }
    }

    fn is_padding(&self) -> bool {
        self.count < 8 && self.buffered.leading_ones() == self.count
    }

    /// The next 32 bits, zero-padded at the end.
    fn window(&self) -> u32 {
        u32::try_from(self.buffered >> 32).unwrap_or_default()
    }

    fn drop(&mut self, len: u32) -> Result<(), HpackError> {
        self.count = self.count.checked_sub(len).ok_or(HpackError::Huffman)?;
        self.buffered <<= len;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut string = Vec::new();
        decode(bytes, &mut string).map(|()| string)
    }

    #[test]
    fn code_is_canonical_and_complete() {
        let mut next = 0;
        let mut bits = 5;
        for row in &ROWS {
            next <<= row.bits - bits;
            assert_eq!((row.first, row.symbols.is_sorted()), (next, true), "{} bits", row.bits);
            next += u32::try_from(row.symbols.len()).unwrap();
            bits = row.bits;
        }
        assert_eq!((next, bits), (0x3fff_ffff, 30), "the end of string is the last code");
        let mut symbols: Vec<u8> = ROWS.iter().flat_map(|row| row.symbols).copied().collect();
        symbols.sort_unstable();
        assert_eq!(symbols, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn decodes_code_of_each_symbol() {
        for row in &ROWS {
            for (symbol, code) in row.symbols.iter().zip(row.first..) {
                let buffered = (u64::from(code) << (64 - row.bits)) | (u64::MAX >> row.bits);
                let bytes = &buffered.to_be_bytes()[..usize::try_from(row.bits).unwrap().div_ceil(8)];
                assert_eq!(decoded(bytes), Ok(vec![*symbol]));
            }
        }
    }

    #[test]
    fn rejects_invalid_strings() {
        for bytes in [
            &[0xff, 0xff, 0xff, 0xff][..], // the end of string
            &[0xff],                       // eight bits of padding
            &[0x1f, 0xff],                 // "a" and more than seven
            &[0x18],                       // "a", padding of zeros
            &[0xff, 0xff, 0xff, 0xf0],     // a code cut short
        ] {
            assert_eq!(decoded(bytes), Err(HpackError::Huffman), "{bytes:02x?}");
        }
        assert_eq!(decoded(&[]), Ok(vec![]));
        assert_eq!(decoded(&[0x1f]), Ok(b"a".to_vec()));
    }
}
