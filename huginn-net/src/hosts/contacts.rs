//! Bounded lists of the peers and names of a host.

use std::cmp::Reverse;
use std::net::IpAddr;

use huginn_net_core::Side;
use huginn_net_http::without_port;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::stored::{Bytes, at_most};
use crate::limits::MAX_HOST_BYTES;

/// Maximum number of peers, and of names, of a profile: half of them the most used ones. With the longest names 10 KiB, usually
/// less than 1 KiB.
const MAX_CONTACTS: usize = 32;

/// What a host was in contact with: its most used values and its rarest ones, at most 32, with their counts.
///
/// At the limit, a new value evicts the one in the middle: half of the list keeps the most used values, the other half rare
/// ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Contacts<T> {
    /// In order of insertion.
    #[serde(deserialize_with = "at_most::<MAX_CONTACTS, _, _>")]
    pub(super) entries: Vec<Contact<T>>,
    pub(super) left_out: u32,
}

/// A value of [`Contacts`] and its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contact<T> {
    /// The value: the address of a peer, or a name.
    pub value: T,
    /// The side of the host: a client contacts a peer and asks for a name; a server is contacted, and asked for a name.
    pub role: Side,
    /// Number of connections, or of hellos and requests with the name.
    pub count: u32,
    /// Whether the list may have evicted earlier observations of the value: it then has at least this count.
    pub is_at_least: bool,
}

impl<T> Default for Contacts<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), left_out: 0 }
    }
}

impl<T> Contacts<T> {
    /// The values by descending count; equal counts in order of insertion.
    pub fn by_count(&self) -> impl DoubleEndedIterator<Item = &Contact<T>> {
        let mut sorted: Vec<&Contact<T>> = self.entries.iter().collect();
        sorted.sort_by_key(|entry| Reverse(entry.count));
        sorted.into_iter()
    }

    /// Number of values in the list.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Total count of the evicted values.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Counts a value that `is_it` accepts, or inserts a new one.
    pub(super) fn count(&mut self, role: Side, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.role == role && is_it(&entry.value)) {
            entry.count = entry.count.saturating_add(1);
            return;
        }
        self.evict_to(MAX_CONTACTS.saturating_sub(1));
        // Most hosts have few peers.
        self.entries.reserve_exact(1);
        self.entries.push(Contact { value: make(), role, count: 1, is_at_least: self.left_out > 0 });
    }

    /// Evicts the values in the middle until the list has at most this length; among equal counts, older values count as
    /// more frequent.
    fn evict_to(&mut self, len: usize) {
        while self.entries.len() > len {
            let mut by_count: Vec<(Reverse<u32>, usize)> =
                self.entries.iter().enumerate().map(|(index, entry)| (Reverse(entry.count), index)).collect();
            let middle = MAX_CONTACTS / 2;
            if middle >= by_count.len() {
                return;
            }
            let (_, (_, index), _) = by_count.select_nth_unstable(middle);
            let evicted = self.entries.remove(*index);
            self.left_out = self.left_out.saturating_add(evicted.count);
        }
    }

    /// The same list of other values.
    pub(super) fn map<'a, U>(&'a self, value: impl Fn(&'a T) -> U) -> Contacts<U> {
        let entries = self.entries.iter().map(|entry| {
            let Contact { role, count, is_at_least, .. } = *entry;
            Contact { value: value(&entry.value), role, count, is_at_least }
        });
        Contacts { entries: entries.collect(), left_out: self.left_out }
    }

    /// Heap memory of the list in bytes; `value_bytes` returns the heap memory of a value.
    pub(super) fn heap_bytes(&self, value_bytes: impl Fn(&T) -> usize) -> usize {
        let own = self.entries.capacity().saturating_mul(size_of::<Contact<T>>());
        self.entries.iter().fold(own, |sum, entry| sum.saturating_add(value_bytes(&entry.value)))
    }
}

impl<T: Clone + PartialEq> Contacts<T> {
    /// Adds the counts of another list.
    pub(super) fn join(&mut self, other: &Self) {
        let (evicted, other_evicted) = (self.left_out > 0, other.left_out > 0);
        let is_same =
            |one: &Contact<T>, other: &Contact<T>| (one.role, &one.value) == (other.role, &other.value);
        for own in &mut self.entries {
            own.is_at_least |= other_evicted && !other.entries.iter().any(|entry| is_same(own, entry));
        }
        self.left_out = self.left_out.saturating_add(other.left_out);
        for entry in &other.entries {
            match self.entries.iter_mut().find(|own| is_same(own, entry)) {
                Some(own) => {
                    own.count = own.count.saturating_add(entry.count);
                    own.is_at_least |= entry.is_at_least;
                }
                None => {
                    let is_at_least = entry.is_at_least || evicted;
                    self.entries.push(Contact { is_at_least, ..entry.clone() });
                }
            }
        }
        self.evict_to(MAX_CONTACTS);
    }
}

