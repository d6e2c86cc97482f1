//! HPACK field blocks (RFC 7541, sections 3 and 6).

use std::mem;

use huginn_net_wire::{Cursor, Truncated};

use super::table::{DynamicTable, Name, field_size};
use super::{HpackError, huffman, integer};
use crate::limits::{MAX_FIELD_LIST_SIZE, MAX_HPACK_MEAN_SIZE, MAX_HPACK_RATIO, MAX_HPACK_TABLE_SIZE};

/// Decodes the field blocks of one side of a connection, in order.
///
/// The encoder announces the size of its table before it uses it (RFC 7541, section 4.2), so the peer's setting, which
/// only allows it, is not needed.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
    /// Decoded bytes still allowed for the blocks so far.
    budget: usize,
    list: List,
    /// The start of a field whose end is in a later fragment of the block: two strings of at most 64 KiB, or 240 KiB in the
    /// Huffman code.
    partial: Vec<u8>,
    /// Length of `partial` from which on it can be decoded further.
    wanted: usize,
    skip: Skip,
}

/// The block that is being decoded.
#[derive(Debug)]
struct List {
    /// Bytes of the block so far.
    block_len: usize,
    /// Decoded bytes still allowed for the list.
    left: usize,
    is_cut: bool,
}

impl List {
    const START: Self = Self { block_len: 0, left: MAX_FIELD_LIST_SIZE, is_cut: false };
}

/// What is skipped of a field that is larger than any list and table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skip {
    Nothing,
    /// The rest of a string, which is the name if a value follows.
    String {
        left: usize,
        value_follows: bool,
    },
    /// A value whose length is not known yet.
    Value,
}

impl Decoder {
    pub(crate) const fn new() -> Self {
        Self {
            table: DynamicTable::new(),
            budget: MAX_FIELD_LIST_SIZE,
            list: List::START,
            partial: Vec::new(),
            wanted: 0,
            skip: Skip::Nothing,
        }
    }

