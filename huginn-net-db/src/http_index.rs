//! HTTP signatures, compared by numbers that stand for the names of headers.

mod entry_set;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use huginn_net_http::{Header, HeaderName, HttpSignature, HttpVersion};
use smallvec::SmallVec;

use self::entry_set::EntrySet;
use crate::http_match::occurs_in;
use crate::{DatabaseError, Entry, HeaderPattern, HttpMatch, HttpPattern};

/// The names of headers that occur in the HTTP signatures of a file, of both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderNames {
    numbers: HashMap<Box<[u8]>, Name, RandomState>,
    /// Those of the names that a head has by_header_name when it was read, by their numbers there.
    by_header_name: Vec<Option<Name>>,
}

/// A name that occurs in a signature.
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

/// A set of names; those whose numbers are alike modulo 128 are not told apart.
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

/// The headers of a head or signature, as far as their names are known, each with what tells its value.
struct Head<V> {
    /// `None` in a signature for both.
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
/// They are compared in their order, but what most of them ask for is not there: those that may match are found by the
/// names of a head, and of these some more are ruled out by one operation on a set of names.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpIndex {
    /// In the order of the file.
    entries: Vec<Entry<HttpPattern>>,
    /// Beside each of `entries`.
    required: Vec<Required>,
    /// Beside each of `entries`: the line of one that leaves it nothing to match, though p0f takes both.
    covered_by: Vec<Option<u32>>,
    /// By the number of a name.
    by_name: Vec<ByName>,
    /// Those that ask for no header.
    content: EntrySet,
}

/// The signatures that a name is of account for.
#[derive(Clone, Debug, Default)]
struct ByName {
    /// Those that are found by it: that ask for it, each by one name only.
    finds: EntrySet,
    forbidden_by: EntrySet,
}

/// What a signature asks for.
#[derive(Clone, Debug)]
struct Required {
    /// Those of the pattern's headers, in order.
    names: Box<[Name]>,
    /// Those of them that are not optional.
    required: NameSet,
    absent: Box<[Name]>,
}

impl HttpIndex {
    pub(crate) fn entries(&self) -> &[Entry<HttpPattern>] {
        &self.entries
    }

    /// The lines of signatures that can never be reached, though p0f takes them, and of those that cover them.
    pub(crate) fn covered(&self) -> impl Iterator<Item = (u32, u32)> {
        let both = self.entries.iter().zip(&self.covered_by);
        both.filter_map(|(entry, covered_by)| Some((entry.line, (*covered_by)?)))
    }

    /// Adds a signature behind all others.
    ///
    /// # Errors
    /// An earlier one leaves it nothing to match, and p0f refuses it as well.
    pub(crate) fn push(
        &mut self,
        entry: Entry<HttpPattern>,
        known: &mut HeaderNames,
    ) -> Result<(), DatabaseError> {
        let required = Required::new(&entry.pattern, known);
        let mut covered_by = None;
        let earlier = self.entries.iter().zip(&self.required).zip(&mut self.covered_by);
        for ((earlier, earlier_required), earlier_is_covered_by) in earlier {
            if earlier.label.generic && !entry.label.generic {
                if required.covers(&entry.pattern, earlier_required, &earlier.pattern) {
                    earlier_is_covered_by.get_or_insert(entry.line);
                }
            } else if earlier_required.covers(&earlier.pattern, &required, &entry.pattern) {
                if !earlier.label.generic {
                    return Err(DatabaseError::Covered { line: entry.line, earlier: earlier.line });
                }
                covered_by.get_or_insert(earlier.line);
            }
        }
        self.add_names(&required, &entry.pattern);
        self.entries.push(entry);
        self.required.push(required);
        self.covered_by.push(covered_by);
        Ok(())
    }

    /// Notes by which names the next signature is found: of those that it asks for, the one that the fewest are found by.
    fn add_names(&mut self, required: &Required, pattern: &HttpPattern) {
        let slot = self.entries.len();
        let highest =
            required.names.iter().chain(&required.absent).map(|name| name.0.saturating_add(1)).max();
        if let Some(length) = highest.filter(|&length| length > self.by_name.len()) {
            self.by_name.resize_with(length, ByName::default);
        }
        let found_by = |name: &&Name| self.by_name.get(name.0).map(|by_name| by_name.finds.len());
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

    /// Those of the signatures in a word of their sets that may match a head.
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

    /// The signature that matches: the first specific one, else the first generic one.
    pub(crate) fn find(&self, signature: &HttpSignature, known: &HeaderNames) -> Option<HttpMatch> {
        let version = signature.version();
        if version == HttpVersion::Http2 {
            return None;
        }
        let named = signature.headers().filter_map(|header| Some((known.find(header)?, header)));
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
                if !entry.label.generic {
                    return Some(HttpMatch::new(entry, signature));
                }
                generic.get_or_insert(entry);
            }
        }
        generic.map(|entry| HttpMatch::new(entry, signature))
    }
}

/// What p0f compares of a header.
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

    /// Whether this signature is found wherever `later` could be. As in p0f, `later` is matched as though it were a
    /// head, which has all its optional headers; what software either expects does not count.
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
        // Most signatures fail by the order, which costs less to see.
        (pattern.version.is_none() || pattern.version == head.version)
            && self.headers_fit(pattern, head, |_, _| true)
            && self.headers_fit(pattern, head, value_fits)
    }

    /// Of several headers of one name the first that is left counts, whatever its value.
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