/// Names, as text if they are UTF-8.
pub(super) mod names {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        names: &Contacts<Box<[u8]>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        names.map(|name| Bytes::new(name)).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Contacts<Box<[u8]>>, D::Error> {
        Contacts::<Bytes<'_>>::deserialize(deserializer).map(|names| names.map(Bytes::to_boxed_slice))
    }
}

/// The name that a ClientHello (server_name) or a request (Host) asks for: in lower case, without port. Absent for an
/// address, and if it is longer than a domain name.
pub(crate) fn asked_name(text: &[u8]) -> Option<Box<[u8]>> {
    let name = without_port(text);
    if name.is_empty() || name.len() > MAX_HOST_BYTES || name.first() == Some(&b'[') {
        return None;
    }
    let is_address = std::str::from_utf8(name).is_ok_and(|name| name.parse::<IpAddr>().is_ok());
    (!is_address).then(|| name.to_ascii_lowercase().into())
}

/// The start of a host name or address in lower case, without port and without the dot of the root.
pub(crate) fn host_name(text: &[u8]) -> Option<Box<[u8]>> {
    let name = without_port(text);
    let name = name.strip_suffix(b".").unwrap_or(name);
    let start = name.get(..MAX_HOST_BYTES).unwrap_or(name);
    (!start.is_empty()).then(|| start.to_ascii_lowercase().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contacts(values: impl IntoIterator<Item = u32>) -> Contacts<u32> {
        let mut contacts = Contacts::default();
        for value in values {
            contacts.count(Side::Client, |entry| *entry == value, || value);
        }
        contacts
    }

    fn counts(contacts: &Contacts<u32>) -> Vec<(u32, u32, bool)> {
        contacts.by_count().map(|entry| (entry.value, entry.count, entry.is_at_least)).collect()
    }

    #[test]
    fn list_keeps_most_used_and_rarest_values() {
        let contacts = contacts((0..40).flat_map(|n| std::iter::repeat_n(n, if n < 8 { 5 } else { 2 })));
        let kept = counts(&contacts);
        assert_eq!((kept.len(), contacts.left_out()), (32, 16));
        assert_eq!(kept[..8], [0, 1, 2, 3, 4, 5, 6, 7].map(|n| (n, 5, false)));
        assert_eq!(kept.last(), Some(&(39, 2, true)));
    }

    #[test]
    fn flood_of_rare_values_keeps_most_used_values_and_memory() {
        let contacts = contacts((0..50).map(|n| n % 5).chain(100..100_000));
        assert_eq!(counts(&contacts)[..5], [0, 1, 2, 3, 4].map(|n| (n, 10, false)));
        assert_eq!((contacts.len(), contacts.left_out()), (32, 99_900 - 27));
        assert!(contacts.heap_bytes(|_| 0) <= 32 * size_of::<Contact<u32>>());
    }

    #[test]
    fn roles_are_counted_apart() {
        let mut contacts = contacts([1, 1]);
        contacts.count(Side::Server, |entry| *entry == 1, || 1);
        assert_eq!(counts(&contacts), [(1, 2, false), (1, 1, false)]);
    }

    #[test]
    fn join_adds_counts_and_says_where_they_may_be_more() {
        let (mut one, many) = (contacts([1, 1, 2]), contacts(1..41));
        one.join(&many);
        let joined = counts(&one);
        assert_eq!((joined[0], joined.len(), one.left_out()), ((1, 3, false), 32, 8));
        let mut few = contacts([7, 7, 7, 1000]);
        few.join(&many);
        assert!(counts(&few).contains(&(7, 4, false)));
        assert!(counts(&few).contains(&(1000, 1, true)), "{:?}", counts(&few));
    }

    #[test]
    fn name_has_no_port_and_is_no_address() {
        let rows: [(&[u8], Option<&[u8]>); 8] = [
            (b"Example.ORG", Some(b"example.org")),
            (b"example.org:8080", Some(b"example.org")),
            (b"example.org:x", Some(b"example.org:x")),
            (b"192.0.2.1:80", None),
            (b"[2001:db8::1]:80", None),
            (b"2001:db8::1", None),
            (b":80", None),
            (b"\xff\n", Some(b"\xff\n")),
        ];
        for (text, name) in rows {
            assert_eq!(asked_name(text).as_deref(), name, "{}", text.escape_ascii());
        }
        assert_eq!(asked_name(&[b'a'; 256]), None);
    }
}
