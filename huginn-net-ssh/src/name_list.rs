//! Lists of names (RFC 4251, section 5).

use std::fmt;

/// A `name-list`: algorithm names separated by commas, the preferred name first.
///
/// Names should be ASCII, but any bytes are accepted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NameList<'a>(pub &'a [u8]);

impl<'a> NameList<'a> {
    /// Returns the list as on the wire, without its length field.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Iterates over the names in order. An empty list has none.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|byte| *byte == b',').filter(move |_| !self.0.is_empty())
    }

    /// Whether the list has a name.
    pub fn contains(self, name: &[u8]) -> bool {
        self.iter().any(|other| other == name)
    }
}

impl fmt::Debug for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NameList(\"{}\")", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::NameList;

    #[test]
    fn empty_list_has_no_names() {
        assert_eq!(NameList(b"").iter().count(), 0);
        assert_eq!(NameList(b"a,,b,").iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"b", b""]);
    }
}
