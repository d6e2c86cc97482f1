//! The entries of lists by their keys.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::rows::{Labels, Row, Rows};
use super::value::{Key, Kind, Value};
use crate::limits::MAX_EVENT_MATCHES;
use crate::observation::{IndicatorType, ListEntry};
use crate::select::Pattern;

/// Entries by their keys. An entry of a million takes 60 to 90 bytes, without its label.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    /// The watched entries of a key, and the others.
    by_key: HashMap<(Key, bool), Chain, RandomState>,
    patterns: Vec<UserAgentPattern>,
    labels: Labels,
    pub(super) has: Present,
}

/// An entry of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Index of its label.
    label: u32,
    /// Its line, from 1; 0 if it has none.
    pub(super) line: u32,
    /// The next entry with the same key.
    next: Option<NextEntry>,
    pub(super) list: u16,
    pub(super) watch: bool,
}

/// Index of an entry, plus 1.
type NextEntry = std::num::NonZeroU32;

/// The entries of a key.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
    count: u32,
}

#[derive(Clone, Debug)]
struct UserAgentPattern {
    text: Box<str>,
    pattern: Pattern,
    entry: u32,
}

/// The kinds of keys that lists have: others are not computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Present {
    kinds: u32,
    /// Lengths of the prefixes of networks of IPv4 and of IPv6, the longest first.
    prefixes: [Vec<u8>; 2],
    /// Whether a list has entries that are not watched.
    pub(super) unwatched: bool,
    /// Numbers of labels of the names with others below them.
    pub(super) suffix_labels: u128,
}

impl Present {
    fn bit(kind: Kind) -> u32 {
        let number = match kind {
            Kind::Of(kind) => kind as u32,
            Kind::Md5 => 16,
            Kind::Suffix => 17,
            Kind::Below => 18,
            Kind::Net4(_) => 19,
            Kind::Net6(_) => 20,
            Kind::Endpoint => 21,
        };
        1_u32.checked_shl(number).unwrap_or_default()
    }

    /// Whether a list has a key of one of these kinds.
    pub(super) fn any(&self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.kinds & Self::bit(*kind) != 0)
    }

    fn add(&mut self, kind: Kind) {
        self.kinds |= Self::bit(kind);
        let [v4, v6] = &mut self.prefixes;
        let (prefixes, len) = match kind {
            Kind::Net4(len) => (v4, len),
            Kind::Net6(len) => (v6, len),
            _ => return,
        };
        if let Err(place) = prefixes.binary_search_by(|known| len.cmp(known)) {
            prefixes.insert(place, len);
        }
    }

    /// The lengths of prefixes of networks, the longest first.
    pub(super) fn prefixes(&self, is_v4: bool) -> &[u8] {
        let [v4, v6] = &self.prefixes;
        if is_v4 { v4 } else { v6 }
    }
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn has_certificates(&self) -> bool {
        self.has.any(&[IndicatorType::CertificateSha256, IndicatorType::CertificateSha1].map(Kind::Of))
    }

    /// Adds the rows of a list.
    pub(super) fn add(&mut self, list: u16, rows: Rows) {
        let Rows { rows, labels, suffix_labels, .. } = rows;
        self.has.suffix_labels |= suffix_labels;
        self.entries.reserve(rows.len());
        self.by_key.reserve(rows.len());
        let numbers = self.labels.append(labels);
        for Row { value, label, line, watch } in rows {
            let number = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
            let label = match &numbers {
                Some(numbers) => numbers.get(label as usize).copied().unwrap_or_default(),
                None => label,
            };
            self.entries.push(Entry { label, line, next: None, list, watch });
            match value {
                Value::Key(key) => {
                    self.has.add(key.kind);
                    self.has.unwatched |= !watch;
                    let chain = Chain { first: number, last: number, count: 0 };
                    let chain = self.by_key.entry((key, watch)).or_insert(chain);
                    chain.count = chain.count.saturating_add(1);
                    if chain.last != number {
                        if let Some(last) = self.entries.get_mut(chain.last as usize) {
                            last.next = NextEntry::new(number.saturating_add(1));
                        }
                        chain.last = number;
                    }
                }
                Value::Pattern(text) => {
                    let pattern = Pattern::new(&text);
                    self.patterns.push(UserAgentPattern { text, pattern, entry: number });
                }
            }
        }
    }

    pub(super) fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)
    }

    pub(super) fn label(&self, entry: &Entry) -> Arc<str> {
        self.labels.text(entry.label).into()
    }

    /// The entry as a label of an event.
    pub(super) fn list_entry(&self, number: u32) -> Option<ListEntry> {
        let entry = self.entry(number)?;
        Some(ListEntry { label: self.label(entry), watch: entry.watch })
    }

    /// The numbers of the first entries of a key that are watched, or of those that are not.
    pub(super) fn entries_of(&self, key: &Key, watch: bool) -> impl Iterator<Item = u32> + '_ {
        let first = self.by_key.get(&(*key, watch)).map(|chain| chain.first);
        std::iter::successors(first, |number| Some(self.entry(*number)?.next?.get().saturating_sub(1)))
            .take(MAX_EVENT_MATCHES)
    }

    /// Number of watched entries of a key beyond those that an event has.
    pub(super) fn left_out_of(&self, key: &Key) -> u64 {
        let count = self.by_key.get(&(*key, true)).map_or(0, |chain| u64::from(chain.count));
        count.saturating_sub(MAX_EVENT_MATCHES as u64)
    }

    /// The patterns that a User-Agent matches, with the numbers of their entries.
    pub(super) fn patterns_of<'a>(&'a self, user_agent: &str) -> impl Iterator<Item = (&'a str, u32)> {
        let matching = self.patterns.iter().filter(move |found| found.pattern.matches(user_agent));
        matching.map(|found| (&*found.text, found.entry)).collect::<Vec<_>>().into_iter()
    }

    pub(super) fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }
}
