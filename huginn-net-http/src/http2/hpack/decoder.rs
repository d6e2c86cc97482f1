//! HPACK field blocks (RFC 7541, sections 3 and 6).

use huginn_net_wire::{Cursor, Truncated};

use super::table::{DynamicTable, field_size};
use super::{huffman, integer};
use crate::limits::{MAX_FIELD_LIST_SIZE, MAX_HPACK_MEAN_SIZE, MAX_HPACK_RATIO, MAX_HPACK_TABLE_SIZE};

/// Decodes the field blocks of one side of a connection; each must be complete and in order.
///
/// The encoder announces the size of its table before it uses it (RFC 7541, section 4.2), so the peer's setting, which
/// only allows it, is not needed.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
    /// Decoded bytes still allowed for the blocks so far.
    budget: usize,
}

/// An invalid field block. Later blocks cannot be decoded either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HpackError {
    /// The block ends within a field.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// A number exceeds 32 bits.
    #[error("an integer of more than 32 bits")]
    Integer,
    /// A string contains the EOS symbol or invalid padding.
    #[error("a string that is not in the Huffman code")]
    Huffman,
    /// An index is in neither table.
    #[error("no field has the index {0}")]
    Index(u32),
    /// The table size exceeds the limit.
    #[error("a table of {0} bytes: the largest that is kept has {MAX_HPACK_TABLE_SIZE}")]
    TableSize(u32),
    /// The decoded fields exceed the limits against decompression bombs.
    #[error("a list of over {MAX_FIELD_LIST_SIZE} bytes of fields, or too many long lists in short blocks")]
    ListSize,
}

impl Decoder {
    pub(crate) const fn new() -> Self {
        Self { table: DynamicTable::new(), budget: MAX_FIELD_LIST_SIZE }
    }

    /// Memory of the table, in bytes.
    pub(crate) const fn buffered_bytes(&self) -> usize {
        self.table.size()
    }

    /// Decodes a block and emits the name and value of each field.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let Self { table, budget } = self;
        let literal_size = block.len().saturating_mul(2);
        let mean_size =
            block.len().saturating_mul(MAX_HPACK_RATIO).min(MAX_HPACK_MEAN_SIZE).max(literal_size);
        *budget = budget.saturating_add(mean_size);
        let mut block = Cursor::new(block);
        let mut literal = Literal::default();
        let mut left = MAX_FIELD_LIST_SIZE;
        let mut each = |name: &[u8], value: &[u8]| {
            let size = field_size(name, value);
            left = left.checked_sub(size).ok_or(HpackError::ListSize)?;
            *budget = budget.checked_sub(size).ok_or(HpackError::ListSize)?;
            each(name, value);
            Ok::<_, HpackError>(())
        };
        while let Some(first) = block.peek() {
            match first {
                0x80.. => {
                    let index = integer::read(&mut block, 7)?;
                    let (name, value) = table.field(index).ok_or(HpackError::Index(index))?;
                    each(name, value)?;
                }
                0x20..0x40 => {
                    let size = integer::read(&mut block, 5)?;
                    if size > MAX_HPACK_TABLE_SIZE {
                        return Err(HpackError::TableSize(size));
                    }
                    table.set_max_size(usize::try_from(size).unwrap_or_default());
                }
                _ => {
                    let is_added = first >= 0x40;
                    literal.read(&mut block, if is_added { 6 } else { 4 }, table)?;
                    each(&literal.name, &literal.value)?;
                    if is_added {
                        table.add(&literal.name, &literal.value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A literal field, whose name may be an index (RFC 7541, section 6.2).
#[derive(Default)]
struct Literal {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Literal {
    fn read(&mut self, block: &mut Cursor<'_>, prefix: u32, table: &DynamicTable) -> Result<(), HpackError> {
        match integer::read(block, prefix)? {
            0 => read_string(block, &mut self.name)?,
            index => {
                let (name, _) = table.field(index).ok_or(HpackError::Index(index))?;
                self.name.clear();
                self.name.extend_from_slice(name);
            }
        }
        read_string(block, &mut self.value)
    }
}

/// Reads a string literal (RFC 7541, section 5.2).
fn read_string(block: &mut Cursor<'_>, string: &mut Vec<u8>) -> Result<(), HpackError> {
    let huffman = block.peek().is_some_and(|first| first & 0x80 != 0);
    let len = integer::read(block, 7)?;
    let bytes = block.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    string.clear();
    if huffman {
        return huffman::decode(bytes, string);
    }
    string.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests;