    /// Memory of the table and of a partial field, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.table.buffered_bytes().saturating_add(self.partial.capacity())
    }

    /// Decodes the next fragment of a block, and emits the name and value of each field that fits the limits against
    /// decompression bombs. Other fields, too, update the table, so that later blocks can be decoded.
    ///
    /// Returns whether fields of the block so far were left out.
    pub(crate) fn decode(
        &mut self,
        fragment: &[u8],
        is_last: bool,
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, HpackError> {
        self.grant(fragment.len());
        let mut missing = None;
        if self.partial.is_empty() {
            let used = self.read(fragment, &mut missing, each)?;
            self.partial.extend_from_slice(fragment.get(used..).unwrap_or_default());
        } else {
            self.partial.extend_from_slice(fragment);
            if is_last || self.partial.len() >= self.wanted {
                let mut bytes = mem::take(&mut self.partial);
                let used = self.read(&bytes, &mut missing, each)?;
                bytes.drain(..used.min(bytes.len()));
                self.partial = bytes;
            }
        }
        if !is_last {
            return Ok(self.list.is_cut);
        }
        self.partial = Vec::new();
        let unread = match self.skip {
            Skip::Nothing => missing,
            Skip::String { left: needed, .. } => Some(Truncated { offset: fragment.len(), needed, left: 0 }),
            Skip::Value => Some(Truncated { offset: fragment.len(), needed: 1, left: 0 }),
        };
        let list = mem::replace(&mut self.list, List::START);
        unread.map_or(Ok(list.is_cut), |unread| Err(unread.into()))
    }

    /// Adds to the budget what a block of this length more may decode to.
    fn grant(&mut self, len: usize) {
        let size = |len: usize| {
            let literal_size = len.saturating_mul(2);
            len.saturating_mul(MAX_HPACK_RATIO).min(MAX_HPACK_MEAN_SIZE).max(literal_size)
        };
        let before = size(self.list.block_len);
        self.list.block_len = self.list.block_len.saturating_add(len);
        self.budget = self.budget.saturating_add(size(self.list.block_len).saturating_sub(before));
    }

    /// Decodes the complete fields of a fragment. Returns their length, and what the field after them misses.
    fn read(
        &mut self,
        bytes: &[u8],
        missing: &mut Option<Truncated>,
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, HpackError> {
        let mut block = Cursor::new(bytes);
        let mut literal = Literal::default();
        while !block.is_empty() {
            let start = block.position();
            match self.step(&mut block, &mut literal, each) {
                Ok(()) => {}
                Err(HpackError::Truncated(truncated)) => {
                    *missing = Some(truncated);
                    self.wanted = truncated.offset.saturating_add(truncated.needed).saturating_sub(start);
                    return Ok(start);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(block.position())
    }

    /// Decodes a field, or skips a part of one.
    fn step(
        &mut self,
        block: &mut Cursor<'_>,
        literal: &mut Literal,
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let Self { table, budget, list, skip, .. } = self;
        match *skip {
            Skip::Nothing => {}
            Skip::String { left, value_follows } => {
                let len = left.min(block.remaining());
                block.skip(len)?;
                *skip = Skip::string(left.saturating_sub(len), value_follows);
                return Ok(());
            }
            Skip::Value => {
                *skip = Skip::string(StringHeader::read(block, 7)?.len, false);
                return Ok(());
            }
        }
        let mut emit = |name: &[u8], value: &[u8]| {
            let size = field_size(name, value);
            match (list.left.checked_sub(size), budget.checked_sub(size)) {
                (Some(left), Some(left_of_budget)) => {
                    (list.left, *budget) = (left, left_of_budget);
                    each(name, value);
                }
                _ => list.is_cut = true,
            }
        };
        let Some(first) = block.peek() else { return Ok(()) };
        match first {
            0x80.. => {
                let index = integer::read(block, 7)?;
                let (name, value) = table.field(index).ok_or(HpackError::Index(index))?;
                emit(name, value);
            }
            0x20..0x40 => {
                let size = integer::read(block, 5)?;
                if size > MAX_HPACK_TABLE_SIZE {
                    return Err(HpackError::TableSize(size));
                }
                table.set_max_size(usize::try_from(size).unwrap_or_default());
            }
            // Literal fields, whose name may be an index (RFC 7541, section 6.2).
            _ => {
                let is_added = first >= 0x40;
                let known = match integer::read(block, if is_added { 6 } else { 4 })? {
                    0 => None,
                    index => Some(table.name(index).ok_or(HpackError::Index(index))?),
                };
                for (string, value_follows) in [(&mut literal.name, true), (&mut literal.value, false)] {
                    if value_follows && known.is_some() {
                        continue;
                    }
                    let header = StringHeader::read(block, 7)?;
                    if header.is_too_long() {
                        // A field larger than the table empties it (RFC 7541, section 4.4).
                        if is_added {
                            table.clear();
                        }
                        list.is_cut = true;
                        *skip = Skip::string(header.len, value_follows);
                        return Ok(());
                    }
                    header.read_string(block, string)?;
                }
                let Literal { name, value } = literal;
                emit(known.as_ref().map_or(name, Name::as_bytes), value);
                if is_added {
                    table.add(known.unwrap_or_else(|| Name::Shared(name.as_slice().into())), value);
                }
            }
        }
        Ok(())
    }
}

impl Skip {
    const fn string(left: usize, value_follows: bool) -> Self {
        match (left, value_follows) {
            (0, true) => Self::Value,
            (0, false) => Self::Nothing,
            _ => Self::String { left, value_follows },
        }
    }
}

/// Room for the strings of a literal field.
#[derive(Default)]
struct Literal {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The start of a string literal (RFC 7541, section 5.2; RFC 9204, section 4.1.2).
pub(crate) struct StringHeader {
    is_huffman: bool,
    len: usize,
}

impl StringHeader {
    /// Reads a length in the `prefix` lowest bits, after the bit of the Huffman code.
    pub(crate) fn read(block: &mut Cursor<'_>, prefix: u32) -> Result<Self, HpackError> {
        let is_huffman = block.peek().is_some_and(|first| u32::from(first) >> prefix & 1 != 0);
        let len = integer::read(block, prefix)?;
        Ok(Self { is_huffman, len: usize::try_from(len).unwrap_or(usize::MAX) })
    }

    /// Whether the decoded string fits neither a list nor a table.
    fn is_too_long(&self) -> bool {
        let min_len = if self.is_huffman {
            self.len.saturating_mul(8).saturating_div(huffman::MAX_CODE_BITS)
        } else {
            self.len
        };
        min_len > MAX_FIELD_LIST_SIZE.max(MAX_HPACK_TABLE_SIZE as usize)
    }

    pub(crate) fn read_string(&self, block: &mut Cursor<'_>, string: &mut Vec<u8>) -> Result<(), HpackError> {
        let bytes = block.take(self.len)?;
        string.clear();
        if self.is_huffman {
            return huffman::decode(bytes, string);
        }
        string.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
