//! An index of HTTP signatures by header names.

mod coverers;
mod entry_set;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use huginn_net_http::{Header, HeaderName, HttpSignature, HttpVersion};
use smallvec::SmallVec;

use self::coverers::Coverers;
use self::entry_set::EntrySet;
use super::claim::{Products, SoftwareClaim};
use super::matching::{HttpMatch, occurs_in};
use super::pattern::{HeaderPattern, HttpPattern};
use crate::{DatabaseError, Entry};

/// The header names in the HTTP signatures of a file, in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderNames {
    numbers: HashMap<Box<[u8]>, Name, RandomState>,
    /// The names of `HeaderName`, indexed by its numbers.
    by_header_name: Vec<Option<Name>>,
}

/// The number of a header name that occurs in a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name(usize);

impl HeaderNames {
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.numbers.contains_key(name)
    }

    fn find(&self, header: Header<'_>) -> Option<Name> {
        match header.known_name() {
            Some(name) => *self.by_header_name.get(name as usize)?,
            None => self.numbers.get(header.name).copied(),
        }
    }

    fn add(&mut self, text: &str) -> Name {
        let next = Name(self.numbers.len());
        let name = *self.numbers.entry(text.as_bytes().into()).or_insert(next);
        self.by_header_name.resize(HeaderName::ALL.len(), None);
        let mut by_header_name = HeaderName::ALL.iter().zip(&mut self.by_header_name);
        if let Some((_, slot)) = by_header_name.find(|(known, _)| known.text() == text) {
            *slot = Some(name);
        }
        name
    }
}

/// A set of names; names whose numbers are equal modulo 128 are not distinguished.
#[derive(Clone, Copy, Debug)]
struct NameSet(u128);

impl NameSet {
    fn from_names(names: impl Iterator<Item = Name>) -> Self {
        let mut set = Self(0);
        names.for_each(|name| set.add(name));
        set
    }

    fn add(&mut self, Name(number): Name) {
        self.0 |= 1 << (number & 0x7f);
    }

    fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The headers with known names of a head or signature, each with a value of type `V`.
struct Head<V> {
    /// `None` in a signature for both versions.
    version: Option<HttpVersion>,
    headers: SmallVec<[(Name, V); 24]>,
    names: NameSet,
}

impl<V> Head<V> {
    fn new(version: Option<HttpVersion>, headers: impl Iterator<Item = (Name, V)>) -> Self {
        let mut head = Self { version, headers: SmallVec::new(), names: NameSet(0) };
        for (name, value) in headers {
            head.headers.push((name, value));
            head.names.add(name);
        }
        head
    }

    fn has(&self, wanted: Name) -> bool {
        self.headers.iter().any(|(name, _)| *name == wanted)
    }
}

/// The HTTP signatures of one direction.
///
/// Most signatures require a header that a given head does not have. The index selects candidates by the names of a
/// head, then rules out more by a set operation, and compares the rest in file order.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpIndex {
    /// In file order.
    pub(crate) entries: Vec<Entry<HttpPattern>>,
    /// The conditions of each of `entries`.
    required: Vec<Required>,
    /// For each of `entries`: the line of a signature that covers it, which p0f does not detect.
    covered_by: Vec<Option<u32>>,
    /// Indexed by the number of a name.
    by_name: Vec<ByName>,
    /// Signatures without required headers.
    content: EntrySet,
    /// Empty once the file is read.
    coverers: Coverers,
    /// Known when the index is complete.
    products: Products,
}

/// The signatures that a header name affects.
#[derive(Clone, Debug, Default)]
struct ByName {
    /// Signatures that this name selects; each signature is selected by one of its required names.
    finds: EntrySet,
    forbidden_by: EntrySet,
}

/// The header conditions of a signature.
#[derive(Clone, Debug)]
struct Required {
    /// The names of the pattern's headers, in order.
    names: Box<[Name]>,
    /// The names that are not optional.
    required: NameSet,
    absent: Box<[Name]>,
}

