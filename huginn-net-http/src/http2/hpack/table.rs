//! The static and the dynamic table (RFC 7541, section 2.3).

use std::collections::VecDeque;
use std::sync::Arc;

/// Overhead of a field in bytes, by definition (RFC 7541, section 4.1).
const OVERHEAD: usize = 32;
/// Actual overhead of a field in bytes beyond [`OVERHEAD`]: the counters of a shared name.
const EXTRA_OVERHEAD: usize = (2 * size_of::<usize>() + size_of::<Field>()).saturating_sub(OVERHEAD);
/// Initial maximum size of a table, in bytes (RFC 9113, section 6.5.2).
const DEFAULT_SIZE: usize = 4096;

/// The dynamic table of one side, newest field first.
#[derive(Debug)]
pub(super) struct DynamicTable {
    fields: VecDeque<Field>,
    /// Size of all fields, in bytes (RFC 7541, section 4.1).
    pub(super) size: usize,
    max_size: usize,
}

#[derive(Debug)]
struct Field {
    name: Name,
    value: Box<[u8]>,
}

/// The name of a field. Fields share the name that they refer to, so that a few bytes that refer to a long name cause no
/// copy of it.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    Static(&'static str),
    Shared(Arc<[u8]>),
}

impl Name {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Static(name) => name.as_bytes(),
            Self::Shared(name) => name,
        }
    }
}

impl Field {
    fn size(&self) -> usize {
        field_size(self.name.as_bytes(), &self.value)
    }
}

impl DynamicTable {
    pub(super) const fn new() -> Self {
        Self { fields: VecDeque::new(), size: 0, max_size: DEFAULT_SIZE }
    }

    /// Memory of all fields, in bytes at most.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.size.saturating_add(self.fields.len().saturating_mul(EXTRA_OVERHEAD))
    }

    /// Name and value of the field at an index of both tables, counted from 1.
    pub(super) fn field(&self, index: u32) -> Option<(&[u8], &[u8])> {
        let index = usize::try_from(index).ok()?.checked_sub(1)?;
        if let Some((name, value)) = STATIC_TABLE.get(index) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let field = self.fields.get(index.checked_sub(STATIC_TABLE.len())?)?;
        Some((field.name.as_bytes(), &field.value))
    }

    /// Name of the field at an index of both tables, counted from 1.
    pub(super) fn name(&self, index: u32) -> Option<Name> {
        let index = usize::try_from(index).ok()?.checked_sub(1)?;
        if let Some((name, _)) = STATIC_TABLE.get(index) {
            return Some(Name::Static(name));
        }
        let field = self.fields.get(index.checked_sub(STATIC_TABLE.len())?)?;
        Some(field.name.clone())
    }

    /// Adds a field and evicts the oldest ones for it (RFC 7541, section 4.4).
    pub(super) fn add(&mut self, name: Name, value: &[u8]) {
        let size = field_size(name.as_bytes(), value);
        match self.max_size.checked_sub(size) {
            Some(left) => {
                self.shrink(left);
                self.fields.push_front(Field { name, value: value.into() });
                self.size = self.size.saturating_add(size);
            }
            None => self.clear(),
        }
    }

    /// Evicts all fields.
    pub(super) fn clear(&mut self) {
        self.shrink(0);
    }

    /// Changes the maximum size, in bytes.
    pub(super) fn set_max_size(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.shrink(max_size);
    }

    fn shrink(&mut self, size: usize) {
        while self.size > size {
            let oldest = self.fields.pop_back().map_or(self.size, |field| field.size());
            self.size = self.size.saturating_sub(oldest);
        }
    }
}

/// Size of a field, in bytes (RFC 7541, section 4.1).
pub(crate) fn field_size(name: &[u8], value: &[u8]) -> usize {
    name.len().saturating_add(value.len()).saturating_add(OVERHEAD)
}

/// The static table (RFC 7541, appendix A).
#[rustfmt::skip]
static STATIC_TABLE: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
    ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
    ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
    ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""),
    ("retry-after", ""), ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""),
    ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Name {
        Name::Shared(name.as_bytes().into())
    }

    #[test]
    fn indices_span_both_tables() {
        let mut table = DynamicTable::new();
        assert_eq!(table.field(0), None);
        assert_eq!(table.field(1), Some((&b":authority"[..], &b""[..])));
        assert_eq!(table.field(61), Some((&b"www-authenticate"[..], &b""[..])));
        assert_eq!(table.field(62), None);
        table.add(name("a"), b"1");
        table.add(name("b"), b"2");
        assert_eq!(table.field(62), Some((&b"b"[..], &b"2"[..])));
        assert_eq!(table.field(63), Some((&b"a"[..], &b"1"[..])));
        assert_eq!((table.field(64), table.field(u32::MAX)), (None, None));
    }

    #[test]
    fn evicts_oldest_fields_at_size_limit() {
        let mut table = DynamicTable::new();
        table.set_max_size(70);
        table.add(name("a"), b"11");
        table.add(name("b"), b"22");
        assert_eq!(table.size, 70);
        table.add(name("c"), b"");
        assert_eq!((table.size, table.field(62), table.field(64)), (68, Some((&b"c"[..], &b""[..])), None));
        table.set_max_size(67);
        assert_eq!((table.size, table.field(63)), (33, None));
        table.add(name("longer than the table"), &[0; 67]);
        assert_eq!((table.size, table.field(62)), (0, None));
    }
}
