//! The byte order that a capture declares.

use huginn_net_core::{Cursor, Truncated};

/// The byte order of multi-byte numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    #[inline]
    pub(super) fn u16(self, cursor: &mut Cursor<'_>) -> Result<u16, Truncated> {
        match self {
            Self::Little => cursor.u16_le(),
            Self::Big => cursor.u16_be(),
        }
    }

    /// Reads a number of four bytes.
    #[inline]
    pub(super) fn number(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn u32(self, cursor: &mut Cursor<'_>) -> Result<u32, Truncated> {
        match self {
            Self::Little => cursor.u32_le(),
            Self::Big => cursor.u32_be(),
        }
    }
}