impl HttpIndex {
    /// The lines of unreachable signatures that p0f accepts, each with the line of the signature that covers it.
    pub(crate) fn covered(&self) -> impl Iterator<Item = (u32, u32)> {
        let both = self.entries.iter().zip(&self.covered_by);
        both.filter_map(|(entry, covered_by)| Some((entry.line, (*covered_by)?)))
    }

    /// Appends a signature. [`Self::finish`] must follow the last one.
    ///
    /// # Errors
    /// [`DatabaseError::Covered`] if an earlier signature covers this one and p0f detects that.
    pub(crate) fn push(
        &mut self,
        entry: Entry<HttpPattern>,
        known: &mut HeaderNames,
    ) -> Result<(), DatabaseError> {
        let required = Required::new(&entry.pattern, known);
        let [specific, generic] = self.first_coverers(&entry.pattern, &required);
        if let Some(earlier) = specific {
            return Err(DatabaseError::Covered { line: entry.line, earlier: earlier.line });
        }
        let covered_by = generic.filter(|_| entry.label.generic).map(|earlier| earlier.line);
        self.coverers.add(&entry, &required, self.entries.len());
        self.add_names(&required, &entry.pattern);
        self.entries.push(entry);
        self.required.push(required);
        self.covered_by.push(covered_by);
        Ok(())
    }

    /// Completes the index after the last signature.
    pub(crate) fn finish(&mut self) {
        let later = |(slot, covered_by): (usize, &Option<u32>)| {
            let (entry, required) = self.entries.get(slot).zip(self.required.get(slot))?;
            // A later specific signature is preferred to a generic one.
            let is_open = entry.label.generic && covered_by.is_none();
            let [specific, _] = is_open.then(|| self.first_coverers(&entry.pattern, required))?;
            Some((slot, specific?.line))
        };
        let found: Vec<(usize, u32)> = self.covered_by.iter().enumerate().filter_map(later).collect();
        for (slot, line) in found {
            if let Some(covered_by) = self.covered_by.get_mut(slot) {
                *covered_by = Some(line);
            }
        }
        self.coverers = Coverers::default();
        self.products = Products::new(&self.entries);
    }

    /// The first specific and the first generic signature that cover this one.
    fn first_coverers(&self, pattern: &HttpPattern, required: &Required) -> [Option<&Entry<HttpPattern>>; 2] {
        let mut first = [None; 2];
        self.coverers.for_each(pattern, required, |slot| {
            let Some((other, other_required)) = self.entries.get(slot).zip(self.required.get(slot)) else {
                return;
            };
            let [specific, generic] = &mut first;
            let first = if other.label.generic { generic } else { specific };
            if first.is_none_or(|first| slot < first)
                && other_required.covers(&other.pattern, required, pattern)
            {
                *first = Some(slot);
            }
        });
        first.map(|slot| self.entries.get(slot?))
    }

    /// Registers the next signature: the required name with the fewest signatures so far selects it.
    fn add_names(&mut self, required: &Required, pattern: &HttpPattern) {
        let slot = self.entries.len();
        let highest =
            required.names.iter().chain(&required.absent).map(|name| name.0.saturating_add(1)).max();
        if let Some(length) = highest.filter(|&length| length > self.by_name.len()) {
            self.by_name.resize_with(length, ByName::default);
        }
        let found_by = |name: &&Name| self.by_name.get(name.0).map(|by_name| by_name.finds.len);
        let names = required.names.iter().zip(&pattern.headers).rev();
        let names = names.filter(|(_, header)| !header.optional).map(|(name, _)| name);
        match names.min_by_key(found_by).and_then(|name| self.by_name.get_mut(name.0)) {
            Some(by_name) => by_name.finds.insert(slot),
            None => self.content.insert(slot),
        }
        for name in &required.absent {
            if let Some(by_name) = self.by_name.get_mut(name.0) {
                by_name.forbidden_by.insert(slot);
            }
        }
    }

