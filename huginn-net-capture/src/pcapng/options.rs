//! The options of a block.

use crate::byte_order::ByteOrder;
use crate::error::{Defect, ReadError};
use huginn_net_core::Cursor;

const END_OF_OPTIONS: u16 = 0;

/// Reads the options of a block up to the end marker.
pub(super) struct Options<'a> {
    order: ByteOrder,
    rest: Cursor<'a>,
}

/// One option.
pub(super) struct BlockOption<'a> {
    pub(super) code: u16,
    pub(super) value: &'a [u8],
    /// Bytes of the block from the value on.
    left: usize,
}

impl<'a> Options<'a> {
    /// Options at the end of a block: `rest` ends before the repeated length.
    pub(super) fn new(order: ByteOrder, rest: Cursor<'a>) -> Self {
        Self { order, rest }
    }

    /// Reads the next option. Returns `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<BlockOption<'a>>, ReadError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let code = self.order.u16(&mut self.rest)?;
        let len = self.order.u16(&mut self.rest)?;
        let left = self.rest.remaining();
        let Ok(value) = self.rest.take(usize::from(len)) else {
            return Err(Defect::OptionLength { code, len, left }.into());
        };
        if code == END_OF_OPTIONS {
            return Ok(None);
        }
        // The last option may lack its padding.
        let padding = usize::from(len.wrapping_neg() & 3).min(self.rest.remaining());
        self.rest.skip(padding)?;
        Ok(Some(BlockOption { code, value, left }))
    }
}

impl<'a> BlockOption<'a> {
    /// The value, if it has this length.
    pub(super) fn array<const N: usize>(&self) -> Result<[u8; N], Defect> {
        self.value.try_into().map_err(|_| Defect::OptionLength {
            code: self.code,
            len: u16::try_from(self.value.len()).unwrap_or(u16::MAX),
            left: self.left,
        })
    }
}
