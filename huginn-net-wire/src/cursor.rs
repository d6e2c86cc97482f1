//! A bounds-checked reader of wire bytes.

/// Reads bytes in order with bounds checks. A failed read does not advance the cursor.
///
/// ```
/// use huginn_net_wire::Cursor;
///
/// let mut cursor = Cursor::new(&[0x00, 0x50, 0xff]);
/// assert_eq!(cursor.u16_be(), Ok(80));
/// let error = cursor.u16_be().unwrap_err();
/// assert_eq!((error.offset, error.needed, error.left), (2, 2, 1));
/// assert_eq!(cursor.rest(), [0xff]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// Length of the input.
    len: usize,
}

/// Error of a read beyond the end of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("truncated at offset {offset}: {needed} bytes needed, {left} left")]
pub struct Truncated {
    /// Offset of the read from the start of the input, in bytes.
    pub offset: usize,
    /// Bytes needed.
    pub needed: usize,
    /// Bytes left.
    pub left: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// Returns the number of bytes read so far.
    pub const fn position(&self) -> usize {
        self.len.saturating_sub(self.rest.len())
    }

    /// Returns the number of bytes left.
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether no byte is left.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the bytes left, without advancing.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the next byte, without advancing.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads the next `len` bytes.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left, as in every other read.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Truncated> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(|| self.truncated(len))?;
        self.rest = rest;
        Ok(head)
    }

    /// Skips the next `len` bytes.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn skip(&mut self, len: usize) -> Result<(), Truncated> {
        self.take(len).map(|_| ())
    }

    /// Reads the next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(|| self.truncated(N))?;
        self.rest = rest;
        Ok(*head)
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`Truncated`] if none is left.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        self.array().map(u8::from_be_bytes)
    }

    /// Reads two bytes, most significant first.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn u16_be(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads two bytes, least significant first.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn u16_le(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads three bytes, most significant first.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn u24_be(&mut self) -> Result<u32, Truncated> {
        self.array().map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// Reads four bytes, most significant first.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn u32_be(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads four bytes, least significant first.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn u32_le(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, most significant first.
    ///
    /// # Errors
    /// [`Truncated`] if fewer are left.
    #[inline]
    pub fn u64_be(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads an integer of QUIC, of 1, 2, 4 or 8 bytes (RFC 9000, section 16).
    ///
    /// ```
    /// use huginn_net_wire::Cursor;
    ///
    /// let mut cursor = Cursor::new(&[0x25, 0x7b, 0xbd, 0x80]);
    /// assert_eq!((cursor.varint(), cursor.varint()), (Ok(37), Ok(15_293)));
    /// assert!(cursor.varint().is_err());
    /// assert_eq!(cursor.rest(), [0x80]);
    /// ```
    ///
    /// # Errors
    /// [`Truncated`] if fewer bytes are left.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Truncated> {
        let len = 1_usize << (self.peek().ok_or_else(|| self.truncated(1))? >> 6);
        let (first, rest) = self.take(len)?.split_first().unwrap_or((&0, &[]));
        Ok(rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }

    /// Takes bytes after their length, which is an integer of QUIC.
    ///
    /// # Errors
    /// [`Truncated`] if fewer bytes are left.
    #[inline]
    pub fn varint_bytes(&mut self) -> Result<&'a [u8], Truncated> {
        let len = self.varint()?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }

    #[cold]
    fn truncated(&self, needed: usize) -> Truncated {
        Truncated { offset: self.position(), needed, left: self.rest.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_and_in_both_byte_orders() {
        let bytes: Vec<u8> = (1..=25).collect();
        let mut cursor = Cursor::new(&bytes);
        assert_eq!(cursor.peek(), Some(1));
        assert_eq!(cursor.u8(), Ok(1));
        assert_eq!(cursor.u16_be(), Ok(0x0203));
        assert_eq!(cursor.u16_le(), Ok(0x0504));
        assert_eq!(cursor.u24_be(), Ok(0x0006_0708));
        assert_eq!(cursor.u32_be(), Ok(0x090a_0b0c));
        assert_eq!(cursor.u32_le(), Ok(0x100f_0e0d));
        assert_eq!(cursor.position(), 16);
        assert_eq!(cursor.u64_be(), Ok(0x1112_1314_1516_1718));
        assert_eq!((cursor.remaining(), cursor.rest()), (1, &[25][..]));
        assert_eq!(cursor.skip(1), Ok(()));
        assert!(cursor.is_empty());
        assert_eq!(cursor.peek(), None);
        assert_eq!(cursor.take(0), Ok(&[][..]));
    }

    #[test]
    fn failed_read_does_not_advance() {
        let mut cursor = Cursor::new(&[1, 2, 3]);
        assert_eq!(cursor.u8(), Ok(1));
        let error = Truncated { offset: 1, needed: 4, left: 2 };
        assert_eq!(cursor.u32_be(), Err(error));
        assert_eq!(cursor.take(usize::MAX), Err(Truncated { needed: usize::MAX, ..error }));
        assert_eq!(cursor.take(2), Ok(&[2, 3][..]));
    }
}
