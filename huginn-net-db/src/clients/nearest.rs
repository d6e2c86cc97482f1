//! The known fingerprint that is most similar to an unknown one.

use std::fmt;
use std::sync::Arc;

use huginn_net_tls::{Ja4, Ja4Raw};

use super::software::{Entry, Software};
use crate::limits::{MAX_COMPARED_NUMBERS, MAX_LIBRARY_DIFFERENCES};

/// The most similar known fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearestClient {
    /// The known fingerprint.
    pub ja4_stable: Ja4,
    /// The software that has it.
    pub software: Arc<Software>,
    /// What the observed hello has and lacks.
    pub difference: Difference,
}

/// The difference of a hello from a known fingerprint. Numbers are those of the IANA registries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Whether transport, version, server name or ALPN differ.
    pub head: bool,
    /// Cipher suites that only the hello has.
    pub added_suites: Vec<u16>,
    /// Cipher suites that the hello lacks.
    pub missing_suites: Vec<u16>,
    /// Extension types that only the hello has.
    pub added_extensions: Vec<u16>,
    /// Extension types that the hello lacks.
    pub missing_extensions: Vec<u16>,
    /// Whether the signature algorithms differ.
    pub signature_algorithms: bool,
}

impl Difference {
    fn new(observed: &Ja4Raw, known: &Ja4Raw) -> Self {
        let mut difference = Self {
            head: heads_differ(observed, known),
            signature_algorithms: observed.signature_algorithms() != known.signature_algorithms(),
            ..Self::default()
        };
        let Self { added_suites, missing_suites, added_extensions, missing_extensions, .. } = &mut difference;
        for_each_difference(observed.cipher_suites(), known.cipher_suites(), |number, is_added| {
            if is_added { added_suites.push(number) } else { missing_suites.push(number) }
        });
        for_each_difference(observed.extensions(), known.extensions(), |number, is_added| {
            if is_added { added_extensions.push(number) } else { missing_extensions.push(number) }
        });
        difference
    }

    /// Counts the differences without listing them.
    fn count_between(observed: &Ja4Raw, known: &Ja4Raw) -> usize {
        let mut count = usize::from(heads_differ(observed, known))
            .saturating_add(usize::from(observed.signature_algorithms() != known.signature_algorithms()));
        for (one, other) in
            [(observed.cipher_suites(), known.cipher_suites()), (observed.extensions(), known.extensions())]
        {
            for_each_difference(one, other, |_, _| count = count.saturating_add(1));
        }
        count
    }

    /// Number of differences.
    pub fn count(&self) -> usize {
        let lists =
            [&self.added_suites, &self.missing_suites, &self.added_extensions, &self.missing_extensions];
        let flags = usize::from(self.head).saturating_add(usize::from(self.signature_algorithms));
        lists.into_iter().fold(flags, |sum, list| sum.saturating_add(list.len()))
    }
}

/// Writes the difference, such as `without extensions 0016; other ALPN`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("with cipher suites", &self.added_suites),
            ("without cipher suites", &self.missing_suites),
            ("with extensions", &self.added_extensions),
            ("without extensions", &self.missing_extensions),
        ];
        let mut separator = "";
        for (what, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            write!(f, "{separator}{what}")?;
            list.iter().try_for_each(|number| write!(f, " {number:04x}"))?;
            separator = "; ";
        }
        let flags = [
            ("other signature algorithms", self.signature_algorithms),
            ("other transport, version, server name or ALPN", self.head),
        ];
        for (what, _) in flags.into_iter().filter(|(_, differs)| *differs) {
            write!(f, "{separator}{what}")?;
            separator = "; ";
        }
        Ok(())
    }
}

fn heads_differ(one: &Ja4Raw, other: &Ja4Raw) -> bool {
    let (one, other) = (one.head(), other.head());
    (one.transport(), one.version(), one.has_server_name(), one.alpn())
        != (other.transport(), other.version(), other.has_server_name(), other.alpn())
}

/// Visits the numbers of only one of two sorted lists, and whether it is the first.
fn for_each_difference(mut one: &[u16], mut other: &[u16], mut visit: impl FnMut(u16, bool)) {
    loop {
        match (one.split_first(), other.split_first()) {
            (Some((number, rest)), Some((known, known_rest))) => {
                if number <= known {
                    one = rest;
                }
                if known <= number {
                    other = known_rest;
                }
                if number != known {
                    visit(*number.min(known), number < known);
                }
            }
            (Some((number, rest)), None) => {
                visit(*number, true);
                one = rest;
            }
            (None, Some((known, rest))) => {
                visit(*known, false);
                other = rest;
            }
            (None, None) => return,
        }
    }
}

/// An entry and its difference from a hello.
pub(super) struct Nearest<'a> {
    entry: &'a Entry,
    ja4_stable: Ja4,
    difference: Difference,
}

impl<'a> Nearest<'a> {
    /// Finds the entry with the fewest differences; the smallest stable JA4 among equals. `None` for a hello with longer lists
    /// than any real client has.
    pub(super) fn find(hello: &Ja4Raw, entries: impl Iterator<Item = &'a Arc<Entry>>) -> Option<Self> {
        let lists = [hello.cipher_suites(), hello.extensions(), hello.signature_algorithms()];
        if lists.iter().any(|list| list.len() > MAX_COMPARED_NUMBERS) {
            return None;
        }
        let transport = hello.head().transport();
        let known = entries.filter_map(|entry| {
            Some((entry, entry.raw().filter(|raw| raw.head().transport() == transport)?))
        });
        let (entry, raw) = known.min_by_key(|(_, raw)| (Difference::count_between(hello, raw), raw.ja4()))?;
        Some(Self { entry, ja4_stable: raw.ja4(), difference: Difference::new(hello, raw) })
    }

    /// Whether the difference is so small that the library must be the same.
    pub(super) fn is_same_library(&self) -> bool {
        self.entry.is_genuine()
            && self.entry.library.library.is_some()
            && !self.difference.signature_algorithms
            && self.difference.count() <= MAX_LIBRARY_DIFFERENCES
    }

    pub(super) fn library(&self) -> Arc<Software> {
        Arc::clone(&self.entry.library)
    }

    pub(super) fn into_client(self) -> NearestClient {
        NearestClient {
            ja4_stable: self.ja4_stable,
            software: Arc::clone(&self.entry.software),
            difference: self.difference,
        }
    }
}
