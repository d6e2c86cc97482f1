//! The dynamic table (RFC 9204, section 3.2).

use std::collections::VecDeque;

use super::static_table::STATIC_TABLE;
use crate::http2::hpack::{Name, field_size};
use crate::limits::MAX_HPACK_TABLE_SIZE;

/// The dynamic table of one side, oldest field first.
#[derive(Default)]
pub(super) struct DynamicTable {
    fields: VecDeque<(Name, Box<[u8]>)>,
    /// Size of all fields, in bytes (RFC 9204, section 3.2.1).
    size: usize,
    pub(super) capacity: usize,
    /// Number of fields that were inserted.
    pub(super) inserted: u64,
}

/// A name and a value.
pub(super) type Field<'a> = (&'a [u8], &'a [u8]);

/// The field of the static table at an index.
pub(super) fn static_field(index: u64) -> Option<Field<'static>> {
    let (name, value) = STATIC_TABLE.get(usize::try_from(index).ok()?)?;
    Some((name.as_bytes(), value.as_bytes()))
}

/// The name in the static table at an index.
pub(super) fn static_name(index: u64) -> Option<Name> {
    let (name, _) = STATIC_TABLE.get(usize::try_from(index).ok()?)?;
    Some(Name::Static(name))
}

impl DynamicTable {
    /// Sets the capacity. Returns false if it is more than what is kept.
    pub(super) fn set_capacity(&mut self, capacity: u64) -> bool {
        let Ok(capacity) = usize::try_from(capacity) else { return false };
        if capacity > MAX_HPACK_TABLE_SIZE as usize {
            return false;
        }
        self.capacity = capacity;
        self.shrink(capacity);
        true
    }

    /// The field with an absolute index, counted from 0 (RFC 9204, section 3.2.4); `None` if it is not there yet, or no longer.
    pub(super) fn field(&self, index: u64) -> Option<(&Name, &[u8])> {
        let from_end = self.inserted.checked_sub(index)?;
        let place = self.fields.len().checked_sub(usize::try_from(from_end).ok()?)?;
        self.fields.get(place).map(|(name, value)| (name, &**value))
    }

    /// Inserts a field. Returns false if it does not fit.
    pub(super) fn insert(&mut self, name: Name, value: &[u8]) -> bool {
        let size = field_size(name.as_bytes(), value);
        let Some(left) = self.capacity.checked_sub(size) else { return false };
        self.shrink(left);
        self.fields.push_back((name, value.into()));
        self.size = self.size.saturating_add(size);
        self.inserted = self.inserted.saturating_add(1);
        true
    }

    fn shrink(&mut self, size: usize) {
        while self.size > size {
            let Some((name, value)) = self.fields.pop_front() else { return };
            self.size = self.size.saturating_sub(field_size(name.as_bytes(), &value));
        }
    }

    /// Memory of all fields, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let overhead = size_of::<(Name, Box<[u8]>)>().saturating_add(16);
        self.size.saturating_add(self.fields.len().saturating_mul(overhead))
    }
}
