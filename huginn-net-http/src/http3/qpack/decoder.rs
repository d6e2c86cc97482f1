//! Encoder instructions and field sections (RFC 9204, section 4).

use huginn_net_wire::{Cursor, Truncated};

use super::table::{DynamicTable, static_field, static_name};
use crate::http2::HpackError;
use crate::http2::hpack::{Name, StringHeader, field_size, read_integer};
use crate::limits::{MAX_FIELD_LIST_SIZE, MAX_HPACK_MEAN_SIZE, MAX_HPACK_RATIO, MAX_QPACK_INSTRUCTION_LEN};

/// Decodes the field sections of one side of a connection.
pub(crate) struct Decoder {
    table: DynamicTable,
    /// The capacity that the other side permits; `None` if its settings are not known.
    max_capacity: Option<u64>,
    /// The start of an instruction.
    partial: Vec<u8>,
    /// Length from which on the start is read again: what the instruction is known to need.
    needed: usize,
    /// Decoded bytes still allowed for the sections so far.
    budget: usize,
    /// Whether an instruction could not be read, so that the table is unknown.
    is_lost: bool,
}

/// What came of a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// It was decoded; `true` if fields were left out.
    Decoded(bool),
    /// It refers to a field that the encoder has not inserted yet.
    Blocked,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            table: DynamicTable::default(),
            max_capacity: None,
            partial: Vec::new(),
            needed: 0,
            budget: MAX_FIELD_LIST_SIZE,
            is_lost: false,
        }
    }

    /// Sets the capacity that the other side permits, in its SETTINGS.
    pub(crate) fn set_max_capacity(&mut self, capacity: u64) {
        self.max_capacity = Some(capacity);
    }

    /// Reads the next bytes of the encoder stream. Returns whether they may let a blocked section be decoded: they complete an instruction,
    /// or the table is unknown.
    ///
    /// # Errors
    /// [`HpackError`] if an instruction is invalid, or too long. The table is then unknown.
    pub(crate) fn push_instructions(&mut self, bytes: &[u8]) -> Result<bool, HpackError> {
        if self.is_lost {
            return Ok(true);
        }
        let outcome = if self.partial.is_empty() {
            self.read_instructions(bytes)
                .inspect(|used| self.partial = bytes.get(*used..).unwrap_or_default().into())
        } else {
            self.partial.extend_from_slice(bytes);
            if self.partial.len() < self.needed {
                return Ok(false);
            }
            let mut all = std::mem::take(&mut self.partial);
            self.read_instructions(&all).inspect(|used| {
                all.drain(..(*used).min(all.len()));
                self.partial = all;
            })
        };
        let is_too_long = self.partial.len().max(self.needed) > MAX_QPACK_INSTRUCTION_LEN;
        let outcome =
            outcome.and_then(|used| if is_too_long { Err(HpackError::Integer) } else { Ok(used > 0) });
        if outcome.is_err() {
            self.lose();
        }
        outcome
    }

    /// Takes the table as unknown, because instructions are missing.
    pub(crate) fn lose(&mut self) {
        *self = Self { is_lost: true, max_capacity: self.max_capacity, ..Self::new() };
    }

    /// Memory of the table and of a partial instruction, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.table.buffered_bytes().saturating_add(self.partial.capacity())
    }

    /// Reads complete instructions. Returns their length.
    fn read_instructions(&mut self, bytes: &[u8]) -> Result<usize, HpackError> {
        let mut cursor = Cursor::new(bytes);
        let (mut name, mut value) = (Vec::new(), Vec::new());
        loop {
            let start = cursor.position();
            match self.read_instruction(&mut cursor, &mut name, &mut value) {
                Ok(true) => {}
                Ok(false) => {
                    self.needed = 0;
                    return Ok(start);
                }
                Err(HpackError::Truncated(Truncated { offset, needed, .. })) => {
                    self.needed = offset.saturating_add(needed).saturating_sub(start);
                    return Ok(start);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads an instruction (RFC 9204, section 4.3). Returns false at the end of the bytes.
    fn read_instruction(
        &mut self,
        cursor: &mut Cursor<'_>,
        name: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<bool, HpackError> {
        let Some(first) = cursor.peek() else { return Ok(false) };
        let inserted = match first {
            0x80.. => {
                let index = read_integer(cursor, 6)?;
                let known = if first & 0x40 != 0 {
                    static_name(index.into())
                } else {
                    self.relative(index).map(|(name, _)| name.clone())
                };
                let known = known.ok_or(HpackError::Index(index))?;
                read_string(cursor, 7, value)?;
                self.table.insert(known, value)
            }
            0x40.. => {
                read_string(cursor, 5, name)?;
                read_string(cursor, 7, value)?;
                self.table.insert(Name::Shared(name.as_slice().into()), value)
            }
            0x20.. => {
                let capacity = read_integer(cursor, 5)?;
                if !self.table.set_capacity(capacity.into()) {
                    return Err(HpackError::TableSize(capacity));
                }
                true
            }
            _ => {
                let index = read_integer(cursor, 5)?;
                let (known, copy) = self.relative(index).ok_or(HpackError::Index(index))?;
                let (known, copy) = (known.clone(), Box::<[u8]>::from(copy));
                self.table.insert(known, &copy)
            }
        };
        let size = u32::try_from(self.table.capacity).unwrap_or(u32::MAX);
        if inserted { Ok(true) } else { Err(HpackError::TableSize(size)) }
    }

    /// The field at this distance before the last inserted one.
    fn relative(&self, index: u32) -> Option<(&Name, &[u8])> {
        self.table.field(self.table.inserted.checked_sub(1)?.checked_sub(index.into())?)
    }

    /// Decodes a field section (RFC 9204, section 4.5), and emits the name and value of each field that fits the limits against
    /// decompression bombs.
    ///
    /// # Errors
    /// [`HpackError`] if the section is invalid, or refers to a table that is unknown.
    pub(crate) fn decode(
        &mut self,
        section: &[u8],
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<Section, HpackError> {
        let mut cursor = Cursor::new(section);
        let encoded = read_integer(&mut cursor, 8)?;
        let required = self.required_inserts(encoded.into()).ok_or(HpackError::Index(encoded))?;
        if required > self.table.inserted && !self.is_lost {
            return Ok(Section::Blocked);
        }
        let is_negative = cursor.peek().is_some_and(|first| first & 0x80 != 0);
        let delta = u64::from(read_integer(&mut cursor, 7)?);
        let base = if is_negative {
            required.checked_sub(delta).and_then(|base| base.checked_sub(1))
        } else {
            required.checked_add(delta)
        };
        let base = base.ok_or(HpackError::Index(0))?;
        let granted = section.len().saturating_mul(MAX_HPACK_RATIO).min(MAX_HPACK_MEAN_SIZE);
        self.budget = self.budget.saturating_add(granted.max(section.len().saturating_mul(2)));
        let Self { table, budget, .. } = self;
        let (mut left, mut is_cut) = (MAX_FIELD_LIST_SIZE, false);
        let mut emit = |name: &[u8], value: &[u8]| {
            let size = field_size(name, value);
            match (left.checked_sub(size), budget.checked_sub(size)) {
                (Some(left_of_list), Some(left_of_budget)) => {
                    (left, *budget) = (left_of_list, left_of_budget);
                    each(name, value);
                }
                _ => is_cut = true,
            }
        };
        let before = |index: u32| base.checked_sub(1).and_then(|last| last.checked_sub(index.into()));
        let after = |index: u32| base.checked_add(index.into());
        let known = |place: Option<u64>, index| {
            // A field after the announced ones may not be there for the decoder of the other side.
            let place = place.filter(|place| *place < required);
            place.and_then(|place| table.field(place)).ok_or(HpackError::Index(index))
        };
        let (mut name, mut value) = (Vec::new(), Vec::new());
        while let Some(first) = cursor.peek() {
            match first {
                0x80.. => {
                    let index = read_integer(&mut cursor, 6)?;
                    if first & 0x40 != 0 {
                        let (name, value) = static_field(index.into()).ok_or(HpackError::Index(index))?;
                        emit(name, value);
                    } else {
                        let (name, value) = known(before(index), index)?;
                        emit(name.as_bytes(), value);
                    }
                }
                0x40.. => {
                    let index = read_integer(&mut cursor, 4)?;
                    read_string(&mut cursor, 7, &mut value)?;
                    if first & 0x10 != 0 {
                        let (name, _) = static_field(index.into()).ok_or(HpackError::Index(index))?;
                        emit(name, &value);
                    } else {
                        emit(known(before(index), index)?.0.as_bytes(), &value);
                    }
                }
                0x20.. => {
                    read_string(&mut cursor, 3, &mut name)?;
                    read_string(&mut cursor, 7, &mut value)?;
                    emit(&name, &value);
                }
                0x10.. => {
                    let index = read_integer(&mut cursor, 4)?;
                    let (name, value) = known(after(index), index)?;
                    emit(name.as_bytes(), value);
                }
                _ => {
                    let index = read_integer(&mut cursor, 3)?;
                    read_string(&mut cursor, 7, &mut value)?;
                    emit(known(after(index), index)?.0.as_bytes(), &value);
                }
            }
        }
        Ok(Section::Decoded(is_cut))
    }

    /// Reconstructs the required insert count (RFC 9204, section 4.5.1.1).
    fn required_inserts(&self, encoded: u64) -> Option<u64> {
        let Some(low) = encoded.checked_sub(1) else { return Some(0) };
        // Without the settings of the other side, the encoder's own capacity is at most theirs.
        let capacity = self.max_capacity.unwrap_or(0).max(self.table.capacity as u64);
        let max_entries = capacity / 32;
        let full = max_entries.saturating_mul(2);
        if full == 0 {
            return Some(encoded.saturating_sub(1));
        }
        if low >= full {
            return None;
        }
        let max_value = self.table.inserted.saturating_add(max_entries);
        let wrapped = max_value.checked_div(full)?.saturating_mul(full);
        let required = wrapped.saturating_add(low);
        if required > max_value { required.checked_sub(full) } else { Some(required) }
            .filter(|count| *count > 0)
    }
}

/// Reads a string literal whose first byte has its length in the `prefix` lowest bits, after the bit of the Huffman code.
fn read_string(cursor: &mut Cursor<'_>, prefix: u32, string: &mut Vec<u8>) -> Result<(), HpackError> {
    StringHeader::read(cursor, prefix)?.read_string(cursor, string)
}