    /// The candidates for a head within one word of the sets.
    fn candidates<V>(&self, word: usize, head: &Head<V>) -> impl Iterator<Item = usize> {
        let (mut found, mut forbidden) = (self.content.word(word), 0);
        for (name, _) in &head.headers {
            if let Some(by_name) = self.by_name.get(name.0) {
                found |= by_name.finds.word(word);
                forbidden |= by_name.forbidden_by.word(word);
            }
        }
        EntrySet::indices(word, found & !forbidden)
    }

    /// The match: the first specific signature, else the first generic one. One whose software the header names is
    /// preferred to a dishonest one, and signatures that the header [forbids to judge](Products::compare) are left out.
    pub(crate) fn find(&self, signature: &HttpSignature, known: &HeaderNames) -> Option<HttpMatch> {
        let mut dishonest = None;
        let found = self.find_entry(signature, known, |entry| {
            let found = HttpMatch::new(entry, signature, &self.products)?;
            if found.claim != SoftwareClaim::Dishonest {
                return Some(found);
            }
            dishonest.get_or_insert(found);
            None
        });
        match (found, dishonest) {
            (Some(found), Some(dishonest)) if found.label.generic && !dishonest.label.generic => {
                Some(dishonest)
            }
            (found, dishonest) => found.or(dishonest),
        }
    }

    /// The match of p0f: the first specific signature, else the first generic one.
    pub(crate) fn find_as_p0f(&self, signature: &HttpSignature, known: &HeaderNames) -> Option<HttpMatch> {
        self.find_entry(signature, known, |entry| Some(HttpMatch::as_p0f(entry, signature)))
    }

    /// The first specific signature that fits a head and yields a match, else the first such generic one.
    fn find_entry(
        &self,
        signature: &HttpSignature,
        known: &HeaderNames,
        mut new_match: impl FnMut(&Entry<HttpPattern>) -> Option<HttpMatch>,
    ) -> Option<HttpMatch> {
        let version = signature.version();
        if version >= HttpVersion::Http2 {
            return None;
        }
        let named = signature.headers().iter().filter_map(|header| Some((known.find(header)?, header)));
        let head = Head::new(Some(version), named);
        let mut generic = None;
        let words = 0..EntrySet::words(self.entries.len());
        for slot in words.flat_map(|word| self.candidates(word, &head)) {
            let Some((required, entry)) = self.required.get(slot).zip(self.entries.get(slot)) else {
                continue;
            };
            if head.names.contains(required.required)
                && required.version_and_headers_fit(&entry.pattern, &head, p0f_value)
            {
                if entry.label.generic {
                    generic = generic.or_else(|| new_match(entry));
                } else if let Some(found) = new_match(entry) {
                    return Some(found);
                }
            }
        }
        generic
    }
}

/// The value that p0f compares.
fn p0f_value(header: Header<'_>) -> &[u8] {
    header.p0f_value().unwrap_or_default()
}

impl Required {
    fn new(pattern: &HttpPattern, known: &mut HeaderNames) -> Self {
        let names: Box<[Name]> = pattern.headers.iter().map(|header| known.add(&header.name)).collect();
        let absent: Box<[Name]> = pattern.absent.iter().map(|name| known.add(name)).collect();
        let required = names.iter().zip(&pattern.headers);
        let required =
            NameSet::from_names(required.filter(|(_, header)| !header.optional).map(|(name, _)| *name));
        Self { names, required, absent }
    }

    /// Whether this signature matches whenever `later` could. Like p0f, this treats `later` as a head with all its
    /// optional headers, and ignores the expected software.
    fn covers(&self, pattern: &HttpPattern, later: &Self, later_pattern: &HttpPattern) -> bool {
        let value =
            |index: usize| later_pattern.headers.get(index).and_then(|header| header.value.as_deref());
        let headers = later.names.iter().enumerate();
        let headers = headers.map(|(index, name)| (*name, value(index).unwrap_or_default().as_bytes()));
        let head = Head::new(later_pattern.version, headers);
        later.required.contains(self.required)
            && self.version_and_headers_fit(pattern, &head, |value| value)
            && self.absent.iter().all(|name| later.absent.contains(name))
    }

    fn version_and_headers_fit<'a, V: Copy>(
        &self,
        pattern: &HttpPattern,
        head: &Head<V>,
        p0f_value: impl Fn(V) -> &'a [u8],
    ) -> bool {
        let value_fits = |value: V, header: &HeaderPattern| {
            header.value.as_deref().is_none_or(|part| occurs_in(part.as_bytes(), p0f_value(value)))
        };
        // Most signatures fail by the order of headers, which is cheap to check.
        (pattern.version.is_none() || pattern.version == head.version)
            && self.headers_fit(pattern, head, |_, _| true)
            && self.headers_fit(pattern, head, value_fits)
    }

    /// Of several headers with the same name, the first unmatched one counts, whatever its value.
    fn headers_fit<V: Copy>(
        &self,
        pattern: &HttpPattern,
        head: &Head<V>,
        value_fits: impl Fn(V, &HeaderPattern) -> bool,
    ) -> bool {
        let mut rest = head.headers.iter();
        self.names.iter().zip(&pattern.headers).all(|(wanted, header)| {
            let mut ahead = rest.clone();
            match ahead.find(|(name, _)| name == wanted) {
                Some((_, value)) => {
                    rest = ahead;
                    value_fits(*value, header)
                }
                None => header.optional && !head.has(*wanted),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::Label;

    /// Compares each signature with all others: the definition that the index must agree with.
    fn covered_by_comparison(entries: &[Entry<HttpPattern>]) -> Result<Vec<(u32, u32)>, DatabaseError> {
        let mut known = HeaderNames::default();
        let required: Vec<Required> =
            entries.iter().map(|entry| Required::new(&entry.pattern, &mut known)).collect();
        let covers = |one: usize, other: usize| {
            required[one].covers(&entries[one].pattern, &required[other], &entries[other].pattern)
        };
        let mut covered_by = vec![None; entries.len()];
        for (index, entry) in entries.iter().enumerate() {
            for (slot, earlier) in entries.iter().enumerate().take(index) {
                if earlier.label.generic && !entry.label.generic {
                    if covers(index, slot) {
                        covered_by[slot].get_or_insert(entry.line);
                    }
                } else if covers(slot, index) {
                    if !earlier.label.generic {
                        return Err(DatabaseError::Covered { line: entry.line, earlier: earlier.line });
                    }
                    covered_by[index].get_or_insert(earlier.line);
                }
            }
        }
        Ok(entries.iter().zip(covered_by).filter_map(|(entry, other)| Some((entry.line, other?))).collect())
    }

    fn pattern() -> impl Strategy<Value = HttpPattern> {
        let header = prop::sample::select(vec![
            "A", "?A", "A=[x]", "A=[xy]", "?A=[x]", "B", "?B", "B=[yx]", "C", "C=[y]", "?C=[xyx]", "D",
        ]);
        let fields = (
            prop::sample::select(vec!["*", "0", "1"]),
            prop::collection::vec(header, 0..4),
            prop::collection::vec(prop::sample::select(vec!["D", "E", "F"]), 0..3),
            prop::sample::select(vec!["", "Soft"]),
        );
        fields.prop_map(|(version, headers, absent, software)| {
            format!("{version}:{}:{}:{software}", headers.join(","), absent.join(",")).parse().unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn covered_signatures_equal_those_of_comparison(
            patterns in prop::collection::vec((pattern(), prop::bool::weighted(0.8)), 0..24),
        ) {
            let label = |generic| Label {
                generic,
                class: None,
                name: "x".into(),
                flavor: None,
                systems: Vec::new(),
                line: 0,
            };
            let entries: Vec<Entry<HttpPattern>> = (1..)
                .zip(patterns)
                .map(|(line, (pattern, generic))| Entry { pattern, label: Arc::new(label(generic)), line })
                .collect();
            let (mut index, mut known) = (HttpIndex::default(), HeaderNames::default());
            let pushed = entries.iter().cloned().try_for_each(|entry| index.push(entry, &mut known));
            index.finish();
            let covered = pushed.map(|()| index.covered().collect::<Vec<_>>());
            prop_assert_eq!(covered, covered_by_comparison(&entries));
        }
    }
}
